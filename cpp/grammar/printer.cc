// A Grammar to EBNF text that ParseEbnf reads back as the same language.
//
// One line a rule, the root first. Nodes are shared, so writing each one out wherever it is used
// could take exponential room: a node that is used more than once and is long gets a rule of its
// own. Inside And and Not the parser puts such rules back in place, so they stay regular. For
// example Repeat(Choice(Bytes("ab"), Class([0-9])), 1, unbounded) is `("ab" | [0-9])+`.
// Cost: linear in the grammar; an explicit stack, so depth is no concern.
// Tests: tests/grammar/ebnf_test.cc.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "base/utf8.h"
#include "grammar/ast.h"
#include "grammar/record.h"

namespace grammask::internal {
namespace {

// A shared node that takes more than this many elements to write gets its own rule.
constexpr size_t kMostCopied = 8;
// Characters of a literal, or ranges of a class, that count as one element.
constexpr size_t kTextPerElement = 16;

// Names that mean something else, or that the root takes.
constexpr std::string_view kReserved[] = {
    "root",  "Bytes",       "ByteClass",        "JsonText",  "JsonClass",
    "And",   "Not",         "Multiple",         "Token",     "ExcludeToken",
    "Regex", "TagDispatch", "TokenTagDispatch", "Substring", "Members"};

void AppendHex(uint32_t value, int digits, std::string* out) {
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) {
    *out += "0123456789abcdef"[value >> shift & 15];
  }
}

// Characters that nobody sees, or that change how their neighbours look: controls, format
// characters, combining marks of the first block, private use.
bool NeedsEscape(uint32_t c) {
  return c < 0x20 || (c >= 0x7F && c < 0xA1) || c == 0xAD || (c >= 0x300 && c < 0x370) ||
         (c >= 0x200B && c < 0x2010) || (c >= 0x2028 && c < 0x2030) ||
         (c >= 0x2060 && c < 0x2070) || (c >= 0xE000 && c < 0xF900) || c == 0xFEFF ||
         (c >= 0xFFF0 && c <= 0xFFFF) || c >= 0xE0000;
}

// Appends `c` as it stands in a literal or class; `special` are characters that need a backslash.
void AppendChar(uint32_t c, std::string_view special, std::string* out) {
  if (c < 0x80 && special.find(static_cast<char>(c)) != std::string_view::npos) {
    *out += '\\';
    *out += static_cast<char>(c);
  } else if (c == '\n') {
    *out += "\\n";
  } else if (c == '\t') {
    *out += "\\t";
  } else if (c == '\r') {
    *out += "\\r";
  } else if (!NeedsEscape(c)) {
    AppendUtf8(c, out);
  } else if (c < 0x80) {
    *out += "\\x";
    AppendHex(c, 2, out);
  } else {
    *out += c < 0x10000 ? "\\u" : "\\U";
    AppendHex(c, c < 0x10000 ? 4 : 8, out);
  }
}

void AppendLiteral(std::string_view text, std::string* out) {
  *out += '"';
  for (size_t pos = 0; pos < text.size();) {
    DecodedChar c = *DecodeUtf8(text, pos);
    AppendChar(c.code_point, "\"\\", out);
    pos += static_cast<size_t>(c.length);
  }
  *out += '"';
}

void AppendRawLiteral(std::string_view bytes, std::string* out) {
  *out += "Bytes(\"";
  for (char c : bytes) {
    uint8_t byte = static_cast<uint8_t>(c);
    if (byte < 0x80) {
      AppendChar(byte, "\"\\", out);
    } else {
      *out += "\\x";
      AppendHex(byte, 2, out);
    }
  }
  *out += "\")";
}

constexpr std::string_view kClassSpecial = "\\]^-[";

void AppendRanges(std::span<const CodePointRange> ranges, std::string* out) {
  for (auto [lo, hi] : ranges) {
    AppendChar(lo, kClassSpecial, out);
    if (hi == lo) continue;
    if (hi > lo + 1) *out += '-';
    AppendChar(hi, kClassSpecial, out);
  }
}

void AppendClass(const CodePointSet& set, std::string* out) {
  CodePointSet others = set.Complement();
  bool negate = others.ranges().size() < set.ranges().size() ||
                (set.Has(kMaxCodePoint) && others.ranges().size() == set.ranges().size()) ||
                others.empty();
  *out += negate ? "[^" : "[";
  AppendRanges(negate ? others.ranges() : set.ranges(), out);
  *out += ']';
}

void AppendByteClass(const ByteSet& set, std::string* out) {
  bool ascii = set.words[2] == 0 && set.words[3] == 0;
  auto append = [&](uint8_t byte) {
    if (byte < 0x80) {
      AppendChar(byte, kClassSpecial, out);
    } else {
      *out += "\\x";
      AppendHex(byte, 2, out);
    }
  };
  // Of ASCII alone, bytes and characters are the same.
  *out += ascii ? "[" : "ByteClass([";
  set.ForEachRange([&](uint8_t lo, uint8_t hi) {
    append(lo);
    if (hi == lo) return;
    if (hi > lo + 1) *out += '-';
    append(hi);
  });
  *out += ascii ? "]" : "])";
}

void AppendTokens(const TokenSet& set, std::string* out) {
  *out += set.excluded ? "ExcludeToken(" : "Token(";
  for (size_t i = 0; i < set.ids.size(); ++i) {
    if (i > 0) *out += ", ";
    *out += std::to_string(set.ids[i]);
  }
  *out += ')';
}

void AppendCounts(int64_t min, int64_t max, std::string* out) {
  if (min == 0 && max == 1) {
    *out += '?';
  } else if (min == 0 && max == kUnbounded) {
    *out += '*';
  } else if (min == 1 && max == kUnbounded) {
    *out += '+';
  } else {
    *out += '{' + std::to_string(min);
    if (max != min) *out += ',';
    if (max != min && max != kUnbounded) *out += std::to_string(max);
    *out += '}';
  }
}

// The first argument of Members: bounds, then a word for each member.
void AppendMemberUses(const MembersView& members, std::string* out) {
  *out += '"' + std::to_string(members.min()) + "..";
  if (members.max() != kUnbounded) *out += std::to_string(members.max());
  for (size_t i = 0; i < members.uses().size(); ++i) {
    *out += ' ';
    *out += MemberUseName(members.use(i));
    if (members.use(i) == MemberUse::kPlaced) *out += ':' + std::to_string(members.place(i));
    for (uint32_t c = 0; c < members.conditions(); ++c) {
      if (members.meets(i) >> c & 1) *out += ':' + std::to_string(c);
    }
  }
  *out += '"';
}

class Printer {
 public:
  explicit Printer(const Grammar& grammar) : grammar_(grammar) {}

