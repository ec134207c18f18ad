// Steps to a short window of (token, set) and a chain of older tokens.
//
// The set after a step follows from the steps before it, so only the last few hundred are kept,
// which makes rolling back a subtraction; older steps are four bytes each, in blocks that hold the
// set at their end, and rolling back into a block takes its steps once more. Everything is counted
// and shared: a copy is three counts more, and whoever writes first to a shared window copies it.
// Example: of 1,000 tokens the last 488 are in the window, two blocks hold 256 each.
//
// Cost: a step 2 ns, and every 256th an allocation; a copy 5 to 15 ns; 4.1 bytes a token and at
// most 4 KB. Tests: tests/matcher/history_test.cc.
#include "matcher/history.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace grammask::internal {
namespace {

// Steps of a window: with its header a power of two in bytes.
constexpr size_t kFewest = 30, kMost = 510;

size_t CapacityFor(size_t steps) {
  size_t capacity = kFewest;
  while (capacity < steps) capacity = capacity * 2 + 2;
  return capacity;
}

}  // namespace

// The texts of the last `count` steps that are texts, oldest first.
class History::TextsInOrder {
 public:
  TextsInOrder(const Text* last, size_t count) : texts_(count) {
    for (size_t i = count; i-- > 0; last = last->previous) texts_[i] = last;
  }
  // The text that belongs to the next step.
  std::string_view Of(int32_t token) {
    return token == kText ? std::string_view(texts_[next_++]->bytes) : std::string_view();
  }

 private:
  std::vector<const Text*> texts_;
  size_t next_ = 0;
};

History::Window* History::NewWindow(size_t steps) {
  const size_t capacity = CapacityFor(steps);
  static_assert(alignof(Step) <= alignof(Window) && std::is_trivially_copyable_v<Step>);
  void* memory = ::operator new(sizeof(Window) + capacity * sizeof(Step));
  return new (memory) Window{1, static_cast<uint32_t>(capacity)};
}

void History::Release(Window* window) {
  if (window != nullptr && window->refs.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    ::operator delete(window);
  }
}

template <class Node>
Node* History::Share(Node* node) {
  if (node != nullptr) node->refs.fetch_add(1, std::memory_order_relaxed);
  return node;
}

// A loop, as chains are long.
template <class Node>
void History::Release(Node* node) {
  while (node != nullptr && node->refs.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    Node* previous = node->previous;
    delete node;
    node = previous;
  }
}

template <class Node>
void History::Pop(Node** last) {
  Node* previous = Share((*last)->previous);
  Release(*last);
  *last = previous;
}

History::History(const History& other)
    : window_(Share(other.window_)),
      count_(other.count_),
      sealed_(Share(other.sealed_)),
      sealed_steps_(other.sealed_steps_),
      texts_(Share(other.texts_)) {}

History::~History() {
  Release(window_);
  Release(sealed_);
  Release(texts_);
}

void History::PushText(std::string_view text, SetId after) {
  Push(kText, after);
  texts_ = new Text{1, texts_, std::string(text)};
}

// Makes room for a step in a window that no other history shares.
void History::MakeRoom() {
  if (window_ == nullptr || count_ < kMost) return OwnWindow(0);
  auto* block = new Sealed;
  for (size_t i = 0; i < kSealed; ++i) block->tokens[i] = window_->steps()[i].token;
  block->after = window_->steps()[kSealed - 1].after;
  block->previous = sealed_;
  sealed_ = block;
  sealed_steps_ += kSealed;
  count_ -= kSealed;
  if (window_->refs.load(std::memory_order_acquire) != 1) return OwnWindow(kSealed);
  std::memmove(window_->steps(), window_->steps() + kSealed, count_ * sizeof(Step));
}

// A new window, with room for one step more, in place of this one, whose `count_` steps begin at
// `from`.
void History::OwnWindow(size_t from) {
  Window* window = NewWindow(std::min(count_ + 1, kMost));
  if (window_ != nullptr) {
    std::memcpy(window->steps(), window_->steps() + from, count_ * sizeof(Step));
  }
  Release(window_);
  window_ = window;
}

void History::PopTexts(size_t from, size_t to) {
  for (size_t i = from; i < to && texts_ != nullptr; ++i) {
    if (window_->steps()[i].token == kText) Pop(&texts_);
  }
}

// Moves the first `kept` steps of the last block to the window, which holds none.
void History::Unseal(size_t kept, SetId start, Advance advance) {
  const std::span<const int32_t> tokens(sealed_->tokens);
  TextsInOrder texts(texts_, static_cast<size_t>(std::ranges::count(tokens, kText)));
  Window* window = NewWindow(kSealed);
  SetId set = sealed_->previous != nullptr ? sealed_->previous->after : start;
  for (const int32_t token : tokens.first(kept)) {
    set = advance(set, token, texts.Of(token));
    window->steps()[count_++] = {token, set};
  }
  for (const int32_t token : tokens.subspan(kept)) {
    if (token == kText) Pop(&texts_);
  }
  Release(window_);
  window_ = window;
  Pop(&sealed_);
  sealed_steps_ -= kSealed;
}

SetId History::Truncate(size_t size, SetId start, Advance advance) {
  if (size == 0) {
    Release(std::exchange(sealed_, nullptr));
    Release(std::exchange(texts_, nullptr));
    sealed_steps_ = count_ = 0;
    return start;
  }
  const size_t left = std::max(size, sealed_steps_) - sealed_steps_;
  PopTexts(left, count_);
  count_ = left;
  while (size < sealed_steps_) {
    const size_t before = sealed_steps_ - kSealed;
    Unseal(size > before ? size - before : 0, start, advance);
  }
  if (count_ > 0) return window_->steps()[count_ - 1].after;
  return sealed_ != nullptr ? sealed_->after : start;
}

SetId History::Replay(SetId start, Advance advance) {
  std::vector<Sealed*> blocks;  // newest first
  size_t own = 0;               // of them, those that no other history can reach
  size_t text_count = 0;
  for (Sealed* b = sealed_; b != nullptr; b = b->previous) {
    if (own == blocks.size() && b->refs.load(std::memory_order_acquire) == 1) ++own;
    blocks.push_back(b);
  }
  for (const Text* t = texts_; t != nullptr; t = t->previous) ++text_count;
  TextsInOrder texts(texts_, text_count);
  SetId set = start;
  Sealed* last = nullptr;
  for (size_t i = blocks.size(); i-- > 0;) {
    Sealed* block = blocks[i];
    for (const int32_t token : block->tokens) set = advance(set, token, texts.Of(token));
    if (i >= own) {  // its copy
      auto* copy = new Sealed;
      std::ranges::copy(block->tokens, copy->tokens);
      block = copy;
    } else if (block->previous != last) {
      Release(block->previous);
    }
    block->previous = last;
    block->after = set;
    last = block;
  }
  if (own == 0) Release(sealed_);
  sealed_ = last;
  if (count_ == 0) return set;
  if (window_->refs.load(std::memory_order_acquire) != 1) OwnWindow(0);
  for (size_t i = 0; i < count_; ++i) {
    Step& step = window_->steps()[i];
    step.after = set = advance(set, step.token, texts.Of(step.token));
  }
  return set;
}

size_t History::memory_bytes() const {
  size_t bytes = sealed_steps_ / kSealed * sizeof(Sealed);
  if (window_ != nullptr) bytes += sizeof(Window) + window_->capacity * sizeof(Step);
  for (const Text* t = texts_; t != nullptr; t = t->previous) {
    bytes += sizeof(Text) + t->bytes.capacity();
  }
  return bytes;
}

}  // namespace grammask::internal
