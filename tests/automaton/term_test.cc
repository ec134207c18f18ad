// Terms: constructors, derivatives, emptiness, shortest lengths, far terms.
#include <gtest/gtest.h>

#include <bitset>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "automaton/term_store.h"

namespace grammask::internal {
namespace {

constexpr int64_t kSmallCount = 16;

TermId Step(TermStore* s, TermId t, uint8_t byte) {
  for (const ByteEdge& e : s->Expand(t).bytes) {
    if (e.lo <= byte && byte <= e.hi) return e.to;
  }
  return TermStore::Nothing();
}

TermId After(TermStore* s, TermId t, std::string_view text) {
  for (char c : text) t = Step(s, t, static_cast<uint8_t>(c));
  return t;
}

bool Matches(TermStore* s, TermId t, std::string_view text) {
  return s->term(After(s, t, text)).nullable;
}

TermId Choice(TermStore* s, std::vector<TermId> parts) { return s->Choice(parts); }
TermId And(TermStore* s, std::vector<TermId> parts) { return s->And(parts); }
TermId Star(TermStore* s, TermId t) { return s->Repeat(t, 0, kUnbounded); }
TermId Bytes(TermStore* s, std::string_view text) { return s->Literal(text, false); }
TermId Class(TermStore* s, uint8_t lo, uint8_t hi) { return s->ByteClass(ByteSet::Range(lo, hi)); }

// ---- dump tables ----

TEST(Literals, ShortestSpellingsInJson) {
  // What each character takes, wherever it stands among others.
  const std::vector<std::pair<char, uint64_t>> characters = {
      {'"', 2}, {'\\', 2}, {'\n', 2}, {'\b', 2}, {'\x01', 6}, {'\x1F', 6}, {'\0', 6},
      {' ', 1}, {'!', 1},  {'[', 1},  {']', 1},  {'\x7F', 1}, {'\xA2', 1}, {'\xFF', 1}};
  for (size_t size = 1; size <= 20; ++size) {
    for (size_t at = 0; at < size; ++at) {
      for (const auto& [c, length] : characters) {
        std::string text(size, 'a');
        text[at] = c;
        EXPECT_EQ(TermStore::ShortestSpelling(text, true), size - 1 + length);
        EXPECT_EQ(TermStore::ShortestSpelling(text, false), size);
        text[0] = '"';
        const uint64_t both = at == 0 ? size + 1 : size + length;
        EXPECT_EQ(TermStore::ShortestSpelling(text, true), both) << size << " " << at;
      }
    }
  }
}

TEST(Term, SimplifiesToOneForm) {
  TermStore s({}, kSmallCount);
  const TermId a = Bytes(&s, "a"), b = Bytes(&s, "b"), digit = Class(&s, '0', '9');
  const TermId nothing = TermStore::Nothing(), empty = TermStore::Empty(), all = TermStore::All();
  struct Case {
    TermId term;
    const char* text;
  };
  const Case cases[] = {
      {s.Sequence(a, nothing), "nothing"},
      {s.Sequence(nothing, a), "nothing"},
      {s.Sequence(empty, a), "\"a\""},
      {s.Sequence(a, empty), "\"a\""},
      {s.Sequence(s.Sequence(a, b), digit), "(\"a\" (\"b\" [0-9]))"},
      {Choice(&s, {}), "nothing"},
      {Choice(&s, {nothing, a}), "\"a\""},
      {Choice(&s, {b, a, b}), "(\"a\" | \"b\")"},
      {Choice(&s, {a, all}), "all"},
      {Choice(&s, {empty, a}), "(\"\" | \"a\")"},
      {Choice(&s, {empty, Star(&s, a)}), "\"a\"{0,}"},
      {Choice(&s, {Choice(&s, {a, b}), digit}), "(\"a\" | \"b\" | [0-9])"},
      {s.Repeat(a, 0, 0), "\"\""},
      {s.Repeat(a, 1, 1), "\"a\""},
      {s.Repeat(nothing, 0, 5), "\"\""},
      {s.Repeat(nothing, 1, 5), "nothing"},
      {s.Repeat(empty, 3, 5), "\"\""},
      {s.Repeat(all, 3, 5), "all"},
      {s.Repeat(Star(&s, a), 3, 5), "\"a\"{0,}"},
      {s.Repeat(s.Repeat(a, 0, 2), 3, 5), "\"a\"{0,2}{0,5}"},
      {s.Repeat(a, 2, 4000), "\"a\"{2,4000}"},
      {And(&s, {}), "all"},
      {And(&s, {all, a}), "\"a\""},
      {And(&s, {a, nothing}), "nothing"},
      {And(&s, {a, b}), "nothing"},
      {And(&s, {empty, Star(&s, a)}), "\"\""},
      {And(&s, {empty, a}), "nothing"},
      {And(&s, {a, s.Not(a)}), "nothing"},
      {And(&s, {s.Not(a), Star(&s, a)}), "(\"a\"{0,} & !(\"a\"))"},
      {s.Not(nothing), "all"},
      {s.Not(all), "nothing"},
      {s.Not(s.Not(a)), "\"a\""},
      {s.Literal("x\"\n\\", true), "json\"x\\\"\\x0A\\\\\""},
      {s.Literal("", true), "\"\""},
      {s.MultipleOf({7, 2}, 3), "multiple(3,7,2)"},
      {s.MultipleOf({1, 0}, 0), "[.0-9]{0,}"},
      {s.Tokens({{3, 5}, false}), "tokens0"},
      {s.Tokens({{3, 5}, true}), "tokens1"},
      {s.Tokens({{}, false}), "nothing"},
      {s.ByteClass({}), "nothing"},
  };
  for (const Case& c : cases) EXPECT_EQ(s.ToString(c.term), c.text);
}

TEST(Term, EqualTermsAreOneAndOthersAreNot) {
  TermStore s({}, kSmallCount);
  EXPECT_EQ(Choice(&s, {Bytes(&s, "x"), Bytes(&s, "y")}),
            Choice(&s, {Bytes(&s, "y"), Bytes(&s, "x"), Bytes(&s, "x")}));
  EXPECT_NE(s.Literal("a", true), s.Literal("a", false));
  EXPECT_NE(s.Repeat(Bytes(&s, "a"), 1, 2), s.Repeat(Bytes(&s, "a"), 1, 3));
  EXPECT_NE(s.MultipleOf({7, 0}, 1), s.MultipleOf({7, 0}, 2));
  EXPECT_NE(s.MultipleOf({7, 0}, 1), s.MultipleOf({7, 1}, 1));
  EXPECT_NE(s.Tokens({{1}, false}), s.Tokens({{2}, false}));
  EXPECT_EQ(s.Tokens({{1}, false}), s.Tokens({{1}, false}));
}

// Slices are shared by the text of a term, so it must tell terms apart.
TEST(Term, TextsOfDifferentTermsDiffer) {
  TermStore s({}, kSmallCount);
  const std::vector<TermId> terms = {
      Bytes(&s, "a\" | \"b"),
      Choice(&s, {Bytes(&s, "a"), Bytes(&s, "b")}),
      Choice(&s, {Bytes(&s, "c"), Bytes(&s, "a\" | \"b")}),
      Choice(&s, {Bytes(&s, "c"), Bytes(&s, "a"), Bytes(&s, "b")}),
      Bytes(&s, "\xFF"),
      Bytes(&s, "\\xFF"),
      Bytes(&s, "\n"),
      Bytes(&s, "\\n"),
      s.ByteClass(ByteSet::Of('-')),
      Class(&s, '+', '-'),
      s.ByteClass(ByteSet::Of('+') | ByteSet::Of('-')),
      s.ByteClass(ByteSet::Of('\\') | ByteSet::Of(']')),
      Class(&s, '\\', ']'),
  };
  std::set<std::string> texts;
  for (TermId t : terms) texts.insert(s.ToString(t));
  EXPECT_EQ(texts.size(), std::set<TermId>(terms.begin(), terms.end()).size());
}

std::string Dump(TermStore* s, TermId t) {
  std::string out;
  const Expansion& e = s->Expand(t);
  for (const ByteEdge& edge : e.bytes) {
    out += s->ToString(s->ByteClass(ByteSet::Range(edge.lo, edge.hi))) + "->" +
           s->ToString(edge.to) + "; ";
  }
  for (const CallEdge& edge : e.calls) {
    out += "call" + std::to_string(edge.proc.value) + "->" + s->ToString(edge.to) + "; ";
  }
  for (const TokenEdge& edge : e.tokens) {
    out += "tokens" + std::to_string(edge.tokens) + "->" + s->ToString(edge.to) + "; ";
  }
  return out;
}

TEST(Term, Edges) {
  TermStore s({}, kSmallCount);
  const TermId a = Bytes(&s, "a"), digit = Class(&s, '0', '9'), hex = Class(&s, 'a', 'f');
  const ProcId p = s.AddProc(false, 1);
  s.SetBody(p, a);
  const TermId call = s.Call(p);
  EXPECT_EQ(Dump(&s, Bytes(&s, "abc")), "[a]->\"bc\"; ");
  EXPECT_EQ(Dump(&s, s.Sequence(Star(&s, digit), a)), "[0-9]->([0-9]{0,} \"a\"); [a]->\"\"; ");
  EXPECT_EQ(Dump(&s, Choice(&s, {s.Sequence(a, digit), s.Sequence(hex, Bytes(&s, "x"))})),
            "[a]->([0-9] | \"x\"); [b-f]->\"x\"; ");
  EXPECT_EQ(Dump(&s, s.Repeat(digit, 2, 4000)), "[0-9]->[0-9]{1,3999}; ");
  EXPECT_EQ(Dump(&s, s.Not(a)), "[\\x00-`]->all; [a]->!(\"\"); [b-\\xFF]->all; ");
  EXPECT_EQ(Dump(&s, And(&s, {Star(&s, Class(&s, 'a', 'z')), s.Not(a)})),
            "[a]->(!(\"\") & [a-z]{0,}); [b-z]->[a-z]{0,}; ");
  EXPECT_EQ(Dump(&s, s.Sequence(s.Repeat(call, 0, 2), a)),
            "[a]->\"\"; call1->(call1{0,1} \"a\"); ");
  EXPECT_EQ(Dump(&s, Choice(&s, {s.Sequence(call, a), s.Sequence(call, digit)})),
            "call1->(\"a\" | [0-9]); ");
  EXPECT_EQ(Dump(&s, s.Sequence(s.Tokens({{7}, false}), a)), "tokens0->\"a\"; ");
  EXPECT_EQ(Dump(&s, s.MultipleOf({3, 0}, 2)),
            "[.]->multiple(2,3,0); [0]->multiple(2,3,0); [1]->multiple(0,3,0); "
            "[2]->multiple(1,3,0); [3]->multiple(2,3,0); [4]->multiple(0,3,0); "
            "[5]->multiple(1,3,0); [6]->multiple(2,3,0); [7]->multiple(0,3,0); "
            "[8]->multiple(1,3,0); [9]->multiple(2,3,0); ");
}

TEST(Term, EdgesAscendAndAreDisjoint) {
  TermStore s({}, kSmallCount);
  std::vector<TermId> alternatives;
  for (int i = 0; i < 200; ++i) {
    const auto lo = static_cast<uint8_t>(i), hi = static_cast<uint8_t>(std::min(255, i * 2));
    alternatives.push_back(s.Sequence(Class(&s, lo, std::max(lo, hi)),
                                      Bytes(&s, std::string(1, static_cast<char>(i)))));
  }
  const Expansion& e = s.Expand(s.Choice(alternatives));
  ASSERT_FALSE(e.bytes.empty());
  for (size_t i = 0; i < e.bytes.size(); ++i) {
    EXPECT_LE(e.bytes[i].lo, e.bytes[i].hi);
    if (i > 0) {
      EXPECT_LT(e.bytes[i - 1].hi, e.bytes[i].lo);
    }
  }
}

TEST(Term, TheSpellingByteMarksOnlyOtherSpellings) {
  TermStore s({}, kSmallCount);
  const TermId a = s.Literal("ab", true);
  EXPECT_EQ(s.Expand(a).spelling_byte, '\\');
  EXPECT_EQ(s.Expand(s.Sequence(a, Bytes(&s, "x"))).spelling_byte, '\\');
  EXPECT_EQ(s.Expand(s.Repeat(a, 2, 2)).spelling_byte, '\\');
  EXPECT_EQ(s.Expand(Choice(&s, {a, s.Literal("cd", true)})).spelling_byte, '\\');
  // A quote has no plain spelling, so its backslash is no other spelling of it.
  EXPECT_EQ(s.Expand(s.Literal("\"", true)).spelling_byte, -1);
  EXPECT_EQ(s.Expand(Choice(&s, {a, s.Literal("\"", true)})).spelling_byte, -1);
  EXPECT_EQ(s.Expand(Choice(&s, {a, Bytes(&s, "\\")})).spelling_byte, -1);
  EXPECT_EQ(s.Expand(Bytes(&s, "\\a")).spelling_byte, -1);
}

// ---- random regular expressions against sets of words ----

// Expressions name only a and b; c stands for every other byte.
constexpr size_t kMaxText = 5;
constexpr size_t kTexts = 1 + 3 + 9 + 27 + 81 + 243;
using Words = std::bitset<kTexts>;

const std::vector<std::string>& Texts() {
  static const std::vector<std::string> texts = [] {
    std::vector<std::string> all = {""};
    for (size_t i = 0; all.size() < kTexts; ++i) {
      for (char c : {'a', 'b', 'c'}) all.push_back(all[i] + c);
    }
    return all;
  }();
  return texts;
}

size_t IndexOf(std::string_view text) {
  size_t index = 0;
  for (char c : text) index = index * 3 + 1 + static_cast<size_t>(c - 'a');
  return index;
}

Words Concatenate(const Words& x, const Words& y) {
  Words out;
  for (size_t i = 0; i < kTexts; ++i) {
    if (!x[i]) continue;
    for (size_t j = 0; j < kTexts; ++j) {
      if (y[j] && Texts()[i].size() + Texts()[j].size() <= kMaxText) {
        out.set(IndexOf(Texts()[i] + Texts()[j]));
      }
    }
  }
  return out;
}

// x^min | ... | x^max. Beyond kMaxText + 1 rounds the powers change no more.
Words Power(const Words& x, int64_t min, int64_t max) {
  Words power, out;
  power.set(0);
  for (int64_t k = 0; k <= static_cast<int64_t>(kMaxText) + 1; ++k) {
    const bool last = k == static_cast<int64_t>(kMaxText) + 1;
    if ((k >= min || last) && k <= max) out |= power;
    power = Concatenate(power, x);
  }
  return out;
}

struct Regex {
  TermId term;
  Words words;
};

class RandomRegex {
 public:
  RandomRegex(TermStore* store, uint64_t seed, bool boolean)
      : s_(*store), random_(seed), boolean_(boolean) {}

