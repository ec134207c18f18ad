#include "grammar/json_schema/text_match.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "grammar/ast.h"

namespace grammask::internal {
namespace {

constexpr int64_t kMax = kUnbounded;

// A random regular node over few characters, some of several bytes or of several spellings.
class NodeMaker {
 public:
  NodeMaker(GrammarBuilder* builder, uint32_t seed) : b_(*builder), random_(seed) {}

  NodeId Make(int depth) {
    if (depth == 0) return Leaf();
    switch (Below(8)) {
      case 0:
        return Leaf();
      case 1:
      case 2:
        return b_.Sequence({Make(depth - 1), Make(depth - 1)});
      case 3:
        return b_.Choice({Make(depth - 1), Make(depth - 1), Make(depth - 1)});
      case 4: {
        const int64_t min = Below(4);
        return b_.Repeat(Make(depth - 1), min, Below(2) == 0 ? kMax : min + Below(3));
      }
      case 5:
        return b_.And({Make(depth - 1), Make(depth - 1)});
      case 6:
        return b_.Not(Make(depth - 1));
      default:
        return b_.Repeat(Make(depth - 1), Below(2), kMax);
    }
  }

  std::string Text(size_t most) {
    static const std::vector<std::string> kPieces = {"a",
                                                     "b",
                                                     "c",
                                                     "1",
                                                     "2",
                                                     "0",
                                                     ".",
                                                     "é",
                                                     "\\n",
                                                     "\\u0061",
                                                     "\\",
                                                     "\\\\",
                                                     "\\ud83d\\ude00",
                                                     "\"",
                                                     "\xE2",
                                                     "😀"};
    std::string text;
    for (int n = Below(9); n > 0 && text.size() < most; --n) {
      text += kPieces[static_cast<size_t>(Below(2) == 0 ? Below(5)
                                                        : Below(static_cast<int>(kPieces.size())))];
    }
    return text;
  }

 private:
  int Below(int n) { return static_cast<int>(random_() % static_cast<uint32_t>(n)); }

  NodeId Leaf() {
    switch (Below(9)) {
      case 0:
        return b_.Bytes("a");
      case 1:
        return b_.Bytes("bc");
      case 2:
        return b_.JsonText(Below(2) == 0 ? "a" : "a\n");
      case 3:
        return b_.ByteClass(ByteSet::Range('a', 'c'));
      case 4:
        return b_.Class(CodePointSet{{'b', 0x10FFFF}});
      case 5:
        return b_.JsonClass(CodePointSet{{0, 'b'}, {0xE9, 0x1F600}});
      case 6:
        return b_.MultipleOf({3, 0});
      case 7:
        return b_.MultipleOf({20, 1});
      default:
        return Below(3) == 0 ? b_.Empty() : b_.JsonClass(CodePointSet{{0, 0x10FFFF}});
    }
  }

  GrammarBuilder& b_;
  std::mt19937 random_;
};

TEST(TextMatch, BothWaysSayTheSame) {
  int matched = 0, not_matched = 0;
  for (uint32_t seed = 0; seed < 3000; ++seed) {
    GrammarBuilder b;
    NodeMaker maker(&b, seed);
    const NodeId node = maker.Make(1 + static_cast<int>(seed % 5));
    for (int i = 0; i < 20; ++i) {
      const std::string text = maker.Text(50);
      const auto quick = MatchesText(b, node, text), slow = MatchesByRelations(b, node, text);
      ASSERT_TRUE(quick.ok() && slow.ok());
      ASSERT_EQ(*quick, *slow) << "seed " << seed << ", text " << text;
      ++(*quick ? matched : not_matched);
    }
  }
  EXPECT_GT(matched, 5000);
  EXPECT_GT(not_matched, 5000);
}

// Texts on both sides of the bound on images: 63 bytes.
TEST(TextMatch, LongTexts) {
  GrammarBuilder b;
  const NodeId any = b.Star(b.JsonClass(CodePointSet{{0, 0x10FFFF}}));
  const NodeId odd = b.Sequence({b.Bytes("a"), b.Star(b.Bytes("aa"))});
  const NodeId last = b.Sequence({any, b.Bytes("b")});
  const NodeId others = b.Not(last);
  for (size_t n : {1, 2, 61, 62, 63, 64, 65, 127, 128, 200}) {
    const std::string text(n, 'a');
    EXPECT_TRUE(*MatchesText(b, any, text));
    EXPECT_EQ(*MatchesText(b, odd, text), n % 2 == 1) << n;
    EXPECT_FALSE(*MatchesText(b, last, text)) << n;
    EXPECT_TRUE(*MatchesText(b, others, text)) << n;
    EXPECT_TRUE(*MatchesText(b, last, text.substr(1) + "b")) << n;
    EXPECT_FALSE(*MatchesText(b, others, text.substr(1) + "b")) << n;
    EXPECT_EQ(*MatchesText(b, b.Repeat(b.Bytes("a"), 62, 64), text), n >= 62 && n <= 64) << n;
    EXPECT_EQ(*MatchesText(b, b.Repeat(b.Optional(b.Bytes("a")), 1000, kMax), text), true) << n;
    EXPECT_EQ(*MatchesText(b, b.Repeat(b.Bytes("a"), 1000, kMax), text), false) << n;
  }
}

// Loops within loops, and nodes nested deeper than images go: both end soon, and are right.
TEST(TextMatch, DeepNodes) {
  GrammarBuilder b;
  NodeId loops = b.Bytes("a"), nested = b.Bytes("a");
  for (int i = 0; i < 40; ++i) {
    const std::string letter(1, static_cast<char>('b' + i % 3));
    loops = b.Star(b.Sequence({loops, b.Optional(b.Bytes(letter))}));
  }
  for (int i = 0; i < 2000; ++i) {
    nested = b.Not(b.Sequence({nested, b.Optional(b.Bytes(i % 2 == 0 ? "b" : "c"))}));
  }
  const std::string text = "aabacadaabbccddaabacadaabbccdd";
  EXPECT_TRUE(*MatchesText(b, loops, text));
  EXPECT_FALSE(*MatchesText(b, loops, text + "e"));
  for (const std::string& t : {std::string("a"), std::string("abc"), std::string("x")}) {
    EXPECT_EQ(*MatchesText(b, nested, t), *MatchesByRelations(b, nested, t)) << t;
  }
}

}  // namespace
}  // namespace grammask::internal
