// Walks real schemas as an inference engine would: compiles each, then a mask before each token of
// its documents and the token accepted, all in one compiler. What bench/pack_schemas.py has packed:
//
//   schema_walk packed.bin [--top 20] [--only TEXT] [--any-order] [--strict] [--profile KEYS]
//               [--random WALKS [--seed 1]] [--saved | --saved-trusted]
//
// Prints quantiles of the times to first mask and between masks, how many documents were judged
// right, and a checksum of all masks, which no change may alter that only makes them faster; then
// the slowest first masks and masks, each with its key: schema|first, or schema|document|position.
//
// With --random, instead of along its documents, so many walks through each schema by tokens drawn
// from the masks, of up to 150 tokens: what closes strings and lists more often than by chance, and
// readable text. They end where a limit of the library's does; a token of a mask that is not taken
// counts as judged wrong.
//
// With --saved each schema is compiled by another compiler, saved and loaded as from anyone, and
// with --saved-trusted loaded with its masks: the time to the first mask is that of loading, and
// the checksum must be the same.
//
// Under `valgrind --tool=callgrind --instr-atstart=no --collect-atstart=no`, --profile counts only
// the calls whose keys the file lists, a line each, *in the run*: with the tables as the schemas
// before have left them. Each goes to a profile of its own, whose description ("desc: Trigger") is
// the key.
#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "common.h"
#include "grammask/grammask.h"

#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#else
#define CALLGRIND_START_INSTRUMENTATION
#define CALLGRIND_STOP_INSTRUMENTATION
#define CALLGRIND_TOGGLE_COLLECT
#define CALLGRIND_ZERO_STATS
#define CALLGRIND_DUMP_STATS_AT(key) static_cast<void>(key)
#endif

namespace grammask::bench {
namespace {

class Packed {
 public:
  explicit Packed(const std::string& path) : data_(ReadFile(path)) {}

  uint32_t Number() {
    uint32_t number = 0;
    std::memcpy(&number, Take(sizeof number), sizeof number);
    return number;
  }
  std::string Text() {
    const uint32_t size = Number();
    return {Take(size), size};
  }
  std::vector<int32_t> Ids() {
    std::vector<int32_t> ids(Number());
    for (int32_t& id : ids) id = static_cast<int32_t>(Number());
    return ids;
  }

 private:
  const char* Take(size_t size) {
    if (size > data_.size() - at_) {
      std::fprintf(stderr, "error: the packed file ends early; pack it again\n");
      std::exit(1);
    }
    const char* begin = data_.data() + at_;
    at_ += size;
    return begin;
  }

  std::string data_;
  size_t at_ = 0;
};

struct Timed {
  double us;
  std::string key;
};

struct Arguments {
  std::string path, only;
  size_t top = 20, random = 0;
  unsigned seed = 1;
  SchemaOptions options;
  bool saved = false, trusted = false;
  std::unordered_set<std::string> profiled;
};

class Walk {
 public:
  explicit Walk(Arguments arguments) : arguments_(std::move(arguments)), packed_(arguments_.path) {
    std::vector<std::string> tokens(packed_.Number());
    for (std::string& token : tokens) token = packed_.Text();
    stop_ = static_cast<int32_t>(packed_.Number());
    if (arguments_.random > 0) texts_ = tokens;
    TokenizerOptions tokenizer;
    tokenizer.stop_token_ids = {stop_};
    CompilerOptions compiler;
    compiler.cache_enabled = false;
    const TokenizerInfo info = OrDie(TokenizerInfo::Create(std::move(tokens), tokenizer));
    for (int i = arguments_.saved ? 2 : 1; i > 0; --i) {
      compiler_.push_back(OrDie(GrammarCompiler::Create(info, compiler)));
    }
  }

  void Run() {
    for (uint32_t schemas = packed_.Number(); schemas > 0; --schemas) OneSchema();
    Report("first masks", first_);
    Report("masks", masks_);
    std::printf("documents judged right: %zu of %zu; refused: %zu\n", right_, documents_, refused_);
    std::printf("checksum: %016llx\n", static_cast<unsigned long long>(sum_));
  }

