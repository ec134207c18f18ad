// Character languages, taken apart: by first and last characters, and by what remains.
//
// A lookaround restricts its neighbour. Where it asks of one character only, the neighbour is
// rewritten so that its first (or last) character obeys: `[a-z]*` starting in [b] is `b[a-z]*`.
// Otherwise the neighbour is split by what remains of the condition after it (its Brzozowski
// derivatives by characters): after `[fg]`, "does not begin with foo" leaves "does not begin with
// oo" for f and everything for g. A text too intricate for that, such as a counted repeat, is
// intersected with the language of each path between two such remainders.
// Cost: linear in the nodes for each character or set; paths at worst the cube of the remainders.
// Source: J. Brzozowski, "Derivatives of regular expressions", JACM 11 (1964).
// Tests: tests/grammar/regex_test.cc.
#include "grammar/regex_language.h"

#include <algorithm>
#include <array>

#include "absl/container/flat_hash_set.h"
#include "base/check.h"
#include "base/utf8.h"
#include "grammar/regex_equations.h"

namespace grammask::internal {
namespace {

// A condition with more remainders, or more kinds of first character, is not taken apart.
constexpr size_t kMaxRemainders = 64;
constexpr size_t kMaxFirstKinds = 256;
// How deep sequences and choices are split by structure before paths take over.
constexpr int kSplitDepth = 6;

DecodedChar FirstChar(std::string_view text) { return *DecodeUtf8(text, 0); }

DecodedChar LastChar(std::string_view text) {
  size_t begin = text.size() - 1;
  while ((static_cast<uint8_t>(text[begin]) & 0xC0) == 0x80) --begin;
  return *DecodeUtf8(text, begin);
}

bool IsLiteral(NodeKind kind) { return kind == NodeKind::kBytes || kind == NodeKind::kJsonText; }
bool IsCharacters(NodeKind kind) {
  return kind == NodeKind::kClass || kind == NodeKind::kJsonClass;
}

// Splits each set of *atoms into what is in `set` and what is not.
void Refine(const CodePointSet& set, ScratchVector<CodePointSet>* atoms) {
  size_t count = atoms->size();
  for (size_t i = 0; i < count; ++i) {
    CodePointSet in = (*atoms)[i].Intersect(set);
    if (in.empty() || in == (*atoms)[i]) continue;
    CodePointSet out = (*atoms)[i].Minus(set);
    (*atoms)[i] = std::move(in);
    atoms->push_back(std::move(out));
  }
}

}  // namespace

CharLanguage::CharLanguage(RegexOptions::Encoding encoding, GrammarBuilder* builder)
    : encoding_(encoding), builder_(builder) {
  all_ = builder_->Star(Chars(CodePointSet::All()));
}

NodeId CharLanguage::Chars(const CodePointSet& set) {
  return encoding_ == RegexOptions::Encoding::kUtf8 ? builder_->Class(set)
                                                    : builder_->JsonClass(set);
}

NodeId CharLanguage::Text(std::string_view utf8) {
  return encoding_ == RegexOptions::Encoding::kUtf8 ? builder_->Bytes(utf8)
                                                    : builder_->JsonText(utf8);
}

NodeId CharLanguage::ChoiceOf(std::span<const NodeId> parts) {
  if (std::find(parts.begin(), parts.end(), all_) != parts.end()) return all_;
  return builder_->Choice(parts);
}

NodeId CharLanguage::And(NodeId a, NodeId b) {
  if (a == all_) return b;
  if (b == all_) return a;
  return builder_->And({a, b});
}

NodeId CharLanguage::Not(NodeId a) {
  if (a == all_) return builder_->Nothing();
  if (a == builder_->Nothing()) return all_;
  return builder_->Not(a);
}

NodeId CharLanguage::ThenAll(NodeId a) {
  if (Nullable(a)) return all_;
  const NodeView view = builder_->node(a);
  if (view.kind != NodeKind::kSequence) return builder_->Sequence({a, all_});
  // What may be empty at its end says nothing: any text may follow.
  ScratchVector<NodeId> parts(view.children.begin(), view.children.end());
  while (Nullable(parts.back())) parts.pop_back();
  parts.push_back(all_);
  return builder_->Sequence(parts);
}

// The value of `root` under `step`, which computes a node's value from others that it asks of
// get(id): a pointer, or null where that value comes first and step must be run again. Values are
// kept in *memo.
template <class Result, class Key, class Step>
Result CharLanguage::Evaluate(NodeId root, absl::flat_hash_map<Key, Result>* memo,
                              const Step& step) {
  ScratchVector<NodeId> stack = {root};
  while (!stack.empty()) {
    if (!Charge(1)) return Result{};
    NodeId id = stack.back();
    size_t before = stack.size();
    auto get = [&](NodeId child) -> std::optional<Result> {
      auto it = memo->find(step.KeyOf(child));
      if (it != memo->end()) return it->second;
      stack.push_back(child);
      return std::nullopt;
    };
    if (memo->contains(step.KeyOf(id))) {
      stack.pop_back();
      continue;
    }
    std::optional<Result> result = step.Run(id, get);
    if (stack.size() > before) continue;
    memo->emplace(step.KeyOf(id), *result);
    stack.pop_back();
  }
  return memo->at(step.KeyOf(root));
}

// What get() gives for the parts that may hold the first (or last) character of a sequence: the
// outermost part, and the next one as long as those outside it may be empty.
template <class Get>
std::optional<ScratchVector<NodeId>> CharLanguage::GetOuter(std::span<const NodeId> parts,
                                                            bool at_end, const Get& get) {
  ScratchVector<NodeId> values;
  size_t asked = 0;
  while (asked < parts.size()) {
    NodeId part = at_end ? parts[parts.size() - 1 - asked] : parts[asked];
    ++asked;
    if (std::optional<NodeId> value = get(part); value.has_value()) values.push_back(*value);
    if (!Nullable(part)) break;
  }
  if (values.size() < asked) return std::nullopt;
  Charge(asked * parts.size());
  return values;
}

// ---- The empty text ----

namespace {

struct NullableStep {
  const GrammarBuilder& builder;
  NodeId KeyOf(NodeId id) const { return id; }

