// The EBNF parser: what its parts, each in a file of its own, share.
#ifndef GRAMMASK_GRAMMAR_EBNF_PARSER_H_
#define GRAMMASK_GRAMMAR_EBNF_PARSER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "grammar/ast.h"
#include "grammar/ebnf.h"
#include "grammar/ebnf_lexer.h"

namespace grammask::internal {

enum class EbnfMacro : uint8_t {
  kBytes,
  kByteClass,
  kJsonText,
  kJsonClass,
  kAnd,
  kNot,
  kMultiple,
  kToken,
  kExcludeToken,
  kRegex,
  kMembers,
  kUnsupported,
};

// The macro of that name.
std::optional<EbnfMacro> FindEbnfMacro(std::string_view name);

struct EbnfRule {
  std::string_view name;
  uint32_t name_token;  // where the definition stands
  uint32_t begin, end;  // tokens of the body
  RuleId id;
  NodeId body;
  int boolean_depth = 0;  // And and Not inside one another, through inlined rules
  bool inlined = false;   // named under And or Not
};

// Reads one text, once.
class EbnfParser {
 public:
  // All arguments must outlive the parser.
  EbnfParser(std::string_view source, const EbnfOptions& options, const Limits& limits)
      : source_(source), options_(options), limits_(limits), builder_(limits) {}

  StatusOr<Grammar> Run();

 private:
  // An open parenthesis, or the body itself. The bases are where its entries of the stacks begin.
  struct Frame {
    enum class Kind : uint8_t { kBody, kGroup, kAnd, kNot, kMembers };
    Kind kind;
    uint32_t token;  // where it opened
    size_t elements, alternatives, arguments;
  };

  static absl::string_view Key(std::string_view name) { return {name.data(), name.size()}; }

  const EbnfToken& at(uint32_t i) const { return tokens_[i]; }
  std::string_view text(uint32_t i) const { return at(i).In(source_); }
  bool IsPunct(uint32_t i, char c) const {
    return at(i).kind == EbnfTokenKind::kPunct && source_[at(i).offset] == c;
  }
  [[gnu::cold]] Status Error(uint32_t token, std::string_view what,
                             StatusCode code = StatusCode::kInvalidArgument) const {
    return SourceError(source_, at(token).offset, what, code);
  }
  // The macro that token i calls, unless the grammar defines a rule of that name.
  std::optional<EbnfMacro> MacroAt(uint32_t i) const {
    if (at(i).kind != EbnfTokenKind::kName || rule_index_.contains(Key(text(i)))) {
      return std::nullopt;
    }
    return FindEbnfMacro(text(i));
  }

  Status FindRules();
  Status CheckHeader(uint32_t define);
  [[gnu::cold]] Status NoRoot() const;
  Status ParseInlinedRules();
  void MarkInlined();
  Status UndefinedRule(uint32_t token) const;
  std::optional<std::string_view> Nearest(std::string_view name) const;

  Status ParseBody(EbnfRule* rule);
  Status ParseToken(uint32_t* i);
  Status ParsePunct(uint32_t* i);
  Status ParseName(uint32_t* i);
  Status Open(Frame::Kind kind, uint32_t token);
  Status Close(uint32_t token);
  Status CloseArgument(uint32_t token);
  void CloseAlternative();
  NodeId CloseChoice();
  Status Quantify(uint32_t token, int64_t min, int64_t max);
  Status ParseBraces(uint32_t token);
  StatusOr<int64_t> ReadCount(uint32_t token, std::string_view digits);

  Status ParseMacro(EbnfMacro macro, uint32_t* i);
  Status ParseRegexMacro(std::span<const uint32_t> arguments, uint32_t macro);
  Status ParseMultiple(std::span<const uint32_t> arguments, uint32_t macro);
  StatusOr<NodeId> MakeMembers(std::span<const NodeId> arguments, uint32_t macro);
  Status ParseTokens(std::span<const uint32_t> arguments, bool excluded);
  Status ParseTokenRef(uint32_t token);
  StatusOr<TokenId> ReadTokenId(uint32_t token, std::string_view digits);
  StatusOr<TokenId> FindToken(uint32_t token, std::string_view name);

  std::string_view source_;
  const EbnfOptions& options_;
  const Limits& limits_;
  GrammarBuilder builder_;
  std::vector<EbnfToken> tokens_;
  std::vector<EbnfRule> rules_;
  absl::flat_hash_map<absl::string_view, uint32_t> rule_index_;  // by name

  // Of the body that is read now.
  EbnfRule* rule_ = nullptr;
  std::vector<Frame> frames_;
  int boolean_frames_ = 0;  // of kAnd and kNot among them
  std::vector<NodeId> elements_, alternatives_, arguments_;
};

}  // namespace grammask::internal

#endif  // GRAMMASK_GRAMMAR_EBNF_PARSER_H_
