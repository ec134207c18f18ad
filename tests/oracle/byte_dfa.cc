// A regular grammar node to an explicit automaton over bytes.
//
// Textbook constructions, in the plainest form: Thompson's automaton for literals, classes,
// sequences, choices and repeats, subset construction to make it deterministic, products for
// intersections, exchanged acceptance for complements. Bounded repeats are written out. Classes are
// split into byte sequences digit by digit: U+00E9..U+00FF is C3 then A9..BF.
// Cost: exponential in the worst case, bounded by kMaxStates. Source: Hopcroft and Ullman.
#include "oracle/byte_dfa.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "base/check.h"
#include "base/sorted.h"
#include "base/utf8.h"

namespace grammask::internal {
namespace {

struct Edge {
  ByteSet bytes;
  uint32_t to;
};

struct NfaState {
  std::vector<Edge> edges;
  std::vector<uint32_t> empty_edges;
};

// A part of the automaton with one way in and one way out.
struct Part {
  uint32_t in, out;
};

struct Range {
  uint32_t lo, hi;
};

// Calls emit(sequence of digit ranges) for disjoint boxes that cover lo..hi, written in `digits`
// digits of `bits` bits, the first of which may be larger.
void SplitRange(uint32_t lo, uint32_t hi, int digits, int bits, std::vector<Range> prefix,
                const std::function<void(const std::vector<Range>&)>& emit) {
  if (digits == 1) {
    prefix.push_back({lo, hi});
    emit(prefix);
    return;
  }
  int shift = (digits - 1) * bits;
  uint32_t mask = (1u << shift) - 1;
  uint32_t a = lo >> shift, b = hi >> shift;
  auto below = [&](uint32_t digit, uint32_t from, uint32_t to) {
    std::vector<Range> longer = prefix;
    longer.push_back({digit, digit});
    SplitRange(from, to, digits - 1, bits, longer, emit);
  };
  if (a == b) return below(a, lo & mask, hi & mask);
  if ((lo & mask) != 0) below(a++, lo & mask, mask);
  if ((hi & mask) != mask) below(b--, 0, hi & mask);
  if (a > b) return;
  prefix.push_back({a, b});
  for (int i = 1; i < digits; ++i) prefix.push_back({0, (1u << bits) - 1});
  emit(prefix);
}

ByteSet HexDigits(Range values) {
  ByteSet set;
  for (uint32_t v = values.lo; v <= values.hi; ++v) {
    set.Add(static_cast<uint8_t>("0123456789abcdef"[v]));
    set.Add(static_cast<uint8_t>("0123456789ABCDEF"[v]));
  }
  return set;
}

class Nfa {
 public:
  explicit Nfa(const Grammar& grammar) : grammar_(grammar) {}

  Part Add(NodeId id);

  uint32_t NewState() {
    states_.emplace_back();
    return static_cast<uint32_t>(states_.size() - 1);
  }
  void Join(uint32_t from, uint32_t to) { states_[from].empty_edges.push_back(to); }
  void Connect(uint32_t from, const ByteSet& bytes, uint32_t to) {
    states_[from].edges.push_back({bytes, to});
  }

  const std::vector<NfaState>& states() const { return states_; }

 private:
  Part AddText(std::string_view text);
  Part AddRepeat(const NodeView& node);
  Part AddMultiple(const Multiple& multiple);
  Part AddDfa(const ByteDfa& dfa);
  Part AddJsonText(std::string_view text);
  // Paths of one character from part.in to part.out.
  void AddUtf8(const CodePointSet& set, Part part);
  void AddJson(const CodePointSet& set, Part part);
  void AddUnits(Range units, Part part);
  void AddPath(const std::vector<ByteSet>& path, Part part);