  template <class Get>
  std::optional<bool> Run(NodeId id, const Get& get) const {
    NodeView n = builder.node(id);
    switch (n.kind) {
      case NodeKind::kEmpty:
        return true;
      case NodeKind::kRepeat:
        return n.min == 0 ? true : get(n.children[0]);
      case NodeKind::kNot: {
        std::optional<bool> child = get(n.children[0]);
        return child.has_value() ? std::optional(!*child) : std::nullopt;
      }
      case NodeKind::kChoice:
      case NodeKind::kSequence:
      case NodeKind::kAnd: {
        bool missing = false;
        for (NodeId child : n.children) {
          std::optional<bool> value = get(child);
          if (value.has_value() && *value == (n.kind == NodeKind::kChoice)) return value;
          missing |= !value.has_value();
        }
        return missing ? std::nullopt : std::optional(n.kind != NodeKind::kChoice);
      }
      default:
        return false;
    }
  }
};

}  // namespace

bool CharLanguage::Nullable(NodeId id) { return Evaluate(id, &nullable_, NullableStep{*builder_}); }

// ---- First and last characters ----

struct CharLanguage::RestrictStep {
  CharLanguage& language;
  const CodePointSet& set;
  NodeId set_node;
  bool at_end;

  RestrictKey KeyOf(NodeId id) const { return {id, set_node, at_end}; }

  template <class Get>
  std::optional<NodeId> Sequence(std::span<const NodeId> parts, const Get& get) const {
    // The part with the first character, or the last one; those outside it are empty then.
    std::optional<ScratchVector<NodeId>> inner = language.GetOuter(parts, at_end, get);
    if (!inner.has_value()) return std::nullopt;
    GrammarBuilder& builder = *language.builder_;
    ScratchVector<NodeId> list, alternatives;
    for (size_t n = 0; n < inner->size(); ++n) {
      if (at_end) {
        list.assign(parts.begin(), parts.end() - static_cast<ptrdiff_t>(n) - 1);
        list.push_back((*inner)[n]);
      } else {
        list.assign(1, (*inner)[n]);
        list.insert(list.end(), parts.begin() + static_cast<ptrdiff_t>(n) + 1, parts.end());
      }
      alternatives.push_back(builder.Sequence(list));
    }
    return builder.Choice(alternatives);
  }

  NodeId Repeat(const NodeView& n, NodeId inner) const {
    // Empty rounds may be left out, so a repeat of something nullable has no least count.
    GrammarBuilder& builder = *language.builder_;
    bool nullable = language.Nullable(n.children[0]);
    int64_t min = nullable || n.min == 0 ? 0 : n.min - 1;
    int64_t max = n.max == kUnbounded ? kUnbounded : n.max - 1;
    NodeId others = builder.Repeat(n.children[0], min, max);
    return at_end ? builder.Sequence({others, inner}) : builder.Sequence({inner, others});
  }

