// The text of a regular expression, to its tree.
//
// One pass from left to right with a stack of open groups. Finished items wait on one stack, the
// finished alternatives of a group on another, so closing a group takes the top of both. For
// `a(b|c)*` that is: item `a`; `(` opens; item `b`, alternative `b`; item `c`; `)` makes the choice
// of b and c an item; `*` wraps it; the end makes a sequence of the two items.
// Cost: linear in the pattern, apart from the character classes it names.
// Source: ECMA-262, 22.2.1 with annex B.1.2. Tests: tests/grammar/regex_test.cc.
#include "grammar/regex_parser.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "base/scratch.h"
#include "base/utf8.h"
#include "grammar/regex_chars.h"
#include "grammar/unicode_tables.h"

namespace grammask::internal {
namespace {

struct Flags {
  bool ignore_case, dot_all, multi_line;
};

enum class GroupKind : uint8_t { kPlain, kLook };

struct Group {
  GroupKind kind = GroupKind::kPlain;
  bool behind = false, negated = false;
  Flags flags;
  size_t offset;        // of the parenthesis
  size_t items;         // where its current alternative begins among the items
  size_t alternatives;  // where its alternatives begin
};

struct Counts {
  int64_t min, max;
};

class Parser {
 public:
  Parser(std::string_view pattern, const RegexOptions& options, const Limits& limits)
      : pattern_(pattern), limits_(limits), in_(pattern) {
    flags_ = {options.ignore_case, options.dot_all, options.multi_line};
  }

  StatusOr<RegexTree> Parse();

 private:
  // Adding to the current alternative.
  void AddCharacter(uint32_t c, size_t offset);
  void AddSet(CodePointSet set, size_t offset);
  void FlushText();
  void Push(uint32_t item) { items_.push_back(item); }

  // Reading.
  Status ParseItem();
  Status OpenGroup();
  Status OpenSpecialGroup(Group group);
  Status ReadGroupName(size_t start);
  Status ReadFlags(Group group);
  Status Enter(Group group);
  Status CloseGroup();
  uint32_t FinishAlternative();
  uint32_t FinishGroup();
  Status ParseBackslash();
  Status CheckBackreference(size_t start);
  size_t CountCaptures() const;
  bool QuantifierFollows() const;
  StatusOr<Counts> ReadCounts();
  Status ApplyQuantifier();
  [[gnu::cold]] Status Error(size_t offset, std::string_view what,
                             StatusCode code = StatusCode::kInvalidArgument) const {
    return in_.Error(offset, what, code);
  }

