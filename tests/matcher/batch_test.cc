// Batches: rows, checks before anything is written, the same results on any number of threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/code_point_set.h"
#include "matcher_world.h"

namespace grammask {
namespace {

constexpr int32_t kUntouched = 0x77777777;

std::vector<std::string> Tokens() {
  std::vector<std::string> tokens = {"\"", "a", "b", "ab", "[", "]", ",", "\",", "\"]", "\\n"};
  for (int i = 0; i < 60; ++i) tokens.push_back("w" + std::to_string(i));
  return tokens;
}

// Lists of strings of up to 12 characters.
Grammar Lists() {
  return MakeGrammar([](GrammarBuilder& b, NodeId self) {
    const NodeId text =
        b.Sequence({b.Bytes("\""), b.Repeat(b.JsonClass(internal::CodePointSet::All()), 0, 12),
                    b.Bytes("\"")});
    return b.Choice({text, b.Sequence({b.Bytes("["), self, b.Star(b.Sequence({b.Bytes(","), self})),
                                       b.Bytes("]")})});
  });
}

class BatchTest : public testing::Test {
 protected:
  BatchTest()
      : compiler_(MakeCompiler(MakeTokenizer(Tokens()))), compiled_(Compile(&compiler_, Lists())) {
    for (const char* text :
         {"", "[", "[\"", "[\"ab", "[[\"a\",", "\"w1w2w3w4w5w", "[\"a\\", "[\"x\"]"}) {
      matchers_.push_back(MakeMatcher(compiled_));
      EXPECT_TRUE(matchers_.back().AcceptString(text)) << text;
    }
    for (GrammarMatcher& m : matchers_) {
      pointers_.push_back(&m);
      expected_.emplace_back(static_cast<size_t>(m.mask_words()));
      EXPECT_TRUE(m.FillNextTokenBitmask(expected_.back().data()).ok());
    }
  }
  size_t words() const { return expected_[0].size(); }

