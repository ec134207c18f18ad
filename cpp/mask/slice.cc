// A vocabulary and a class of characters to the class's slice.
//
// Nearly all of the trie is texts of characters that are an X each, of which nothing needs to be
// looked at. So the walk goes from one exit to the next: a node that adds another byte than these
// characters begin with, and where a token ends inside a character beyond ASCII; the vocabulary has
// lists of such nodes. At an exit the automaton of X goes on, which starts over whenever it has
// read one X. Since no text of X begins another, a token falls into X's in at most one way, and the
// count is exact. For X = any character of a JSON string that needs no second look, 123,000 of
// Llama 3's 128,000 tokens are in the slice, the trie of the others has 12,000 nodes, and there are
// 2,600 exits. How many X's a token has is found by a walk of its own, once a bound asks for it.
//
// Cost: some 0.2 ms at 128,000 tokens, once for a class and vocabulary.
// Tests: tests/mask/slice_test.cc.
#include "mask/slice.h"

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstring>
#include <utility>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/check.h"
#include "base/tables.h"
#include "mask/regions.h"
#include "vocab/texts.h"

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

// Of 64 numbers, a bit for each of 1..most; `most` is not 0.
uint64_t BitsUpTo(const uint8_t* numbers, uint8_t most) {
  uint64_t bits = 0;
#ifdef __SSE2__
  const __m128i last = _mm_set1_epi8(static_cast<char>(most - 1)), one = _mm_set1_epi8(1);
  for (int i = 0; i < 64; i += 16) {
    const auto* const at = reinterpret_cast<const __m128i*>(numbers + i);
    const __m128i from_zero = _mm_sub_epi8(_mm_loadu_si128(at), one);  // of 0 the greatest
    const __m128i within = _mm_cmpeq_epi8(_mm_min_epu8(from_zero, last), from_zero);
    bits |= uint64_t{static_cast<uint32_t>(_mm_movemask_epi8(within))} << i;
  }
#else
  uint8_t flags[64];
  for (int i = 0; i < 64; ++i) flags[i] = static_cast<uint8_t>(numbers[i] - 1) < most ? 1 : 0;
  bits = BitsOf(flags);
#endif
  return bits;
}

bool IsAsciiWithin(const Alphabet& below, const Alphabet& all) {
  return below.leads == 0 && below.IsWithin(all);
}

// Makes a trie of some tokens of a vocabulary's, along a walk in preorder.
class PartOfTrie {
 public:
  // Mostly one or two nodes and tokens come at a time, thousands of times: they are written where
  // there is room already, for about `nodes` and at most `tokens`.
  PartOfTrie(const Vocab& vocab, size_t nodes, size_t tokens, TokenTrie* part)
      : nodes_(vocab.nodes().data()),
        tokens_(vocab.trie_tokens().data()),
        part_(*part),
        path_(static_cast<size_t>(vocab.max_token_bytes()) + 1) {
    part_.nodes.resize(nodes + 1);
    part_.tokens.resize(tokens);
  }
  size_t made() const { return made_; }
  // The walk goes on below the node with this text.
  void GoTo(std::string_view text) {
    size_t common = 0;
    while (common < std::min(depth_, text.size()) &&
           path_[common + 1] == static_cast<uint8_t>(text[common])) {
      ++common;
    }
    CloseTo(common + 1);
    for (; common < text.size(); ++common) path_[common + 1] = static_cast<uint8_t>(text[common]);
    depth_ = text.size();
  }
  // The walk is at a node of the vocabulary's trie.
  void Enter(uint32_t node) {
    node_ = node;
    depth_ = nodes_[node].depth;
    CloseTo(depth_);
    path_[depth_] = nodes_[node].byte;
  }
  // Takes up the tokens of the node that the walk is at.
  void CopyTokens() {
    OpenTo(depth_);
    CopyTokens(nodes_[node_].tokens, nodes_[node_ + 1].tokens);
  }
  // Takes up a node below the one that the walk is at, or beside it, with all that is below.
  void CopySubtree(uint32_t node) {
    const TrieNode& root = nodes_[node];
    const uint32_t end = root.end;
    CloseTo(root.depth);
    OpenTo(root.depth - size_t{1});
    MakeRoom(end - node);
    const auto node_shift = static_cast<uint32_t>(made_) - node;  // modulo 2^32
    const auto token_shift = static_cast<uint32_t>(used_) - root.tokens;
    CopyTokens(root.tokens, nodes_[end].tokens);
    TrieNode* to = part_.nodes.data() + made_;
    uint32_t i = node;
    if (end - node >= kNodesAtOnce) {
      const std::array<uint32_t, 3> one = {node_shift, token_shift, 0};
      NodeWords shift;
      for (size_t w = 0; w < shift.size(); ++w) shift[w] = one[w % one.size()];
      for (; i + kNodesAtOnce <= end; i += kNodesAtOnce, to += kNodesAtOnce) {
        NodeWords words;
        std::memcpy(&words, &nodes_[i], sizeof words);
        for (size_t w = 0; w < words.size(); ++w) words[w] += shift[w];
        std::memcpy(to, &words, sizeof words);
      }
    }
    for (; i < end; ++i, ++to) {
      *to = nodes_[i];
      to->end += node_shift;
      to->tokens += token_shift;
    }
    made_ += end - node;
  }
  void Finish() {
    part_.tokens.resize(used_);
    if (made_ == 0) {
      part_ = {};
      return;
    }
    CloseTo(0);
    part_.nodes[0].leaf = 0;
    part_.nodes.resize(made_);
    part_.nodes.push_back({static_cast<uint32_t>(made_), static_cast<uint32_t>(used_), 0, 0, 1});
    CutRoom(&part_.nodes);
    CutRoom(&part_.tokens);
  }

