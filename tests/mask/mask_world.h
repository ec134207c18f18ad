// Tables and masks over one vocabulary, for tests of the mask stage.
#ifndef GRAMMASK_TESTS_MASK_MASK_WORLD_H_
#define GRAMMASK_TESTS_MASK_MASK_WORLD_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "automaton/build.h"
#include "base/sorted.h"
#include "grammar/json_schema.h"
#include "mask/mask_cache.h"
#include "oracle/masks.h"
#include "parser/set_table.h"
#include "vocab/vocab.h"

namespace grammask::internal {

inline std::shared_ptr<const Vocab> MakeVocab(std::vector<std::string> tokens) {
  VocabOptions options;
  options.stop_token_ids = std::vector<TokenId>{};
  auto vocab = Vocab::Create(std::move(tokens), options);
  EXPECT_TRUE(vocab.ok()) << vocab.status().message();
  return *vocab;
}

// All single bytes, `texts`, and `count` random tokens of up to `longest` bytes of `letters`; each
// once.
inline std::vector<std::string> ManyTokens(std::initializer_list<const char*> texts, unsigned seed,
                                           std::string_view letters, int count, size_t longest) {
  std::vector<std::string> tokens(texts.begin(), texts.end());
  for (int b = 0; b < 256; ++b) tokens.push_back(std::string(1, static_cast<char>(b)));
  std::mt19937 random(seed);
  for (int i = 0; i < count; ++i) {
    std::string token;
    for (size_t n = 1 + random() % longest; n > 0; --n) token += letters[random() % letters.size()];
    tokens.push_back(token);
  }
  SortUnique(&tokens);
  return tokens;
}

// Makes parts of strings, of raw bytes without quotes or of what JSON strings hold.
struct ContentMaker {
  GrammarBuilder& b;
  bool json;
  NodeId Of(const CodePointSet& set) { return json ? b.JsonClass(set) : b.Class(set); }
  // Any character, and any number of them.
  NodeId One() { return Of(json ? CodePointSet::All() : CodePointSet::All().Minus({{'"', '"'}})); }
  NodeId Any() { return b.Star(One()); }
  NodeId Text(std::string_view text) { return json ? b.JsonText(text) : b.Bytes(text); }
  // Whatever holds that somewhere.
  NodeId With(NodeId what) { return b.Sequence({Any(), what, Any()}); }
  NodeId With(std::string_view text) { return With(Text(text)); }
};

// A store of slices that has those of JSON strings and of another class, as that of a compiler has.
inline std::shared_ptr<SliceStore> ReadySlices(const Vocab& vocab) {
  auto slices = std::make_shared<SliceStore>();
  slices->MakeJsonStrings(vocab, CodePointSet{{'\n', '\n'}}.Complement());
  return slices;
}

class MaskWorld {
 public:
  explicit MaskWorld(std::shared_ptr<const Vocab> vocab) : MaskWorld(vocab, ReadySlices(*vocab)) {}
  MaskWorld(std::shared_ptr<const Vocab> vocab, std::shared_ptr<SliceStore> slices)
      : vocab_(std::move(vocab)),
        terms_({}, vocab_->max_token_bytes()),
        sets_(&terms_),
        masks_(vocab_, &sets_, std::move(slices)) {}

  const Vocab& vocab() const { return *vocab_; }
  TermStore& terms() { return terms_; }
  SetTable& sets() { return sets_; }
  MaskCache& masks() { return masks_; }

  SetId Start(const Grammar& grammar) {
    auto root = BuildTerms(grammar, &terms_);
    EXPECT_TRUE(root.ok()) << root.status().message();
    return root.ok() ? sets_.Start(*root) : SetTable::Dead();
  }
  // The grammar of one rule with the body that `fill` gives.
  SetId Start(const std::function<NodeId(GrammarBuilder&)>& fill) {
    GrammarBuilder b;
    const RuleId root = b.AddRule("root");
    b.SetBody(root, fill(b));
    return Start(*b.Finish(root));
  }
  // The grammar of a rule with the body that `fill` gives, and `after` behind it.
  SetId StartItem(std::string_view after, const std::function<NodeId(GrammarBuilder&)>& fill) {
    return Start([&](GrammarBuilder& b) {
      const RuleId item = b.AddRule("item");
      b.SetBody(item, fill(b));
      return b.Sequence({b.Rule(item), b.Bytes(after)});
    });
  }

  // Checks all sets on the way through each of the texts, documents of a JSON schema.
  void CheckSchema(const std::string& schema, const std::vector<std::string>& texts) {
    const StatusOr<Grammar> grammar = GrammarFromJsonSchema(schema);
    ASSERT_TRUE(grammar.ok()) << grammar.status().message();
    const SetId start = Start(*grammar);
    for (const std::string& text : texts) {
      CheckAlong(start, text, schema);
      if (testing::Test::HasFatalFailure()) return;
    }
  }

  std::vector<TokenId> Filled(SetId set) {
    // What was in the row before must not shine through.
    std::vector<uint32_t> row((static_cast<size_t>(vocab_->size()) + 31) / 32, 0xDEADBEEF);
    masks_.Fill(set, row.data());
    return TokensOf(row);
  }
  // Fills twice, as the second time is another path, and compares with trying every token.
  void Check(SetId set, const std::string& what) {
    const std::vector<TokenId> expected = AllowedByTrying(&sets_, *vocab_, set);
    ASSERT_EQ(Filled(set), expected) << what;
    ASSERT_EQ(Filled(set), expected) << what << ", the second time";
  }
  // Checks all sets on the way through `text`.
  void CheckAlong(SetId set, std::string_view text, const std::string& what) {
    for (size_t i = 0; i <= text.size(); ++i) {
      ASSERT_NE(set, SetTable::Dead()) << what << " refuses \"" << text.substr(0, i) << "\"";
      Check(set, what + " after \"" + std::string(text.substr(0, i)) + "\"");
      if (testing::Test::HasFatalFailure()) return;
      if (i < text.size()) set = sets_.Step(set, static_cast<uint8_t>(text[i]));
    }
  }

 private:
  const std::shared_ptr<const Vocab> vocab_;
  TermStore terms_;
  SetTable sets_;
  MaskCache masks_;
};

}  // namespace grammask::internal

#endif  // GRAMMASK_TESTS_MASK_MASK_WORLD_H_
