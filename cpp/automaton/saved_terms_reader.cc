// Bytes that may be anything to terms: the records of saved_terms.h, checked one by one.
//
// A record refers only to what stands before it, so one pass makes all terms, and nothing recurses.
// What a term is, is never read but found out by the store: whether it may be empty, how short its
// texts are, whether an intersection matches any text. A recursive group is made as the builder
// makes it, from its exact description, so that a forged file cannot give another grammar's group a
// meaning of its own: the lengths of its rules are the least ones, by passes until nothing changes.
// Depths that later work goes down by recursion are measured on the way and bounded.
//
// Cost: some 100 ns a record, and the searches for emptiness where the file is not trusted. Memory:
// some hundred bytes for each byte of the file at most. Tests: tests/automaton/saved_terms_test.cc,
// tests/fuzz/saved_grammar_fuzz.cc.
#include <algorithm>
#include <cstring>
#include <string>

#include "automaton/body_program.h"
#include "automaton/members.h"
#include "automaton/recursive_group.h"
#include "automaton/saved_terms.h"
#include "base/utf8.h"

namespace grammask::internal {
namespace {

// Of members already written; far under where sums with it overflow.
constexpr uint64_t kMostWritten = uint64_t{1} << 61;

uint64_t TimesSaturated(uint64_t length, uint64_t times) {
  if (times == 0 || length == 0) return 0;
  return length > kMaxLength / times ? kMaxLength : length * times;
}

// How deep recursive work on a term may go.
struct Nest {
  uint32_t heads = 0;     // choices and heads of sequences inside one another
  uint32_t searches = 0;  // intersections, complements and lists of members
  void Cover(const Nest& o) {
    heads = std::max(heads, o.heads);
    searches = std::max(searches, o.searches);
  }
};

class TermReader {
 public:
  TermReader(bool trusted, TermStore* store)
      : trusted_(trusted),
        s_(*store),
        most_{static_cast<uint32_t>(s_.limits().max_nesting),
              2 * static_cast<uint32_t>(s_.limits().max_boolean_nesting) + 16} {
    terms_ = {TermStore::Nothing(), TermStore::Empty(), TermStore::All()};
    nests_.resize(3);
  }

  Status Read(std::string_view bytes, uint64_t offset) {
    in_ = ByteReader(bytes);
    offset_ = offset;
    terms_.reserve(terms_.size() + bytes.size() / 8);
    nests_.reserve(terms_.capacity());
    while (in_.left() > 0 && error_.ok()) {
      place_ = in_.offset();
      ReadRecord();
      if (!in_.ok()) return Damaged("it ends there, or a number is out of range");
      if (terms_.size() + steps_ > s_.limits().max_ast_nodes) {
        return ResourceExhausted("the saved grammar takes more than limits.max_ast_nodes terms");
      }
      if (s_.over_budget()) {
        return ResourceExhausted(
            "whether intersections of the saved grammar match any text takes more than "
            "limits.max_regular_states states to decide; raise the limit, or load it as trusted");
      }
    }
    return error_;
  }
  std::vector<TermId> Take() { return std::move(terms_); }

 private:
  Status Damaged(std::string_view what) const {
    return InvalidArgument("the saved grammar is damaged at byte " +
                           std::to_string(offset_ + place_) + ": " + std::string(what));
  }
  void Refuse(std::string_view what) {
    if (error_.ok() && in_.ok()) error_ = Damaged(what);
  }

  bool TooDeep(const Nest& nest) {
    const bool deep = nest.heads > most_.heads || nest.searches > most_.searches;
    if (deep && error_.ok()) {
      error_ = ResourceExhausted(
          "the saved grammar is nested deeper than limits.max_nesting or "
          "limits.max_boolean_nesting allows");
    }
    return deep;
  }

  void Push(TermId term, Nest nest = {}) {
    if (!in_.ok() || !error_.ok()) return;
    if (term == TermStore::Nothing()) return Refuse("a state that no text completes");
    if (TooDeep(nest)) return;
    terms_.push_back(term);
    nests_.push_back(nest);
  }

