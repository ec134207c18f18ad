// A regular node and a text to yes or no.
//
// A short text first by images: from a set of positions, a word of bits, to those that a node gets
// to from them. Through a sequence they go one child after another, through a choice they are
// united, in a repeat they go round as long as new ones come; an intersection or a complement takes
// each position by itself. That looks only at what the text gets to, but loops within loops may
// take rounds of rounds: after kMaxSteps nodes, or deeper than kMaxDepth, and for longer texts, all
// is done by relations instead.
//
// For each node below, children first, the relation of all (i, j) such that it matches text[i, j)
// is computed as a matrix of bits: a sequence multiplies its children's matrices, a choice unites
// them, a repeat raises to a power by squaring, an intersection intersects, and a complement takes
// the other pairs with i <= j. `a|ab` on "ab" has (0,1) and (0,2); the text matches when the root
// has (0, length). Nodes are stored children first, so this is a loop, and nesting costs no stack.
// Cost: by images some 10 ns a node and round; by relations at most nodes * n^3 / 64.
//
// Tests: tests/grammar/text_match_test.cc, tests/grammar/json_schema_test.cc.
#include "grammar/json_schema/text_match.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/scratch.h"
#include "base/utf8.h"

namespace grammask::internal {
namespace {

// The most words of bits that all relations together may take.
constexpr size_t kMaxWords = size_t{1} << 24;

class Relation {
 public:
  explicit Relation(size_t positions)
      : n_(positions), words_((positions + 63) / 64), bits_(n_ * words_) {}
  static Relation Identity(size_t positions) {
    Relation r(positions);
    for (size_t i = 0; i < positions; ++i) r.Set(i, i);
    return r;
  }

  void Set(size_t i, size_t j) { bits_[i * words_ + j / 64] |= uint64_t{1} << (j % 64); }
  bool Has(size_t i, size_t j) const { return bits_[i * words_ + j / 64] >> (j % 64) & 1; }
  void Unite(const Relation& o) {
    for (size_t k = 0; k < bits_.size(); ++k) bits_[k] |= o.bits_[k];
  }
  void Intersect(const Relation& o) {
    for (size_t k = 0; k < bits_.size(); ++k) bits_[k] &= o.bits_[k];
  }
  Relation Times(const Relation& o) const {
    Relation out(n_);
    for (size_t i = 0; i < n_; ++i) {
      for (size_t w = 0; w < words_; ++w) {
        for (uint64_t rest = bits_[i * words_ + w]; rest != 0; rest &= rest - 1) {
          size_t mid = w * 64 + std::countr_zero(rest);
          for (size_t v = 0; v < words_; ++v)
            out.bits_[i * words_ + v] |= o.bits_[mid * words_ + v];
        }
      }
    }
    return out;
  }
  Relation Power(int64_t exponent) const {
    Relation result = Identity(n_);
    Relation square = *this;
    for (; exponent > 0; exponent >>= 1) {
      if (exponent & 1) result = result.Times(square);
      if (exponent > 1) square = square.Times(square);
    }
    return result;
  }
  // Any number of times. All pairs have i <= j, so the later rows are complete before they are
  // used.
  Relation Star() const {
    Relation out(n_);
    for (size_t i = n_; i-- > 0;) {
      out.Set(i, i);
      for (size_t w = i / 64; w < words_; ++w) {
        for (uint64_t rest = bits_[i * words_ + w]; rest != 0; rest &= rest - 1) {
          size_t mid = w * 64 + std::countr_zero(rest);
          if (mid == i) continue;
          for (size_t v = 0; v < words_; ++v) {
            out.bits_[i * words_ + v] |= out.bits_[mid * words_ + v];
          }
        }
      }
    }
    return out;
  }
  // The pairs i <= j that are not here.
  Relation Complement() const {
    Relation out(n_);
    for (size_t i = 0; i < n_; ++i) {
      for (size_t j = i; j < n_; ++j) {
        if (!Has(i, j)) out.Set(i, j);
      }
    }
    return out;
  }
  friend bool operator==(const Relation&, const Relation&) = default;

