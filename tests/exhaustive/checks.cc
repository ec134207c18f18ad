// One grammar and one configuration of the engine to "all masks are right" or a failure.
//
// Texts are visited from the empty one on, a letter at a time, each on a fork of its parent's
// matcher. At each, the mask must have exactly the bits that the oracle gives, accepting must
// succeed exactly for those, and whatever else the matcher says (complete, forced text, shortest
// completion) must be what the oracle derives from the language alone. Then the masks are compared
// with one another: reached by tokens or by letters, after rolling back, by one thread or several.
// Cost: for t texts and v tokens about t * v accepted tokens and as many runs of the oracle.
#include "checks.h"

#include <gtest/gtest.h>

#include <deque>

#include "base/utf8.h"

namespace grammask::internal {
namespace {

bool Bit(const Mask& mask, int32_t token) {
  const auto word = static_cast<uint32_t>(mask[static_cast<size_t>(token >> 5)]);
  return ((word >> (token & 31)) & 1) != 0;
}

// Stands for the bytes that no expression names: all expressions of the letter worlds take them
// alike.
constexpr char kForeignByte = 'z';

// A text that has been visited.
struct Visit {
  std::string text;
  GrammarMatcher matcher;
  Mask mask;
};

class Checker {
 public:
  Checker(const internal::Grammar& grammar, const SmallVocabulary& vocabulary,
          const std::string& configuration, Judge* judge)
      : grammar_(grammar), vocabulary_(vocabulary), configuration_(configuration), judge_(judge) {}

  bool ok() const { return ok_; }

  // Everything that one state says about itself. Returns its mask.
  Mask CheckState(const std::string& text, GrammarMatcher* matcher) {
    const Mask mask = Fill(text, matcher);
    if (!ok_) return mask;
    for (int32_t token = 0; token < vocabulary_.size(); ++token) {
      const bool want = judge_->MayFollow(vocabulary_, text, token);
      Require(Bit(mask, token) == want, text, token,
              want ? "the mask refuses a token that may come" : "the mask allows a token too many");
      GrammarMatcher fork = matcher->Fork();
      Require(fork.AcceptToken(token) == want, text, token, "AcceptToken and the oracle differ");
      Require(fork.IsTerminated() == (want && token == vocabulary_.stop), text, token,
              "IsTerminated");
    }
    Require(!matcher->AcceptToken(-1) && !matcher->AcceptToken(vocabulary_.size()), text, -1,
            "a token out of range was accepted");
    Require(matcher->IsCompleted() == judge_->Matches(text), text, -1, "IsCompleted");
    CheckForced(text, matcher);
    CheckShortest(text, *matcher);
    return mask;
  }

  // Masks after each token must be those of the text it spells, and come back by rolling back.
  void CheckTokens(Visit* visit, const std::map<std::string, const Visit*>& visits) {
    for (int32_t token = 0; token < vocabulary_.size(); ++token) {
      if (!Bit(visit->mask, token)) continue;
      Require(visit->matcher.AcceptToken(token), visit->text, token, "AcceptToken");
      if (vocabulary_.IsText(token)) {
        const auto after = visits.find(visit->text + vocabulary_.texts[static_cast<size_t>(token)]);
        if (after != visits.end()) {
          Require(Fill(visit->text, &visit->matcher) == after->second->mask, visit->text, token,
                  "the mask depends on how a text was cut into tokens");
        }
      }
      Require(visit->matcher.Rollback(1).ok(), visit->text, token, "Rollback");
      Require(Fill(visit->text, &visit->matcher) == visit->mask, visit->text, token,
              "rolling back gives another mask");
      if (!ok_) return;
    }
  }

  Mask Fill(const std::string& text, GrammarMatcher* matcher) {
    Mask mask(static_cast<size_t>(matcher->mask_words()), 0x33CC33CC);
    const StatusOr<bool> filled = matcher->FillNextTokenBitmask(mask.data());
    Require(filled.ok(), text, -1, "FillNextTokenBitmask");
    if (!filled.ok()) return mask;
    bool any = false;
    for (int32_t token = 0; token < vocabulary_.size(); ++token) any = any || Bit(mask, token);
    Require(any, text, -1, "an empty mask on a prefix");
    Require(*filled, text, -1, "no mask of these vocabularies allows every token");
    for (int32_t id = vocabulary_.size(); id < matcher->mask_words() * 32; ++id) {
      Require(!Bit(mask, id), text, id, "a bit past the vocabulary is set");
    }
    return mask;
  }

