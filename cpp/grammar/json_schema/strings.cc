// Conditions on strings, as a set; and the set as a regular node of JSON text.
//
// Patterns and formats become nodes; what remains is to meet them with each other and with the
// length. An intersection node costs time in every automaton state, so the length is first looked
// for elsewhere: it is dropped where the pattern implies it, and moved into the pattern where that
// is a sequence of fixed length but for one repeated class: ^[a-z][a-z0-9-]*$ with maxLength 20
// becomes [a-z][a-z0-9-]{0,19}. Only the rest is intersected with "any characters, 0 to 20".
//
// Cost: linear in the nodes of the patterns. Tested by tests/grammar/strings_test.cc, against
// a direct reading of the conditions.
#include "grammar/json_schema/strings.h"

#include <algorithm>
#include <functional>
#include <tuple>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "base/scratch.h"
#include "base/sorted.h"
#include "base/utf8.h"
#include "grammar/json_schema/formats.h"
#include "grammar/json_schema/string_parts.h"
#include "grammar/regex.h"

namespace grammask::internal {
namespace {

// Of lists of values, so many pairs are compared.
constexpr size_t kFewPairs = 64;

// How deep in a pattern its shortest texts are looked for.
constexpr int kDeepest = 12;

// So few values are sought one by one in another list.
constexpr size_t kSoughtOneByOne = 4;

bool Ascending(const ScratchVector<ScratchString>& list) {
  return std::adjacent_find(list.begin(), list.end(), std::greater_equal<>()) == list.end();
}

void SortUniqueTexts(ScratchVector<ScratchString>* list) {
  if (Ascending(*list)) return;
  // By their first sixteen bytes as far as these tell; the texts move once, when their order is
  // known.
  struct Entry {
    uint64_t head, next;
    ScratchString* text;
  };
  ScratchVector<Entry> order;
  order.reserve(list->size());
  for (ScratchString& text : *list) {
    const std::string_view rest = std::string_view(text).substr(std::min<size_t>(text.size(), 8));
    order.push_back({FirstEight(text), FirstEight(rest), &text});
  }
  std::ranges::sort(order, [](const Entry& a, const Entry& b) {
    if (a.head != b.head) return a.head < b.head;
    return a.next != b.next ? a.next < b.next : *a.text < *b.text;
  });
  ScratchVector<ScratchString> sorted;
  sorted.reserve(list->size());
  for (const Entry& e : order) {
    if (sorted.empty() || sorted.back() != *e.text) sorted.push_back(std::move(*e.text));
  }
  *list = std::move(sorted);
}

bool Intersects(const ScratchVector<ScratchString>& a, const ScratchVector<ScratchString>& b) {
  auto in_b = [&](const ScratchString& s) { return std::binary_search(b.begin(), b.end(), s); };
  return std::any_of(a.begin(), a.end(), in_b);
}

// Whether the set is a list of values, with no other condition.
bool OnlyValues(const StringSet& s) {
  return s.values && s.min_length <= 0 && s.max_length == kUnbounded && s.patterns.empty() &&
         s.not_patterns.empty() && s.formats.empty() && s.not_formats.empty() && s.excluded.empty();
}

// What two normalised lists have in common; nullopt where one is not.
std::optional<ScratchVector<ScratchString>> Common(const ScratchVector<ScratchString>& a,
                                                   const ScratchVector<ScratchString>& b) {
  ScratchVector<ScratchString> both;
  const auto& [few, many] = a.size() <= b.size() ? std::tie(a, b) : std::tie(b, a);
  if (few.size() <= kSoughtOneByOne && Ascending(few)) {
    for (const ScratchString& text : few) {
      if (std::find(many.begin(), many.end(), text) != many.end()) both.push_back(text);
    }
    return both;
  }
  if (!Ascending(a) || !Ascending(b)) return std::nullopt;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  return both;
}

StringSet NoStrings() {
  StringSet set;
  set.values.emplace();
  return set;
}

// Patterns that match at the empty place that every string has.
bool MatchesEverything(std::string_view pattern) {
  for (std::string_view trivial : {"", "^", "$", ".*", "^.*", ".*$", "(.*)", "^(.*)", "[\\s\\S]*",
                                   "^[\\s\\S]*", "^[\\s\\S]*$", "[\\s\\S]*$"}) {
    if (pattern == trivial) return true;
  }
  return false;
}

std::string Quoted(std::string_view text, char quote) {
  constexpr size_t kShown = 60;
  std::string shown = Printable(text.substr(0, CompleteUtf8Prefix(text.substr(0, kShown))));
  if (text.size() > kShown) shown += "...";
  return quote + shown + quote;
}

void AppendList(const char* label, char quote, const ScratchVector<ScratchString>& list,
                std::string* out) {
  for (const ScratchString& s : list) *out += label + Quoted(s, quote);
}

// How many characters the texts of a node have. An empty language has min > max.
struct Lengths {
  int64_t min, max;  // max may be kUnbounded
  bool fixed() const { return min == max; }
};

int64_t AddSaturating(int64_t a, int64_t b) {
  return a == kUnbounded || b == kUnbounded || a > kUnbounded - b ? kUnbounded : a + b;
}

int64_t MultiplySaturating(int64_t a, int64_t b) {
  if (a == 0 || b == 0) return 0;
  return a == kUnbounded || b == kUnbounded || a > kUnbounded / b ? kUnbounded : a * b;
}

// Bounds on the lengths of nodes; those of And and Not are not tight.
class LengthFinder {
 public:
  explicit LengthFinder(const GrammarBuilder& builder) : b_(builder) {}