 private:
  size_t n_, words_;
  ScratchVector<uint64_t> bits_;
};

struct JsonChar {
  uint32_t code_point;
  size_t end;
};

std::optional<uint32_t> Hex4(std::string_view text, size_t pos) {
  if (pos + 4 > text.size()) return std::nullopt;
  uint32_t value = 0;
  for (char c : text.substr(pos, 4)) {
    char lower = static_cast<char>(c | 0x20);
    if (c >= '0' && c <= '9')
      value = value * 16 + (c - '0');
    else if (lower >= 'a' && lower <= 'f')
      value = value * 16 + (lower - 'a' + 10);
    else
      return std::nullopt;
  }
  return value;
}

// The character that JSON spells at `pos`; nullopt where it spells none.
std::optional<JsonChar> DecodeJsonChar(std::string_view text, size_t pos) {
  if (pos >= text.size()) return std::nullopt;
  unsigned char c = static_cast<unsigned char>(text[pos]);
  if (c == '"' || c < 0x20) return std::nullopt;
  if (c != '\\') {
    std::optional<DecodedChar> d = DecodeUtf8(text, pos);
    if (!d) return std::nullopt;
    return JsonChar{d->code_point, pos + d->length};
  }
  if (pos + 1 >= text.size()) return std::nullopt;
  constexpr std::string_view kLetters = "\"\\/bfnrt", kMeanings = "\"\\/\b\f\n\r\t";
  size_t letter = kLetters.find(text[pos + 1]);
  if (letter != std::string_view::npos) {
    return JsonChar{static_cast<unsigned char>(kMeanings[letter]), pos + 2};
  }
  if (text[pos + 1] != 'u') return std::nullopt;
  std::optional<uint32_t> unit = Hex4(text, pos + 2);
  if (!unit || (*unit >= 0xDC00 && *unit <= 0xDFFF)) return std::nullopt;
  if (*unit < 0xD800 || *unit > 0xDFFF) return JsonChar{*unit, pos + 6};
  if (text.substr(pos + 6, 2) != "\\u") return std::nullopt;
  std::optional<uint32_t> low = Hex4(text, pos + 8);
  if (!low || *low < 0xDC00 || *low > 0xDFFF) return std::nullopt;
  return JsonChar{0x10000 + ((*unit - 0xD800) << 10) + (*low - 0xDC00), pos + 12};
}

// Where the characters of `literal`, each in any spelling, end when they begin at `pos`.
// `character`: what JSON spells at a place.
template <class Character>
std::optional<size_t> SpelledAt(std::string_view literal, size_t pos, Character&& character) {
  for (size_t i = 0; i < literal.size();) {
    const std::optional<DecodedChar> want = DecodeUtf8(literal, i);
    const std::optional<JsonChar> have = character(pos);
    if (!want || !have || have->code_point != want->code_point) return std::nullopt;
    i += want->length;
    pos = have->end;
  }
  return pos;
}

// What a multiple matches from `begin`: calls f(end) for each end.
template <class F>
void ForEachMultiple(const Multiple& m, std::string_view text, size_t begin, F&& f) {
  auto times10 = [&](uint64_t x) {
    return static_cast<uint64_t>(static_cast<unsigned __int128>(x) * 10 % m.modulus);
  };
  uint64_t value = 0;
  for (size_t j = begin;; ++j) {
    uint64_t scaled = value;
    for (uint32_t s = 0; s < m.scale && scaled != 0; ++s) scaled = times10(scaled);
    if (scaled == 0) f(j);
    if (j == text.size()) break;
    if (text[j] == '.') continue;
    if (text[j] < '0' || text[j] > '9') break;
    value = (times10(value) + static_cast<uint64_t>(text[j] - '0')) % m.modulus;
  }
}

// By images. Position i is bit i of a word.
class ImageMatcher {
 public:
  static constexpr size_t kMaxText = 63;

  ImageMatcher(const GrammarBuilder& builder, std::string_view text)
      : builder_(builder), text_(text) {}

  // nullopt: it would take too long.
  std::optional<bool> Run(NodeId root) {
    const uint64_t ends = Image(root, 1, 0);
    if (steps_ > kMaxSteps) return std::nullopt;
    return (ends >> text_.size() & 1) != 0;
  }

 private:
  static constexpr int kMaxSteps = 20'000, kMaxDepth = 64;