  void Require(bool holds, const std::string& text, int32_t token, const char* what) {
    if (holds || !ok_) return;
    ok_ = false;
    ADD_FAILURE() << what << "\nconfiguration: " << configuration_ << "\ntext: \""
                  << Printable(text) << "\"\ntoken: " << token
                  << (token >= 0 && token < vocabulary_.size()
                          ? " \"" + Printable(vocabulary_.texts[static_cast<size_t>(token)]) + "\""
                          : "")
                  << "\ngrammar:\n"
                  << grammar_.ToString();
  }

 private:
  void CheckForced(const std::string& text, GrammarMatcher* matcher) {
    const StatusOr<std::string> forced = matcher->FindJumpForwardString();
    Require(forced.ok(), text, -1, "FindJumpForwardString");
    if (!forced.ok()) return;
    // Whole characters only: what may be said is what the oracle forces, cut to characters.
    Require(matcher->MatchingPrefix(*forced) == forced->size(), text, -1,
            "the text that must come next cannot come");
    if (!check_forced_exactly) return;
    const std::string want = judge_->Forced(vocabulary_.letters, text, 64);
    Require(*forced == want, text, -1, "the text that must come next is another");
  }

  void CheckShortest(const std::string& text, const GrammarMatcher& matcher) {
    constexpr uint64_t kLimit = 4;
    const auto want =
        judge_->ShortestCompletion(vocabulary_.letters + vocabulary_.others, text, kLimit);
    const uint64_t got = matcher.ShortestCompletionBytes();
    if (!check_shortest_exactly) {
      Require(!want.has_value() || got <= *want, text, -1, "ShortestCompletionBytes is too much");
      return;
    }
    Require(want.has_value() ? got == *want : got > kLimit, text, -1, "ShortestCompletionBytes");
  }

  const internal::Grammar& grammar_;
  const SmallVocabulary& vocabulary_;
  const std::string& configuration_;
  Judge* judge_;
  bool ok_ = true;

