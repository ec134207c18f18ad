// EBNF text to a Grammar: finding the rules, and the order in which they are read.
//
// A rule begins at each `name ::=`, so all rules are known before a body is read, and a body is
// every token up to the next such place. Arguments of And and Not must be regular: a rule named
// there is replaced by its body, so these rules are read first, each after those that it names. All
// other names become calls. For example in `root ::= And(a, Not(b)) a`, with any a and b that do
// not call themselves, a and b are read first, and the last `a` is a call.
// Cost: linear in the text. Source: the dialect of docs/grammar.md. Tests:
// tests/grammar/ebnf_test.cc.
#include "grammar/ebnf.h"

#include <algorithm>
#include <string>
#include <utility>

#include "grammar/ebnf_parser.h"

namespace grammask::internal {
namespace {

// How many single-character edits lead from a to b.
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      size_t above = row[j + 1];
      row[j + 1] = std::min({above + 1, row[j] + 1, diagonal + (a[i] != b[j])});
      diagonal = above;
    }
  }
  return row[b.size()];
}

}  // namespace

StatusOr<Grammar> EbnfParser::Run() {
  GM_ASSIGN_OR_RETURN(tokens_, LexEbnf(source_, limits_));
  GM_RETURN_IF_ERROR(FindRules());
  GM_RETURN_IF_ERROR(ParseInlinedRules());
  for (EbnfRule& rule : rules_) {
    if (!rule.inlined) GM_RETURN_IF_ERROR(ParseBody(&rule));
  }
  return builder_.Finish(rules_[rule_index_.at(Key(options_.root_rule))].id);
}

Status EbnfParser::FindRules() {
  uint32_t last = static_cast<uint32_t>(tokens_.size() - 1);
  for (uint32_t i = 0; i < last; ++i) {
    if (at(i).kind != EbnfTokenKind::kDefine) continue;
    GM_RETURN_IF_ERROR(CheckHeader(i));
    std::string_view name = text(i - 1);
    uint32_t index = static_cast<uint32_t>(rules_.size());
    auto [it, is_new] = rule_index_.try_emplace(Key(name), index);
    if (!is_new) {
      return Error(i - 1, "rule " + std::string(name) +
                              " is defined twice; join the two bodies with |, or rename one");
    }
    if (index > 0) rules_.back().end = i - 1;
    rules_.push_back({name, i - 1, i + 1, last, builder_.AddRule(name), NodeId()});
  }
  if (rules_.empty()) {
    return Error(0, "the grammar has no rules; write root ::= followed by an expression");
  }
  if (rules_[0].name_token != 0) {
    return Error(0, "a grammar begins with a rule: name ::= expression");
  }
  if (!rule_index_.contains(Key(options_.root_rule))) return NoRoot();
  return {};
}

// What stands before the ::= at token `define`.
Status EbnfParser::CheckHeader(uint32_t define) {
  if (define > 0 && at(define - 1).kind == EbnfTokenKind::kName) {
    if (text(define - 1).find_first_not_of('.') != std::string_view::npos) return {};
    return Error(define - 1, "a name of a rule needs a character other than a dot");
  }
  if (define > 1 && at(define - 1).kind == EbnfTokenKind::kClass &&
      at(define - 2).kind == EbnfTokenKind::kName) {
    return Error(define - 1,
                 "options of a rule, as in name[max_tokens=5], are not supported; "
                 "remove them",
                 StatusCode::kUnsupported);
  }
  return Error(define, "::= needs the name of a rule before it");
}

Status EbnfParser::NoRoot() const {
  std::string what = "the grammar has no rule named " + options_.root_rule + "; ";
  if (std::optional<std::string_view> near = Nearest(options_.root_rule); near.has_value()) {
    what += "did you mean " + std::string(*near) + "?";
  } else {
    what += "define it, or name another root_rule, such as " + std::string(rules_[0].name);
  }
  return Error(0, what);
}

