// A case that has no form to one with fewer conditions that has.
//
// Each case is a conjunction of conditions, so leaving one out gives a larger set whatever the
// condition is. Where emitting fails and widening is asked for, each kind of condition is left out
// alone, then one after the other until what is left can be written: of arrays first equal
// elements and uniqueItems, then what contains asks for, then the counts. Every array may be
// written at last. Cost: a bounded number of attempts.
//
// Tests: tests/grammar/json_schema_widen_test.cc.
#include <optional>
#include <string_view>
#include <vector>

#include "base/scratch.h"
#include "grammar/json_schema/emit.h"
#include "grammar/json_schema/emit_containers.h"

namespace grammask::internal {
namespace {

// Leaves one kind of condition out of a set; false when it has none of that kind.
template <class T>
struct Relaxation {
  std::string_view keyword;
  bool (*apply)(T*);
  // The schema of that keyword; null: the one that is emitted.
  std::optional<JsonId> (*schema)(const T&) = nullptr;
};

template <class Field>
bool Reset(Field* field, Field all) {
  if (*field == all) return false;
  *field = std::move(all);
  return true;
}

template <class T>
bool ResetCounts(T* set) {
  bool least = Reset(&set->min, int64_t{0});
  return Reset(&set->max, int64_t{kUnbounded}) || least;
}

// Then nothing is known of keys that are not named, but what `rest` says.
bool ForgetPatterns(ObjectSet* set) {
  if (set->groups.empty()) return false;
  set->groups.clear();
  set->closed = false;
  return true;
}

const std::vector<Relaxation<ObjectSet>>& Relaxations(const ObjectSet&) {
  static const auto& list = *new std::vector<Relaxation<ObjectSet>>{
      {"not", [](ObjectSet* s) { return Reset(&s->some, {}); }},
      {"not", [](ObjectSet* s) { return Reset(&s->none, {}); }},
      {"maxProperties", ResetCounts<ObjectSet>},
      {"patternProperties", ForgetPatterns},
      {"propertyNames", [](ObjectSet* s) { return Reset(&s->names, kAnything); }},
      {"properties", [](ObjectSet* s) { return Reset(s, {}); }},
  };
  return list;
}

const std::vector<Relaxation<ArraySet>>& Relaxations(const ArraySet&) {
  static const auto& list = *new std::vector<Relaxation<ArraySet>>{
      {"uniqueItems", [](ArraySet* s) { return Reset(&s->repeats, {}); },
       [](const ArraySet& s) { return s.repeats; }},
      {"uniqueItems", [](ArraySet* s) { return Reset(&s->unique, {}); }},
      {"contains", [](ArraySet* s) { return Reset(&s->some, {}); }},
      {"maxItems", ResetCounts<ArraySet>},
      {"items", [](ArraySet* s) { return Reset(s, {}); }},
  };
  return list;
}

const std::vector<Relaxation<NumberSet>>& Relaxations(const NumberSet&) {
  static const auto& list = *new std::vector<Relaxation<NumberSet>>{
      {"not", [](NumberSet* s) { return Reset(&s->not_multiples_of, {}); }},
      {"not", [](NumberSet* s) { return Reset(&s->excluded, {}); }},
      {"multipleOf", [](NumberSet* s) { return Reset(&s->multiples_of, {}); }},
      {"maximum", [](NumberSet* s) { return Reset(&s->upper, {}); }},
      {"minimum", [](NumberSet* s) { return Reset(&s->lower, {}); }},
  };
  return list;
}

const std::vector<Relaxation<StringSet>>& Relaxations(const StringSet&) {
  static const auto& list = *new std::vector<Relaxation<StringSet>>{
      {"not", [](StringSet* s) { return Reset(&s->not_patterns, {}); }},
      {"not", [](StringSet* s) { return Reset(&s->not_formats, {}); }},
      {"pattern", [](StringSet* s) { return Reset(&s->patterns, {}); }},
      {"format", [](StringSet* s) { return Reset(&s->formats, {}); }},
      {"maxLength", [](StringSet* s) { return Reset(&s->max_length, int64_t{kUnbounded}); }},
      {"minLength", [](StringSet* s) { return Reset(&s->min_length, int64_t{0}); }},
      {"not", [](StringSet* s) { return Reset(&s->excluded, {}); }},
  };
  return list;
}

}  // namespace

template <class T, class Emit>
StatusOr<NodeId> SchemaEmitter::Relaxed(const T& set, const Status& why, const Emit& emit) {
  auto note = [&](const Relaxation<T>& r) {
    const std::optional<JsonId> schema = r.schema != nullptr ? r.schema(set) : std::nullopt;
    if (schema.has_value()) {
      normaliser_.NoteEmitted(*schema, r.keyword, why);
    } else {
      normaliser_.NoteEmitted(current_, r.keyword, why);
    }
  };
  for (const Relaxation<T>& r : Relaxations(set)) {
    T without = set;
    if (!r.apply(&without)) continue;
    StatusOr<NodeId> node = emit(without);
    if (!node.ok()) continue;
    note(r);
    return node;
  }
  T without = set;
  StatusOr<NodeId> node = why;
  for (const Relaxation<T>& r : Relaxations(set)) {
    if (!r.apply(&without)) continue;
    note(r);
    node = emit(without);
    if (node.ok()) return node;
  }
  return node;
}

StatusOr<NodeId> SchemaEmitter::Case(const ObjectSet& set, int depth) {
  auto emit = [&](const ObjectSet& s) { return ObjectEmitter(this, s, depth).Run(); };
  StatusOr<NodeId> node = emit(set);
  return normaliser_.MayLeaveOut(node.status()) ? Relaxed(set, node.status(), emit) : node;
}

StatusOr<NodeId> SchemaEmitter::Case(const ArraySet& set, int depth) {
  auto emit = [&](const ArraySet& s) { return ArrayEmitter(this, s, depth).Run(); };
  StatusOr<NodeId> node = emit(set);
  return normaliser_.MayLeaveOut(node.status()) ? Relaxed(set, node.status(), emit) : node;
}

StatusOr<NodeId> SchemaEmitter::Case(const NumberSet& set) {
  auto emit = [&](const NumberSet& s) { return EmitNumbers(&builder_, s, limits_, spelling_); };
  StatusOr<NodeId> node = emit(set);
  return normaliser_.MayLeaveOut(node.status()) ? Relaxed(set, node.status(), emit) : node;
}

StatusOr<NodeId> SchemaEmitter::Case(const StringSet& set) {
  PatternMemo* memo = normaliser_.patterns().memo();
  auto emit = [&](const StringSet& s) { return EmitStringBody(&builder_, s, limits_, memo); };
  StatusOr<NodeId> node = emit(set);
  return normaliser_.MayLeaveOut(node.status()) ? Relaxed(set, node.status(), emit) : node;
}

}  // namespace grammask::internal