 private:
  void OneSchema() {
    const std::string id = packed_.Text(), schema = packed_.Text();
    const bool looked_at = arguments_.only.empty() || id.find(arguments_.only) != std::string::npos;
    std::vector<CompiledGrammar> compiled;
    const uint32_t documents = packed_.Number();
    const std::string saved = looked_at && arguments_.saved ? Saved(schema) : "";
    if (looked_at && (!arguments_.saved || !saved.empty())) {
      Call(id + "|first", &first_, [&] {
        auto result = arguments_.saved ? compiler_[0].Load(saved, arguments_.trusted)
                                       : compiler_[0].CompileJsonSchema(schema, arguments_.options);
        if (!result.ok()) return false;
        compiled.push_back(*std::move(result));
        GrammarMatcher matcher = OrDie(GrammarMatcher::Create(compiled[0]));
        Fill(&matcher);
        return true;
      });
    }
    if (looked_at && compiled.empty()) ++refused_;
    for (uint32_t document = 0; document < documents; ++document) {
      const bool valid = packed_.Number() != 0;
      const std::vector<int32_t> ids = packed_.Ids();
      if (compiled.empty() || arguments_.random > 0) continue;
      ++documents_;
      right_ += OneDocument(id + '|' + std::to_string(document) + '|', ids, &compiled[0]) == valid;
    }
    for (size_t walk = 0; walk < (compiled.empty() ? 0 : arguments_.random); ++walk) {
      ++documents_;
      right_ += RandomWalk(id + '|' + std::to_string(walk) + '|', &compiled[0]);
    }
  }

  // Empty where it is refused.
  std::string Saved(const std::string& schema) {
    auto compiled = compiler_[1].CompileJsonSchema(schema, arguments_.options);
    if (!compiled.ok()) return "";
    GrammarMatcher matcher = OrDie(GrammarMatcher::Create(*compiled));
    Fill(&matcher);
    return OrDie(compiled->Serialize());
  }

  // Whether all its tokens were taken.
  bool RandomWalk(const std::string& key, const CompiledGrammar* compiled) {
    constexpr int kMostTokens = 150;
    const std::string name = std::to_string(arguments_.seed) + '|' + key;
    std::seed_seq seed(name.begin(), name.end());
    std::mt19937 random(seed);
    GrammarMatcher matcher = OrDie(GrammarMatcher::Create(*compiled));
    row_.resize(static_cast<size_t>(matcher.mask_words()));
    for (int i = 0; i < kMostTokens; ++i) {
      bool filled = false;
      Call(key + std::to_string(i), &masks_,
           [&] { return filled = matcher.FillNextTokenBitmask(row_.data()).ok(); });
      if (!filled) return true;
      AddToSum();
      const int32_t id = Draw(&random);
      const auto start = std::chrono::steady_clock::now();
      const bool taken = id >= 0 && matcher.AcceptToken(id);
      const std::chrono::duration<double, std::micro> took =
          std::chrono::steady_clock::now() - start;
      masks_.back().us += took.count();
      if (!taken || id == stop_) return taken;
    }
    return true;
  }

  // One of the mask's tokens, -1 where it has none.
  int32_t Draw(std::mt19937* random) {
    allowed_.clear();
    for (size_t w = 0; w < row_.size(); ++w) {
      for (auto left = static_cast<uint32_t>(row_[w]); left != 0; left &= left - 1) {
        allowed_.push_back(static_cast<int32_t>(w * 32) + std::countr_zero(left));
      }
    }
    if (allowed_.empty()) return -1;
    auto draw = [&](auto&& is_wanted) {
      int32_t id = -1;
      for (int i = 0; i < 12; ++i) {
        id = allowed_[(*random)() % allowed_.size()];
        if (is_wanted(texts_[static_cast<size_t>(id)])) break;
      }
      return id;
    };
    if ((*random)() % 2 == 0) {
      return draw([](const std::string& text) {
        return !text.empty() && text.size() < 3 &&
               std::string_view("\",}]:0123456789").find(text[0]) != std::string_view::npos;
      });
    }
    return draw([](const std::string& text) {
      return std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
    });
  }

  bool OneDocument(const std::string& key, const std::vector<int32_t>& ids,
                   const CompiledGrammar* compiled) {
    GrammarMatcher matcher = OrDie(GrammarMatcher::Create(*compiled));
    for (size_t i = 0; i < ids.size(); ++i) {
      bool taken = false;
      Call(key + std::to_string(i), &masks_, [&] {
        Fill(&matcher);
        taken = matcher.AcceptToken(ids[i]);
        return true;
      });
      AddToSum();
      if (!taken) return false;
    }
    Fill(&matcher);
    AddToSum();
    return (static_cast<uint32_t>(row_[static_cast<size_t>(stop_ / 32)]) >> (stop_ % 32) & 1) != 0;
  }

