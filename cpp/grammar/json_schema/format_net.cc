// Internet formats: addresses, host names, mailboxes, URIs and URI templates.
//
// The grammars of their RFCs, rule by rule, as regular languages; none of them nests. An IPv6
// address is written as a chain over the number of 16-bit groups seen, so that "::" may stand for
// one or more of the eight: after three groups come ":" and a fourth, or "::" and at most four.
//
// Cost: a few dozen nodes. Sources: RFC 3986 and 3987 (uri, iri), RFC 4291 (ipv6), RFC 1123
// (hostname), RFC 5321 and 6531 (email), RFC 6570 (uri-template).
// Tested by tests/grammar/formats_test.cc.
#include "grammar/json_schema/format_writer.h"

namespace grammask::internal {
namespace {

constexpr int kGroups = 8;  // of an IPv6 address

constexpr std::string_view kAlphanumeric = "a-zA-Z0-9";
constexpr std::string_view kUnreserved = "a-zA-Z0-9._~-";
constexpr std::string_view kSubDelimiters = "!$&'()*+,;=";

NodeId HexDigits(FormatWriter& w, int min, int max) { return w.Rep(w.In("0-9a-fA-F"), min, max); }

NodeId PercentEncoded(FormatWriter& w) { return w.Seq({w.Text("%"), HexDigits(w, 2, 2)}); }

// Letters, digits and inner hyphens, up to 63 of them.
NodeId Label(FormatWriter& w) {
  NodeId ends = w.In(kAlphanumeric);
  NodeId inner = w.Rep(w.In("a-zA-Z0-9-"), 0, kMaxLabel - 2);
  return w.Seq({ends, w.Opt(w.Seq({inner, ends}))});
}

NodeId Dotted(FormatWriter& w, NodeId label, int64_t min_more, int64_t max_more) {
  return w.Seq({label, w.Rep(w.Seq({w.Text("."), label}), min_more, max_more)});
}

// Up to so many groups, of which an IPv4 address at the end stands for two.
NodeId Ipv6Tail(FormatWriter& w, int groups) {
  if (groups <= 0) return w.Empty();
  NodeId group = HexDigits(w, 1, 4);
  NodeId before = w.Seq({group, w.Text(":")});
  if (groups == 1) return w.Opt(group);
  return w.Opt(w.Or({w.Seq({w.Rep(before, 0, groups - 1), group}),
                     w.Seq({w.Rep(before, 0, groups - 2), WriteIpv4(w)})}));
}

// The characters of names and paths, with `more` that one of them allows beyond the others.
struct UriCharacters {
  CodePointSet unreserved, extra_in_query;