  template <class Get>
  std::optional<NodeId> Run(NodeId id, const Get& get) const {
    GrammarBuilder& builder = *language.builder_;
    NodeView n = builder.node(id);
    if (IsLiteral(n.kind)) {
      DecodedChar c = at_end ? LastChar(n.text) : FirstChar(n.text);
      return set.Has(c.code_point) ? id : builder.Nothing();
    }
    if (IsCharacters(n.kind)) return language.Chars(n.characters->Intersect(set));
    switch (n.kind) {
      case NodeKind::kNothing:
      case NodeKind::kEmpty:
        return builder.Nothing();
      case NodeKind::kSequence:
        return Sequence(n.children, get);
      case NodeKind::kRepeat: {
        std::optional<NodeId> inner = get(n.children[0]);
        return inner.has_value() ? std::optional(Repeat(n, *inner)) : std::nullopt;
      }
      case NodeKind::kChoice: {
        ScratchVector<NodeId> parts;
        for (NodeId child : n.children) {
          std::optional<NodeId> part = get(child);
          if (part.has_value()) parts.push_back(*part);
        }
        if (parts.size() < n.children.size()) return std::nullopt;
        return builder.Choice(parts);
      }
      default: {  // kAnd, kNot
        NodeId near = set_node;
        return builder.And({id, at_end ? builder.Sequence({language.all_, near})
                                       : builder.Sequence({near, language.all_})});
      }
    }
  }
};

NodeId CharLanguage::Restrict(NodeId id, const CodePointSet& set, bool at_end) {
  return Evaluate(id, &restricted_, RestrictStep{*this, set, Chars(set), at_end});
}

NodeId CharLanguage::Constrain(NodeId id, NodeId condition) {
  if (condition == all_) return id;
  if (std::optional<CodePointSet> first = DecidedByFirst(condition); first.has_value()) {
    NodeId rest = StartingIn(id, *first);
    bool empty = Nullable(condition) && Nullable(id);
    return empty ? builder_->Choice({builder_->Empty(), rest}) : rest;
  }
  return builder_->And({condition, id});  // with All() too: a complement admits any bytes
}

// ---- Remainders ----

struct CharLanguage::AfterStep {
  CharLanguage& language;
  uint32_t code_point;

  std::pair<NodeId, uint32_t> KeyOf(NodeId id) const { return {id, code_point}; }

  NodeId Literal(const NodeView& n) const {
    DecodedChar c = FirstChar(n.text);
    if (c.code_point != code_point) return language.builder_->Nothing();
    return language.Text(n.text.substr(static_cast<size_t>(c.length)));
  }

  template <class Get>
  std::optional<NodeId> Sequence(std::span<const NodeId> parts, const Get& get) const {
    std::optional<ScratchVector<NodeId>> rests = language.GetOuter(parts, false, get);
    if (!rests.has_value()) return std::nullopt;
    ScratchVector<NodeId> list, alternatives;
    for (size_t i = 0; i < rests->size(); ++i) {
      list.assign(1, (*rests)[i]);
      list.insert(list.end(), parts.begin() + static_cast<ptrdiff_t>(i) + 1, parts.end());
      alternatives.push_back(language.builder_->Sequence(list));
    }
    return language.ChoiceOf(alternatives);
  }

