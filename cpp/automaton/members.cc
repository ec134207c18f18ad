// Members in any order to states and their readings.
//
// A state is what has been written as far as it matters: the members that may come once, a bit
// each; the conditions met; the number of members where that is bounded; the values of members that
// must all be different. Each member is a procedure of its own, so all that is inside one, masks
// included, is shared by all states: only the choice of members that may come next belongs to a
// state. States are interned when a text gets there, so there are as many as orders that were
// really written. Of {a?, b} after b come the end and a separator with a.
//
// Members that have places come in their turn, and others after them: of those that may come once
// the state has then the first ones.
//
// A member is offered only where the list can be completed after it: the required members that are
// left, and those that meet the conditions left, must fit under the upper bound. A distinct member
// is its texts without all spellings of the values written. That is regular, so nothing leads into
// a dead end; the parser tells which text was read (Received).
//
// Cost: some 200 ns for each member that may come next, once for a state. Tests:
// tests/automaton/members_test.cc, tests/grammar/json_schema_test.cc.
#include "automaton/members.h"

#include <absl/container/flat_hash_set.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <optional>

#include "automaton/build.h"
#include "automaton/lengths.h"
#include "base/mix.h"
#include "grammar/json_schema/json_document.h"
#include "grammar/json_schema/numbers.h"