  const Grammar& grammar_;
  std::vector<NfaState> states_;
};

void Nfa::AddPath(const std::vector<ByteSet>& path, Part part) {
  uint32_t at = part.in;
  for (size_t i = 0; i < path.size(); ++i) {
    uint32_t next = i + 1 == path.size() ? part.out : NewState();
    Connect(at, path[i], next);
    at = next;
  }
}

Part Nfa::AddText(std::string_view text) {
  Part part{NewState(), NewState()};
  std::vector<ByteSet> path;
  for (char c : text) path.push_back(ByteSet::Of(static_cast<uint8_t>(c)));
  AddPath(path, part);
  return part;
}

void Nfa::AddUtf8(const CodePointSet& set, Part part) {
  constexpr Range kLengths[] = {{0, 0x7F}, {0x80, 0x7FF}, {0x800, 0xFFFF}, {0x10000, 0x10FFFF}};
  constexpr uint32_t kMarks[] = {0x00, 0xC0, 0xE0, 0xF0};
  for (CodePointRange range : set.ranges()) {
    for (int n = 1; n <= 4; ++n) {
      uint32_t lo = std::max(range.lo, kLengths[n - 1].lo);
      uint32_t hi = std::min(range.hi, kLengths[n - 1].hi);
      if (lo > hi) continue;
      SplitRange(lo, hi, n, 6, {}, [&](const std::vector<Range>& digits) {
        std::vector<ByteSet> path;
        for (size_t i = 0; i < digits.size(); ++i) {
          uint32_t mark = i == 0 ? kMarks[n - 1] : 0x80;
          path.push_back(ByteSet::Range(static_cast<uint8_t>(mark + digits[i].lo),
                                        static_cast<uint8_t>(mark + digits[i].hi)));
        }
        AddPath(path, part);
      });
    }
  }
}

void Nfa::AddUnits(Range units, Part part) {
  SplitRange(units.lo, units.hi, 4, 4, {}, [&](const std::vector<Range>& digits) {
    std::vector<ByteSet> path = {ByteSet::Of('\\'), ByteSet::Of('u')};
    for (Range digit : digits) path.push_back(HexDigits(digit));
    AddPath(path, part);
  });
}

void Nfa::AddJson(const CodePointSet& set, Part part) {
  AddUtf8(set.Minus(CodePointSet{{0, 0x1F}, {'"', '"'}, {'\\', '\\'}}), part);
  constexpr std::string_view kEscapes = "\"\\/bfnrt";
  constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
  for (size_t i = 0; i < kEscapes.size(); ++i) {
    if (!set.Has(static_cast<uint8_t>(kMeanings[i]))) continue;
    AddPath({ByteSet::Of('\\'), ByteSet::Of(static_cast<uint8_t>(kEscapes[i]))}, part);
  }
  for (CodePointRange range : set.ranges()) {
    if (range.lo <= 0xFFFF) AddUnits({range.lo, std::min(range.hi, 0xFFFFu)}, part);
    if (range.hi <= 0xFFFF) continue;
    uint32_t lo = std::max(range.lo, 0x10000u) - 0x10000;
    SplitRange(lo, range.hi - 0x10000, 2, 10, {}, [&](const std::vector<Range>& halves) {
      uint32_t middle = NewState();
      AddUnits({0xD800 + halves[0].lo, 0xD800 + halves[0].hi}, {part.in, middle});
      AddUnits({0xDC00 + halves[1].lo, 0xDC00 + halves[1].hi}, {middle, part.out});
    });
  }
}

Part Nfa::AddJsonText(std::string_view text) {
  Part part{NewState(), 0};
  part.out = part.in;
  for (size_t pos = 0; pos < text.size();) {
    std::optional<DecodedChar> c = DecodeUtf8(text, pos);
    GM_CHECK(c.has_value());
    uint32_t next = NewState();
    AddJson(CodePointSet::Of(c->code_point), {part.out, next});
    part.out = next;
    pos += static_cast<size_t>(c->length);
  }
  return part;
}

Part Nfa::AddRepeat(const NodeView& node) {
  Part part{NewState(), 0};
  uint32_t at = part.in;
  auto once = [&] {
    Part child = Add(node.children[0]);
    Join(at, child.in);
    at = child.out;
    GM_CHECK(states_.size() <= ByteDfa::kMaxStates);
  };
  for (int64_t i = 0; i < node.min; ++i) once();
  part.out = NewState();
  Join(at, part.out);
  if (node.max == kUnbounded) {
    uint32_t loop = NewState();
    Join(at, loop);
    at = loop;
    once();
    Join(at, loop);
    Join(loop, part.out);
    return part;
  }
  for (int64_t i = node.min; i < node.max; ++i) {
    once();
    Join(at, part.out);
  }
  return part;
}

Part Nfa::AddMultiple(const Multiple& multiple) {
  GM_CHECK(multiple.modulus <= ByteDfa::kMaxStates);
  uint32_t modulus = static_cast<uint32_t>(multiple.modulus);
  uint32_t first = static_cast<uint32_t>(states_.size());
  states_.resize(states_.size() + modulus);
  Part part{first, NewState()};
  for (uint32_t value = 0; value < modulus; ++value) {
    Connect(first + value, ByteSet::Of('.'), first + value);
    for (uint32_t digit = 0; digit < 10; ++digit) {
      uint64_t next = (uint64_t{value} * 10 + digit) % modulus;
      Connect(first + value, ByteSet::Of(static_cast<uint8_t>('0' + digit)),
              first + static_cast<uint32_t>(next));
    }
    uint64_t scaled = value;
    for (uint32_t i = 0; i < multiple.scale; ++i) scaled = scaled * 10 % modulus;
    if (scaled == 0) Join(first + value, part.out);
  }
  return part;
}

Part Nfa::AddDfa(const ByteDfa& dfa) {
  uint32_t first = static_cast<uint32_t>(states_.size());
  states_.resize(states_.size() + dfa.size());
  Part part{first, NewState()};
  for (uint32_t s = 0; s < dfa.size(); ++s) {
    std::map<uint32_t, ByteSet> targets;
    for (int b = 0; b < 256; ++b) {
      targets[dfa.Step(s, static_cast<uint8_t>(b))].Add(static_cast<uint8_t>(b));
    }
    for (const auto& [to, bytes] : targets) {
      if (dfa.Live(to)) Connect(first + s, bytes, first + to);
    }
    if (dfa.Accepts(s)) Join(first + s, part.out);
  }
  return part;
}

Part Nfa::Add(NodeId id) {
  GM_CHECK(states_.size() <= ByteDfa::kMaxStates);
  NodeView node = grammar_.node(id);
  switch (node.kind) {
    case NodeKind::kNothing:
      return {NewState(), NewState()};
    case NodeKind::kEmpty: {
      uint32_t only = NewState();
      return {only, only};
    }
    case NodeKind::kBytes:
      return AddText(node.text);
    case NodeKind::kJsonText:
      return AddJsonText(node.text);
    case NodeKind::kByteClass: {
      Part part{NewState(), NewState()};
      Connect(part.in, *node.bytes, part.out);
      return part;
    }
    case NodeKind::kClass:
    case NodeKind::kJsonClass: {
      Part part{NewState(), NewState()};
      if (node.kind == NodeKind::kClass) {
        AddUtf8(*node.characters, part);
      } else {
        AddJson(*node.characters, part);
      }
      return part;
    }
    case NodeKind::kSequence: {
      Part part = Add(node.children[0]);
      for (NodeId child : node.children.subspan(1)) {
        Part next = Add(child);
        Join(part.out, next.in);
        part.out = next.out;
      }
      return part;
    }
    case NodeKind::kChoice: {
      Part part{NewState(), NewState()};
      for (NodeId child : node.children) {
        Part one = Add(child);
        Join(part.in, one.in);
        Join(one.out, part.out);
      }
      return part;
    }
    case NodeKind::kRepeat:
      return AddRepeat(node);
    case NodeKind::kAnd:
    case NodeKind::kNot:
      return AddDfa(ByteDfa::Build(grammar_, id));
    case NodeKind::kMultiple:
      return AddMultiple(node.multiple);
    case NodeKind::kRule:
    case NodeKind::kTokens:
    case NodeKind::kMembers:
    case NodeKind::kRecord:
    case NodeKind::kStandard:
      break;
  }
  GM_CHECK(false && "not a regular node");
  return {};
}

// What both constructions below share: numbers for keys, and the table that they fill.
template <class Key>
class DfaBuilder {
 public:
  uint32_t StateOf(const Key& key) {
    auto [it, is_new] = ids_.try_emplace(key, static_cast<uint32_t>(keys.size()));
    if (is_new) keys.push_back(key);
    GM_CHECK(keys.size() <= ByteDfa::kMaxStates);
    return it->second;
  }
  std::vector<Key> keys;

