// Calls of macros, and tokens of the model, to nodes.
//
// The arguments of And, Not and Members are expressions, which the body reads in a frame of its
// own; those of all other macros are single tokens, checked and turned into one node here. For
// example `Regex("a+", flags="i")` gives the node of that regular expression, and `<[12]>` the same
// as Token(12). Cost: linear in the tokens. Tests: tests/grammar/ebnf_test.cc.
#include <charconv>
#include <string>
#include <utility>

#include "base/utf8.h"
#include "grammar/ebnf_parser.h"
#include "grammar/regex.h"

namespace grammask::internal {
namespace {

struct MacroName {
  std::string_view name;
  EbnfMacro macro;
};

constexpr MacroName kMacros[] = {
    {"Bytes", EbnfMacro::kBytes},
    {"ByteClass", EbnfMacro::kByteClass},
    {"JsonText", EbnfMacro::kJsonText},
    {"JsonClass", EbnfMacro::kJsonClass},
    {"And", EbnfMacro::kAnd},
    {"Not", EbnfMacro::kNot},
    {"Multiple", EbnfMacro::kMultiple},
    {"Token", EbnfMacro::kToken},
    {"ExcludeToken", EbnfMacro::kExcludeToken},
    {"Regex", EbnfMacro::kRegex},
    {"Members", EbnfMacro::kMembers},
    {"TagDispatch", EbnfMacro::kUnsupported},
    {"TokenTagDispatch", EbnfMacro::kUnsupported},
    {"Substring", EbnfMacro::kUnsupported},
};

}  // namespace

std::optional<EbnfMacro> FindEbnfMacro(std::string_view name) {
  for (const MacroName& m : kMacros) {
    if (m.name == name) return m.macro;
  }
  return std::nullopt;
}

// Reads a call of a macro whose arguments are no expressions, or opens the frame of one whose are.
Status EbnfParser::ParseMacro(EbnfMacro macro, uint32_t* i) {
  uint32_t name = *i;
  if (macro == EbnfMacro::kUnsupported) {
    return Error(name, "the macro " + std::string(text(name)) + " is not supported",
                 StatusCode::kUnsupported);
  }
  *i += 2;
  if (macro == EbnfMacro::kAnd || macro == EbnfMacro::kNot) {
    return Open(macro == EbnfMacro::kAnd ? Frame::Kind::kAnd : Frame::Kind::kNot, name);
  }
  if (macro == EbnfMacro::kMembers) return Open(Frame::Kind::kMembers, name);
  std::vector<uint32_t> arguments;  // tokens, without the commas
  bool expect_comma = false;
  for (; !IsPunct(*i, ')'); ++*i) {
    if (*i >= rule_->end) return Error(name + 1, "this ( has no closing )");
    bool comma = IsPunct(*i, ',');
    bool named = IsPunct(*i, '=') || (*i > name + 2 && IsPunct(*i - 1, '='));
    if (!named && comma != expect_comma) {
      return Error(
          *i, "the arguments of " + std::string(text(name)) + " are separated by single commas");
    }
    if (!comma) arguments.push_back(*i);
    expect_comma = !comma;
  }
  ++*i;

  auto only = [&](EbnfTokenKind kind) {
    return arguments.size() == 1 && at(arguments[0]).kind == kind;
  };
  switch (macro) {
    case EbnfMacro::kBytes: {
      if (!only(EbnfTokenKind::kString)) return Error(name, "Bytes takes one literal");
      GM_ASSIGN_OR_RETURN(std::string bytes,
                          ReadEbnfString(source_, at(arguments[0]), HexEscape::kByte));
      elements_.push_back(builder_.Bytes(bytes));
      return {};
    }
    case EbnfMacro::kJsonText: {
      if (!only(EbnfTokenKind::kString)) return Error(name, "JsonText takes one literal");
      GM_ASSIGN_OR_RETURN(std::string chars,
                          ReadEbnfString(source_, at(arguments[0]), HexEscape::kCharacter));
      elements_.push_back(builder_.JsonText(chars));
      return {};
    }
    case EbnfMacro::kByteClass: {
      if (!only(EbnfTokenKind::kClass)) return Error(name, "ByteClass takes one class");
      GM_ASSIGN_OR_RETURN(ByteSet set, ReadEbnfByteClass(source_, at(arguments[0])));
      elements_.push_back(builder_.ByteClass(set));
      return {};
    }
    case EbnfMacro::kJsonClass: {
      if (!only(EbnfTokenKind::kClass)) return Error(name, "JsonClass takes one class");
      GM_ASSIGN_OR_RETURN(CodePointSet set, ReadEbnfClass(source_, at(arguments[0])));
      elements_.push_back(builder_.JsonClass(set));
      return {};
    }
    case EbnfMacro::kMultiple:
      return ParseMultiple(arguments, name);
    case EbnfMacro::kToken:
    case EbnfMacro::kExcludeToken:
      return ParseTokens(arguments, macro == EbnfMacro::kExcludeToken);
    default:
      return ParseRegexMacro(arguments, name);
  }
}

// Regex("pattern", json_string=true, flags="ism")
Status EbnfParser::ParseRegexMacro(std::span<const uint32_t> arguments, uint32_t macro) {
  if (arguments.empty() || at(arguments[0]).kind != EbnfTokenKind::kString) {
    return Error(macro, "Regex takes a literal with the regular expression");
  }
  GM_ASSIGN_OR_RETURN(std::string pattern,
                      ReadEbnfString(source_, at(arguments[0]), HexEscape::kCharacter));
  RegexOptions options;
  for (size_t k = 1; k < arguments.size(); k += 3) {
    if (k + 2 >= arguments.size() || !IsPunct(arguments[k + 1], '=')) {
      return Error(arguments[k],
                   "after its pattern, Regex takes json_string=true and flags=\"is\"");
    }
    std::string_view key = text(arguments[k]), value = text(arguments[k + 2]);
    if (key == "json_string" && (value == "true" || value == "false")) {
      options.encoding =
          value == "true" ? RegexOptions::Encoding::kJsonString : RegexOptions::Encoding::kUtf8;
    } else if (key == "flags" && at(arguments[k + 2]).kind == EbnfTokenKind::kString &&
               value.find_first_not_of("ismu", 1) == value.size() - 1) {
      options.ignore_case = value.find('i') != std::string_view::npos;
      options.dot_all = value.find('s') != std::string_view::npos;
      options.multi_line = value.find('m') != std::string_view::npos;
    } else {
      return Error(arguments[k],
                   "Regex has the options json_string=true, json_string=false, and "
                   "flags with letters of \"ismu\"");
    }
  }
  StatusOr<NodeId> node = ParseRegex(pattern, options, limits_, &builder_);
  if (!node.ok()) {
    Status place = Error(arguments[0], "this regular expression is refused", node.status().code());
    return Status(place.code(), place.message() + "\n" + node.status().message());
  }
  elements_.push_back(*node);
  return {};
}

// Multiple(modulus) or Multiple(modulus, scale)
Status EbnfParser::ParseMultiple(std::span<const uint32_t> arguments, uint32_t macro) {
  constexpr uint64_t kMostModulus = (uint64_t{1} << 63) / 10 - 1;
  constexpr uint64_t kMostScale = 400;
  uint64_t values[2] = {0, 0};
  bool good = arguments.size() == 1 || arguments.size() == 2;
  for (size_t k = 0; good && k < arguments.size(); ++k) {
    std::string_view digits = text(arguments[k]);
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), values[k]);
    good = error == std::errc() && end == digits.data() + digits.size();
  }
  if (!good || values[0] == 0 || values[0] > kMostModulus || values[1] > kMostScale) {
    return Error(macro, "Multiple takes a modulus from 1 to " + std::to_string(kMostModulus) +
                            " and, if any, a scale from 0 to " + std::to_string(kMostScale));
  }
  elements_.push_back(builder_.MultipleOf({values[0], static_cast<uint32_t>(values[1])}));
  return {};
}

