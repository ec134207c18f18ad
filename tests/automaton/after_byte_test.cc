// A state and one byte: the target is that of the edge, for states that have no edges yet.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "automaton/term_store.h"

namespace grammask::internal {
namespace {

constexpr int64_t kSmallCount = 16;

// Random expressions with every kind of node that reads bytes.
class RandomTerm {
 public:
  RandomTerm(TermStore* store, uint32_t seed) : s_(*store), random_(seed) {}

  TermId Make(int depth) {
    const size_t kind = Below(depth == 0 ? 4 : 12);
    switch (kind) {
      case 0:
      case 1:
        return s_.Literal(Text(), kind == 0);
      case 2:
        return s_.ByteClass(ByteSet::Range('a', static_cast<uint8_t>('a' + Below(3))));
      case 3:
        return s_.Character(Below(2) == 0 ? CodePointSet::Of('a') : AnyCharacter(), Below(2) == 0);
      case 4:
      case 5:
        return s_.Sequence(Make(depth - 1), Make(depth - 1));
      case 6:
      case 7: {
        std::vector<TermId> parts;
        for (size_t n = 2 + Below(20 / static_cast<size_t>(depth)); n > 0; --n) {
          parts.push_back(Below(2) == 0 ? s_.Sequence(s_.Literal(Text(), true), Make(0))
                                        : Make(depth - 1));
        }
        return s_.Choice(parts);
      }
      case 8: {
        const auto least = static_cast<int64_t>(Below(3));
        const bool endless = Below(2) == 0;
        return s_.Repeat(Make(depth - 1), least,
                         endless ? kUnbounded : least + static_cast<int64_t>(Below(3)));
      }
      case 9: {
        const std::array parts = {Make(depth - 1), Make(depth - 1)};
        return s_.And(parts);
      }
      case 10: {
        const std::array parts = {s_.Repeat(AnyJsonCharacter(), 0, kUnbounded),
                                  s_.Not(Make(depth - 1))};
        return s_.Sequence(s_.And(parts), s_.Literal("\"", false));
      }
      default: {
        std::vector<std::string> words;
        for (size_t n = 12 + Below(8); n > 0; --n) words.push_back(Text());
        return s_.Words({words.begin(), words.end()}, Below(2) == 0);
      }
    }
  }

 private:
  size_t Below(size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(random_); }
  std::string Text() {
    static constexpr std::string_view kLetters[] = {"a", "b",  "c", "\"", "\\",
                                                    "/", "\n", "é", "😀"};
    std::string text;
    for (size_t n = 1 + Below(3); n > 0; --n) text += kLetters[Below(std::size(kLetters))];
    return text;
  }
  static CodePointSet AnyCharacter() { return CodePointSet{{0, 0xD7FF}, {0xE000, 0x10FFFF}}; }
  TermId AnyJsonCharacter() { return s_.Character(AnyCharacter(), true); }

