// Alternatives for one string to fewer ones.
//
// Unions of cases, as of what is outside an intersection, multiply: not (A and B) with not (C and
// D) is four cases. Many lie within others, which shows in their parts: a search for "a12" finds
// "a1" as well, so a case with both is one without the second, and {"a12", X} lies within {"a12"}.
// Of those that are left, all that share all parts but one are an intersection of these with a
// choice: {"ab1", X}, {"ab1", Y} are "ab1" & (X | Y). A mask is then made of few states instead of
// many that walk alike.
//
// Cost: each part is met with each other one, up to 64; then some words of bits for two
// alternatives. Tests: tests/grammar/strings_test.cc.
#include "grammar/json_schema/string_parts.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "base/scratch.h"
#include "grammar/json_schema/text_match.h"

namespace grammask::internal {
namespace {

constexpr size_t kMaxText = 64;  // longer texts are not looked into
// Alternatives up to so many stay as they are.
constexpr size_t kFew = 4;
constexpr size_t kMostParts = 64;  // of all alternatives that are compared
// Alternatives that are compared with one another.
constexpr size_t kMostCompared = 512;

size_t LowestBit(uint64_t bits) { return static_cast<size_t>(std::countr_zero(bits)); }

// Whether a is plainly within b: `[0-9]{2,4}` within `[0-9a-f]{1,8}`, or a search for "ab1" within
// one for [ab].
bool IsWithin(GrammarBuilder* builder, NodeId a, NodeId b) {
  if (a == b) return true;
  const NodeView x = builder->node(a), y = builder->node(b);
  if (x.kind == NodeKind::kSequence && IsSearch(builder, b)) {
    const StatusOr<bool> holds = HoldsTextOf(*builder, a, b);
    return holds.ok() && *holds;
  }
  if (x.kind != NodeKind::kRepeat || y.kind != NodeKind::kRepeat) return false;
  if (x.min < y.min || x.max > y.max) return false;
  const NodeView c = builder->node(x.children[0]), d = builder->node(y.children[0]);
  if (c.kind != NodeKind::kJsonClass || d.kind != NodeKind::kJsonClass) return false;
  return c.characters->Intersect(*d.characters) == *c.characters;
}

}  // namespace

// Whether a node is what it looks for with any characters around it.
bool IsSearch(GrammarBuilder* builder, NodeId node) {
  const NodeId all = builder->Star(builder->JsonClass(CodePointSet::All()));
  const NodeView search = builder->node(node);
  return search.kind == NodeKind::kSequence && search.children.front() == all &&
         search.children.back() == all;
}

// Whether a text that is in all of `part` is found by `search`.
StatusOr<bool> HoldsTextOf(const GrammarBuilder& builder, NodeId part, NodeId search) {
  const NodeView sequence = builder.node(part);
  if (sequence.kind != NodeKind::kSequence) return false;
  for (NodeId child : sequence.children) {
    const NodeView text = builder.node(child);
    if (text.kind != NodeKind::kJsonText || text.text.size() > kMaxText) continue;
    GM_ASSIGN_OR_RETURN(bool found, MatchesText(builder, search, JsonSpelling(text.text)));
    if (found) return true;
  }
  return false;
}

void UniteBodies(GrammarBuilder* builder, ScratchVector<NodeId>* bodies) {
  if (bodies->size() < 2 || bodies->size() > kMostCompared) return;
  // A bit for each part of theirs.
  absl::InlinedVector<NodeId, 64> parts;
  struct Body {
    NodeId node;
    uint64_t parts, implied;  // of the latter it is within each
  };
  ScratchVector<Body> all;
  all.reserve(bodies->size());
  for (NodeId body : *bodies) {
    const NodeView view = builder->node(body);
    const NodeId self[] = {body};
    Body& added = all.emplace_back(Body{body, 0, 0});
    for (NodeId part : view.kind == NodeKind::kAnd ? view.children : std::span(self)) {
      const auto it = std::ranges::find(parts, part);
      if (it == parts.end() && parts.size() == kMostParts) return;
      added.parts |= uint64_t{1} << (it - parts.begin());
      if (it == parts.end()) parts.push_back(part);
    }
  }
  absl::InlinedVector<uint64_t, 64> within(parts.size());  // of each part: those it is within
  for (size_t i = 0; i < parts.size(); ++i) {
    for (size_t j = 0; j < parts.size(); ++j) {
      within[i] |= uint64_t{IsWithin(builder, parts[i], parts[j])} << j;
    }
    for (Body& body : all) body.implied |= (body.parts >> i & 1) != 0 ? within[i] : 0;
  }
  ScratchVector<Body> kept;
  for (size_t i = 0; i < all.size(); ++i) {
    bool needless = false;
    for (size_t j = 0; j < all.size() && !needless; ++j) {
      if (j == i || (all[j].parts & ~all[i].implied) != 0) continue;
      // Of two that are within each other the first stays.
      needless = j < i || (all[i].parts & ~all[j].implied) != 0;
    }
    if (!needless) kept.push_back(all[i]);
  }
  bodies->clear();
  for (const Body& body : kept) bodies->push_back(body.node);
  if (kept.size() <= kFew) return;
  // Without parts that another one is within.
  bodies->clear();
  auto intersection = [&](uint64_t bits, NodeId more) {
    ScratchVector<NodeId> list;
    for (; bits != 0; bits &= bits - 1) list.push_back(parts[LowestBit(bits)]);
    if (more != builder->Nothing()) list.push_back(more);
    return builder->And(list);
  };
  for (Body& body : kept) {
    for (uint64_t rest = body.parts; rest != 0; rest &= rest - 1) {
      const size_t i = LowestBit(rest);
      const uint64_t weaker = within[i] & ~(uint64_t{1} << i);
      if ((body.parts >> i & 1) != 0) body.parts &= ~weaker;
    }
  }
  // Those that differ in one part are one intersection with a choice of these parts.
  uint64_t exclusions = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    exclusions |= uint64_t{builder->node(parts[i]).kind == NodeKind::kNot} << i;
  }
  while (true) {
    absl::flat_hash_map<uint64_t, size_t> alike;
    std::pair<size_t, uint64_t> most = {1, 0};  // of which there are most, by the common parts
    for (const Body& body : kept) {
      for (uint64_t rest = body.parts & ~exclusions; rest != 0; rest &= rest - 1) {
        const uint64_t common = body.parts & ~(rest & -rest);
        if (common != 0) most = std::max(most, {++alike[common], common});
      }
    }
    if (most.first == 1) break;
    const uint64_t common = most.second;
    ScratchVector<NodeId> choice;
    std::erase_if(kept, [&](const Body& body) {
      const uint64_t own = body.parts & ~common;
      if ((common & ~body.parts) != 0 || std::popcount(own) != 1 || (own & exclusions) != 0) {
        return false;
      }
      choice.push_back(parts[LowestBit(own)]);
      return true;
    });
    bodies->push_back(intersection(common, builder->Choice(choice)));
  }
  for (const Body& body : kept) bodies->push_back(intersection(body.parts, builder->Nothing()));
}

}  // namespace grammask::internal
