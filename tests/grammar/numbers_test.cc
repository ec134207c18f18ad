// Sets of numbers and their spellings: every text of a grid of plain and scientific notations is
// judged by the language and by NumberSet::Contains of its value.
#include "grammar/json_schema/numbers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "grammar/json_schema/number_range.h"
#include "grammar/regular_language.h"
#include "sampled.h"

namespace grammask::internal {

void PrintTo(const Decimal& value, std::ostream* out) { *out << value.ToString(); }
void PrintTo(const NumberSet& set, std::ostream* out) { *out << set.ToString(); }

namespace {

Decimal D(std::string_view text) {
  StatusOr<Decimal> value = Decimal::Parse(text);
  EXPECT_TRUE(value.ok()) << text << ": " << value.status().message();
  return value.ok() ? *value : Decimal();
}

RegularLanguage Emit(const NumberSet& set, const NumberSpelling& spelling = {}) {
  RegularLanguage language([&](GrammarBuilder* b) { return EmitNumbers(b, set, {}, spelling); });
  EXPECT_TRUE(language.status().ok()) << set.ToString() << ": " << language.status().message();
  return language;
}

// "integer >=1 <10 *0.5 !*3 !=4": the conditions of a set in short.
NumberSet Set(std::string_view conditions) {
  NumberSet set;
  while (!conditions.empty()) {
    size_t end = std::min(conditions.find(' '), conditions.size());
    std::string word(conditions.substr(0, end));
    conditions.remove_prefix(std::min(end + 1, conditions.size()));
    auto value = [&](size_t skip) { return D(word.substr(skip)); };
    if (word == "integer")
      set.kind = NumberSet::Kind::kIntegers;
    else if (word == "fraction")
      set.kind = NumberSet::Kind::kNonIntegers;
    else if (word.starts_with(">="))
      set.AtLeast(value(2));
    else if (word.starts_with("<="))
      set.AtMost(value(2));
    else if (word.starts_with(">"))
      set.AtLeast(value(1), true);
    else if (word.starts_with("<"))
      set.AtMost(value(1), true);
    else if (word.starts_with("!*"))
      set.not_multiples_of.push_back(value(2));
    else if (word.starts_with("!="))
      set.excluded.push_back(value(2));
    else if (word.starts_with("*"))
      set.multiples_of.push_back(value(1));
    else
      ADD_FAILURE() << word;
  }
  return set;
}

// Plain notations: integer parts of up to four digits, the interesting ones, with fractions.
const std::vector<std::string>& PlainTexts() {
  static const auto* texts = [] {
    std::vector<std::string> integers, fractions = {"", ".0", ".00", ".000"};
    for (int i = 0; i <= 130; ++i) integers.push_back(std::to_string(i));
    for (const char* i : {"199", "200", "201", "255", "256", "300", "499", "500", "512", "990",
                          "999", "1000", "1001", "1024", "1200", "1234", "1235", "9999", "10000"}) {
      integers.push_back(i);
    }
    for (const char* f :
         {".1",    ".10",   ".01",   ".001",  ".05",    ".2",   ".24",  ".25",  ".250",
          ".2500", ".251",  ".26",   ".3",    ".299",   ".4",   ".5",   ".50",  ".500",
          ".51",   ".49",   ".499",  ".75",   ".9",     ".99",  ".999", ".090", ".0100",
          ".125",  ".0005", ".2501", ".0001", ".00051", ".0505"}) {
      fractions.push_back(f);
    }
    auto* all = new std::vector<std::string>;
    for (const auto& i : integers) {
      for (const auto& f : fractions) {
        all->push_back(i + f);
        all->push_back("-" + i + f);
      }
    }
    return all;
  }();
  return *texts;
}

const std::vector<std::string>& ScientificTexts() {
  static const auto* texts = [] {
    auto* all = new std::vector<std::string>;
    for (const char* m :
         {"1",    "2",    "2.5",  "9",  "9.99", "1.0", "1.2", "1.24", "1.25", "1.250",
          "5.00", "4.99", "5.01", "10", "0",    "0.0", "0.5", "12",   "100",  "1.23456"}) {
      for (const char* e : {"e0",  "E+0",   "e-0",  "e1",  "e+1",  "e01",   "e-1",   "E-01",
                            "e2",  "e+002", "e-2",  "e3",  "e-3",  "e-5",   "e-05",  "e-7",
                            "e15", "e16",   "e+16", "e17", "e100", "e-100", "e+0020"}) {
        all->push_back(std::string(m) + e);
        all->push_back(std::string("-") + m + e);
      }
    }
    return all;
  }();
  return *texts;
}

bool IsNormalised(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  return text[0] != '0' && (text[1] == '.' || text[1] == 'e' || text[1] == 'E');
}

// Texts that are no JSON numbers, made of plain ones.
const std::vector<std::string>& MalformedTexts() {
  static const auto* texts = [] {
    auto* all = new std::vector<std::string>{"", "-", ".", "e5", "-.5", ".0"};
    for (const char* n : {"0", "1", "2", "5", "10", "12", "25", "100", "120", "999", "1000"}) {
      for (const char* end : {".", "-", "..0", ".0.0", "e", "E+", ".e5", "e1.0", " ", ".0e", "+"}) {
        all->push_back(std::string(n) + end);
        all->push_back("-" + all->back());
      }
      for (const char* start : {"0", "00", "+", "--", " ", "."}) {
        all->push_back(start + std::string(n));
      }
    }
    std::erase_if(*all, [](const std::string& text) { return Decimal::Parse(text).ok(); });
    return all;
  }();
  return *texts;
}

// Plain texts of members are in the language, those of others are not; no scientific text of
// another is, and nothing malformed. Returns how many scientific texts of members are missing.
int CheckSet(const NumberSet& set, const RegularLanguage& language) {
  int wrong = 0, missing = 0;
  for (const std::string& text : MalformedTexts()) {
    if (language.Has(text) && ++wrong < 5) {
      ADD_FAILURE() << "'" << text << "' is in " << set.ToString() << "\n" << language.text();
    }
  }
  for (const std::string& text : PlainTexts()) {
    if (language.Has(text) != set.Contains(D(text)) && ++wrong < 5) {
      ADD_FAILURE() << text << " is " << (language.Has(text) ? "" : "not ") << "in "
                    << set.ToString() << "\n"
                    << language.text();
    }
  }
  for (const std::string& text : ScientificTexts()) {
    bool member = set.Contains(D(text));
    if (language.Has(text) && !member && ++wrong < 5) {
      ADD_FAILURE() << text << " is in " << set.ToString() << "\n" << language.text();
    }
    if (!language.Has(text) && member && IsNormalised(text)) ++missing;
  }
  return missing;
}

TEST(NumbersTest, Tables) {
  struct Case {
    const char* set;
    std::vector<const char*> in, out;
  };
  const std::vector<Case> cases = {
      {"",
       {"0", "-0", "-0.0", "1e400", "12.50E-3", "10e5", "0e7", "-0.5e+0", "123456789.5"},
       {"", "-", "01", "1.", ".5", "+1", "1e", "1e+", "--1", "1 ", " 1", "0x1", "1e5.5", "00"}},
      {"integer",
       {"0", "-0", "1", "-17", "1.0", "1.000", "1e5", "3E+2", "1.5e16", "-2.25e+020", "12.0e3",
        "123456789012345678901234567890"},
       {"1.5", "1e-5", "01", "1.", "1.5e3", "-", "1.0001", "1e", "1e+"}},
      {"integer >=0", {"0", "-0", "-0.0", "5", "1e9", "-0e5"}, {"-1", "-1.0", "-1e2", "0.5"}},
      {"integer >=1", {"1", "5", "1e9", "1.5e16", "10.0"}, {"0", "-0", "-1", "0e3", "0.0"}},
      {"integer <=0", {"0", "-0", "-5", "-5e3"}, {"1", "1e3", "5.0"}},
      {"integer <0", {"-1", "-5e3", "-1.5e16"}, {"0", "-0", "1", "-0.0"}},
      {"integer >=-5 <=5", {"-5", "5", "0", "-0", "4.0", "-5.00"}, {"6", "-6", "5.1", "50", "5e0"}},
      {"integer >1 <2", {}, {"1", "2", "1.5"}},
      {">=0", {"0", "-0.0", "0.5", "1e-7", "10e-7", "12.5E+3"}, {"-0.5", "-1e-300", "-1"}},
      {">0", {"0.5", "1e-7", "0.0001e5", "10E5"}, {"0", "-0", "0.0", "0e5", "-1"}},
      {"<0", {"-0.5", "-1e-7", "-10E5"}, {"0", "-0", "1", "-0.0e7"}},
      {">=0 <=1",
       {"0", "-0", "1", "1.000", "0.999", "1e-5", "1e0", "9.99e-1", "1.0E-07"},
       {"1.001", "2", "1e1", "-0.1", "1.1e0", "-1e-5", "10"}},
      {">0 <1", {"0.5", "0.001", "9e-1", "1e-300", "0.9999"}, {"0", "1", "1.0", "0.00", "1e0"}},
      {">=-90 <=90", {"90", "-90.0", "89.99", "-0.5", "9e1", "8.999e1"}, {"90.01", "91", "9.1e1"}},
      {"*0.01", {"0", "19.99", "-0.5", "1.990", "1e16", "5"}, {"0.001", "1.999", "1e-3"}},
      {"*2.5", {"0", "2.5", "5", "7.50", "-10.0", "1000"}, {"1", "2.55", "0.25", "7.51", "2"}},
      {"*0.5", {"0.5", "3", "-2.50", "1.0"}, {"0.25", "0.51", "1.7"}},
      {"*1e-8", {"0.00000001", "1e-08", "1.5e-07", "3", "2e-5"}, {"0.000000001", "1.5e-8"}},
      {"*0.00025", {"0.00025", "0.25", "-1.75"}, {"0.0001", "1e-4", "2.6e-4"}},
      {"*0.00000025", {"2.5e-07", "1e-5", "1.25E-5", "-5.0e-6"}, {"2e-7", "1.1e-6", "1e-7"}},
      {"integer *2.5", {"0", "5", "-10.0"}, {"2.5", "7.5", "2", "7"}},
      {"*7 integer", {"0", "7", "-14.0", "700000007"}, {"8", "7.5", "70.1"}},
      {"*100", {"0", "100", "-1200.0"}, {"10", "110", "100.5", "00"}},
      {"*5", {"0", "5", "15", "20", "-5"}, {"1", "51", "5.5"}},
      {"*2 >=10", {"10", "12.0", "1000"}, {"8", "0", "11", "-10"}},
      {"*0.25 >=0 <=100", {"0", "0.25", "100.00", "99.75"}, {"100.25", "0.3", "-0.25"}},
      {"*256 >=1024", {"1024", "1280", "2560000"}, {"256", "1025", "0"}},
      {"*0.01 >=0 <=99999999999.99", {"99999999999.99", "0.010", "5"}, {"99999999999.991", "-1"}},
      {"*11 >=100 <=120", {"110", "110.0", "1.1e2"}, {"99", "121", "100"}},
      {"fraction", {"0.5", "-1.25", "1e-3", "2.5e-1", "10.10"}, {"0", "1", "1.0", "1e0", "2.5e1"}},
      {"!=3", {"1", "2.9", "30", "-3", "1e5", "3.01"}, {"3", "3.0", "3e0", "3.00E+00", "3e-0"}},
      {"!=0", {"1", "-1", "0.1", "1e-9"}, {"0", "-0", "0.0", "0e5"}},
      {"integer !=3 !=5", {"4", "33", "-3"}, {"3", "5.0", "3.0"}},
      {"!*3", {"1", "2", "3.5", "-4", "4.0"}, {"0", "3", "6.0", "-9", "300"}},
      {"integer *2 !*3", {"2", "4", "-8", "10"}, {"0", "6", "3", "12.0"}},
      {"!*0.01", {"0.001", "1.999"}, {"1", "0.01", "1.990", "0"}},
  };
  for (const Case& c : cases) {
    NumberSet set = Set(c.set);
    RegularLanguage language = Emit(set);
    for (const char* text : c.in) {
      EXPECT_TRUE(language.Has(text)) << "'" << text << "' should be in: " << c.set;
      EXPECT_TRUE(set.Contains(D(text))) << text << " " << c.set;
    }
    for (const char* text : c.out) {
      EXPECT_FALSE(language.Has(text)) << "'" << text << "' should not be in: " << c.set;
    }
    CheckSet(set, language);
  }
}

const std::vector<std::string>& Values() {
  static const auto* values = new std::vector<std::string>{
      "0",    "1",    "-1",   "2",   "5",     "9",     "10",   "11",   "12",    "25",    "99",
      "100",  "101",  "120",  "255", "256",   "500",   "999",  "1000", "1234",  "0.5",   "0.25",
      "0.1",  "0.01", "0.05", "0.3", "0.001", "0.26",  "2.5",  "12.5", "99.99", "12.25", "0.999",
      "-0.5", "-5",   "-10",  "-12", "-100",  "-0.01", "1e-5", "9.99", "1200"};
  return *values;
}

const std::vector<std::string>& Steps() {
  static const auto* steps = new std::vector<std::string>{
      "1",    "2",     "3",    "5",    "7",    "10",   "12",     "100",   "0.5",
      "0.1",  "0.01",  "2.5",  "0.25", "1.5",  "0.4",  "0.125",  "20",    "50",
      "0.05", "0.015", "1e-5", "0.2",  "0.02", "5e-6", "2.5e-7", "1.2e-6"};
  return *steps;
}

NumberSet RandomSet(std::mt19937_64& random, bool only_bounds) {
  auto pick = [&](const std::vector<std::string>& from) { return D(from[random() % from.size()]); };
  NumberSet set;
  if (random() % 3 == 0) set.kind = NumberSet::Kind::kIntegers;
  if (random() % 3 != 0) set.AtLeast(pick(Values()), random() % 2);
  if (random() % 3 != 0) set.AtMost(pick(Values()), random() % 2);
  if (only_bounds) return set;
  if (random() % 8 == 0) set.kind = NumberSet::Kind::kNonIntegers;
  for (int n = static_cast<int>(random() % 3); n > 0; --n) {
    set.multiples_of.push_back(pick(Steps()));
  }
  if (random() % 4 == 0) set.not_multiples_of.push_back(pick(Steps()));
  while (random() % 3 == 0) set.excluded.push_back(pick(Values()));
  return set;
}

// Bounds alone: exact for plain and for scientific notation with one digit before the point.
TEST(NumbersTest, RandomRangesAreExact) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 250; ++i) {
    NumberSet set = RandomSet(random, true);
    int missing = CheckSet(set, Emit(set));
    if (set.kind == NumberSet::Kind::kAny) {
      EXPECT_EQ(missing, 0) << set.ToString();
    }
    if (HasFailure()) return;
  }
}