  uint64_t Image(NodeId id, uint64_t from, int depth) {
    if (from == 0) return 0;
    // Once over the bound nothing counts any more, and all comes to its end.
    if (depth > kMaxDepth) steps_ = kMaxSteps;
    if (++steps_ > kMaxSteps) return 0;
    const NodeView node = builder_.node(id);
    uint64_t to = 0;
    switch (node.kind) {
      case NodeKind::kNothing:
      case NodeKind::kRule:
      case NodeKind::kTokens:
      case NodeKind::kMembers:
      case NodeKind::kRecord:
      case NodeKind::kStandard:
        return 0;
      case NodeKind::kEmpty:
        return from;
      case NodeKind::kBytes:
        return ForEach(from, [&](size_t i) {
          return text_.substr(i).starts_with(node.text) ? Bit(i + node.text.size()) : 0;
        });
      case NodeKind::kJsonText:
        return ForEach(from, [&](size_t i) {
          const auto character = [&](size_t at) { return DecodeJsonChar(text_, at); };
          const std::optional<size_t> end = SpelledAt(node.text, i, character);
          return end ? Bit(*end) : 0;
        });
      case NodeKind::kByteClass:
        return ForEach(from, [&](size_t i) {
          if (i == text_.size()) return uint64_t{0};
          return node.bytes->Has(static_cast<uint8_t>(text_[i])) ? Bit(i + 1) : 0;
        });
      case NodeKind::kClass:
        return ForEach(from, [&](size_t i) {
          const std::optional<DecodedChar> c = DecodeUtf8(text_, i);
          return c && node.characters->Has(c->code_point) ? Bit(i + c->length) : 0;
        });
      case NodeKind::kJsonClass:
        return ForEach(from, [&](size_t i) {
          const std::optional<JsonChar> c = DecodeJsonChar(text_, i);
          return c && node.characters->Has(c->code_point) ? Bit(c->end) : 0;
        });
      case NodeKind::kSequence:
        for (NodeId child : node.children) from = Image(child, from, depth + 1);
        return from;
      case NodeKind::kChoice:
        for (NodeId child : node.children) to |= Image(child, from, depth + 1);
        return to;
      case NodeKind::kRepeat:
        return Repeat(node, from, depth);
      case NodeKind::kAnd:
        return ForEach(from, [&](size_t i) {
          uint64_t all = ~uint64_t{0};
          for (NodeId child : node.children) {
            all &= Image(child, Bit(i), depth + 1);
            if (all == 0) break;
          }
          return all;
        });
      case NodeKind::kNot:
        return ForEach(from, [&](size_t i) {
          const uint64_t behind = ~uint64_t{0} >> (kMaxText - text_.size()) & ~(Bit(i) - 1);
          return behind & ~Image(node.children[0], Bit(i), depth + 1);
        });
      case NodeKind::kMultiple:
        return ForEach(from, [&](size_t i) {
          uint64_t ends = 0;
          ForEachMultiple(node.multiple, text_, i, [&](size_t end) { ends |= Bit(end); });
          return ends;
        });
    }
    return 0;
  }

  uint64_t Repeat(const NodeView& node, uint64_t from, int depth) {
    // A round goes ahead or stays where it is, so after as many as there are positions only what
    // can stay is left, and more rounds change nothing.
    const auto positions = static_cast<int64_t>(text_.size()) + 1;
    for (int64_t i = std::min(node.min, positions); i > 0 && from != 0; --i) {
      from = Image(node.children[0], from, depth + 1);
    }
    uint64_t all = from;
    int64_t more = node.max == kUnbounded ? positions : std::min(node.max - node.min, positions);
    for (; more > 0 && from != 0; --more) {
      from = Image(node.children[0], from, depth + 1) & ~all;
      all |= from;
    }
    return all;
  }

  static uint64_t Bit(size_t i) { return uint64_t{1} << i; }
  // The union of f(i) for the positions in a set.
  template <class F>
  static uint64_t ForEach(uint64_t set, F&& f) {
    uint64_t out = 0;
    for (; set != 0; set &= set - 1) out |= f(static_cast<size_t>(std::countr_zero(set)));
    return out;
  }

  const GrammarBuilder& builder_;
  std::string_view text_;
  int steps_ = 0;
};

// By relations.
class RelationMatcher {
 public:
  RelationMatcher(const GrammarBuilder& builder, std::string_view text)
      : builder_(builder), text_(text) {
    characters_.reserve(text.size() + 1);
    for (size_t i = 0; i <= text.size(); ++i) characters_.push_back(DecodeJsonChar(text, i));
  }

  StatusOr<bool> Run(NodeId root) {
    ScratchVector<NodeId> nodes = Below(root);
    size_t n = text_.size() + 1;
    if (nodes.size() * n * ((n + 63) / 64) > kMaxWords) {
      return ResourceExhausted("a text of " + std::to_string(text_.size()) +
                               " bytes is too long to be compared with a pattern of " +
                               std::to_string(nodes.size()) + " parts");
    }
    relations_.reserve(nodes.size());
    for (NodeId id : nodes) {
      at_[id] = relations_.size();
      relations_.push_back(Compute(builder_.node(id)));
    }
    return relations_.back().Has(0, text_.size());
  }