  NodeId Path(FormatWriter& w, std::string_view more) const {
    CodePointSet set = unreserved.Union(FormatWriter::Set(kSubDelimiters));
    return w.Or({w.In(set.Union(FormatWriter::Set(more))), PercentEncoded(w)});
  }
  NodeId Query(FormatWriter& w) const {
    CodePointSet set = unreserved.Union(FormatWriter::Set(kSubDelimiters));
    return w.Or(
        {w.In(set.Union(FormatWriter::Set(":@/?")).Union(extra_in_query)), PercentEncoded(w)});
  }
};

NodeId Authority(FormatWriter& w, const UriCharacters& characters) {
  NodeId user = w.Opt(w.Seq({w.Star(characters.Path(w, ":")), w.Text("@")}));
  NodeId address_characters = w.In(FormatWriter::Set(kUnreserved)
                                       .Union(FormatWriter::Set(kSubDelimiters))
                                       .Union(FormatWriter::Set(":")));
  NodeId future = w.Seq({w.In("vV"), HexDigits(w, 1, 1), w.Star(HexDigits(w, 1, 1)), w.Text("."),
                         w.Plus(address_characters)});
  NodeId literal = w.Seq({w.Text("["), w.Or({WriteIpv6(w), future}), w.Text("]")});
  NodeId name = w.Star(characters.Path(w, ""));  // holds IPv4 addresses, too
  NodeId port = w.Opt(w.Seq({w.Text(":"), w.Star(w.In("0-9"))}));
  return w.Seq({user, w.Or({literal, name}), port});
}

}  // namespace

CodePointSet InternationalCharacters() {
  CodePointRanges ranges = {{0xA0, 0xD7FF}, {0xF900, 0xFDCF}, {0xFDF0, 0xFFEF}};
  for (uint32_t plane = 1; plane <= 0xD; ++plane) {
    ranges.push_back({plane << 16, (plane << 16) + 0xFFFD});
  }
  ranges.push_back({0xE1000, 0xEFFFD});
  return CodePointSet(std::move(ranges));
}

CodePointSet PrivateCharacters() {
  return CodePointSet{{0xE000, 0xF8FF}, {0xF0000, 0xFFFFD}, {0x100000, 0x10FFFD}};
}

NodeId WriteIpv4(FormatWriter& w) {
  NodeId digit = w.In("0-9");
  NodeId octet =
      w.Or({digit, w.Seq({w.In("1-9"), digit}), w.Seq({w.Text("1"), digit, digit}),
            w.Seq({w.Text("2"), w.In("0-4"), digit}), w.Seq({w.Text("25"), w.In("0-5")})});
  return Dotted(w, octet, 3, 3);
}

NodeId WriteIpv6(FormatWriter& w) {
  NodeId group = HexDigits(w, 1, 4), colon = w.Text(":");
  // `rest` is what may follow k groups: one more, or the gap and no more than are left over.
  NodeId rest = w.Empty();
  for (int k = kGroups - 1; k >= 1; --k) {
    NodeId next = w.Seq({group, rest});
    if (k == kGroups - 2) next = w.Or({next, WriteIpv4(w)});
    rest = w.Seq({colon, w.Or({next, w.Seq({colon, Ipv6Tail(w, kGroups - 1 - k)})})});
  }
  return w.Or({w.Seq({group, rest}), w.Seq({w.Text("::"), Ipv6Tail(w, kGroups - 1)})});
}

NodeId WriteHostname(FormatWriter& w) {
  NodeId any = w.In("a-zA-Z0-9.-");
  NodeId encoded = w.Seq({w.Opt(w.Seq({w.Star(any), w.Text(".")})), w.In("xX"), w.In("nN"),
                          w.Text("--"), w.b().AnyBytes()});
  // So many characters of any kind: without the bound that says nothing, and states far from it are
  // those of the labels alone.
  NodeId length = w.Rep(w.In(CodePointSet::All()), 1, kMaxName);
  return w.b().And({Dotted(w, Label(w), 0, kUnbounded), length, w.b().Not(encoded)});
}

NodeId WriteEmail(FormatWriter& w, bool international) {
  CodePointSet beyond_ascii = international ? CodePointSet{{0x80, 0x10FFFF}} : CodePointSet();
  CodePointSet atom = FormatWriter::Set("a-zA-Z0-9!#$%&'*+/=?^_`{|}~-").Union(beyond_ascii);
  NodeId dot_string = Dotted(w, w.Plus(w.In(atom)), 0, kUnbounded);
  CodePointSet plain{{0x20, 0x21}, {0x23, 0x5B}, {0x5D, 0x7E}};
  NodeId quoted_character = w.Or(
      {w.In(plain.Union(beyond_ascii)), w.Seq({w.Text("\\"), w.In(CodePointSet{{0x20, 0x7E}})})});
  NodeId quoted = w.Seq({w.Text("\""), w.Star(quoted_character), w.Text("\"")});
  NodeId domain = international ? WriteIdnMailDomain(w) : Dotted(w, Label(w), 0, kUnbounded);
  NodeId literal = w.Seq(
      {w.Text("["), w.Or({WriteIpv4(w), w.Seq({w.Text("IPv6:"), WriteIpv6(w)})}), w.Text("]")});
  return w.Seq({w.Or({dot_string, quoted}), w.Text("@"), w.Or({domain, literal})});
}

NodeId WriteUri(FormatWriter& w, bool reference, bool international) {
  UriCharacters characters{FormatWriter::Set(kUnreserved), {}};
  if (international) {
    characters.unreserved = characters.unreserved.Union(InternationalCharacters());
    characters.extra_in_query = PrivateCharacters();
  }
  NodeId character = characters.Path(w, ":@"), slash = w.Text("/");
  NodeId segments = w.Star(w.Seq({slash, w.Star(character)}));
  NodeId segment = w.Plus(character);
  // "//" starts an authority, so a path without one has no empty first segment.
  NodeId absolute = w.Seq({slash, w.Opt(w.Seq({segment, segments}))});
  NodeId network = w.Seq({w.Text("//"), Authority(w, characters), segments});
  NodeId scheme = w.Seq({w.In("a-zA-Z"), w.Star(w.In("a-zA-Z0-9+.-")), w.Text(":")});
  NodeId query = w.Opt(w.Seq({w.Text("?"), w.Star(characters.Query(w))}));
  UriCharacters in_fragment{characters.unreserved, {}};
  NodeId fragment = w.Opt(w.Seq({w.Text("#"), w.Star(in_fragment.Query(w))}));
  NodeId with_scheme =
      w.Seq({scheme, w.Or({network, absolute, w.Seq({segment, segments}), w.Empty()})});
  if (!reference) return w.Seq({with_scheme, query, fragment});
  // Without a scheme, a colon in the first segment would make it one.
  NodeId no_scheme = w.Seq({w.Plus(characters.Path(w, "@")), segments});
  return w.Seq({w.Or({with_scheme, network, absolute, no_scheme, w.Empty()}), query, fragment});
}

NodeId WriteUriTemplate(FormatWriter& w) {
  CodePointSet characters{{0x21, 0x21}, {0x23, 0x24}, {0x26, 0x3B}, {0x3D, 0x3D}, {0x3F, 0x5B},
                          {0x5D, 0x5D}, {0x5F, 0x5F}, {0x61, 0x7A}, {0x7E, 0x7E}};
  characters = characters.Union(InternationalCharacters()).Union(PrivateCharacters());
  NodeId literal = w.Or({w.In(characters), PercentEncoded(w)});
  NodeId name_character = w.Or({w.In("a-zA-Z0-9_"), PercentEncoded(w)});
  NodeId name = w.Seq({name_character, w.Star(w.Seq({w.Opt(w.Text(".")), name_character}))});
  NodeId prefix = w.Seq({w.Text(":"), w.In("1-9"), w.Rep(w.In("0-9"), 0, 3)});
  NodeId variable = w.Seq({name, w.Opt(w.Or({prefix, w.Text("*")}))});
  NodeId list = w.Seq({variable, w.Star(w.Seq({w.Text(","), variable}))});
  NodeId expression = w.Seq({w.Text("{"), w.Opt(w.In("+#./;?&")), list, w.Text("}")});
  return w.Star(w.Or({literal, expression}));
}

}  // namespace grammask::internal