  // The number of a term that stands before; 0 in vain.
  size_t Reference() { return At(in_.Number()); }
  size_t At(uint64_t back) {
    if (back >= 1 && back <= terms_.size()) return terms_.size() - static_cast<size_t>(back);
    in_.Fail();
    return 0;
  }
  const Term& term(size_t number) const { return s_.term(terms_[number]); }

  void ReadRecord() {
    const auto kind = static_cast<SavedTerm>(in_.Byte());
    switch (kind) {
      case SavedTerm::kBytes:
      case SavedTerm::kJsonText:
        return ReadText(kind == SavedTerm::kJsonText);
      case SavedTerm::kByteClass:
        return ReadByteClass();
      case SavedTerm::kSequence: {
        const size_t head = Reference(), rest = Reference();
        if (!in_.ok()) return;
        Nest nest = nests_[head];
        ++nest.heads;
        nest.searches = std::max(nest.searches, nests_[rest].searches);
        return Push(s_.Sequence(terms_[head], terms_[rest]), nest);
      }
      case SavedTerm::kChoice: {
        Nest nest;
        const std::vector<TermId> parts = References(&nest);
        ++nest.heads;
        return Push(s_.Choice(parts), nest);
      }
      case SavedTerm::kRepeat: {
        const size_t body = Reference();
        int64_t min = 0, max = 0;
        ReadCounts(&min, &max);
        if (in_.ok()) Push(s_.Repeat(terms_[body], min, max), {0, nests_[body].searches});
        return;
      }
      case SavedTerm::kCall: {
        const size_t body = Reference();
        if (!in_.ok()) return;
        if (terms_[body] == TermStore::Nothing()) return in_.Fail();
        return Push(s_.Call(s_.ProcOf(terms_[body])));
      }
      case SavedTerm::kAnd: {
        Nest nest;
        const std::vector<TermId> parts = References(&nest);
        const uint64_t length = in_.Number(kMaxLength);
        if (!in_.ok() || !Regular(parts)) return;
        return Push(trusted_ ? s_.AndOfLength(parts, length) : s_.And(parts),
                    {0, nest.searches + 1});
      }
      case SavedTerm::kNot: {
        const size_t part = Reference();
        const uint64_t length = in_.Number(kMaxLength);
        if (!in_.ok() || !Regular({&terms_[part], 1})) return;
        return Push(trusted_ ? s_.NotOfLength(terms_[part], length) : s_.Not(terms_[part]),
                    {0, nests_[part].searches + 1});
      }
      case SavedTerm::kMultiple: {
        const uint64_t remainder = in_.Number();
        const uint64_t modulus = in_.Number((uint64_t{1} << 63) / 10);
        const auto scale = static_cast<uint32_t>(in_.Number(400));
        if (!in_.ok()) return;
        if (modulus == 0 || remainder >= modulus) return in_.Fail();
        return Push(s_.MultipleOf({modulus, scale}, remainder));
      }
      case SavedTerm::kTokens:
        return ReadTokens();
      case SavedTerm::kWords:
        return ReadWords();
      case SavedTerm::kMembers:
        return ReadMembers();
      case SavedTerm::kMemberState:
        return ReadMemberState();
      case SavedTerm::kGroup:
        return ReadGroup();
      case SavedTerm::kLazyCall:
        return ReadLazyCall();
      case SavedTerm::kGroupCall: {
        const uint64_t group = in_.Number(), position = in_.Number();
        if (!in_.ok()) return;
        if (group >= groups_.size() || position >= groups_[group].size()) return in_.Fail();
        return Push(s_.Call(groups_[group][position]));
      }
    }
    Refuse("a record of an unknown kind");
  }

  std::vector<TermId> References(Nest* nest) {
    std::vector<TermId> parts(in_.Count(1));
    for (TermId& part : parts) {
      const size_t number = Reference();
      part = terms_[number];
      nest->Cover(nests_[number]);
    }
    if (parts.empty()) in_.Fail();
    return parts;
  }