  TermStore& s_;
  std::mt19937 random_;
};

TEST(AfterByte, IsTheTargetOfTheEdge) {
  size_t compared = 0;
  for (uint32_t seed = 0; seed < 400; ++seed) {
    TermStore s({}, kSmallCount);
    std::vector<TermId> states;
    {
      const std::lock_guard lock(s.mutex());
      states.push_back(RandomTerm(&s, seed).Make(3));
    }
    std::set<TermId> met(states.begin(), states.end());
    for (size_t i = 0; i < states.size() && i < 60; ++i) {
      const std::lock_guard lock(s.mutex());
      // Bytes first, as afterwards there are edges.
      const bool fresh = s.term(states[i]).expansion.load() == nullptr;
      std::array<TermId, 256> after;
      for (size_t b = 0; b < 256; ++b) after[b] = s.AfterByte(states[i], static_cast<uint8_t>(b));
      const Expansion& e = s.ExpandLocked(states[i]);
      for (size_t b = 0; b < 256; ++b) {
        const ByteEdge* edge = FindEdge(e.bytes, static_cast<uint8_t>(b));
        const TermId to = edge == nullptr ? TermStore::Nothing() : edge->to;
        ASSERT_EQ(after[b], to) << "seed " << seed << ", byte " << b << " of "
                                << s.ToString(states[i]) << ": " << s.ToString(after[b]) << " for "
                                << s.ToString(to);
        if (to != TermStore::Nothing() && met.insert(to).second) states.push_back(to);
      }
      compared += fresh ? 1 : 0;
    }
  }
  EXPECT_GT(compared, 2000u);
}

// What a text, or a key that is none of some names, leads to takes no terms but the target's.
TEST(AfterByte, MakesNoOtherStates) {
  TermStore s({}, kSmallCount);
  const std::lock_guard lock(s.mutex());
  const std::array names = {s.Literal("size", true), s.Literal("name", true)};
  const TermId name = s.Sequence(s.Choice(names), s.Literal("\"", false));
  const size_t before = s.size();
  const TermId after = s.AfterByte(name, 'n');
  EXPECT_LE(s.size(), before + 2);  // "ame", and with the rest
  EXPECT_EQ(s.ToString(after), "(json\"ame\" \"\\\"\")");
}

// A few texts or nothing before a state of many edges: whatever they do not begin with leads where
// it leads without them.
TEST(AfterByte, ALittleBesideMuch) {
  TermStore s({}, kSmallCount);
  const std::lock_guard lock(s.mutex());
  std::vector<TermId> letters;
  for (int c = 0x20; c < 0x7f; c += 2) {
    letters.push_back(s.Sequence(s.Literal(std::string(1, static_cast<char>(c)), false),
                                 s.Literal(std::to_string(c), false)));
  }
  const TermId many = s.Choice(letters);
  auto before = [&](TermId head) { return s.Sequence(s.Repeat(head, 0, 1), many); };
  const CodePointSet digits{{'0', '9'}};
  EXPECT_FALSE(s.FindBeside(before(s.Literal("-", true))).has_value());  // has no edges to be had
  s.ExpandLocked(many);
  struct Case {
    TermId state;
    std::string_view first;
  };
  const TermId known = s.Choice(std::array{s.Literal("x", false), s.Literal("\xE9y", false)});
  s.ExpandLocked(known);
  const Case cases[] = {
      {before(s.Literal("-z", true)), "-\\"},
      {before(s.Literal("Ab", true)), "A\\"},
      {s.Sequence(s.Repeat(s.Sequence(s.Literal("-", true), s.Literal("+", false)), 0, 3), many),
       "-\\"},
      {s.Sequence(s.Repeat(s.Literal("!", true), 0, kUnbounded), many), "!\\"},
      {before(s.Literal("\"a", true)), "\\"},  // a quote is read as \" only, a control likewise
      {before(s.Literal("\n", true)), "\\"},
      {before(s.Literal("\\", true)), "\\"},
      {before(known), "x\xE9"},
      {before(s.Character(digits, false)), ""},      // as yet without edges
      {s.Sequence(s.Literal("-", true), many), ""},  // which must come
      {many, ""},
  };
  for (const Case& c : cases) {
    const auto beside = s.FindBeside(c.state);
    ASSERT_EQ(beside.has_value(), !c.first.empty()) << s.ToString(c.state);
    if (!beside.has_value()) continue;
    ByteSet first;
    for (char b : c.first) first.Add(static_cast<uint8_t>(b));
    EXPECT_EQ(beside->rest, many);
    EXPECT_EQ(beside->first, first) << s.ToString(c.state);
    std::array<TermId, 256> after;
    for (size_t b = 0; b < 256; ++b) after[b] = s.AfterByte(c.state, static_cast<uint8_t>(b));
    for (size_t b = 0; b < 256; ++b) {
      if (first.Has(static_cast<uint8_t>(b))) {
        EXPECT_NE(after[b], TermStore::Nothing());
      }
    }
    s.ExpandLocked(c.state);
    EXPECT_FALSE(s.FindBeside(c.state).has_value());  // has edges of its own now
    for (size_t b = 0; b < 256; ++b) {
      const auto byte = static_cast<uint8_t>(b);
      EXPECT_EQ(after[b], s.AfterByte(c.state, byte)) << b << " of " << s.ToString(c.state);
      if (!first.Has(byte)) {
        EXPECT_EQ(after[b], s.AfterByte(many, byte));
      }
    }
  }
  const TermId ten = s.Character(digits, false);
  s.ExpandLocked(ten);
  EXPECT_FALSE(s.FindBeside(before(ten)).has_value());  // which is no little
}

// Of many alternatives that read overlapping ranges: each byte leads to what those that read it
// leave, whether their edges are sorted or laid over one another.
TEST(AfterByte, ManyRangesOverOneAnother) {
  std::mt19937 random(7);
  auto below = [&](int n) { return std::uniform_int_distribution<int>(0, n - 1)(random); };
  for (int round = 0; round < 200; ++round) {
    TermStore s({}, kSmallCount);
    struct Part {
      int lo, hi;
      TermId rest;
    };
    std::vector<Part> parts;
    std::vector<TermId> alternatives;
    for (int n = 2 + below(60); n > 0; --n) {
      const int lo = below(256);
      const int hi = std::min(255, lo + below(1 + below(200)));
      const TermId rest = s.Literal(std::string(1, static_cast<char>('a' + below(12))), false);
      parts.push_back({lo, hi, rest});
      const TermId first =
          s.ByteClass(ByteSet::Range(static_cast<uint8_t>(lo), static_cast<uint8_t>(hi)));
      alternatives.push_back(s.Sequence(first, rest));
    }
    const TermId all = s.Choice(alternatives);
    for (int b = 0; b < 256; ++b) {
      std::vector<TermId> rests;
      for (const Part& part : parts) {
        if (part.lo <= b && b <= part.hi) rests.push_back(part.rest);
      }
      const ByteEdge* e = FindEdge(s.Expand(all).bytes, static_cast<uint8_t>(b));
      const TermId to = e == nullptr ? TermStore::Nothing() : e->to;
      ASSERT_EQ(to, rests.empty() ? TermStore::Nothing() : s.Choice(rests)) << round << " " << b;
    }
  }
}

}  // namespace
}  // namespace grammask::internal