  Lengths Of(NodeId root) {
    absl::InlinedVector<NodeId, 16> stack = {root};
    while (!stack.empty()) {
      const NodeId id = stack.back();
      const NodeView node = b_.node(id);
      if (IsLeaf(node.kind) || known_.contains(id)) {
        stack.pop_back();
        continue;
      }
      const size_t waiting = stack.size();
      for (NodeId child : node.children) {
        if (!IsLeaf(b_.node(child).kind) && !known_.contains(child)) stack.push_back(child);
      }
      if (stack.size() > waiting) continue;
      known_.emplace(id, Combine(node));
      stack.pop_back();
    }
    return At(root);
  }

 private:
  // Most nodes, whose lengths are sooner found than remembered.
  static bool IsLeaf(NodeKind kind) {
    return kind == NodeKind::kJsonClass || kind == NodeKind::kJsonText || kind == NodeKind::kEmpty;
  }
  Lengths At(NodeId id) const {
    const NodeView node = b_.node(id);
    return IsLeaf(node.kind) ? Combine(node) : known_.at(id);
  }

  Lengths Combine(const NodeView& node) const {
    switch (node.kind) {
      case NodeKind::kNothing:
        return {1, 0};
      case NodeKind::kEmpty:
        return {0, 0};
      case NodeKind::kJsonClass:
        return {1, 1};
      case NodeKind::kJsonText: {
        int64_t n = CountCodePoints(node.text);
        return {n, n};
      }
      case NodeKind::kSequence:
        return Sum(node);
      case NodeKind::kChoice:
        return Hull(node);
      case NodeKind::kRepeat: {
        Lengths child = At(node.children[0]);
        return {MultiplySaturating(child.min, node.min), MultiplySaturating(child.max, node.max)};
      }
      case NodeKind::kAnd:
        return Meet(node);
      default:  // Not, and nodes that are no text of a JSON string
        return {0, kUnbounded};
    }
  }

  Lengths Sum(const NodeView& node) const {
    Lengths sum{0, 0};
    for (NodeId child : node.children) {
      Lengths l = At(child);
      sum = {AddSaturating(sum.min, l.min), AddSaturating(sum.max, l.max)};
    }
    return sum;
  }
  Lengths Hull(const NodeView& node) const {
    Lengths hull{kUnbounded, 0};
    for (NodeId child : node.children) {
      Lengths l = At(child);
      hull = {std::min(hull.min, l.min), std::max(hull.max, l.max)};
    }
    return hull;
  }
  Lengths Meet(const NodeView& node) const {
    Lengths meet{0, kUnbounded};
    for (NodeId child : node.children) {
      Lengths l = At(child);
      meet = {std::max(meet.min, l.min), std::min(meet.max, l.max)};
    }
    return meet;
  }