  bool Regular(std::span<const TermId> parts) {
    for (TermId t : parts) {
      if (!s_.term(t).regular) Refuse("an intersection or complement of what is not regular");
    }
    return error_.ok();
  }

  std::string_view Literal(bool json) {
    const std::string_view text = in_.Text();
    if (text.empty() || text.size() > TermStore::kMaxLiteral) in_.Fail();
    const auto ascii = [](char c) { return static_cast<uint8_t>(c) < 0x80; };
    if (json && !std::ranges::all_of(text, ascii) && FindInvalidUtf8(text).has_value()) {
      Refuse("a text that is not UTF-8");
    }
    return text;
  }
  void ReadText(bool json) {
    const std::string_view text = Literal(json);
    if (in_.ok() && error_.ok()) Push(s_.Literal(text, json));
  }

  void ReadWords() {
    const bool json = in_.Number(1) != 0;
    std::vector<std::string_view> words(in_.Count(1));
    for (std::string_view& word : words) {
      word = in_.Text();
      if (json && FindInvalidUtf8(word).has_value()) Refuse("a text that is not UTF-8");
    }
    if (words.empty()) in_.Fail();
    if (in_.ok() && error_.ok()) Push(s_.Words(std::move(words), json));
  }

  ByteSet Ranges() {
    const std::string_view ranges = in_.Text();
    ByteSet bytes;
    if (ranges.empty() || ranges.size() % 2 != 0 || ranges.size() > 256) {
      in_.Fail();
      return bytes;
    }
    for (size_t i = 0; i < ranges.size(); i += 2) {
      const auto lo = static_cast<uint8_t>(ranges[i]), hi = static_cast<uint8_t>(ranges[i + 1]);
      if (lo > hi) in_.Fail();
      bytes.AddRange(lo, hi);
    }
    return bytes;
  }
  void ReadByteClass() {
    const ByteSet bytes = Ranges();
    if (in_.ok()) Push(s_.ByteClass(bytes));
  }

  void ReadCounts(int64_t* min, int64_t* max) {
    const auto most = static_cast<uint64_t>(std::max<int64_t>(s_.limits().max_repeat, 1));
    *min = static_cast<int64_t>(in_.Number(most));
    const uint64_t end = in_.Number(most + 1);
    *max = end == 0 ? kUnbounded : static_cast<int64_t>(end) - 1;
    if (*min > *max) in_.Fail();
  }

  void ReadTokens() {
    TokenSet set;
    set.excluded = in_.Number(1) != 0;
    set.ids.resize(in_.Count(1));
    TokenId last = -1;
    for (TokenId& id : set.ids) {
      id = static_cast<TokenId>(in_.Number(INT32_MAX));
      if (id <= last) in_.Fail();
      last = id;
    }
    if (in_.ok()) Push(s_.Tokens(set));
  }

  // The use and conditions of a member.
  MemberSpec::Member Use(uint64_t use, uint64_t meets, uint32_t conditions) {
    MemberSpec::Member m{};
    m.use = static_cast<MemberUse>(use);
    m.meets = static_cast<uint32_t>(meets);
    const bool fits = use <= 3 && (meets & ~uint64_t{conditions}) == 0 &&
                      (meets == 0 || m.use == MemberUse::kRepeated);
    if (!fits) in_.Fail();
    return m;
  }

