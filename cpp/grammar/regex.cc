// Regular expressions, to grammar nodes.
//
// The pattern is parsed to a tree; parts without assertions become nodes one to one, in a loop over
// the tree, and a search is the match with any text on both sides. Anchors at the outer ends of an
// alternative only leave that side's text out: searching for `^a|b$` is Choice(a .*, .* b). What
// has assertions elsewhere goes to RegexAssertions.
// Cost: linear in the pattern and in the ranges of the classes it names, without assertions.
// Source: ECMA-262, 22.2. Tests: tests/grammar/regex_test.cc, regex_data_test.cc.
#include "grammar/regex.h"

#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "base/scratch.h"
#include "grammar/regex_assertions.h"
#include "grammar/regex_language.h"
#include "grammar/regex_parser.h"
#include "grammar/regex_tree.h"

namespace grammask::internal {
namespace {

// The nodes of all tree nodes without assertions; Nothing for the others.
ScratchVector<NodeId> BuildPlain(const RegexTree& tree, CharLanguage* language) {
  GrammarBuilder& builder = language->builder();
  ScratchVector<NodeId> plain(tree.nodes.size(), builder.Nothing());
  ScratchVector<NodeId> parts;
  for (uint32_t id = 0; id < tree.nodes.size(); ++id) {
    const RegexNode& n = tree.nodes[id];
    if (n.has_look) continue;
    parts.clear();
    if (n.kind >= RegexKind::kSequence) {
      for (uint32_t child : tree.ChildrenOf(n)) parts.push_back(plain[child]);
    }
    switch (n.kind) {
      case RegexKind::kEmpty:
        plain[id] = builder.Empty();
        break;
      case RegexKind::kText:
        plain[id] = language->Text(tree.TextOf(n));
        break;
      case RegexKind::kChars:
        plain[id] = language->Chars(tree.sets[n.first]);
        break;
      case RegexKind::kSequence:
        plain[id] = builder.Sequence(parts);
        break;
      case RegexKind::kChoice:
        plain[id] = builder.Choice(parts);
        break;
      case RegexKind::kRepeat:
        plain[id] = builder.Repeat(parts[0], n.min, n.max);
        break;
      case RegexKind::kBeside:
      case RegexKind::kLook:
        break;
    }
  }
  return plain;
}

// One alternative of the pattern, without the anchors at its outer ends.
struct Alternative {
  std::span<const uint32_t> parts;
  bool at_start = false;  // had ^ in front
  bool at_end = false;    // had $ behind
};

Alternative TakeAnchors(const RegexTree& tree, const uint32_t* id) {
  const RegexNode& n = tree.nodes[*id];
  Alternative a;
  a.parts = n.kind == RegexKind::kSequence ? tree.ChildrenOf(n) : std::span(id, 1);
  auto is_anchor = [&](uint32_t part, bool behind) {
    const RegexNode& p = tree.nodes[part];
    return p.kind == RegexKind::kBeside && p.behind == behind && p.at_edge &&
           tree.sets[p.first].empty();
  };
  for (; !a.parts.empty() && is_anchor(a.parts.front(), true); a.at_start = true) {
    a.parts = a.parts.subspan(1);
  }
  for (; !a.parts.empty() && is_anchor(a.parts.back(), false); a.at_end = true) {
    a.parts = a.parts.first(a.parts.size() - 1);
  }
  return a;
}

[[gnu::cold]] Status TooIntricate(std::string_view pattern, const RegexTree& tree) {
  size_t offset = 0;
  for (const RegexNode& n : tree.nodes) {
    if (n.kind != RegexKind::kBeside && n.kind != RegexKind::kLook) continue;
    offset = n.offset;
    if (n.kind == RegexKind::kLook) break;
  }
  return SourceError(pattern, offset,
                     "the assertions of this pattern take too many states; use fewer of them, "
                     "above all inside repetitions",
                     StatusCode::kUnsupported);
}

}  // namespace

StatusOr<NodeId> ParseRegex(std::string_view pattern, const RegexOptions& options,
                            const Limits& limits, GrammarBuilder* builder) {
  GM_ASSIGN_OR_RETURN(RegexTree tree, ParseRegexTree(pattern, options, limits));
  CharLanguage language(options.encoding, builder);
  ScratchVector<NodeId> plain = BuildPlain(tree, &language);
  std::optional<RegexAssertions> assertions;

  bool search = options.anchoring == RegexOptions::Anchoring::kSearch;
  // Alternatives without assertions by the sides on which any text may stand: bit 0 left, 1 right.
  std::array<ScratchVector<NodeId>, 4> by_padding;
  ScratchVector<NodeId> alternatives;
  const RegexNode& root = tree.nodes[tree.root];
  std::span<const uint32_t> ids =
      root.kind == RegexKind::kChoice ? tree.ChildrenOf(root) : std::span(&tree.root, 1);
  ScratchVector<NodeId> parts;
  for (const uint32_t& id : ids) {
    Alternative a = TakeAnchors(tree, &id);
    bool pad_left = search && !a.at_start, pad_right = search && !a.at_end;
    bool has_look = false;
    parts.clear();
    for (uint32_t part : a.parts) {
      has_look |= tree.nodes[part].has_look;
      parts.push_back(plain[part]);
    }
    if (!has_look) {
      by_padding[pad_left + 2 * pad_right].push_back(builder->Sequence(parts));
      continue;
    }
    if (!assertions.has_value()) assertions.emplace(tree, plain, &language);
    std::optional<NodeId> node = assertions->Compile(a.parts, pad_left, pad_right);
    if (!node.has_value()) return TooIntricate(pattern, tree);
    alternatives.push_back(*node);
  }
  for (size_t padding = 0; padding < by_padding.size(); ++padding) {
    if (by_padding[padding].empty()) continue;
    NodeId node = builder->Choice(by_padding[padding]);
    // With any text beside it, what may be empty is any text: `[a-z]*`, found anywhere.
    if (padding != 0 && language.Nullable(node)) return language.All();
    NodeId left = (padding & 1) != 0 ? language.All() : builder->Empty();
    NodeId right = (padding & 2) != 0 ? language.All() : builder->Empty();
    alternatives.push_back(builder->Sequence({left, node, right}));
  }
  return builder->Choice(alternatives);
}

StatusOr<Grammar> GrammarFromRegex(std::string_view pattern, const Limits& limits) {
  GrammarBuilder builder(limits);
  RuleId root = builder.AddRule("root");
  GM_ASSIGN_OR_RETURN(NodeId body, ParseRegex(pattern, RegexOptions(), limits, &builder));
  builder.SetBody(root, body);
  return builder.Finish(root);
}

}  // namespace grammask::internal