  const GrammarBuilder& b_;
  absl::flat_hash_map<NodeId, Lengths> known_;  // of those that are no leaves
};

NodeId AnyCharacter(GrammarBuilder* builder) {
  static const CodePointSet& all = *new CodePointSet(CodePointSet::All());
  return builder->JsonClass(all);
}

class BodyWriter {
 public:
  BodyWriter(GrammarBuilder* builder, const StringSet& set, const Limits& limits, PatternMemo* memo)
      : b_(*builder),
        set_(set),
        limits_(limits),
        memo_(memo),
        lengths_(*builder),
        min_(set.min_length),
        max_(set.max_length) {
    any_ = AnyCharacter(builder);
  }

  StatusOr<NodeId> Write() {
    GM_RETURN_IF_ERROR(AddPatternsAndFormats());
    GM_ASSIGN_OR_RETURN(bool clash, TextsClash());
    if (clash) return b_.Nothing();
    if (set_.values) {
      parts_.push_back(Texts(*set_.values));
    } else {
      ApplyLength();
    }
    if (!set_.excluded.empty()) parts_.push_back(b_.Not(Texts(set_.excluded)));
    return parts_.size() == 1 ? parts_[0] : b_.And(parts_);
  }

 private:
  NodeId Texts(const ScratchVector<ScratchString>& values) {
    ScratchVector<NodeId> nodes;
    nodes.reserve(values.size());
    for (const ScratchString& v : values) nodes.push_back(b_.JsonText(v));
    return b_.Choice(nodes);
  }

  // What a string must match comes first in parts_, in positive_ places.
  Status AddPatternsAndFormats() {
    NodeId all = b_.Star(any_);
    auto require = [&](NodeId node) {
      if (node != all) parts_.push_back(node);
    };
    for (const ScratchString& p : set_.patterns) {
      GM_ASSIGN_OR_RETURN(NodeId node, Pattern(p));
      require(node);
    }
    for (const ScratchString& f : set_.formats) {
      GM_ASSIGN_OR_RETURN(NodeId node, Format(f));
      require(node);
    }
    positive_ = parts_.size();
    for (const ScratchString& p : set_.not_patterns) {
      GM_ASSIGN_OR_RETURN(NodeId node, Pattern(p));
      excluded_.push_back(node);
      parts_.push_back(b_.Not(OpenEnded(node)));
    }
    for (const ScratchString& f : set_.not_formats) {
      GM_ASSIGN_OR_RETURN(NodeId node, Format(f));
      parts_.push_back(b_.Not(node));
    }
    return Status();
  }

  // A search, as a part of texts of JSON: what it leaves open at the end may be any bytes. Of those
  // nothing is left in its complement, which ends there and then; the complement of "any
  // characters" would live on until the other parts are through.
  NodeId OpenEnded(NodeId node) {
    NodeId all = b_.Star(any_);
    if (node == all) return b_.AnyBytes();
    NodeView view = b_.node(node);
    ScratchVector<NodeId> children(view.children.begin(), view.children.end());
    if (view.kind == NodeKind::kSequence && children.back() == all) {
      children.back() = b_.AnyBytes();
      return b_.Sequence(children);
    }
    if (view.kind != NodeKind::kChoice) return node;
    for (NodeId& child : children) {
      NodeView inner = b_.node(child);
      if (inner.kind != NodeKind::kSequence || inner.children.back() != all) continue;
      ScratchVector<NodeId> parts(inner.children.begin(), inner.children.end());
      parts.back() = b_.AnyBytes();
      child = b_.Sequence(parts);
    }
    return b_.Choice(children);
  }