  void ReadMembers() {
    MemberSpec spec;
    const size_t separator = Reference(), end = Reference();
    spec.separator = terms_[separator];
    spec.end = terms_[end];
    spec.min = static_cast<int64_t>(in_.Number(INT64_MAX));
    spec.max = static_cast<int64_t>(in_.Number(INT64_MAX));
    spec.conditions = static_cast<uint32_t>(in_.Number((1u << kMaxMemberConditions) - 1));
    spec.members.resize(in_.Count(2));
    for (MemberSpec::Member& m : spec.members) {
      const uint64_t use = in_.Number();
      m = Use(use & 3, use >> 2, spec.conditions);
      const size_t number = Reference();
      m.term = terms_[number];
      if (m.term == TermStore::Nothing() || term(number).nullable) in_.Fail();
    }
    if (!in_.ok()) return;
    if (spec.max < 1 || spec.min > spec.max || (spec.conditions & (spec.conditions + 1)) != 0) {
      return in_.Fail();
    }
    const Nest nest{0, std::max(nests_[separator].searches, nests_[end].searches) + 1};
    Push(s_.MembersOf(std::move(spec)), nest);
  }

  void ReadMemberState() {
    const size_t begin = Reference();
    const auto phase = static_cast<int64_t>(in_.Number(1));
    const auto met = static_cast<uint32_t>(in_.Number(UINT32_MAX));
    const auto written = static_cast<int64_t>(in_.Number(kMostWritten));
    if (!in_.ok() || term(begin).kind != TermKind::kMembers) return in_.Fail();
    std::vector<uint64_t> seen(s_.MemberWords(terms_[begin]));
    for (uint64_t& word : seen) word = in_.Fixed(8);
    if (!in_.ok()) return;
    Push(s_.RestoreMembers(terms_[begin], phase, met, written, seen), nests_[begin]);
  }

  // ---- Lazy bodies: checked and measured here, made by the store ----

  struct LazyTerm {
    uint64_t length = 0;
    Nest nest;
  };

  // A term of the lazy body at hand, in the words of body_program.h.
  uint32_t LazyReference(std::span<const LazyTerm> body, LazyTerm* found) {
    const uint64_t reference = in_.Number();
    const uint64_t back = reference >> 1;
    if ((reference & 1) != 0) {
      const size_t number = At(back);
      *found = {term(number).min_length, nests_[number]};
      if (terms_[number].value >= kLocalTerm) in_.Fail();
      return terms_[number].value;
    }
    if (back < 1 || back > body.size()) {
      in_.Fail();
      return 0;
    }
    const size_t step = body.size() - static_cast<size_t>(back);
    *found = body[step];
    return static_cast<uint32_t>(step) | kLocalTerm;
  }

  void AddWords(uint64_t value) {
    program_.push_back(static_cast<uint32_t>(value));
    program_.push_back(static_cast<uint32_t>(value >> 32));
  }

  LazyTerm ReadLazyStep(std::span<const LazyTerm> body) {
    const auto kind = static_cast<SavedTerm>(in_.Byte());
    LazyTerm part, other;
    switch (kind) {
      case SavedTerm::kBytes:
      case SavedTerm::kJsonText: {
        const bool json = kind == SavedTerm::kJsonText;
        const std::string_view text = Literal(json);
        if (!in_.ok()) break;
        program_.push_back(StepWord(json ? TermKind::kJsonText : TermKind::kBytes, text.size()));
        const size_t at = program_.size();
        program_.resize(at + (text.size() + 3) / 4);
        std::memcpy(program_.data() + at, text.data(), text.size());
        part.length = TermStore::ShortestSpelling(text, json);
        break;
      }
      case SavedTerm::kByteClass:
        program_.push_back(StepWord(TermKind::kByteClass, 0));
        for (uint64_t word : Ranges().words) AddWords(word);
        part.length = 1;
        break;
      case SavedTerm::kSequence:
      case SavedTerm::kChoice: {
        const bool sequence = kind == SavedTerm::kSequence;
        const size_t count = in_.Count(1);
        if (count == 0 || count >= (size_t{1} << 28)) in_.Fail();
        program_.push_back(StepWord(sequence ? TermKind::kSequence : TermKind::kChoice, count));
        part.length = sequence ? 0 : kMaxLength;
        for (size_t i = 0; i < count && in_.ok(); ++i) {
          program_.push_back(LazyReference(body, &other));
          part.length = sequence ? std::min(kMaxLength, part.length + other.length)
                                 : std::min(part.length, other.length);
          const bool rest = sequence && i + 1 == count;
          other.nest.heads = rest ? 0 : other.nest.heads + 1;
          part.nest.Cover(other.nest);
        }
        break;
      }
      case SavedTerm::kRepeat: {
        program_.push_back(StepWord(TermKind::kRepeat, 0));
        program_.push_back(LazyReference(body, &part));
        int64_t min = 0, max = 0;
        ReadCounts(&min, &max);
        AddWords(static_cast<uint64_t>(min));
        AddWords(static_cast<uint64_t>(max));
        part.nest.heads = 0;
        part.length = TimesSaturated(part.length, static_cast<uint64_t>(min));
        break;
      }
      default:
        in_.Fail();
        break;
    }
    return part;
  }