 private:
  // Nodes as words: their `end`, their `tokens`, and the rest, which stays as it is.
  static constexpr uint32_t kNodesAtOnce = 4;
  using NodeWords = std::array<uint32_t, kNodesAtOnce * sizeof(TrieNode) / sizeof(uint32_t)>;
  static_assert(offsetof(TrieNode, end) == 0 && offsetof(TrieNode, tokens) == 4);

  template <class T>
  static void CutRoom(RawTableVector<T>* list) {
    if (list->capacity() - list->size() > list->size() / 4) list->shrink_to_fit();
  }
  void MakeRoom(size_t nodes) {
    const size_t size = part_.nodes.size();
    if (made_ + nodes > size) part_.nodes.resize(2 * size + nodes);
  }
  void OpenTo(size_t depth) {
    for (size_t d = open_.size(); d <= depth; ++d) {
      MakeRoom(1);
      open_.push_back(static_cast<uint32_t>(made_));
      part_.nodes[made_++] = {0, static_cast<uint32_t>(used_), static_cast<uint16_t>(d), path_[d],
                              0};
    }
  }
  void CloseTo(size_t depth) {
    const auto end = static_cast<uint32_t>(made_);
    for (; open_.size() > depth; open_.pop_back()) {
      part_.nodes[open_.back()].end = end;
      part_.nodes[open_.back()].leaf = end == open_.back() + 1;
    }
  }
  void CopyTokens(uint32_t from, uint32_t to) {
    TokenId* const at = part_.tokens.data() + used_;
    const uint32_t count = to - from;
    if (count > 2 * kNodesAtOnce) {
      std::memcpy(at, tokens_ + from, count * sizeof(TokenId));
    } else {
      for (uint32_t t = 0; t < count; ++t) at[t] = tokens_[from + t];
    }
    used_ += count;
  }

  const TrieNode* const nodes_;
  const TokenId* const tokens_;
  TokenTrie& part_;
  size_t made_ = 0, used_ = 0;  // of its nodes and tokens
  std::vector<uint32_t> open_;  // its nodes above the walk, from the root
  std::vector<uint8_t> path_;   // by depth, the bytes above the walk
  size_t depth_ = 0;            // of the walk
  uint32_t node_ = 0;
};

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

std::unique_ptr<Slice> Slice::Create(const Vocab& vocab, RoundTable table, size_t most_others) {
  std::unique_ptr<Slice> slice(new Slice(vocab, std::move(table)));
  if (!slice->Walk(most_others)) return nullptr;
  for (uint32_t i = 1; i < slice->others_.node_count(); i = slice->others_.nodes[i].end) {
    slice->root_children_[slice->others_.nodes[i].byte] = i;
  }
  slice->bitmaps_ = std::vector<std::atomic<uint32_t*>>(static_cast<size_t>(slice->longest_) + 1);
  return slice;
}

