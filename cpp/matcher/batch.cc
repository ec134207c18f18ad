// One call for many matchers.
//
// Rows are independent, so a pool fills them in any order; all arguments are checked first, so a
// refused call has written nothing. The pool lives as long as the object, and no thread is made per
// call. A step does for each row what a decoding loop does between two forward passes: accept,
// fill, and with drafts accept and fill again, and roll back. Tests: tests/matcher/batch_test.cc.
#include <algorithm>
#include <mutex>
#include <thread>
#include <vector>

#include "base/thread_pool.h"
#include "grammask/grammask.h"
#include "matcher/in_batch.h"

namespace grammask {
namespace {

std::string Who(size_t i) { return "batch fill: matcher " + std::to_string(i); }
std::string WhoSteps(size_t i) { return "batch step: text " + std::to_string(i); }

// Masks after the tokens, then after each draft, which are taken back. Stops at what is refused.
void FillWithDrafts(BatchStep& step, int32_t* row, int64_t stride) {
  GrammarMatcher& matcher = *step.matcher;
  const int before = matcher.history_size();
  for (;; row += stride) {
    if (auto filled = matcher.FillNextTokenBitmask(row); !filled.ok()) {
      step.status = filled.status();
      break;
    }
    const auto next = static_cast<size_t>(step.rows_filled++);
    if (next == step.drafts.size() || !matcher.AcceptToken(step.drafts[next])) break;
    ++step.drafts_accepted;
    if (matcher.IsTerminated()) break;
  }
  if (Status back = matcher.Rollback(matcher.history_size() - before); !back.ok()) {
    step.status = back;
  }
  if (!step.status.ok()) step.rows_filled = 0;
}

// Accepts, then fills from `row` on.
void Run(BatchStep& step, int32_t* row, int64_t stride) {
  GrammarMatcher& matcher = *step.matcher;
  for (int32_t token : step.tokens) {
    if (matcher.IsTerminated()) break;
    if (!matcher.AcceptToken(token)) {
      step.status = FailedPrecondition(
          "the grammar refuses token " + std::to_string(token) + " after " +
          std::to_string(matcher.history_size()) +
          " tokens; it was not sampled from logits that its mask was applied to");
      return;
    }
    ++step.accepted;
  }
  step.terminated = matcher.IsTerminated();
  if (!step.terminated) FillWithDrafts(step, row, stride);
}

}  // namespace

struct BatchGrammarMatcher::Impl {
  explicit Impl(int threads) : pool(threads) {}
  internal::ThreadPool pool;
};

BatchGrammarMatcher::BatchGrammarMatcher(int max_threads) {
  const int half = static_cast<int>(std::thread::hardware_concurrency()) / 2;
  impl_ = std::make_shared<Impl>(max_threads > 0 ? max_threads : std::max(half, 1));
}

Status BatchGrammarMatcher::FillNextTokenBitmask(std::span<GrammarMatcher* const> matchers,
                                                 int32_t* mask, int64_t rows, int64_t row_words,
                                                 int64_t stride_words,
                                                 std::span<const int32_t> indices) {
  if (!indices.empty() && indices.size() != matchers.size()) {
    return InvalidArgument("batch fill: " + std::to_string(indices.size()) + " indices for " +
                           std::to_string(matchers.size()) + " matchers");
  }
  if (stride_words < row_words && rows > 1) {
    return InvalidArgument("batch fill: rows of " + std::to_string(row_words) +
                           " words overlap at a stride of " + std::to_string(stride_words));
  }
  internal::BatchMarks marks(matchers);
  std::vector<bool> taken(indices.empty() ? 0 : static_cast<size_t>(std::max<int64_t>(rows, 0)));
  for (size_t i = 0; i < matchers.size(); ++i) {
    const int64_t row = indices.empty() ? static_cast<int64_t>(i) : indices[i];
    if (row < 0 || row >= rows) {
      return OutOfRange(Who(i) + ": row " + std::to_string(row) + " of a bitmask with " +
                        std::to_string(rows) + " rows");
    }
    if (matchers[i]->mask_words() != row_words) {
      return InvalidArgument(Who(i) + ": the bitmask has " + std::to_string(row_words) +
                             " words a row; this matcher's vocabulary needs " +
                             std::to_string(matchers[i]->mask_words()));
    }
    if (!marks.Next()) {
      return InvalidArgument(Who(i) + " stands in the batch twice");
    }
    if (!indices.empty()) {
      if (taken[static_cast<size_t>(row)]) {
        return InvalidArgument(Who(i) + ": row " + std::to_string(row) + " is filled twice");
      }
      taken[static_cast<size_t>(row)] = true;
    }
    if (matchers[i]->HasStopped()) {
      return FailedPrecondition(Who(i) + " has terminated: a stop token was accepted");
    }
  }
  std::mutex mutex;
  Status failure;
  impl_->pool.ForEachRun(matchers.size(), [&](size_t first, size_t last) {
    for (size_t i = first; i < last; ++i) {
      // Only of this run: other threads may be moving the matchers after it to other tables.
      internal::PrefetchAhead(matchers.first(last), i);
      const int64_t row = indices.empty() ? static_cast<int64_t>(i) : indices[i];
      auto filled = matchers[i]->FillNextTokenBitmask(mask + row * stride_words);
      if (!filled.ok()) {
        std::lock_guard lock(mutex);
        failure = filled.status();
      }
    }
  });
  return failure;
}

Status BatchGrammarMatcher::Step(std::span<BatchStep> steps, int32_t* mask, int64_t rows,
                                 int64_t row_words, int64_t stride_words) {
  if (stride_words < row_words && rows > 1) {
    return InvalidArgument("batch step: rows of " + std::to_string(row_words) +
                           " words overlap at a stride of " + std::to_string(stride_words));
  }
  std::vector<GrammarMatcher*> matchers;
  std::vector<size_t> with_matcher;
  std::vector<bool> taken(static_cast<size_t>(std::max<int64_t>(rows, 0)));
  for (size_t i = 0; i < steps.size(); ++i) {
    const auto count = static_cast<int64_t>(steps[i].drafts.size()) + 1;
    if (steps[i].row < 0 || steps[i].row > rows - count) {
      return OutOfRange(WhoSteps(i) + ": " + std::to_string(count) + " rows from row " +
                        std::to_string(steps[i].row) + " on, of a bitmask with " +
                        std::to_string(rows) + " rows");
    }
    for (int64_t row = steps[i].row; row < steps[i].row + count; ++row) {
      if (taken[static_cast<size_t>(row)]) {
        return InvalidArgument(WhoSteps(i) + ": row " + std::to_string(row) + " is filled twice");
      }
      taken[static_cast<size_t>(row)] = true;
    }
    if (steps[i].matcher == nullptr) continue;
    if (steps[i].matcher->mask_words() != row_words) {
      return InvalidArgument(WhoSteps(i) + ": the bitmask has " + std::to_string(row_words) +
                             " words a row; this matcher's vocabulary needs " +
                             std::to_string(steps[i].matcher->mask_words()));
    }
    matchers.push_back(steps[i].matcher);
    with_matcher.push_back(i);
  }
  internal::BatchMarks marks(matchers);
  for (size_t i : with_matcher) {
    if (!marks.Next()) return InvalidArgument(WhoSteps(i) + " has the matcher of another text");
  }
  // Nothing is fetched ahead here: the next matchers may be at work on other threads.
  impl_->pool.ForEach(matchers.size(), [&](size_t i) {
    BatchStep& step = steps[with_matcher[i]];
    Run(step, mask + step.row * stride_words, stride_words);
  });
  for (const BatchStep& step : steps) {
    const int64_t end = step.row + 1 + static_cast<int64_t>(step.drafts.size());
    for (int64_t row = step.row + step.rows_filled; row < end; ++row) {
      std::fill_n(mask + row * stride_words, row_words, -1);
    }
  }
  return {};
}

std::vector<bool> BatchGrammarMatcher::AcceptToken(std::span<GrammarMatcher* const> matchers,
                                                   std::span<const int32_t> tokens) {
  std::vector<bool> accepted;
  accepted.reserve(matchers.size());
  for (size_t i = 0; i < matchers.size(); ++i) {
    accepted.push_back(i < tokens.size() && matchers[i]->AcceptToken(tokens[i]));
  }
  return accepted;
}

std::vector<bool> BatchGrammarMatcher::AcceptString(std::span<GrammarMatcher* const> matchers,
                                                    std::span<const std::string> strings) {
  std::vector<bool> accepted;
  accepted.reserve(matchers.size());
  for (size_t i = 0; i < matchers.size(); ++i) {
    accepted.push_back(i < strings.size() && matchers[i]->AcceptString(strings[i]));
  }
  return accepted;
}

Status BatchGrammarMatcher::Rollback(std::span<GrammarMatcher* const> matchers,
                                     std::span<const int> steps) {
  if (steps.size() != matchers.size()) {
    return InvalidArgument("batch rollback: " + std::to_string(steps.size()) + " counts for " +
                           std::to_string(matchers.size()) + " matchers");
  }
  for (size_t i = 0; i < matchers.size(); ++i) {
    if (steps[i] < 0 || steps[i] > matchers[i]->history_size()) {
      return OutOfRange("batch rollback: matcher " + std::to_string(i) + " cannot go back " +
                        std::to_string(steps[i]) + " steps: its history has " +
                        std::to_string(matchers[i]->history_size()));
    }
  }
  for (size_t i = 0; i < matchers.size(); ++i) {
    if (Status s = matchers[i]->Rollback(steps[i]); !s.ok()) return s;
  }
  return {};
}

}  // namespace grammask