  std::string Run() {
    NameRules();
    FindParts();
    PrintRule(rule_names_[grammar_.root().value], grammar_.rule_body(grammar_.root()));
    for (uint32_t r = 0; r < grammar_.rule_count(); ++r) {
      if (RuleId(r) == grammar_.root()) continue;
      PrintRule(rule_names_[r], grammar_.rule_body(RuleId(r)));
    }
    for (uint32_t n = 0; n < grammar_.node_count(); ++n) {
      if (part_numbers_[n] > 0) PrintRule(PartName(part_numbers_[n]), NodeId(n));
    }
    return std::move(out_);
  }

 private:
  // What surrounds a node, and so which nodes need parentheses there.
  enum class Place : uint8_t { kAlone, kInChoice, kInSequence, kRepeated };
  // Something still to print: a node, or text where `text` is not empty, or counts of a repeat.
  struct Pending {
    NodeId node;
    Place place = Place::kAlone;
    std::string_view text;
    bool counts = false;
  };

  void NameRules();
  void FindParts();
  std::string PartName(uint32_t number) const { return part_prefix_ + std::to_string(number); }
  void PrintRule(std::string_view name, NodeId body);
  void PrintNode(const Pending& item, bool is_body);
  void PrintList(std::span<const NodeId> list, Place place, std::string_view separator,
                 std::string_view after);

