// Masks along random texts of many grammars, compared with trying every token.
//
// The masks are made in tables in which nothing was tried before: what was tried has its states
// made, which masks then do not have to do without. They are the tables of many grammars, so that
// masks are also put together of what is known.
#ifndef GRAMMASK_TESTS_MASK_RANDOM_TEXTS_H_
#define GRAMMASK_TESTS_MASK_RANDOM_TEXTS_H_

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "mask/mask_world.h"

namespace grammask::internal {

// Numbers that a seed decides.
class Draws {
 public:
  explicit Draws(uint64_t seed) : random_(seed) {}
  size_t Below(size_t n) { return random_() % n; }
  bool OneOf(size_t n) { return Below(n) == 0; }

 private:
  std::mt19937_64 random_;
};

class RandomTexts {
 public:
  // `tokens`: of a text at most. After `grammars` of them the tables are new ones.
  RandomTexts(std::shared_ptr<const Vocab> vocab, int tokens, int grammars)
      : vocab_(std::move(vocab)), tokens_(tokens), grammars_(grammars) {}

  // Checks the masks along one text of drawn tokens, as far as none asks too much. `what`: the
  // grammar, as a failure names it.
  void Check(const Grammar& grammar, const std::string& what, Draws* draws) {
    if (checked_++ % grammars_ == 0 || !world_.has_value()) world_.emplace(vocab_);
    MaskWorld tried(vocab_);
    const auto root = BuildTerms(grammar, &world_->terms());
    const auto other_root = BuildTerms(grammar, &tried.terms());
    ASSERT_EQ(root.ok(), other_root.ok()) << what;
    if (!root.ok()) return;  // of no text, or too large
    SetId set = world_->sets().Start(*root), other = tried.sets().Start(*other_root);
    std::string text;
    for (int step = 0; step < tokens_ && other != SetTable::Dead(); ++step) {
      const std::vector<TokenId> expected = AllowedByTrying(&tried.sets(), *vocab_, other);
      if (tried.terms().overrun()) return;
      const std::vector<TokenId> filled = world_->Filled(set);
      if (world_->terms().overrun()) {
        world_.reset();
        return;
      }
      ASSERT_EQ(filled, expected) << what << " after " << text;
      ++masks_;
      if (expected.empty()) return;
      const TokenId token = expected[draws->Below(expected.size())];
      text += vocab_->bytes(token);
      set = world_->sets().Run(set, vocab_->bytes(token));
      other = tried.sets().Run(other, vocab_->bytes(token));
    }
  }

  size_t masks() const { return masks_; }  // that were compared

 private:
  const std::shared_ptr<const Vocab> vocab_;
  const int tokens_, grammars_;
  std::optional<MaskWorld> world_;
  int checked_ = 0;
  size_t masks_ = 0;
};

}  // namespace grammask::internal

#endif  // GRAMMASK_TESTS_MASK_RANDOM_TEXTS_H_
