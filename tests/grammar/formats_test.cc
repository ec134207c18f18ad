// Formats: dates against a calendar, the others by tables of strings in and out.
#include "grammar/json_schema/formats.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <vector>

#include "base/utf8.h"
#include "grammar/json_schema.h"
#include "grammar/json_schema/text_match.h"
#include "grammar/regular_language.h"
#include "oracle/recognizer.h"

namespace grammask::internal {
namespace {

// What a JSON writer puts between the quotes.
std::string JsonBody(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
  return out;
}

// Every character as \uXXXX.
std::string Escaped(std::string_view text) {
  std::string out;
  auto unit = [&](uint32_t u) {
    char buffer[64];
    std::snprintf(buffer, sizeof(buffer), "\\u%04x", u);
    out += buffer;
  };
  for (size_t i = 0; i < text.size();) {
    DecodedChar c = *DecodeUtf8(text, i);
    i += static_cast<size_t>(c.length);
    if (c.code_point < 0x10000) {
      unit(c.code_point);
    } else {
      unit(0xD800 + ((c.code_point - 0x10000) >> 10));
      unit(0xDC00 + (c.code_point & 0x3FF));
    }
  }
  return out;
}

Grammar FormatGrammar(std::string_view name) {
  GrammarBuilder builder;
  StatusOr<NodeId> node = EmitFormat(&builder, name, {});
  EXPECT_TRUE(node.ok()) << name << node.status().message();
  RuleId root = builder.AddRule("root");
  builder.SetBody(root, *node);
  return *builder.Finish(root);
}

// Membership, for languages with too many states for RegularLanguage.
class FormatMatcher {
 public:
  explicit FormatMatcher(std::string_view name) : node_(*EmitFormat(&builder_, name, {})) {}
  bool Has(std::string_view text) const { return *MatchesText(builder_, node_, JsonBody(text)); }