  template <class Function>
  void Call(const std::string& key, std::vector<Timed>* times, const Function& function) {
    const bool profiled = arguments_.profiled.contains(key);
    if (profiled) {
      CALLGRIND_START_INSTRUMENTATION;
      CALLGRIND_ZERO_STATS;
      CALLGRIND_TOGGLE_COLLECT;
    }
    const auto start = std::chrono::steady_clock::now();
    const bool counts = function();
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
    if (profiled) {
      CALLGRIND_TOGGLE_COLLECT;
      CALLGRIND_DUMP_STATS_AT(key.c_str());
      CALLGRIND_STOP_INSTRUMENTATION;
    }
    if (counts) times->push_back({took.count(), key});
  }

  void Fill(GrammarMatcher* matcher) {
    row_.resize(static_cast<size_t>(matcher->mask_words()));
    OrDie(matcher->FillNextTokenBitmask(row_.data()));
  }

  void AddToSum() {
    for (size_t i = 0; i + 1 < row_.size(); i += 2) {
      uint64_t word = 0;
      std::memcpy(&word, &row_[i], sizeof word);
      sum_ = (sum_ ^ word) * 0x9E3779B97F4A7C15;
      sum_ ^= sum_ >> 29;
    }
  }

  void Report(const char* name, const std::vector<Timed>& times) const {
    if (times.empty()) return;
    std::vector<const Timed*> sorted;
    double sum = 0;
    for (const Timed& time : times) {
      sorted.push_back(&time);
      sum += time.us;
    }
    std::sort(sorted.begin(), sorted.end(),
              [](const Timed* a, const Timed* b) { return a->us > b->us; });
    const auto over = [&](double share) {
      return sorted[static_cast<size_t>(static_cast<double>(sorted.size()) * share)]->us;
    };
    std::printf(
        "%zu %s, us: average %.2f, median %.2f, 90%% %.1f, 99%% %.1f, 99.9%% %.0f, max %.0f\n",
        sorted.size(), name, sum / static_cast<double>(sorted.size()), over(0.5), over(0.1),
        over(0.01), over(0.001), sorted[0]->us);
    for (size_t i = 0; i < std::min(arguments_.top, sorted.size()); ++i)
      std::printf("  %9.1f  %s\n", sorted[i]->us, sorted[i]->key.c_str());
  }

  Arguments arguments_;
  Packed packed_;
  int32_t stop_ = 0;
  std::vector<std::string> texts_;  // of the tokens, for walks at random
  std::vector<int32_t> allowed_;
  std::vector<GrammarCompiler> compiler_;  // one
  std::vector<int32_t> row_;
  std::vector<Timed> first_, masks_;
  size_t documents_ = 0, right_ = 0, refused_ = 0;
  uint64_t sum_ = 0;
};

int Main(int argc, char** argv) {
  Arguments arguments;
  arguments.options.strict_mode = false;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const bool more = i + 1 < argc;
    if (argument == "--any-order") {
      arguments.options.any_order = true;
    } else if (argument == "--strict") {
      arguments.options.strict_mode = true;
    } else if (argument == "--saved" || argument == "--saved-trusted") {
      arguments.saved = true;
      arguments.trusted = argument == "--saved-trusted";
    } else if (argument == "--top" && more) {
      arguments.top = std::stoul(argv[++i]);
    } else if (argument == "--only" && more) {
      arguments.only = argv[++i];
    } else if (argument == "--random" && more) {
      arguments.random = std::stoul(argv[++i]);
    } else if (argument == "--seed" && more) {
      arguments.seed = static_cast<unsigned>(std::stoul(argv[++i]));
    } else if (argument == "--profile" && more) {
      std::ifstream keys(argv[++i]);
      for (std::string key; std::getline(keys, key);) arguments.profiled.insert(key);
    } else if (arguments.path.empty() && !argument.starts_with("-")) {
      arguments.path = argument;
    } else {
      std::fprintf(stderr, "error: %s: see the top of bench/schema_walk.cc\n", argv[i]);
      return 2;
    }
  }
  if (arguments.path.empty()) {
    std::fprintf(stderr,
                 "usage: schema_walk packed.bin [--top 20] [--only TEXT] [--any-order] "
                 "[--strict] [--profile KEYS] [--random WALKS [--seed 1]] "
                 "[--saved | --saved-trusted]\n");
    return 2;
  }
  Walk(std::move(arguments)).Run();
  return 0;
}

}  // namespace
}  // namespace grammask::bench

int main(int argc, char** argv) { return grammask::bench::Main(argc, argv); }