// Pairs of bounds with common beginnings, in all four kinds of interval.
TEST(NumbersTest, CloseBoundsAreExact) {
  const std::vector<std::string> values = {"0",    "0.0005", "0.001", "0.01", "0.1",   "0.2",
                                           "0.24", "0.25",   "0.251", "0.26", "1",     "1.001",
                                           "1.25", "12",     "12.25", "12.5", "120",   "120.05",
                                           "121",  "1000",   "1001",  "1234", "1234.5"};
  for (size_t i = 0; i < values.size(); ++i) {
    for (size_t j = i + 1; j < std::min(values.size(), i + 7); ++j) {
      for (int kind = static_cast<int>(i + j) % OneIn(5); kind < 8; kind += OneIn(5)) {
        NumberSet set;
        set.AtLeast(D(values[i]), (kind & 1) != 0);
        set.AtMost(D(values[j]), (kind & 2) != 0);
        if ((kind & 4) != 0) set.kind = NumberSet::Kind::kIntegers;
        int missing = CheckSet(set, Emit(set));
        if (set.kind == NumberSet::Kind::kAny) {
          EXPECT_EQ(missing, 0) << set.ToString();
        }
        if (HasFailure()) return;
      }
    }
  }
}

TEST(NumbersTest, RandomSetsAreExact) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 250; ++i) {
    NumberSet set = RandomSet(random, false);
    RegularLanguage language = Emit(set);
    CheckSet(set, language);
    EXPECT_EQ(language.IsEmpty(), set.IsEmpty()) << set.ToString();
    if (HasFailure()) return;
  }
}