  // Whether a text that every member has somewhere holds what no member may have anywhere: "a12"
  // and not "a1". The automaton would find out, but only by going through all that the parts allow.
  StatusOr<bool> TextsClash() {
    for (NodeId excluded : excluded_) {
      if (!IsSearch(&b_, excluded)) continue;
      for (size_t i = 0; i < positive_; ++i) {
        GM_ASSIGN_OR_RETURN(bool found, HoldsTextOf(b_, parts_[i], excluded));
        if (found) return true;
      }
    }
    return false;
  }

  // Leaves out what all texts of so many characters are none of.
  void DropOutOfReach(const Lengths& lengths) {
    for (size_t i = parts_.size(); i-- > positive_;) {
      const NodeView part = b_.node(parts_[i]);
      if (part.kind != NodeKind::kNot) continue;
      const Lengths l = lengths_.Of(part.children[0]);
      if (l.max < lengths.min || l.min > lengths.max) {
        parts_.erase(parts_.begin() + static_cast<std::ptrdiff_t>(i));
      }
    }
  }

  StatusOr<NodeId> Format(std::string_view name) {
    if (memo_ == nullptr) return EmitFormat(&b_, name, limits_);
    // No pattern, which is UTF-8, is spelled so.
    std::string key(1, '\xFF');
    key += name;
    const auto known = memo_->find(key);
    if (known != memo_->end()) return NodeId{known->second};
    StatusOr<NodeId> node = EmitFormat(&b_, name, limits_);
    if (node.ok()) memo_->try_emplace(key, *node);
    return node;
  }

  StatusOr<NodeId> Pattern(std::string_view pattern) {
    StatusOr<NodeId> node = EmitPattern(&b_, pattern, limits_, memo_);
    if (node.ok()) return node;
    return Status(node.status().code(),
                  "pattern " + Quoted(pattern, '/') + ": " + node.status().message());
  }

  void ApplyLength() {
    // Lengths that clash leave nothing; the automaton would go through all texts to find out.
    const bool alone = positive_ == 1 && min_ == 0 && max_ == kUnbounded;
    if (alone) return;
    Lengths common{min_, max_};
    for (size_t i = 0; i < positive_; ++i) {
      Lengths l = lengths_.Of(parts_[i]);
      common = {std::max(common.min, l.min), std::min(common.max, l.max)};
    }
    if (common.min > common.max) {
      parts_ = {b_.Nothing()};
      return;
    }
    for (size_t i = 0; i < positive_; ++i) {
      const Lengths l = lengths_.Of(parts_[i]);
      if (l.min != common.max || l.fixed()) continue;
      if (auto shortest = Shortest(parts_[i], kDeepest)) parts_[i] = *shortest;
    }
    if (min_ > 0 || max_ != kUnbounded) DropOutOfReach(common);
    for (size_t i = 0; i < positive_ && (min_ > 0 || max_ != kUnbounded); ++i) {
      Lengths l = lengths_.Of(parts_[i]);
      if (l.min >= min_) min_ = 0;
      if (l.max <= max_) max_ = kUnbounded;
    }
    bool bounded = min_ > 0 || max_ != kUnbounded;
    if (positive_ > 0 && !bounded) return;
    for (size_t i = 0; i < positive_; ++i) {
      if (std::optional<NodeId> narrowed = Narrow(parts_[i])) {
        parts_[i] = *narrowed;
        return;
      }
    }
    // A complement holds texts that are no JSON string at all; this part keeps them out.
    parts_.push_back(b_.Repeat(any_, min_, max_));
  }

