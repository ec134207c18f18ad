// The public C++ interface of grammask: compile a grammar, ask at each decoding step which tokens
// may come next, apply that mask to logits.
//
// Masks: rows of ceil(vocab_size / 32) int32 words; token id's bit is bit (id & 31) of word
// (id >> 5); a set bit allows the token.
#ifndef GRAMMASK_GRAMMASK_H_
#define GRAMMASK_GRAMMASK_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "grammask/limits.h"
#include "grammask/schema_warning.h"
#include "grammask/status.h"
#include "grammask/vocab_type.h"

namespace grammask {

namespace internal {  // opaque here
class Grammar;
class Vocab;
}  // namespace internal

struct TokenizerOptions {
  VocabType type = VocabType::kRaw;
  std::optional<int> vocab_size;                       // the model's; pads or trims
  std::optional<std::vector<int32_t>> stop_token_ids;  // else detected by well-known texts
  bool add_prefix_space = false;
  std::vector<int32_t> special_token_ids;  // never text
};

// The vocabulary of a model. A handle: cheap to copy, immutable, thread-safe.
class TokenizerInfo {
 public:
  // `encoded_vocab`: the tokenizer's own text (or bytes) of each id; "" never matches.
  static StatusOr<TokenizerInfo> Create(std::vector<std::string> encoded_vocab,
                                        const TokenizerOptions& options = {});
  // From the text of a Hugging Face tokenizer.json: detects how bytes are written, and which
  // tokens are special.
  static StatusOr<TokenizerInfo> FromTokenizerJson(std::string_view tokenizer_json,
                                                   const TokenizerOptions& options = {});

  int vocab_size() const;
  VocabType vocab_type() const;
  bool add_prefix_space() const;
  std::vector<std::string> decoded_vocab() const;  // a copy: the bytes of each id
  const std::vector<int32_t>& stop_token_ids() const;
  const std::vector<int32_t>& special_token_ids() const;
  std::optional<int32_t> FindToken(std::string_view text) const;  // exact; special ones included
  // {"vocab_type":0,"vocab_size":N,"add_prefix_space":false,"stop_token_ids":[..]} and, where there
  // are any, "special_token_ids".
  std::string DumpMetadata() const;
  static StatusOr<TokenizerInfo> FromVocabAndMetadata(std::vector<std::string> encoded_vocab,
                                                      std::string_view metadata_json);
  // Writes everything to a file, which Load takes instead of the tokenizer: with 129,000 tokens 5
  // MB and a few milliseconds. kInvalidArgument where the file cannot be written; a file that was
  // there is replaced whole or not at all.
  Status Save(const std::string& path) const;
  // `mapped`: the file is mapped, and its memory shared by all processes that load it; while one
  // uses it nobody may write into the file (Save replaces it, which is safe). Else it is read.
  // The file may come from anyone: kInvalidArgument or kUnsupported, saying what is wrong, where it
  // is not what Save of this version and kind of machine wrote.
  static StatusOr<TokenizerInfo> Load(const std::string& path, bool mapped = true);
  // The same as bytes, to send to another process. Deserialize copies them.
  std::string Serialize() const;
  static StatusOr<TokenizerInfo> Deserialize(std::string_view saved);

  const std::shared_ptr<const internal::Vocab>& vocab() const { return vocab_; }

 private:
  explicit TokenizerInfo(std::shared_ptr<const internal::Vocab> vocab) : vocab_(std::move(vocab)) {}
  std::shared_ptr<const internal::Vocab> vocab_;
};

// How a tokenizer.json writes bytes: what FromTokenizerJson detects.
struct TokenizerMetadata {
  VocabType type;
  bool add_prefix_space;
};
StatusOr<TokenizerMetadata> DetectTokenizerMetadata(std::string_view tokenizer_json);

struct SchemaOptions {
  bool any_whitespace = true;
  std::optional<int> indent;
  std::optional<std::pair<std::string, std::string>> separators;
  bool strict_mode = true;
  std::optional<int> max_whitespace_cnt;
  bool any_order = false;
  bool root_whitespace = false;  // whitespace before and after the root value too
  // What has no exact form: an error, or (true) a superset, and a warning for each place.
  bool widen = false;
  // Other documents that `$ref` may name: URI to JSON text.
  std::map<std::string, std::string> registry;
  // Formats of the caller's own, before the built-in ones: name to an ECMA-262 regular expression
  // for the whole string.
  std::map<std::string, std::string> formats;
};

// A grammar, not yet tied to a vocabulary. A handle: cheap to copy, immutable, thread-safe.
class Grammar {
 public:
  static StatusOr<Grammar> FromEbnf(std::string_view ebnf, std::string_view root_rule = "root",
                                    const Limits& limits = {});
  static StatusOr<Grammar> FromRegex(std::string_view regex, const Limits& limits = {});
  static StatusOr<Grammar> FromJsonSchema(std::string_view schema,
                                          const SchemaOptions& options = {},
                                          const Limits& limits = {});
  static Grammar BuiltinJson();
  static StatusOr<Grammar> Concat(std::span<const Grammar> grammars);
  static StatusOr<Grammar> Union(std::span<const Grammar> grammars);
  std::string ToString() const;  // EBNF that FromEbnf reads back
  // Where SchemaOptions::widen made it larger than the schema; of all parts, in order, for Concat
  // and Union. Valid as long as a handle of this grammar.
  std::span<const SchemaWarning> warnings() const;
  const std::shared_ptr<const internal::Grammar>& grammar() const { return grammar_; }
  explicit Grammar(std::shared_ptr<const internal::Grammar> g,
                   std::vector<SchemaWarning> warnings = {});