TEST(NumbersTest, AlgebraAgreesWithMembership) {
  std::mt19937_64 random(3);
  std::vector<Decimal> values;
  std::set<Decimal> seen;
  for (const std::string& text : PlainTexts()) {
    if (random() % 4 == 0 && seen.insert(D(text)).second) values.push_back(D(text));
  }
  for (const std::string& text : Values()) values.push_back(D(text));
  for (int i = 0; i < 400; ++i) {
    NumberSet a = RandomSet(random, i % 3 == 0), b = RandomSet(random, i % 4 == 0);
    NumberSet both = Intersect(a, b), normal = a, again;
    normal.Normalise();
    again = normal;
    again.Normalise();
    ASSERT_EQ(normal, again) << a.ToString();
    ScratchVector<NumberSet> outside = Complement(a);
    bool disjoint = Disjoint(a, b), subset = IsSubset(a, b), empty = a.IsEmpty();
    std::optional<ScratchVector<Decimal>> members = a.Members(200);
    const std::optional<int64_t> count = a.Count(150);
    if (count && members) {
      ASSERT_EQ(*count, std::min<int64_t>(150, members->size())) << a.ToString();
    } else if (count) {
      ASSERT_EQ(*count, 150) << a.ToString();
    }
    for (const Decimal& v : values) {
      bool in_a = a.Contains(v), in_b = b.Contains(v);
      ASSERT_EQ(both.Contains(v), in_a && in_b) << v.ToString() << " " << both.ToString();
      ASSERT_EQ(normal.Contains(v), in_a) << v.ToString() << " " << normal.ToString();
      int terms = 0;
      for (const NumberSet& term : outside) terms += term.Contains(v) ? 1 : 0;
      ASSERT_EQ(terms, in_a ? 0 : 1) << v.ToString() << " outside " << a.ToString();
      ASSERT_FALSE(disjoint && in_a && in_b) << a.ToString() << ", " << b.ToString();
      ASSERT_FALSE(subset && in_a && !in_b) << a.ToString() << ", " << b.ToString();
      ASSERT_FALSE(empty && in_a) << a.ToString();
      if (members) {
        ASSERT_EQ(std::binary_search(members->begin(), members->end(), v), in_a) << a.ToString();
      }
    }
  }
}

