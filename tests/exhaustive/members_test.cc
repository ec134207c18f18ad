// Lists of members in any order, against the oracle: random lists within random grammars.
//
// Members, separators and ends are made of the same two or three letters, so that they share
// prefixes and whole languages: where a list goes on, where a member ends and which member was
// meant are open most of the time. Tokens finish one member and begin the next, or hold several.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "checks.h"
#include "worlds.h"

namespace grammask::internal {
namespace {

// Random grammars of one or two rules with lists in them. No rule and no member matches the empty
// text.
class RandomLists {
 public:
  struct Style {
    std::vector<std::string> literals;  // not empty
    std::vector<std::string> separators, ends;
    bool distinct = false;  // lists of distinct members, beside the others
  };
  RandomLists(const Style& style, std::mt19937_64* random) : style_(style), random_(*random) {}

  Grammar Make() {
    GrammarBuilder builder;
    b_ = &builder;
    rules_ = {builder.AddRule("root")};
    if (Below(2) == 0) rules_.push_back(builder.AddRule("other"));
    for (const RuleId rule : rules_) builder.SetBody(rule, Body());
    StatusOr<Grammar> grammar = builder.Finish(rules_[0]);
    EXPECT_TRUE(grammar.ok()) << grammar.status().message();
    return *grammar;
  }

 private:
  size_t Below(size_t n) { return random_() % n; }
  const std::string& Pick(const std::vector<std::string>& texts) {
    return texts[Below(texts.size())];
  }

  NodeId Body() {
    switch (Below(7)) {
      case 0:
        return b_->Sequence({b_->Optional(Text(2)), List()});
      case 1:
        return b_->Sequence({List(), Text(1)});
      case 2:
        return b_->Choice({List(), List()});
      case 3:
        return b_->Choice({List(), Text(2)});
      case 4:
        return b_->Repeat(List(), 1, 2);
      default:
        return List();
    }
  }

  // Any text but the empty one.
  NodeId Text(int depth) {
    if (depth == 0 || Below(2) == 0) return b_->Bytes(Pick(style_.literals));
    switch (Below(6)) {
      case 0:
        return b_->Choice({Text(depth - 1), Text(depth - 1)});
      case 1:
        return b_->Sequence({Text(depth - 1), b_->Optional(Text(depth - 1))});
      case 2:
        return b_->Repeat(Text(depth - 1), 1, kUnbounded);
      case 3:
        return b_->Repeat(Text(depth - 1), 1, 2);
      default:
        return b_->Rule(rules_[Below(rules_.size())]);
    }
  }

  NodeId Separator() {
    switch (Below(8)) {
      case 0:
        return b_->Optional(b_->Bytes(Pick(style_.literals)));
      case 1:
        return Text(1);
      case 2:  // matches no finite text
        return Below(4) == 0 ? Endless() : b_->Bytes(Pick(style_.separators));
      default:
        return b_->Bytes(Pick(style_.separators));
    }
  }

  NodeId End() {
    switch (Below(6)) {
      case 0:
        return b_->Optional(Text(1));
      case 1:
        return Text(1);
      default:
        return b_->Bytes(Pick(style_.ends));
    }
  }

  NodeId Endless() {
    const RuleId rule = b_->AddRule("endless");
    b_->SetBody(rule, b_->Sequence({b_->Bytes(style_.literals[0]), b_->Rule(rule)}));
    return b_->Rule(rule);
  }

  NodeId List() {
    Members list{.separator = Separator(), .end = End(), .members = {}};
    if (style_.distinct && Below(4) != 0) {
      // Up to two places, at which one or two members may be; nothing behind them, or any number.
      // Where some of these must be there, each has values left, else the list would be refused.
      const auto places = static_cast<uint32_t>(Below(2) == 0 ? 0 : 1 + Below(2));
      list.min = 1 + static_cast<int64_t>(Below(3));
      const bool many = places > 0 && list.min > 1;
      for (uint32_t place = 0; place < places; ++place) {
        for (size_t more = 1 + Below(2); more > 0; --more) {
          list.members.push_back(
              {.node = many ? Any() : Regular(2), .use = MemberUse::kPlaced, .place = place});
        }
      }
      if (places == 0 || Below(3) != 0) {
        list.members.push_back({many ? Any() : Regular(2), MemberUse::kDistinct});
      }
    } else {
      list.conditions = Below(3) == 0 ? static_cast<uint32_t>(1 + Below(2)) : 0;
      const size_t members = 1 + Below(4);
      for (size_t i = 0; i < members; ++i) {
        const MemberUse use = std::vector<MemberUse>{MemberUse::kOptional, MemberUse::kRequired,
                                                     MemberUse::kRepeated}[Below(3)];
        const uint32_t meets = use == MemberUse::kRepeated
                                   ? static_cast<uint32_t>(Below(size_t{1} << list.conditions))
                                   : 0;
        list.members.push_back({Text(2), use, meets});
      }
      if (Below(2) == 0) list.min = 1 + static_cast<int64_t>(Below(3));
    }
    if (Below(3) == 0) list.max = list.min + static_cast<int64_t>(Below(3));
    const NodeId made = b_->Members(list);
    // Many lists of conditions are not possible; a few of those are enough.
    return made == b_->Nothing() && Below(4) != 0 ? List() : made;
  }

  NodeId Any() {
    std::vector<NodeId> all;
    for (const std::string& literal : style_.literals) all.push_back(b_->Bytes(literal));
    return b_->Choice(all);
  }

