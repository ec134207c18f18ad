// Records (ast.h) to terms, when a text gets to them.
//
// The terms are those of what the record stands for (grammar/record.h): with members a, b, c, all
// optional, a R1 | b R2 | c R3, where R1 = (,b)? R2. Of a record with many members every sixteenth
// R is a procedure of its own, made when it is called, and so are further members that may come
// first: in `{` of an object with a thousand required properties only the first sixteen are made.
// Key texts that others must not have are taken out of any string as one list of words.
//
// Cost: a dozen terms a member. Tests: tests/automaton/short_forms_test.cc.
#include <absl/container/inlined_vector.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "automaton/body_program.h"
#include "automaton/words.h"
#include "grammar/ast.h"

namespace grammask::internal {
namespace {

constexpr size_t kChunk = 16;  // members of one procedure

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

  TermId Whole() {
    const TermId content = Firsts(0);
    TermId inside[] = {view_.may_be_empty() ? end_ : TermStore::Nothing(), content};
    return s_.Sequence(open_, s_.Choice(inside));
  }

  // A member from `first` on that may be the first of all, and what follows.
  TermId Firsts(size_t first) {
    const size_t last = std::min(first + kChunk, may_lead_);
    absl::InlinedVector<TermId, kChunk + 1> alternatives;
    TermId rest = last < members_.size() ? RestOrCall(last) : Others();
    for (size_t i = last; i-- > first;) {
      alternatives.push_back(Member(members_[i], quote_, rest));
      if (i > first) rest = Before(members_[i], rest);
    }
    if (last < may_lead_) {
      alternatives.push_back(Part(RecordPart::kFirsts, last, FirstsLength(last)));
    } else if (all_optional_ && other_ != TermStore::Nothing()) {
      alternatives.push_back(s_.Sequence(Other(), Others()));
    }
    return s_.Choice(alternatives);
  }

  // What follows a member, where the next one is `first`.
  TermId Rest(size_t first) {
    const size_t last = std::min((first / kChunk + 1) * kChunk, members_.size());
    TermId rest = last < members_.size() ? RestOrCall(last) : Others();
    for (size_t i = last; i-- > first;) rest = Before(members_[i], rest);
    return rest;
  }

 private:
  struct Entry {
    size_t index;  // in view_
    TermId value;
    bool required;
  };

  TermId RestOrCall(size_t first) {
    if (first % kChunk != 0) return Rest(first);
    return Part(RecordPart::kRest, first, RestLength(first));
  }

  TermId Part(RecordPart part, size_t first, uint64_t length) {
    const uint32_t program[] = {StepWord(TermKind::kCall, static_cast<size_t>(part)), proc_.value,
                                static_cast<uint32_t>(first)};
    return s_.Call(s_.LazyProc(program, length));
  }

  TermId Member(const Entry& member, TermId lead, TermId rest) {
    const TermId parts[] = {
        lead, s_.Literal(view_.key(member.index), true), quote_colon_, member.value, after_, rest};
    return s_.Sequence(parts);
  }

  // `rest` behind a member that is not the first of all.
  TermId Before(const Entry& member, TermId rest) {
    if (member.required) return Member(member, comma_quote_, rest);
    return s_.Sequence(s_.Repeat(Member(member, comma_quote_, TermStore::Empty()), 0, 1), rest);
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
  uint64_t RestLength(size_t first) const {
    uint64_t length = LengthOf(end_);
    for (size_t i = first; i < members_.size(); ++i) {
      if (members_[i].required) length += LengthOf(members_[i], comma_quote_);
    }
    return std::min(length, kMaxLength);
  }
  uint64_t FirstsLength(size_t first) {
    uint64_t least = kMaxLength;
    const uint64_t rest = RestLength(may_lead_);
    // One that must come is first of all in the shortest text.
    const size_t begin = all_optional_ ? first : may_lead_ - 1;
    for (size_t i = begin; i < may_lead_; ++i) {
      least = std::min(least, LengthOf(members_[i], quote_) + rest);
    }
    if (all_optional_ && other_ != TermStore::Nothing()) {
      least = std::min(least, LengthOf(Other()) + LengthOf(end_));
    }
    return least;
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
};

}  // namespace

TermId MakeRecord(std::span<const TermId> terms, std::span<const uint32_t> words, ProcId proc,
                  TermStore* store) {
  return RecordMaker(terms, words, proc, store).Whole();
}

TermId MakeRecordPart(RecordPart part, size_t first, std::span<const TermId> terms,
                      std::span<const uint32_t> words, ProcId proc, TermStore* store) {
  RecordMaker maker(terms, words, proc, store);
  return part == RecordPart::kFirsts ? maker.Firsts(first) : maker.Rest(first);
}

}  // namespace grammask::internal
