// Regular languages of characters, as grammar nodes that can be taken apart again.
#ifndef GRAMMASK_GRAMMAR_REGEX_LANGUAGE_H_
#define GRAMMASK_GRAMMAR_REGEX_LANGUAGE_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/scratch.h"
#include "grammar/ast.h"
#include "grammar/regex.h"

namespace grammask::internal {

// Languages whose letters are the characters of one encoding. All nodes given to it are made of
// characters and literals of that encoding, sequences, choices, repeats, intersections and
// complements. Results are kept, so it is made once for one pattern.
class CharLanguage {
 public:
  // What remains of a language after one character of `first`.
  struct Residual {
    CodePointSet first;
    NodeId rest;
  };
  // A language of texts, and what remains of another language after any of them.
  struct Piece {
    NodeId text;
    NodeId rest;
  };

  CharLanguage(RegexOptions::Encoding encoding, GrammarBuilder* builder);

  GrammarBuilder& builder() { return *builder_; }
  NodeId All() const { return all_; }  // every text
  NodeId Chars(const CodePointSet& set);
  NodeId Text(std::string_view utf8);
  // As the builder's, but All() absorbs and complements of it vanish, which makes residuals few.
  NodeId ChoiceOf(std::span<const NodeId> parts);
  NodeId And(NodeId a, NodeId b);
  NodeId Not(NodeId a);
  NodeId ThenAll(NodeId a);  // texts that begin with one of `a`

  bool Nullable(NodeId id);
  // The non-empty texts of the language whose first (or last) character is in `set`. Without an
  // intersection where the node has none itself.
  NodeId StartingIn(NodeId id, const CodePointSet& set) { return Restrict(id, set, false); }
  NodeId EndingIn(NodeId id, const CodePointSet& set) { return Restrict(id, set, true); }
  // The texts of `id` that `condition` admits.
  NodeId Constrain(NodeId id, NodeId condition);

  // What follows the character in texts of `id` that begin with it.
  NodeId After(NodeId id, uint32_t code_point);
  // For each first character: the sets cover all characters, and the rests are distinct; one of
  // them may be Nothing().
  std::span<const Residual> Residuals(NodeId id);
  // Splits the texts of `text` by what remains of `condition` after them. Rests are distinct; one
  // of them may be Nothing().
  ScratchVector<Piece> Split(NodeId text, NodeId condition);
  // The texts of `text` that are in `language`, and those that are not.
  std::pair<NodeId, NodeId> SplitByMembership(NodeId text, NodeId language);

  // Counts `work` (nodes or references made) against the budget of this object. False, from then
  // on and here, when it is spent, or when some language had too many residuals to be taken apart.
  // Results are useless then.
  bool Charge(size_t work) {
    budget_ -= std::min(work, budget_);
    return budget_ > 0;
  }

 private:
  using RestrictKey = std::tuple<NodeId, NodeId, bool>;  // a language, a set, at its end
  // A text, a condition, how deep the text is within the one that is split.
  using SplitKey = std::tuple<NodeId, NodeId, int>;

  struct RestrictStep;
  struct AfterStep;

  template <class Result, class Key, class Step>
  Result Evaluate(NodeId root, absl::flat_hash_map<Key, Result>* memo, const Step& step);

  template <class Get>
  std::optional<ScratchVector<NodeId>> GetOuter(std::span<const NodeId> parts, bool at_end,
                                                const Get& get);
  NodeId Restrict(NodeId id, const CodePointSet& set, bool at_end);
  ScratchVector<CodePointSet> FirstAtoms(NodeId id);
  // Where what follows the first character of `id` does not matter: the set of these.
  std::optional<CodePointSet> DecidedByFirst(NodeId id);
  std::span<const Piece> Paths(NodeId id);
  void SplitInto(NodeId text, NodeId condition, int depth, ScratchVector<Piece>* out);
  bool SplitsByParts(const NodeView& text, int depth) const;
  ScratchVector<Piece> SplitParts(NodeId text, NodeId condition, int depth);
  void AddPiece(NodeId text, NodeId rest, ScratchVector<Piece>* out);

  RegexOptions::Encoding encoding_;
  GrammarBuilder* builder_;
  NodeId all_;
  size_t budget_ = 4'000'000;
  absl::flat_hash_map<NodeId, bool> nullable_;
  absl::flat_hash_map<RestrictKey, NodeId> restricted_;
  absl::flat_hash_map<std::pair<NodeId, uint32_t>, NodeId> after_;
  absl::flat_hash_map<NodeId, ScratchVector<Residual>> residuals_;
  absl::flat_hash_map<NodeId, ScratchVector<Piece>> paths_;
  absl::flat_hash_map<SplitKey, ScratchVector<Piece>> splits_;  // by parts
};

}  // namespace grammask::internal

#endif  // GRAMMASK_GRAMMAR_REGEX_LANGUAGE_H_
