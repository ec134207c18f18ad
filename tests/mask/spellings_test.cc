// Masks inside JSON texts: tokens that spell a character in another way, with and without tokens
// that go on behind such a spelling.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <vector>

#include "base/sorted.h"
#include "mask_world.h"

namespace grammask::internal {
namespace {

// All pieces of the spellings of some two characters, and what may stand behind these.
std::vector<std::string> PiecesOfSpellings(bool behind) {
  const std::vector<std::string> spellings = {"n",       "N",       "/",       "\\/",
                                              "\\u006e", "\\u006E", "\\u002f", "\\u002F",
                                              "\\u004e", "\"",      "\\\"",    "\\u0022"};
  std::vector<std::string> tokens;
  auto add = [&](const std::string& text) {
    for (size_t from = 0; from < text.size(); ++from) {
      for (size_t to = from + 1; to <= text.size(); ++to) {
        tokens.push_back(text.substr(from, to - from));
      }
    }
  };
  for (const std::string& s : spellings) {
    add(s);
    for (const std::string& t : spellings) {
      if (behind) add(s + t);
    }
  }
  SortUnique(&tokens);
  return tokens;
}

TEST(Spellings, TextsAndChoicesOfTexts) {
  for (const bool behind : {false, true}) {
    const auto vocab = MakeVocab(PiecesOfSpellings(behind));
    std::mt19937 random(5);
    for (int round = 0; round < 30; ++round) {
      auto text = [&] {
        std::string out;
        for (size_t n = 1 + random() % 3; n > 0; --n) out += "nN/\""[random() % 4];
        return out;
      };
      MaskWorld w(vocab);
      const SetId start = w.Start([&](GrammarBuilder& b) {
        std::vector<NodeId> names;
        for (int n = 0; n <= round % 3; ++n) {
          names.push_back(b.Sequence({b.JsonText(text()), b.Bytes("\"/"), b.JsonText(text())}));
        }
        return b.Sequence({b.Choice(names), b.Bytes("n")});
      });
      std::vector<SetId> states = {start};
      for (size_t i = 0; i < states.size() && i < 40; ++i) {
        w.Check(states[i], "round " + std::to_string(round));
        if (HasFatalFailure()) return;
        for (TokenId t : AllowedByTrying(&w.sets(), w.vocab(), states[i])) {
          const SetId to = w.sets().Run(states[i], w.vocab().bytes(t));
          if (std::ranges::find(states, to) == states.end()) states.push_back(to);
        }
      }
    }
  }
}

}  // namespace
}  // namespace grammask::internal