TEST(NumbersTest, Count) {
  const auto count = [](std::string_view set) { return Set(set).Count(1000); };
  EXPECT_EQ(count("integer >=1 <=500"), 500);
  EXPECT_EQ(count("integer >0.5 <500 !=7 !=7.5 !=600"), 498);
  EXPECT_EQ(count("integer >=1 <=1001 !=5"), 1000);
  EXPECT_EQ(count("integer >=1 <=1000 !=5"), 999);
  EXPECT_EQ(count("integer >=-1e300 <=1e300"), 1000);
  EXPECT_EQ(count("*0.25 >=0 <=2"), 9);
  EXPECT_EQ(count(">=0 <=1"), 1000);
  EXPECT_EQ(count("integer >=1"), 1000);
  EXPECT_EQ(count(">=3 <=3"), 1);
  EXPECT_EQ(count("integer >3 <4"), 0);
  EXPECT_EQ(count("integer !*3 >=0 <=10"), std::nullopt);
}

TEST(NumbersTest, Emptiness) {
  for (const char* text : {"integer >1 <2", "integer >=5 <=4", ">1 <1", ">=1 <1", "*7 >=15 <=20",
                           "*2 !*2", "integer !*1", "fraction *3", "integer >=1 <=3 !=1 !=2 !=3",
                           "*4 !*2", ">=3 <=3 !=3", "*0.3 >=0.1 <0.3", "integer *2 *3 >=1 <=5",
                           "*2 >=1 <=7 !*4 !=2 !=6", "fraction *0.5 >=0.6 <=1.4"}) {
    EXPECT_TRUE(Set(text).IsEmpty()) << text;
    EXPECT_TRUE(Emit(Set(text)).IsEmpty()) << text;
  }
  for (const char* text : {"", "integer", ">=1 <=1", "integer >1 <3", "fraction >1 <2",
                           "*7 >=15 <=21", "*2 !*4", ">1 <1.0001", "integer !*2 !*3 !*5",
                           "*2 >=1 <=7 !*4 !=2", ">=1 <=2 !=1 !=2", "fraction *0.5 >=0.6 <=1.5"}) {
    EXPECT_FALSE(Set(text).IsEmpty()) << text;
  }
}