// A defined name that differs little from `name`.
std::optional<std::string_view> EbnfParser::Nearest(std::string_view name) const {
  constexpr size_t kMostRules = 2000;
  constexpr size_t kLongestName = 64;
  if (name.size() > kLongestName) return std::nullopt;
  std::optional<std::string_view> nearest;
  size_t best = name.size() / 3 + 2;  // as far as is still likely a slip
  for (size_t r = 0; r < std::min(rules_.size(), kMostRules); ++r) {
    std::string_view other = rules_[r].name;
    if (other.size() > kLongestName) continue;
    size_t distance = EditDistance(name, other);
    if (distance < best && distance < name.size()) {
      best = distance;
      nearest = other;
    }
  }
  return nearest;
}

Status EbnfParser::UndefinedRule(uint32_t token) const {
  std::string_view name = text(token);
  if (name.find_first_not_of('.') == std::string_view::npos) {
    return Error(token,
                 "a dot is no wildcard in a grammar; write [^\\n] for any character of a "
                 "line, [^] for any at all, or Regex(\"...\")");
  }
  std::string what = "rule " + std::string(name) + " is not defined; ";
  if (std::optional<std::string_view> near = Nearest(name); near.has_value()) {
    what += "did you mean " + std::string(*near) + "?";
  } else {
    what += "define it with " + std::string(name) + " ::= ..., or quote it to match it as text";
  }
  return Error(token, what);
}

// Marks the rules named under And and Not, and those that they name.
void EbnfParser::MarkInlined() {
  std::vector<uint32_t> pending;
  auto mark = [&](uint32_t i) {
    if (at(i).kind != EbnfTokenKind::kName) return;
    auto it = rule_index_.find(Key(text(i)));
    if (it == rule_index_.end() || rules_[it->second].inlined) return;
    rules_[it->second].inlined = true;
    pending.push_back(it->second);
  };
  for (const EbnfRule& rule : rules_) {
    size_t depth = 0, open = 0;  // parentheses; how deep the outermost And or Not stands, or 0
    for (uint32_t i = rule.begin; i < rule.end; ++i) {
      std::optional<EbnfMacro> macro = MacroAt(i);
      if (open == 0 && (macro == EbnfMacro::kAnd || macro == EbnfMacro::kNot)) open = depth + 1;
      if (IsPunct(i, '(')) ++depth;
      if (IsPunct(i, ')') && depth > 0 && --depth < open) open = 0;
      if (open > 0) mark(i);
    }
  }
  while (!pending.empty()) {
    EbnfRule rule = rules_[pending.back()];
    pending.pop_back();
    for (uint32_t i = rule.begin; i < rule.end; ++i) mark(i);
  }
}

// Reads the inlined rules, each after those that it names.
Status EbnfParser::ParseInlinedRules() {
  MarkInlined();
  struct Visit {
    uint32_t rule, token;  // the next token to look at
  };
  enum class State : uint8_t { kNew, kOpen, kDone };
  std::vector<State> states(rules_.size());
  std::vector<Visit> stack;
  for (uint32_t r = 0; r < rules_.size(); ++r) {
    if (!rules_[r].inlined || states[r] != State::kNew) continue;
    stack.push_back({r, rules_[r].begin});
    states[r] = State::kOpen;
    while (!stack.empty()) {
      auto [index, i] = stack.back();
      if (i == rules_[index].end) {
        stack.pop_back();
        states[index] = State::kDone;
        GM_RETURN_IF_ERROR(ParseBody(&rules_[index]));
        continue;
      }
      ++stack.back().token;
      if (at(i).kind != EbnfTokenKind::kName) continue;
      auto it = rule_index_.find(Key(text(i)));
      if (it == rule_index_.end() || states[it->second] == State::kDone) continue;
      if (states[it->second] == State::kOpen) {
        return Error(i, "rule " + std::string(text(i)) +
                            " calls itself and is used inside And or "
                            "Not, which take only regular expressions; use a repetition instead");
      }
      states[it->second] = State::kOpen;
      stack.push_back({it->second, rules_[it->second].begin});
    }
  }
  return {};
}

StatusOr<Grammar> ParseEbnf(std::string_view source, const EbnfOptions& options,
                            const Limits& limits) {
  return EbnfParser(source, options, limits).Run();
}

}  // namespace grammask::internal