 private:
  std::shared_ptr<const internal::Grammar> grammar_;
  std::shared_ptr<const std::vector<SchemaWarning>> warnings_;  // null where there are none
};

struct CompileStats {
  double seconds = 0;  // wall time of the compile call
  size_t rules = 0;    // rules of the grammar
  size_t nodes = 0;    // nodes of its syntax tree
  size_t states = 0;   // automaton states that exist so far (they come into being on need)
  size_t sets = 0;     // parser states that exist so far
  size_t masks = 0;    // level-1 masks that exist so far
  size_t memory_bytes = 0;
  std::optional<uint64_t> shortest_bytes;  // length of the shortest text; always set once compiled
};

struct SaveOptions {
  bool masks = true;  // the level-1 masks that exist too: what Precompute and use have made
};

struct LoadOptions {
  // Whether the file is known to come from Serialize, unchanged: only then its masks and the
  // lengths in it are believed. They cannot be checked, and a compiler's grammars share them. Of
  // any other file everything is found out anew but the grammar itself, and its masks are left out.
  bool trusted = false;
  Limits limits;
};

// A grammar made ready for one vocabulary, with the mask that outputs begin with. A handle;
// thread-safe: many matchers, on many threads.
class CompiledGrammar {
 public:
  Grammar grammar() const;
  TokenizerInfo tokenizer_info() const;
  std::span<const SchemaWarning> warnings() const;  // those of grammar()
  size_t memory_size_bytes() const;
  CompileStats stats() const;
  // Computes level-1 masks of up to `max_states` states ahead of need, on `threads` threads; states
  // in which a long count nears its bound are left for first need. Ends early where a mask takes
  // more than Limits::max_mask_states, max_mask_bytes or max_mask_steps.
  // Returns how many were computed. Calls progress(done, found so far) now and then.
  size_t Precompute(int threads, size_t max_states,
                    const std::function<void(size_t, size_t)>& progress = nullptr) const;

  // The grammar as bytes, for Deserialize or GrammarCompiler::Load: with a version, a checksum and
  // the digest of the vocabulary. kUnsupported where a file cannot hold it (see docs/python.md).
  StatusOr<std::string> Serialize(const SaveOptions& options = {}) const;
  // Reads what Serialize wrote; `bytes` may be anything. A compiler of its own is made for it.
  // Errors: kInvalidArgument (no saved grammar; damaged, with the place; of another vocabulary),
  // kUnsupported (another format version), kResourceExhausted (over a bound of Limits).
  static StatusOr<CompiledGrammar> Deserialize(std::string_view bytes,
                                               const TokenizerInfo& tokenizer,
                                               const LoadOptions& options = {});