  NodeId Regular(int depth) {
    if (depth == 0 || Below(4) == 0) return b_->Bytes(Pick(style_.literals));
    switch (Below(4)) {
      case 0:
        return b_->Sequence({Regular(depth - 1), b_->Optional(Regular(depth - 1))});
      case 1:
        return b_->Repeat(Regular(depth - 1), 1, kUnbounded);
      case 2:
        if (style_.literals[0] == "1") {  // one value in any number of spellings
          return b_->Sequence({b_->Bytes("1."), b_->Repeat(b_->Bytes("0"), 1, kUnbounded)});
        }
        return b_->Repeat(Regular(depth - 1), 1, 2);
      default:
        return b_->Choice({Regular(depth - 1), Regular(depth - 1), Regular(0)});
    }
  }

  const Style& style_;
  std::mt19937_64& random_;
  GrammarBuilder* b_ = nullptr;
  std::vector<RuleId> rules_;
};

// Texts of two letters and a vocabulary of all strings of up to three; all configurations in turn.
void CheckLists(const RandomLists::Style& style, const SmallVocabulary& vocabulary, size_t count,
                size_t max_text, uint64_t seed) {
  Engines engines(vocabulary);
  std::mt19937_64 random(seed);
  for (size_t i = 0; i < count * Effort(); ++i) {
    const Grammar grammar = RandomLists(style, &random).Make();
    SCOPED_TRACE("grammar " + std::to_string(i));
    Judge judge(grammar);
    auto& all = engines.all();
    if (!CheckGrammar(grammar, vocabulary, &all[i % all.size()], max_text, &judge)) return;
    if (!CheckWalk(grammar, vocabulary, &all[(i + 1) % all.size()], 8, &random, &judge)) return;
  }
}

TEST(MemberWorlds, TwoLetters) {
  const RandomLists::Style style = {
      .literals = {"a", "b", "ab", "ba", "aa", "bab"}, .separators = {"a", "b"}, .ends = {"", "b"}};
  CheckLists(style, SmallVocabulary(AllStrings("ab", 3), "ab"), 400, 4, 1);
}

TEST(MemberWorlds, WithACommaBetween) {
  const RandomLists::Style style = {
      .literals = {"a", "b", "ab", "ba", "aa"}, .separators = {","}, .ends = {"", ",", "b"}};
  CheckLists(style, SmallVocabulary(AllStrings("ab,", 3), "ab,"), 150, 4, 2);
}

TEST(MemberWorlds, DistinctTexts) {
  const RandomLists::Style style = {.literals = {"a", "b", "ab", "ba", "aa"},
                                    .separators = {",", ",", "b", "a"},
                                    .ends = {"", "b", ","},
                                    .distinct = true};
  CheckLists(style, SmallVocabulary(AllStrings("ab,", 3), "ab,"), 150, 4, 3);
}

// 1, 1.0, 1.00 and 10: values, not texts, must differ.
TEST(MemberWorlds, DistinctNumbers) {
  const RandomLists::Style style = {.literals = {"1", "10", "0", "1.0", "0.1", "01", "0.0"},
                                    .separators = {","},
                                    .ends = {"", "."},
                                    .distinct = true};
  CheckLists(style, SmallVocabulary(AllStrings("10.,", 3), "10.,"), 150, 4, 4);
}

// Longer texts than can be gone through whole: strings in several spellings, tokens that hold two
// whole values.
TEST(MemberWorlds, WalksOverDistinctStrings) {
  const std::vector<std::string> texts = {
      "\"",    "a",         "b",           ",",    "]",       "\\u0061",
      "\\",    "u",         "0",           "6",    "1",       "2",
      "r",     "e",         "\"a",         "a\"",  "\",\"",   "\"a\"",
      "\"b\"", "\"a\",",    "\"a\",\"b\"", ",\"",  "b\",\"a", "\"b\",\"\\u0061\"",
      "],",    "a\",\"a\"", "\\u006",      "1\",", "true",    "t",
      "rue",   ",true",     "true,\"a"};
  const SmallVocabulary vocabulary(texts, "\"ab,]\\u0612tre");
  Engines engines(vocabulary);
  std::mt19937_64 random(5);
  for (size_t i = 0; i < 150 * Effort(); ++i) {
    GrammarBuilder b;
    const NodeId quote = b.Bytes("\"");
    const NodeId letters = b.JsonClass(CodePointSet{{'a', 'b'}});
    std::vector<NodeId> values;
    if (random() % 2 == 0) values.push_back(b.Sequence({quote, b.Star(letters), quote}));
    if (random() % 2 == 0) values.push_back(b.Sequence({quote, letters, quote}));
    if (random() % 2 == 0) values.push_back(b.Sequence({quote, b.JsonText("ab"), quote}));
    if (random() % 2 == 0 || values.empty()) values.push_back(b.Bytes("true"));
    Members list{.separator = b.Bytes(","),
                 .end = b.Bytes("]"),
                 .members = {{b.Choice(values), MemberUse::kDistinct}},
                 .min = 1 + static_cast<int64_t>(random() % 3)};
    if (random() % 3 == 0) list.max = list.min + static_cast<int64_t>(random() % 3);
    const RuleId root = b.AddRule("root");
    b.SetBody(root, b.Repeat(b.Members(list), 1, 2));
    const Grammar grammar = *b.Finish(root);
    SCOPED_TRACE("grammar " + std::to_string(i));
    Judge judge(grammar);
    auto& engine = engines.all()[i % engines.all().size()];
    if (!CheckWalk(grammar, vocabulary, &engine, 12, &random, &judge)) return;
  }
}

}  // namespace
}  // namespace grammask::internal