  void ReadLazyCall() {
    const size_t count = in_.Count(2);
    lazy_.clear();
    program_.clear();
    for (size_t i = 0; i < count && in_.ok() && error_.ok(); ++i) {
      lazy_.push_back(ReadLazyStep(lazy_));
      if (in_.ok() && lazy_.back().length == kMaxLength) Refuse("a state that no text completes");
      if (TooDeep(lazy_.back().nest)) return;
    }
    if (lazy_.empty()) in_.Fail();
    if (!in_.ok() || !error_.ok()) return;
    steps_ += count;
    Push(s_.Call(s_.LazyProc(program_, lazy_.back().length)));
  }

  // ---- Recursive groups ----

  // A reference to a term, or to one of the nodes of the group; `nests` are those of the latter.
  uint64_t GroupReference(uint64_t nodes, std::span<const Nest> nests, Nest* nest) {
    const uint64_t reference = in_.Number();
    if (IsTerm(reference)) {
      const size_t number = At(reference >> 1);
      *nest = nests_[number];
      return uint64_t{terms_[number].value} << 1 | 1;
    }
    if (reference >> 1 >= nodes) {
      in_.Fail();
      return 0;
    }
    if (reference >> 1 < nests.size()) *nest = nests[reference >> 1];
    return reference;
  }

  // One node of a group of `rules` rules, in words; its children are among the nodes before it,
  // which have `nests`.
  void ReadGroupWords(uint64_t rules, std::vector<uint64_t>* words, std::vector<Nest>* nests) {
    const auto kind = static_cast<NodeKind>(in_.Byte());
    const uint64_t children = in_.Count(1);
    words->push_back(static_cast<uint64_t>(kind));
    words->push_back(children);
    switch (kind) {
      case NodeKind::kSequence:
      case NodeKind::kChoice:
        if (children == 0) in_.Fail();
        break;
      case NodeKind::kRepeat: {
        const uint64_t min = in_.Number(static_cast<uint64_t>(s_.limits().max_repeat));
        const uint64_t max = in_.Number(INT64_MAX);
        const bool bounded = max <= static_cast<uint64_t>(s_.limits().max_repeat);
        if (children != 1 || min > max || (!bounded && max != INT64_MAX)) in_.Fail();
        words->insert(words->end(), {min, max});
        break;
      }
      case NodeKind::kMembers: {
        const uint64_t min = in_.Number(INT64_MAX), max = in_.Number(INT64_MAX);
        const uint64_t conditions = in_.Number(kMaxMemberConditions);
        if (children < 3 || max < 1 || min > max) return in_.Fail();
        words->insert(words->end(), {min, max, conditions});
        for (uint64_t i = 2; i < children && in_.ok(); ++i) {
          const uint64_t use = in_.Number();
          Use(use & 0xFF, use >> 8, (uint32_t{1} << conditions) - 1);
          words->push_back(use);
        }
        break;
      }
      case NodeKind::kRule:
        if (children != 0) in_.Fail();
        words->push_back(in_.Number(rules - 1));
        break;
      default:
        in_.Fail();
        break;
    }
    Nest nest;
    for (uint64_t i = 0; i < children && in_.ok(); ++i) {
      Nest child;
      words->push_back(GroupReference(nests->size(), *nests, &child));
      const bool rest = kind == NodeKind::kSequence && i + 1 == children;
      if (kind == NodeKind::kRepeat || rest) child.heads = 0;
      if (kind == NodeKind::kMembers) child = {0, i < 2 ? child.searches + 1 : 0};
      if ((kind == NodeKind::kSequence || kind == NodeKind::kChoice) && !rest) ++child.heads;
      nest.Cover(child);
    }
    if (TooDeep(nest)) return;
    nests->push_back(nest);
  }

