// Sources to compiled grammars, and the cache of them.
//
// Compiling is a front end, then placing the grammar in the compiler's tables and making its first
// mask, which every output asks for; the other masks come on first need. The cache maps source and
// options, in full, to compiled grammars; requests for a key that is being compiled wait for it,
// and over the limit the least recently used go first. Errors are not kept. Tests:
// tests/matcher/compiler_test.cc.
#include <absl/container/flat_hash_map.h>

#include <charconv>
#include <chrono>
#include <condition_variable>
#include <list>
#include <mutex>

#include "base/thread_pool.h"
#include "matcher/engine.h"
#include "matcher/saved_grammar.h"
#include "matcher/sources.h"

namespace grammask {
namespace {

// What a grammar is compiled from: the options, as a text, and the source. Refers to both.
struct Key {
  std::string_view options, source;
  friend bool operator==(const Key&, const Key&) = default;
  template <class H>
  friend H AbslHashValue(H h, const Key& key) {
    for (std::string_view text : {key.options, key.source}) {
      h = H::combine(H::combine_contiguous(std::move(h), text.data(), text.size()), text.size());
    }
    return h;
  }
};

// Least recently used compiled grammars by key. Thread-safe.
class GrammarCache {
 public:
  explicit GrammarCache(int64_t limit) : limit_(limit) {}

  // The grammar of `key`, from the cache or made by `compile` on this thread.
  template <class Compile>
  StatusOr<CompiledGrammar> Get(const Key& key, Compile&& compile) {
    const size_t hash = index_.hash_function()(key);
    std::unique_lock lock(mutex_);
    while (true) {
      auto it = index_.find(key, hash);
      if (it == index_.end()) break;
      if (it->second->grammar.has_value()) {
        order_.splice(order_.begin(), order_, it->second);
        return *it->second->grammar;
      }
      ready_.wait(lock);
    }
    order_.push_front({std::string(key.options), std::string(key.source), std::nullopt, 0});
    index_.emplace(order_.front().key(), order_.begin());
    lock.unlock();
    StatusOr<CompiledGrammar> made = compile();
    lock.lock();
    // The entry is still there: only finished ones are evicted or cleared.
    auto entry = index_.find(key)->second;
    if (made.ok()) {
      entry->grammar = *made;
      // With an eighth for what the allocator loses.
      const size_t bytes =
          kEntryBytes + key.options.size() + key.source.size() + made->impl()->kept_bytes();
      entry->bytes = static_cast<int64_t>(bytes + bytes / 8);
      bytes_ += entry->bytes;
      Evict();
    } else {
      index_.erase(key);
      order_.erase(entry);
    }
    ready_.notify_all();
    return made;
  }

  void Clear() {
    std::lock_guard lock(mutex_);
    for (auto it = order_.begin(); it != order_.end();) {
      if (it->grammar.has_value()) {
        it = Erase(it);
      } else {
        ++it;
      }
    }
  }

  int64_t bytes() const {
    std::lock_guard lock(mutex_);
    return bytes_;
  }

 private:
  static constexpr size_t kEntryBytes = 512;  // an entry beside its grammar and key

  struct Entry {
    std::string options, source;
    std::optional<CompiledGrammar> grammar;  // empty while it is being made
    int64_t bytes;
    Key key() const { return {options, source}; }
  };

  std::list<Entry>::iterator Erase(std::list<Entry>::iterator it) {
    bytes_ -= it->bytes;
    index_.erase(it->key());
    return order_.erase(it);
  }

  void Evict() {
    if (limit_ < 0) return;
    for (auto it = order_.end(); bytes_ > limit_ && it != order_.begin();) {
      --it;
      if (it->grammar.has_value()) it = Erase(it);
    }
  }

  const int64_t limit_;
  mutable std::mutex mutex_;
  std::condition_variable ready_;
  std::list<Entry> order_;                                      // most recently used first
  absl::flat_hash_map<Key, std::list<Entry>::iterator> index_;  // keys refer to entries
  int64_t bytes_ = 0;
};

// How a limit on memory is shared out: tables for all grammars get two fifths, or what they would
// take without a limit, and slices beside them a quarter of that (see EngineHub); what lies free
// between the pieces of the heap, and the pages of code that come to be used, get a sixth, up to
// 8 MB, which is what was seen; the grammars kept get the rest. Below 16 MB the limit holds for the
// grammars alone, as tables of less would be thrown away over and over.
constexpr int64_t kLeast = int64_t{16} << 20;
constexpr int64_t kMostBeside = int64_t{8} << 20;

Limits SharedLimits(const CompilerOptions& options) {
  Limits limits = options.limits;
  if (!options.cache_enabled || options.cache_limit_bytes < 0) return limits;
  const auto share = static_cast<size_t>(std::max(options.cache_limit_bytes, kLeast) / 5 * 2);
  limits.arena_bytes = std::min(limits.arena_bytes, share);
  return limits;
}

int64_t LimitOfGrammars(const CompilerOptions& options) {
  const int64_t limit = options.cache_limit_bytes;
  if (limit < 0) return limit;
  const auto tables = static_cast<int64_t>(SharedLimits(options).arena_bytes);
  const int64_t beside = std::min(limit / 6, kMostBeside);
  return std::max(limit - tables - tables / 4 - beside, std::min(limit, kLeast / 2));
}

// A key part by part, so that no two lists of parts give the same text.
class KeyBuilder {
 public:
  explicit KeyBuilder(std::string_view kind) : key_(kind) {}
  void Flag(bool on) { key_ += on ? '1' : '0'; }
  void Number(int64_t value) {
    char digits[24];
    char* end = std::to_chars(digits, digits + sizeof(digits) - 1, value).ptr;
    *end++ = ';';
    key_.append(digits, end);
  }
  void Text(std::string_view text) {
    Number(static_cast<int64_t>(text.size()));
    key_ += text;
  }
  void Number(std::optional<int> value) {
    Flag(value.has_value());
    if (value.has_value()) Number(int64_t{*value});
  }
  void Texts(const std::map<std::string, std::string>& texts) {
    Number(static_cast<int64_t>(texts.size()));
    for (const auto& [name, text] : texts) {
      Text(name);
      Text(text);
    }
  }
  std::string Take() { return std::move(key_); }