  struct Impl;
  const std::shared_ptr<Impl>& impl() const { return impl_; }
  explicit CompiledGrammar(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

 private:
  std::shared_ptr<Impl> impl_;
};

struct CompilerOptions {
  int max_threads = 8;        // for Precompute
  bool cache_enabled = true;  // keep compiled grammars by source and options
  // A bound on what this compiler keeps: the grammars in its cache, of which the least recently
  // used go first, and the tables that grammars share (at most two fifths of it; where the bound is
  // under 16 MB they take up to 8 MB beside it). What matchers in use hold is not bounded by it;
  // the tables in which older ones end take up to a tenth of it more. -1: no limit on grammars;
  // Limits::arena_bytes and a quarter more for tables.
  int64_t cache_limit_bytes = -1;
  Limits limits;
};

// Compiles grammars for one vocabulary. Thread-safe; concurrent requests for one key share a
// compilation.
class GrammarCompiler {
 public:
  static StatusOr<GrammarCompiler> Create(const TokenizerInfo& tokenizer,
                                          const CompilerOptions& options = {});
  StatusOr<CompiledGrammar> CompileJsonSchema(std::string_view schema,
                                              const SchemaOptions& options = {});
  StatusOr<CompiledGrammar> CompileBuiltinJson();
  StatusOr<CompiledGrammar> CompileRegex(std::string_view regex);
  StatusOr<CompiledGrammar> CompileEbnf(std::string_view ebnf, std::string_view root_rule = "root");
  StatusOr<CompiledGrammar> CompileGrammar(const Grammar& grammar);
  // CompiledGrammar::Deserialize into this compiler's tables, under its limits: states and masks
  // are shared with its other grammars. Not cached.
  StatusOr<CompiledGrammar> Load(std::string_view bytes, bool trusted = false);
  void ClearCache();
  int64_t cache_size_bytes() const;
  int64_t cache_limit_bytes() const;
  const Limits& limits() const;  // as they were given

  struct Impl;

 private:
  explicit GrammarCompiler(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<Impl> impl_;
};

struct MatcherOptions {
  std::optional<std::vector<int32_t>> override_stop_tokens;
  bool terminate_without_stop_token = false;
};

// The state of one output. Movable; Fork() copies. Not thread-safe: one thread at a time for each
// matcher, any number of matchers at once.
class GrammarMatcher {
 public:
  // kInvalidArgument on an empty or out-of-range list of stop tokens.
  static StatusOr<GrammarMatcher> Create(const CompiledGrammar& grammar,
                                         const MatcherOptions& options = {});
  GrammarMatcher(GrammarMatcher&&) noexcept;
  GrammarMatcher& operator=(GrammarMatcher&&) noexcept;
  ~GrammarMatcher();

  // Advances by one token. False, and no change, when the token may not come next: out of range,
  // special where no rule asks for it, or after termination. A stop token is taken only where the
  // text is complete, and terminates. False also where that takes more than
  // Limits::max_mask_states, max_mask_bytes or max_mask_steps to tell; so of AcceptString.
  bool AcceptToken(int32_t token);
  // Advances by bytes, as one step of the history. False, and no change, when they may not come.
  bool AcceptString(std::string_view bytes);
  // How many leading bytes of `bytes` could be accepted, 0 where AcceptString would ask too much;
  // no change.
  size_t MatchingPrefix(std::string_view bytes) const;
  // Writes the mask of the next token to `row`, mask_words() words. Returns false when every token
  // of the vocabulary is allowed. kFailedPrecondition after termination; kResourceExhausted over
  // Limits::max_mask_states, max_mask_bytes or max_mask_steps, with a row that is not to be used.
  StatusOr<bool> FillNextTokenBitmask(int32_t* row);
  // The text that must come next whatever the model says (whole characters; where only the
  // spelling of a JSON string is free, its plain spelling). Errors as of FillNextTokenBitmask.
  StatusOr<std::string> FindJumpForwardString();
  Status Rollback(int steps);  // kOutOfRange past the beginning or negative
  void Reset();
  GrammarMatcher Fork() const;
  bool HasStopped() const;    // a stop token was accepted: the mask can no longer be asked for
  bool IsTerminated() const;  // a stop token was accepted (or the text completed, where so asked)
  bool IsCompleted() const;   // the text may end here
  // Bytes of the shortest way to complete the text; 0 when it may end here.
  uint64_t ShortestCompletionBytes() const;
  // Allowed next tokens, each with the bytes of its shortest completion afterwards, are found by
  // accepting on a fork; this is the value after `token`, nullopt when it may not come.
  std::optional<uint64_t> ShortestCompletionAfter(int32_t token) const;
  int mask_words() const;
  int vocab_size() const;
  int history_size() const;
  const std::vector<int32_t>& stop_token_ids() const;
  CompiledGrammar compiled_grammar() const;

  struct Impl;
  Impl* impl() const { return impl_.get(); }