// The nodes of the vocabulary's trie at which a text of whole X's goes on with what need not be
// one: where it leaves single_, with all that is below, and where it ends inside a character. In
// preorder, and none below another.
std::vector<Slice::Exit> Slice::Exits() const {
  const TrieAlphabets& alphabets = vocab_.alphabets();
  const auto nodes = vocab_.nodes();
  const auto node_count = static_cast<uint32_t>(vocab_.node_count());
  NodeSet leaving(node_count);
  alphabets.AddLeaving(single_, 0, &leaving);
  std::span<const uint32_t> cut_off;
  if (single_.leads != 0) cut_off = alphabets.cut_off();
  std::vector<Exit> exits;
  size_t cut = 0;
  uint32_t done = 0;
  auto add_cut_off = [&](uint32_t before) {
    for (; cut < cut_off.size() && cut_off[cut] < before; ++cut) {
      if (cut_off[cut] >= done) exits.push_back({cut_off[cut], cut_off[cut] + 1});
    }
  };
  NodeCursor cursor(leaving, nodes, alphabets);
  for (uint32_t i = cursor.Next(1, node_count); i < node_count; i = cursor.Next(done, node_count)) {
    add_cut_off(i);
    done = nodes[i].end;
    exits.push_back({i, done});
  }
  add_cut_off(node_count);
  return exits;
}

// Whether nothing goes on so behind whole X's.
bool Slice::IsRefused(const Exit& exit) const {
  return table_[vocab_.nodes()[exit.node].byte] == kRefused;
}

// Calls f(exit, the text above its node), until it returns false, and before it plain(from, to) for
// the tokens since the last exit, by their places in the order of the trie; at last for those
// behind all exits. These are of whole X's, of as many as they have characters. Whether it came to
// the end.
template <class Plain, class F>
bool Slice::ForEachExit(const std::vector<Exit>& exits, Plain&& plain, F&& f) const {
  const auto nodes = vocab_.nodes();
  bool going = true;
  uint32_t done = 0;
  auto first_token = [&](size_t e) -> const TokenId& {
    return vocab_.trie_tokens()[nodes[exits[e].node].tokens];
  };
  ForEachText(vocab_, exits.size(), first_token, [&](size_t e, std::string_view token) {
    if (!going) return;
    const Exit exit = exits[e];
    plain(done, nodes[exit.node].tokens);
    done = nodes[exit.end].tokens;
    going = f(exit, token.substr(0, nodes[exit.node].depth - size_t{1}));
  });
  if (going) plain(done, static_cast<uint32_t>(vocab_.trie_tokens().size()));
  return going;
}

// At and below an exit behind `text` the trie is walked with X's automaton. These are called:
//   refused(node)            no X goes on so; whether to go on
//   below(node, count)       as many X's end here, and each byte of what is below is one more
//   inside(node, ends, count)
template <class Refused, class Below, class Inside>
bool Slice::WalkExit(const Exit& exit, std::string_view text, std::vector<Level>* path,
                     Refused&& refused, Below&& below, Inside&& inside) const {
  const TrieNode* const nodes = vocab_.nodes().data();
  const TrieAlphabets& alphabets = vocab_.alphabets();
  const uint16_t* const targets = table_.data();
  const Alphabet single = single_;
  Level* const levels = path->data();
  Level before = {0, 0};
  if (!IsRefused(exit) || !alphabets.is_whole(exit.node)) {
    for (const char c : text) {
      before.state = targets[before.state * 256 + static_cast<uint8_t>(c)];
      GM_DCHECK(before.state != kRefused);
      if (before.state == 0) ++before.count;
    }
  }
  levels[text.size()] = before;
  for (uint32_t i = exit.node; i < exit.end;) {
    const TrieNode& node = nodes[i];
    const Level& from = levels[node.depth - 1u];
    const uint32_t state = targets[from.state * 256 + node.byte];
    if (state == kRefused) {
      if (!refused(i)) return false;
      i = node.end;
      continue;
    }
    const uint32_t count = from.count + (state == 0);
    if (state == 0 && IsAsciiWithin(alphabets.below(i), single)) {
      below(i, count);
      i = node.end;
      continue;
    }
    levels[node.depth] = {state, count};
    inside(i, state == 0, count);
    ++i;
  }
  return true;
}

