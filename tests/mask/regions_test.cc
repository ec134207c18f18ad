// Regions: whatever text of a region's characters is read, the state is not dead.
#include "mask/regions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "automaton/term_store.h"

namespace grammask::internal {
namespace {

constexpr int64_t kSmallCount = 16;

// ASCII of an alphabet, and one character of two bytes where it has such.
std::vector<std::string> CharactersOf(const Alphabet& alphabet) {
  std::vector<std::string> all;
  for (int c = 0; c < 0x80; ++c) {
    if (alphabet.Contains(static_cast<uint8_t>(c))) all.emplace_back(1, static_cast<char>(c));
  }
  if ((alphabet.leads >> (0xC3 - Alphabet::kFirstLead) & 1) != 0) all.emplace_back("\xC3\xA9");
  return all;
}

// Reads random texts of the region of `state`, which does not have the character `without`.
void CheckRegion(TermStore& terms, TermId state, const std::string& without) {
  Regions regions;
  regions.BeginMask();
  WalkLoop region = regions.Of(terms, state);
  ASSERT_GT(region.most, 0u);
  regions.LookAtLeads(terms, uint64_t{1} << (0xC3 - Alphabet::kFirstLead), &region);
  const std::vector<std::string> characters = CharactersOf(region.alphabet);
  EXPECT_EQ(std::ranges::find(characters, without), characters.end()) << without;
  std::mt19937 random(5);
  for (int i = 0; i < 2000; ++i) {
    TermId at = state;
    std::string text;
    for (int n = 0; n < 8; ++n) {
      const std::string& c = characters[random() % characters.size()];
      text += c;
      const std::lock_guard lock(terms.mutex());
      for (char b : c) at = terms.AfterByte(at, static_cast<uint8_t>(b));
      ASSERT_NE(at, TermStore::Nothing()) << text;
    }
  }
}

// In steps: `T` reads a character and is `S`, which reads another, after a hyphen or not, and is
// `R`; that reads a character and is `S`, or a comma and is `Q`, which is `S` without the hyphen.
// So `S` is seen to read little beside what `Q` does once that has edges, though no text of what
// all of them read comes by `Q`. `fewer`: what `R` does not
// read; `made`: `Q` has edges.
void CheckSteps(const std::string& fewer, bool made) {
  TermStore terms({}, kSmallCount);
  TermId t, q;
  {
    const std::lock_guard lock(terms.mutex());
    CodePointSet some, all = CodePointSet{{0xE9, 0xE9}, {'b', 'b'}};
    for (uint32_t c = 'A'; c <= 'z'; c += 2) some = some.Union(CodePointSet::Of(c));
    all = all.Union(some);
    const CodePointSet left =
        fewer == "b" ? some.Union(CodePointSet::Of(0xE9)) : some.Union(CodePointSet::Of('b'));
    const TermId any = terms.Character(all, true);
    const TermId dash = terms.Repeat(terms.Literal("-", true), 0, 1);
    const TermId s_of_r = terms.Sequence(dash, any);
    const std::array rounds = {terms.Sequence(terms.Character(left, true), s_of_r),
                               terms.Sequence(terms.Literal(",", true), any)};
    const TermId r = terms.Repeat(terms.Choice(rounds), 0, kUnbounded);
    const TermId end = terms.Literal("\"", false);
    q = terms.Sequence(any, terms.Sequence(r, end));
    t = terms.Sequence(any, terms.Sequence(dash, q));
    ASSERT_EQ(terms.AfterByte(t, 'a'), terms.Sequence(dash, q));
  }
  if (made) terms.Expand(q);
  CheckRegion(terms, t, fewer);
}

TEST(Regions, AStateBesideOneThatIsNotInTheRegion) {
  for (const char* fewer : {"b", "\xC3\xA9"}) {
    for (bool made : {false, true}) CheckSteps(fewer, made);
  }
}

}  // namespace
}  // namespace grammask::internal
