// A small preorder trie over some byte strings, in the form that WalkTrie takes.
#ifndef GRAMMASK_MASK_TOKEN_TRIE_H_
#define GRAMMASK_MASK_TOKEN_TRIE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/byte_set.h"
#include "base/ids.h"
#include "base/tables.h"
#include "vocab/vocab.h"

namespace grammask::internal {

// nodes[0] is the root; a sentinel ends the nodes, as in Vocab. Empty when it holds no strings.
struct TokenTrie {
  RawTableVector<TrieNode> nodes;
  RawTableVector<TokenId> tokens;
  // Of what tokens leave over: how many bytes the longest of them has in front of that.
  uint64_t before = 0;

  bool empty() const { return tokens.empty(); }
  uint32_t node_count() const {
    return nodes.empty() ? 0 : static_cast<uint32_t>(nodes.size() - 1);
  }
  size_t memory_bytes() const {
    return nodes.capacity() * sizeof(TrieNode) + tokens.capacity() * 4;
  }
};

// The trie of (string, token) pairs, in any order; strings not empty, at most 65,535 bytes; a token
// that occurs twice with one string is kept once.
TokenTrie BuildTokenTrie(const std::vector<std::pair<std::string_view, TokenId>>& entries);

// One of the tries of what is left over: of what begins with one of these bytes.
struct ResidualTrie {
  std::shared_ptr<const TokenTrie> trie;
  ByteSet first = ByteSet::All();
  const ResidualTrie* next = nullptr;
};

// What some tokens leave over: of each its id, how many of its last bytes (one and more), and the
// first of these; and as tries, once these are asked for. Where nothing can follow they never are.
// Of long ones even the entries wait until then (MaskCache::Spelled): those of `[a-z]*` are 30,000,
// and a grammar that ends with it never asks.
struct Residual {
  static uint64_t Entry(TokenId token, size_t bytes, uint8_t first) {
    return uint64_t{static_cast<uint32_t>(token)} << 32 | uint64_t{first} << 24 |
           static_cast<uint32_t>(bytes);
  }
  static TokenId Token(uint64_t entry) { return static_cast<TokenId>(entry >> 32); }
  static size_t Bytes(uint64_t entry) { return static_cast<uint32_t>(entry) & 0xFFFFFF; }
  static uint8_t First(uint64_t entry) { return static_cast<uint8_t>(entry >> 24); }

  std::span<const uint64_t> entries;
  mutable std::atomic<const ResidualTrie*> trie = nullptr;  // the latest
  // Where the entries wait, instead: nodes of the vocabulary's trie, ascending, below which every
  // token leaves over what follows the node, and tokens that are none of these all the same, a
  // bitmap (null for none) and a list; and what has the entries, once they are asked for.
  std::span<const uint32_t> nodes;
  const uint32_t* taken = nullptr;
  std::span<const TokenId> taken_list;
  mutable std::atomic<const Residual*> spelled = nullptr;
};

}  // namespace grammask::internal

#endif  // GRAMMASK_MASK_TOKEN_TRIE_H_
