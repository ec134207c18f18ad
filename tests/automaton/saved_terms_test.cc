// Terms to bytes and back, into another store; and bytes that no writer wrote.
#include "automaton/saved_terms.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "automaton/build.h"
#include "automaton/members.h"
#include "automaton/recursive_group.h"
#include "automaton/saved_pool.h"
#include "grammar/ebnf.h"
#include "grammar/json_schema.h"
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

// A list of records, and the number in it of the term that it was written for.
struct List {
  std::string bytes;
  uint32_t root;
};

List Write(TermId root, TermStore* store) {
  std::lock_guard lock(store->mutex());
  TermWriter writer(store);
  const std::optional<uint32_t> number = writer.Add(root);
  EXPECT_TRUE(number.has_value());
  return {writer.TakeList(), number.value_or(0)};
}

// The terms of a list, as from anyone.
StatusOr<std::vector<TermId>> ReadList(const std::string& bytes, TermStore* store) {
  const SavedPart list{bytes, 0};
  std::lock_guard lock(store->mutex());
  return ReadTerms({&list, 1}, store);
}

// One of them, as from a trusted file.
StatusOr<TermId> GetTerm(const std::string& bytes, uint32_t number, TermStore* store) {
  const auto file = std::make_shared<const std::string>(bytes);
  const SavedPart list{*file, 0};
  std::lock_guard lock(store->mutex());
  const auto pool = SavedPool::Open(file, std::hash<std::string>()(bytes), 0, {&list, 1}, store);
  if (!pool.ok()) return pool.status();
  if (number >= (*pool)->size()) return InvalidArgument("no such term");
  return (*pool)->Get(number);
}

StatusOr<TermId> ReadRoot(const List& list, TermStore* store, bool trusted) {
  if (trusted) return GetTerm(list.bytes, list.root, store);
  const auto read = ReadList(list.bytes, store);
  if (!read.ok()) return read.status();
  return (*read)[list.root];
}

// The same where the bytes are its records alone.
StatusOr<std::vector<TermId>> Read(const ByteWriter& records, TermStore* store) {
  ByteWriter list;
  list.Text("");
  list.Bytes(records.bytes());
  return ReadList(list.bytes(), store);
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
  const List list = Write(root, &from);
  const auto read = ReadRoot(list, &to, trusted);
  ASSERT_TRUE(read.ok()) << read.status().message();
  const TermId loaded = *read;
  EXPECT_EQ(to.term(loaded).min_length, from.term(root).min_length);
  EXPECT_EQ(to.term(loaded).nullable, from.term(root).nullable);
  // Loaded again, and into the store it came from, it is the same term.
  EXPECT_EQ(*ReadRoot(list, &to, trusted), loaded);
  if (ebnf.find("::=", 8) == std::string::npos) {
    EXPECT_EQ(*ReadRoot(list, &from, trusted), root);
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
  const List list = Write(root, &from);
  for (const bool trusted : {false, true}) EXPECT_EQ(*ReadRoot(list, &to, trusted), built);
}

TEST(SavedTerms, RecordsInARecursiveGroupAreTheBuilders) {
  JsonSchemaOptions options;
  options.short_forms = true;
  options.strict_mode = true;
  const Grammar grammar = GrammarFromJsonSchema(R"({"$ref":"#/$defs/t","$defs":{
      "t":{"type":"object","properties":{"a":{"$ref":"#/$defs/u"},"b":{"type":"null"}},
           "required":["b"]},
      "u":{"anyOf":[{"type":"object","properties":{"m":{"$ref":"#/$defs/t"},"n":{"const":1}}},
           {"type":"array","items":{"$ref":"#/$defs/t"}},
           {"type":"object","properties":{"k":{"const":"x"},"v":{"$ref":"#/$defs/u"}},
            "required":["k"]}]}}})",
                                                options)
                              .value();
  int records = 0;
  for (uint32_t n = 0; n < grammar.node_count(); ++n) {
    records += grammar.node(NodeId(n)).kind == NodeKind::kRecord;
  }
  EXPECT_EQ(records, 3);
  TermStore from(Limits{}, 16), built_first(Limits{}, 16), read_first(Limits{}, 16);
  const TermId root = BuildTerms(grammar, &from).value();
  const List list = Write(root, &from);
  const TermId built = BuildTerms(grammar, &built_first).value();
  for (const bool trusted : {false, true}) {
    EXPECT_EQ(*ReadRoot(list, &built_first, trusted), built);
    const TermId read = *ReadRoot(list, &read_first, trusted);
    EXPECT_EQ(BuildTerms(grammar, &read_first).value(), read);
  }
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
  EXPECT_EQ(CodeOf(nots), StatusCode::kOk);  // searches for emptiness need no stack
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
  group.Byte(static_cast<uint8_t>(SavedTerm::kGroup));
  group.Bytes(std::string(kSavedNameBytes + 1, '\0'));
  for (uint64_t n : {0, 1, 1, 0, 1, 1, 3}) group.Number(n);
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
  lazy.Byte(static_cast<uint8_t>(SavedTerm::kLazyCall));
  lazy.Bytes(std::string(kSavedNameBytes, '\0'));
  for (uint64_t n : {1, 1, 3, 1, 0}) lazy.Number(n);  // of length 1; refers to term 0; one byte
  EXPECT_EQ(CodeOf(lazy), StatusCode::kInvalidArgument);
}