namespace grammask::internal {
namespace {

// Lists of more distinct values, and texts of more states, are not tried out beforehand.
constexpr int64_t kMaxTried = 256;
constexpr size_t kMaxStates = 20'000;

}  // namespace

uint32_t MemberTable::NextPlace(const MemberState& state) {
  return static_cast<uint32_t>(std::popcount(state.seen[0]));
}

void MemberTable::Prepare(MemberSpec* spec) const {
  for (MemberSpec::Member& m : spec->members) {
    m.length = s_.term(m.term).min_length;
    spec->unlimited |= !ComesOnce(m.use);
    if (m.use == MemberUse::kPlaced) {
      m.bit = m.place;
      spec->places = std::max(spec->places, m.place + 1);
      spec->once = spec->places;
    } else if (ComesOnce(m.use)) {
      m.bit = spec->once++;
    }
  }
  const uint64_t separator = s_.term(spec->separator).min_length;
  std::vector<ConditionCover::Member> meeting;
  for (const MemberSpec::Member& m : spec->members) {
    if (m.meets != 0) meeting.push_back({m.meets, AddLengths(m.length, separator)});
  }
  spec->cover = ConditionCover(spec->conditions, meeting);
}

// The one plain spelling of each number that has such: no exponent, no zeros to leave out.
TermId MemberTable::PlainNumbers() {
  auto all = [&](std::initializer_list<TermId> parts) {
    TermId t = TermStore::Empty();
    for (auto it = std::rbegin(parts); it != std::rend(parts); ++it) t = s_.Sequence(*it, t);
    return t;
  };
  auto any = [&](std::initializer_list<TermId> parts) {
    return s_.Choice(std::vector<TermId>(parts));
  };
  const TermId minus = s_.Repeat(s_.Literal("-", false), 0, 1), zero = s_.Literal("0", false);
  const TermId first = s_.ByteClass(ByteSet::Range('1', '9'));
  const TermId digits = s_.Repeat(s_.ByteClass(ByteSet::Range('0', '9')), 0, kUnbounded);
  const TermId fraction = all({s_.Literal(".", false), digits, first});
  return any(
      {zero, all({minus, first, digits, s_.Repeat(fraction, 0, 1)}), all({minus, zero, fraction})});
}

// Values counted in the spellings that tell them apart. Each but numbers, arrays and objects has
// finitely many, so a loop will do; plain numbers are counted along the ways through their states.
bool MemberTable::PlainlyEnough(TermId texts, uint64_t count, bool* guessed) {
  for (const ByteEdge& e : s_.ExpandLocked(texts).bytes) {
    for (int b = e.lo; b <= e.hi; ++b) {
      const bool word = b == '"' || (b >= 'a' && b <= 'z') || (b >= 'A' && b <= 'Z');
      if (word && s_.Endless(e.to)) return true;
    }
  }
  struct Visit {
    TermId at;
    size_t next = 0;  // edge
    uint64_t texts = 0;
  };
  const TermId parts[] = {texts, PlainNumbers()};
  absl::flat_hash_map<uint32_t, std::optional<uint64_t>> known;  // nullopt: under way
  std::vector<Visit> path = {{s_.And(parts)}};
  known[path[0].at.value] = std::nullopt;
  uint64_t last = 0;
  while (!path.empty()) {
    Visit& v = path.back();
    const std::span<const ByteEdge> edges = s_.ExpandLocked(v.at).bytes;
    if (v.next == edges.size()) {
      last = std::min(kMaxLength, v.texts + s_.term(v.at).nullable);
      known[v.at.value] = last;
      path.pop_back();
      if (path.empty()) break;
      const ByteEdge& e = s_.ExpandLocked(path.back().at).bytes[path.back().next++];
      path.back().texts =
          AddLengths(path.back().texts, last * static_cast<uint64_t>(e.hi - e.lo + 1));
      continue;
    }
    const ByteEdge e = edges[v.next];
    const auto [it, added] = known.try_emplace(e.to.value);
    if (added) {
      // So many states of numbers have many more numbers.
      if (known.size() > kMaxStates) {
        if (guessed != nullptr) *guessed = true;
        return true;
      }
      path.push_back({e.to});
    } else if (!it->second) {
      return true;  // a loop: all states lead to a text
    } else {
      v.texts = AddLengths(v.texts, *it->second * static_cast<uint64_t>(e.hi - e.lo + 1));
      ++v.next;
    }
  }
  return last >= count;
}

// Whether some of the texts are arrays or objects.
bool MemberTable::Compound(TermId texts) {
  const Expansion& e = s_.ExpandLocked(texts);
  // What is called first may begin with a bracket too.
  if (!e.calls.empty()) return true;
  return !(s_.BeginningBytes(texts) & kBrackets).empty();
}

void MemberTable::PartLast(MemberSpec* spec) {
  MemberSpec::Member member = spec->members.back();
  absl::InlinedVector<TermId, 8> scalars, others, todo = {member.term};
  absl::flat_hash_set<uint32_t> seen;
  while (!todo.empty()) {
    const TermId top = todo.back();
    todo.pop_back();
    const Term& t = s_.term(top);
    if (t.kind == TermKind::kChoice && !t.regular) {
      todo.insert(todo.end(), t.children().begin(), t.children().end());
    } else if (t.kind == TermKind::kCall) {
      const TermId body = s_.BodyOf(ProcId(static_cast<uint32_t>(t.a)));
      if (body == TermStore::Nothing()) {
        others.push_back(top);
      } else if (seen.insert(top.value).second) {
        todo.push_back(body);
      }
    } else if (!t.regular) {
      others.push_back(top);
    } else {
      const ByteSet first = s_.BeginningBytes(top);
      auto beginning = [&](const ByteSet& bytes) {
        if ((first & bytes).empty()) return TermStore::Nothing();
        if ((first & ~bytes).empty()) return top;
        const TermId both[] = {top, s_.Sequence(s_.ByteClass(bytes), TermStore::All())};
        return s_.And(both);
      };
      scalars.push_back(beginning(~kBrackets));
      others.push_back(beginning(kBrackets));
    }
  }
  const TermId of_scalars = s_.Choice(scalars), of_others = s_.Choice(others);
  if (of_scalars == TermStore::Nothing()) return;
  spec->members.back().term = of_scalars;
  if (of_others == TermStore::Nothing()) return;
  member.term = of_others;
  spec->members.push_back(member);
}

bool MemberTable::EnoughValues(TermId texts, int64_t count) {
  if (Compound(texts)) return true;
  if (count <= 1 || PlainlyEnough(texts, static_cast<uint64_t>(count))) return true;
  if (count > kMaxTried) return true;
  // A choice of `count` texts is enough, so the shortest of those that are left are taken.
  TermId left = texts;
  std::vector<uint32_t> values;
  for (int64_t i = 1; i < count; ++i) {
    std::string text;
    for (TermId at = left; !s_.term(at).nullable;) {
      const Expansion& e = s_.ExpandLocked(at);
      // Only lengths that are not exact (a bound was hit, a forged file) lead astray.
      if (e.bytes.empty() || text.size() > kMaxStates) return true;
      const auto next = std::ranges::min_element(
          e.bytes, {}, [&](const ByteEdge& edge) { return s_.term(edge.to).min_length; });
      text += static_cast<char>(next->lo);
      at = next->to;
    }
    values.push_back(ValueOf(text));
    left = Others(texts, values);
    if (left == TermStore::Nothing()) return false;
  }
  return true;
}

TermId MemberTable::Begin(MemberSpec spec) {
  EndBeforeGap(&spec.members, [](const auto& m) { return m.term == TermStore::Nothing(); });
  std::erase_if(spec.members, [&](const MemberSpec::Member& m) {
    return m.term == TermStore::Nothing() && m.use != MemberUse::kRequired;
  });
  for (MemberSpec::Member& m : spec.members) {
    if (m.term == TermStore::Nothing()) return TermStore::Nothing();
    if (!HasOwnValue(m.use)) m.proc = s_.ProcOf(m.term);
  }
  if (spec.members.empty() || spec.end == TermStore::Nothing()) return TermStore::Nothing();
  if (spec.separator == TermStore::Nothing()) {  // then there is no second member
    spec.max = std::min<int64_t>(spec.max, 1);
    spec.separator = TermStore::Empty();
  }
  Key key = {spec.separator.value, spec.end.value, static_cast<uint64_t>(spec.min),
             static_cast<uint64_t>(spec.max), spec.conditions};
  for (const MemberSpec::Member& m : spec.members) {
    key.push_back(uint64_t{m.term.value} << 32 | MemberWord(m.use, m.meets, m.place));
  }
  auto [it, added] = spec_ids_.try_emplace(std::move(key), static_cast<uint32_t>(specs_.size()));
  const uint32_t id = it->second;
  if (added) {
    Prepare(&spec);
    for (MemberSpec::Member& m : spec.members) {
      if (!HasOwnValue(m.use)) continue;
      m.compound = Compound(m.term);
      bool guessed = false;
      m.endless = m.compound || PlainlyEnough(m.term, kMaxLength, &guessed);
      m.lasting = m.endless && !guessed;
      m.free = m.endless;
    }
    // What follows a placed member is of another one, which may have few values.
    for (MemberSpec::Member& m : spec.members) {
      if (m.use != MemberUse::kPlaced) continue;
      bool some = false, many = false;
      for (const MemberSpec::Member& next : spec.members) {
        const uint32_t place = next.use == MemberUse::kPlaced ? next.place : spec.places;
        if (place != m.place + 1) continue;
        some = true;
        many |= next.endless || next.use == MemberUse::kRepeated;
      }
      m.free &= many || !some;
    }
    spec.by_proc.resize(spec.members.size());
    std::iota(spec.by_proc.begin(), spec.by_proc.end(), 0u);
    std::ranges::sort(spec.by_proc, {}, [&](uint32_t i) { return spec.members[i].proc; });
    specs_.push_back(std::move(spec));
  }
  return BeginOf(id);
}

TermId MemberTable::BeginOf(uint32_t spec) {
  MemberState state{.spec = spec};
  const std::vector<uint64_t> seen((specs_[spec].once + 63) / 64);
  state.seen = seen;
  CountRequired(&state);
  if (!Possible(state)) return TermStore::Nothing();
  return TermOf(StateOf(state), MemberPhase::kDue);
}

// What is still to come follows from what was seen.
void MemberTable::CountRequired(MemberState* state) const {
  const MemberSpec& spec = specs_[state->spec];
  const uint64_t separator = s_.term(spec.separator).min_length;
  for (const MemberSpec::Member& m : spec.members) {
    if (m.use != MemberUse::kRequired || (state->seen[m.bit / 64] >> (m.bit % 64) & 1)) continue;
    ++state->required_left;
    state->required_length = AddLengths(state->required_length, m.length + separator);
  }
}

TermId MemberTable::Restore(TermId begin, MemberPhase phase, uint32_t met, int64_t written,
                            std::span<const uint64_t> seen) {
  const Term& t = s_.term(begin);
  if (t.kind != TermKind::kMembers || phase == MemberPhase::kRead) return TermStore::Nothing();
  MemberState state{.spec = states_[static_cast<size_t>(t.a)].spec, .met = met, .written = written};
  const MemberSpec& spec = specs_[state.spec];
  const int64_t most = spec.max != kUnbounded ? spec.max : spec.min > 1 ? spec.min : 0;
  const size_t words = (spec.once + 63) / 64;
  const bool overfull =
      spec.once % 64 != 0 && seen.size() == words && seen.back() >> (spec.once % 64);
  const bool gap = spec.places > 0 && !seen.empty() && (seen[0] & (seen[0] + 1)) != 0;
  if ((met & ~spec.conditions) != 0 || written < 0 || written > most || seen.size() != words ||
      overfull || gap) {
    return TermStore::Nothing();
  }
  state.seen = seen;
  CountRequired(&state);
  if (!Possible(state)) return TermStore::Nothing();
  const TermId restored = TermOf(StateOf(state), phase);
  return s_.term(restored).min_length < kMaxLength ? restored : TermStore::Nothing();
}

uint32_t MemberTable::StateOf(const MemberState& state) {
  uint64_t h = Mix(MixSeed(), uint64_t{state.spec} << 32 | state.met);
  h = Mix(h, static_cast<uint64_t>(state.written));
  for (uint64_t word : state.seen) h = Mix(h, word);
  for (uint32_t value : state.values) h = Mix(h, value);
  const auto hash = static_cast<uint32_t>(h ^ (h >> 32));
  auto same = [&](uint32_t id) {
    const MemberState& s = states_[id];
    return s.spec == state.spec && s.met == state.met && s.written == state.written &&
           std::ranges::equal(s.seen, state.seen) && std::ranges::equal(s.values, state.values);
  };
  size_t place = 0;
  if (const auto known = state_ids_.Find(hash, same, &place)) return *known;
  const auto id = static_cast<uint32_t>(states_.size());
  MemberState& stored = states_.Append();
  stored = state;
  stored.seen = memory_.Copy(state.seen);
  stored.values = memory_.Copy(state.values);
  state_ids_.Put(place, hash, id);
  return id;
}

TermId MemberTable::TermOf(uint32_t state, MemberPhase phase) {
  return s_.MembersTerm(state, static_cast<int64_t>(phase));
}

bool MemberTable::Possible(const MemberState& state) const {
  const MemberSpec& spec = specs_[state.spec];
  const int64_t meeting = spec.cover.Fewest(spec.conditions & ~state.met);
  if (meeting == kUnbounded) return false;
  if (spec.max != kUnbounded && state.written + state.required_left + meeting > spec.max) {
    return false;
  }
  if (spec.unlimited || spec.min <= 1) return true;
  int64_t left = spec.once;
  for (uint64_t word : state.seen) left -= std::popcount(word);
  return state.written + left >= spec.min;
}

bool MemberTable::MayEnd(const MemberState& state) const {
  const MemberSpec& spec = specs_[state.spec];
  return state.required_left == 0 && state.met == spec.conditions &&
         (spec.min <= 1 || state.written >= spec.min);
}

std::optional<uint32_t> MemberTable::After(const MemberState& state,
                                           const MemberSpec::Member& member) {
  const MemberSpec& spec = specs_[state.spec];
  if (spec.places > 0) {
    const bool placed = member.use == MemberUse::kPlaced;
    if (NextPlace(state) != (placed ? member.place : spec.places)) return std::nullopt;
  }
  MemberState next = state;
  next.met |= member.meets;
  absl::InlinedVector<uint64_t, 4> seen(state.seen.begin(), state.seen.end());
  if (ComesOnce(member.use)) {
    uint64_t& word = seen[member.bit / 64];
    if (word >> (member.bit % 64) & 1) return std::nullopt;
    word |= uint64_t{1} << (member.bit % 64);
    next.seen = seen;
    if (member.use == MemberUse::kRequired) {
      --next.required_left;
      next.required_length -= member.length + s_.term(spec.separator).min_length;
    }
  }
  // Without an upper bound, counts from the lower bound on are alike.
  if (spec.max != kUnbounded) {
    if (++next.written > spec.max) return std::nullopt;
  } else if (spec.min > 1) {
    next.written = std::min(next.written + 1, spec.min);
  }
  if (!Possible(next)) return std::nullopt;
  return StateOf(next);
}

TermId MemberTable::Others(TermId texts, std::span<const uint32_t> values) {
  absl::InlinedVector<TermId, 8> spellings;
  for (uint32_t v : values) {
    if (values_[v].compound == nullptr) spellings.push_back(SpellingsOf(v));
  }
  if (spellings.empty()) return texts;
  const TermId parts[] = {texts, s_.Not(s_.Choice(spellings))};
  return s_.And(parts);
}

void MemberTable::Read(const Term& term, const Readings& out) {
  // Copies, as the tables may grow on the way.
  const auto phase = static_cast<MemberPhase>(term.b);
  const auto id = static_cast<uint32_t>(term.a);
  const MemberState state = states_[id];
  const uint32_t spec_id = state.spec;
  const size_t count = specs_[spec_id].members.size();
  if (phase == MemberPhase::kDue) {
    for (size_t i = 0; i < count; ++i) {
      const MemberSpec& spec = specs_[spec_id];
      const MemberSpec::Member member = spec.members[spec.by_proc[i]];
      const std::optional<uint32_t> after = After(state, member);
      if (!after) continue;
      if (!HasOwnValue(member.use)) {
        out.calls->push_back({member.proc, TermOf(*after, MemberPhase::kAfter)});
        continue;
      }
      const TermId others = member.compound ? member.term : Others(member.term, state.values);
      if (others == TermStore::Nothing()) continue;
      out.calls->push_back({s_.CapturingProcOf(others, member.compound, member.free),
                            TermOf(*after, MemberPhase::kRead)});
    }
    return;
  }
  absl::InlinedVector<TermId, 2> next;
  if (MayEnd(state)) next.push_back(specs_[spec_id].end);
  if (MoreFollow(id)) {
    next.push_back(s_.Sequence(specs_[spec_id].separator, TermOf(id, MemberPhase::kDue)));
  }
  const Expansion& e = s_.ExpandLocked(s_.Choice(next));
  out.bytes->insert(out.bytes->end(), e.bytes.begin(), e.bytes.end());
  out.calls->insert(out.calls->end(), e.calls.begin(), e.calls.end());
  out.tokens->insert(out.tokens->end(), e.tokens.begin(), e.tokens.end());
}

bool MemberTable::MoreFollow(uint32_t id) {
  const MemberState& state = states_[id];
  // Mostly told without what is left of the members' texts: along a number each digit may be the
  // last, so that a walk of the vocabulary comes by thousands of values.
  for (const MemberSpec::Member& member : specs_[state.spec].members) {
    if (member.lasting && After(state, member)) return true;
  }
  return !s_.ExpandLocked(TermOf(id, MemberPhase::kDue)).calls.empty();
}

uint64_t MemberTable::MinLength(int64_t id, MemberPhase phase) const {
  const MemberState& state = states_[static_cast<size_t>(id)];
  const MemberSpec& spec = specs_[state.spec];
  const uint64_t separator = s_.term(spec.separator).min_length;
  MembersLeft left = {.required = state.required_left,
                      .required_length = state.required_length,
                      .unmet = spec.conditions & ~state.met,
                      .least = spec.min > 1 ? spec.min - state.written : 0,
                      .most = spec.max == kUnbounded ? kUnbounded : spec.max - state.written,
                      .repeated = kMaxLength};
  if (phase == MemberPhase::kDue) left.least = std::max<int64_t>(left.least, 1);
  // Others fill up only where those that must come are too few.
  const std::span<const MemberSpec::Member> others =
      left.least > left.required ? std::span(spec.members) : std::span<const MemberSpec::Member>();
  for (const MemberSpec::Member& m : others) {
    const uint64_t length = AddLengths(m.length, separator);
    if (!ComesOnce(m.use)) {
      left.repeated = std::min(left.repeated, length);
    } else if (m.use == MemberUse::kPlaced) {
      const uint32_t next = NextPlace(state);
      if (m.place >= next) left.AddPlaced(m.place - next, length);
    } else if (m.use == MemberUse::kOptional && !(state.seen[m.bit / 64] >> (m.bit % 64) & 1)) {
      left.optional.push_back(length);
    }
  }
  uint64_t length = ShortestList(std::move(left), spec.cover);
  // Each was counted with a separator; the first of all has none.
  if (phase == MemberPhase::kDue && length < kMaxLength) length -= separator;
  return AddLengths(length, s_.term(spec.end).min_length);
}

// JSON is told by its value, anything else by its text.
uint32_t MemberTable::ValueOf(std::string_view given) {
  std::string text(given);
  std::string canonical = "=" + text;
  bool compound = false;
  auto take_number = [&](std::string_view number) {
    const StatusOr<Decimal> value = Decimal::Parse(number);
    if (value.ok()) canonical = "#" + value->ToString();
    return value.ok();
  };
  const bool begins_number =
      !text.empty() && (text[0] == '-' || (text[0] >= '0' && text[0] <= '9'));
  if (!begins_number || !take_number(text)) {
    const StatusOr<JsonDocument> document = JsonDocument::Parse(text, s_.limits());
    const JsonId root = document.ok() ? document->root() : JsonId();
    if (document.ok() && document->IsString(root)) {
      canonical = "\"" + std::string(document->text(root));
    } else if (document.ok() && document->IsNumber(root)) {
      take_number(document->text(root));  // whitespace is around it
    } else if (document.ok() && (document->IsArray(root) || document->IsObject(root))) {
      // A key that is repeated has no value of its own that readers agree on: such a text equals
      // none.
      compound = !RepeatsKey(text, *document);
      if (compound) canonical = CanonicalJson(*document);
    }
  }
  auto [it, added] = value_ids_.try_emplace(canonical, static_cast<uint32_t>(values_.size()));
  if (!added) return it->second;
  value_bytes_ += 256 + 4 * text.size();
  Value value;
  if (compound) {
    auto kept = std::make_unique<const std::string>(std::move(text));
    JsonDocument parsed = JsonDocument::Parse(*kept, s_.limits()).value();
    value.compound = std::make_unique<const CapturedValue>(std::move(kept), std::move(parsed));
  } else {
    value.canonical = std::move(canonical);
    value.text = std::move(text);
  }
  values_.push_back(std::move(value));
  return it->second;
}

// Made on need: of most values that a walk of the vocabulary comes by nothing follows.
TermId MemberTable::SpellingsOf(uint32_t value) {
  if (values_[value].spellings) return *values_[value].spellings;
  const std::string_view canonical = values_[value].canonical, text = values_[value].text;
  TermId spellings = TermStore::Nothing();
  if (canonical[0] == '"') {
    const TermId quote = s_.Literal("\"", false);
    spellings = s_.Sequence(quote, s_.Sequence(s_.Literal(canonical.substr(1), true), quote));
  } else if (canonical[0] == '#') {
    GrammarBuilder builder;
    const RuleId rule = builder.AddRule("root");
    builder.SetBody(rule, EmitNumberValue(&builder, *Decimal::Parse(canonical.substr(1)), text));
    if (StatusOr<Grammar> grammar = builder.Finish(rule); grammar.ok()) {
      spellings = BuildRegularTerm(*grammar, &s_);
    }
  } else {
    spellings = s_.Literal(text, false);
  }
  values_[value].spellings = spellings;
  return spellings;
}

TermId MemberTable::Received(TermId to, std::string_view text) {
  const Term& t = s_.term(to);
  switch (t.kind) {
    case TermKind::kMembers: {
      if (static_cast<MemberPhase>(t.b) != MemberPhase::kRead) return to;
      const uint32_t value = ValueOf(text);
      MemberState state = states_[static_cast<size_t>(t.a)];
      std::vector<uint32_t> values(state.values.begin(), state.values.end());
      const auto place = std::ranges::lower_bound(values, value);
      if (place != values.end() && *place == value) return TermStore::Nothing();
      values.insert(place, value);
      state.values = values;
      return TermOf(StateOf(state), MemberPhase::kAfter);
    }
    case TermKind::kSequence: {
      const TermId rest = t.children()[1];
      return s_.Sequence(Received(t.children()[0], text), rest);
    }
    case TermKind::kChoice: {
      absl::InlinedVector<TermId, 8> alternatives;
      for (TermId c : std::vector<TermId>(t.children().begin(), t.children().end())) {
        alternatives.push_back(Received(c, text));
      }
      return s_.Choice(alternatives);
    }
    default:
      return to;
  }
}

void MemberTable::AddRivals(TermId to, std::vector<uint32_t>* out) const {
  const Term& t = s_.term(to);
  if (t.kind == TermKind::kSequence) {
    AddRivals(t.children()[0], out);
  } else if (t.kind == TermKind::kChoice) {
    for (TermId c : t.children()) AddRivals(c, out);
  } else if (t.kind == TermKind::kMembers && static_cast<MemberPhase>(t.b) == MemberPhase::kRead) {
    for (uint32_t v : states_[static_cast<size_t>(t.a)].values) {
      if (values_[v].compound != nullptr) out->push_back(v);
    }
  }
}

size_t MemberTable::memory_bytes() const {
  size_t bytes = memory_.bytes() + states_.bytes() + value_bytes_ + state_ids_.memory_bytes();
  for (const MemberSpec& spec : specs_) {
    bytes += sizeof(spec) + spec.members.capacity() * sizeof(MemberSpec::Member) +
             spec.by_proc.capacity() * sizeof(uint32_t) + 128;
  }
  return bytes;
}

}  // namespace grammask::internal