 public:
  // False where texts may be forced in a plain spelling that is one of several.
  bool check_forced_exactly = true;
  // False for lists of distinct members, where the values written count as if they could come
  // again.
  bool check_shortest_exactly = true;
};

std::optional<CompiledGrammar> Compile(const internal::Grammar& grammar,
                                       Engines::Configuration* configuration, Judge* judge) {
  const grammask::Grammar handle(std::make_shared<const internal::Grammar>(grammar));
  StatusOr<CompiledGrammar> compiled = configuration->compiler.CompileGrammar(handle);
  if (!judge->IsPrefix("")) {
    EXPECT_FALSE(compiled.ok()) << "no text matches, and still it compiles:\n"
                                << grammar.ToString();
    EXPECT_EQ(compiled.status().code(), StatusCode::kUnsatisfiable) << compiled.status().message();
    return std::nullopt;
  }
  EXPECT_TRUE(compiled.ok()) << compiled.status().message() << "\n" << grammar.ToString();
  if (!compiled.ok()) return std::nullopt;
  if (configuration->precompute_threads > 0) {
    compiled->Precompute(configuration->precompute_threads, 10'000);
  }
  return *compiled;
}

// The masks of all visits at once, on several threads, must be those from before.
void CheckBatch(std::deque<Visit>* visits, Checker* checker) {
  static BatchGrammarMatcher batch(3);
  std::vector<GrammarMatcher*> matchers;
  for (Visit& visit : *visits) matchers.push_back(&visit.matcher);
  const size_t words = visits->front().mask.size();
  std::vector<int32_t> masks(words * visits->size(), 7);
  const auto rows = static_cast<int64_t>(visits->size());
  const auto row_words = static_cast<int64_t>(words);
  const Status status =
      batch.FillNextTokenBitmask(matchers, masks.data(), rows, row_words, row_words);
  checker->Require(status.ok(), "", -1, "filling a batch");
  for (size_t i = 0; i < visits->size(); ++i) {
    const auto row = masks.begin() + static_cast<std::ptrdiff_t>(i * words);
    checker->Require(std::equal((*visits)[i].mask.begin(), (*visits)[i].mask.end(), row),
                     (*visits)[i].text, -1, "filled in a batch, the mask is another");
  }
}

}  // namespace

SmallVocabulary::SmallVocabulary(std::vector<std::string> the_texts, std::string the_letters,
                                 std::string the_others)
    : texts(std::move(the_texts)), letters(std::move(the_letters)), others(std::move(the_others)) {
  const std::string first = texts.front();
  texts.push_back(first);
  texts.push_back(first);
  empty = size();
  texts.emplace_back();
  special = size();
  texts.emplace_back(first);
  stop = size();
  texts.emplace_back(first);
  TokenizerOptions options;
  options.stop_token_ids = {{stop}};
  options.special_token_ids = {special};
  StatusOr<TokenizerInfo> created = TokenizerInfo::Create(texts, options);
  EXPECT_TRUE(created.ok()) << created.status().message();
  info = *created;
}

bool Judge::Matches(const std::string& text) {
  const auto [entry, fresh] = matches_.try_emplace(text, false);
  if (fresh) entry->second = recognizer_.Matches(text);
  return entry->second;
}

bool Judge::IsPrefix(const std::string& text) {
  const auto [entry, fresh] = prefixes_.try_emplace(text, false);
  if (!fresh) return entry->second;
  // What follows no prefix is none.
  const bool may = text.empty() || IsPrefix(text.substr(0, text.size() - 1));
  return prefixes_[text] = may && recognizer_.IsPrefix(text);
}

bool Judge::MayFollow(const SmallVocabulary& vocabulary, const std::string& text, int32_t token) {
  if (token == vocabulary.stop) return Matches(text);
  if (!vocabulary.IsText(token)) return false;
  return IsPrefix(text + vocabulary.texts[static_cast<size_t>(token)]);
}

std::optional<uint64_t> Judge::ShortestCompletion(const std::string& letters,
                                                  const std::string& text, uint64_t limit) {
  std::vector<std::string> level = {text};
  for (uint64_t length = 0; length <= limit; ++length) {
    std::vector<std::string> next;
    for (const std::string& t : level) {
      if (Matches(t)) return length;
      if (length == limit) continue;
      for (const char letter : letters) {
        if (IsPrefix(t + letter)) next.push_back(t + letter);
      }
    }
    level = std::move(next);
  }
  return std::nullopt;
}

std::string Judge::Forced(const std::string& letters, const std::string& text, size_t limit) {
  std::string forced;
  while (forced.size() < limit && !Matches(text + forced)) {
    if (IsPrefix(text + forced + kForeignByte)) return forced;  // then many others may come too
    std::optional<char> only;
    for (const char letter : letters) {
      if (!IsPrefix(text + forced + letter)) continue;
      if (only.has_value()) return forced;
      only = letter;
    }
    if (!only.has_value()) return forced;
    forced += *only;
  }
  return forced;
}

Engines::Engines(const SmallVocabulary& vocabulary) {
  const auto add = [&](std::string name, int threads, const CompilerOptions& options) {
    StatusOr<GrammarCompiler> compiler = GrammarCompiler::Create(*vocabulary.info, options);
    EXPECT_TRUE(compiler.ok()) << compiler.status().message();
    all_.push_back({std::move(name), *compiler, threads});
  };
  CompilerOptions options;
  options.cache_enabled = false;
  add("lazy", 0, options);
  add("precomputed on one thread", 1, options);
  add("precomputed on three threads", 3, options);
  options.limits.arena_bytes = 256 << 10;
  add("lazy, with an arena that is often full", 0, options);
}

bool CheckGrammar(const internal::Grammar& grammar, const SmallVocabulary& vocabulary,
                  Engines::Configuration* configuration, size_t max_length, Judge* judge) {
  const auto compiled = Compile(grammar, configuration, judge);
  if (!compiled.has_value()) return !testing::Test::HasFailure();
  StatusOr<GrammarMatcher> root = GrammarMatcher::Create(*compiled);
  EXPECT_TRUE(root.ok()) << root.status().message();
  if (!root.ok()) return false;

  Checker checker(grammar, vocabulary, configuration->name, judge);
  bool plain = true;
  for (uint32_t i = 0; i < grammar.node_count(); ++i) {
    const NodeKind kind = grammar.node(NodeId(i)).kind;
    plain = plain && kind != NodeKind::kJsonText && kind != NodeKind::kJsonClass;
    if (kind != NodeKind::kMembers) continue;
    for (const uint32_t use : grammar.node(NodeId(i)).members.uses()) {
      const bool own = HasOwnValue(UseOfWord(use));
      checker.check_shortest_exactly = checker.check_shortest_exactly && !own;
    }
  }
  checker.check_forced_exactly = plain && vocabulary.letters == "ab";

  std::deque<Visit> visits;
  visits.push_back({"", std::move(root).value(), {}});
  for (size_t i = 0; i < visits.size() && checker.ok(); ++i) {
    visits[i].mask = checker.CheckState(visits[i].text, &visits[i].matcher);
    if (visits[i].text.size() >= max_length) continue;
    for (const char letter : vocabulary.letters) {
      const std::string text = visits[i].text + letter;
      GrammarMatcher fork = visits[i].matcher.Fork();
      const bool accepted = fork.AcceptString(std::string_view(&letter, 1));
      checker.Require(accepted == judge->IsPrefix(text), text, -1, "AcceptString");
      if (accepted) visits.push_back({text, std::move(fork), {}});
    }
  }
  std::map<std::string, const Visit*> by_text;
  for (const Visit& visit : visits) by_text[visit.text] = &visit;
  for (size_t i = 0; i < visits.size() && checker.ok(); ++i) {
    checker.CheckTokens(&visits[i], by_text);
  }
  if (checker.ok()) CheckBatch(&visits, &checker);
  return checker.ok();
}

bool CheckWalk(const internal::Grammar& grammar, const SmallVocabulary& vocabulary,
               Engines::Configuration* configuration, int steps, std::mt19937_64* random,
               Judge* judge) {
  const auto compiled = Compile(grammar, configuration, judge);
  if (!compiled.has_value()) return !testing::Test::HasFailure();
  StatusOr<GrammarMatcher> created = GrammarMatcher::Create(*compiled);
  EXPECT_TRUE(created.ok()) << created.status().message();
  if (!created.ok()) return false;
  GrammarMatcher matcher = std::move(created).value();

  Checker checker(grammar, vocabulary, configuration->name, judge);
  std::vector<std::string> texts = {""};  // after each step of the history
  std::vector<Mask> masks = {checker.Fill("", &matcher)};
  for (int step = 0; step < steps && checker.ok(); ++step) {
    const std::string& text = texts.back();
    const Mask& mask = masks.back();
    for (int32_t token = 0; token < vocabulary.size(); ++token) {
      checker.Require(Bit(mask, token) == judge->MayFollow(vocabulary, text, token), text, token,
                      "the mask and the oracle differ");
    }
    std::vector<int32_t> allowed;
    for (int32_t token = 0; token < vocabulary.empty; ++token) {
      if (Bit(mask, token)) allowed.push_back(token);
    }
    const auto choice = (*random)() % 8;
    if (choice == 0 || allowed.empty()) {  // undo some
      const size_t back = (*random)() % texts.size();
      checker.Require(matcher.Rollback(static_cast<int>(back)).ok(), text, -1, "Rollback");
      texts.resize(texts.size() - back);
      masks.resize(masks.size() - back);
      if (allowed.empty() && back == 0) {
        matcher.Reset();
        texts.resize(1);
        masks.resize(1);
      }
      checker.Require(checker.Fill(texts.back(), &matcher) == masks.back(), texts.back(), -1,
                      "rolling back gives another mask");
      continue;
    }
    const int32_t token = allowed[(*random)() % allowed.size()];
    if (choice == 1) {  // a fork goes elsewhere, and the original must not notice
      GrammarMatcher fork = matcher.Fork();
      checker.Require(fork.AcceptToken(token), text, token, "AcceptToken on a fork");
      static_cast<void>(checker.Fill(text, &fork));
      checker.Require(checker.Fill(text, &matcher) == mask, text, token, "a fork changed a mask");
    }
    checker.Require(matcher.AcceptToken(token), text, token, "AcceptToken");
    texts.push_back(text + vocabulary.texts[static_cast<size_t>(token)]);
    masks.push_back(checker.Fill(texts.back(), &matcher));
  }
  checker.Require(!matcher.Rollback(static_cast<int>(texts.size())).ok(), texts.back(), -1,
                  "rolling back past the beginning");
  return checker.ok();
}

}  // namespace grammask::internal