 private:
  std::map<Key, uint32_t> ids_;
};

}  // namespace

ByteDfa ByteDfa::Build(const Grammar& grammar, NodeId id) {
  NodeView node = grammar.node(id);
  GM_CHECK(node.regular);
  ByteDfa dfa;
  if (node.kind == NodeKind::kNot) {
    dfa = Build(grammar, node.children[0]);
    dfa.accepting_.flip();
    dfa.FindLive();
    return dfa;
  }
  if (node.kind == NodeKind::kAnd) {
    std::vector<ByteDfa> parts;
    for (NodeId child : node.children) parts.push_back(Build(grammar, child));
    DfaBuilder<std::vector<uint32_t>> builder;
    builder.StateOf(std::vector<uint32_t>(parts.size()));
    for (size_t s = 0; s < builder.keys.size(); ++s) {
      std::vector<uint32_t> key = builder.keys[s];
      bool accepts = true, live = true;
      for (size_t i = 0; i < parts.size(); ++i) {
        accepts = accepts && parts[i].Accepts(key[i]);
        live = live && parts[i].Live(key[i]);
      }
      dfa.accepting_.push_back(accepts);
      dfa.next_.emplace_back();
      for (int b = 0; b < 256; ++b) {
        std::vector<uint32_t> next = key;
        // Once a part is dead so is the product: stay, and explore no further.
        for (size_t i = 0; live && i < parts.size(); ++i) {
          next[i] = parts[i].Step(key[i], static_cast<uint8_t>(b));
        }
        dfa.next_[s][static_cast<size_t>(b)] = builder.StateOf(next);
      }
    }
    dfa.FindLive();
    return dfa;
  }

  Nfa nfa(grammar);
  Part part = nfa.Add(id);
  DfaBuilder<std::vector<uint32_t>> builder;
  std::vector<bool> seen(nfa.states().size());
  auto close = [&](std::vector<uint32_t> set) {
    for (uint32_t s : set) seen[s] = true;
    for (size_t i = 0; i < set.size(); ++i) {
      for (uint32_t to : nfa.states()[set[i]].empty_edges) {
        if (!seen[to]) set.push_back(to);
        seen[to] = true;
      }
    }
    for (uint32_t s : set) seen[s] = false;
    std::sort(set.begin(), set.end());
    return set;
  };
  builder.StateOf(close({part.in}));
  for (size_t s = 0; s < builder.keys.size(); ++s) {
    std::vector<uint32_t> key = builder.keys[s];
    dfa.accepting_.push_back(std::binary_search(key.begin(), key.end(), part.out));
    dfa.next_.emplace_back();
    std::map<std::vector<uint32_t>, uint32_t> closed;  // most bytes lead to the same few sets
    for (int b = 0; b < 256; ++b) {
      std::vector<uint32_t> next;
      for (uint32_t from : key) {
        for (const Edge& edge : nfa.states()[from].edges) {
          if (edge.bytes.Has(static_cast<uint8_t>(b))) next.push_back(edge.to);
        }
      }
      SortUnique(&next);
      auto [it, is_new] = closed.try_emplace(next, 0);
      if (is_new) it->second = builder.StateOf(close(next));
      dfa.next_[s][static_cast<size_t>(b)] = it->second;
    }
  }
  dfa.FindLive();
  return dfa;
}

void ByteDfa::FindLive() {
  std::vector<std::vector<uint32_t>> before(size());
  for (uint32_t s = 0; s < size(); ++s) {
    for (uint32_t to : next_[s]) {
      if (before[to].empty() || before[to].back() != s) before[to].push_back(s);
    }
  }
  live_ = accepting_;
  std::vector<uint32_t> pending;
  for (uint32_t s = 0; s < size(); ++s) {
    if (live_[s]) pending.push_back(s);
  }
  while (!pending.empty()) {
    uint32_t to = pending.back();
    pending.pop_back();
    for (uint32_t from : before[to]) {
      if (!live_[from]) pending.push_back(from);
      live_[from] = true;
    }
  }
}

bool ByteDfa::IsPrefix(std::string_view text) const {
  uint32_t state = 0;
  for (char c : text) state = Step(state, static_cast<uint8_t>(c));
  return Live(state);
}

}  // namespace grammask::internal
