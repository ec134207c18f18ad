// The texts of many tokens, one after another.
#ifndef GRAMMASK_VOCAB_TEXTS_H_
#define GRAMMASK_VOCAB_TEXTS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

#include "base/ids.h"
#include "vocab/vocab.h"

namespace grammask::internal {

// Calls f(k, text) for k = 0..count-1 with the text of the token that token_at(k) gives or refers
// to. The texts lie all over the vocabulary, where a look waits for memory: so the processor
// fetches those that come next, in steps: the id where it is referred to, where the text lies, the
// text. token_at is called up to four times for a k, ahead of f.
//
// All of it is one loop that calls f as well: GCC takes calls of a function that does nothing but
// fetch for needless, and drops them. Tests: tests/vocab/spelled_texts_test.cc.
template <class TokenAt, class F>
void ForEachText(const Vocab& vocab, size_t count, const TokenAt& token_at, const F& f) {
  constexpr size_t kStep = 8;
  for (size_t k = 0; k < count; ++k) {
    if constexpr (std::is_reference_v<decltype(token_at(k))>) {
      if (k + 3 * kStep < count) __builtin_prefetch(&token_at(k + 3 * kStep));
    }
    if (k + 2 * kStep < count) vocab.PrefetchPlace(token_at(k + 2 * kStep));
    if (k + kStep < count) __builtin_prefetch(vocab.bytes(token_at(k + kStep)).data());
    f(k, vocab.bytes(token_at(k)));
  }
}

// Calls f(node, text) for some nodes of the vocabulary's trie with the text of each one's parent.
template <class F>
void ForEachTextAbove(const Vocab& vocab, std::span<const uint32_t> nodes, const F& f) {
  auto node = [&](size_t k) -> const TrieNode& { return vocab.nodes()[nodes[k]]; };
  auto token = [&](size_t k) -> const TokenId& { return vocab.trie_tokens()[node(k).tokens]; };
  ForEachText(vocab, nodes.size(), token, [&](size_t k, std::string_view text) {
    f(nodes[k], text.substr(0, node(k).depth - size_t{1}));
  });
}

}  // namespace grammask::internal

#endif  // GRAMMASK_VOCAB_TEXTS_H_