  template <class Get>
  std::optional<NodeId> Run(NodeId id, const Get& get) const {
    GrammarBuilder& builder = *language.builder_;
    NodeView n = builder.node(id);
    if (IsLiteral(n.kind)) return Literal(n);
    if (IsCharacters(n.kind))
      return n.characters->Has(code_point) ? builder.Empty() : builder.Nothing();
    if (n.kind == NodeKind::kSequence) return Sequence(n.children, get);
    ScratchVector<NodeId> rests;
    for (NodeId child : n.children) {
      std::optional<NodeId> rest = get(child);
      if (rest.has_value()) rests.push_back(*rest);
    }
    if (rests.size() < n.children.size()) return std::nullopt;
    switch (n.kind) {
      case NodeKind::kRepeat: {
        int64_t max = n.max == kUnbounded ? kUnbounded : n.max - 1;
        NodeId others = builder.Repeat(n.children[0], std::max<int64_t>(n.min - 1, 0), max);
        return builder.Sequence({rests[0], others});
      }
      case NodeKind::kNot:
        return language.Not(rests[0]);
      case NodeKind::kChoice:
        return language.ChoiceOf(rests);
      case NodeKind::kAnd: {
        NodeId result = language.all_;
        for (NodeId rest : rests) result = language.And(result, rest);
        return result;
      }
      default:
        return builder.Nothing();
    }
  }
};

NodeId CharLanguage::After(NodeId id, uint32_t code_point) {
  return Evaluate(id, &after_, AfterStep{*this, code_point});
}

// Disjoint sets that cover all characters, such that After is the same for all of a set.
ScratchVector<CodePointSet> CharLanguage::FirstAtoms(NodeId id) {
  ScratchVector<CodePointSet> atoms = {CodePointSet::All()};
  absl::flat_hash_set<NodeId> seen = {id};
  ScratchVector<NodeId> pending = {id};
  auto visit = [&](NodeId child) {
    if (seen.insert(child).second) pending.push_back(child);
  };
  while (!pending.empty() && atoms.size() <= kMaxFirstKinds && Charge(atoms.size())) {
    NodeView n = builder_->node(pending.back());
    pending.pop_back();
    if (IsLiteral(n.kind)) Refine(CodePointSet::Of(FirstChar(n.text).code_point), &atoms);
    if (IsCharacters(n.kind)) Refine(*n.characters, &atoms);
    for (NodeId child : n.children) {
      visit(child);
      if (n.kind == NodeKind::kSequence && !Nullable(child)) break;
    }
  }
  if (atoms.size() > kMaxFirstKinds) budget_ = 0;
  return atoms;
}

std::span<const CharLanguage::Residual> CharLanguage::Residuals(NodeId id) {
  if (auto it = residuals_.find(id); it != residuals_.end()) return it->second;
  ScratchVector<Residual> residuals;
  for (CodePointSet& atom : FirstAtoms(id)) {
    NodeId rest = After(id, atom.ranges()[0].lo);
    auto same = std::find_if(residuals.begin(), residuals.end(),
                             [&](const Residual& r) { return r.rest == rest; });
    if (same == residuals.end()) {
      residuals.push_back({std::move(atom), rest});
    } else {
      same->first = same->first.Union(atom);
    }
  }
  return residuals_.emplace(id, std::move(residuals)).first->second;
}

std::optional<CodePointSet> CharLanguage::DecidedByFirst(NodeId id) {
  CodePointSet first;
  for (const Residual& r : Residuals(id)) {
    if (r.rest == all_) {
      first = r.first;
    } else if (r.rest != builder_->Nothing()) {
      return std::nullopt;
    }
  }
  return first;
}

// For each remainder r of `id`, itself included: the texts after which r remains.
std::span<const CharLanguage::Piece> CharLanguage::Paths(NodeId id) {
  if (auto it = paths_.find(id); it != paths_.end()) return it->second;
  ScratchVector<NodeId> states = {id};
  absl::flat_hash_map<NodeId, uint32_t> index = {{id, 0}};
  struct Edge {
    uint32_t from, to;
    NodeId label;
  };
  ScratchVector<Edge> edges;
  for (uint32_t from = 0; from < states.size() && Charge(1); ++from) {
    for (const Residual& r : Residuals(states[from])) {
      auto [it, is_new] = index.try_emplace(r.rest, static_cast<uint32_t>(states.size()));
      if (is_new) states.push_back(r.rest);
      edges.push_back({from, it->second, Chars(r.first)});
    }
    if (states.size() > kMaxRemainders) budget_ = 0;
  }
  ScratchVector<Piece> paths;
  if (Charge(states.size())) {
    LanguageEquations equations(builder_, states.size(), /*reversed=*/true);
    ScratchVector<uint32_t> wanted;
    for (uint32_t i = 0; i < states.size(); ++i) wanted.push_back(i);
    for (const Edge& e : edges) equations.AddLabel(e.to, e.from, e.label);
    equations.AddConstant(0, builder_->Empty());
    size_t max_labels = budget_;
    std::optional<ScratchVector<NodeId>> texts = equations.Solve(wanted, &max_labels);
    Charge(budget_ - max_labels);
    for (uint32_t i = 0; texts.has_value() && i < states.size(); ++i) {
      paths.push_back({(*texts)[i], states[i]});
    }
  }
  return paths_.emplace(id, std::move(paths)).first->second;
}

// ---- Splitting ----

void CharLanguage::AddPiece(NodeId text, NodeId rest, ScratchVector<Piece>* out) {
  if (text == builder_->Nothing()) return;
  Charge(1);
  for (Piece& piece : *out) {
    if (piece.rest != rest) continue;
    piece.text = builder_->Choice({piece.text, text});
    return;
  }
  out->push_back({text, rest});
}

std::pair<NodeId, NodeId> CharLanguage::SplitByMembership(NodeId text, NodeId language) {
  if (NodeKind kind = builder_->node(text).kind;
      kind == NodeKind::kEmpty || IsLiteral(kind) || IsCharacters(kind)) {
    NodeId in = builder_->Nothing(), out = in;
    for (const Piece& piece : Split(text, language)) {
      NodeId& side = Nullable(piece.rest) ? in : out;
      side = builder_->Choice({side, piece.text});
    }
    return {in, out};
  }
  NodeId outside = Not(language);
  bool none_outside = outside == builder_->Nothing();
  return {And(text, language), none_outside ? outside : builder_->And({text, outside})};
}

ScratchVector<CharLanguage::Piece> CharLanguage::Split(NodeId text, NodeId condition) {
  ScratchVector<Piece> pieces;
  SplitInto(text, condition, 0, &pieces);
  return pieces;
}

// Whether the text is split part by part.
bool CharLanguage::SplitsByParts(const NodeView& text, int depth) const {
  if (depth >= kSplitDepth) return false;
  return text.kind == NodeKind::kSequence || text.kind == NodeKind::kChoice ||
         (text.kind == NodeKind::kRepeat && text.min == 0 && text.max == 1);
}

ScratchVector<CharLanguage::Piece> CharLanguage::SplitParts(NodeId text, NodeId condition,
                                                            int depth) {
  const NodeView n = builder_->node(text);
  ScratchVector<Piece> done;
  if (n.kind == NodeKind::kRepeat) AddPiece(builder_->Empty(), condition, &done);
  if (n.kind != NodeKind::kSequence) {
    for (NodeId child : n.children) SplitInto(child, condition, depth + 1, &done);
    return done;
  }
  done.push_back({builder_->Empty(), condition});
  for (NodeId part : n.children) {
    ScratchVector<Piece> next;
    for (const Piece& before : done) {
      ScratchVector<Piece> pieces;
      SplitInto(part, before.rest, depth + 1, &pieces);
      for (const Piece& p : pieces) {
        AddPiece(builder_->Sequence({before.text, p.text}), p.rest, &next);
      }
    }
    done = std::move(next);
  }
  return done;
}

void CharLanguage::SplitInto(NodeId text, NodeId condition, int depth, ScratchVector<Piece>* out) {
  if (!Charge(1)) return;
  NodeView n = builder_->node(text);
  bool settled = condition == all_ || condition == builder_->Nothing();
  if (settled || n.kind == NodeKind::kEmpty) return AddPiece(text, condition, out);
  if (IsLiteral(n.kind)) {
    NodeId rest = condition;
    for (size_t i = 0; i < n.text.size();) {
      DecodedChar c = *DecodeUtf8(n.text, i);
      rest = After(rest, c.code_point);
      i += static_cast<size_t>(c.length);
    }
    return AddPiece(text, rest, out);
  }
  if (IsCharacters(n.kind)) {
    for (const Residual& r : Residuals(condition)) {
      AddPiece(Chars(n.characters->Intersect(r.first)), r.rest, out);
    }
    return;
  }
  if (std::optional<CodePointSet> first = DecidedByFirst(condition); first.has_value()) {
    if (Nullable(text)) AddPiece(builder_->Empty(), condition, out);
    AddPiece(StartingIn(text, *first), all_, out);
    return AddPiece(StartingIn(text, first->Complement()), builder_->Nothing(), out);
  }
  if (SplitsByParts(n, depth)) {
    // The same parts come up again and again, behind each way to them.
    const SplitKey key{text, condition, depth};
    auto it = splits_.find(key);
    if (it == splits_.end()) {
      ScratchVector<Piece> pieces = SplitParts(text, condition, depth);
      it = splits_.emplace(key, std::move(pieces)).first;
    }
    for (const Piece& p : it->second) AddPiece(p.text, p.rest, out);
    return;
  }
  for (const Piece& path : Paths(condition)) AddPiece(And(path.text, text), path.rest, out);
}

}  // namespace grammask::internal