  Regex Make(int depth) {
    const unsigned kind = depth == 0 ? 0 : random_() % (boolean_ ? 9 : 6);
    switch (kind) {
      case 0:
      case 1:
        return Leaf();
      case 2:
      case 3: {
        const Regex x = Make(depth - 1), y = Make(depth - 1);
        return {s_.Sequence(x.term, y.term), Concatenate(x.words, y.words)};
      }
      case 4: {
        const Regex x = Make(depth - 1), y = Make(depth - 1);
        return {Choice(&s_, {x.term, y.term}), x.words | y.words};
      }
      case 5: {
        constexpr int64_t kBounds[][2] = {{0, kUnbounded}, {1, kUnbounded}, {0, 1},    {2, 3},
                                          {0, 1000},       {3, 100},        {7, 1000}, {2, 2},
                                          {0, 17},         {16, 18},        {4, 16}};
        const auto& [min, max] = kBounds[random_() % std::size(kBounds)];
        const Regex x = Make(depth - 1);
        return {s_.Repeat(x.term, min, max), Power(x.words, min, max)};
      }
      case 6: {
        const Regex x = Make(depth - 1), y = Make(depth - 1);
        return {And(&s_, {x.term, y.term}), x.words & y.words};
      }
      case 7: {
        const Regex x = Make(depth - 1), y = Make(depth - 1);
        return {And(&s_, {x.term, s_.Not(y.term)}), x.words & ~y.words};
      }
      default: {
        const Regex x = Make(depth - 1);
        return {s_.Not(x.term), ~x.words};
      }
    }
  }

