// Records (ast.h) to terms, when a text gets to them.
//
// The terms are those of what the record stands for (grammar/record.h): with members a, b, c, all
// optional, a R1 | b R2 | c R3, where R1 = (,b)? R2. Of a record with many members every sixteenth
// R is a procedure of its own, made when it is called, and so are further members that may come
// first: in `{` of an object with a thousand required properties only the first four are made.
// The keys of a procedure are read in one state as far as all of them begin alike.
// Key texts that others must not have are taken out of any string as one list of words.
//
// Cost: a dozen terms a member, and for the first of a record's procedures one look at each member.
// Tests: tests/automaton/short_forms_test.cc.
#include "automaton/records.h"

#include <absl/container/inlined_vector.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "automaton/words.h"
#include "base/utf8.h"
#include "grammar/ast.h"

namespace grammask::internal {
namespace {

constexpr size_t kChunk = 16;          // members of one procedure
constexpr size_t kFirstChunk = 4;      // of the first one of several, which each first mask needs
constexpr size_t kLarge = 4 * kChunk;  // members of a record that is kept at hand

}  // namespace

class RecordMaker {
 public:
  RecordMaker(std::span<const TermId> terms, std::span<const uint32_t> words, ProcId proc,
              TermStore* store)
      : s_(*store),
        proc_(proc),
        view_(words.data() + terms.size(), terms.size() - RecordView::kFixed),
        open_(terms[RecordView::kOpen]),
        end_(terms[RecordView::kEnd]),
        quote_(terms[RecordView::kQuote]),
        comma_(terms[RecordView::kComma]),
        comma_quote_(terms[RecordView::kCommaQuote]),
        quote_colon_(terms[RecordView::kQuoteColon]),
        colon_(terms[RecordView::kColon]),
        after_(terms[RecordView::kAfter]),
        any_key_(terms[RecordView::kAnyKey]),
        other_(terms[RecordView::kOther]) {
    for (size_t i = 0; i < view_.size(); ++i) {
      const TermId value = terms[RecordView::kFixed + i];
      if (value != TermStore::Nothing()) members_.push_back({i, value, view_.required(i)});
    }
    while (may_lead_ < members_.size() && !members_[may_lead_].required) ++may_lead_;
    all_optional_ = may_lead_ == members_.size();
    if (!all_optional_) ++may_lead_;
  }

  bool is_large() const { return members_.size() > kLarge; }

  TermId Made(std::optional<RecordPartPlace> part) {
    if (!part.has_value()) return Whole();
    return part->part == RecordPart::kFirsts ? Firsts(part->first) : Rest(part->first);
  }

 private:
  struct Entry {
    size_t index;  // in view_
    TermId value;
    bool required;
  };

  TermId Whole() {
    const TermId content = Firsts(0);
    TermId inside[] = {view_.may_be_empty() ? end_ : TermStore::Nothing(), content};
    return s_.Sequence(open_, s_.Choice(inside));
  }

  // Members of one procedure, put in front of what follows them, from the last to the first.
  struct Run {
    std::string_view prefix;                   // all their keys begin with it
    TermId rest;                               // what follows the member before the first
    TermId behind;                             // that where none of the run comes next
    absl::InlinedVector<TermId, kChunk> next;  // that with each, from behind the prefix on
  };

  // The members [first, last), with what follows a member where the next one is `first`, or, but
  // for that, `second`.
  Run RunOf(size_t first, size_t last, size_t second) {
    Run run;
    run.prefix = CommonPrefix(first, last);
    run.rest = run.behind = last < members_.size() ? RestOrCall(last) : Others();
    for (size_t i = last; i-- > first;) {
      const Entry& m = members_[i];
      if (m.required) {
        run.next.clear();
        run.behind = TermStore::Nothing();
      }
      const std::string_view key = view_.key(m.index).substr(run.prefix.size());
      const TermId parts[] = {s_.Literal(key, true), quote_colon_, m.value, after_, run.rest};
      run.next.push_back(s_.Sequence(parts));
      if (i < second) continue;
      const TermId alternatives[] = {Behind(comma_quote_, run), run.behind};
      run.rest = s_.Choice(alternatives);
    }
    return run;
  }

  TermId Behind(TermId lead, const Run& run) {
    const TermId parts[] = {lead, s_.Literal(run.prefix, true), s_.Choice(run.next)};
    return s_.Sequence(parts);
  }

  // Keys such as field_0001 share theirs, and so the states of it.
  std::string_view CommonPrefix(size_t first, size_t last) const {
    std::string_view prefix = view_.key(members_[first].index);
    for (size_t i = first + 1; i < last && !prefix.empty(); ++i) {
      const std::string_view key = view_.key(members_[i].index);
      size_t same = 0;
      while (same < std::min(prefix.size(), key.size()) && prefix[same] == key[same]) ++same;
      prefix = prefix.substr(0, same);
    }
    return prefix.substr(0, CompleteUtf8Prefix(prefix));
  }

  // Where the members of a procedure end, of which `first` is one.
  size_t EndOfChunk(size_t first) const {
    if (first < kFirstChunk && members_.size() > 2 * kFirstChunk) return kFirstChunk;
    return (first / kChunk + 1) * kChunk;
  }

