// The nodes at which texts leave an alphabet, and masks of loops that are walked from one to the
// next.
#include "mask/leaving_nodes.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/sorted.h"
#include "mask/mask_world.h"

namespace grammask::internal {
namespace {

// Runs of letters, digits and punctuation with characters of two to four bytes among them, whole
// and in pieces; escapes and quotes.
std::vector<std::string> Tokens() {
  std::vector<std::string> tokens =
      ManyTokens({"\xC3\xA9",
                  "a\xC3",
                  "ab\xC3\xA9z\xC3\xA9",
                  "\xE6\x97\xA5",
                  "ab\xE6\x97",
                  "\x97\xA5x",
                  "\xF0\x9F\x99\x82z",
                  "z\xF0\x9F",
                  "\\n",
                  "\\u0061",
                  "ab\\u0062\",",
                  "u0061",
                  "ab\\",
                  "\",",
                  "ab\",\n  ab",
                  "a_b\"]",
                  "\x80",
                  "\xFF\xFF\x61",
                  "ab\xFF\x61",
                  "ab\x80",
                  "\xC3\x61\x61",
                  "\xC3]",
                  "ab\xC3]",
                  "\xE2\x82]",
                  "z\xE2\x82)]",
                  "ab\xE6\x97\x61",
                  "\xC3\xA9\x80\x61",
                  "\xED\xA0\x80",
                  "\xE0\x80\x80",
                  "\xF4\x90\x80\x80",
                  "\xC0\xAF",
                  "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
                  "abcabc abcabc abcabc"},
                 21, "aaabbbcccddeeffgghiijkklmnopqrstuvwxyz__--019 .", 6000, 10);
  std::mt19937 random(3);
  const char* const wide[] = {
      "\xC3\xA9", "\xC3\xA8", "\xCE\xB1", "\xE6\x97\xA5", "\xE2\x82\xAC", "\xF0\x9F\x99\x82", "a",
      "b",        "z",        "-"};
  for (int i = 0; i < 3000; ++i) {
    std::string token;
    for (size_t n = 1 + random() % 6; n > 0; --n) token += wide[random() % std::size(wide)];
    if (random() % 4 == 0) token.pop_back();
    if (!token.empty()) tokens.push_back(token);
  }
  SortUnique(&tokens);
  return tokens;
}

// Whether a text is of characters of the alphabet, the last maybe cut off.
bool StaysIn(std::string_view text, const Alphabet& all) {
  for (size_t i = 0; i < text.size();) {
    const auto b = static_cast<uint8_t>(text[i]);
    if (b < 0x80) {
      if (!all.Contains(b)) return false;
      ++i;
      continue;
    }
    if (b < 0xC2 || b > 0xF4 || ((all.leads >> (b - Alphabet::kFirstLead)) & 1) == 0) return false;
    const auto after = BytesAfter(b);
    for (size_t k = 0; k < after.size(); ++k) {
      if (++i == text.size()) return true;
      const auto next = static_cast<uint8_t>(text[i]);
      if (next < after[k].lo || next > after[k].hi) return false;
    }
    ++i;
  }
  return true;
}

TEST(LeavingNodes, AreThoseOfWhichTextsLeave) {
  const auto vocab = MakeVocab(Tokens());
  const auto nodes = vocab->nodes();
  const TrieAlphabets& alphabets = vocab->alphabets();
  LeavingNodes leaving;
  auto ascii = [](std::string_view characters) {
    Alphabet all;
    for (char c : characters) all.Add(static_cast<uint8_t>(c));
    return all;
  };
  std::vector<Alphabet> all = {ascii("abcdefghijklmnopqrstuvwxyz"),
                               ascii("abcdefghijklmnopqrstuvwxyz_-019 ."), ascii("abcdefghi019")};
  for (size_t i = 0, n = all.size(); i < n; ++i) {
    Alphabet more = all[i];
    more.AddLead(0xC3);
    all.push_back(more);
    more.AddLead(0xE6);
    more.AddLead(0xF0);
    all.push_back(more);
    for (int b = 0xC2; b <= 0xF4; ++b) more.AddLead(static_cast<uint8_t>(b));
    all.push_back(more);
  }
  size_t made = 0;
  // More than are kept at once, and again.
  for (int round = 0; round < 2; ++round) {
    for (const Alphabet& stays : all) {
      const auto set = leaving.Of(alphabets, stays, static_cast<uint32_t>(vocab->node_count()));
      if (set == nullptr) continue;
      ++made;
      std::string text;
      uint32_t left_until = 0;  // below a node that leaves
      for (uint32_t i = 1; i < static_cast<uint32_t>(vocab->node_count()); ++i) {
        text.resize(nodes[i].depth - 1u);
        text += static_cast<char>(nodes[i].byte);
        if (i >= left_until && set->Has(i)) {
          left_until = nodes[i].end;
          Alphabet any;
          any.low = any.high = any.leads = ~uint64_t{0};
          ASSERT_EQ(leaving.IsBroken(alphabets, i), !StaysIn(text, any)) << "node " << i;
        }
        ASSERT_EQ(i >= left_until, StaysIn(text, stays)) << "node " << i << ": " << text;
      }
    }
  }
  EXPECT_GE(made, 2 * (all.size() - 4));
  // What is walked must be worth it.
  LeavingNodes other;
  EXPECT_EQ(other.Of(alphabets, all[1], 100), nullptr);
  EXPECT_EQ(other.Of(alphabets, all[1], 100), nullptr);
  EXPECT_NE(other.Of(alphabets, all[1], 8000), nullptr);
}

// Whether a text is of characters of the alphabet or some others, the last maybe cut off.
bool StaysIn(std::string_view text, const Alphabet& all, const CodePointSet& others) {
  for (size_t i = 0; i < text.size();) {
    const auto lead = static_cast<uint8_t>(text[i]);
    const size_t length = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    const std::string_view character = text.substr(i, length);
    i += length;
    if (StaysIn(character, all)) continue;
    Alphabet any;
    any.leads = ~uint64_t{0};
    if (!StaysIn(character, any)) return false;
    // One of the others is to begin so.
    uint32_t first = lead & (0xFF >> (length + 1));
    for (size_t k = 1; k < length; ++k) {
      first = first << 6 | (k < character.size() ? static_cast<uint8_t>(character[k]) & 0x3Fu : 0);
    }
    const uint32_t last = first + (uint32_t{1} << (6 * (length - character.size()))) - 1;
    constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};  // by length
    first = std::max(first, kLeast[length]);
    if (others.Intersect(CodePointSet{{first, last}}).empty()) return false;
  }
  return true;
}

TEST(LeavingNodes, AreInsideOfCharactersToo) {
  const auto vocab = MakeVocab(Tokens());
  const auto nodes = vocab->nodes();
  const TrieAlphabets& alphabets = vocab->alphabets();
  const auto node_count = static_cast<uint32_t>(vocab->node_count());
  Alphabet stays;
  for (uint8_t c = 'a'; c <= 'z'; ++c) stays.Add(c);
  stays.AddLead(0xCE);
  const CodePointSet all_others[] = {
      {{0xE9, 0xE9}},
      {{0xC0, 0xE8}, {0xEA, 0xFF}},
      {{0x65E5, 0x65E5}, {0x6700, 0x6FFF}},
      {{0xE8, 0xE8}, {0x2000, 0x20AB}, {0x20AD, 0x20FF}, {0x6000, 0x65E4}},
  };
  LeavingNodes leaving;
  std::vector<const SomeCharacters*> kept;
  size_t second_bytes = 0, third_bytes = 0;  // that leave
  for (const CodePointSet& others : all_others) {
    SomeCharacters some;
    for (const CodePointRange range : others.ranges()) {
      for (uint32_t c = range.lo; c <= range.hi; ++c) {
        const uint32_t lead = c < 0x800 ? 0xC0 | c >> 6 : 0xE0 | c >> 12;
        some.leads |= uint64_t{1} << (lead - Alphabet::kFirstLead);
      }
    }
    std::vector<size_t> first(64);
    size_t words = 0;
    for (size_t lead = 0; lead < 64; ++lead) {
      first[lead] = words;
      if ((some.leads >> lead & 1) != 0) words += lead < 0x20 ? 1 : 64;
    }
    some.last.resize(words);
    for (const CodePointRange range : others.ranges()) {
      for (uint32_t c = range.lo; c <= range.hi; ++c) {
        const uint32_t lead = c < 0x800 ? c >> 6 : 0x20 | c >> 12;
        const size_t word = first[lead] + (c < 0x800 ? 0 : c >> 6 & 0x3F);
        some.last[word] |= uint64_t{1} << (c & 0x3F);
      }
    }
    kept.push_back(leaving.Keep(some));
    ASSERT_NE(kept.back(), nullptr);
    EXPECT_EQ(leaving.Keep(some), kept.back());
    const auto set = leaving.Of(nodes, alphabets, stays, kept.back(), node_count);
    ASSERT_NE(set, nullptr);
    std::string text;
    uint32_t left_until = 0;  // below a node that leaves
    size_t inside = 0;
    for (uint32_t i = 1; i < node_count; ++i) {
      text.resize(nodes[i].depth - 1u);
      text += static_cast<char>(nodes[i].byte);
      if (i >= left_until && set->Has(i)) left_until = nodes[i].end;
      ASSERT_EQ(i >= left_until, StaysIn(text, stays, others)) << "node " << i << ": " << text;
      const LeavingSet::Inside* at = set->FindInside(i);
      if (at == nullptr) continue;
      ++inside;
      std::string before = {static_cast<char>(at->lead)};
      ++(at->second == 0 ? second_bytes : third_bytes);
      if (at->second != 0) before += static_cast<char>(at->second);
      ASSERT_GT(text.size(), before.size());
      EXPECT_EQ(text.substr(text.size() - 1 - before.size(), before.size()), before);
    }
    EXPECT_EQ(inside, set->inside.size());
  }
  EXPECT_GT(second_bytes, 0u);
  EXPECT_GT(third_bytes, 0u);
  // They are told apart, and from the alphabet alone.
  EXPECT_TRUE(leaving.Of(alphabets, stays, node_count)->inside.empty());
  EXPECT_NE(leaving.Of(nodes, alphabets, stays, kept[0], node_count),
            leaving.Of(nodes, alphabets, stays, kept[1], node_count));
}

// What one walk's object has found the next one's has at once, be the content of `some` the same
// only; and keeps while the store does not.
TEST(LeavingNodes, AreSharedByAVocabulary) {
  const auto vocab = MakeVocab(Tokens());
  const auto nodes = vocab->nodes();
  const TrieAlphabets& alphabets = vocab->alphabets();
  const auto node_count = static_cast<uint32_t>(vocab->node_count());
  Alphabet letters, digits;
  for (uint8_t c = 'a'; c <= 'z'; ++c) letters.Add(c);
  for (uint8_t c = '0'; c <= '9'; ++c) digits.Add(c);
  letters.AddLead(0xCE);
  const SomeCharacters e_acute = {uint64_t{1} << (0xC3 - Alphabet::kFirstLead),
                                  {uint64_t{1} << 0x29}};
  LeavingStore store(size_t{1} << 20);
  LeavingNodes alone, first, second;
  first.ShareWith(&store);
  second.ShareWith(&store);
  const SomeCharacters* const some = first.Keep(e_acute);
  const auto set = first.Of(nodes, alphabets, letters, some, node_count);
  ASSERT_NE(set, nullptr);
  EXPECT_FALSE(set->inside.empty());
  const auto plain = first.Of(alphabets, letters, node_count);
  EXPECT_NE(plain, set);
  // No more than one node is to be walked, for which none would be made.
  EXPECT_EQ(second.Of(nodes, alphabets, letters, second.Keep(e_acute), 1), set);
  EXPECT_EQ(second.Of(alphabets, letters, 1), plain);
  EXPECT_EQ(second.Of(alphabets, digits, 1), nullptr);
  EXPECT_EQ(alone.Of(alphabets, letters, 1), nullptr);
  const auto own = alone.Of(nodes, alphabets, letters, alone.Keep(e_acute), node_count);
  ASSERT_NE(own, nullptr);
  EXPECT_EQ(own->inside, set->inside);
  for (uint32_t i = 0; i < node_count; ++i) ASSERT_EQ(own->Has(i), set->Has(i)) << i;
  const size_t bytes = store.memory_bytes();
  EXPECT_GE(bytes, set->memory_bytes() + plain->memory_bytes());
  store.SetMost(bytes - 1);
  EXPECT_LT(store.memory_bytes(), bytes);
  EXPECT_GT(store.memory_bytes(), 0u);
  store.SetMost(0);
  EXPECT_EQ(store.memory_bytes(), 0u);
  EXPECT_EQ(second.Of(alphabets, letters, 1), plain);
  LeavingNodes third;
  third.ShareWith(&store);
  EXPECT_EQ(third.Of(alphabets, letters, 1), nullptr);
}

using Maker = ContentMaker;
using Make = NodeId (*)(Maker);

NodeId Letters(Maker m) { return m.Of({{'a', 'z'}}); }
// The same and characters of two bytes; with a hole, so that not all of one first byte are.
NodeId Wide(Maker m) { return m.Of({{'a', 'z'}, {0x80, 0x7FF}}); }
NodeId Some(Maker m) { return m.Of({{'a', 'z'}, {0xC0, 0xE8}, {0xEA, 0x24F}, {0x4E00, 0x9FFF}}); }
NodeId NoSpace(Maker m) {
  return m.Of(CodePointSet::All().Minus({{'"', '"'}, {' ', ' '}, {0xA0, 0xA0}, {0x20AC, 0x20AC}}));
}

constexpr Make kLoops[] = {
    [](Maker m) { return m.b.Star(Letters(m)); },
    [](Maker m) { return m.b.Repeat(Letters(m), 1, kUnbounded); },
    [](Maker m) { return m.b.Sequence({m.Of({{'a', 'f'}}), m.b.Star(Letters(m))}); },
    [](Maker m) { return m.b.Star(Wide(m)); },
    [](Maker m) { return m.b.Star(Some(m)); },
    [](Maker m) { return m.b.Star(NoSpace(m)); },
    // Places that lead to one another.
    [](Maker m) {
      return m.b.Star(m.b.Sequence({m.b.Repeat(Letters(m), 1, kUnbounded),
                                    m.b.Repeat(m.Of({{'0', '9'}, {'-', '.'}}), 1, kUnbounded)}));
    },
    [](Maker m) {
      return m.b.Sequence(
          {m.b.Star(m.b.Sequence({m.b.Repeat(NoSpace(m), 1, kUnbounded), m.Text(" ")})),
           m.b.Repeat(NoSpace(m), 1, kUnbounded)});
    },
    // What leaves inside a character leads on.
    [](Maker m) {
      const CodePointSet gaps{{0xA0, 0xA0}, {0xE8, 0xE8}, {0x20AC, 0x20AC}, {0x65E5, 0x65E5}};
      const CodePointSet others = CodePointSet::All().Minus(gaps).Minus({{'"', '"'}});
      return m.b.Star(m.b.Sequence({m.b.Repeat(m.Of(others), 1, kUnbounded), m.Of(gaps)}));
    },
    // Several items at once.
    [](Maker m) {
      return m.b.Choice({m.b.Star(Letters(m)), m.b.Sequence({m.b.Star(Wide(m)), m.Text("-")})});
    },
    [](Maker m) { return m.b.Sequence({m.b.Star(Some(m)), m.Of({{'a', 'b'}, {'0', '9'}})}); },
    // Counted, and beside a pattern.
    [](Maker m) { return m.b.Repeat(Letters(m), 0, 9); },
    [](Maker m) {
      return m.b.And({m.b.Star(m.b.Choice({m.b.Repeat(Letters(m), 1, kUnbounded), m.Text("-")})),
                      m.b.Repeat(m.Of(CodePointSet::All()), 0, 40)});
    },
    [](Maker m) {
      return m.b.And({m.b.Sequence({m.b.Star(Some(m)), m.Text("z")}),
                      m.b.Repeat(m.Of(CodePointSet::All()), 2, 19)});
    },
    [](Maker m) {
      return m.b.And({m.b.Sequence({Letters(m), m.b.Star(NoSpace(m))}),
                      m.b.Repeat(m.Of(CodePointSet::All()), 0, 22)});
    },
    // Bytes that are no UTF-8, too.
    [](Maker m) { return m.b.Star(m.b.Choice({Letters(m), m.b.Bytes("\xC3\x61")})); },
    [](Maker m) { return m.b.Star(m.b.Choice({Wide(m), m.b.Bytes("\xFF"), m.b.Bytes("\x80")})); },
    [](Maker m) { return m.b.Sequence({m.b.Bytes("a"), m.b.AnyBytes(), m.b.Bytes("z")}); },
    // Which may end inside a character.
    [](Maker m) {
      return m.b.Sequence({m.b.Star(Wide(m)), m.b.Choice({m.b.Bytes("\xC3"), m.b.Bytes("-")})});
    },
    [](Maker m) {
      return m.b.Sequence(
          {m.b.Star(NoSpace(m)), m.b.Choice({m.b.Bytes("\xE2\x82"), m.b.Bytes(" ")})});
    },
};

constexpr Make kRests[] = {
    [](Maker m) { return m.b.Bytes("\""); },
    // Escapes.
    [](Maker m) { return m.b.Empty(); },
    [](Maker m) { return m.b.Bytes("ab\"]"); },
};

constexpr std::string_view kTexts[] = {"",           "a",      "ab",       "a-", "\xC3",
                                       "ab\xC3\xA9", "a\\u00", "abcdefgh", "a ", "a0z-"};

TEST(LeavingNodes, MasksOfLoops) {
  const auto vocab = MakeVocab(Tokens());
  for (int config = 0; config < 4; ++config) {
    const bool json = config % 2 == 0, recursive = config >= 2;
    for (size_t r = 0; r < std::size(kRests); ++r) {
      MaskWorld world(vocab);
      for (size_t i = 0; i < std::size(kLoops); ++i) {
        const SetId start = world.Start([&](GrammarBuilder& b) {
          Maker m{b, json};
          const RuleId item = b.AddRule("item");
          const NodeId flat = b.Sequence({kLoops[i](m), kRests[r](m)});
          // A recursive rule is a procedure, which may end inside a token.
          const NodeId nested = b.Sequence({b.Bytes("("), b.Rule(item), b.Bytes(")")});
          b.SetBody(item, recursive ? b.Choice({flat, nested}) : flat);
          return b.Sequence({b.Rule(item), b.Bytes("]")});
        });
        for (std::string_view text : kTexts) {
          const SetId set = world.sets().Run(start, text);
          if (set == SetTable::Dead()) continue;
          world.Check(set, std::string(json ? "json" : "raw") + (recursive ? " nested" : "") +
                               " loop " + std::to_string(i) + " rest " + std::to_string(r) +
                               " after \"" + std::string(text) + "\"");
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

}  // namespace
}  // namespace grammask::internal
