// The expression pool, and sets of values as text.
//
// An expression is its kind and the ids of its parts, looked up in a hash table before it is added,
// so that equality is equality of ids: And(b, And(a, b)) is the sorted list {a, b}. A list that
// holds x and Not(x) is empty (And) or everything (Or). Linear in the parts.
//
// Tests: tests/grammar/json_schema_test.cc.
#include "grammar/json_schema/value_set.h"

#include <algorithm>

#include "base/mix.h"
#include "base/scratch.h"
#include "base/sorted.h"
#include "base/utf8.h"

namespace grammask::internal {

ExprPool::ExprPool() {
  exprs_.push_back({ExprKind::kTrue, 0, 0});
  exprs_.push_back({ExprKind::kFalse, 0, 0});
}

template <class Same>
ExprId ExprPool::Find(uint64_t hash, Expr expr, std::span<const ExprId> parts, Same&& same) {
  const auto short_hash = static_cast<uint32_t>(hash ^ hash >> 32);
  size_t place = 0;
  if (const auto known = ids_.Find(short_hash, same, &place)) return ExprId(*known);
  const ExprId id(static_cast<uint32_t>(size()));
  exprs_.push_back(expr);
  parts_.insert(parts_.end(), parts.begin(), parts.end());
  ids_.Put(place, short_hash, id.value);
  return id;
}

ExprId ExprPool::Leaf(ExprKind kind, JsonId node, ScopeId scope) {
  const uint64_t hash =
      Mix(Mix(MixSeed(), static_cast<uint64_t>(kind)), uint64_t{node.value} << 32 | scope.value);
  return Find(hash, {kind, node.value, scope.value}, {}, [&](uint32_t other) {
    const Expr& e = exprs_[other];
    return e.kind == kind && e.first == node.value && e.count == scope.value;
  });
}

ExprId ExprPool::Schema(JsonId node, ScopeId scope) { return Leaf(ExprKind::kSchema, node, scope); }
ExprId ExprPool::Value(JsonId node) { return Leaf(ExprKind::kValue, node, kNoScope); }

ExprId ExprPool::Intern(ExprKind kind, std::span<const ExprId> list) {
  uint64_t hash = Mix(MixSeed(), uint64_t{list.size()} << 8 | static_cast<uint64_t>(kind));
  for (ExprId p : list) hash = Mix(hash, p.value);
  const Expr expr{kind, static_cast<uint32_t>(parts_.size()), static_cast<uint32_t>(list.size())};
  return Find(hash, expr, list, [&](uint32_t other) {
    return this->kind(ExprId(other)) == kind && std::ranges::equal(parts(ExprId(other)), list);
  });
}

// And and Or alike: with the roles of kAnything and kNone exchanged.
ExprId ExprPool::Combine(ExprKind op, std::span<const ExprId> list) {
  ExprId neutral = op == ExprKind::kAnd ? kAnything : kNone;
  ExprId absorbing = op == ExprKind::kAnd ? kNone : kAnything;
  absl::InlinedVector<ExprId, 8> flat;
  for (ExprId p : list) {
    if (p == absorbing) return absorbing;
    if (p == neutral) continue;
    if (kind(p) == op) {
      std::span<const ExprId> inner = parts(p);
      flat.insert(flat.end(), inner.begin(), inner.end());
    } else {
      flat.push_back(p);
    }
  }
  SortUnique(&flat);
  for (ExprId p : flat) {
    if (kind(p) != ExprKind::kNot) continue;
    if (std::binary_search(flat.begin(), flat.end(), parts(p)[0])) return absorbing;
  }
  if (op == ExprKind::kAnd && !single_.empty()) {
    // One value and no other, or nothing; that it is not another need not be said.
    auto single = std::find_if(flat.begin(), flat.end(), [&](ExprId p) { return IsSingle(p); });
    if (single != flat.end()) {
      ExprId value = *single;
      auto is_other = [&](ExprId p) { return kind(p) == ExprKind::kNot && IsSingle(parts(p)[0]); };
      flat.erase(std::remove_if(flat.begin(), flat.end(), is_other), flat.end());
      if (std::any_of(flat.begin(), flat.end(),
                      [&](ExprId p) { return p != value && IsSingle(p); })) {
        return kNone;
      }
    }
  }
  if (flat.empty()) return neutral;
  if (flat.size() == 1) return flat[0];
  return Intern(op, flat);
}

ExprId ExprPool::And(std::span<const ExprId> parts) { return Combine(ExprKind::kAnd, parts); }
ExprId ExprPool::Or(std::span<const ExprId> parts) { return Combine(ExprKind::kOr, parts); }

void ExprPool::MarkSingle(ExprId id) {
  if (id.value >= single_.size()) single_.resize(size());
  single_[id.value] = true;
}

ExprId ExprPool::Not(ExprId part) {
  if (part == kAnything) return kNone;
  if (part == kNone) return kAnything;
  if (kind(part) == ExprKind::kNot) return parts(part)[0];
  return Intern(ExprKind::kNot, {&part, 1});
}

std::string ExprPool::ToString(ExprId id, const JsonDocument& document) const {
  constexpr size_t kMaxDepth = 8;
  struct Frame {
    ExprId id;
    size_t next;
  };
  std::string out;
  ScratchVector<Frame> stack = {{id, 0}};
  while (!stack.empty()) {
    Frame& f = stack.back();
    ExprKind k = kind(f.id);
    if (k < ExprKind::kAnd || stack.size() > kMaxDepth) {
      if (k == ExprKind::kTrue)
        out += "any";
      else if (k == ExprKind::kFalse)
        out += "none";
      else if (k == ExprKind::kSchema)
        out += document.Pointer(node(f.id));
      else if (k == ExprKind::kValue)
        out += "= " + document.Excerpt(node(f.id));
      else
        out += "...";
      stack.pop_back();
      continue;
    }
    if (f.next == 0) out += k == ExprKind::kAnd ? "And(" : k == ExprKind::kOr ? "Or(" : "Not(";
    if (f.next == parts(f.id).size()) {
      out += ")";
      stack.pop_back();
      continue;
    }
    if (f.next > 0) out += ", ";
    ExprId child = parts(f.id)[f.next++];
    stack.push_back({child, 0});
  }
  return out;
}

ValueSet ValueSet::All() {
  ValueSet all;
  all.null = all.false_value = all.true_value = true;
  all.numbers.emplace_back();
  all.strings.emplace_back();
  all.arrays.emplace_back();
  all.objects.emplace_back();
  return all;
}

namespace {

std::string Range(int64_t min, int64_t max) {
  std::string out = std::to_string(min) + "..";
  return max == kUnbounded ? out : out + std::to_string(max);
}

// Prints cases; `show` turns an expression into text.
struct ValuePrinter {
  const ExprPool& pool;
  const JsonDocument& document;
  std::span<const std::string_view> patterns;