TEST(NumbersTest, NormalForms) {
  const std::vector<std::pair<const char*, const char*>> cases = {
      {"", "number"},
      {"integer >0.5 <10", "integer >= 1 <= 9"},
      {"*1", "integer"},
      {"*0.4 integer", "integer multiple of 2"},
      {"*4 *6 >=1", "integer >= 12 multiple of 12"},
      {"*0.5 >0.5 <=3.2", "number >= 1 <= 3 multiple of 0.5"},
      {"integer >=1 !=1 !=2 !=9 !=0.5 !=-4", "integer >= 3 except 9"},
      {">=1 !=1", "number > 1"},
      {"!*1", "non-integer"},
      {"!*2 !*4", "number not multiple of 2"},
      {"integer >1 <3", "number >= 2 <= 2"},
      {"integer >1 <2", "no number"},
  };
  for (const auto& [conditions, normal] : cases) {
    NumberSet set = Set(conditions);
    set.Normalise();
    EXPECT_EQ(set.ToString(), normal) << conditions;
  }
}

// One value: plain with zeros, normalised scientific, and the source's own text.
TEST(NumbersTest, SingleValues) {
  struct Case {
    const char* value;
    std::vector<const char*> in, out;
  };
  const std::vector<Case> cases = {
      {"5", {"5", "5.0", "5.000", "5e0", "5E+00", "5.0e-0"}, {"-5", "50", "5.1", "0.5e1", "05"}},
      {"-0.25",
       {"-0.25", "-0.2500", "-2.5e-1", "-2.50E-001"},
       {"0.25", "-0.251", "-.25", "-2.5e1"}},
      {"1200", {"1200", "1200.0", "1.2e3", "1.200E+003"}, {"12e2", "120", "1.2e4", "12000"}},
      {"0", {"0", "-0", "0.0", "0e5", "-0.000E-7"}, {"00", "0.01", "", "-", "0."}},
      {"1e400", {"1e400", "1.0E+0400"}, {"1e401", "1e40", "10e399"}},
      {"1e-05", {"1e-05", "0.00001", "0.0000100", "1E-5"}, {"1e05", "0.0001"}},
      {"100e-2", {"1", "100e-2", "1.0"}, {"10e-1", "100", "100e2"}},
      {"0.5e1", {"5", "0.5e1", "5e0"}, {"0.5", "0.5e2"}},
      {"9007199254740993", {"9007199254740993", "9.007199254740993e15"}, {"9007199254740992"}},
  };
  for (const Case& c : cases) {
    RegularLanguage language(
        [&](GrammarBuilder* b) { return EmitNumberValue(b, D(c.value), c.value); });
    for (const char* text : c.in) EXPECT_TRUE(language.Has(text)) << text << " for " << c.value;
    for (const char* text : c.out) EXPECT_FALSE(language.Has(text)) << text << " for " << c.value;
  }
  RegularLanguage far([&](GrammarBuilder* b) { return EmitNumberValue(b, D("1e2000")); });
  EXPECT_TRUE(far.Has("1" + std::string(2000, '0')));
  EXPECT_FALSE(far.Has("1" + std::string(2001, '0')));
}