 private:
  std::string key_;
};

// Every option has a part.
std::string SchemaKey(const SchemaOptions& o) {
  KeyBuilder key("schema:");
  for (bool flag : {o.any_whitespace, o.strict_mode, o.any_order, o.root_whitespace, o.widen}) {
    key.Flag(flag);
  }
  key.Number(o.indent);
  key.Number(o.max_whitespace_cnt);
  key.Flag(o.separators.has_value());
  if (o.separators.has_value()) {
    key.Text(o.separators->first);
    key.Text(o.separators->second);
  }
  key.Texts(o.registry);
  key.Texts(o.formats);
  return key.Take();
}

// Its warnings are part of it: another schema may have the same texts without any.
std::string WarningsKey(const Grammar& grammar) {
  KeyBuilder key("grammar:");
  for (const SchemaWarning& w : grammar.warnings()) {
    for (std::string_view text : {w.pointer, w.keyword, w.reason}) key.Text(text);
  }
  return key.Take();
}

}  // namespace

struct GrammarCompiler::Impl {
  Impl(TokenizerInfo t, const CompilerOptions& o)
      : tokenizer(std::move(t)),
        options(o),
        hub(std::make_shared<internal::EngineHub>(tokenizer.vocab(), SharedLimits(o))),
        cache(LimitOfGrammars(o)) {}

  // `place` begins the message of an error that shows only when the grammar is built.
  template <class Parse>
  StatusOr<CompiledGrammar> Compile(const Key& key, Parse&& parse, std::string_view place = "") {
    auto compile = [&]() -> StatusOr<CompiledGrammar> {
      const auto start = std::chrono::steady_clock::now();
      hub->CheckBudget();
      StatusOr<Grammar> grammar = parse();
      if (!grammar.ok()) return grammar.status();
      auto impl = std::make_shared<CompiledGrammar::Impl>(*grammar, tokenizer, hub);
      if (const Status s = impl->PlaceWithFirstMask(); !s.ok()) {
        return Status(s.code(), std::string(place) + s.message());
      }
      impl->seconds =
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      return CompiledGrammar(std::move(impl));
    };
    return options.cache_enabled ? cache.Get(key, compile) : compile();
  }

  const TokenizerInfo tokenizer;
  const CompilerOptions options;
  const std::shared_ptr<internal::EngineHub> hub;
  GrammarCache cache;
};

StatusOr<GrammarCompiler> GrammarCompiler::Create(const TokenizerInfo& tokenizer,
                                                  const CompilerOptions& options) {
  if (options.cache_limit_bytes < -1) {
    return InvalidArgument("cache_limit_bytes is " + std::to_string(options.cache_limit_bytes) +
                           "; use -1 for no limit, or a number of bytes");
  }
  if (options.max_threads < 1) {
    return InvalidArgument("max_threads is " + std::to_string(options.max_threads) +
                           "; at least 1 is needed");
  }
  return GrammarCompiler(std::make_shared<Impl>(tokenizer, options));
}

StatusOr<CompiledGrammar> GrammarCompiler::CompileJsonSchema(std::string_view schema,
                                                             const SchemaOptions& options) {
  const std::string key = impl_->options.cache_enabled ? SchemaKey(options) : std::string();
  return impl_->Compile(
      {key, schema},
      [&] { return internal::JsonSchemaFor(schema, options, impl_->options.limits); }, "#: ");
}

StatusOr<CompiledGrammar> GrammarCompiler::CompileBuiltinJson() {
  return impl_->Compile({"json", ""}, []() -> StatusOr<Grammar> { return Grammar::BuiltinJson(); });
}

StatusOr<CompiledGrammar> GrammarCompiler::CompileRegex(std::string_view regex) {
  return impl_->Compile({"regex", regex},
                        [&] { return Grammar::FromRegex(regex, impl_->options.limits); });
}

StatusOr<CompiledGrammar> GrammarCompiler::CompileEbnf(std::string_view ebnf,
                                                       std::string_view root_rule) {
  const std::string key = "ebnf:" + std::string(root_rule);
  return impl_->Compile({key, ebnf}, [&] {
    return internal::EbnfFor(ebnf, root_rule, &impl_->tokenizer, impl_->options.limits);
  });
}

StatusOr<CompiledGrammar> GrammarCompiler::CompileGrammar(const Grammar& grammar) {
  std::string key, source;
  if (impl_->options.cache_enabled) {
    key = WarningsKey(grammar);
    source = grammar.ToString();
  }
  return impl_->Compile({key, source}, [&]() -> StatusOr<Grammar> { return grammar; });
}

StatusOr<CompiledGrammar> GrammarCompiler::Load(std::string_view bytes, bool trusted) {
  return internal::LoadGrammar(bytes, trusted, impl_->tokenizer, impl_->hub);
}

void GrammarCompiler::ClearCache() { impl_->cache.Clear(); }
int64_t GrammarCompiler::cache_size_bytes() const { return impl_->cache.bytes(); }
int64_t GrammarCompiler::cache_limit_bytes() const { return impl_->options.cache_limit_bytes; }
const Limits& GrammarCompiler::limits() const { return impl_->options.limits; }

}  // namespace grammask