// Members("1..3 required optional repeated:0", separator, end, member, member, member)
StatusOr<NodeId> EbnfParser::MakeMembers(std::span<const NodeId> arguments, uint32_t macro) {
  auto error = [&] {
    return Error(macro,
                 "Members takes a literal with bounds and a word for each member, such as "
                 "\"1.. required optional repeated distinct\", then the separator, what ends the "
                 "list, and the members; \"placed:0\" and so on stand only beside repeated and "
                 "distinct ones, with no place left out");
  };
  if (arguments.size() < 4 || builder_.node(arguments[0]).kind != NodeKind::kBytes) return error();
  Members members{.separator = arguments[1], .end = arguments[2], .members = {}};
  std::string_view words = builder_.node(arguments[0]).text;
  auto number = [&]() -> std::optional<int64_t> {
    int64_t value = 0;
    auto [end, failed] = std::from_chars(words.data(), words.data() + words.size(), value);
    if (failed != std::errc() || value < 0) return std::nullopt;
    words.remove_prefix(static_cast<size_t>(end - words.data()));
    return value;
  };
  std::optional<int64_t> bound = number();
  if (!bound || !words.starts_with("..")) return error();
  members.min = *bound;
  words.remove_prefix(2);
  if (!words.empty() && words[0] != ' ') {
    bound = number();
    if (!bound) return error();
    members.max = *bound;
  }
  for (NodeId node : arguments.subspan(3)) {
    Members::Member member{.node = node};
    if (!words.starts_with(' ')) return error();
    words.remove_prefix(1);
    std::string_view name = words.substr(0, words.find_first_of(" :"));
    bool known = false;
    for (MemberUse use : {MemberUse::kOptional, MemberUse::kRequired, MemberUse::kRepeated,
                          MemberUse::kDistinct, MemberUse::kPlaced}) {
      if (name == MemberUseName(use)) {
        member.use = use;
        known = true;
      }
    }
    if (!known) return error();
    words.remove_prefix(name.size());
    if (member.use == MemberUse::kPlaced) {
      if (!words.starts_with(':')) return error();
      words.remove_prefix(1);
      std::optional<int64_t> place = number();
      if (!place || *place >= static_cast<int64_t>(kMaxMemberPlaces)) return error();
      member.place = static_cast<uint32_t>(*place);
    }
    while (words.starts_with(':')) {
      words.remove_prefix(1);
      std::optional<int64_t> condition = number();
      if (!condition || *condition >= static_cast<int64_t>(kMaxMemberConditions) ||
          ComesOnce(member.use)) {
        return error();
      }
      member.meets |= uint32_t{1} << *condition;
      members.conditions = std::max(members.conditions, static_cast<uint32_t>(*condition) + 1);
    }
    members.members.push_back(member);
  }
  if (!words.empty()) return error();
  ScratchVector<uint32_t> uses;
  for (const Members::Member& m : members.members) {
    uses.push_back(MemberWord(m.use, m.meets, m.place));
  }
  if (!PlacesAreSound(uses, members.conditions)) return error();
  return builder_.Members(members);
}