// A group of one rule, which is a record with one member; beside it a node without any text.
struct ForgedRecord {
  enum Part { kText, kAnyText, kNothing, kNode };

  uint64_t children = 11;
  std::string key = "k";
  uint64_t length = 7;  // of the rule, as the file has it
  uint64_t required = 1, empty = 0;
  Part any_key = kNothing, other = kNothing, quote = kText, value = kText;

  StatusCode Code() const {
    ByteWriter out;
    TermStore store(Limits{}, 16);
    TermId any;
    {
      std::lock_guard lock(store.mutex());
      any = store.Repeat(store.Character(CodePointSet::All(), true), 0, kUnbounded);
    }
    const List list = Write(any, &store);
    ByteReader in(list.bytes);
    in.Text();
    out.Bytes(std::string_view(list.bytes).substr(in.offset()));
    const uint64_t terms = list.root + 2;  // with the text
    Text("a", &out);
    auto reference = [&](Part part) {
      out.Number(part == kNode ? 0 : static_cast<uint64_t>(part) << 1 | 1);
    };
    out.Byte(static_cast<uint8_t>(SavedTerm::kGroup));
    out.Bytes(std::string(kSavedNameBytes + 1, '\0'));
    for (uint64_t n : {uint64_t{3}, uint64_t{1}, uint64_t{2}, terms}) out.Number(n);
    for (uint64_t n : {uint64_t{1}, uint64_t{2}, uint64_t{2}, length}) out.Number(n);
    out.Text("");  // the lengths of nodes, for those who read here and there
    out.Byte(static_cast<uint8_t>(NodeKind::kSequence));
    out.Number(1);
    reference(kNothing);
    out.Byte(static_cast<uint8_t>(NodeKind::kRecord));
    out.Number(children);
    out.Number(empty);
    out.Number(required);
    out.Text(key);
    for (int i = 0; i < 8; ++i) reference(i == RecordView::kQuote ? quote : kText);
    for (Part part : {any_key, other, value}) reference(part);
    Record(SavedTerm::kGroupCall, {0, 0}, &out);
    return CodeOf(out);
  }
};