  // The texts of `node` with the fewest characters: of a search for [0-9a-f]{8} in a string of at
  // most eight that is [0-9a-f]{8} itself.
  std::optional<NodeId> Shortest(NodeId node, int depth) {
    const Lengths whole = lengths_.Of(node);
    if (whole.fixed()) return node;
    const NodeView view = b_.node(node);
    const bool known = view.kind == NodeKind::kSequence || view.kind == NodeKind::kChoice ||
                       view.kind == NodeKind::kRepeat;
    if (!known || depth == 0) return std::nullopt;
    const int64_t rounds = view.min;
    const NodeKind kind = view.kind;
    absl::InlinedVector<NodeId, 8> children;
    for (NodeId child :
         absl::InlinedVector<NodeId, 8>(view.children.begin(), view.children.end())) {
      if (kind == NodeKind::kChoice && lengths_.Of(child).min > whole.min) continue;
      const std::optional<NodeId> shortest = Shortest(child, depth - 1);
      if (!shortest) return std::nullopt;
      children.push_back(*shortest);
    }
    if (kind == NodeKind::kRepeat) return b_.Repeat(children[0], rounds, rounds);
    return kind == NodeKind::kChoice ? b_.Choice(children) : b_.Sequence(children);
  }

  // `node` restricted to min_..max_ characters without an intersection, where that is easy.
  std::optional<NodeId> Narrow(NodeId node) {
    NodeView view = b_.node(node);
    if (view.kind != NodeKind::kChoice) return NarrowSequence(node);
    ScratchVector<NodeId> children(view.children.begin(), view.children.end());
    for (NodeId& child : children) {
      std::optional<NodeId> narrowed = NarrowSequence(child);
      if (!narrowed) return std::nullopt;
      child = *narrowed;
    }
    return b_.Choice(children);
  }

  std::optional<NodeId> NarrowSequence(NodeId node) {
    Lengths whole = lengths_.Of(node);
    if (whole.min > max_ || whole.max < min_) return b_.Nothing();
    if (whole.min >= min_ && whole.max <= max_) return node;
    NodeView view = b_.node(node);
    absl::InlinedVector<NodeId, 8> children = {node};
    if (view.kind == NodeKind::kSequence) {
      children.assign(view.children.begin(), view.children.end());
    }
    std::optional<size_t> variable;
    int64_t fixed = 0;
    for (size_t i = 0; i < children.size(); ++i) {
      Lengths l = lengths_.Of(children[i]);
      if (l.fixed()) {
        fixed = AddSaturating(fixed, l.min);
      } else if (variable || !RepeatsOneCharacter(children[i])) {
        return std::nullopt;
      } else {
        variable = i;
      }
    }
    if (!variable) return std::nullopt;
    NodeView repeat = b_.node(children[*variable]);
    NodeId character = repeat.children[0];
    int64_t min = std::max(repeat.min, min_ - fixed);
    int64_t max = max_ == kUnbounded ? repeat.max : std::min(repeat.max, max_ - fixed);
    if (min > max) return b_.Nothing();
    children[*variable] = b_.Repeat(character, min, max);
    return b_.Sequence(children);
  }

  bool RepeatsOneCharacter(NodeId id) {
    NodeView node = b_.node(id);
    if (node.kind != NodeKind::kRepeat) return false;
    Lengths l = lengths_.Of(node.children[0]);
    return l.min == 1 && l.max == 1;
  }

