// Records of a trusted file, read here and there: see saved_pool.h.
//
// To make a term, all that it refers to and that is not there yet is collected, and made in the
// order of the numbers, children first; so nothing recurses. A record is read by TermReader, whose
// place in the file is kept where a record is needed in the midst of another one (a node of a group
// that refers to a term).
//
// Cost: 2 ns for each record of the file; then what reading those takes that are needed. Tests:
// tests/automaton/saved_terms_test.cc, tests/matcher/saved_grammar_test.cc,
// tests/fuzz/saved_grammar_fuzz.cc.
#include "automaton/saved_pool.h"

#include <algorithm>
#include <utility>

#include "automaton/recursive_group.h"
#include "grammar/ast.h"

namespace grammask::internal {
namespace {

constexpr TermId kDue(UINT32_MAX);  // of a term that is about to be made
// A group of so many nodes is found by what it is, which has to be read, not by its name: then it
// is the same whether it was compiled, or loaded from anyone. Any JSON value is one of 12.
constexpr uint64_t kMostNodesOfSmall = 64;
// Makings of terms one within another. Of what a list of members asks for no more are needed.
constexpr int kMostInUse = 16;
constexpr size_t kNodeBytes = 2 * sizeof(uint32_t) + sizeof(uint64_t);
constexpr uint64_t kNoAlternatives[] = {static_cast<uint64_t>(NodeKind::kChoice), 0};

}  // namespace

class SavedPool::Detour {
 public:
  explicit Detour(TermReader* reader)
      : reader_(*reader),
        in_(reader_.in_),
        offset_(reader_.offset_),
        place_(reader_.place_),
        next_(reader_.next_) {
    group_terms_.swap(reader_.group_terms_);
  }
  Detour(const Detour&) = delete;
  Detour& operator=(const Detour&) = delete;
  ~Detour() {
    reader_.in_ = in_;
    reader_.offset_ = offset_;
    reader_.place_ = place_;
    reader_.next_ = next_;
    group_terms_.swap(reader_.group_terms_);
  }

