// The body of a rule to a node.
//
// Tokens are read left to right with a stack of open parentheses; each keeps its elements, its
// finished alternatives and, for And and Not, its finished arguments on three shared stacks. For
// example in `"a" (b | "c")+` the group opens a frame, `|` turns what the frame has into an
// alternative, `)` turns the alternatives into one element, and + wraps that.
// Cost: linear in the tokens. Tests: tests/grammar/ebnf_test.cc.
#include <algorithm>
#include <charconv>
#include <string>

#include "grammar/ebnf_parser.h"

namespace grammask::internal {

Status EbnfParser::ParseBody(EbnfRule* rule) {
  rule_ = rule;
  frames_.clear();
  elements_.clear();
  alternatives_.clear();
  arguments_.clear();
  boolean_frames_ = 0;
  frames_.push_back({Frame::Kind::kBody, rule->name_token, 0, 0, 0});
  uint32_t i = rule->begin;
  while (i < rule->end) GM_RETURN_IF_ERROR(ParseToken(&i));
  if (frames_.size() > 1) return Error(frames_.back().token, "this ( has no closing )");
  rule->body = CloseChoice();
  builder_.SetBody(rule->id, rule->body);
  return {};
}

// Reads the element or operator at token *i, and moves *i behind it.
Status EbnfParser::ParseToken(uint32_t* i) {
  uint32_t token = *i;
  switch (at(token).kind) {
    case EbnfTokenKind::kString: {
      GM_ASSIGN_OR_RETURN(std::string bytes,
                          ReadEbnfString(source_, at(token), HexEscape::kCharacter));
      elements_.push_back(builder_.Bytes(bytes));
      break;
    }
    case EbnfTokenKind::kClass: {
      GM_ASSIGN_OR_RETURN(CodePointSet set, ReadEbnfClass(source_, at(token)));
      elements_.push_back(builder_.Class(set));
      break;
    }
    case EbnfTokenKind::kTokenRef:
      GM_RETURN_IF_ERROR(ParseTokenRef(token));
      break;
    case EbnfTokenKind::kBraces:
      GM_RETURN_IF_ERROR(ParseBraces(token));
      break;
    case EbnfTokenKind::kName:
      return ParseName(i);
    case EbnfTokenKind::kPunct:
      return ParsePunct(i);
    case EbnfTokenKind::kDefine:
    case EbnfTokenKind::kEnd:
      return Error(token, "unexpected end of an expression");
  }
  ++*i;
  return {};
}

Status EbnfParser::ParsePunct(uint32_t* i) {
  uint32_t token = (*i)++;
  switch (source_[at(token).offset]) {
    case '|':
      CloseAlternative();
      return {};
    case '(':
      if (IsPunct(token + 1, '=')) {
        return Error(token, "lookahead, (= ...), is not supported; remove it",
                     StatusCode::kUnsupported);
      }
      return Open(Frame::Kind::kGroup, token);
    case ')':
      return Close(token);
    case ',':
      return CloseArgument(token);
    case '*':
      return Quantify(token, 0, kUnbounded);
    case '+':
      return Quantify(token, 1, kUnbounded);
    case '?':
      return Quantify(token, 0, 1);
    default:
      return Error(token, "unexpected =; a rule is defined with ::=");
  }
}

Status EbnfParser::ParseName(uint32_t* i) {
  uint32_t token = *i;
  if (std::optional<EbnfMacro> macro = MacroAt(token); macro.has_value()) {
    if (!IsPunct(token + 1, '(')) {
      return Error(token, std::string(text(token)) +
                              " is a macro and needs its arguments in "
                              "parentheses, or a rule of that name must be defined");
    }
    return ParseMacro(*macro, i);
  }
  auto it = rule_index_.find(Key(text(token)));
  if (it == rule_index_.end()) return UndefinedRule(token);
  ++*i;
  const EbnfRule& called = rules_[it->second];
  if (!rule_->inlined && boolean_frames_ == 0) {
    elements_.push_back(builder_.Rule(called.id));
    return {};
  }
  if (!builder_.node(called.body).regular) {
    return Error(token, "rule " + std::string(called.name) +
                            " is used inside And or Not, which "
                            "take only regular expressions, and it names tokens");
  }
  int depth = boolean_frames_ + called.boolean_depth;
  if (depth > limits_.max_nesting) {
    return Error(
        token,
        "And and Not are nested deeper than max_nesting = " + std::to_string(limits_.max_nesting),
        StatusCode::kResourceExhausted);
  }
  rule_->boolean_depth = std::max(rule_->boolean_depth, depth);
  elements_.push_back(called.body);
  return {};
}

Status EbnfParser::Open(Frame::Kind kind, uint32_t token) {
  if (frames_.size() > static_cast<size_t>(limits_.max_nesting)) {
    return Error(
        token,
        "parentheses are nested deeper than max_nesting = " + std::to_string(limits_.max_nesting),
        StatusCode::kResourceExhausted);
  }
  if (kind == Frame::Kind::kAnd || kind == Frame::Kind::kNot) {
    ++boolean_frames_;
    rule_->boolean_depth = std::max(rule_->boolean_depth, boolean_frames_);
  }
  frames_.push_back({kind, token, elements_.size(), alternatives_.size(), arguments_.size()});
  return {};
}

void EbnfParser::CloseAlternative() {
  size_t base = frames_.back().elements;
  alternatives_.push_back(builder_.Sequence(std::span(elements_).subspan(base)));
  elements_.resize(base);
}

NodeId EbnfParser::CloseChoice() {
  CloseAlternative();
  size_t base = frames_.back().alternatives;
  NodeId node = builder_.Choice(std::span(alternatives_).subspan(base));
  alternatives_.resize(base);
  return node;
}

Status EbnfParser::CloseArgument(uint32_t token) {
  Frame frame = frames_.back();
  if (frame.kind == Frame::Kind::kBody || frame.kind == Frame::Kind::kGroup) {
    return Error(token, "unexpected ,; alternatives are separated by |, and a sequence by spaces");
  }
  if (elements_.size() == frame.elements && alternatives_.size() == frame.alternatives) {
    return Error(token, "an argument is missing; the empty text is written \"\"");
  }
  NodeId argument = CloseChoice();
  if (frame.kind != Frame::Kind::kMembers && !builder_.node(argument).regular) {
    return Error(frame.token,
                 "the arguments of And and Not must be regular expressions; tokens "
                 "cannot stand there");
  }
  arguments_.push_back(argument);
  return {};
}

Status EbnfParser::Close(uint32_t token) {
  Frame frame = frames_.back();
  if (frame.kind == Frame::Kind::kBody) return Error(token, "unexpected ): no ( is open");
  NodeId node;
  if (frame.kind == Frame::Kind::kGroup) {
    node = CloseChoice();
  } else {
    GM_RETURN_IF_ERROR(CloseArgument(token));
    auto arguments = std::span(arguments_).subspan(frame.arguments);
    if (frame.kind == Frame::Kind::kNot && arguments.size() != 1) {
      return Error(frame.token, "Not takes one argument");
    }
    if (frame.kind == Frame::Kind::kMembers) {
      GM_ASSIGN_OR_RETURN(node, MakeMembers(arguments, frame.token));
    } else {
      node = frame.kind == Frame::Kind::kNot ? builder_.Not(arguments[0]) : builder_.And(arguments);
      --boolean_frames_;
    }
    arguments_.resize(frame.arguments);
  }
  frames_.pop_back();
  elements_.push_back(node);
  return {};
}

// ---- Repetitions ----

Status EbnfParser::Quantify(uint32_t token, int64_t min, int64_t max) {
  if (elements_.size() == frames_.back().elements) {
    return Error(token, "there is nothing to repeat before " + std::string(text(token)) +
                            "; put it after an element, or in quotes to match it as text");
  }
  NodeId element = elements_.back();
  elements_.back() = builder_.Repeat(element, min, max);
  return {};
}

StatusOr<int64_t> EbnfParser::ReadCount(uint32_t token, std::string_view digits) {
  int64_t count = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), count);
  if (end != digits.data() + digits.size() || digits.empty() || digits[0] == '-' ||
      error == std::errc::invalid_argument) {
    return Error(token, "a repetition is written {n}, {n,}, {n,m} or {,m} with whole numbers");
  }
  if (error == std::errc::result_out_of_range || count > limits_.max_repeat) {
    return Error(token,
                 "a repetition goes beyond max_repeat = " + std::to_string(limits_.max_repeat),
                 StatusCode::kResourceExhausted);
  }
  return count;
}