  struct Group {
    std::vector<uint64_t> words;
    std::vector<GroupNode> nodes;
    std::vector<uint64_t> lengths;       // by node
    std::vector<uint64_t> rule_lengths;  // of their shortest texts
    uint64_t body(size_t rule) const { return words[2 + rule]; }
  };

  uint64_t LengthOf(const Group& group, uint64_t reference) const {
    return IsTerm(reference) ? s_.term(TermId(static_cast<uint32_t>(reference >> 1))).min_length
                             : group.lengths[reference >> 1];
  }

  uint64_t LengthOf(const Group& group, const GroupNode& node) const {
    auto length = [&](size_t child) { return LengthOf(group, node.children[child]); };
    uint64_t result = node.kind == NodeKind::kSequence ? 0 : kMaxLength;
    switch (node.kind) {
      case NodeKind::kRule:
        return group.rule_lengths[node.rule];
      case NodeKind::kRepeat:
        return TimesSaturated(length(0), static_cast<uint64_t>(node.min));
      case NodeKind::kMembers: {
        std::vector<ListMember> members;
        for (size_t i = 0; i < node.uses.size(); ++i) {
          members.push_back({static_cast<MemberUse>(node.uses[i] & 0xFF),
                             static_cast<uint32_t>(node.uses[i] >> 8), length(i + 2)});
        }
        return ListLength(members, length(0), length(1), node.min, node.max, node.conditions);
      }
      default:
        for (size_t i = 0; i < node.children.size(); ++i) {
          result = node.kind == NodeKind::kSequence ? std::min(kMaxLength, result + length(i))
                                                    : std::min(result, length(i));
        }
        return result;
    }
  }

  // Passes from above until nothing changes: the least lengths. False over the bound on work.
  bool FindLengths(Group* group) {
    for (bool changed = true; changed;) {
      changed = false;
      steps_ += group->words.size() / 8;
      if (steps_ > s_.limits().max_ast_nodes) return false;
      auto improve = [&](uint64_t length, uint64_t* known) {
        if (length >= *known) return;
        *known = length;
        changed = true;
      };
      for (size_t i = 0; i < group->nodes.size(); ++i) {
        improve(LengthOf(*group, group->nodes[i]), &group->lengths[i]);
      }
      for (size_t r = 0; r < group->rule_lengths.size(); ++r) {
        improve(LengthOf(*group, group->body(r)), &group->rule_lengths[r]);
      }
    }
    return true;
  }

  // The same nodes as terms, made as the builder makes them.
  TermId MakeNode(const GroupNode& node, const std::vector<ProcId>& procs,
                  const std::vector<TermId>& made) {
    auto child = [&](size_t i) {
      const uint64_t reference = node.children[i];
      return IsTerm(reference) ? TermId(static_cast<uint32_t>(reference >> 1))
                               : made[reference >> 1];
    };
    const size_t count = node.children.size();
    switch (node.kind) {
      case NodeKind::kSequence: {
        TermId t = TermStore::Empty();
        for (size_t i = count; i-- > 0;) t = s_.Sequence(child(i), t);
        return t;
      }
      case NodeKind::kChoice: {
        std::vector<TermId> parts;
        for (size_t i = 0; i < count; ++i) parts.push_back(child(i));
        return s_.Choice(parts);
      }
      case NodeKind::kRepeat:
        return s_.Repeat(child(0), node.min, node.max);
      case NodeKind::kRule:
        return s_.Call(procs[node.rule]);
      default:
        break;
    }
    MemberSpec spec;
    spec.separator = child(0);
    spec.end = child(1);
    spec.min = node.min;
    spec.max = node.max;
    spec.conditions = (uint32_t{1} << node.conditions) - 1;
    for (size_t i = 0; i < node.uses.size(); ++i) {
      MemberSpec::Member m{};
      m.use = static_cast<MemberUse>(node.uses[i] & 0xFF);
      m.meets = static_cast<uint32_t>(node.uses[i] >> 8);
      m.term = child(i + 2);
      if (s_.term(m.term).nullable) {
        Refuse("a member that may be empty");
        return TermStore::Nothing();
      }
      spec.members.push_back(m);
    }
    return s_.MembersOf(std::move(spec));
  }