 private:
  GrammarBuilder builder_;
  NodeId node_;
};

struct Case {
  const char* format;
  std::vector<std::string> in, out;
};

std::string Repeated(std::string_view text, int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += text;
  return out;
}

std::vector<Case> Cases() {
  const std::string label63(63, 'a'), label64(64, 'a');
  const std::string name253 = label63 + "." + label63 + "." + label63 + "." + std::string(61, 'b');
  return {
      {"date",
       {"2024-02-29", "2000-02-29", "0001-01-01", "9999-12-31", "1999-11-30"},
       {"2023-02-29", "1900-02-29", "2024-02-30", "2024-04-31", "2024-13-01", "2024-00-10",
        "2024-01-00", "0000-01-01", "24-01-01", "2024-1-1", "2024-01-01T", " 2024-01-01", "",
        "2024-01-32", "20240101", "2024/01/01", "२०२४-01-01"}},
      {"time",
       {"00:00:00Z", "23:59:59z", "12:30:15.123456789+05:30", "12:00:00-00:00", "08:30:06.283Z",
        "12:00:00+23:59", "23:59:60Z", "23:59:60.5z", "23:59:60+00:00", "23:59:60-00:00",
        "01:29:60+01:30", "23:29:60+23:30", "15:59:60-08:00", "00:29:60-23:30", "00:00:60+00:01",
        "00:00:60-23:59"},
       {"24:00:00Z",      "12:60:00Z",      "12:00:61Z",      "12:00:00",       "12:00Z",
        "12:00:00+24:00", "12:00:00+00:60", "1:00:00Z",       "12:00:00.Z",     "12:00:00+0530",
        "12:00:00ZZ",     "22:59:60Z",      "23:58:60Z",      "23:59:60+01:00", "23:59:60-00:30",
        "00:59:60+00:00", "01:29:60-01:30", "23:00:60+24:01", "23:59:60+24:00", "23:59:61Z"}},
      {"date-time",
       {"2022-01-01T12:00:00Z", "2022-01-01t12:00:00z", "2024-02-29T23:59:59.999-08:00",
        "1963-06-19T08:30:06.283185Z", "1998-12-31T23:59:60Z", "1998-12-31T15:59:60.123-08:00",
        "1999-01-01T05:29:60+05:30", "2015-06-30T23:59:60z", "2015-07-01T00:59:60+01:00"},
       {"1998-12-31T22:59:60Z", "1998-12-30T23:59:60Z", "1998-12-31T00:59:60+01:00",
        "1999-01-01T23:59:60Z", "1999-01-01T15:59:60-08:00", "2015-03-31T23:59:60Z",
        "2022-01-01 12:00:00Z", "2022-01-01T12:00:00", "2023-02-29T00:00:00Z", "2022-01-01",
        "12:00:00Z", "2022-01-01T24:00:00Z", "2022-01-01T12:00:00.000Z+01:00", ""}},
      {"duration",
       {"P4DT12H30M5S", "P4Y", "PT0S", "P0D", "P1M", "PT1M", "PT36H", "P1DT12H", "P2W", "P1Y2M3D",
        "P1Y2M3DT4H5M6S", "P23DT23H", "PT5M30S"},
       {"P", "PT", "P1", "1Y", "P1D2H", "P2D1Y", "P1YT", "PT1D", "P1Y2W", "P1S", "p1d", "P-1D",
        "P1H", "", "PT1S1M", "P1.5D"}},
      {"email",
       {"joe.bloggs@example.com", "te~st@example.com", "~test@example.com", "te.s.t@example.com",
        "\"joe bloggs\"@example.com", "\"joe..bloggs\"@example.com", "\"joe@bloggs\"@example.com",
        "joe@[127.0.0.1]", "joe@[IPv6:::1]", "a@b", "o'hara+x@sub.ex-ample.co.uk",
        "\"a\\\"b\"@x.org"},
       {"2962", "@example.com", "joe@", ".test@example.com", "test.@example.com",
        "te..st@example.com", "joe.bloggs@invalid=domain.com", "joe@[127.0.0.300]", "a b@x.com",
        "joe@-x.com", "joe@x-.com", "joe@x..com", "a@b@c", "\"joe@x.com", "joe@x.com,b@x.com",
        "실례@실례.테스트", "joe@" + label64 + ".com"}},
      {"idn-email",
       {"실례@실례.테스트", "joe.bloggs@example.com", "dörte@sörensen.example.com",
        "user@cafe\u0301.com", "\u0085@x.org", "a@l·l.x", "\"실 례\"@a.b.c.d.e.f.g.h"},
       {"2962", "@실례", "실례@", "실 례@x.com", "a@xn--x", "a@실--례", "a＠b"}},
      {"hostname",
       {"www.example.com", "localhost", "ab--c.d", "a", "1host", "a-b.c-d", "1.2.3.4",
        label63 + ".com", name253, Repeated("a.", 126) + "a", "hostn-ame", "EXAMPLE.com"},
       {"-bad", "bad-", "a..b", ".a", "a.", "a_b.com", "local host", "host:8080", "", "é.com",
        "xn--4gbwdl.xn--wgbh1c", "a.XN--a", label64 + ".com", name253 + "b",
        "a" + name253.substr(1) + ".c", "-a-.com"}},
      {"idn-hostname",
       {"실례.테스트",
        "www.example.com",
        "straße.de",
        "bücher.example",
        "例え.jp",
        "ab-c.de",
        "a-b",
        "abc-d",
        "a",
        "ab",
        "abc",
        "EXAMPLE.com",
        name253,
        "a。b",
        "실례．테스트",
        "a｡é",
        "тест-1.рф",
        "www.müller-lüdenscheidt.co.uk",
        "münchen-großhadern",
        "ßς་〇",
        "l·l",
        "coel·lum",
        "α͵β",
        "͵β",
        "・ぁ",
        "ア・",
        "丈・ァ",
        "हिन्दी.भारत",
        "क्‍ष",
        "क्‌ष",
        "க்ஷா",
        "क़",
        "۰0",
        "مثال.com",
        "example.אב",
        "ب٠ب",
        "ب0",
        "א׳ב",
        "א״",
        "بي‌بي",
        "۽۾",
        "か.b"},
       {"",
        "-실례",
        "실례-",
        "실례..테스트",
        "ab--cd.com",
        "실--례",
        "xn--zzzzzz--",
        "xn--ihqwcrb4cv8a8dqg056pqjye",
        "a b",
        "실〮례",
        "É.com",
        label64,
        "a。",
        "．b",
        "cafe\u0301",
        "a·l",
        "l·",
        "·l",
        "α͵S",
        "͵",
        "׳ב",
        "a׳",
        "・",
        "def・abc",
        "ب٠۰",
        "א0٠",
        "0א",
        "aא",
        "0a.א",
        "é.א",
        "क‍ष",
        "‌",
        "x‌y",
        "\u0903a",
        "\u0300a",
        "\u0488a",
        "ـ",
        "ொ",
        "कै़्",
        name253 + "b",
        Repeated("é", 20),
        Repeated("한", 14),
        Repeated("é.", 3) + "é"}},
      {"ipv4",
       {"192.168.0.1", "0.0.0.0", "255.255.255.255", "10.20.30.199", "9.99.249.250"},
       {"127.0.0.0.1", "256.1.1.1", "127.0", "1.2.3", "01.2.3.4", "1.2.3.04", "1.2.3.4.", "a.b.c.d",
        "1.2.3.4/24", "0x7f.0.0.1", " 1.2.3.4", "1.2.3.-4", "", "1২7.0.0.1"}},
      {"ipv6",
       {"::",
        "::1",
        "1::",
        "::abef",
        "fe80::a:1",
        "1:2:3:4:5:6:7:8",
        "1:2:3:4:5:6:7::",
        "::2:3:4:5:6:7:8",
        "::42:ff:1",
        "d6::",
        "1:d6::42",
        "1::d6:192.168.0.1",
        "1:2::192.168.0.1",
        "1:2:3:4:5:6:1.2.3.4",
        "::1.2.3.4",
        "::ffff:192.168.0.1",
        "2001:db8::FF00:42:8329",
        "1::8",
        "1:2:3:4::6:7:8",
        "1:2:3::6:1.2.3.4"},
       {"12345::",
        "::laptop",
        "1:2:3:4:5:6:7",
        "1:2:3:4:5:6:7:8:9",
        "1::2::3",
        ":2:3:4:5:6:7:8",
        "1:2:3:4:5:6:7:",
        ":::",
        "1:::2",
        "1:2:3:4:5:6:7:1.2.3.4",
        "1:2:3:4:1.2.3",
        "1::2:192.168.256.1",
        "1::2:192.168.ff.1",
        "127.0.0.1",
        "::1%eth0",
        "fe80::/64",
        "",
        ":",
        "1:2:3:4:5::6:7:8:9",
        "1:2:3:4:5:6:7::8:9",
        "::1.2.3.4:5",
        "1.2.3.4::",
        "::00001"}},
      {"uuid",
       {"2eb8aa08-aa98-11ea-b4aa-73b441d16380", "2EB8AA08-AA98-11EA-B4AA-73B441D16380",
        "00000000-0000-0000-0000-000000000000"},
       {"2eb8aa08-aa98-11ea-b4aa-73b441d1638", "2eb8aa08aa9811eab4aa73b441d16380",
        "2eb8-aa08-aa98-11ea-b4aa73b44-1d16380", "2eb8aa08-aa98-11ea-b4ga-73b441d16380",
        "{2eb8aa08-aa98-11ea-b4aa-73b441d16380}", ""}},
      {"uri",
       {"http://foo.bar/?baz=qux#quux",
        "http://foo.com/blah_(wikipedia)_blah#cite-1",
        "http://foo.bar/?q=Test%20URL-encoded%20stuff",
        "http://xn--nw2a.xn--j6w193g/",
        "http://-.~_!$&'()*+,;=:%40:80%2f::::::@example.com",
        "http://223.255.255.254",
        "ftp://ftp.is.co.za/rfc/rfc1808.txt",
        "ldap://[2001:db8::7]/c=GB?objectClass?one",
        "mailto:John.Doe@example.com",
        "news:comp.infosystems.www.servers.unix",
        "tel:+1-816-555",
        "urn:oasis:names:specification:docbook:dtd:xml:4.1.2",
        "http:",
        "a:/",
        "http://",
        "a:b//c",
        "http://h:",
        "http://[v1.x:y]/",
        "http://[V1F.x]",
        "file:///etc/hosts",
        "x:?q",
        "x:#f",
        "http://h/a//b"},
       {"//foo.bar/?baz=qux#quux",
        "/abc",
        "\\\\WINDOWS\\fileshare",
        "abc",
        "http:// shouldfail.com",
        ":// should fail",
        "bar,baz:foo",
        "http://a b",
        "http://x/{y}",
        "1http://x",
        "",
        "http://[::1",
        "http://x/%zz",
        "http://x/%2",
        "http://ex.com/é",
        "http://x/a|b",
        "http://x/\"",
        "x:#a#b",
        "http://h:8a/",
        "http://[1:2]/"}},
      {"uri-reference",
       {"http://foo.bar/?baz=qux#quux", "//foo.bar/?baz=qux#quux", "/abc", "abc", "#fragment", "",
        "?q", "./a:b", "a/b:c", "../x", "a%20b", "//[::1]:80/x"},
       {"\\\\WINDOWS\\fileshare", "#frag\\ment", "a b", "1:b", ":", "é", "a#b#c", "//a b"}},
      {"iri",
       {"http://ƒøø.ßår/?∂éœ=πîx#πîüx", "http://xn--nw2a.xn--j6w193g/", "a:b", "http://h/é?\uE000"},
       {"//ƒøø.ßår/", "/abc", "âππ", "http:// x", "", "http://h/#\uE000", "http://x/\u0080"}},
      {"iri-reference",
       {"http://ƒøø.ßår/?∂éœ=πîx#πîüx", "//ƒøø.ßår/", "/âππ", "âππ", "#ƒrägmênt", ""},
       {"\\\\WINDOWS\\filëßåré", "#ƒräg\\mênt", "a b"}},
      {"uri-template",
       {"http://example.com/dictionary/{term:1}/{term}", "dictionary/{term:1}", "{+path}/here", "",
        "{#x,hello}", "{/list*,path:4}", "{?q,lang}", "{&x.y}", "{a%20b}", "http://x/é", "{;x}",
        "{v:9999}", "{%41.b}", "a'b"},
       {"http://example.com/dictionary/{term:1}/{term", "{}", "{=x}", "{x:0}", "{x,}", "a b", "}",
        "{.}", "{x*y}", "{x..y}", "{{x}}", "<x>", "{v:10000}", "{v:01}", "{%4}", "{var=def}",
        "{,+var}"}},
      {"json-pointer",
       {"", "/", "/foo", "/foo/0", "/a~1b", "/m~0n", "/ ", "/c%d", "/k\"l", "/i\\j", "/foo//bar",
        "/é"},
       {"foo", "#", "#/", "#a", "/~", "/~2", "/foo~", "0", "a/a", "/~~"}},
      {"relative-json-pointer",
       {"0", "1", "10", "0#", "2#", "0/foo/bar", "1/a~1b", "12/", "0/", "100", "101#"},
       {"", "/foo", "-1/a", "01", "0##", "1x", "+1", "#", "0/~"}},
      {"regex",
       {"",
        "^a+$",
        "([abc])+\\s+$",
        "^\\s*(it|describe)\\(\\s*['\"]([^'\"]+)['\"]",
        "^/api/(.*)$",
        "[a-zA-Z0-9_-]{1,64}",
        "a{2}b{2,}c{2,10}d{3,7}?",
        "a{10,15}b{64,128}c{20,30}d{99,99}e{0,0}f{100,200}g{19,20}",
        "(?:x|y)*?(?=z)(?!w)",
        "\\d{3}-\\d{4}",
        "[^a]",
        "((((a))))",
        "\\x41\\u0041",
        "a|",
        "()",
        "[-a]",
        "[a-]",
        "[\\w.-]+@[\\w-]+",
        "\\bword\\b",
        "é",
        "a,b",
        "[|&]",
        "[]",
        "[^]",
        "\\cA[\\cz\\b]",
        "(?<=a+)b(?<!c|d)",
        "(?<name>x)",
        "(?<n>a)\\k<n>",
        "(a)(?<n>(?:b))?\\k<n>*\\1",
        "(?<year>\\d{4})-(\\d\\d)",
        "(a)\\1",
        "(a)|(?:(b))(c)\\2\\1+0",
        "[ -~][\\x00-\\x1f][\\u4e00-\\u9fa5]",
        "[!-é]",
        "[^^-z]",
        "[^^]",
        "[^-A]",
        "[-a-]",
        "[-]",
        "[^-]",
        "[!-\\/:-@\\[-`{-~]",
        "[\\--\\]a-\\xff -\\u007e]",
        "[\\0]",
        "[^\\0/a]",
        "[^\\0-\\x1F\\0-]",
        "[\\x00-\\x08\\x0b\\x0C\\x0e-\\x1f]",
        "[\\t-\\x20\\n-~\\b]",
        "[\\x20-~\\x7f-é\\x80-\\u0100]",
        "[\\u0000-\\u001F\\u00c0-\\u017F\\u0400-\\u04FF\\u3040-\\u30ff\\uFE00-\\uffff]",
        "[a^-z-]",
        "[ab-bé]",
        "[--]",
        "[a-ce-g-]"},
       {"^(abc]",
        "(",
        ")",
        "[",
        "[[]]]",
        "*a",
        "a**",
        "a{3,2}",
        "a{2",
        "{",
        "}",
        "a++",
        "\\",
        "(?<=a)*",
        "(?P<x>a)",
        "[z-a]",
        "[^^-A]",
        "[^-z-9]",
        "[\\]-\\[]",
        "[~-\\/]",
        "[\\x08-\\x07]",
        "[\\x21- ]",
        "[a-\\x41]",
        "[\\00]",
        "[\\01]",
        "[\\d-\\x41]",
        "[\\n-\\x01]",
        "[\\u0420-\\u0410]",
        "[\\u4e01-\\u4dff]",
        "[a-c-e]",
        "[é-a]",
        "\\1",
        "\\p{L}",
        "(?",
        "a{10,9}",
        "a{21,20}",
        "a{30,29}",
        "a{200,199}",
        "((((((a))))))",
        "^*",
        "[\\d-a]",
        "\\a",
        "\\Z",
        "(?i)a",
        "(?#x)a",
        "(?<a",
        "\\k<n>",
        "(?<n>a)\\k<m>",
        "(?<n>a)(?<n>b)",
        "(?<1>a)",
        "(a)\\2",
        "(a)\\10",
        "(a)\\11",
        "(?:a)\\1",
        "(?=(?:a))\\1",
        "[\\x1f-\\x00]",
        "(?P<n>a)(?P=n)",
        "(?<n>a)\\k",
        "[\\k<n>]",
        "\\_"}},
  };
}

TEST(FormatsTest, Tables) {
  for (const Case& c : Cases()) {
    ASSERT_TRUE(IsKnownFormat(c.format)) << c.format;
    Recognizer recognizer(FormatGrammar(c.format));
    for (const std::string& text : c.in) {
      EXPECT_TRUE(recognizer.Matches(JsonBody(text))) << c.format << " '" << text << "'";
      if (text.size() < 30) {
        EXPECT_TRUE(recognizer.Matches(Escaped(text))) << c.format << " escaped '" << text << "'";
      }
    }
    for (const std::string& text : c.out) {
      EXPECT_FALSE(recognizer.Matches(JsonBody(text))) << c.format << " '" << text << "'";
      EXPECT_FALSE(recognizer.Matches(Escaped(text))) << c.format << " escaped '" << text << "'";
    }
  }
}

bool IsLeap(int year) { return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0); }

int DaysIn(int year, int month) {
  if (month == 2) return IsLeap(year) ? 29 : 28;
  return month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31;
}

TEST(FormatsTest, EveryDate) {
  RegularLanguage language([](GrammarBuilder* b) { return EmitFormat(b, "date", {}); });
  ASSERT_TRUE(language.status().ok());
  char text[64];
  for (int year = 0; year <= 9999; ++year) {
    for (int month = 0; month <= 13; ++month) {
      bool valid_month = year > 0 && month >= 1 && month <= 12;
      // All days of a few centuries, and the last days of every month.
      int first = year % 100 < 5 || year / 100 == 20 ? 0 : 27;
      for (int day = first; day <= 33; ++day) {
        std::snprintf(text, sizeof(text), "%04d-%02d-%02d", year, month, day);
        bool valid = valid_month && day >= 1 && day <= DaysIn(year, month);
        ASSERT_EQ(language.Has(text), valid) << text;
      }
    }
  }
}

TEST(FormatsTest, EveryIpv4OctetAndTime) {
  RegularLanguage ipv4([](GrammarBuilder* b) { return EmitFormat(b, "ipv4", {}); });
  for (int i = 0; i < 1100; ++i) {
    std::string octet = std::to_string(i);
    for (const std::string& text : {octet + ".1.1.1", "1." + octet + ".1.1", "1.1.1." + octet}) {
      EXPECT_EQ(ipv4.Has(text), i <= 255) << text;
    }
    EXPECT_FALSE(ipv4.Has("1.1.1.0" + octet));
  }
  FormatMatcher time("time");
  char text[64];
  for (int a = 0; a < 100; ++a) {
    for (int b = a % 9; b < 100; b += 9) {
      std::snprintf(text, sizeof(text), "%02d:%02d:09Z", a, b);
      EXPECT_EQ(time.Has(text), a < 24 && b < 60) << text;
      std::snprintf(text, sizeof(text), "01:02:%02d+%02d:00", a, b);
      EXPECT_EQ(time.Has(text), a < 60 && b < 24) << text;
    }
  }
}

TEST(FormatsTest, OnlyTheNamesOfTheDrafts) {
  for (const char* name : {"date", "iri-reference", "regex", "uuid"}) {
    EXPECT_TRUE(IsKnownFormat(name));
  }
  for (const char* name : {"", "color", "int32", "Date", "url", "datetime", "date-time "}) {
    EXPECT_FALSE(IsKnownFormat(name)) << name;
    GrammarBuilder builder;
    EXPECT_EQ(EmitFormat(&builder, name, {}).status().code(), StatusCode::kUnsupported);
  }
}

TEST(FormatsTest, EveryLeapSecond) {
  FormatMatcher time("time");
  char text[64];
  constexpr int kDay = 24 * 60;
  for (int offset = -kDay + 1; offset < kDay; offset += 13) {
    for (int wrong : {0, 1, 60, -1}) {
      int local = (2 * kDay - 1 + offset + wrong) % kDay, size = offset < 0 ? -offset : offset;
      std::snprintf(text, sizeof(text), "%02d:%02d:60%c%02d:%02d", local / 60, local % 60,
                    offset < 0 ? '-' : '+', size / 60, size % 60);
      ASSERT_EQ(time.Has(text), wrong == 0) << text;
    }
  }
}

TEST(FormatsTest, OnlyARuleNestsRegexesWithoutBound) {
  GrammarBuilder builder;
  RuleId root = builder.AddRule("root");
  builder.SetBody(root, EmitNestedRegex(&builder));
  Recognizer recognizer(*builder.Finish(root));
  const std::string deep = Repeated("(a|(?:", 20) + "x*" + Repeated(")+)?", 20);
  EXPECT_TRUE(recognizer.Matches(deep + "\\\\1"));
  EXPECT_FALSE(recognizer.Matches(deep + ")"));
  EXPECT_FALSE(recognizer.Matches(deep + "\\\\2"));
  EXPECT_FALSE(Recognizer(FormatGrammar("regex")).Matches(deep));
  for (const Case& c : Cases()) {
    if (c.format != std::string_view("regex")) continue;
    for (const std::string& text : c.in) EXPECT_TRUE(recognizer.Matches(JsonBody(text))) << text;
    for (const std::string& text : c.out) {
      EXPECT_EQ(recognizer.Matches(JsonBody(text)), text == "((((((a))))))") << text;
    }
  }
}

TEST(FormatsTest, FormatsOfTheCallersOwn) {
  JsonSchemaOptions options;
  options.formats = {{"semver", "\\d+\\.\\d+\\.\\d+|(?i)next"}, {"date", "today|\\bnow\\b"}};
  auto grammar = [&](std::string_view schema) {
    StatusOr<Grammar> g = GrammarFromJsonSchema(schema, options);
    EXPECT_TRUE(g.ok()) << g.status().message();
    return *g;
  };
  Recognizer semver(grammar(R"({"type":"string","format":"semver"})"));
  for (const char* in : {R"("1.20.3")", R"("\u0031.2.3")"}) EXPECT_TRUE(semver.Matches(in)) << in;
  for (const char* out : {R"("v1.2.3")", R"("1.2.3-x")", R"("1.2")", R"("")"}) {
    EXPECT_FALSE(semver.Matches(out)) << out;
  }
  // A name of the drafts means what the caller says.
  Recognizer date(grammar(R"({"type":"string","format":"date"})"));
  EXPECT_TRUE(date.Matches(R"("now")"));
  EXPECT_FALSE(date.Matches(R"("2024-01-01")"));
  Recognizer narrow(grammar(
      R"({"type":"string","format":"semver","maxLength":6,"pattern":"^[1-9]","not":{"format":"date"}})"));
  EXPECT_TRUE(narrow.Matches(R"("1.22.3")"));
  EXPECT_FALSE(narrow.Matches(R"("1.22.33")"));
  EXPECT_FALSE(narrow.Matches(R"("0.2.3")"));
  Recognizer other(grammar(R"({"type":"string","not":{"format":"semver"}})"));
  EXPECT_TRUE(other.Matches(R"("1.2")"));
  EXPECT_FALSE(other.Matches(R"("1.2.3")"));

  options.formats = {{"good", "a"}, {"bad", "a("}};
  StatusOr<Grammar> bad = GrammarFromJsonSchema("{}", options);
  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(bad.status().code(), StatusCode::kInvalidArgument);
  EXPECT_NE(bad.status().message().find("formats: 'bad'"), std::string::npos)
      << bad.status().message();
  EXPECT_NE(bad.status().message().find("column 2"), std::string::npos) << bad.status().message();
}

}  // namespace
}  // namespace grammask::internal