  std::string_view pattern_;
  const Limits& limits_;
  RegexCharReader in_;
  RegexTree tree_;
  Flags flags_;
  ScratchVector<Group> groups_;           // open ones; the first is the whole pattern
  ScratchVector<uint32_t> items_;         // of unfinished alternatives
  ScratchVector<uint32_t> alternatives_;  // of open groups
  // Indices of tree_.sets: by character in ignore_case, and by the text of a \w or \p{..}.
  absl::flat_hash_map<uint32_t, uint32_t> case_variants_;
  absl::flat_hash_map<std::pair<std::string_view, bool>, uint32_t> escape_sets_;
  size_t text_begin_ = 0;   // tree_.text from here is a literal that is not an item yet
  size_t text_offset_ = 0;  // where in the pattern it began
  int look_depth_ = 0;
};

// Makes an item of the literal collected so far.
void Parser::FlushText() {
  if (text_begin_ == tree_.text.size()) return;
  Push(tree_.Add({.kind = RegexKind::kText,
                  .first = static_cast<uint32_t>(text_begin_),
                  .count = static_cast<uint32_t>(tree_.text.size() - text_begin_),
                  .offset = text_offset_}));
  text_begin_ = tree_.text.size();
}

// Makes a set of characters an item.
void Parser::AddSet(CodePointSet set, size_t offset) {
  FlushText();
  Push(tree_.AddSet(RegexKind::kChars, std::move(set), offset));
}

// Literals run together, except that a quantifier takes only the last character.
void Parser::AddCharacter(uint32_t c, size_t offset) {
  if (c >= 0xD800 && c <= 0xDFFF) return AddSet(CodePointSet(), offset);
  if (flags_.ignore_case) {
    auto [variants, is_new] = case_variants_.try_emplace(c, tree_.sets.size());
    if (is_new) tree_.sets.push_back(CloseUnderCaseFolding(CodePointSet::Of(c)));
    if (tree_.sets[variants->second].size() > 1) {
      FlushText();
      Push(tree_.Add({.kind = RegexKind::kChars, .first = variants->second, .offset = offset}));
      return;
    }
  }
  if (QuantifierFollows()) FlushText();
  if (text_begin_ == tree_.text.size()) text_offset_ = offset;
  AppendUtf8(c, &tree_.text);
}

// ---- Groups ----

Status Parser::Enter(Group group) {
  if (groups_.size() > static_cast<size_t>(limits_.max_nesting)) {
    return Error(group.offset,
                 "groups are nested deeper than max_nesting = " +
                     std::to_string(limits_.max_nesting) + "; nest fewer, or raise that limit",
                 StatusCode::kResourceExhausted);
  }
  if (group.kind == GroupKind::kLook && ++look_depth_ > limits_.max_boolean_nesting) {
    return Error(group.offset,
                 "lookarounds are nested deeper than max_boolean_nesting = " +
                     std::to_string(limits_.max_boolean_nesting) +
                     "; nest fewer, or raise that limit",
                 StatusCode::kResourceExhausted);
  }
  FlushText();
  group.items = items_.size();
  group.alternatives = alternatives_.size();
  std::swap(group.flags, flags_);  // the group keeps what holds again after it
  groups_.push_back(group);
  return Status();
}

// At `(`.
Status Parser::OpenGroup() {
  Group group{.flags = flags_, .offset = in_.pos++, .items = 0, .alternatives = 0};
  if (!in_.Consume("?")) return Enter(group);
  if (in_.Consume(":")) return Enter(group);
  for (bool behind : {false, true}) {
    for (bool negated : {false, true}) {
      std::string_view mark = behind ? (negated ? "<!" : "<=") : (negated ? "!" : "=");
      if (!in_.Consume(mark)) continue;
      group.kind = GroupKind::kLook;
      group.behind = behind;
      group.negated = negated;
      return Enter(group);
    }
  }
  return OpenSpecialGroup(group);
}

// After `(?`, for what is not a plain group and not a lookaround.
Status Parser::OpenSpecialGroup(Group group) {
  constexpr StatusCode kNo = StatusCode::kUnsupported;
  if (in_.LookingAt("P=") || in_.LookingAt("P>")) {
    return Error(group.offset,
                 "backreferences and recursion are not regular and not supported; "
                 "write the group's expression out again",
                 kNo);
  }
  if (in_.Consume("<") || in_.Consume("P<")) {
    GM_RETURN_IF_ERROR(ReadGroupName(group.offset));
    return Enter(group);
  }
  if (in_.Peek() == '>') {
    return Error(group.offset,
                 "atomic groups are not part of ECMA-262 and not supported; use (?:", kNo);
  }
  if (in_.Peek() == '(') {
    return Error(group.offset,
                 "conditional groups are not supported; write both cases as "
                 "alternatives",
                 kNo);
  }
  return ReadFlags(group);
}

// After `(?<`, through the closing angle bracket. Names have no effect and are not compared.
Status Parser::ReadGroupName(size_t start) {
  constexpr std::string_view kWant =
      "a group's name is letters, digits, _ and $, and does not begin with a digit, as in (?<name>";
  static const CodePointSet kStart =
      UnicodeBinaryProperty("ID_Start")->Union({{'$', '$'}, {'_', '_'}});
  static const CodePointSet kContinue =
      UnicodeBinaryProperty("ID_Continue")->Union({{'$', '$'}, {0x200C, 0x200D}});
  size_t first = in_.pos;
  while (!in_.Consume(">")) {
    if (in_.AtEnd()) return Error(start, kWant);
    bool is_first = in_.pos == first;
    uint32_t c = in_.TakeCharacter();
    if (c == '\\') {
      if (in_.Peek() != 'u') return Error(start, kWant);
      GM_ASSIGN_OR_RETURN(RegexAtom atom, in_.ReadEscape(/*in_class=*/false, false));
      c = *atom.code_point;
    }
    if (!(is_first ? kStart : kContinue).Has(c)) return Error(start, kWant);
  }
  return in_.pos == first + 1 ? Error(start, kWant) : Status();
}

// After `(?`: flags, then `)`: for the rest of the enclosing group, or `:`: for this group.
Status Parser::ReadFlags(Group group) {
  Flags flags = flags_;
  bool on = true;
  for (;; ++in_.pos) {
    switch (in_.Peek()) {
      case 'i':
        flags.ignore_case = on;
        continue;
      case 's':
        flags.dot_all = on;
        continue;
      case 'm':
        flags.multi_line = on;
        continue;
      case 'u':
        continue;  // classes are Unicode's anyway
      case '-':
        if (!on) break;
        on = false;
        continue;
      case ':': {
        if (in_.pos == group.offset + 2) break;
        ++in_.pos;
        GM_RETURN_IF_ERROR(Enter(group));
        flags_ = flags;
        return Status();
      }
      case ')': {
        if (in_.pos == group.offset + 2) break;
        ++in_.pos;
        FlushText();
        flags_ = flags;
        return Status();
      }
      default:
        break;
    }
    return Error(in_.pos, "expected : = ! <= <! <name> or the flags i, m, s after (?");
  }
}

// The sequence of the items of the innermost group's current alternative.
uint32_t Parser::FinishAlternative() {
  FlushText();
  const Group& group = groups_.back();
  auto items = std::span<const uint32_t>(items_).subspan(group.items);
  size_t offset = items.empty() ? in_.pos : tree_.nodes[items[0]].offset;
  uint32_t sequence = tree_.AddList(RegexKind::kSequence, items, offset);
  items_.resize(group.items);
  return sequence;
}

uint32_t Parser::FinishGroup() {
  alternatives_.push_back(FinishAlternative());
  const Group group = groups_.back();
  auto alternatives = std::span<const uint32_t>(alternatives_).subspan(group.alternatives);
  uint32_t choice = tree_.AddList(RegexKind::kChoice, alternatives, group.offset);
  alternatives_.resize(group.alternatives);
  return choice;
}

// At `)`.
Status Parser::CloseGroup() {
  if (groups_.size() == 1) {
    return Error(in_.pos, "this parenthesis closes no group; write \\) for a parenthesis itself");
  }
  uint32_t node = FinishGroup();
  ++in_.pos;
  Group group = groups_.back();
  groups_.pop_back();
  flags_ = group.flags;
  if (group.kind == GroupKind::kPlain) {
    Push(node);
    return QuantifierFollows() ? ApplyQuantifier() : Status();
  }
  --look_depth_;
  Push(tree_.AddLook(group.behind, group.negated, node, group.offset));
  if (!QuantifierFollows()) return Status();
  if (group.behind) {
    return Error(in_.pos, "a lookbehind cannot be repeated; leave the quantifier out");
  }
  return ApplyQuantifier();
}

// ---- Items ----

// How many capturing groups the whole pattern has.
size_t Parser::CountCaptures() const {
  size_t captures = 0;
  bool in_class = false;
  for (size_t i = 0; i < pattern_.size(); ++i) {
    char c = pattern_[i];
    if (c == '\\') ++i;
    if (c == '[') in_class = true;
    if (c == ']') in_class = false;
    if (c != '(' || in_class) continue;
    std::string_view rest = pattern_.substr(i + 1);
    bool named = rest.starts_with("?P<") ||
                 (rest.starts_with("?<") && !rest.starts_with("?<=") && !rest.starts_with("?<!"));
    if (!rest.starts_with("?") || named) ++captures;
  }
  return captures;
}

// At a digit after a backslash: it refers to a group when there is one of that number; otherwise,
// by annex B, it is an octal escape or the digit itself.
Status Parser::CheckBackreference(size_t start) {
  size_t number = 0;
  for (size_t i = in_.pos; i < pattern_.size() && pattern_[i] >= '0' && pattern_[i] <= '9'; ++i) {
    number = std::min<size_t>(number * 10 + static_cast<size_t>(pattern_[i] - '0'), 1 << 30);
  }
  if (number > CountCaptures()) return Status();
  return Error(start,
               "backreferences are not regular and not supported; write the group's "
               "expression out again",
               StatusCode::kUnsupported);
}

// At a backslash outside classes.
Status Parser::ParseBackslash() {
  size_t start = in_.pos++;
  auto assertion = [&](uint32_t node) {
    FlushText();
    Push(node);
    if (!QuantifierFollows()) return Status();
    return Error(in_.pos, "an assertion cannot be repeated; leave the quantifier out");
  };
  char c = in_.Peek();
  if (c == 'b' || c == 'B' || c == 'A' || c == 'z' || c == 'Z') {
    ++in_.pos;
    FlushText();
    bool word = c == 'b' || c == 'B';
    return assertion(
        word ? tree_.AddWordBoundary(RegexWordChars(flags_.ignore_case), c == 'B', start)
             : tree_.AddBeside(CodePointSet(), true, c == 'A', start));
  }
  if (c == 'k') {
    return Error(start,
                 "backreferences are not regular and not supported; write the group's "
                 "expression out again",
                 StatusCode::kUnsupported);
  }
  if (c >= '1' && c <= '9') GM_RETURN_IF_ERROR(CheckBackreference(start));
  GM_ASSIGN_OR_RETURN(RegexAtom atom, in_.ReadEscape(/*in_class=*/false, flags_.ignore_case));
  if (atom.code_point.has_value()) {
    AddCharacter(*atom.code_point, start);
  } else {
    FlushText();
    std::string_view escape = pattern_.substr(start, in_.pos - start);
    auto [known, is_new] =
        escape_sets_.try_emplace({escape, flags_.ignore_case}, tree_.sets.size());
    if (is_new) {
      if (flags_.ignore_case) atom.set = CloseUnderCaseFolding(atom.set);
      tree_.sets.push_back(std::move(atom.set));
    }
    Push(tree_.Add({.kind = RegexKind::kChars, .first = known->second, .offset = start}));
  }
  return QuantifierFollows() ? ApplyQuantifier() : Status();
}

Status Parser::ParseItem() {
  size_t start = in_.pos;
  switch (in_.Peek()) {
    case '(':
      return OpenGroup();
    case ')':
      return CloseGroup();
    case '\\':
      return ParseBackslash();
    case '|':
      alternatives_.push_back(FinishAlternative());
      ++in_.pos;
      return Status();
    case '^':
    case '$': {
      bool behind = in_.Peek() == '^';
      ++in_.pos;
      FlushText();
      CodePointSet ends = flags_.multi_line ? RegexLineEnds() : CodePointSet();
      Push(tree_.AddBeside(std::move(ends), true, behind, start));
      if (!QuantifierFollows()) return Status();
      return Error(in_.pos, "an assertion cannot be repeated; leave the quantifier out");
    }
    case '.':
      ++in_.pos;
      AddSet(flags_.dot_all ? CodePointSet::All() : RegexLineEnds().Complement(), start);
      break;
    case '[': {
      ++in_.pos;
      GM_ASSIGN_OR_RETURN(CodePointSet set, in_.ReadClass(flags_.ignore_case));
      AddSet(std::move(set), start);
      break;
    }
    default:
      if (QuantifierFollows()) {
        return Error(start,
                     "there is nothing to repeat here; put what repeats before it, or a "
                     "backslash for the character itself");
      }
      AddCharacter(in_.TakeCharacter(), start);
      break;
  }
  return QuantifierFollows() ? ApplyQuantifier() : Status();
}

// ---- Quantifiers ----

// `*`, `+`, `?`, `{n}`, `{n,}` and `{n,m}`; any other brace is a character.
bool Parser::QuantifierFollows() const {
  char c = in_.Peek();
  if (c == '*' || c == '+' || c == '?') return true;
  if (c != '{') return false;
  size_t i = in_.pos + 1, digits = 0;
  auto skip_digits = [&] {
    for (; i < pattern_.size() && pattern_[i] >= '0' && pattern_[i] <= '9'; ++i) ++digits;
  };
  skip_digits();
  if (digits == 0) return false;
  if (i < pattern_.size() && pattern_[i] == ',') {
    ++i;
    skip_digits();
  }
  return i < pattern_.size() && pattern_[i] == '}';
}

StatusOr<Counts> Parser::ReadCounts() {
  if (in_.Consume("*")) return Counts{0, kUnbounded};
  if (in_.Consume("+")) return Counts{1, kUnbounded};
  if (in_.Consume("?")) return Counts{0, 1};
  size_t start = in_.pos++;
  auto number = [&] {
    int64_t value = 0;
    for (; in_.Peek() >= '0' && in_.Peek() <= '9'; ++in_.pos) {
      int64_t digit = in_.Peek() - '0';
      if (value > (kUnbounded - 1 - digit) / 10) value = kUnbounded;
      if (value != kUnbounded) value = value * 10 + digit;
    }
    return value;
  };
  Counts counts;
  counts.min = counts.max = number();
  bool open = false;
  if (in_.Consume(",")) {
    open = in_.Peek() == '}';
    counts.max = open ? kUnbounded : number();
  }
  ++in_.pos;  // the closing brace
  if (counts.min > limits_.max_repeat || (!open && counts.max > limits_.max_repeat)) {
    return Error(start,
                 "this count is over max_repeat = " + std::to_string(limits_.max_repeat) +
                     "; make it smaller, or raise that limit",
                 StatusCode::kResourceExhausted);
  }
  if (counts.min > counts.max) {
    return Error(start, "this repetition ends before it begins; swap its counts");
  }
  return counts;
}

// Wraps the last item. It is at a quantifier.
Status Parser::ApplyQuantifier() {
  FlushText();
  size_t start = in_.pos;
  GM_ASSIGN_OR_RETURN(Counts counts, ReadCounts());
  if (!in_.Consume("?") && in_.Peek() == '+') {
    return Error(in_.pos,
                 "possessive quantifiers are not part of ECMA-262 and not supported; "
                 "leave the + out",
                 StatusCode::kUnsupported);
  }
  if (QuantifierFollows()) {
    return Error(in_.pos, "two quantifiers in a row; put the first one in a group, as in (?:a*)*");
  }
  uint32_t child = items_.back();
  RegexKind kind = tree_.nodes[child].kind;
  if (kind == RegexKind::kBeside || kind == RegexKind::kLook) {  // takes no text, so once is enough
    if (counts.min == 0) items_.back() = tree_.Add({.kind = RegexKind::kEmpty, .offset = start});
    return Status();
  }
  tree_.children.push_back(child);
  items_.back() = tree_.Add({.kind = RegexKind::kRepeat,
                             .first = static_cast<uint32_t>(tree_.children.size() - 1),
                             .count = 1,
                             .min = counts.min,
                             .max = counts.max,
                             .offset = start});
  return Status();
}

StatusOr<RegexTree> Parser::Parse() {
  if (pattern_.size() > limits_.max_source_bytes) {
    return ResourceExhausted("the pattern is longer than max_source_bytes = " +
                             std::to_string(limits_.max_source_bytes) + "; raise that limit");
  }
  if (std::optional<size_t> bad = FindInvalidUtf8(pattern_); bad.has_value()) {
    return Error(*bad, "the pattern is not valid UTF-8; write \\xHH for a character by its code");
  }
  groups_.push_back({.flags = flags_, .offset = 0, .items = 0, .alternatives = 0});
  while (!in_.AtEnd()) GM_RETURN_IF_ERROR(ParseItem());
  if (groups_.size() > 1) {
    return Error(groups_.back().offset,
                 "this group is never closed; add ) or write \\( for a parenthesis itself");
  }
  tree_.root = FinishGroup();
  return std::move(tree_);
}

}  // namespace

StatusOr<RegexTree> ParseRegexTree(std::string_view pattern, const RegexOptions& options,
                                   const Limits& limits) {
  return Parser(pattern, options, limits).Parse();
}

}  // namespace grammask::internal
