// A vocabulary and a class of characters to the class's slice.
//
// One walk of the trie with the automaton of X, which starts over whenever it has read one X; a
// subtree of ASCII characters that are an X each is counted without. Since no text of X begins
// another, a token falls into X's in at most one way, and the count is exact. For X = any character
// of a JSON string that needs no second look, 123,000 of Llama 3's 128,000 tokens are in the slice
// and the trie of the others has 6,000 nodes. How many X's a token has is found by a walk of its
// own, once a bound asks for it.
//
// Characters beyond ASCII may be cut off where a token ends, which the trie's alphabets do not
// tell. But a slice of JSON strings does: tokens in it are of whole characters. So below a node
// without other tokens than those, of characters that are an X each, all tokens are X's.
//
// Cost: some 0.5 ms at 128,000 tokens, once for a class and vocabulary, and half of that with the
// slice of JSON strings at hand. Tests: tests/mask/slice_test.cc.
#include "mask/slice.h"

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "mask/regions.h"

namespace grammask::internal {
namespace {

constexpr size_t kMaxStates = 4096;  // of X's automaton, over which it is no class of characters

// Whether each text of bytes out of the ranges completes the X whose automaton is in a state. At
// most three bytes.
bool IsWhole(const RoundTable& table, uint32_t state, std::span<const ByteRange> ranges) {
  if (ranges.empty()) return state == 0;
  uint32_t last = Slice::kRefused;
  for (int b = ranges[0].lo; b <= ranges[0].hi; ++b) {
    const uint32_t to = table[size_t{state} * 256 + static_cast<size_t>(b)];
    if (to == Slice::kRefused || (to == 0 && ranges.size() > 1)) return false;
    if (to == last) continue;
    last = to;
    if (!IsWhole(table, to, ranges.subspan(1))) return false;
  }
  return true;
}

// Of 64 flags, 0 or 1 each, the bits: of each eight by a product in which no two flags meet.
uint64_t BitsOf(const uint8_t* flags) {
  uint64_t bits = 0;
  for (int i = 0; i < 8; ++i) {
    uint64_t eight = 0;
    for (int k = 0; k < 8; ++k) eight |= uint64_t{flags[8 * i + k]} << (8 * k);
    bits |= (eight * 0x0102040810204080u >> 56) << (8 * i);
  }
  return bits;
}

bool IsAsciiWithin(const Alphabet& below, const Alphabet& all) {
  return below.leads == 0 && below.IsWithin(all);
}

}  // namespace

std::optional<RoundTable> Slice::Tabulate(TermStore* terms, TermId x) {
  RoundTable table;
  std::vector<TermId> states = {x};
  absl::flat_hash_map<uint32_t, uint32_t> numbers;  // of states but the first
  for (size_t i = 0; i < states.size(); ++i) {
    if (states.size() > kMaxStates) return std::nullopt;
    const Term& t = terms->term(states[i]);
    if (t.nullable) return std::nullopt;  // a text of X may go on, or is empty
    const Expansion& e = terms->Expand(states[i]);
    if (!e.calls.empty() || !e.tokens.empty()) return std::nullopt;
    table.resize((i + 1) * 256, kRefused);
    for (const ByteEdge& edge : e.bytes) {
      uint32_t to = 0;
      if (edge.to != TermStore::Empty()) {
        // As in `[^a]*a`: in the middle of an X would look like after one.
        if (edge.to == x) return std::nullopt;
        const auto [it, added] =
            numbers.try_emplace(edge.to.value, static_cast<uint32_t>(states.size()));
        if (added) states.push_back(edge.to);
        to = it->second;
      }
      std::fill_n(&table[i * 256 + edge.lo], edge.hi - edge.lo + 1, static_cast<uint16_t>(to));
    }
  }
  return table;
}

Alphabet Slice::Characters(const RoundTable& table) {
  Alphabet characters;
  for (uint8_t b = 0; b < 0x80; ++b) {
    if (table[b] == 0) characters.Add(b);
  }
  for (int b = 0xC2; b <= 0xF4; ++b) {
    const auto lead = static_cast<uint8_t>(b);
    const uint32_t state = table[lead];
    if (state != kRefused && state != 0 && IsWhole(table, state, BytesAfter(lead))) {
      characters.AddLead(lead);
    }
  }
  return characters;
}

Slice::Slice(const Vocab& vocab, RoundTable table)
    : vocab_(vocab),
      table_(std::move(table)),
      words_((static_cast<size_t>(vocab.size()) + 31) / 32),
      single_(Characters(table_)) {}

std::unique_ptr<Slice> Slice::Create(const Vocab& vocab, RoundTable table, Slice* utf8,
                                     size_t most_others) {
  std::unique_ptr<Slice> slice(new Slice(vocab, std::move(table)));
  if (!slice->Walk(utf8, most_others)) return nullptr;
  for (uint32_t i = 1; i < slice->others_.node_count(); i = slice->others_.nodes[i].end) {
    slice->root_children_[slice->others_.nodes[i].byte] = i;
  }
  slice->bitmaps_ = std::vector<std::atomic<uint32_t*>>(static_cast<size_t>(slice->longest_) + 1);
  if (utf8 != nullptr) {
    auto* bitmap = new uint32_t[slice->words_];
    std::memcpy(bitmap, utf8->UpTo(UINT64_MAX), slice->words_ * 4);
    for (TokenId t : utf8->others_.tokens) SetBit(bitmap, t);
    for (TokenId t : slice->others_.tokens) ClearBit(bitmap, t);
    slice->bitmaps_.back().store(bitmap, std::memory_order_release);
  }
  return slice;
}

// Fills others_ and longest_. The trie of the others is laid down beside the walk: a subtree that
// is refused is copied whole, a node above it, or with a token that ends inside an X, when it is
// first needed. False as soon as it has more than `most_others` nodes.
bool Slice::Walk(const Slice* utf8, size_t most_others) {
  struct Level {
    uint32_t state, count, node;
  };
  // Of the path down to the node at hand; that one included.
  std::vector<Level> path(static_cast<size_t>(vocab_.max_token_bytes()) + 1, {0, 0, 0});
  Level* const levels = path.data();
  std::vector<uint32_t> open;  // the nodes of `out` on that path, from the root
  // Mostly one or two nodes and tokens come at a time, thousands of times: they are written where
  // there is room already.
  std::vector<TrieNode>& out = others_.nodes;
  std::vector<TokenId>& others = others_.tokens;
  size_t made = 0, used = 0;  // of these
  auto make_room = [](auto* list, size_t taken, size_t more) {
    if (list->size() - taken < more) list->resize(2 * list->size() + more + 1024);
  };
  const TrieNode* const nodes = vocab_.nodes().data();
  const auto tokens = vocab_.trie_tokens();
  const TrieAlphabets& alphabets = vocab_.alphabets();
  auto add_node = [&](size_t depth, uint8_t byte) {
    open.push_back(static_cast<uint32_t>(made));
    make_room(&out, made, 1);
    out[made++] = {0, static_cast<uint32_t>(used), static_cast<uint16_t>(depth), byte, 0};
  };
  auto close_to = [&](size_t depth) {
    const auto end = static_cast<uint32_t>(made);
    for (; open.size() > depth; open.pop_back()) {
      out[open.back()].end = end;
      out[open.back()].leaf = end == open.back() + 1;
    }
  };
  auto open_to = [&](size_t depth) {
    while (open.size() <= depth) add_node(open.size(), nodes[levels[open.size()].node].byte);
  };
  auto add_tokens = [&](uint32_t from, uint32_t to) {
    if (from == to) return;
    AppendRun(from, to, &other_runs_);
    make_room(&others, used, to - from);
    TokenId* const at = others.data() + used;
    for (uint32_t t = from; t < to; ++t) at[t - from] = tokens[t];
    used += to - from;
  };
  const uint16_t* const targets = table_.data();
  const Alphabet single = single_;
  const auto node_count = static_cast<uint32_t>(vocab_.node_count());
  uint32_t longest = 0;
  const TokenRun* run = utf8 != nullptr ? utf8->other_runs_.data() : nullptr;
  const TokenRun* const runs_end = run + (run != nullptr ? utf8->other_runs_.size() : 0);
  // Whether each token at and below a node is of whole characters. Nodes come in preorder.
  auto is_whole = [&](const TrieNode& node) {
    while (run != runs_end && run->last <= node.tokens) ++run;
    return run == runs_end || run->first >= nodes[node.end].tokens;
  };
  for (uint32_t i = 1; i < node_count;) {
    const TrieNode& node = nodes[i];
    const Level& from = levels[node.depth - 1u];
    const uint32_t state = targets[from.state * 256 + node.byte];
    if (open.size() > node.depth) close_to(node.depth);
    if (state == kRefused) {
      open_to(node.depth - 1u);
      if (made + (node.end - i) > most_others) return false;
      const auto node_shift = static_cast<uint32_t>(made) - i;  // modulo 2^32
      const auto token_shift = static_cast<uint32_t>(used) - node.tokens;
      add_tokens(node.tokens, nodes[node.end].tokens);
      const uint32_t end = node.end;
      make_room(&out, made, end - i);
      for (TrieNode* to = out.data() + made; i < end; ++i, ++made, ++to) {
        *to = nodes[i];
        to->end += node_shift;
        to->tokens += token_shift;
      }
      continue;
    }
    const uint32_t count = from.count + (state == 0);
    if (state == 0) {
      const Alphabet& below = alphabets.below(i);
      // Each byte more is an X more, or part of one.
      const uint32_t most = count + alphabets.deepest(i) - node.depth;
      if (below.IsWithin(single) &&
          (below.leads == 0 || (utf8 != nullptr && most <= longest && is_whole(node)))) {
        if (below.leads == 0) longest = std::max(longest, most);
        i = node.end;
        continue;
      }
    }
    levels[node.depth] = {state, count, i};
    const uint32_t end = nodes[i + 1].tokens;
    if (node.tokens < end) {
      if (state == 0) {
        longest = std::max(longest, count);
      } else {
        open_to(node.depth);
        add_tokens(node.tokens, end);
      }
    }
    ++i;
  }
  longest_ = static_cast<int>(longest);
  others.resize(used);
  if (made == 0) return true;
  close_to(0);
  out[0].leaf = 0;
  const auto count = static_cast<uint32_t>(made);
  out.resize(made);
  out.push_back({count, static_cast<uint32_t>(used), 0, 0, 1});
  out.shrink_to_fit();
  others_.tokens.shrink_to_fit();
  other_runs_.shrink_to_fit();
  return true;
}

// Fills counts_ and long_. The automaton is not needed any more then.
void Slice::Count() {
  struct Level {
    uint32_t state, count;
  };
  std::vector<Level> path(static_cast<size_t>(vocab_.max_token_bytes()) + 1, {0, 0});
  Level* const levels = path.data();
  const TrieNode* const nodes = vocab_.nodes().data();
  const TrieAlphabets& alphabets = vocab_.alphabets();
  const uint16_t* const lengths = alphabets.lengths().data();
  const uint16_t* const targets = table_.data();
  const Alphabet single = single_;
  counts_.resize(vocab_.trie_tokens().size());
  uint16_t* const counts = counts_.data();
  for (uint32_t i = 1; i < vocab_.node_count();) {
    const TrieNode& node = nodes[i];
    const Level& from = levels[node.depth - 1u];
    const uint32_t state = targets[from.state * 256 + node.byte];
    if (state == kRefused) {
      i = node.end;
      continue;
    }
    const uint32_t count = from.count + (state == 0);
    if (state == 0 && IsAsciiWithin(alphabets.below(i), single)) {
      const uint32_t before = node.depth - count, end = nodes[node.end].tokens;
      for (uint32_t t = node.tokens; t < end; ++t) {
        counts[t] = static_cast<uint16_t>(lengths[t] - before);
      }
      i = node.end;
      continue;
    }
    levels[node.depth] = {state, count};
    if (state == 0) {
      const uint32_t end = nodes[i + 1].tokens;
      for (uint32_t t = node.tokens; t < end; ++t) counts[t] = static_cast<uint16_t>(count);
    }
    ++i;
  }
  for (size_t i = 0; i < counts_.size(); ++i) {
    if (counts_[i] > kLong) long_.push_back(static_cast<uint32_t>(i));
  }
  table_.clear();
  table_.shrink_to_fit();
}

Slice::~Slice() {
  for (auto& bitmap : bitmaps_) delete[] bitmap.load();
}

const uint32_t* Slice::UpTo(uint64_t most) {
  const size_t n = static_cast<size_t>(std::min<uint64_t>(most, static_cast<uint64_t>(longest_)));
  if (const uint32_t* known = bitmaps_[n].load(std::memory_order_acquire)) return known;
  std::lock_guard lock(mutex_);
  return Make(n);
}

// Calls f(place) for the tokens of `from` to `to` X, `from` > 0, by places in the order of the
// vocabulary's trie, until f returns false.
template <class F>
void Slice::ForEachOf(uint64_t from, uint64_t to, F&& f) const {
  const auto longest = static_cast<uint64_t>(longest_);
  if (from > std::min(to, longest)) return;
  const auto least = static_cast<uint16_t>(from);
  const auto more = static_cast<uint16_t>(std::min(to, longest) - from);
  auto within = [&](uint16_t count) { return static_cast<uint16_t>(count - least) <= more; };
  for (size_t first = 0; first < counts_.size(); first += kBlock) {
    const auto block = std::span(counts_).subspan(first, std::min(counts_.size() - first, kBlock));
    uint8_t flags[kBlock] = {};
    for (size_t i = 0; i < block.size(); ++i) flags[i] = within(block[i]) ? 1 : 0;
    for (uint64_t left = BitsOf(flags); left != 0; left &= left - 1) {
      if (!f(first + static_cast<size_t>(std::countr_zero(left)))) return;
    }
  }
}

// That of all is what others() lacks. From it what has more X's is taken out, which few tokens are;
// of a small number it is put together.
const uint32_t* Slice::Make(size_t n) {
  if (const uint32_t* known = bitmaps_[n].load(std::memory_order_acquire)) return known;
  auto* bitmap = new uint32_t[words_]();
  const bool all = n == static_cast<size_t>(longest_);
  if (!all && counts_.empty()) Count();
  const auto tokens = vocab_.trie_tokens();
  if (all) {
    std::ranges::copy(vocab_.text_bits(), bitmap);
    for (TokenId t : others_.tokens) ClearBit(bitmap, t);
  } else if (n >= kLong) {
    std::memcpy(bitmap, Make(static_cast<size_t>(longest_)), words_ * 4);
    for (uint32_t i : long_) {
      if (counts_[i] > n) ClearBit(bitmap, tokens[i]);
    }
  } else if (n >= kMany) {
    std::memcpy(bitmap, Make(static_cast<size_t>(longest_)), words_ * 4);
    ForEachOf(n + 1, UINT64_MAX, [&](size_t i) {
      ClearBit(bitmap, tokens[i]);
      return true;
    });
  } else {
    ForEachOf(1, n, [&](size_t i) {
      SetBit(bitmap, tokens[i]);
      return true;
    });
  }
  bitmaps_[n].store(bitmap, std::memory_order_release);
  return bitmap;
}

std::span<const uint16_t> Slice::Counts() {
  std::lock_guard lock(mutex_);
  if (counts_.empty()) Count();  // after which they stay
  return counts_;
}

std::optional<std::vector<uint32_t>> Slice::Between(uint64_t from, uint64_t to, size_t limit) {
  Counts();
  std::vector<uint32_t> places;
  ForEachOf(from, to, [&](size_t i) {
    places.push_back(static_cast<uint32_t>(i));
    return places.size() <= limit;
  });
  if (places.size() > limit) return std::nullopt;
  return places;
}

size_t Slice::memory_bytes() const {
  std::lock_guard lock(mutex_);
  size_t bytes = sizeof(Slice) + table_.capacity() * 2 + counts_.capacity() * 2 +
                 long_.capacity() * 4 + others_.memory_bytes() +
                 other_runs_.capacity() * sizeof(TokenRun) +
                 bitmaps_.capacity() * sizeof(bitmaps_[0]);
  for (const auto& bitmap : bitmaps_) bytes += bitmap.load() != nullptr ? words_ * 4 : 0;
  return bytes;
}

}  // namespace grammask::internal