Status EbnfParser::ParseBraces(uint32_t token) {
  auto trim = [](std::string_view s) {
    size_t first = s.find_first_not_of(" \t\r");
    if (first == std::string_view::npos) return std::string_view();
    return s.substr(first, s.find_last_not_of(" \t\r") + 1 - first);
  };
  std::string_view inside = text(token).substr(1, at(token).size - 2);
  size_t comma = inside.find(',');
  std::string_view low = trim(inside.substr(0, comma));
  if (comma == std::string_view::npos) {
    GM_ASSIGN_OR_RETURN(int64_t count, ReadCount(token, low));
    return Quantify(token, count, count);
  }
  std::string_view high = trim(inside.substr(comma + 1));
  if (low.empty() && high.empty()) {
    return Error(token, "a repetition {,} has no bounds; write * for any number");
  }
  int64_t min = 0, max = kUnbounded;
  if (!low.empty()) {
    GM_ASSIGN_OR_RETURN(min, ReadCount(token, low));
  }
  if (!high.empty() && high != "-1") {
    GM_ASSIGN_OR_RETURN(max, ReadCount(token, high));
  }
  if (min > max) {
    return Error(token, "the lower bound of this repetition is over its upper bound");
  }
  return Quantify(token, min, max);
}

}  // namespace grammask::internal
