// Procedures whose bodies are made when a parse first calls them.
//
// A grammar has hundreds of rules of which a text may need few. So a rule, built or loaded, is
// first only a program, kept word for word: twenty words per property instead of twelve interned
// terms. What callers must know, its shortest length, was found with the program. Equal programs
// are one procedure; another procedure with the same body may exist, but the states inside are the
// same terms, with the same masks. Cost: to find a program 1 ns a word, to run it some 100 ns a
// step. Tests: tests/automaton/build_test.cc, saved_terms_test.cc,
// tests/matcher/saved_grammar_test.cc.
#include <cstring>

#include "automaton/body_program.h"
#include "automaton/records.h"
#include "automaton/saved_pool.h"
#include "base/mix.h"
#include "grammar/ast.h"

namespace grammask::internal {

ProcId TermStore::LazyProc(std::span<const uint32_t> program, uint64_t min_length) {
  const auto [kept, proc, added] = KeepIn(&memory_, program, &lazy_);
  if (added) {
    *proc = AddProc(min_length == 0, min_length);
    procs_[proc->value].program = kept;
  }
  return *proc;
}

ProcId TermStore::SavedProc(std::string_view name, uint32_t pool, uint32_t number,
                            uint64_t min_length) {
  constexpr uint32_t kKind = StepWord(TermKind::kAll, 0);
  uint32_t key[1 + kSavedNameBytes / 4] = {kKind};
  std::memcpy(key + 1, name.data(), kSavedNameBytes);
  const auto [kept, proc, added] = KeepIn(&memory_, std::span<const uint32_t>(key), &lazy_);
  if (added) {
    *proc = AddProc(min_length == 0, min_length);
    const uint32_t program[] = {kKind, pool, number};
    SetProgram(*proc, program);
  }
  return *proc;
}

TermId TermStore::MakeBody(ProcId proc) {
  const std::span<const uint32_t> program = procs_[proc.value].program;
  if (program.empty()) return Nothing();
  TermId body;
  if (IsSavedBody(program)) {
    body = ReadSavedBody(program, this);
  } else if (IsPoolBody(program)) {
    body = pools_[program[1]]->Body(program[2]);
  } else if (IsGroupBody(program)) {
    const bool saved = groups_[program[1]].pool != nullptr;
    if (saved) BeginBuilding();
    body = MakeGroupBody(program[1], program[2]);
    if (saved) {
      if (over_budget_) NoteOverrun(Overrun::kStates);
      EndBuilding();
      if (body == Nothing()) body = AnyBytes(procs_[proc.value].min_length, this);
    }
  } else if ((program[0] & 0xF) == static_cast<uint32_t>(TermKind::kCall)) {
    const RecordPartPlace part = {static_cast<RecordPart>(program[0] >> 4), program[2]};
    const ProcId whole(program[1]);
    const auto known = records_->MakePart(whole, part);
    body = known.has_value() ? *known : RunProgram(procs_[whole.value].program, whole, part);
  } else {
    body = RunProgram(program, proc, {});
  }
  SetBody(proc, body);
  return body;
}

TermId TermStore::RunProgram(std::span<const uint32_t> program, ProcId proc,
                             std::optional<RecordPartPlace> part) {
  std::vector<TermId> made, parts;
  auto term = [&](uint32_t word) {
    return (word & kLocalTerm) != 0 ? made[word & ~kLocalTerm] : TermId(word);
  };
  auto count64 = [&](size_t at) {
    return static_cast<int64_t>(uint64_t{program[at + 1]} << 32 | program[at]);
  };
  for (size_t at = 0; at < program.size();) {
    const auto kind = static_cast<TermKind>(program[at] & 0xF);
    const size_t count = program[at] >> 4;
    ++at;
    TermId result;
    switch (kind) {
      case TermKind::kBytes:
      case TermKind::kJsonText: {
        char text[kMaxLiteral];
        std::memcpy(text, &program[at], count);
        result = Literal({text, count}, kind == TermKind::kJsonText);
        at += (count + 3) / 4;
        break;
      }
      case TermKind::kByteClass: {
        ByteSet bytes;
        for (size_t i = 0; i < 4; ++i) bytes.words[i] = static_cast<uint64_t>(count64(at + 2 * i));
        result = ByteClass(bytes);
        at += 8;
        break;
      }
      case TermKind::kSequence:
        parts.clear();
        for (size_t i = 0; i < count; ++i) parts.push_back(term(program[at + i]));
        result = Sequence(parts);
        at += count;
        break;
      case TermKind::kChoice:
        parts.clear();
        for (size_t i = 0; i < count; ++i) parts.push_back(term(program[at + i]));
        result = Choice(parts);
        at += count;
        break;
      case TermKind::kMembers: {  // the last step
        parts.clear();
        for (size_t i = 0; i < RecordView::kFixed + count; ++i) {
          parts.push_back(term(program[at + i]));
        }
        return records_->Make(parts, program.subspan(at), proc, part);
      }
      default:  // kRepeat
        result = Repeat(term(program[at]), count64(at + 1), count64(at + 3));
        at += 5;
        break;
    }
    made.push_back(result);
  }
  return made.back();
}

}  // namespace grammask::internal