  GrammarBuilder& b_;
  const StringSet& set_;
  const Limits& limits_;
  PatternMemo* memo_;
  LengthFinder lengths_;
  int64_t min_, max_;
  NodeId any_;
  ScratchVector<NodeId> parts_;
  size_t positive_ = 0;
  ScratchVector<NodeId> excluded_;  // patterns that must not match
};

}  // namespace

void StringSet::Normalise() {
  if (IsAll()) return;
  for (auto* list : {&patterns, &not_patterns, &formats, &not_formats, &excluded}) {
    if (list->size() > 1) SortUniqueTexts(list);
  }
  std::erase_if(patterns, MatchesEverything);
  min_length = std::max<int64_t>(min_length, 0);
  bool contradiction = min_length > max_length || Intersects(patterns, not_patterns) ||
                       Intersects(formats, not_formats) ||
                       std::any_of(not_patterns.begin(), not_patterns.end(), MatchesEverything);
  if (contradiction) {
    *this = NoStrings();
    return;
  }
  if (values) {
    SortUniqueTexts(&*values);
    if (min_length > 0 || max_length != kUnbounded || !excluded.empty()) {
      std::erase_if(*values, [&](const ScratchString& v) {
        return !LengthFits(v) || std::binary_search(excluded.begin(), excluded.end(), v);
      });
    }
    excluded.clear();
    min_length = 0;
    max_length = kUnbounded;
    if (values->empty()) *this = NoStrings();
    return;
  }
  std::erase_if(excluded, [&](const ScratchString& v) { return !LengthFits(v); });
}

bool StringSet::LengthFits(std::string_view value) const {
  if (min_length <= 0 && max_length == kUnbounded) return true;
  int64_t length = CountCodePoints(value);
  return length >= min_length && length <= max_length;
}

bool StringSet::IsAll() const {
  return min_length <= 0 && max_length == kUnbounded && patterns.empty() && not_patterns.empty() &&
         formats.empty() && not_formats.empty() && !values && excluded.empty();
}

bool StringSet::IsEmpty() const {
  if (min_length > max_length || (values && values->empty())) return true;
  if (IsAll() || OnlyValues(*this)) return false;
  // Only lengths, values and opposites contradict.
  if (!values && not_patterns.empty() && not_formats.empty()) return max_length < 0;
  StringSet set = *this;
  set.Normalise();
  return set.values && set.values->empty();
}

std::optional<bool> StringSet::Contains(std::string_view value) const {
  auto in = [&](const ScratchVector<ScratchString>& list) {
    return std::find(list.begin(), list.end(), value) != list.end();
  };
  if (!LengthFits(value) || (values && !in(*values)) || in(excluded)) return false;
  bool undecided =
      !patterns.empty() || !not_patterns.empty() || !formats.empty() || !not_formats.empty();
  return undecided ? std::nullopt : std::optional<bool>(true);
}

std::string StringSet::ToString() const {
  if (IsAll()) return "any string";
  std::string out;
  if (min_length > 0 || max_length != kUnbounded) {
    out = " length " + std::to_string(min_length) + "..";
    if (max_length != kUnbounded) out += std::to_string(max_length);
  }
  AppendList(" pattern ", '/', patterns, &out);
  AppendList(" not pattern ", '/', not_patterns, &out);
  AppendList(" format ", '\'', formats, &out);
  AppendList(" not format ", '\'', not_formats, &out);
  if (values && values->empty()) return "no string";
  if (values) AppendList(" or ", '"', *values, &out);
  AppendList(" except ", '"', excluded, &out);
  return "string" + out;
}

bool MergeValues(const StringSet& from, StringSet* into, size_t most) {
  if (!from.values || !into->values || from.values->size() + into->values->size() > most) {
    return false;
  }
  if (!OnlyValues(from) || !OnlyValues(*into)) return false;
  into->values->insert(into->values->end(), from.values->begin(), from.values->end());
  SortUniqueTexts(&*into->values);
  return true;
}

bool ListsApart(const StringSet& a, const StringSet& b) {
  if (!a.values || !b.values || a.values->size() * b.values->size() > kFewPairs) return false;
  return std::ranges::find_first_of(*a.values, *b.values) == a.values->end();
}

StringSet Intersect(const StringSet& a, const StringSet& b) {
  if (a.IsAll() || b.IsAll() || &a == &b) {
    StringSet set = a.IsAll() ? b : a;
    set.Normalise();
    return set;
  }
  if (OnlyValues(a) && OnlyValues(b)) {
    StringSet set;
    if (std::optional<ScratchVector<ScratchString>> both = Common(*a.values, *b.values)) {
      set.values = *std::move(both);
      return set;
    }
  }
  StringSet set = a;
  set.min_length = std::max(a.min_length, b.min_length);
  set.max_length = std::min(a.max_length, b.max_length);
  auto append = [](ScratchVector<ScratchString>* to, const ScratchVector<ScratchString>& from) {
    to->insert(to->end(), from.begin(), from.end());
  };
  append(&set.patterns, b.patterns);
  append(&set.not_patterns, b.not_patterns);
  append(&set.formats, b.formats);
  append(&set.not_formats, b.not_formats);
  append(&set.excluded, b.excluded);
  if (a.values && b.values) {
    ScratchVector<ScratchString> x = *a.values, y = *b.values, both;
    SortUniqueTexts(&x);
    SortUniqueTexts(&y);
    std::set_intersection(x.begin(), x.end(), y.begin(), y.end(), std::back_inserter(both));
    set.values = std::move(both);
  } else if (b.values) {
    set.values = b.values;
  }
  set.Normalise();
  return set;
}

ScratchVector<StringSet> Complement(const StringSet& original) {
  StringSet set = original;
  set.Normalise();
  ScratchVector<StringSet> result;
  // Each negates one condition. Only the list of values is kept for those after it: what a case
  // holds besides multiplies in every intersection.
  StringSet listed;
  auto add = [&](const StringSet& negated) {
    StringSet term = Intersect(listed, negated);
    if (!term.IsEmpty()) result.push_back(std::move(term));
  };
  if (set.values) {
    StringSet is_not;
    is_not.excluded = *set.values;
    add(is_not);
    listed.values = set.values;
  }
  if (set.min_length > 0) {
    StringSet is_not;
    is_not.max_length = set.min_length - 1;
    add(is_not);
  }
  if (set.max_length != kUnbounded) {
    StringSet is_not;
    is_not.min_length = set.max_length + 1;
    add(is_not);
  }
  using List = ScratchVector<ScratchString> StringSet::*;
  constexpr std::pair<List, List> kOpposites[] = {{&StringSet::patterns, &StringSet::not_patterns},
                                                  {&StringSet::not_patterns, &StringSet::patterns},
                                                  {&StringSet::formats, &StringSet::not_formats},
                                                  {&StringSet::not_formats, &StringSet::formats}};
  for (auto [list, opposite] : kOpposites) {
    for (const ScratchString& s : set.*list) {
      StringSet is_not;
      (is_not.*opposite).push_back(s);
      add(is_not);
    }
  }
  if (!set.excluded.empty()) {
    StringSet is_not;
    is_not.values = set.excluded;
    add(is_not);
  }
  return result;
}

bool PlainlyWithin(const StringSet& a, const StringSet& b) {
  if (b.min_length > a.min_length || b.max_length < a.max_length) return false;
  if (b.values) return a == b;
  auto holds = [](const ScratchVector<ScratchString>& all,
                  const ScratchVector<ScratchString>& some) {
    return some.empty() || std::ranges::includes(all, some);
  };
  return holds(a.patterns, b.patterns) && holds(a.not_patterns, b.not_patterns) &&
         holds(a.formats, b.formats) && holds(a.not_formats, b.not_formats) &&
         holds(a.excluded, b.excluded);
}

bool Disjoint(const StringSet& a, const StringSet& b) { return Intersect(a, b).IsEmpty(); }

StatusOr<NodeId> EmitPattern(GrammarBuilder* builder, std::string_view pattern,
                             const Limits& limits, PatternMemo* memo) {
  if (memo != nullptr) {
    const auto known = memo->find(pattern);
    if (known != memo->end()) return NodeId{known->second};
  }
  RegexOptions options;
  options.encoding = RegexOptions::Encoding::kJsonString;
  options.anchoring = RegexOptions::Anchoring::kSearch;
  StatusOr<NodeId> node = ParseRegex(pattern, options, limits, builder);
  if (node.ok() && memo != nullptr) memo->try_emplace(pattern, *node);
  return node;
}

StatusOr<NodeId> EmitStringBody(GrammarBuilder* builder, const StringSet& original,
                                const Limits& limits, PatternMemo* memo) {
  if (original.IsAll()) return builder->Star(AnyCharacter(builder));
  if (OnlyValues(original) && !original.values->empty() && Ascending(*original.values)) {
    return BodyWriter(builder, original, limits, memo).Write();
  }
  StringSet set = original;
  set.Normalise();
  if (set.values && set.values->empty()) return builder->Nothing();
  return BodyWriter(builder, set, limits, memo).Write();
}

}  // namespace grammask::internal