 private:
  explicit GrammarMatcher(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// One text's part in BatchGrammarMatcher::Step, and what came of it.
struct BatchStep {
  GrammarMatcher* matcher = nullptr;  // null: no grammar; its rows allow everything
  std::span<const int32_t> tokens;    // accepted first, in order
  std::span<const int32_t> drafts;    // then tried in order, with a mask after each, and taken back
  int64_t row = 0;                    // of the mask, before any draft; 1 + drafts.size() in all

  int accepted = 0;         // of tokens; those after the end of the text are not looked at
  int drafts_accepted = 0;  // up to the first that is refused, or ends the text
  int rows_filled = 0;      // with masks, from `row` on; those after them allow everything
  bool terminated = false;  // after the tokens; such a text has no masks
  Status status;            // kFailedPrecondition where a token was refused: no masks either
};

// Fills and advances many matchers on a pool of threads that lives as long as this object.
// Results do not depend on the number of threads. A matcher may stand in a call only once.
class BatchGrammarMatcher {
 public:
  explicit BatchGrammarMatcher(int max_threads);  // <= 0: half the hardware's
  // Writes matcher i's mask to row indices[i] (i where indices is empty) of `mask`, which has
  // `rows` rows of `row_words` words (row stride `stride_words`). All arguments are checked before
  // anything is written.
  Status FillNextTokenBitmask(std::span<GrammarMatcher* const> matchers, int32_t* mask,
                              int64_t rows, int64_t row_words, int64_t stride_words,
                              std::span<const int32_t> indices = {});
  // A decoding step of many texts: accepts tokens and fills masks, those after drafts too. What
  // goes wrong with one text is told in its status. An error of the call is found before anything
  // is done: a row that does not exist or is named twice, a matcher that stands there twice or has
  // another number of words.
  Status Step(std::span<BatchStep> steps, int32_t* mask, int64_t rows, int64_t row_words,
              int64_t stride_words);
  static std::vector<bool> AcceptToken(std::span<GrammarMatcher* const> matchers,
                                       std::span<const int32_t> tokens);
  static std::vector<bool> AcceptString(std::span<GrammarMatcher* const> matchers,
                                        std::span<const std::string> strings);
  static Status Rollback(std::span<GrammarMatcher* const> matchers, std::span<const int> steps);

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

// ceil(vocab_size / 32).
int GetBitmaskSize(int vocab_size);

enum class LogitsType { kFloat32, kFloat16, kBFloat16, kFloat64 };
// Sets logits of refused tokens to minus infinity. Row i of the call is row indices[i] of both
// arrays (all rows in order where `indices` is empty). Strides count elements. Only the first
// `vocab_size` columns are touched, and no more than the mask covers. Where logits are a shard of
// the vocabulary, `vocab_offset` is the token of column 0.
struct ApplyArgs {
  void* logits = nullptr;
  LogitsType type = LogitsType::kFloat32;
  int64_t logits_rows = 0, logits_columns = 0, logits_stride = 0;
  const int32_t* mask = nullptr;
  int64_t mask_rows = 0, mask_words = 0, mask_stride = 0;
  int64_t vocab_size = 0;
  int64_t vocab_offset = 0;
  std::span<const int32_t> indices;
};
Status ApplyTokenBitmaskInplaceCpu(const ApplyArgs& args);

// For each row that `args` names, the allowed token with the largest logit (the lowest of equal
// ones; never NaN), counted from the vocabulary's start, and its logit; -1 and minus infinity where
// there is none. The logits are not written. `tokens` and `values` hold one entry a row.
Status MaskedArgmaxCpu(const ApplyArgs& args, std::span<int64_t> tokens, std::span<float> values);

// How a token is drawn: softmax of logits / temperature over what the mask allows, then top-k (0:
// off), top-p and min-p, in this order, each keeping what ties with the last one kept. Temperature
// 0 and top_k 1 take the largest logit. The number that decides comes from Philox4x32-10 with key
// `seed` and counter (`offset`, row of the logits).
struct SamplingParameters {
  uint64_t seed = 0, offset = 0;
  double temperature = 1;  // at least 0, finite
  int64_t top_k = 0;       // at least 0
  double top_p = 1;        // in (0, 1]
  double min_p = 0;        // in [0, 1]
};
// Names the parameter that is out of its range, if any.
Status CheckSamplingParameters(std::span<const SamplingParameters> parameters);
// One token drawn for each row, -1 where none has a weight. `parameters`: one entry for all rows,
// or one a row.
Status MaskedSampleCpu(const ApplyArgs& args, std::span<const SamplingParameters> parameters,
                       std::span<int64_t> tokens);

}  // namespace grammask

#endif  // GRAMMASK_GRAMMASK_H_