// Draft 4: an integer is a number without fraction or exponent.
TEST(NumbersTest, IntegersAsDigitsOnly) {
  NumberSpelling digits{.integers_with_fraction = false};
  for (const char* conditions : {"integer", "integer >=0", "integer >=3 <=3", "integer *7 <=100",
                                 "integer >=1 <=2000 !=5"}) {
    RegularLanguage language = Emit(Set(conditions), digits);
    for (int i = -20; i < 130; ++i) {
      std::string text = std::to_string(i);
      EXPECT_EQ(language.Has(text), Set(conditions).Contains(Decimal(i))) << text;
      EXPECT_FALSE(language.Has(text + ".0"));
      EXPECT_FALSE(language.Has(text + "e1"));
    }
  }
  EXPECT_TRUE(Emit(Set(">=1 <=3"), digits).Has("2.0"));
}

// Bounds of any magnitude end in a small node or in a refusal, soon.
TEST(NumbersTest, HugeBoundsStaySmall) {
  auto nodes = [](const char* conditions) {
    GrammarBuilder builder;
    StatusOr<NodeId> node = EmitNumbers(&builder, Set(conditions), {});
    if (!node.ok()) {
      EXPECT_EQ(node.status().code(), StatusCode::kUnsupported);
      return size_t{0};
    }
    RuleId root = builder.AddRule("root");
    builder.SetBody(root, *node);
    return builder.Finish(root)->node_count();
  };
  for (const char* conditions :
       {">=1e-1000000000 <=1e1000000000", ">=-1.7976931348623157e308 <=1.7976931348623157e308",
        "integer >=-1e1000000 <=1e1000000", ">1e-900000000 <2e-900000000", "*1e-1000000",
        "*1e1000000 >=0", ">0 <1e-1000000000", "integer >=1e1000000000"}) {
    size_t n = nodes(conditions);
    EXPECT_GT(n, 0u) << conditions;
    EXPECT_LT(n, 400u) << conditions;
  }
  EXPECT_EQ(nodes(">1e1000000000"), 0u);
  EXPECT_EQ(nodes("*123456789012345678901"), 0u);
  EXPECT_EQ(nodes("*3e-1000000"), 0u);
  RegularLanguage wide = Emit(Set(">1e40 <1.5e41"));
  EXPECT_FALSE(wide.Has("1" + std::string(40, '0')));
  EXPECT_FALSE(wide.Has("1" + std::string(40, '0') + ".0"));
  EXPECT_TRUE(wide.Has("1" + std::string(40, '0') + ".01"));
  EXPECT_TRUE(wide.Has("1" + std::string(39, '0') + "1"));
  EXPECT_TRUE(wide.Has("14" + std::string(40, '9')));
  EXPECT_FALSE(wide.Has("15" + std::string(40, '0')));
  EXPECT_TRUE(wide.Has("1.4999e41"));
}

TEST(NumbersTest, CommonSetsAreSmall) {
  EXPECT_LE(Emit(Set("integer >=0")).nodes(), 60u);
  EXPECT_LE(Emit(Set("")).nodes(), 30u);
  EXPECT_LE(Emit(Set(">=0")).nodes(), 40u);
  for (const char* simple :
       {"", "integer", "integer >=1 <=100", ">=0 <=1", "*0.01", "*100", "*5", "*0.5", "*0.2",
        "*0.01 >=0", "integer *5 >=0", "fraction", "*7 >=1 <=50"}) {
    EXPECT_FALSE(Emit(Set(simple)).combines()) << simple;
  }
}

}  // namespace
}  // namespace grammask::internal