 private:
  Regex Leaf() {
    Words words;
    auto with = [&](std::initializer_list<const char*> texts) {
      for (const char* t : texts) words.set(IndexOf(t));
      return words;
    };
    switch (random_() % 8) {
      case 0:
        return {Bytes(&s_, "a"), with({"a"})};
      case 1:
        return {Bytes(&s_, "b"), with({"b"})};
      case 2:
        return {Bytes(&s_, "ab"), with({"ab"})};
      case 3:
        return {TermStore::Empty(), with({""})};
      case 4:
        return {s_.ByteClass(ByteSet::Of('a') | ByteSet::Of('b')), with({"a", "b"})};
      case 5:
        return {s_.ByteClass(~ByteSet::Of('a')), with({"b", "c"})};
      case 6:
        return {Bytes(&s_, "bab"), with({"bab"})};
      default:
        return {s_.ByteClass(ByteSet::All()), with({"a", "b", "c"})};
    }
  }

  TermStore& s_;
  std::mt19937_64 random_;
  const bool boolean_;
};

// The states that `root` reaches, at most `most`, and whether these are all.
std::vector<TermId> Reachable(TermStore* s, TermId root, size_t most, bool* complete) {
  std::vector<TermId> states = {root};
  std::set<TermId> seen = {root};
  *complete = true;
  for (size_t i = 0; i < states.size(); ++i) {
    for (const ByteEdge& e : s->Expand(states[i]).bytes) {
      if (seen.contains(e.to)) continue;
      if (states.size() == most) {
        *complete = false;
        continue;
      }
      seen.insert(e.to);
      states.push_back(e.to);
    }
  }
  return states;
}

// By induction over the shortest texts this proves emptiness and lengths of all states exact.
void CheckLengths(TermStore* s, TermId root, const std::string& what) {
  bool complete = false;
  for (TermId state : Reachable(s, root, 300, &complete)) {
    const Term& t = s->term(state);
    uint64_t least = kMaxLength;
    for (const ByteEdge& e : s->Expand(state).bytes) {
      ASSERT_NE(e.to, TermStore::Nothing()) << what << ": an edge of " << s->ToString(state);
      least = std::min(least, s->term(e.to).min_length);
    }
    if (state == TermStore::Nothing()) continue;
    const uint64_t expected = t.nullable ? 0 : least + 1;
    ASSERT_EQ(t.min_length, expected) << what << ": the length of " << s->ToString(state);
  }
}

void CheckAgainstWords(TermStore* s, const Regex& regex) {
  const std::string what = s->ToString(regex.term);
  // From long texts to short: for each, the fewest letters that complete it.
  std::vector<size_t> missing(kTexts, kMaxText + 1);
  for (size_t i = kTexts; i-- > 0;) {
    if (regex.words[i]) missing[i] = 0;
    if (i > 0) missing[(i - 1) / 3] = std::min(missing[(i - 1) / 3], missing[i] + 1);
  }
  std::vector<TermId> states = {regex.term};
  for (size_t i = 0; i < kTexts; ++i) {
    if (i > 0) {
      states.push_back(Step(s, states[(i - 1) / 3], static_cast<uint8_t>(Texts()[i].back())));
    }
    const Term& t = s->term(states[i]);
    ASSERT_EQ(t.nullable, regex.words[i]) << what << " on \"" << Texts()[i] << "\"";
    const size_t room = kMaxText - Texts()[i].size();
    if (missing[i] <= room) {
      ASSERT_EQ(t.min_length, missing[i]) << what << " after \"" << Texts()[i] << "\"";
    } else {
      ASSERT_GT(t.min_length, room) << what << " after \"" << Texts()[i] << "\"";
    }
  }
}

TEST(Term, RandomRegularExpressionsMatchTheirWords) {
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    TermStore s({}, kSmallCount);
    RandomRegex random(&s, seed, seed % 3 != 0);
    const Regex regex = random.Make(3);
    CheckAgainstWords(&s, regex);
    CheckLengths(&s, regex.term, s.ToString(regex.term));
    if (HasFatalFailure()) return;
  }
}

TEST(Term, ManyExpressionsInOneStoreDoNotDisturbEachOther) {
  TermStore s({}, kSmallCount);
  RandomRegex random(&s, 99, true);
  std::vector<Regex> regexes;
  for (int i = 0; i < 200; ++i) regexes.push_back(random.Make(3));
  for (const Regex& regex : regexes) {
    CheckAgainstWords(&s, regex);
    if (HasFatalFailure()) return;
  }
}

// All tokens of up to small_count bytes meet the same in a state and in its far state.
TEST(Term, FarTermsAgreeWithinATokensLength) {
  for (int64_t small : {1, 2, 4}) {
    for (uint64_t seed = 0; seed < 250; ++seed) {
      TermStore s({}, small);
      RandomRegex random(&s, seed, seed % 2 == 0);
      const TermId root = random.Make(3).term;
      bool complete = false;
      for (TermId state : Reachable(&s, root, 40, &complete)) {
        const TermId far = s.FarTerm(state);
        ASSERT_EQ(s.FarTerm(far), far) << s.ToString(state);
        if (far == state) continue;
        for (const std::string& text : Texts()) {
          if (static_cast<int64_t>(text.size()) > small) break;
          const TermId x = After(&s, state, text), y = After(&s, far, text);
          ASSERT_EQ(x == TermStore::Nothing(), y == TermStore::Nothing())
              << s.ToString(state) << " and " << s.ToString(far) << " on " << text;
          ASSERT_EQ(s.term(x).nullable, s.term(y).nullable)
              << s.ToString(state) << " and " << s.ToString(far) << " on " << text;
        }
      }
    }
  }
}

TEST(Term, FarCountsShareOneState) {
  TermStore s({}, kSmallCount);
  const TermId x = Class(&s, 'a', 'z');
  const TermId one = s.FarTerm(s.Repeat(x, 0, 4000)), other = s.FarTerm(s.Repeat(x, 0, 700));
  EXPECT_EQ(one, other);
  EXPECT_EQ(s.ToString(one), "[a-z]{0,}");
  EXPECT_EQ(s.ToString(s.FarTerm(s.Repeat(x, 100, 200))), "[a-z]{17,}");
  EXPECT_EQ(s.ToString(s.FarTerm(s.Repeat(x, 100, kUnbounded))), "[a-z]{17,}");
  const TermId near = s.Repeat(x, 0, kSmallCount);
  EXPECT_EQ(s.FarTerm(near), near);
  EXPECT_NE(s.FarTerm(s.Repeat(x, 0, kSmallCount + 1)), near);
}

// ---- emptiness ----

TEST(Term, IntersectionsWithoutWordsAreNothing) {
  TermStore s({}, kSmallCount);
  const TermId a = Bytes(&s, "a"), b = Bytes(&s, "b"), all = TermStore::All();
  const TermId any = s.ByteClass(ByteSet::All());
  const TermId has_a = s.Sequence(all, s.Sequence(a, all));
  const TermId aa = s.Repeat(Bytes(&s, "aa"), 0, kUnbounded);
  EXPECT_EQ(And(&s, {Star(&s, b), has_a}), TermStore::Nothing());
  EXPECT_EQ(And(&s, {aa, s.Sequence(aa, a)}), TermStore::Nothing());
  EXPECT_EQ(And(&s, {s.Repeat(any, 0, 3), s.Repeat(any, 4, 9)}), TermStore::Nothing());
  EXPECT_EQ(s.Not(Star(&s, any)), TermStore::Nothing());
  EXPECT_EQ(And(&s, {Bytes(&s, "ab"), s.Not(Choice(&s, {Bytes(&s, "ab"), a}))}),
            TermStore::Nothing());
  // The dead half of a choice goes with the first byte.
  const TermId half =
      And(&s, {Choice(&s, {Bytes(&s, "ab"), Bytes(&s, "ba")}), s.Not(Bytes(&s, "ba"))});
  EXPECT_EQ(Step(&s, half, 'b'), TermStore::Nothing());
  EXPECT_EQ(s.term(half).min_length, 2u);
}

TEST(Term, ShortestWordsOfIntersections) {
  TermStore s({}, kSmallCount);
  const TermId a = Bytes(&s, "a"), any = s.ByteClass(ByteSet::All()), all = TermStore::All();
  auto loop = [&](size_t n) { return s.Repeat(Bytes(&s, std::string(n, 'a')), 1, kUnbounded); };
  EXPECT_EQ(s.term(And(&s, {loop(7), loop(11)})).min_length, 77u);
  EXPECT_EQ(s.term(And(&s, {loop(4), loop(6), loop(9)})).min_length, 36u);
  const TermId has_aa = s.Sequence(all, s.Sequence(Bytes(&s, "aa"), all));
  EXPECT_EQ(s.term(And(&s, {has_aa, s.Repeat(any, 5, 5)})).min_length, 5u);
  EXPECT_EQ(s.term(And(&s, {has_aa, s.Not(Star(&s, a))})).min_length, 3u);
}

// Where the parts have a text in common that is as short as each of them allows, it is found
// without the states on its way; where that is longer, or there is none, by a search.
TEST(Term, WhatAllPartsReadStraightOnNeedsNoSearch) {
  TermStore s({}, kSmallCount);
  const TermId digit = Class(&s, '0', '9'), colon = Bytes(&s, ":"), two = s.Repeat(digit, 2, 2);
  // hh:mm-hh:mm where one of the four digits in either half says what its fellow is.
  auto tied = [&](size_t at, int sum) {
    std::vector<TermId> ways;
    for (int d = 0; d <= sum; ++d) {
      std::vector<TermId> digits(8, digit);
      digits[at] = Bytes(&s, std::to_string(d));
      digits[at + 4] = Bytes(&s, std::to_string(sum - d));
      TermId way = TermStore::Empty();
      for (size_t i = 8; i-- > 0;) {
        way = s.Sequence(digits[i], way);
        if (i == 2 || i == 6) way = s.Sequence(colon, way);
        if (i == 4) way = s.Sequence(Bytes(&s, "-"), way);
      }
      ways.push_back(way);
    }
    return Choice(&s, ways);
  };
  const TermId tens = tied(2, 5), units = tied(3, 9), hours = tied(0, 2);
  for (TermId part : {tens, units, hours}) s.Expand(part);
  const TermId time = And(&s, {tens, units, hours});
  EXPECT_EQ(s.term(time).min_length, 11u);
  // A search would have made an intersection for each byte of a text.
  size_t intersections = 0;
  for (uint32_t id = 0; id < s.size(); ++id) {
    intersections += s.term(TermId(id)).kind == TermKind::kAnd;
  }
  EXPECT_EQ(intersections, 1u);
  EXPECT_TRUE(Matches(&s, time, "13:30-19:29"));
  EXPECT_FALSE(Matches(&s, time, "13:30-19:28"));
  EXPECT_FALSE(Matches(&s, time, "13:30-09:29"));
  EXPECT_EQ(After(&s, time, "13:30-2"), TermStore::Nothing());
  EXPECT_EQ(s.term(After(&s, time, "13:30-1")).min_length, 4u);
  // The shortest texts of the parts differ, and so do their only bytes.
  const TermId longer = And(&s, {s.Sequence(two, s.Repeat(digit, 0, 3)),
                                 Choice(&s, {Bytes(&s, "1a"), Bytes(&s, "2345")})});
  EXPECT_EQ(s.term(longer).min_length, 4u);
  EXPECT_EQ(And(&s, {s.Sequence(two, colon), s.Sequence(colon, two)}), TermStore::Nothing());
  // The way that wants least at first comes to nothing; another is as short.
  const TermId ab = Choice(&s, {Bytes(&s, "axc"), Bytes(&s, "bxd")});
  const TermId cd = Choice(&s, {Bytes(&s, "axd"), Bytes(&s, "bxd")});
  EXPECT_EQ(s.term(And(&s, {ab, cd})).min_length, 3u);
}

// A literal that all parts go on with is read by itself, in front of what is left of them.
TEST(Term, ALiteralThatAllPartsReadIsNoPartOfAnIntersection) {
  TermStore s({}, kSmallCount);
  const TermId digit = Class(&s, '0', '9'), odd = Class(&s, '5', '9'), end = Class(&s, '3', '6');
  for (const TermId literal : {s.Literal(":60-", false), s.Literal(":60-", true)}) {
    const TermId x = s.Sequence(digit, s.Sequence(literal, s.Sequence(odd, digit)));
    const TermId y = s.Sequence(digit, s.Sequence(literal, s.Sequence(digit, end)));
    const TermId both = And(&s, {x, y});
    const TermId after = After(&s, both, "1");
    ASSERT_EQ(s.term(after).kind, TermKind::kSequence);
    EXPECT_EQ(s.term(after).children()[0], literal);
    EXPECT_EQ(s.term(after).min_length, 6u);
    EXPECT_TRUE(Matches(&s, both, "1:60-53"));
    EXPECT_FALSE(Matches(&s, both, "1:60-43"));
    EXPECT_FALSE(Matches(&s, both, "1:60-57"));
    EXPECT_EQ(After(&s, both, "1:60-4"), TermStore::Nothing());
    // Nothing is left behind the literal: then it does not begin.
    const TermId z = s.Sequence(digit, s.Sequence(literal, s.Sequence(Class(&s, '0', '4'), digit)));
    const TermId some = Choice(&s, {z, s.Sequence(Bytes(&s, "7"), Bytes(&s, "x"))});
    const TermId other = Choice(&s, {x, s.Sequence(Bytes(&s, "7"), Bytes(&s, "x"))});
    const TermId rest = And(&s, {some, other});
    EXPECT_TRUE(Matches(&s, rest, "7x"));
    EXPECT_EQ(After(&s, rest, "1"), TermStore::Nothing());
    EXPECT_EQ(After(&s, rest, "7:"), TermStore::Nothing());
  }
}

// Many alternatives with a common beginning share it; the texts are the same.
TEST(Term, ManyAlternativesThatBeginAlike) {
  TermStore s({}, kSmallCount);
  const TermId key = s.Literal("name", true), colon = Star(&s, Class(&s, 0x20, 0x20));
  auto object = [&](const std::string& value) {
    return s.Sequence(key, s.Sequence(colon, Bytes(&s, value)));
  };
  std::vector<TermId> objects, values;
  for (int i = 0; i < 40; ++i) {
    objects.push_back(object("v" + std::to_string(i)));
    values.push_back(Bytes(&s, "v" + std::to_string(i)));
  }
  const TermId shared = s.Choice(objects);
  EXPECT_EQ(shared, s.Sequence(key, s.Sequence(colon, s.Choice(values))));
  EXPECT_EQ(s.term(shared).min_length, 6u);
  for (const char* text : {"namev7", "name  v39", "n\\u0061me v0"}) {
    EXPECT_TRUE(Matches(&s, shared, text)) << text;
  }
  for (const char* text : {"name", "namev40", "namev", "v1"}) {
    EXPECT_FALSE(Matches(&s, shared, text)) << text;
  }
  // Another beginning, or none, leaves the choice as it is.
  objects.push_back(Bytes(&s, "v"));
  EXPECT_EQ(s.term(s.Choice(objects)).children().size(), 41u);
  EXPECT_TRUE(Matches(&s, s.Choice(objects), "v"));
  // One of the rests may be everything, or nothing.
  objects.back() = s.Sequence(key, TermStore::All());
  EXPECT_EQ(s.Choice(objects), s.Sequence(key, TermStore::All()));
  objects.back() = key;
  EXPECT_TRUE(Matches(&s, s.Choice(objects), "name"));
  EXPECT_TRUE(Matches(&s, s.Choice(objects), "name v12"));
}

// Strings of so many characters that hold some words and not others, against all strings. What a
// search learns of states must hold for the searches after it, so every state is looked at.
// A search that has begun is a choice of places: in front of what follows, or each with that
// behind.
TEST(Term, ChoicesInFrontOfARest) {
  TermStore s({}, 16);
  const TermId any = Star(&s, Class(&s, 'a', 'z')), rest = Bytes(&s, "\"");
  const TermId search = s.Sequence(any, s.Sequence(Bytes(&s, "xy"), any));
  const TermId inside = And(&s, {search, s.Not(Bytes(&s, "xyz"))});
  const TermId with = s.Sequence(inside, rest), without = s.Sequence(search, rest);
  EXPECT_NE(After(&s, with, "xx"), After(&s, without, "xx"));
  EXPECT_TRUE(s.SameSpread(After(&s, with, "xx"), After(&s, without, "xx")));
  EXPECT_TRUE(s.SameSpread(After(&s, with, "xxy"), After(&s, without, "xxy")));
  EXPECT_FALSE(s.SameSpread(After(&s, with, "xy"), After(&s, without, "xy")));
  EXPECT_FALSE(s.SameSpread(After(&s, with, "xx"), After(&s, without, "a")));
  EXPECT_FALSE(s.SameSpread(with, without));
  EXPECT_TRUE(s.SameSpread(with, with));
}

TEST(Term, SeveralSearchesWithinACount) {
  constexpr std::string_view kCharacters[] = {"a", "b", "\xC3\xA9"};
  constexpr int64_t kMost = 6;
  std::vector<std::pair<std::string, int64_t>> texts = {{"", 0}};
  for (size_t i = 0; i < texts.size(); ++i) {
    const auto [text, count] = texts[i];
    if (count == kMost) break;
    for (std::string_view c : kCharacters) texts.push_back({text + std::string(c), count + 1});
  }
  std::mt19937 random(5);
  constexpr std::string_view kWords[] = {"aa",  "ab",  "ba",       "bb",
                                         "aab", "bab", "\xC3\xA9", "a\xC3\xA9"};
  for (int round = 0; round < 120; ++round) {
    TermStore s({}, kSmallCount);
    const TermId x = Choice(&s, {Bytes(&s, "a"), Bytes(&s, "b"), Bytes(&s, kCharacters[2])});
    const int64_t max = 2 + static_cast<int64_t>(random() % (kMost - 1));
    const int64_t min = static_cast<int64_t>(random() % (static_cast<unsigned>(max) + 1));
    std::vector<TermId> parts = {s.Repeat(x, min, max)};
    std::vector<std::string_view> held, barred;
    for (unsigned n = 2 + random() % 3; n > 0; --n) {
      const std::string_view word = kWords[random() % std::size(kWords)];
      const TermId search = s.Sequence(Star(&s, x), s.Sequence(Bytes(&s, word), Star(&s, x)));
      const bool bar = random() % 3 == 0;
      (bar ? barred : held).push_back(word);
      parts.push_back(bar ? s.Not(search) : search);
    }
    std::map<std::string, uint64_t> shortest;  // of what is left, by what has been read
    for (const auto& [text, count] : texts) {
      if (count < min || count > max) continue;
      auto in_text = [&text = text](std::string_view word) {
        return text.find(word) != std::string::npos;
      };
      if (!std::ranges::all_of(held, in_text) || std::ranges::any_of(barred, in_text)) continue;
      for (size_t n = 0; n <= text.size(); ++n) {
        const auto it = shortest.try_emplace(text.substr(0, n), kMaxLength).first;
        it->second = std::min<uint64_t>(it->second, text.size() - n);
      }
    }
    std::vector<std::pair<std::string, TermId>> todo = {{"", And(&s, parts)}};
    while (!todo.empty()) {
      const auto [read, state] = todo.back();
      todo.pop_back();
      const auto it = shortest.find(read);
      ASSERT_EQ(state != TermStore::Nothing(), it != shortest.end())
          << "round " << round << " after \"" << read << "\"";
      if (it == shortest.end()) continue;
      ASSERT_EQ(s.term(state).min_length, it->second)
          << "round " << round << " after \"" << read << "\"";
      for (char c : {'a', 'b', '\xC3', '\xA9'}) {
        todo.push_back({read + c, Step(&s, state, static_cast<uint8_t>(c))});
      }
    }
  }
}

TEST(Term, OverTheBudgetATermIsTakenForNotEmptyAndSaysSo) {
  Limits limits;
  limits.max_regular_states = 20;
  TermStore s(limits, kSmallCount);
  auto loop = [&](size_t n) { return s.Repeat(Bytes(&s, std::string(n, 'a')), 1, kUnbounded); };
  const TermId seven = loop(7), eleven = loop(11);
  for (int round = 0; round < 2; ++round) {
    s.BeginBuilding();
    EXPECT_NE(And(&s, {seven, eleven}), TermStore::Nothing());
    EXPECT_TRUE(s.over_budget()) << "round " << round;
    s.EndBuilding();
  }
  s.BeginBuilding();
  EXPECT_NE(And(&s, {loop(2), loop(3)}), TermStore::Nothing());
  EXPECT_FALSE(s.over_budget());
  s.EndBuilding();
  EXPECT_FALSE(s.overrun());
}

// While a text is read the bound is one of its own; over it the store is given up.
TEST(Term, WhatATextAsksForIsBounded) {
  Limits limits;
  limits.max_mask_states = 20;
  TermStore s(limits, kSmallCount);
  auto loop = [&](size_t n) { return s.Repeat(Bytes(&s, std::string(n, 'a')), 1, kUnbounded); };
  EXPECT_EQ(s.term(And(&s, {loop(2), loop(3)})).min_length, 6u);
  EXPECT_FALSE(s.overrun());
  EXPECT_NE(And(&s, {loop(7), loop(11)}), TermStore::Nothing());
  EXPECT_EQ(s.overrun_by(), TermStore::Overrun::kStates);

  limits = {};
  limits.max_mask_bytes = 10'000;
  TermStore bytes(limits, kSmallCount);
  const std::string text(TermStore::kMaxLiteral, 'x');
  auto grow = [&] {
    for (char a = 'a'; a <= 'z'; ++a) {
      for (char b = 'a'; b <= 'z'; ++b) Bytes(&bytes, text.substr(2) + a + b);
    }
  };
  bytes.BeginBuilding();
  grow();  // building has limits of its own
  bytes.EndBuilding();
  Bytes(&bytes, "a few more");
  EXPECT_FALSE(bytes.overrun());
  for (char a = 'a'; a <= 'z'; ++a) {
    for (char b = 'a'; b <= 'z'; ++b) Bytes(&bytes, std::string("y") + a + b);
  }
  EXPECT_EQ(bytes.overrun_by(), TermStore::Overrun::kBytes);
}

// What one build had no budget left for, another may still decide.
TEST(Term, ASharedBudgetLeavesNoVerdict) {
  Limits limits;
  limits.max_regular_states = 100;
  TermStore s(limits, kSmallCount);
  auto loop = [&](size_t n) { return s.Repeat(Bytes(&s, std::string(n, 'a')), 1, kUnbounded); };
  s.BeginBuilding();
  EXPECT_NE(And(&s, {loop(7), loop(11)}), TermStore::Nothing());
  EXPECT_FALSE(s.over_budget());
  const TermId late = And(&s, {loop(8), loop(9)});
  EXPECT_TRUE(s.over_budget());
  s.EndBuilding();
  s.BeginBuilding();
  EXPECT_EQ(And(&s, {loop(8), loop(9)}), late);
  EXPECT_FALSE(s.over_budget());
  EXPECT_EQ(s.term(late).min_length, 72u);
  s.EndBuilding();
}

// ---- multiples ----

using Wide = unsigned __int128;

// Whether the digits of `text` times 10^scale are divisible.
bool IsMultiple(std::string_view text, const Multiple& m) {
  Wide r = 0;
  for (char c : text) {
    if (c != '.') r = (r * 10 + static_cast<Wide>(c - '0')) % m.modulus;
  }
  for (uint32_t i = 0; i < m.scale; ++i) r = r * 10 % m.modulus;
  return r == 0;
}

TEST(Term, MultiplesAreThoseOfArithmetic) {
  std::mt19937_64 random(5);
  const uint64_t moduli[] = {2,
                             3,
                             7,
                             8,
                             10,
                             12,
                             25,
                             97,
                             125,
                             1000,
                             65537,
                             999'999'937,
                             1'000'000'007,
                             922'337'203'685'477'579u};
  for (uint64_t modulus : moduli) {
    for (uint32_t scale : {0u, 1u, 2u, 5u}) {
      TermStore s({}, kSmallCount);
      const Multiple m{modulus, scale};
      const TermId t = s.MultipleOf(m, 0);
      for (int round = 0; round < 200; ++round) {
        // Half of the numbers are multiples by construction.
        uint64_t n = random() % 1'000'000'000'000'000'000u;
        if (round % 2 == 0) n -= n % modulus;
        std::string text = std::to_string(n);
        if (round % 3 == 0) text.insert(random() % (text.size() + 1), ".");
        ASSERT_EQ(Matches(&s, t, text), IsMultiple(text, m)) << text << " " << modulus;
      }
      EXPECT_TRUE(Matches(&s, t, ""));
      EXPECT_EQ(After(&s, t, "1a"), TermStore::Nothing());
      EXPECT_EQ(After(&s, t, "-1"), TermStore::Nothing());
    }
  }
}

// The fewest digits behind `remainder` that make a multiple, by trying.
uint64_t FewestDigits(uint64_t remainder, const Multiple& m) {
  std::set<uint64_t> level = {remainder % m.modulus};
  for (uint64_t k = 0;; ++k) {
    std::set<uint64_t> next;
    for (uint64_t r : level) {
      Wide scaled = r;
      for (uint32_t i = 0; i < m.scale; ++i) scaled = scaled * 10 % m.modulus;
      if (scaled == 0) return k;
      for (uint64_t d = 0; d < 10; ++d) next.insert((r * 10 + d) % m.modulus);
    }
    level = std::move(next);
  }
}

TEST(Term, MultiplesKnowTheirShortestText) {
  TermStore s({}, kSmallCount);
  const TermId digits = Star(&s, Class(&s, '0', '9'));
  for (uint64_t modulus : {2, 7, 12, 64, 97, 100, 250, 1000}) {
    for (uint32_t scale : {0u, 1u, 3u}) {
      for (uint64_t r = 0; r < modulus; ++r) {
        const Multiple m{modulus, scale};
        const TermId t = s.MultipleOf(m, r);
        const uint64_t expected = FewestDigits(r, m);
        ASSERT_EQ(s.term(t).min_length, expected) << r << " " << modulus << " " << scale;
        ASSERT_EQ(s.term(And(&s, {t, digits})).min_length, expected);
      }
    }
  }
}

// Far more remainders than a search may visit: answered by arithmetic.
TEST(Term, LargeModuliNeedNoSearch) {
  TermStore s({}, kSmallCount);
  const uint64_t modulus = 922'337'203'685'477'579u;
  const TermId digits = Star(&s, Class(&s, '0', '9'));
  const TermId first = Class(&s, '1', '9');
  TermId state = And(&s, {s.Sequence(first, digits), s.MultipleOf({modulus, 0}, 0)});
  ASSERT_NE(state, TermStore::Nothing());
  for (char c : std::to_string(modulus)) {
    state = Step(&s, state, static_cast<uint8_t>(c));
    ASSERT_NE(state, TermStore::Nothing());
  }
  EXPECT_TRUE(s.term(state).nullable);
  EXPECT_FALSE(s.over_budget());
  EXPECT_LT(s.size(), 5000u);
}

TEST(Term, BoundedDigitsAndAMultipleAreDecidedExactly) {
  TermStore s({}, kSmallCount);
  const TermId digit = Class(&s, '0', '9');
  for (uint64_t modulus : {3, 7, 11, 40, 128, 999}) {
    const TermId t = And(&s, {s.Sequence(Class(&s, '1', '9'), s.Repeat(digit, 0, 2)),
                              s.MultipleOf({modulus, 0}, 0)});
    for (uint64_t n = 0; n < 1000; ++n) {
      ASSERT_EQ(Matches(&s, t, std::to_string(n)), n > 0 && n % modulus == 0) << n;
    }
    CheckLengths(&s, t, "multiples of " + std::to_string(modulus));
  }
  EXPECT_EQ(
      And(&s, {s.Sequence(Class(&s, '1', '9'), s.Repeat(digit, 0, 2)), s.MultipleOf({1001, 0}, 0)}),
      TermStore::Nothing());
}

// ---- size and depth ----

TEST(Term, LongLiterals) {
  TermStore s({}, kSmallCount);
  std::string text;
  for (int i = 0; i < 20'000; ++i) text += "k\xC3\xA9y"[i % 4];
  for (bool json : {false, true}) {
    const TermId t = s.Literal(text, json);
    EXPECT_EQ(s.term(t).min_length, text.size());
    EXPECT_TRUE(Matches(&s, t, text));
    EXPECT_FALSE(Matches(&s, t, text.substr(1)));
    EXPECT_FALSE(Matches(&s, t, text + "k"));
    EXPECT_EQ(After(&s, t, text.substr(0, 40) + "?"), TermStore::Nothing());
  }
  EXPECT_LT(s.size(), 200'000u);
}

TEST(Term, DeepSequencesAndGroupsNeedNoStack) {
  constexpr int kDepth = 100'000, kGroups = 20'000;
  TermStore s({}, kSmallCount);
  TermId chain = TermStore::Empty(), optional = Bytes(&s, "z"), group = Bytes(&s, "a");
  for (int i = 0; i < kDepth; ++i) {
    chain = s.Sequence(s.Repeat(Bytes(&s, i % 2 == 0 ? "a" : "b"), 0, 100), chain);
    optional = s.Sequence(s.Repeat(Bytes(&s, "c"), 0, 1), optional);
  }
  for (int i = 0; i < kGroups; ++i) {
    group = Choice(&s, {s.Sequence(s.Repeat(group, 0, 50), Bytes(&s, "b")), Bytes(&s, "c")});
  }
  EXPECT_TRUE(Matches(&s, chain, "abab"));
  EXPECT_TRUE(Matches(&s, optional, std::string(20, 'c') + "z"));
  EXPECT_TRUE(Matches(&s, group, "c"));
  EXPECT_TRUE(Matches(&s, group, "bb"));
  EXPECT_NE(s.FarTerm(chain), TermStore::Nothing());
  EXPECT_NE(s.FarTerm(group), TermStore::Nothing());
  EXPECT_GT(s.ToString(group).size(), size_t{kGroups});
}

// Each level's literal stands behind all that is inside: no level may be copied for every other.
TEST(Term, GroupsNestedOnTheLeftTakeLinearSpace) {
  constexpr int kDepth = 5000;
  TermStore s({}, kSmallCount);
  TermId t = Bytes(&s, "<");
  std::string text = "<";
  for (int i = 0; i < kDepth; ++i) {
    const std::string own = std::to_string(i) + ".";
    t = Choice(&s, {s.Sequence(t, Bytes(&s, own)), Bytes(&s, "|" + own)});
    text += own;
  }
  EXPECT_TRUE(Matches(&s, t, text));
  EXPECT_FALSE(Matches(&s, t, text + "."));
  EXPECT_TRUE(Matches(&s, t, "|4998.4999."));
  EXPECT_LT(s.size(), size_t{kDepth} * 200);
}

TEST(Term, WideChoices) {
  TermStore s({}, kSmallCount);
  std::vector<TermId> words;
  for (int i = 0; i < 5000; ++i) words.push_back(Bytes(&s, "w" + std::to_string(i * 7)));
  const TermId t = s.Choice(words);
  for (int i = 0; i < 36'000; i += 5) {
    EXPECT_EQ(Matches(&s, t, "w" + std::to_string(i)), i % 7 == 0 && i < 35'000) << i;
  }
}

TEST(Term, LengthsSaturate) {
  TermStore s({}, kSmallCount);
  TermId t = Bytes(&s, "a");
  for (int i = 0; i < 4; ++i)
    t = s.Repeat(s.Sequence(t, Bytes(&s, "b")), int64_t{1} << 40, int64_t{1} << 40);
  EXPECT_EQ(s.term(t).min_length, kMaxLength);
  EXPECT_NE(Step(&s, t, 'a'), TermStore::Nothing());
}

// A state of many edges behind one of a few that may be empty: what both read leads to both.
TEST(Derivatives, FewEdgesBesideMany) {
  std::mt19937 random(11);
  for (int round = 0; round < 300; ++round) {
    TermStore s({}, kSmallCount);
    std::lock_guard lock(s.mutex());
    // Ranges in order, with gaps of no byte or more, each with a text of its own after it.
    int texts = 0;
    auto ranges = [&](uint64_t longest, uint64_t gap) {
      std::vector<TermId> parts;
      for (uint64_t at = random() % gap; at < 256; at += random() % gap) {
        const uint64_t last = std::min<uint64_t>(at + random() % longest, 255);
        const TermId read = Class(&s, static_cast<uint8_t>(at), static_cast<uint8_t>(last));
        parts.push_back(s.Sequence(read, Bytes(&s, "t" + std::to_string(texts++ % 40))));
        at = last + 1;
      }
      return s.Choice(parts);
    };
    const TermId few = ranges(1 + random() % 60, 80), many = ranges(1 + random() % 4, 5);
    const TermId head = s.Choice(std::vector{few, s.Empty()});
    const TermId state = s.Sequence(head, many);
    for (int b = 0; b < 256; ++b) {
      auto step = [&](TermId from) -> TermId {
        const ByteEdge* e = FindEdge(s.ExpandLocked(from).bytes, static_cast<uint8_t>(b));
        return e != nullptr ? e->to : s.Nothing();
      };
      const TermId both = s.Choice(std::vector{s.Sequence(step(few), many), step(many)});
      ASSERT_EQ(step(state), both) << "round " << round << ", byte " << b;
    }
    const auto edges = s.ExpandLocked(state).bytes;
    for (size_t i = 1; i < edges.size(); ++i) {
      ASSERT_LT(edges[i - 1].hi, edges[i].lo);
      ASSERT_FALSE(edges[i - 1].hi + 1 == edges[i].lo && edges[i - 1].to == edges[i].to);
    }
  }
}

}  // namespace
}  // namespace grammask::internal
