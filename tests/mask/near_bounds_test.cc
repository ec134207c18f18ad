// Strings of JSON Schema with patterns and bounds, several of which are near at once: masks taken
// from those of states without one of the bounds, or of the alternatives of a choice.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/sorted.h"
#include "mask/mask_world.h"

namespace grammask::internal {
namespace {

// Pieces of names and of what stands between them, long ones, too, and ends of strings.
std::vector<std::string> Tokens() {
  std::vector<std::string> tokens = ManyTokens({"arn:",
                                                "arn:aws",
                                                ":service:",
                                                "-service:",
                                                ":service:a",
                                                ":key/",
                                                "key/",
                                                ":mpa:a/",
                                                "/a/b",
                                                "\"",
                                                "\",",
                                                "a\"",
                                                "-\"",
                                                "12\"",
                                                "\xC3\xA9",
                                                "a\xC3",
                                                "\xC3",
                                                "\\u0061",
                                                "\\u003a",
                                                "\\u00",
                                                "\\u",
                                                "---",
                                                "a-a-a-",
                                                "abcdefghij",
                                                "abcdefghijabcdefghij",
                                                "abcdefghi",
                                                "1-",
                                                "12-",
                                                "123-",
                                                "-abcdefghij",
                                                ":service:a:123456789012",
                                                "aaaa:service:a",
                                                "aaaaaaaaaaaaaaaa:service:aaaa:123456789012",
                                                "a:service:a:123456789012\"",
                                                "abcdefghij-12\"",
                                                "abcdefghij-12\",",
                                                ":service:aaaa:123456789012\",",
                                                "sg-",
                                                "sg-abcd"},
                                               17, "abcdefghij0123456789-:/. ", 1500, 9);
  for (const char c : {'a', '0', '-', ':'}) {
    for (const size_t n : {12, 20, 33, 40, 64, 65, 90}) tokens.push_back(std::string(n, c));
  }
  for (const size_t n : {10, 25, 40}) {
    tokens.push_back(std::string(n, 'a') + ":service:");
    tokens.push_back(std::string(n, 'a') + ":mpa:");
    tokens.push_back(std::string(n, 'b') + "\"");
  }
  SortUnique(&tokens);
  return tokens;
}

struct Case {
  std::string schema;
  std::vector<std::string> texts;  // of its strings
};

void CheckAll(const std::vector<Case>& cases) {
  const auto vocab = MakeVocab(Tokens());
  for (const Case& c : cases) {
    MaskWorld w(vocab);
    for (const bool in_array : {false, true}) {
      std::vector<std::string> documents;
      for (const std::string& text : c.texts) {
        const std::string quoted = "\"" + text + "\"";
        documents.push_back(in_array ? "[" + quoted + "]" : quoted);
      }
      w.CheckSchema(in_array ? R"({"type": "array", "items": )" + c.schema + "}" : c.schema,
                    documents);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

// The least number of characters is reached by a loop that tokens are not through with, or just.
TEST(NearBounds, LeastBesideALoop) {
  const std::string arn = R"("pattern": "^arn:[^:]{1,30}:service:[a-z0-9-]+:[0-9]{12}$")";
  CheckAll({
      {"{" + arn + R"(, "minLength": 42, "maxLength": 1000})",
       {"arn:aws-abcd:service:abcdefgh:123456789012",
        "arn:a:service:abcdefghijabcdefghij:000000000000",
        "arn:\\u0061a:service:a-aaaaaaaaaaaaaaaaa:123456789012"}},
      {"{" + arn + R"(, "minLength": 32})", {"arn:aws:service:abc:123456789012"}},
      {R"({"pattern": "^[a-z]{3}[^-]*-[0-9]{10}$", "minLength": 25, "maxLength": 30})",
       {"abc:service:aaaaaa-0123456789", "aaaabcdefghijaaaa-0123456789"}},
      {R"({"pattern": "^[a-j]{10}[^-]*-[0-9]{2,20}$", "minLength": 25, "maxLength": 60})",
       {"abcdefghijabcdefghij-012345", "abcdefghij-012345678901234"}},
      // Never left before the end.
      {R"({"pattern": "^[0-9]{3}-[a-z-]*$", "minLength": 12, "maxLength": 40})",
       {"123-abcdefghij", "000-a-a-a-a-a-a"}},
      {R"({"pattern": "^(abcdefghij-?)*$", "minLength": 15, "maxLength": 40})",
       {"abcdefghijabcdefghij", "abcdefghij-abcdefghij"}},
      {R"({"pattern": "^[a-z]*$|^[0-9]+-[a-z]*$", "minLength": 9})", {"abcdefghij", "12-abcdefg"}},
      {R"({"pattern": "^([0-9a-f]+|[g-j]{12})$", "minLength": 8})", {"0123456789", "ghijghijghij"}},
      {R"({"pattern": "^[a-z]?$|^[0-9]{2}$", "minLength": 1, "maxLength": 5})", {"a", "12"}},
  });
}

// A loop of one class, and of at least so many rounds: what ends the string too early is refused.
TEST(NearBounds, LeastRoundsOfOneLoop) {
  CheckAll({
      {R"({"pattern": "^[a-z0-9-]{8,}$"})", {"abcdefghij-a", "a-b-c-d-e-f", "12345678"}},
      {R"({"pattern": "^[a-z-]+$", "minLength": 12, "maxLength": 200})",
       {"abcdefghijabcdefghij", "abc-abcdefghi"}},
      {R"({"pattern": "^[^:]{20,}$"})", {"abcdefghijabcdefghij-Ã©\u0061"}},
      {R"({"pattern": "^[0-9]{3}[a-z./-]{5,}$"})", {"123abc-abcdefghi", "000---------"}},
      {R"({"pattern": "^[a-z-]{2,}:?$"})", {"abc:", "a-"}},
  });
}

// Loops that are counted, in one alternative of several.
TEST(NearBounds, ALoopOrNothing) {
  CheckAll({
      {R"({"pattern": "^([a-z./-]|[a-z-][a-z./-]*[a-z-])$", "minLength": 0, "maxLength": 20})",
       {"a", "/", "abc/abc", "abcdefghijabcdefghij", "a./././././././-a"}},
      {R"({"pattern": "^[a-z]([a-z-]{0,15}[0-9])?(:[a-z0-9-]{1,9})?$"})",
       {"a", "abcdefghij-abcd1", "ab1:abcdefghi", "a---1:1-"}},
      {R"({"pattern": "^(|[a-z]{5,12}|[0-9-]{0,30}:)(sg-abcd)?$"})",
       {"abcdefghij", "12-12-123-:", "", "0-:sg-abcd", "abcdefghijsg-abcd"}},
      {R"({"pattern": "^([^:]{0,9}[0-9])?$"})", {"aÃ©Ã©-b1", "\u00611", "0"}},
      {R"({"format": "email", "maxLength": 90})", {"a-b.c@abcdefghij-12.aa"}},
  });
}

// Characters of all scripts, of which the automaton has hundreds of states inside.
TEST(NearBounds, LettersOfAllScripts) {
  CheckAll({
      {R"({"pattern": "^[\\p{L} ]*$", "maxLength": 12})",
       {"abc \xC3\xA9\xC3\xA9\u00e9", "\xE6\x97\xA5\xE6\x9C\xAC", "\\ud801\\udc00ab"}},
      {R"({"pattern": "^([\\p{L}\\p{Z}\\p{N}_.:/=+-]*)$", "minLength": 1, "maxLength": 14})",
       {"a-b:\xC3\xA9 12", "\\u00e9-\\u0061"}},
      {R"({"pattern": "^\\p{Lu}[\\p{L}' -]{0,12}\\p{L}$"})",
       {"Aa-b \xC3\xA9\xC3\xA9", "\\u00c9\xC3\xA9\\u00e9"}},
      {R"({"pattern": "^(\\p{L}{2,5}-)*[\\p{L}0-9]{3}$", "maxLength": 20})",
       {"abc-\xC3\xA9\xC3\xA9-ab1", "\\u00e9a-123"}},
      {R"({"pattern": "\\p{N}\\p{L}", "maxLength": 9})", {"ab1\xC3\xA9-", "\\u0661\\u00e9"}},
  });
}

// Near the end of such a string no mask has the states of all these characters made.
TEST(NearBounds, LettersOfAllScriptsCostNoStates) {
  MaskWorld w(MakeVocab(Tokens()));
  const auto grammar =
      GrammarFromJsonSchema(R"({"type": "string", "pattern": "^[\\p{L} ]*$", "maxLength": 14})");
  ASSERT_TRUE(grammar.ok());
  SetId set = w.sets().Run(w.Start(*grammar), "\"ab");
  w.Filled(set);
  const size_t before = w.terms().size();
  for (int i = 0; i < 8; ++i) {
    set = w.sets().Step(set, 'a');
    w.Filled(set);
  }
  EXPECT_LE(w.terms().size() - before, size_t{300});
}

// Of several bounds those that allow as many characters as are left in all.
TEST(NearBounds, BoundsThatSayNothing) {
  CheckAll({
      {R"({"pattern": "^[a-z]([a-z-]{0,30}[a-z])?(\\.[a-z]([a-z-]{0,30}[a-z])?)*$", "maxLength": 24})",
       {"abcdefghij.a-a.abcdefgh", "aaaaaaaaaaaaaaaaaaaaaaaa", "a-\\u0061.b"}},
      {R"({"pattern": "^[a-z]{1,6}(-[a-z]{1,6}){0,3}$", "maxLength": 14})",
       {"abcdef-abc-a", "a-a-a-a", "abcdef-abcdef"}},
      {R"({"pattern": "^[^-]{0,9}-[a-z]{0,8}(:[0-9]{1,7})?$", "minLength": 4, "maxLength": 10})",
       {"-abcdefgh", "\xC3\xA9-a:1234", "\\u00e9\\u00e9-ab:1"}},
      // Rounds of several characters, and of several bytes.
      {R"({"pattern": "^(ab){0,5}(\u00e9\u00e9){0,6}$", "maxLength": 12})",
       {"ababab\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9", "abab\\u00e9\\u00e9\xC3\xA9\xC3\xA9"}},
      {R"({"pattern": "^(a{0,3}b?){0,4}$", "maxLength": 11})", {"aaabaaabaaa", "bbbb"}},
      {R"({"pattern": "^\\u00e9{0,7}[a-f0-9]{0,7}$", "maxLength": 8})",
       {"\\u00e9\\u00e912ab", "\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9"}},
      {R"({"format": "hostname", "maxLength": 20})",
       {"abc.a-1.abcdefghij", "aaaaaaaaaaaaaaaaaaaa"}},
  });
}

// What is searched for has so many characters, of which some may have come.
TEST(NearBounds, SearchesUnderABound) {
  CheckAll({
      {R"({"pattern": "[0-9][ab]$", "maxLength": 12})", {"abcdefghij1a", "1a1b", "\\u0031a"}},
      {R"({"pattern": "^(sg-[a-j]{4,20}|.*[0-9]{10})$", "maxLength": 30})",
       {"abcdefghij-0123456789", "sg-abcdefghij", "-\xC3\xA9 12\\u0031-0123456789"}},
      {R"({"pattern": "[a-f0-9]{4}-[a-f0-9]{12}", "maxLength": 20})",
       {"abcd-abcdef012345", "--abcd-0123456789ab", "j123a-123456789012"}},
      {R"({"pattern": "key/|:mpa:", "maxLength": 28})", {"abcdefghij-abcdefghijkey/", ":mpa:"}},
      {R"({"pattern": "[a-f0-9]{8}", "minLength": 3, "maxLength": 24})",
       {"ghij-gh-abcd01234", "a1\\u0061bcdef12"}},
  });
}

// A number of rounds of its own begins the string; what is counted up to the end is another loop.
TEST(NearBounds, RoundsBeforeTheOnesThatAreCounted) {
  CheckAll({
      {R"({"pattern": "^[a-z]{9}-", "maxLength": 20})",
       {"abcdefghi-12", "aaaaaaaaa-aaaaaaaaaa", "\\u0061aaaaaaaa-"}},
      {R"({"pattern": "^-{11}a", "maxLength": 23})", {"-----------a", "-----------aaaaa:serv"}},
      {R"({"pattern": "^[a-z]{8,9}[0-9]", "minLength": 12, "maxLength": 30})",
       {"aaaaaaaaa12-abcdefghij", "abcdefgh0123"}},
      {R"({"pattern": "^[a-j]{10}[0-9-].{2,12}$"})", {"abcdefghij-abc:service:", "abcdefghij012"}},
      {R"({"pattern": "^([a-j]{9}-)?[a-j]{8}-", "maxLength": 25})",
       {"abcdefghi-abcdefgh-123", "aaaaaaaa-aaaaaaaa"}},
  });
}

// By rounds of ten characters not every number can be reached.
TEST(NearBounds, LeastBesideLongRounds) {
  CheckAll({
      {R"({"pattern": "^[0-9]{0,3}-(abcdefghij)*$", "minLength": 12, "maxLength": 15})",
       {"1-abcdefghij", "123-abcdefghij"}},
      {R"({"pattern": "^[0-9]{0,3}-(abcdefghij)*$", "minLength": 12, "maxLength": 20})",
       {"1-abcdefghij", "123-abcdefghij"}},
      {R"({"pattern": "^[0-9]{0,3}-(abcdefghij)*$", "minLength": 12, "maxLength": 21})",
       {"-abcdefghijabcdefghij", "123-abcdefghij"}},
      {R"({"pattern": "^[0-9]{8,12}-(abcdefghij)*$", "minLength": 13, "maxLength": 19})",
       {"123456781234-", "01234567-abcdefghij"}},
      {R"({"pattern": "^[0-9]{8,9}-(abcdefghij)*-$", "minLength": 14, "maxLength": 23})",
       {"12345678-abcdefghij-", "012345678-abcdefghij-"}},
  });
}

// Loops that count in step, and some that begin with what follows.
TEST(NearBounds, SeveralLoops) {
  CheckAll({
      {R"({"pattern": "^arn:.{1,20}:mpa:[a-z./]{1,99}/[a-z]{1,99}$", "maxLength": 150})",
       {"arn:ab:mpa:ab/cd", "arn:a:mpa:abcdefghijabcdefghij/abcdefghij"}},
      {R"({"pattern": "^[a-z-]{0,40}$|^[a-z-]{0,40}-[a-z][a-z-]{30}$"})",
       {"abcdefghijabcdefghijabcdefghijabcdefghi", "abc-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}},
      {R"({"pattern": "^([a-j]{20}|[a-j]{20}:[0-9]{5,30})$"})",
       {"abcdefghijabcdefghij", "abcdefghijabcdefghij:0123456789"}},
      {R"({"pattern": "^([a-j]{12,40}|[0-9]{9,30}-)$"})",
       {"abcdefghijabcdefghij", "0123456789012-"}},
      {R"({"pattern": "^-?([a-z]-?){9,40}:[0-9]{10}$", "maxLength": 60})",
       {"-a-bcdefghijaa:0123456789"}},
      {R"({"pattern": "^arn:aws(|-cn):[a-z0-9-]*:[0-9]{12}:key/[a-z0-9-]{36}$", "minLength": 1,
          "maxLength": 200})",
       {"arn:aws:abc:123456789012:key/aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa"}},
      {R"({"pattern": "^[a-z0-9]{0,11}:key/[a-z0-9-]+$", "maxLength": 100})",
       {"abcdefghij:key/abc-def"}},
      {R"({"pattern": "^[a-z]{0,12}:[0-9]{12}-[a-z0-9]+$", "maxLength": 22})",
       {"abc:123456789012-ab"}},
      {R"({"pattern": "^[^:]{0,40}:service:[a-z0-9-]+:[0-9]{12}$", "maxLength": 60})",
       {"abc:service:a:123456789012"}},
      {R"({"pattern": "^[a-z0-9]{1,12}:[a-z]+(/[a-f0-9]{36})+$", "maxLength": 100})",
       {"abcdefgh:abc/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}},
      {R"({"pattern": "sg-[a-z0-9]{4,32}-[a-z0-9]{8,32}", "maxLength": 80})",
       {"aa sg-abcd-abcdefgh1 a", "sg-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa-abcdefghij"}},
  });
}

// Of what is searched for some has come, and there is room to begin anew, just so, or no more.
TEST(NearBounds, SearchesUnderWay) {
  CheckAll({
      {R"({"pattern": "([0-9a-f]{1,2}:){3}[0-9a-f]{1,2}", "maxLength": 16})",
       {"ab:c0:0:12", "0:1:ab--0:1:2:3", "a:b:c---a:b:c:d", "------0:1:2:3ab"}},
      {R"({"pattern": "([0-9a-f]{1,2}:){3}[0-9a-f]{1,2}", "minLength": 12, "maxLength": 40})",
       {"ab:c0:0:12ab", "0:1:2:3-abcdefghij-0:1", "-abcdefghij-abcdefghij-a:b:c:d"}},
      {R"({"pattern": "key/[a-j]{3,9}-[0-9]{2}", "minLength": 12, "maxLength": 24})",
       {"key/abc-00.key/", "key/key/abc-01ab", "-key/abcdefghi-12", "k\u0065y/abcde-12"}},
      {R"({"pattern": "arn:[a-z]*:service:[a-j]{2}", "maxLength": 30})",
       {"arn:aws:service:ab", "arn:arn:a:service:ab12", "abcdefghijarn:abcd:service:ab"}},
      {R"({"pattern": "[a-z]+-[0-9]{3}$", "maxLength": 18})",
       {"abcdefghij-123", "a-12a-123", "0123456789-a-012"}},
  });
}

// Few rounds, each of which may be of many characters.
TEST(NearBounds, RoundsOfAnyText) {
  CheckAll({
      {R"({"pattern": "^((\\w*|.+)[^/]*){1,7}$", "minLength": 4})", {"abcdefghij/12-", "----"}},
      {R"({"pattern": "^(.+[^/]*){1,7}$"})", {"abcdefghij/12-", "-"}},
      {R"({"pattern": "^([a-z]*.){2,9}-?$", "minLength": 4})", {"abcdefghij/1-", "----"}},
  });
}

// Of many searches at once none is taken out before the others.
TEST(NearBounds, ManySearchesUnderWay) {
  std::string pattern = "^(.*key/a";
  for (int i = 0; i < 300; ++i) pattern += "|.*" + std::to_string(100 + i) + "-[a-j]{2}";
  CheckAll({{R"({"pattern": ")" + pattern + R"()$", "minLength": 5, "maxLength": 14})",
             {"abc123-ab", "0123456399-jj", "12:key/a"}}});
}

// What follows a loop may be one of its rounds, too.
TEST(NearBounds, LoopsThatBeginWithWhatFollows) {
  CheckAll({
      {R"({"pattern": "^[^~]{1,20}:service:[a-z]+$"})",
       {"aaaa:service:a", "-:service:service:service:ab", "aa\u0061\u003aservice:a"}},
      {R"({"pattern": "^([0-9]*|[^~]{1,20}:key/[a-j]+)$", "maxLength": 200})",
       {"0123456789", "abcdefghij:key/ab", "0123456789:key/:key/a", "a:\u006bey/a"}},
      {R"({"pattern": "^[^~]{3,9}(-+|a{9})[0-9]{2}$"})", {"abcaaaaaaaaa12", "-----12", "abc--12"}},
      {R"({"pattern": "^([^~]{0,6}:|[^~]{0,12}/)[a-j]*$"})",
       {"ab:abc", "a:b:c/abc", "::::::", "/a/b/c"}},
  });
}

// Strings of any characters near their end, whose other tokens, which go on behind it or end inside
// a character, are those of strings without one.
TEST(NearBounds, EndsOfStrings) {
  std::vector<Case> cases;
  const std::string text = "ab\\u0061\xC3\xA9 \\n-12:abcdefghij";  // 20 characters
  for (const int most : {1, 2, 3, 4, 5, 9, 12, 16, 20, 21, 29, 50}) {
    Case c = {R"({"type": "string", "maxLength": )" + std::to_string(most) + "}", {}};
    c.texts.push_back(std::string(static_cast<size_t>(most), 'a'));
    if (most >= 20) c.texts.push_back(text);
    cases.push_back(c);
    c.schema = R"({"type": "string", "minLength": 3, "maxLength": )" + std::to_string(most) + "}";
    if (most >= 3) cases.push_back(c);
  }
  cases.push_back({R"({"pattern": "^[^~]{2,12}$"})", {"ab", "a:\\u003aab\\n-12"}});
  cases.push_back({R"({"pattern": "^[^~-]{0,9}-[a-j]{0,9}$"})", {"-", "ab\\n-abc", "12:45678-"}});
  CheckAll(cases);
}

// The rule ends within a token, after what a loop could have gone on with, and its caller goes on.
TEST(NearBounds, RuleEndsWithARoundOfItsLoop) {
  const auto vocab = MakeVocab(Tokens());
  for (const int64_t most : {2, 5, 9, 14}) {
    for (const char* after : {":service:", "-a", "abc"}) {
      for (const bool json : {false, true}) {
        MaskWorld w(vocab);
        const SetId start = w.StartItem(after, [&](GrammarBuilder& b) {
          const CodePointSet set = CodePointSet::All().Minus({{'~', '~'}});
          const NodeId one = json ? b.JsonClass(set) : b.Class(set);
          return b.Sequence({b.Repeat(one, 0, most), json ? b.JsonText(":") : b.Bytes(":")});
        });
        const std::string what = std::to_string(most) + ", then " + after;
        w.CheckAlong(start, "a:" + std::string(after), what);
        if (most >= 5) w.CheckAlong(start, "ab:a::" + std::string(after), what);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

}  // namespace
}  // namespace grammask::internal
