// The steps of one output, shared by its forks.
#ifndef GRAMMASK_MATCHER_HISTORY_H_
#define GRAMMASK_MATCHER_HISTORY_H_

#include <absl/functional/function_ref.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/ids.h"

namespace grammask::internal {

// A list of steps, each a token or a text, and the parser set after each. Copying shares what there
// is, in constant time. Not thread-safe, but copies may be used on different threads.
class History {
 public:
  // The token of a step that is a text.
  static constexpr int32_t kText = -1;
  // The set after a step from `set`, taken once before: a token, or (kText) `text`.
  using Advance = absl::FunctionRef<SetId(SetId set, int32_t token, std::string_view text)>;

  History() = default;
  History(const History& other);
  History& operator=(const History&) = delete;
  ~History();

  size_t size() const { return sealed_steps_ + count_; }
  void Push(int32_t token, SetId after) {
    if (window_ == nullptr || count_ == window_->capacity ||
        window_->refs.load(std::memory_order_acquire) != 1) {
      MakeRoom();
    }
    window_->steps()[count_++] = {token, after};
  }
  void PushText(std::string_view text, SetId after);
  // Keeps the first `size` steps (no more than there are) and returns the set after them; `start`
  // is the one before all. Steps older than the last few hundred are taken once more.
  SetId Truncate(size_t size, SetId start, Advance advance);
  // Takes every step once more, from `start` in other tables, and returns the set after the last.
  SetId Replay(SetId start, Advance advance);
  // Of all that it refers to, whether shared or not.
  size_t memory_bytes() const;

 private:
  struct Step {
    int32_t token;
    SetId after;
  };
  // The last steps. What several histories share is not written to.
  struct Window {
    std::atomic<uint32_t> refs;
    uint32_t capacity;
    Step* steps() { return reinterpret_cast<Step*>(this + 1); }
  };
  // Older ones, without their sets.
  static constexpr size_t kSealed = 256;
  struct Sealed {
    std::atomic<uint32_t> refs = 1;
    SetId after;  // the last of its steps
    Sealed* previous = nullptr;
    int32_t tokens[kSealed];
  };
  struct Text {
    std::atomic<uint32_t> refs = 1;
    Text* previous;
    std::string bytes;
  };
  class TextsInOrder;

  static Window* NewWindow(size_t steps);
  static void Release(Window* window);
  template <class Node>
  static Node* Share(Node* node);
  template <class Node>
  static void Release(Node* node);
  template <class Node>
  static void Pop(Node** last);
  void PopTexts(size_t from, size_t to);
  void MakeRoom();
  void OwnWindow(size_t from);
  void Unseal(size_t kept, SetId start, Advance advance);

  Window* window_ = nullptr;
  size_t count_ = 0;          // steps in it
  Sealed* sealed_ = nullptr;  // the last of those before it
  size_t sealed_steps_ = 0;
  Text* texts_ = nullptr;  // the last
};

}  // namespace grammask::internal

#endif  // GRAMMASK_MATCHER_HISTORY_H_