  const Grammar& grammar_;
  std::vector<std::string> rule_names_;
  std::vector<uint32_t> part_numbers_;  // by node: number of its own rule, or 0
  std::string part_prefix_ = "part_";
  std::vector<Pending> pending_;
  std::string out_;
};

void Printer::NameRules() {
  absl::flat_hash_set<std::string> taken;
  for (std::string_view name : kReserved) taken.emplace(name);
  rule_names_.resize(grammar_.rule_count());
  std::vector<uint32_t> renamed;
  for (uint32_t r = 0; r < grammar_.rule_count(); ++r) {
    if (RuleId(r) == grammar_.root()) {
      rule_names_[r] = "root";
    } else if (taken.insert(grammar_.rule_name(RuleId(r))).second) {
      rule_names_[r] = grammar_.rule_name(RuleId(r));
    } else {
      renamed.push_back(r);
    }
  }
  for (uint32_t r : renamed) {
    std::string name = grammar_.rule_name(RuleId(r));
    do {
      name += '_';
    } while (!taken.insert(name).second);
    rule_names_[r] = std::move(name);
  }
  auto clashes = [&](const std::string& name) { return name.starts_with(part_prefix_); };
  while (std::any_of(rule_names_.begin(), rule_names_.end(), clashes)) part_prefix_ += '_';
}

// Finds the nodes that get their own rule. Children come first, so their sizes are known.
void Printer::FindParts() {
  size_t count = grammar_.node_count();
  std::vector<uint32_t> uses(count);
  std::vector<size_t> sizes(count);  // elements to write where the node is used
  part_numbers_.resize(count);
  for (uint32_t n = 0; n < count; ++n) {
    for (NodeId child : grammar_.node(NodeId(n)).children) ++uses[child.value];
  }
  // A body that is used elsewhere too could stand as the rule's name there, but a rule of its own
  // is as short.
  for (uint32_t r = 0; r < grammar_.rule_count(); ++r) {
    ++uses[grammar_.rule_body(RuleId(r)).value];
  }
  uint32_t parts = 0;
  for (uint32_t n = 0; n < count; ++n) {
    NodeView node = grammar_.node(NodeId(n));
    size_t size = 1 + node.text.size() / kTextPerElement;
    if (node.kind == NodeKind::kClass || node.kind == NodeKind::kJsonClass) {
      size += node.characters->ranges().size() / kTextPerElement;
    }
    if (node.kind == NodeKind::kTokens) size += node.tokens->ids.size();
    for (NodeId child : node.children) size += sizes[child.value];
    if (uses[n] > 1 && size > kMostCopied) {
      part_numbers_[n] = ++parts;
      size = 1;
    }
    sizes[n] = size;
  }
}

void Printer::PrintRule(std::string_view name, NodeId body) {
  out_ += name;
  out_ += " ::= ";
  bool own = name.starts_with(part_prefix_);  // the rule of a part, not a call of it
  pending_.push_back({body});
  bool first = true;
  while (!pending_.empty()) {
    Pending item = pending_.back();
    pending_.pop_back();
    if (!item.text.empty()) {
      out_ += item.text;
    } else if (item.counts) {
      NodeView node = grammar_.node(item.node);
      AppendCounts(node.min, node.max, &out_);
    } else {
      PrintNode(item, first && own);
    }
    first = false;
  }
  out_ += '\n';
}

void Printer::PrintNode(const Pending& item, bool is_body) {
  if (part_numbers_[item.node.value] > 0 && !is_body) {
    out_ += PartName(part_numbers_[item.node.value]);
    return;
  }
  NodeView node = grammar_.node(item.node);
  Place place = item.place;
  bool enclose = (node.kind == NodeKind::kChoice && place > Place::kAlone) ||
                 (node.kind == NodeKind::kSequence && place == Place::kRepeated) ||
                 (node.kind == NodeKind::kRepeat && place == Place::kRepeated);
  if (enclose) {
    out_ += '(';
    pending_.push_back({NodeId(), Place::kAlone, ")"});
  }
  switch (node.kind) {
    case NodeKind::kNothing:
      out_ += "[]";
      break;
    case NodeKind::kEmpty:
      out_ += "\"\"";
      break;
    case NodeKind::kBytes:
      if (FindInvalidUtf8(node.text).has_value()) {
        AppendRawLiteral(node.text, &out_);
      } else {
        AppendLiteral(node.text, &out_);
      }
      break;
    case NodeKind::kJsonText:
      out_ += "JsonText(";
      AppendLiteral(node.text, &out_);
      out_ += ')';
      break;
    case NodeKind::kByteClass:
      AppendByteClass(*node.bytes, &out_);
      break;
    case NodeKind::kClass:
      AppendClass(*node.characters, &out_);
      break;
    case NodeKind::kJsonClass:
      out_ += "JsonClass(";
      AppendClass(*node.characters, &out_);
      out_ += ')';
      break;
    case NodeKind::kSequence:
      PrintList(node.children, Place::kInSequence, " ", "");
      break;
    case NodeKind::kChoice:
      PrintList(node.children, Place::kInChoice, " | ", "");
      break;
    case NodeKind::kRepeat:
      pending_.push_back({item.node, Place::kAlone, {}, true});
      pending_.push_back({node.children[0], Place::kRepeated});
      break;
    case NodeKind::kRule:
      out_ += rule_names_[node.rule.value];
      break;
    case NodeKind::kAnd:
    case NodeKind::kNot:
      out_ += node.kind == NodeKind::kAnd ? "And(" : "Not(";
      PrintList(node.children, Place::kAlone, ", ", ")");
      break;
    case NodeKind::kMultiple:
      out_ += "Multiple(" + std::to_string(node.multiple.modulus);
      if (node.multiple.scale > 0) out_ += ", " + std::to_string(node.multiple.scale);
      out_ += ')';
      break;
    case NodeKind::kTokens:
      AppendTokens(*node.tokens, &out_);
      break;
    case NodeKind::kMembers:
      out_ += "Members(";
      AppendMemberUses(node.members, &out_);
      out_ += ", ";
      PrintList(node.children, Place::kAlone, ", ", ")");
      break;
    case NodeKind::kRecord:
    case NodeKind::kStandard:
      break;  // written out before
  }
}

// Puts the list on the stack, last entry first.
void Printer::PrintList(std::span<const NodeId> list, Place place, std::string_view separator,
                        std::string_view after) {
  if (!after.empty()) pending_.push_back({NodeId(), Place::kAlone, after});
  for (size_t i = list.size(); i-- > 0;) {
    pending_.push_back({list[i], place});
    if (i > 0) pending_.push_back({NodeId(), Place::kAlone, separator});
  }
}

}  // namespace

std::string Grammar::ToString() const {
  return has_short_forms() ? Printer(WithoutShortForms(*this)).Run() : Printer(*this).Run();
}

}  // namespace grammask::internal