  // A member from `first` on that may be the first of all, and what follows.
  TermId Firsts(size_t first) {
    const size_t last = std::min(EndOfChunk(first), may_lead_);
    absl::InlinedVector<TermId, 3> alternatives;
    if (first < last) alternatives.push_back(Behind(quote_, RunOf(first, last, first + 1)));
    if (last < may_lead_) {
      alternatives.push_back(Part(RecordPart::kFirsts, last, Lengths().firsts[last]));
    } else if (all_optional_ && other_ != TermStore::Nothing()) {
      alternatives.push_back(s_.Sequence(Other(), Others()));
    }
    return s_.Choice(alternatives);
  }

  // What follows a member, where the next one is `first`.
  TermId Rest(size_t first) {
    const size_t last = std::min(EndOfChunk(first), members_.size());
    return first < last ? RunOf(first, last, first).rest : Others();
  }

  TermId RestOrCall(size_t first) {
    const bool begins_chunk = first % kChunk == 0 || first == EndOfChunk(0);
    if (!begins_chunk) return Rest(first);
    return Part(RecordPart::kRest, first, Lengths().rest[first]);
  }

  TermId Part(RecordPart part, size_t first, uint64_t length) {
    const uint32_t program[] = {StepWord(TermKind::kCall, static_cast<size_t>(part)), proc_.value,
                                static_cast<uint32_t>(first)};
    return s_.Call(s_.LazyProc(program, length));
  }

  // A member that is none of the named ones.
  TermId Other() {
    if (other_made_ != TermStore::Nothing()) return other_made_;
    TermId key = any_key_;
    if (view_.size() > 0) {
      std::vector<std::string_view> names;
      for (size_t i = 0; i < view_.size(); ++i) names.push_back(view_.key(i));
      TermId parts[] = {any_key_, s_.Not(OneOf(std::move(names)))};
      key = s_.And(parts);
    }
    const TermId quoted[] = {quote_, key, quote_};
    const TermId parts[] = {s_.Call(s_.ProcOf(s_.Sequence(quoted))), colon_, other_, after_};
    return other_made_ = s_.Sequence(parts);
  }

  TermId OneOf(std::vector<std::string_view> names) {
    if (names.size() >= WordTable::kFewest) return s_.Words(std::move(names), true);
    absl::InlinedVector<TermId, 16> texts;
    for (std::string_view name : names) texts.push_back(s_.Literal(name, true));
    return s_.Choice(texts);
  }

  // What follows the last named member.
  TermId Others() {
    if (other_ == TermStore::Nothing()) return end_;
    const TermId more = s_.Repeat(s_.Sequence(comma_, Other()), 0, kUnbounded);
    return s_.Sequence(more, end_);
  }

  uint64_t LengthOf(TermId term) const { return s_.term(term).min_length; }
  uint64_t LengthOf(const Entry& member, TermId lead) const {
    return LengthOf(lead) + TermStore::ShortestSpelling(view_.key(member.index), true) +
           LengthOf(quote_colon_) + LengthOf(member.value) + LengthOf(after_);
  }
  // By the first member, the lengths of the shortest texts of Rest() and, of members that may be
  // the first of all, of Firsts().
  struct PartLengths {
    std::vector<uint64_t> rest, firsts;
  };
  const PartLengths& Lengths() {
    if (!lengths_.rest.empty()) return lengths_;
    const size_t count = members_.size();
    lengths_.rest.assign(count + 1, LengthOf(end_));
    for (size_t i = count; i-- > 0;) {
      const Entry& m = members_[i];
      const uint64_t own = m.required ? LengthOf(m, comma_quote_) : 0;
      lengths_.rest[i] = AddLengths(lengths_.rest[i + 1], own);
    }
    uint64_t least = kMaxLength;
    if (all_optional_ && other_ != TermStore::Nothing()) {
      least = LengthOf(Other()) + LengthOf(end_);
    }
    lengths_.firsts.assign(may_lead_ + 1, least);
    for (size_t i = may_lead_; i-- > 0;) {
      const uint64_t own = AddLengths(LengthOf(members_[i], quote_), lengths_.rest[may_lead_]);
      // One that must come is first of all in the shortest text.
      const bool counts = all_optional_ || i == may_lead_ - 1;
      lengths_.firsts[i] = counts ? std::min(lengths_.firsts[i + 1], own) : lengths_.firsts[i + 1];
    }
    return lengths_;
  }

  TermStore& s_;
  const ProcId proc_;
  const RecordView view_;
  const TermId open_, end_, quote_, comma_, comma_quote_, quote_colon_, colon_, after_, any_key_,
      other_;
  std::vector<Entry> members_;  // those that have values
  size_t may_lead_ = 0;         // so many of them may be the first of all
  bool all_optional_ = false;
  TermId other_made_;
  PartLengths lengths_;  // once asked for
};

RecordTable::RecordTable(TermStore* store) : s_(*store) {}
RecordTable::~RecordTable() = default;

TermId RecordTable::Make(std::span<const TermId> terms, std::span<const uint32_t> words,
                         ProcId proc, std::optional<RecordPartPlace> part) {
  RecordMaker maker(terms, words, proc, &s_);
  const TermId made = maker.Made(part);
  if (maker.is_large()) {
    large_.try_emplace(proc.value, std::make_unique<RecordMaker>(std::move(maker)));
  }
  return made;
}

std::optional<TermId> RecordTable::MakePart(ProcId proc, const RecordPartPlace& part) {
  const auto known = large_.find(proc.value);
  if (known == large_.end()) return std::nullopt;
  return known->second->Made(part);
}

}  // namespace grammask::internal