// ---- Tokens of the model ----

StatusOr<TokenId> EbnfParser::ReadTokenId(uint32_t token, std::string_view digits) {
  TokenId id = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), id);
  if (error != std::errc() || end != digits.data() + digits.size() || id < 0) {
    return Error(token, "a token is named by its id, a whole number from 0 to 2147483647");
  }
  return id;
}

StatusOr<TokenId> EbnfParser::FindToken(uint32_t token, std::string_view name) {
  if (!options_.find_token) {
    return Error(token,
                 "the token " + Printable(name) +
                     " is named by its text, which needs a "
                     "tokenizer; compile the grammar with one, or write its id, as in <[1000]>");
  }
  std::optional<TokenId> id = options_.find_token(name);
  if (!id.has_value()) {
    return Error(token, "the tokenizer has no token " + Printable(name) +
                            "; the text must be exactly that of one token");
  }
  return *id;
}

// <[1000]> <text> !<[1000]> !<text>. The text of a token is looked up with its angle brackets.
Status EbnfParser::ParseTokenRef(uint32_t token) {
  std::string_view ref = text(token);
  TokenSet set;
  set.excluded = ref[0] == '!';
  if (set.excluded) ref.remove_prefix(1);
  TokenId id;
  if (ref.size() > 4 && ref[1] == '[' && ref[ref.size() - 2] == ']') {
    GM_ASSIGN_OR_RETURN(id, ReadTokenId(token, ref.substr(2, ref.size() - 4)));
  } else {
    GM_ASSIGN_OR_RETURN(id, FindToken(token, ref));
  }
  set.ids.push_back(id);
  elements_.push_back(builder_.Tokens(std::move(set)));
  return {};
}

// Token(1, "<think>") and ExcludeToken(1)
Status EbnfParser::ParseTokens(std::span<const uint32_t> arguments, bool excluded) {
  TokenSet set;
  set.excluded = excluded;
  for (uint32_t token : arguments) {
    TokenId id;
    if (at(token).kind == EbnfTokenKind::kString) {
      GM_ASSIGN_OR_RETURN(std::string name, ReadEbnfString(source_, at(token), HexEscape::kByte));
      GM_ASSIGN_OR_RETURN(id, FindToken(token, name));
    } else {
      GM_ASSIGN_OR_RETURN(id, ReadTokenId(token, text(token)));
    }
    set.ids.push_back(id);
  }
  elements_.push_back(builder_.Tokens(std::move(set)));
  return {};
}

}  // namespace grammask::internal