 private:
  // Everything that `root` reaches, children before parents.
  ScratchVector<NodeId> Below(NodeId root) {
    ScratchVector<NodeId> list, stack = {root};
    while (!stack.empty()) {
      NodeId id = stack.back();
      stack.pop_back();
      if (!at_.try_emplace(id, 0).second) continue;
      list.push_back(id);
      for (NodeId child : builder_.node(id).children) stack.push_back(child);
    }
    std::sort(list.begin(), list.end());
    return list;
  }
  const Relation& Of(NodeId id) const { return relations_[at_.find(id)->second]; }

  Relation Compute(const NodeView& node) {
    size_t n = text_.size() + 1;
    Relation r(n);
    switch (node.kind) {
      case NodeKind::kNothing:
      case NodeKind::kRule:
      case NodeKind::kTokens:
      case NodeKind::kMembers:
      case NodeKind::kRecord:
      case NodeKind::kStandard:
        break;
      case NodeKind::kEmpty:
        return Relation::Identity(n);
      case NodeKind::kBytes:
        for (size_t i = 0; i + node.text.size() < n; ++i) {
          if (text_.substr(i, node.text.size()) == node.text) r.Set(i, i + node.text.size());
        }
        break;
      case NodeKind::kJsonText:
        for (size_t i = 0; i < n; ++i) {
          const auto character = [&](size_t at) { return characters_[at]; };
          if (const auto end = SpelledAt(node.text, i, character)) r.Set(i, *end);
        }
        break;
      case NodeKind::kByteClass:
        for (size_t i = 0; i + 1 < n; ++i) {
          if (node.bytes->Has(static_cast<uint8_t>(text_[i]))) r.Set(i, i + 1);
        }
        break;
      case NodeKind::kClass:
        for (size_t i = 0; i + 1 < n; ++i) {
          std::optional<DecodedChar> c = DecodeUtf8(text_, i);
          if (c && node.characters->Has(c->code_point)) r.Set(i, i + c->length);
        }
        break;
      case NodeKind::kJsonClass:
        for (size_t i = 0; i + 1 < n; ++i) {
          const std::optional<JsonChar>& c = characters_[i];
          if (c && node.characters->Has(c->code_point)) r.Set(i, c->end);
        }
        break;
      case NodeKind::kSequence:
        r = Of(node.children[0]);
        for (size_t i = 1; i < node.children.size(); ++i) r = r.Times(Of(node.children[i]));
        break;
      case NodeKind::kChoice:
        for (NodeId child : node.children) r.Unite(Of(child));
        break;
      case NodeKind::kRepeat:
        return Repeat(Of(node.children[0]), node.min, node.max);
      case NodeKind::kAnd:
        r = Of(node.children[0]);
        for (NodeId child : node.children) r.Intersect(Of(child));
        break;
      case NodeKind::kNot:
        return Of(node.children[0]).Complement();
      case NodeKind::kMultiple:
        return Multiples(node.multiple);
    }
    return r;
  }

  Relation Repeat(const Relation& one, int64_t min, int64_t max) const {
    if (max == kUnbounded) return min == 0 ? one.Star() : one.Power(min).Times(one.Star());
    // More optional rounds than the text has bytes add nothing.
    int64_t n = static_cast<int64_t>(text_.size()) + 1;
    int64_t optional = std::min(max - min, n);
    Relation maybe = Relation::Identity(text_.size() + 1);
    maybe.Unite(one);
    return one.Power(min).Times(maybe.Power(optional));
  }

  Relation Multiples(const Multiple& m) const {
    Relation r(text_.size() + 1);
    for (size_t i = 0; i <= text_.size(); ++i) {
      ForEachMultiple(m, text_, i, [&](size_t j) { r.Set(i, j); });
    }
    return r;
  }

  const GrammarBuilder& builder_;
  std::string_view text_;
  ScratchVector<std::optional<JsonChar>> characters_;  // that is spelled at each place
  absl::flat_hash_map<NodeId, size_t> at_;
  ScratchVector<Relation> relations_;
};

}  // namespace

StatusOr<bool> MatchesText(const GrammarBuilder& builder, NodeId node, std::string_view text) {
  if (text.size() <= ImageMatcher::kMaxText) {
    if (const std::optional<bool> known = ImageMatcher(builder, text).Run(node)) return *known;
  }
  return MatchesByRelations(builder, node, text);
}

StatusOr<bool> MatchesByRelations(const GrammarBuilder& builder, NodeId node,
                                  std::string_view text) {
  return RelationMatcher(builder, text).Run(node);
}

std::string JsonSpelling(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      constexpr char kHex[] = "0123456789abcdef";
      out += "\\u00";
      out += kHex[c >> 4];
      out += kHex[c & 15];
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace grammask::internal
