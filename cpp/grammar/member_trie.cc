// Cases of objects to one node, by a trie of their members.
//
// What is left of one schema without others is often hundreds of cases that begin with the same
// members and differ in few: {name, image, env?} without {name, file, args?} is {name, image, env?,
// file?: not a string} and {name, image, env?, args: not a string}. Members are letters here, with
// their values and whether they must come, so that a beginning is one path, and its nodes and terms
// exist once. For each place R is what follows where a member came, F where none did: of an
// optional member m and what is behind it, R = (,m)? R' and F = m R' | F'; a choice of these over
// all members that may be next, and over the ends of cases.
//
// Cost: one look-up for each member of each case, a few nodes for each place. Tests:
// tests/automaton/short_forms_test.cc.
#include "grammar/member_trie.h"

#include <array>

namespace grammask::internal {
namespace {

// Places of one path between two rules, so that nothing nests deeper.
constexpr uint32_t kPlaceChunk = 16;

}  // namespace

void MemberTrie::Add(const OrderedMembers& members, bool may_be_empty) {
  quote_ = members.quote;
  comma_quote_ = members.comma_quote;
  quote_colon_ = members.quote_colon;
  after_ = members.after;
  may_be_empty_ |= may_be_empty;
  ++cases_;
  uint32_t at = 0;
  for (const OrderedMembers::Member& m : members.members) {
    const auto next = static_cast<uint32_t>(places_.size());
    const auto [it, fresh] = index_.try_emplace(Step(at, m.key, m.value, m.required), next);
    if (fresh) {
      Place place{.member = m,
                  .parent = at,
                  .depth = places_[at].depth + 1,
                  .leads = places_[at].leads && !m.required,
                  .rests = {},
                  .firsts = {}};
      places_.push_back(std::move(place));
    }
    at = it->second;
  }
  places_[at].rests.push_back(members.rest);
  if (places_[at].leads) places_[at].firsts.push_back(members.others_first);
}

NodeId MemberTrie::Content(GrammarBuilder* builder, absl::FunctionRef<NodeId(NodeId)> as_rule) {
  for (size_t i = places_.size(); i-- > 1;) {
    Place& place = places_[i];
    Place& parent = places_[place.parent];
    const OrderedMembers::Member& m = place.member;
    NodeId rest = builder->Choice(place.rests);
    if (place.depth % kPlaceChunk == 0) rest = as_rule(rest);
    const std::array parts = {comma_quote_, m.key, quote_colon_, m.value, after_};
    if (m.required) {
      parent.rests.push_back(builder->SequenceBefore(parts, rest));
    } else {
      const NodeId part = builder->Optional(builder->Sequence(parts));
      parent.rests.push_back(builder->SequenceBefore({&part, 1}, rest));
    }
    if (parent.leads) {
      const std::array first = {quote_, m.key, quote_colon_, m.value, after_};
      parent.firsts.push_back(builder->SequenceBefore(first, rest));
      if (!m.required) parent.firsts.push_back(builder->Choice(place.firsts));
    }
    place.rests = {};
    place.firsts = {};
  }
  return builder->Choice(places_[0].firsts);
}

}  // namespace grammask::internal
