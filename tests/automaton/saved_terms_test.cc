// Terms to bytes and back, into another store; and bytes that no writer wrote.
#include "automaton/saved_terms.h"

#include <gtest/gtest.h>

#include <mutex>
#include <string>
#include <vector>

#include "automaton/build.h"
#include "automaton/recursive_group.h"
#include "grammar/ebnf.h"
#include "grammar/regex.h"

namespace grammask::internal {
namespace {

TermId Build(const std::string& ebnf, TermStore* store) {
  const auto grammar = ParseEbnf(ebnf);
  EXPECT_TRUE(grammar.ok()) << grammar.status().message();
  const auto root = BuildTerms(*grammar, store);
  EXPECT_TRUE(root.ok()) << root.status().message();
  return *root;
}

StatusOr<std::vector<TermId>> Read(const ByteWriter& bytes, TermStore* store,
                                   bool trusted = false) {
  const SavedPart part{bytes.bytes(), 0};
  std::lock_guard lock(store->mutex());
  return ReadTerms({&part, 1}, trusted, store);
}

StatusCode CodeOf(const ByteWriter& bytes) {
  TermStore store(Limits{}, 16);
  const auto read = Read(bytes, &store);
  if (read.ok()) return StatusCode::kOk;
  EXPECT_FALSE(read.status().message().empty());
  return read.status().code();
}

// A term of one store in another one: the same expression, the same lengths.
void ExpectRoundTrip(const std::string& ebnf, bool trusted) {
  SCOPED_TRACE(ebnf);
  TermStore from(Limits{}, 16), to(Limits{}, 16);
  const TermId root = Build(ebnf, &from);
  std::optional<uint32_t> number;
  ByteWriter bytes;
  {
    std::lock_guard lock(from.mutex());
    TermWriter writer(&from);
    number = writer.Add(root);
    bytes.Bytes(writer.bytes());
  }
  ASSERT_TRUE(number.has_value());
  const auto read = Read(bytes, &to, trusted);
  ASSERT_TRUE(read.ok()) << read.status().message();
  const TermId loaded = (*read)[*number];
  EXPECT_EQ(to.term(loaded).min_length, from.term(root).min_length);
  EXPECT_EQ(to.term(loaded).nullable, from.term(root).nullable);
  // Loaded again, and into the store it came from, it is the same term.
  EXPECT_EQ((*Read(bytes, &to, trusted))[*number], loaded);
  if (ebnf.find("::=", 8) == std::string::npos) {
    EXPECT_EQ((*Read(bytes, &from, trusted))[*number], root);
    EXPECT_EQ(Build(ebnf, &to), loaded);
  }
}

TEST(SavedTerms, RoundTrips) {
  for (const bool trusted : {false, true}) {
    ExpectRoundTrip("root ::= \"a\"", trusted);
    ExpectRoundTrip("root ::= (\"ab\" | [c-f]{2,900} | JsonText(\"x\\n\"))* \"end\"", trusted);
    ExpectRoundTrip("root ::= And([a-z]* \"b\" [a-z]*, Not(\"b\" | \"abc\"))", trusted);
    ExpectRoundTrip("root ::= Multiple(7, 2)", trusted);
    ExpectRoundTrip("root ::= Token(3, 5) ExcludeToken(2)", trusted);
    ExpectRoundTrip(
        "root ::= Members(\"1..3 required optional repeated\", \",\", \"}\", \"a\", \"b\", "
        "[c-e])",
        trusted);
    ExpectRoundTrip("root ::= \"a\" | \"b\" root \"c\" | other\nother ::= root [a-z]{40}", trusted);
    ExpectRoundTrip(
        "root ::= big big\nbig ::= [a-z]{9,} \"abcdefgh\" ([0-9]{9,} | \"x\" | \"yz\") "
        "\"q\" [a-f]{9} \"r\" [k-n]{10} \"s\" [^a] \"t\" [^b] \"u\" [^c]",
        trusted);
  }
}

TEST(SavedTerms, ARecursiveGroupIsTheBuilders) {
  const std::string ebnf = "root ::= \"x\" | \"(\" root \")\" | pair\npair ::= root \"=\" root";
  TermStore from(Limits{}, 16), to(Limits{}, 16);
  const TermId root = Build(ebnf, &from);
  const TermId built = Build(ebnf, &to);
  ByteWriter bytes;
  std::optional<uint32_t> number;
  {
    std::lock_guard lock(from.mutex());
    TermWriter writer(&from);
    number = writer.Add(root);
    bytes.Bytes(writer.bytes());
  }
  EXPECT_EQ((*Read(bytes, &to))[*number], built);
}

void Text(const char* text, ByteWriter* out) {
  out->Byte(static_cast<uint8_t>(SavedTerm::kBytes));
  out->Text(text);
}

void Record(SavedTerm kind, std::vector<uint64_t> numbers, ByteWriter* out) {
  out->Byte(static_cast<uint8_t>(kind));
  for (uint64_t n : numbers) out->Number(n);
}

TEST(SavedTerms, DepthsThatWorkGoesDownByRecursionAreBounded) {
  ByteWriter nots, heads, rests, lists;
  Text("a", &nots);
  for (int i = 0; i < 2000; ++i) {  // a complement of "b", that, a complement of "b", that, ...
    Text("b", &nots);
    Record(SavedTerm::kSequence, {1, 2}, &nots);
    Record(SavedTerm::kNot, {1, 0}, &nots);
  }
  EXPECT_EQ(CodeOf(nots), StatusCode::kResourceExhausted);
  Text("a", &lists);
  for (int i = 0; i < 100'000; ++i) {  // the end of a list of members is a list of members ...
    Text("b", &lists);
    Record(SavedTerm::kMembers, {1, 2, 0, 5, 0, 1, 2, 1}, &lists);
  }
  EXPECT_EQ(CodeOf(lists), StatusCode::kResourceExhausted);
  Text("a", &rests);
  for (int i = 0; i < 100'000; ++i) {  // a long text is no depth
    Text(i % 2 == 0 ? "b" : "c", &rests);
    Record(SavedTerm::kSequence, {1, 2}, &rests);
  }
  EXPECT_EQ(CodeOf(rests), StatusCode::kOk);
}

TEST(SavedTerms, WhatNoTextCompletesIsRefused) {
  ByteWriter group;  // rule 0 ::= rule 0
  Record(SavedTerm::kGroup, {1, 1, 0}, &group);
  group.Byte(static_cast<uint8_t>(NodeKind::kRule));
  for (int n : {0, 0}) group.Number(static_cast<uint64_t>(n));
  EXPECT_EQ(CodeOf(group), StatusCode::kInvalidArgument);
  ByteWriter both;  // "a" and "b" at once
  Text("a", &both);
  Text("b", &both);
  Record(SavedTerm::kAnd, {2, 1, 2, 1}, &both);
  EXPECT_EQ(CodeOf(both), StatusCode::kInvalidArgument);
  ByteWriter nothing;  // term 0 is Nothing(), 3 before the first record
  Record(SavedTerm::kSequence, {3, 2}, &nothing);
  EXPECT_EQ(CodeOf(nothing), StatusCode::kInvalidArgument);
  ByteWriter lazy;
  Record(SavedTerm::kLazyCall, {1}, &lazy);
  Record(SavedTerm::kSequence, {1, 3 << 1 | 1}, &lazy);
  EXPECT_EQ(CodeOf(lazy), StatusCode::kInvalidArgument);
}

TEST(SavedTerms, NumbersOutOfRangeAreRefused) {
  const std::vector<std::pair<SavedTerm, std::vector<uint64_t>>> records = {
      {SavedTerm::kSequence, {1, 4}},
      {SavedTerm::kSequence, {0, 1}},
      {SavedTerm::kChoice, {uint64_t{1} << 60, 1}},
      {SavedTerm::kChoice, {0}},
      {SavedTerm::kRepeat, {1, 5, 3}},
      {SavedTerm::kRepeat, {1, uint64_t{1} << 63, 0}},
      {SavedTerm::kCall, {3}},
      {SavedTerm::kMultiple, {7, 7, 0}},
      {SavedTerm::kMultiple, {0, 0, 0}},
      {SavedTerm::kMultiple, {0, 7, 401}},
      {SavedTerm::kTokens, {0, 2, 5, 5}},
      {SavedTerm::kMembers, {1, 1, 0, 0, 0, 1, 0, 1}},
      {SavedTerm::kMemberState, {1, 0, 0, 0}},
      {SavedTerm::kGroup, {uint64_t{1} << 40, 1}},
      {SavedTerm::kGroupCall, {0, 0}},
      {SavedTerm::kLazyCall, {uint64_t{1} << 50}},
      {SavedTerm::kLazyCall, {0}},
      {SavedTerm{99}, {}},
  };
  for (const auto& [kind, numbers] : records) {
    ByteWriter bytes;
    Record(kind, numbers, &bytes);
    EXPECT_EQ(CodeOf(bytes), StatusCode::kInvalidArgument) << static_cast<int>(kind);
  }
}

TEST(SavedTerms, ALazyBodyIsMadeWhenItIsAskedFor) {
  TermStore store(Limits{}, 16);
  ByteWriter bytes;
  Record(SavedTerm::kLazyCall, {3}, &bytes);
  Text("ab", &bytes);
  Text("cd", &bytes);
  Record(SavedTerm::kSequence, {3, 4, 2, 4}, &bytes);  // "ab" "cd" "ab"
  const auto read = Read(bytes, &store);
  ASSERT_TRUE(read.ok()) << read.status().message();
  const Term& call = store.term(read->back());
  ASSERT_EQ(call.kind, TermKind::kCall);
  EXPECT_EQ(call.min_length, 6u);
  const ProcId proc(static_cast<uint32_t>(call.a));
  EXPECT_EQ(store.proc(proc).body, TermStore::Nothing());
  std::lock_guard lock(store.mutex());
  const TermId ab = store.Literal("ab", false), cd = store.Literal("cd", false);
  EXPECT_EQ(store.BodyOf(proc), store.Sequence(ab, store.Sequence(cd, ab)));
  EXPECT_EQ(store.BodyOf(proc), store.proc(proc).body);
}

}  // namespace
}  // namespace grammask::internal