  GrammarCompiler compiler_;
  CompiledGrammar compiled_;
  std::vector<GrammarMatcher> matchers_;
  std::vector<GrammarMatcher*> pointers_;
  std::vector<std::vector<int32_t>> expected_;
};

TEST_F(BatchTest, RowsAreThoseOfEachMatcher) {
  for (int threads : {0, 1, 2, 5}) {
    BatchGrammarMatcher batch(threads);
    const size_t stride = words() + 3, rows = matchers_.size() + 2;
    std::vector<int32_t> mask(stride * rows, kUntouched);
    const auto status =
        batch.FillNextTokenBitmask(pointers_, mask.data(), static_cast<int64_t>(rows),
                                   static_cast<int64_t>(words()), static_cast<int64_t>(stride));
    ASSERT_TRUE(status.ok()) << status.message();
    for (size_t r = 0; r < rows; ++r) {
      const auto row = mask.begin() + static_cast<std::ptrdiff_t>(r * stride);
      if (r < matchers_.size()) {
        EXPECT_TRUE(std::equal(expected_[r].begin(), expected_[r].end(), row)) << r;
        EXPECT_EQ(row[static_cast<std::ptrdiff_t>(words())], kUntouched) << "beyond the row";
      } else {
        EXPECT_EQ(std::count(row, row + static_cast<std::ptrdiff_t>(stride), kUntouched),
                  static_cast<std::ptrdiff_t>(stride));
      }
    }
  }
}

TEST_F(BatchTest, IndicesChooseTheRows) {
  BatchGrammarMatcher batch(3);
  const std::vector<int32_t> indices = {9, 0, 3, 7, 2, 5, 4, 1};
  std::vector<int32_t> mask(words() * 10, kUntouched);
  const auto row_words = static_cast<int64_t>(words());
  ASSERT_TRUE(
      batch.FillNextTokenBitmask(pointers_, mask.data(), 10, row_words, row_words, indices).ok());
  for (size_t i = 0; i < indices.size(); ++i) {
    EXPECT_TRUE(std::equal(
        expected_[i].begin(), expected_[i].end(),
        mask.begin() + static_cast<std::ptrdiff_t>(static_cast<size_t>(indices[i]) * words())));
  }
  for (size_t untouched : {6, 8}) EXPECT_EQ(mask[untouched * words()], kUntouched);
}

TEST_F(BatchTest, NothingIsWrittenWhenAnArgumentIsWrong) {
  BatchGrammarMatcher batch(2);
  const auto w = static_cast<int64_t>(words());
  std::vector<int32_t> mask(words() * 20, kUntouched);
  auto fails = [&](StatusCode code, std::span<GrammarMatcher* const> matchers, int64_t rows,
                   int64_t row_words, std::vector<int32_t> indices) {
    const Status status =
        batch.FillNextTokenBitmask(matchers, mask.data(), rows, row_words, w, indices);
    EXPECT_EQ(status.code(), code) << status.message();
    EXPECT_EQ(std::count(mask.begin(), mask.end(), kUntouched),
              static_cast<std::ptrdiff_t>(mask.size()));
  };
  fails(StatusCode::kOutOfRange, pointers_, 7, w, {});
  fails(StatusCode::kInvalidArgument, pointers_, 8, w - 1, {});
  fails(StatusCode::kInvalidArgument, pointers_, 8, w + 1, {});
  fails(StatusCode::kInvalidArgument, pointers_, 20, w, {1, 2, 3});
  fails(StatusCode::kInvalidArgument, pointers_, 20, w, {0, 1, 2, 3, 4, 5, 6, 6});
  fails(StatusCode::kOutOfRange, pointers_, 20, w, {0, 1, 2, 3, 4, 5, 6, 20});
  fails(StatusCode::kOutOfRange, pointers_, 20, w, {0, 1, 2, 3, 4, 5, 6, -1});
  std::vector<GrammarMatcher*> twice = pointers_;
  twice.back() = twice.front();
  fails(StatusCode::kInvalidArgument, twice, 20, w, {});
  ASSERT_TRUE(matchers_.back().AcceptToken(static_cast<int32_t>(Tokens().size())));
  fails(StatusCode::kFailedPrecondition, pointers_, 20, w, {});
  EXPECT_TRUE(batch.FillNextTokenBitmask({}, mask.data(), 0, w, w).ok());
}

TEST_F(BatchTest, AcceptingAndRollingBack) {
  const std::vector<int32_t> tokens = {4, 5, 1, 0, 0, 2, 9, 1};
  const std::vector<bool> accepted = BatchGrammarMatcher::AcceptToken(pointers_, tokens);
  EXPECT_EQ(accepted, (std::vector<bool>{true, false, true, true, true, true, true, false}));
  const std::vector<std::string> strings = {"\"", "x", "\"", "]", "", "\"", "n", "\""};
  const std::vector<bool> more = BatchGrammarMatcher::AcceptString(pointers_, strings);
  EXPECT_EQ(more, (std::vector<bool>{true, false, true, true, true, true, true, false}));
  // A wrong count anywhere: nobody goes back.
  std::vector<int> steps = {2, 0, 2, 2, 2, 2, 2, 1};
  std::vector<int> wrong = steps;
  wrong[7] = 2;
  EXPECT_EQ(BatchGrammarMatcher::Rollback(pointers_, wrong).code(), StatusCode::kOutOfRange);
  wrong[7] = -1;
  EXPECT_EQ(BatchGrammarMatcher::Rollback(pointers_, wrong).code(), StatusCode::kOutOfRange);
  EXPECT_EQ(matchers_[0].history_size(), 3);
  wrong.pop_back();
  EXPECT_EQ(BatchGrammarMatcher::Rollback(pointers_, wrong).code(), StatusCode::kInvalidArgument);
  steps[7] = 0;
  ASSERT_TRUE(BatchGrammarMatcher::Rollback(pointers_, steps).ok());
  for (size_t i = 0; i < matchers_.size(); ++i) {
    std::vector<int32_t> row(words());
    ASSERT_TRUE(matchers_[i].FillNextTokenBitmask(row.data()).ok());
    EXPECT_EQ(row, expected_[i]) << i;
  }
}

// Engines that nobody has asked before, filled by one thread and by several.
TEST_F(BatchTest, TheNumberOfThreadsChangesNothing) {
  for (int threads : {1, 2, 4}) {
    GrammarCompiler fresh = MakeCompiler(MakeTokenizer(Tokens()));
    const CompiledGrammar compiled = Compile(&fresh, Lists());
    BatchGrammarMatcher batch(threads);
    std::vector<GrammarMatcher> forks;
    std::vector<std::vector<int32_t>> expected;
    for (int copy = 0; copy < 6; ++copy) {
      size_t i = 0;
      for (const char* text :
           {"", "[", "[\"", "[\"ab", "[[\"a\",", "\"w1w2w3w4w5w", "[\"a\\", "[\"x\"]"}) {
        forks.push_back(MakeMatcher(compiled));
        ASSERT_TRUE(forks.back().AcceptString(text));
        expected.push_back(expected_[i++]);
      }
    }
    std::vector<GrammarMatcher*> pointers;
    for (GrammarMatcher& m : forks) pointers.push_back(&m);
    std::vector<int32_t> mask(words() * forks.size());
    const auto w = static_cast<int64_t>(words());
    ASSERT_TRUE(
        batch.FillNextTokenBitmask(pointers, mask.data(), static_cast<int64_t>(forks.size()), w, w)
            .ok());
    for (size_t i = 0; i < forks.size(); ++i) {
      EXPECT_TRUE(std::equal(expected[i].begin(), expected[i].end(),
                             mask.begin() + static_cast<std::ptrdiff_t>(i * words())))
          << threads << " threads, matcher " << i;
    }
  }
}

// The ids of Tokens().
enum : int32_t { kQuote, kA, kB, kAb, kOpen, kClose, kComma };
constexpr int32_t kEverything = -1;

// Steps against accepting, filling and rolling back one by one.
TEST_F(BatchTest, StepsAcceptAndFillAlongDrafts) {
  struct Case {
    std::vector<int32_t> tokens, drafts;
    int accepted, drafts_accepted, rows_filled;
  };
  const int32_t stop = matchers_[0].stop_token_ids()[0];
  const std::vector<Case> cases = {
      {{}, {}, 0, 0, 1},
      {{kOpen, kQuote}, {}, 2, 0, 1},
      {{}, {kOpen, kQuote, kA}, 0, 3, 4},
      {{kQuote}, {kA, kQuote, kB, kA}, 1, 2, 3},  // nothing but the end comes after a string
      {{kQuote, kA}, {kQuote, stop, kA}, 2, 2, 2},
      {{kQuote, kQuote}, {kA}, 2, 0, 1},
      {{}, {-5}, 0, 0, 1},
      {{kOpen}, {1 << 30, kQuote}, 1, 0, 1},
  };
  for (int threads : {1, 3}) {
    std::vector<GrammarMatcher> matchers;
    std::vector<BatchStep> steps;
    int64_t rows = 1;  // the first is nobody's
    for (const Case& c : cases) {
      matchers.push_back(MakeMatcher(compiled_));
      steps.push_back({.tokens = c.tokens, .drafts = c.drafts, .row = rows});
      rows += 1 + static_cast<int64_t>(c.drafts.size());
    }
    for (size_t i = 0; i < cases.size(); ++i) steps[i].matcher = &matchers[i];
    const auto w = static_cast<int64_t>(words());
    const int64_t stride = w + 2;
    std::vector<int32_t> mask(static_cast<size_t>(rows * stride), kUntouched);
    BatchGrammarMatcher batch(threads);
    ASSERT_TRUE(batch.Step(steps, mask.data(), rows, w, stride).ok());
    EXPECT_EQ(mask[0], kUntouched);
    for (size_t i = 0; i < cases.size(); ++i) {
      SCOPED_TRACE(i);
      EXPECT_TRUE(steps[i].status.ok());
      EXPECT_EQ(steps[i].accepted, cases[i].accepted);
      EXPECT_EQ(steps[i].drafts_accepted, cases[i].drafts_accepted);
      EXPECT_EQ(steps[i].rows_filled, cases[i].rows_filled);
      EXPECT_FALSE(steps[i].terminated);
      EXPECT_EQ(matchers[i].history_size(), cases[i].accepted);
      GrammarMatcher twin = MakeMatcher(compiled_);
      for (int32_t token : cases[i].tokens) ASSERT_TRUE(twin.AcceptToken(token));
      for (int k = 0; k <= static_cast<int>(cases[i].drafts.size()); ++k) {
        const int32_t* row = mask.data() + (steps[i].row + k) * stride;
        std::vector<int32_t> expected(words(), kEverything);
        if (k < cases[i].rows_filled) {
          ASSERT_TRUE(twin.FillNextTokenBitmask(expected.data()).ok());
        }
        EXPECT_TRUE(std::equal(expected.begin(), expected.end(), row)) << "row " << k;
        EXPECT_EQ(row[w], kUntouched);
        if (k < cases[i].drafts_accepted) {
          ASSERT_TRUE(twin.AcceptToken(cases[i].drafts[static_cast<size_t>(k)]));
        }
      }
    }
  }
}

TEST_F(BatchTest, WhatIsWrongWithOneStepIsItsOwn) {
  const int32_t stop = matchers_[0].stop_token_ids()[0];
  const std::vector<int32_t> open = {kOpen}, refused = {kOpen, kComma, kOpen},
                             whole = {kQuote, kQuote, stop, kA}, drafts = {kQuote};
  std::vector<GrammarMatcher> matchers;
  for (int i = 0; i < 3; ++i) matchers.push_back(MakeMatcher(compiled_));
  std::vector<BatchStep> steps(4);
  for (size_t i = 0; i < 4; ++i) {
    steps[i].row = 2 * static_cast<int64_t>(i);
    steps[i].drafts = drafts;
    if (i < 3) steps[i].matcher = &matchers[i];
  }
  steps[0].tokens = refused;
  steps[1].tokens = open;
  steps[2].tokens = whole;
  const auto w = static_cast<int64_t>(words());
  std::vector<int32_t> mask(8 * words(), kUntouched);
  BatchGrammarMatcher batch(2);
  ASSERT_TRUE(batch.Step(steps, mask.data(), 8, w, w).ok());
  EXPECT_EQ(steps[0].status.code(), StatusCode::kFailedPrecondition);
  EXPECT_NE(steps[0].status.message().find("refuses token 6 after 1 tokens"), std::string::npos);
  EXPECT_EQ(steps[0].accepted, 1);
  EXPECT_EQ(steps[0].rows_filled, 0);
  EXPECT_EQ(steps[1].rows_filled, 2);
  EXPECT_TRUE(steps[2].terminated);
  EXPECT_EQ(steps[2].accepted, 3);
  EXPECT_EQ(steps[3].rows_filled, 0);
  for (size_t row = 0; row < 8; ++row) {
    const bool filled = row == 2 || row == 3;
    EXPECT_EQ(std::count(mask.begin() + static_cast<std::ptrdiff_t>(row * words()),
                         mask.begin() + static_cast<std::ptrdiff_t>((row + 1) * words()),
                         kEverything) == w,
              !filled)
        << row;
  }
}

TEST_F(BatchTest, StepsThatDoNotFitDoNothing) {
  const auto w = static_cast<int64_t>(words());
  const std::vector<int32_t> token = {kOpen}, drafts = {kOpen, kOpen};
  GrammarMatcher one = MakeMatcher(compiled_), two = MakeMatcher(compiled_);
  const std::vector<std::vector<BatchStep>> calls = {
      {{.matcher = &one, .tokens = token, .row = 4}},
      {{.matcher = &one, .tokens = token, .row = -1}},
      {{.matcher = &one, .tokens = token, .drafts = drafts, .row = 2}},
      {{.matcher = &one, .tokens = token, .drafts = drafts, .row = 0},
       {.matcher = &two, .tokens = token, .row = 2}},
      {{.matcher = &one, .tokens = token, .row = 0}, {.matcher = &one, .tokens = token, .row = 1}},
  };
  BatchGrammarMatcher batch(2);
  std::vector<int32_t> mask(4 * words(), kUntouched);
  for (std::vector<BatchStep> steps : calls) {
    EXPECT_FALSE(batch.Step(steps, mask.data(), 4, w, w).ok());
    EXPECT_EQ(one.history_size() + two.history_size(), 0);
  }
  std::vector<BatchStep> fitting = {{.matcher = &one, .tokens = token, .row = 0}};
  EXPECT_FALSE(batch.Step(fitting, mask.data(), 4, w + 1, w + 1).ok());
  EXPECT_FALSE(batch.Step(fitting, mask.data(), 4, w, w - 1).ok());
  EXPECT_EQ(std::count(mask.begin(), mask.end(), kUntouched), 4 * w);
}

}  // namespace
}  // namespace grammask