  void ReadGroup() {
    Group group;
    const size_t rules = in_.Count(1), nodes = in_.Count(2);
    if (rules == 0) return in_.Fail();
    group.words = {rules, nodes};
    std::vector<Nest> nests;
    Nest unused;
    for (size_t r = 0; r < rules && in_.ok(); ++r) {
      group.words.push_back(GroupReference(nodes, {}, &unused));
    }
    for (size_t i = 0; i < nodes && in_.ok() && error_.ok(); ++i) {
      ReadGroupWords(rules, &group.words, &nests);
    }
    if (!in_.ok() || !error_.ok()) return;
    std::string description(group.words.size() * sizeof(uint64_t), '\0');
    std::memcpy(description.data(), group.words.data(), description.size());
    if (const std::vector<ProcId>* known = s_.FindGroup(description)) {
      groups_.push_back(*known);
      return;
    }
    for (size_t at = 2 + rules; at < group.words.size();) {
      group.nodes.push_back(ReadGroupNode(group.words, &at));
    }
    group.lengths.assign(nodes, kMaxLength);
    group.rule_lengths.assign(rules, kMaxLength);
    if (!FindLengths(&group)) return;  // over the bound, which Run() sees
    if (std::ranges::count(group.rule_lengths, kMaxLength) > 0) {
      return Refuse("a rule that no text completes");
    }
    std::vector<ProcId> procs;
    for (uint64_t length : group.rule_lengths) procs.push_back(s_.AddProc(length == 0, length));
    std::vector<TermId> made;
    for (const GroupNode& node : group.nodes) made.push_back(MakeNode(node, procs, made));
    for (size_t r = 0; r < rules; ++r) {
      const uint64_t body = group.body(r);
      const TermId t = IsTerm(body) ? TermId(static_cast<uint32_t>(body >> 1)) : made[body >> 1];
      if (t == TermStore::Nothing()) Refuse("a rule that no text completes");
      s_.SetBody(procs[r], t);
    }
    if (!error_.ok()) return;
    s_.AddGroup(description, procs);
    groups_.push_back(std::move(procs));
  }

  ByteReader in_{""};
  uint64_t offset_ = 0;
  const bool trusted_;
  TermStore& s_;
  const Nest most_;
  uint64_t place_ = 0;  // of the record at hand
  std::vector<TermId> terms_;
  std::vector<Nest> nests_;  // by term
  std::vector<std::vector<ProcId>> groups_;
  std::vector<LazyTerm> lazy_;     // of the body at hand
  std::vector<uint32_t> program_;  // the same
  size_t steps_ = 0;
  Status error_;
};

}  // namespace

StatusOr<std::vector<TermId>> ReadTerms(std::span<const SavedPart> parts, bool trusted,
                                        TermStore* store) {
  store->BeginBuilding();
  TermReader reader(trusted, store);
  Status status;
  for (const SavedPart& part : parts) {
    if (status.ok()) status = reader.Read(part.bytes, part.offset);
  }
  store->EndBuilding();
  if (!status.ok()) return status;
  return reader.Take();
}

}  // namespace grammask::internal
