// The Unicode tables: names, known members, and what must hold between properties. Every member of
// every property is compared with ICU by tests/data/regex/check_unicode_tables.mjs.
#include <gtest/gtest.h>

#include <string_view>

#include "grammar/unicode_tables.h"

namespace grammask::internal {
namespace {

TEST(UnicodeTablesTest, NamesAreLoose) {
  EXPECT_EQ(UnicodeCategory("Lu"), UnicodeCategory("uppercase letter"));
  EXPECT_EQ(UnicodeCategory("Lu"), UnicodeCategory("Uppercase_Letter"));
  EXPECT_EQ(UnicodeBinaryProperty("White_Space"), UnicodeBinaryProperty("space"));
  EXPECT_EQ(UnicodeScript("Grek", false), UnicodeScript("greek", false));
  EXPECT_EQ(UnicodeScript("Qaai", true), UnicodeScript("Inherited", true));
}

TEST(UnicodeTablesTest, UnknownNames) {
  for (std::string_view name : {"", "Lx", "Foo", "Greek ", "zzz"}) {
    EXPECT_FALSE(UnicodeCategory(name).has_value()) << name;
    EXPECT_FALSE(UnicodeBinaryProperty(name).has_value()) << name;
  }
  EXPECT_FALSE(UnicodeScript("Lu", false).has_value());
  EXPECT_FALSE(UnicodeCategory("Greek").has_value());
}

TEST(UnicodeTablesTest, KnownMembers) {
  EXPECT_TRUE(UnicodeCategory("Lu")->Has('A'));
  EXPECT_FALSE(UnicodeCategory("Lu")->Has('a'));
  EXPECT_TRUE(UnicodeCategory("Nd")->Has(0x0660));
  EXPECT_TRUE(UnicodeScript("Greek", false)->Has(0x03B1));
  EXPECT_FALSE(UnicodeScript("Greek", false)->Has(0x0342));
  EXPECT_TRUE(UnicodeScript("Greek", true)->Has(0x0342));
  EXPECT_TRUE(UnicodeBinaryProperty("Emoji")->Has(0x1F600));
  EXPECT_EQ(UnicodeBinaryProperty("ASCII")->size(), 128u);
  EXPECT_EQ(*UnicodeBinaryProperty("Any"), CodePointSet::All());
}

TEST(UnicodeTablesTest, CategoriesPartitionAllCharacters) {
  CodePointSet sum;
  size_t count = 0;
  for (std::string_view name :
       {"Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "No", "Pc", "Pd", "Ps", "Pe",
        "Pi", "Pf", "Po", "Sm", "Sc", "Sk", "So", "Zs", "Zl", "Zp", "Cc", "Cf", "Co", "Cn"}) {
    CodePointSet set = UnicodeCategory(name).value();
    count += set.size();
    sum = sum.Union(set);
  }
  EXPECT_EQ(sum, CodePointSet::All());
  EXPECT_EQ(count, CodePointSet::All().size());
  EXPECT_TRUE(UnicodeCategory("Cs")->empty());
  EXPECT_EQ(*UnicodeCategory("Cn"), UnicodeBinaryProperty("Assigned")->Complement());
  EXPECT_EQ(*UnicodeCategory("LC"),
            UnicodeCategory("Lu")->Union(*UnicodeCategory("Ll")).Union(*UnicodeCategory("Lt")));
}

TEST(UnicodeTablesTest, CaseFolding) {
  auto closed = [](uint32_t c) { return CloseUnderCaseFolding(CodePointSet::Of(c)); };
  EXPECT_EQ(closed('k'), (CodePointSet{{'K', 'K'}, {'k', 'k'}, {0x212A, 0x212A}}));
  EXPECT_EQ(closed(0x212A), closed('K'));
  EXPECT_EQ(closed('1'), CodePointSet::Of('1'));
  EXPECT_EQ(closed('i'), (CodePointSet{{'I', 'I'}, {'i', 'i'}}));
  EXPECT_EQ(closed(0x130), CodePointSet::Of(0x130));
  EXPECT_EQ(closed(0x131), CodePointSet::Of(0x131));
  EXPECT_EQ(closed(0xDF), (CodePointSet{{0xDF, 0xDF}, {0x1E9E, 0x1E9E}}));
  EXPECT_EQ(closed(0x3C3), (CodePointSet{{0x3A3, 0x3A3}, {0x3C2, 0x3C3}}));
  EXPECT_EQ(closed(0x10400), (CodePointSet{{0x10400, 0x10400}, {0x10428, 0x10428}}));
  EXPECT_EQ(closed(0x100), (CodePointSet{{0x100, 0x101}}));
  EXPECT_EQ(CloseUnderCaseFolding(CodePointSet::All()), CodePointSet::All());
  EXPECT_EQ(CloseUnderCaseFolding({}), CodePointSet());
  EXPECT_EQ(CloseUnderCaseFolding({{'a', 'z'}}),
            (CodePointSet{{'A', 'Z'}, {'a', 'z'}, {0x17F, 0x17F}, {0x212A, 0x212A}}));
}

TEST(UnicodeTablesTest, ClosingTwiceAddsNothing) {
  for (std::string_view name : {"Lu", "Ll", "Lt", "Nl", "So"}) {
    CodePointSet once = CloseUnderCaseFolding(*UnicodeCategory(name));
    EXPECT_EQ(CloseUnderCaseFolding(once), once) << name;
  }
}

}  // namespace
}  // namespace grammask::internal