 private:
  TermReader& reader_;
  const ByteReader in_;
  const uint64_t offset_, place_;
  const size_t next_;
  std::vector<uint32_t> group_terms_;
};

SavedPool::SavedPool(uint32_t number, TermStore* store) : s_(*store), reader_(number, store) {}

StatusOr<SavedPool*> SavedPool::Open(std::shared_ptr<const std::string> file, uint64_t checksum,
                                     uint64_t before, std::span<const SavedPart> lists,
                                     TermStore* store) {
  const auto known = store->pool_ids_.find(checksum);
  if (known != store->pool_ids_.end() && *store->pools_[known->second]->file_ == *file) {
    return store->pools_[known->second].get();
  }
  const auto number = static_cast<uint32_t>(store->pools_.size());
  auto pool = std::make_unique<SavedPool>(number, store);
  pool->file_ = std::move(file);
  pool->before_ = before;
  GM_RETURN_IF_ERROR(pool->ReadIndexes(lists));
  store->pool_ids_.emplace(checksum, number);
  store->pool_bytes_ += pool->file_->size() + 2 * pool->begins_.size() * sizeof(uint64_t);
  store->pools_.push_back(std::move(pool));
  return store->pools_.back().get();
}

Status SavedPool::ReadIndexes(std::span<const SavedPart> lists) {
  size_t bytes = 0;
  for (const SavedPart& list : lists) {
    ByteReader in(list.bytes), index(in.Text());
    uint64_t at = list.offset - before_ + in.offset();
    size_t left = in.left();
    bytes += left;
    for (size_t records = index.Count(1); records > 0 && index.ok(); --records) {
      const uint64_t entry = index.Number();
      const uint64_t length = entry >> 1;
      if (length == 0 || length > left) index.Fail();
      if (!index.ok()) break;
      if ((entry & 1) != 0) {
        groups_.push_back({static_cast<uint32_t>(at), static_cast<uint32_t>(begins_.size() + 3)});
      } else {
        begins_.push_back(static_cast<uint32_t>(at));
      }
      at += length;
      left -= static_cast<size_t>(length);
    }
    if (!index.ok() || index.left() > 0 || left > 0 || at > UINT32_MAX) {
      return InvalidArgument("the saved grammar is damaged at byte " + std::to_string(list.offset) +
                             ": the index of its states");
    }
  }
  if (begins_.size() + bytes / TermReader::kStepBytes > s_.limits().max_ast_nodes) {
    return ResourceExhausted("the saved grammar takes more than limits.max_ast_nodes terms");
  }
  reader_.known_.resize(begins_.size() + 3);
  reader_.groups_.resize(groups_.size());
  whole_.resize(reader_.known_.size());
  return Status();
}

StatusOr<TermId> SavedPool::Get(uint32_t number) {
  s_.BeginBuilding();
  const TermId term = Make(number);
  const bool over_budget = s_.over_budget();
  s_.EndBuilding();
  if (over_budget) return TermReader::OverBudget();
  if (term != TermStore::Nothing()) return term;
  return reader_.error_.ok() ? reader_.Damaged("a state that no text completes") : reader_.error_;
}

void SavedPool::GoTo(uint32_t begin, uint32_t next) {
  reader_.in_ = ByteReader(std::string_view(*file_).substr(begin));
  reader_.offset_ = before_ + begin;
  reader_.place_ = 0;
  reader_.next_ = next;
}

TermId SavedPool::Make(uint32_t number) {
  const TermId known = reader_.known_[number].term;
  if (known != TermStore::Nothing() || number == 0 || is_damaged_) return known;
  const Detour detour(&reader_);
  if (++s_.pools_in_use_ > kMostInUse) reader_.Refuse("a state that refers to itself");
  const TermId made = MakeAll(number);
  --s_.pools_in_use_;
  is_damaged_ = is_damaged_ || !reader_.error_.ok();
  return made;
}

TermId SavedPool::MakeAll(uint32_t number) {
  std::vector<TermReader::Known>& known = reader_.known_;
  ScratchVector<Need> todo, needs;
  ScratchVector<uint32_t> due;
  auto add = [&](Need need) {
    const uint32_t n = need.number;
    if (n < 3) return;
    const bool is_made = known[n].term != TermStore::Nothing();
    if (need.whole ? whole_[n] : is_made) return;
    if (need.whole) whole_[n] = true;
    todo.push_back(need);
    if (is_made) return;
    known[n].term = kDue;
    due.push_back(n);
  };
  add({number, false});
  for (size_t i = 0; i < todo.size(); ++i) {
    needs.clear();
    AddNeeds(todo[i], &needs);
    for (const Need& need : needs) add(need);
  }
  std::ranges::sort(due);
  for (uint32_t n : due) known[n].term = TermStore::Nothing();
  for (uint32_t n : due) ReadRecord(n);
  return known[number].term;
}

SavedPool::Group* SavedPool::ReadCalledGroup(uint32_t number) {
  const uint64_t group = reader_.in_.Number();
  const bool known = group < groups_.size() && groups_[group].base <= number;
  if (!known) reader_.in_.Fail();
  return reader_.in_.ok() ? &groups_[group] : nullptr;
}

void SavedPool::AddNeeds(Need need, ScratchVector<Need>* needs) {
  GoTo(begins_[need.number - 3], need.number);
  ByteReader& in = reader_.in_;
  size_t references = 0;
  auto add = [&] { needs->push_back({static_cast<uint32_t>(reader_.Reference()), need.whole}); };
  switch (static_cast<SavedTerm>(in.Byte())) {
    case SavedTerm::kSequence:
      references = 2;
      break;
    case SavedTerm::kRepeat:
    case SavedTerm::kCall:
    case SavedTerm::kNot:
    case SavedTerm::kMemberState:
    case SavedTerm::kBody:
      references = 1;
      break;
    case SavedTerm::kChoice:
    case SavedTerm::kAnd:
      references = in.Count(1);
      break;
    case SavedTerm::kMembers: {
      add();
      add();
      for (int i = 0; i < 3; ++i) in.Number();  // least, most, conditions
      for (size_t members = in.Count(2); members > 0 && in.ok(); --members) {
        in.Number();
        add();
      }
      return;
    }
    case SavedTerm::kLazyCall:
      if (!need.whole) return;
      in.Bytes(kSavedNameBytes);
      in.Number();
      references = in.Count(1);
      break;
    case SavedTerm::kGroupCall: {
      Group* const g = ReadCalledGroup(need.number);
      if (g == nullptr || !OpenGroup(g) || (g->is_large && !need.whole)) return;
      for (const uint32_t n : g->terms) needs->push_back({n, need.whole || g->has_members});
      return;
    }
    default:
      return;
  }
  for (; references > 0 && in.ok(); --references) add();
}

// What it refers to has been made.
void SavedPool::ReadRecord(uint32_t number) {
  if (!reader_.error_.ok()) return;
  GoTo(begins_[number - 3], number);
  ByteReader& in = reader_.in_;
  if (static_cast<SavedTerm>(in.Byte()) == SavedTerm::kGroupCall) {
    const Group* const g = ReadCalledGroup(number);
    if (g != nullptr && g->is_open && !g->is_large && ProcsOf(*g).empty()) {
      GoTo(g->begin + 1, g->base);
      ProcsOf(*g) = reader_.ReadGroup();
    }
  }
  if (ok()) {
    GoTo(begins_[number - 3], number);
    reader_.ReadRecord();
  }
  if (!in.ok()) reader_.Refuse("it ends there, or a number is out of range");
}

TermId SavedPool::Body(uint32_t number) {
  const Detour detour(&reader_);
  GoTo(begins_[number - 3], number);
  ByteReader& in = reader_.in_;
  std::vector<uint32_t> numbers;
  if (static_cast<SavedTerm>(in.Byte()) != SavedTerm::kLazyCall) in.Fail();
  in.Bytes(kSavedNameBytes);
  const uint64_t length = in.Number(kMaxLength - 1);
  reader_.ReadTerms(&numbers);
  const std::string_view steps = in.Text();
  s_.BeginBuilding();
  SavedBody body{.terms = {}, .nest = {}, .length = length, .trusted = true, .steps = steps};
  ScratchVector<uint32_t> terms;
  for (uint32_t n : numbers) {
    terms.push_back(Make(n).value);
    body.nest.Cover(reader_.known_[n].nest);
  }
  const bool over_budget = s_.over_budget();
  s_.EndBuilding();
  if (over_budget) s_.NoteOverrun(TermStore::Overrun::kStates);
  body.terms = terms;
  return ReadSavedBody(body, &s_);
}

bool SavedPool::OpenGroup(Group* group) {
  if (group->is_open) return true;
  GoTo(group->begin, group->base);
  ByteReader& in = reader_.in_;
  if (static_cast<SavedTerm>(in.Byte()) != SavedTerm::kGroup) in.Fail();
  TermReader::GroupHead head;
  if (!reader_.ReadGroupHead(&head)) return false;
  group->terms = reader_.group_terms_;
  group->has_members = head.has_members;
  group->is_large = head.nodes > kMostNodesOfSmall && !head.has_members;
  if (group->is_large) {
    group->bodies.assign(head.bodies.begin(), head.bodies.end());
    ByteReader lengths(head.node_lengths);
    size_t at = group->begin + in.offset(), left = in.left();
    group->begins.reserve(head.nodes);
    for (uint64_t i = 0; i < head.nodes; ++i) {
      const size_t length = static_cast<size_t>(lengths.Number(left));
      if (!lengths.ok()) return false;
      group->begins.push_back(static_cast<uint32_t>(at));
      at += length;
      left -= length;
    }
    group->read.resize(group->begins.size());
    const auto number = static_cast<uint32_t>(group - groups_.data());
    ProcsOf(*group) = s_.SavedGroup(head.name, head.rule_lengths, this, number);
    s_.pool_bytes_ += group->begins.size() * kNodeBytes;
  }
  group->is_open = true;
  return true;
}

uint64_t SavedPool::GroupBody(uint32_t group, uint32_t rule) {
  const Detour detour(&reader_);
  const Group& g = groups_[group];
  TermReader::Nest unused;
  reader_.group_terms_ = g.terms;
  return reader_.InStore(g.bodies[rule], &unused);
}

std::span<const uint64_t> SavedPool::Node(uint32_t group, uint32_t node) {
  Group& g = groups_[group];
  if (g.read[node] == 0) {
    const Detour detour(&reader_);
    GoTo(g.begins[node], g.base);
    reader_.group_terms_ = g.terms;
    ScratchVector<uint64_t> words;
    Decoded made{kNoAlternatives, {}};
    made.nest = reader_.ReadGroupWords(g.bodies.size(), node, {}, &words);
    if (ok()) {
      made.words = s_.memory_.Copy(std::span<const uint64_t>(words));
    } else {
      is_damaged_ = true;
    }
    g.nodes.push_back(made);
    g.read[node] = static_cast<uint32_t>(g.nodes.size());
  }
  return g.nodes[g.read[node] - 1].words;
}

bool SavedPool::IsTooDeep(uint32_t group, uint32_t node) {
  const Group& g = groups_[group];
  Decoded& made = groups_[group].nodes[g.read[node] - 1];
  size_t at = 0;
  const GroupNode read = ReadGroupNode(made.words, &at);
  for (size_t i = 0; i < read.children.size(); ++i) {
    const uint64_t child = read.children[i];
    if (IsTerm(child)) continue;
    const TermNest nest = g.nodes[g.read[child >> 1] - 1].nest;
    made.nest.Cover(TermReader::NestInGroup(read.kind, i, read.children.size(), nest));
  }
  return made.nest.IsOver(reader_.most_);
}

ScratchVector<uint64_t> SavedPool::GroupWords(uint32_t group) {
  const Group& g = groups_[group];
  ScratchVector<uint64_t> words = {g.bodies.size(), g.begins.size()};
  for (uint32_t rule = 0; rule < g.bodies.size(); ++rule) words.push_back(GroupBody(group, rule));
  for (uint32_t node = 0; node < g.begins.size(); ++node) {
    const std::span<const uint64_t> read = Node(group, node);
    if (read.data() == kNoAlternatives) return {};
    words.insert(words.end(), read.begin(), read.end());
  }
  return words;
}

}  // namespace grammask::internal
