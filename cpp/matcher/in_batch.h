// What a batch call does to its matchers besides filling; in matcher.cc.
#ifndef GRAMMASK_MATCHER_IN_BATCH_H_
#define GRAMMASK_MATCHER_IN_BATCH_H_

#include <span>

#include "grammask/grammask.h"

namespace grammask::internal {

// Marks matchers as standing in a call, so that one named twice is found without a table of them.
class BatchMarks {
 public:
  explicit BatchMarks(std::span<GrammarMatcher* const> matchers) : matchers_(matchers) {}
  ~BatchMarks();
  BatchMarks(const BatchMarks&) = delete;
  BatchMarks& operator=(const BatchMarks&) = delete;
  // Marks the next of the matchers; false where it has a mark already.
  bool Next();

 private:
  const std::span<GrammarMatcher* const> matchers_;
  size_t marked_ = 0;
};

// Brings what filling `matchers[i]` reads nearer, step by step as `i` comes closer: with a thousand
// matchers, each read on the way to a mask would wait for memory. No other thread may be at work
// with any of `matchers` from i on.
void PrefetchAhead(std::span<GrammarMatcher* const> matchers, size_t i);

}  // namespace grammask::internal

#endif  // GRAMMASK_MATCHER_IN_BATCH_H_