TEST(SavedTerms, RecordsWhoseStatesMightFailAreRefused) {
  using F = ForgedRecord;
  const StatusCode ok = StatusCode::kOk, bad = StatusCode::kInvalidArgument;
  EXPECT_EQ(F{}.Code(), ok);
  EXPECT_EQ((F{.length = 2, .required = 0, .empty = 1, .value = F::kNothing}.Code()), ok);
  EXPECT_EQ((F{.length = 2, .required = 0, .empty = 1, .value = F::kNode}.Code()), ok);
  EXPECT_EQ((F{.any_key = F::kAnyText, .other = F::kText}.Code()), ok);
  EXPECT_EQ((F{.any_key = F::kAnyText}.Code()), ok);
  EXPECT_EQ((F{.length = 6}.Code()), bad);
  EXPECT_EQ((F{.length = 8}.Code()), bad);
  EXPECT_EQ((F{.children = 9}.Code()), bad);
  EXPECT_EQ((F{.key = ""}.Code()), bad);
  EXPECT_EQ((F{.key = "\xFF"}.Code()), bad);
  EXPECT_EQ((F{.required = 2}.Code()), bad);
  EXPECT_EQ((F{.empty = 2}.Code()), bad);
  for (const F::Part none : {F::kNothing, F::kNode}) {
    EXPECT_EQ((F{.value = none}.Code()), bad);
    EXPECT_EQ((F{.length = 2, .required = 0, .empty = 1, .quote = none}.Code()), bad);
  }
  // Others whose key is not any text, or of which half is missing, or one part without a text.
  EXPECT_EQ((F{.any_key = F::kText, .other = F::kText}.Code()), bad);
  EXPECT_EQ((F{.other = F::kText}.Code()), bad);
  EXPECT_EQ((F{.any_key = F::kText}.Code()), bad);
  EXPECT_EQ((F{.any_key = F::kNode, .other = F::kText}.Code()), bad);
  EXPECT_EQ((F{.any_key = F::kAnyText, .other = F::kNode}.Code()), bad);
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

// A body that is made late, with the length that the file promises and what it refers to.
void Lazy(uint64_t length, std::vector<uint64_t> others, const ByteWriter& steps, ByteWriter* out) {
  out->Byte(static_cast<uint8_t>(SavedTerm::kLazyCall));
  out->Bytes(std::string(kSavedNameBytes, '\0'));
  out->Number(length);
  out->Number(others.size());
  for (uint64_t n : others) out->Number(n);
  out->Text(steps.bytes());
}

ProcId ProcOf(const StatusOr<std::vector<TermId>>& read, const TermStore& store) {
  EXPECT_TRUE(read.ok()) << read.status().message();
  const Term& call = store.term(read->back());
  EXPECT_EQ(call.kind, TermKind::kCall);
  return ProcId(static_cast<uint32_t>(call.a));
}

TEST(SavedTerms, ALazyBodyIsMadeWhenItIsAskedFor) {
  TermStore store(Limits{}, 16);
  ByteWriter steps, bytes;
  Text("ab", &steps);
  Text("cd", &steps);
  Record(SavedTerm::kSequence, {3, 4, 2, 1}, &steps);  // "ab" "cd" and the first term outside
  Text("x", &bytes);
  Lazy(5, {1}, steps, &bytes);
  const ProcId proc = ProcOf(Read(bytes, &store), store);
  EXPECT_EQ(store.proc(proc).min_length, 5u);
  EXPECT_EQ(store.proc(proc).body, TermStore::Nothing());
  std::lock_guard lock(store.mutex());
  EXPECT_EQ(store.ToString(store.BodyOf(proc)),
            store.ToString(store.Sequence(
                store.Literal("ab", false),
                store.Sequence(store.Literal("cd", false), store.Literal("x", false)))));
  EXPECT_EQ(store.BodyOf(proc), store.proc(proc).body);
}

TEST(SavedTerms, ABrokenPromiseIsKeptByBytesOfAnyKind) {
  ByteWriter honest, wrong_place, cut_off, empty_text, nothing, deep, irregular;
  Text("ab", &honest);
  Record(SavedTerm::kRepeat, {2, 2, 3}, &honest);
  Record(SavedTerm::kRepeat, {4, 2, 3}, &wrong_place);
  Record(SavedTerm::kSequence, {200, 2}, &cut_off);
  Text("", &empty_text);
  Text("a", &nothing);
  Text("b", &nothing);
  Record(SavedTerm::kAnd, {2, 2, 4, 4}, &nothing);
  Text("a", &deep);
  for (int i = 0; i < 2000; ++i) Record(SavedTerm::kChoice, {1, 2}, &deep);
  Record(SavedTerm::kNot, {1, 4}, &irregular);  // of a call
  TermStore store(Limits{}, 16);
  auto body = [&](uint64_t length, const ByteWriter& steps) {
    ByteWriter bytes;
    Text("0123456789", &bytes);
    Record(SavedTerm::kCall, {1}, &bytes);
    Lazy(length, {1}, steps, &bytes);
    const ProcId proc = ProcOf(Read(bytes, &store), store);
    std::lock_guard lock(store.mutex());
    const Term& t = store.term(store.BodyOf(proc));
    EXPECT_EQ(t.min_length, length);
    EXPECT_EQ(t.nullable, length == 0);
    return store.ToString(store.BodyOf(proc));
  };
  ByteWriter any;
  any.Byte(static_cast<uint8_t>(SavedTerm::kByteClass));
  any.Text(std::string("\x00\xFF", 2));
  Record(SavedTerm::kRepeat, {2, 4, 5}, &any);
  const std::string four = body(4, any);
  EXPECT_NE(body(4, honest), four);
  for (const ByteWriter& steps : {wrong_place, cut_off, empty_text, nothing, deep, irregular}) {
    EXPECT_EQ(body(4, steps), four);
  }
  for (const uint64_t length : {uint64_t{0}, uint64_t{3}, uint64_t{5}, kMaxLength - 1}) {
    EXPECT_NE(body(length, honest), body(4, honest));
  }
  EXPECT_NE(body(4, honest), four);
}

TEST(SavedTerms, AnUndecidedIntersectionInALazyBodyIsTakenForOne) {
  Limits limits;
  limits.max_regular_states = 10;
  TermStore from(Limits{}, 16), to(limits, 16);
  const TermId root = Build(
      "root ::= rule \"!\" rule\n"
      "rule ::= And([a-z]{90} \"1\" [a-z]*, [a-y]* \"1\" [b-z]{9,}) \"x\" [0-9]{9,} \"y\" "
      "[0-9]{8,} "
      "\"z\" [0-9]{7,}",
      &from);
  const auto read = ReadRoot(Write(root, &from), &to, false);
  ASSERT_TRUE(read.ok()) << read.status().message();
  ASSERT_EQ(to.Expand(*read).calls.size(), 1u);
  ASSERT_EQ(from.Expand(root).calls.size(), 1u);
  const ProcId proc = to.Expand(*read).calls[0].proc;
  std::scoped_lock lock(from.mutex(), to.mutex());
  const TermId here = to.BodyOf(proc);
  const TermId there = from.BodyOf(from.ExpandLocked(root).calls[0].proc);
  EXPECT_LT(to.term(here).min_length, from.term(there).min_length);
  // Parts are ordered by their ids.
  EXPECT_EQ(to.ToString(here).size(), from.ToString(there).size());
}

// Of a trusted file.

std::string Rules(int count, const std::string& last) {
  std::string text = "root ::= r0 | \"x\" r1\n";
  for (int i = 0; i < count; ++i) {
    const std::string n = std::to_string(i), next = "r" + std::to_string(i + 1);
    text += "r" + n + " ::= \"" + n + "\" [a-z]{9,} \"b\" (" + next + " | [0-9]{8,} \"c\" " +
            (i + 2 > count ? next : "r" + std::to_string(i + 2)) + ") \"d\" [a-f]{5,}\n";
  }
  return text + "r" + std::to_string(count) + " ::= \"" + last + "\" [a-z]{9,} \"y\" [0-9]{9,}\n";
}

TEST(SavedPool, MakesWhatIsAskedFor) {
  TermStore from(Limits{}, 16), all(Limits{}, 16), some(Limits{}, 16);
  const List list = Write(Build(Rules(2000, "end"), &from), &from);
  ASSERT_TRUE(ReadRoot(list, &all, false).ok());
  const size_t empty = some.size();
  const auto root = GetTerm(list.bytes, list.root, &some);
  ASSERT_TRUE(root.ok()) << root.status().message();
  EXPECT_LT(some.size() - empty, 10u);
  EXPECT_GT(all.size() - empty, 2000u);
  ASSERT_EQ(some.Expand(*root).calls.size(), 1u);
  const size_t before = some.size();
  std::lock_guard lock(some.mutex());
  some.BodyOf(some.ExpandLocked(*root).calls[0].proc);
  EXPECT_LT(some.size() - before, 100u);
}

// What files have in common is the same wherever it stands in them; what only looks alike is not.
TEST(SavedPool, FilesShareByNames) {
  TermStore a(Limits{}, 16), b(Limits{}, 16), c(Limits{}, 16), to(Limits{}, 16);
  const List one = Write(Build(Rules(20, "end"), &a), &a);
  const List other = Write(Build(
                               "root ::= \"first\" [a-z]{70} | inner\n" +
                                   [] {
                                     std::string text = Rules(20, "end");
                                     return text.replace(0, 4, "inner");
                                   }(),
                               &b),
                           &b);
  const List differs = Write(Build(Rules(20, "END"), &c), &c);
  auto calls = [&](const List& list) {
    std::vector<uint32_t> found;
    const auto root = GetTerm(list.bytes, list.root, &to);
    EXPECT_TRUE(root.ok()) << root.status().message();
    std::lock_guard lock(to.mutex());
    for (const CallEdge& call : to.ExpandLocked(*root).calls) found.push_back(call.proc.value);
    return found;
  };
  const auto first = calls(one), second = calls(other), third = calls(differs);
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(first, second);
  EXPECT_NE(first, third);
  EXPECT_EQ(calls(one), first);  // the same file is not opened twice
}

// A list whose index is right; the records of `groups` are groups.
std::string Indexed(const std::vector<ByteWriter>& records, std::vector<size_t> groups = {}) {
  ByteWriter index, list;
  index.Number(records.size());
  for (size_t i = 0; i < records.size(); ++i) {
    const bool group = std::ranges::find(groups, i) != groups.end();
    index.Number(uint64_t{records[i].size()} << 1 | group);
  }
  list.Text(index.bytes());
  for (const ByteWriter& record : records) list.Bytes(record.bytes());
  return list.bytes();
}

TEST(SavedPool, DamageIsRefusedWhereItIsMet) {
  ByteWriter text, itself, irregular, call_of_text, unknown;
  Text("a", &text);
  Record(SavedTerm::kSequence, {0, 1}, &itself);
  Record(SavedTerm::kNot, {1, 1}, &irregular);
  Record(SavedTerm::kBody, {1}, &call_of_text);
  Record(SavedTerm{99}, {}, &unknown);
  auto code = [](const std::string& bytes, uint32_t number) {
    TermStore store(Limits{}, 16);
    const auto made = GetTerm(bytes, number, &store);
    EXPECT_NE(made.ok(), !made.status().message().empty());
    return made.ok() ? StatusCode::kOk : made.status().code();
  };
  for (const ByteWriter& bad : {itself, call_of_text, unknown}) {
    EXPECT_EQ(code(Indexed({text, bad}), 3), StatusCode::kOk);
    EXPECT_EQ(code(Indexed({text, bad}), 4), StatusCode::kInvalidArgument);
    EXPECT_EQ(code(Indexed({text, bad}), 5), StatusCode::kInvalidArgument);
  }
  // An index that does not fit the records, or is not there.
  TermStore store(Limits{}, 16);
  EXPECT_EQ(ReadList("x", &store).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(code("x", 3), StatusCode::kInvalidArgument);
  ByteWriter empty;
  EXPECT_EQ(code(Indexed({text, empty}), 3), StatusCode::kInvalidArgument);
  std::string longer = Indexed({text});
  longer += 'x';
  EXPECT_EQ(code(longer, 3), StatusCode::kInvalidArgument);
  EXPECT_EQ(code(Indexed({text}, {0}), 3), StatusCode::kInvalidArgument);
}

// Of procedures and groups that a forged file gives the names of others, so that bodies ask for
// themselves, nothing is made, or bytes of any kind.
TEST(SavedPool, NamesThatGoRoundInCircles) {
  auto lazy = [](char name, const std::vector<uint64_t>& others, const ByteWriter& steps) {
    ByteWriter out;
    out.Byte(static_cast<uint8_t>(SavedTerm::kLazyCall));
    out.Bytes(std::string(kSavedNameBytes, name));
    out.Number(4);
    out.Number(others.size());
    for (uint64_t n : others) out.Number(n);
    out.Text(steps.bytes());
    return out;
  };
  ByteWriter text, one, steps, list;
  Text("a", &text);
  Text("bcd", &one);
  Record(SavedTerm::kSequence, {2, 2, 1}, &steps);  // the term outside, and then itself
  Text("abc", &steps);
  Record(SavedTerm::kSequence, {2, 1, 2}, &steps);
  // 3 "a"; 4 a call named 1; 5 a list of values that are such calls; 6 the call that names itself
  // 1, too, whose body has the list.
  Record(SavedTerm::kMembers, {2, 2, 1, 2, 0, 1, static_cast<uint64_t>(MemberUse::kDistinct), 1},
         &list);
  const std::string bytes =
      Indexed({text, lazy('1', {1}, one), list, lazy('1', {1}, steps), lazy('2', {2}, steps)});
  for (uint32_t number = 3; number < 8; ++number) {
    TermStore store(Limits{}, 16);
    const auto made = GetTerm(bytes, number, &store);
    if (!made.ok()) continue;
    std::lock_guard lock(store.mutex());
    const Term& t = store.term(*made);
    if (t.kind != TermKind::kCall) continue;
    const TermId body = store.BodyOf(ProcId(static_cast<uint32_t>(t.a)));
    EXPECT_NE(body, TermStore::Nothing());
  }
}

}  // namespace
}  // namespace grammask::internal