// Fills others_ and longest_. The trie of the others is laid down beside: a subtree that is refused
// is copied whole, a node above it, or with a token that ends inside an X, when it is first needed.
// False where others_ would have more than `most_others` nodes.
bool Slice::Walk(size_t most_others) {
  const TrieNode* const nodes = vocab_.nodes().data();
  const TrieAlphabets& alphabets = vocab_.alphabets();
  const std::vector<Exit> exits = Exits();
  size_t refused = 0, most_nodes = 0, most_tokens = 0;
  for (const Exit& exit : exits) {
    most_nodes += exit.end - exit.node;
    most_tokens += nodes[exit.end].tokens - nodes[exit.node].tokens;
    if (IsRefused(exit)) refused += exit.end - exit.node;
  }
  if (refused > most_others) return false;

  // A node above an exit is mostly above others as well.
  PartOfTrie others(vocab_, most_nodes + exits.size(), most_tokens, &others_);
  std::vector<Level> path(static_cast<size_t>(vocab_.max_token_bytes()) + 1, {0, 0});
  uint32_t longest = 0;
  auto take_plain = [&](uint32_t from, uint32_t to) {
    for (uint32_t t = from; t < to;) {
      if (alphabets.block(t).characters <= longest) {
        t = (t / TrieAlphabets::kBlock + 1) * TrieAlphabets::kBlock;
      } else {
        longest = std::max<uint32_t>(longest, alphabets.characters()[t++]);
      }
    }
  };
  auto on_refused = [&](uint32_t i) {
    if (others.made() + (nodes[i].end - i) > most_others) return false;
    others.CopySubtree(i);
    return true;
  };
  auto on_below = [&](uint32_t i, uint32_t count) {
    longest = std::max(longest, count + alphabets.deepest(i) - nodes[i].depth);
  };
  auto on_inside = [&](uint32_t i, bool ends, uint32_t count) {
    others.Enter(i);
    if (nodes[i].tokens == nodes[i + 1].tokens) return;
    if (ends) {
      longest = std::max(longest, count);
    } else {
      others.CopyTokens();
    }
  };
  const bool within = ForEachExit(exits, take_plain, [&](const Exit& exit, std::string_view text) {
    others.GoTo(text);
    return WalkExit(exit, text, &path, on_refused, on_below, on_inside);
  });
  if (!within) return false;
  longest_ = static_cast<int>(longest);
  others.Finish();
  return true;
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

// Fills counts_ and long_. The automaton is not needed any more then.
void Slice::Count() {
  const TrieNode* const nodes = vocab_.nodes().data();
  const TrieAlphabets& alphabets = vocab_.alphabets();
  const uint16_t* const lengths = alphabets.lengths().data();
  const std::span<const uint16_t> characters = alphabets.characters();
  counts_.resize(vocab_.trie_tokens().size());
  uint16_t* const counts = counts_.data();
  std::vector<Level> path(static_cast<size_t>(vocab_.max_token_bytes()) + 1, {0, 0});
  auto take_plain = [&](uint32_t from, uint32_t to) {
    std::ranges::copy(characters.subspan(from, to - from), counts + from);
  };
  auto on_refused = [](uint32_t) { return true; };
  auto on_below = [&](uint32_t i, uint32_t count) {
    const uint32_t before = nodes[i].depth - count, end = nodes[nodes[i].end].tokens;
    for (uint32_t t = nodes[i].tokens; t < end; ++t) {
      counts[t] = static_cast<uint16_t>(lengths[t] - before);
    }
  };
  auto on_inside = [&](uint32_t i, bool ends, uint32_t count) {
    if (!ends) return;
    std::fill(counts + nodes[i].tokens, counts + nodes[i + 1].tokens, static_cast<uint16_t>(count));
  };
  ForEachExit(Exits(), take_plain, [&](const Exit& exit, std::string_view text) {
    return WalkExit(exit, text, &path, on_refused, on_below, on_inside);
  });
  ForEachOf(kLong + 1, UINT64_MAX, [&](size_t i) {
    long_.push_back(static_cast<uint32_t>(i));
    return true;
  });
  CountOthers();
  table_.clear();
  table_.shrink_to_fit();
}

// Fills by_need_ and beyond_.
void Slice::CountOthers() {
  const auto nodes = std::span(others_.nodes).first(others_.node_count());
  TableVector<uint16_t> needs(others_.tokens.size());
  std::vector<Level> path(static_cast<size_t>(vocab_.max_token_bytes()) + 1, {0, 0});
  auto need = [&](uint32_t first, uint32_t end, const Level& at) {
    // Where an X was begun that does not go on so, no token can follow.
    const uint32_t count = at.count + (at.state != 0 ? 1 : 0);
    for (uint32_t t = first; t < end; ++t) needs[t] = static_cast<uint16_t>(count);
  };
  for (uint32_t i = 1; i < nodes.size();) {
    const TrieNode& node = nodes[i];
    const Level& from = path[node.depth - 1u];
    const uint32_t state = table_[from.state * 256 + node.byte];
    if (state == kRefused) {
      need(node.tokens, others_.nodes[node.end].tokens, from);
      i = node.end;
      continue;
    }
    path[node.depth] = {state, from.count + (state == 0)};
    need(node.tokens, others_.nodes[i + 1].tokens, path[node.depth]);
    ++i;
  }
  const uint32_t most = needs.empty() ? 0 : std::ranges::max(needs);
  beyond_.assign(most + size_t{1}, 0);
  for (uint16_t n : needs) {
    if (n > 0) ++beyond_[n - 1u];
  }
  for (uint32_t n = most; n > 0; --n) beyond_[n - 1] += beyond_[n];
  // From now on, where the next token of that need goes: behind those that need more.
  TableVector<uint32_t> next(beyond_);
  by_need_.resize(needs.size());
  for (size_t t = 0; t < needs.size(); ++t) by_need_[next[needs[t]]++] = others_.tokens[t];
}

Slice::~Slice() {
  for (auto& bitmap : bitmaps_) {
    if (uint32_t* const made = bitmap.load()) FreeTable(made, words_ * sizeof(uint32_t));
  }
}

const uint32_t* Slice::UpTo(uint64_t most) {
  const size_t n = static_cast<size_t>(std::min<uint64_t>(most, static_cast<uint64_t>(longest_)));
  if (const uint32_t* known = bitmaps_[n].load(std::memory_order_acquire)) return known;
  std::lock_guard lock(mutex_);
  return Make(n);
}

// That of all is what others() lacks. From it what has more X's is taken out, which few tokens are;
// that of a small number is put together.
const uint32_t* Slice::Make(size_t n) {
  if (const uint32_t* known = bitmaps_[n].load(std::memory_order_acquire)) return known;
  const bool all = n == static_cast<size_t>(longest_);
  if (!all && counts_.empty()) Count();
  auto* const bitmap = static_cast<uint32_t*>(AllocateTable(words_ * sizeof(uint32_t)));
  if (all) {
    std::ranges::copy(vocab_.text_bits(), bitmap);
    for (TokenId t : others_.tokens) ClearBit(bitmap, t);
  } else if (n >= kLong) {
    std::memcpy(bitmap, Make(static_cast<size_t>(longest_)), words_ * 4);
    for (uint32_t i : long_) {
      if (counts_[i] > n) ClearBit(bitmap, vocab_.trie_tokens()[i]);
    }
  } else {
    PutFew(n, bitmap);
  }
  bitmaps_[n].store(bitmap, std::memory_order_release);
  return bitmap;
}

// The tokens of 1..n X, n < kLong. By token: the bits of a block are made together, where each
// would be written by itself somewhere else in the order of the trie.
void Slice::PutFew(size_t n, uint32_t* bitmap) {
  if (n == 0) {
    std::fill_n(bitmap, words_, 0);
    return;
  }
  if (few_.empty()) {
    few_.resize((words_ * 32 + kBlock - 1) / kBlock * kBlock);
    const auto tokens = vocab_.trie_tokens();
    for (size_t i = 0; i < tokens.size(); ++i) {
      few_[static_cast<size_t>(tokens[i])] =
          static_cast<uint8_t>(std::min<size_t>(counts_[i], kLong));
    }
  }
  static_assert(kBlock == 64);
  for (size_t w = 0; w < words_; w += 2) {
    const uint64_t bits = BitsUpTo(few_.data() + w * 32, static_cast<uint8_t>(n));
    bitmap[w] = static_cast<uint32_t>(bits);
    if (w + 1 < words_) bitmap[w + 1] = static_cast<uint32_t>(bits >> 32);
  }
}

std::span<const uint16_t> Slice::Counts() {
  std::lock_guard lock(mutex_);
  if (counts_.empty()) Count();  // after which they stay
  return counts_;
}

std::span<const TokenId> Slice::OthersBeyond(uint64_t most) {
  Counts();
  return std::span(by_need_).first(most < beyond_.size() ? beyond_[most] : 0);
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
                 long_.capacity() * 4 + few_.capacity() + others_.memory_bytes() +
                 by_need_.capacity() * 4 + beyond_.capacity() * 4 +
                 bitmaps_.capacity() * sizeof(bitmaps_[0]);
  for (const auto& bitmap : bitmaps_) bytes += bitmap.load() != nullptr ? words_ * 4 : 0;
  return bytes;
}

}  // namespace grammask::internal