  std::string Show(ExprId id) const { return pool.ToString(id, document); }
  std::string Show(PatternId id) const { return "/" + std::string(patterns[id.value]) + "/"; }

  std::string Array(const ArraySet& a) const {
    std::string out = "array " + Range(a.min, a.max) + " [";
    for (ExprId e : a.prefix) out += Show(e) + "; ";
    out += a.closed ? "closed]" : Show(a.rest) + "...]";
    for (const ArraySet::Count& c : a.some) {
      out +=
          " some " + Range(c.min, c.max) + " from " + std::to_string(c.from) + " " + Show(c.expr);
    }
    if (a.unique) out += " unique";
    if (a.repeats) out += " repeats";
    return out;
  }

  std::string Object(const ObjectSet& o) const {
    std::string out = "object " + Range(o.min, o.max) + " {";
    for (const ObjectSet::Named& n : o.named) {
      out += Printable(n.key) + (n.required ? ": " : "?: ") + Show(n.value) + "; ";
    }
    for (const ObjectSet::Group& g : o.groups) {
      out += "(";
      for (const ObjectSet::Pattern& p : g.patterns) {
        out += Show(p.pattern) + ": " + Show(p.value) + "; ";
      }
      out += "else " + Show(g.rest) + ") ";
    }
    out += o.closed ? "closed}" : Show(o.rest) + "...}";
    if (o.names != kAnything) out += " names " + Show(o.names);
    for (const auto& [word, list] : {std::pair(" some", &o.some), std::pair(" none", &o.none)}) {
      for (const ObjectSet::Some& s : *list) {
        out += word;
        for (PatternId p : s.match) out += " " + Show(p);
        for (PatternId p : s.no_match) out += " not " + Show(p);
        if (s.key != kAnything) out += " named " + Show(s.key);
        out += ": " + Show(s.value);
      }
    }
    return out;
  }
};

}  // namespace

std::string ValueSet::ToString(const ExprPool& pool, const JsonDocument& document,
                               std::span<const std::string_view> patterns) const {
  ValuePrinter printer{pool, document, patterns};
  std::string out;
  if (null) out += "null\n";
  if (false_value) out += "false\n";
  if (true_value) out += "true\n";
  for (const NumberSet& n : numbers) out += n.ToString() + "\n";
  for (const StringSet& s : strings) out += s.ToString() + "\n";
  for (const ArraySet& a : arrays) out += printer.Array(a) + "\n";
  for (const ObjectSet& o : objects) out += printer.Object(o) + "\n";
  return out.empty() ? "nothing\n" : out;
}

namespace {

// So many pairs of cases of one type are compared to see two sets apart.
constexpr size_t kFewCases = 16;

// Whether all numbers of one are below all of the other.
bool BoundsApart(const NumberSet& a, const NumberSet& b) {
  return (a.upper && b.lower && a.upper->value < b.lower->value) ||
         (b.upper && a.lower && b.upper->value < a.lower->value);
}

}  // namespace

bool PlainlyApart(const ValueSet& a, const ValueSet& b) {
  if ((a.null && b.null) || (a.false_value && b.false_value) || (a.true_value && b.true_value) ||
      a.numbers.size() * b.numbers.size() > kFewCases || (!a.arrays.empty() && !b.arrays.empty()) ||
      (!a.objects.empty() && !b.objects.empty()) ||
      a.strings.size() * b.strings.size() > kFewCases) {
    return false;
  }
  for (const NumberSet& x : a.numbers) {
    for (const NumberSet& y : b.numbers) {
      if (!BoundsApart(x, y)) return false;
    }
  }
  for (const StringSet& x : a.strings) {
    for (const StringSet& y : b.strings) {
      if (!ListsApart(x, y)) return false;
    }
  }
  return true;
}

}  // namespace grammask::internal
