// What the formats are built from. Internal to EmitFormat.
#ifndef GRAMMASK_GRAMMAR_JSON_SCHEMA_FORMAT_WRITER_H_
#define GRAMMASK_GRAMMAR_JSON_SCHEMA_FORMAT_WRITER_H_

#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "grammar/ast.h"

namespace grammask::internal {

// Characters of one label of a host name and of the whole name (RFC 1123, without the root's dot).
constexpr int kMaxLabel = 63;
constexpr int kMaxName = 253;

// Short names for the nodes of JSON text, so that a format reads like the grammar of its RFC.
class FormatWriter {
 public:
  explicit FormatWriter(GrammarBuilder* builder) : b_(*builder) {}

  NodeId Text(std::string_view text) { return b_.JsonText(text); }
  // One character of a set written as in a regex bracket: "a-z0-9_". A "-" first or last is itself;
  // there are no escapes.
  NodeId In(std::string_view set) { return b_.JsonClass(Set(set)); }
  NodeId In(const CodePointSet& set) { return b_.JsonClass(set); }
  NodeId Seq(std::initializer_list<NodeId> parts) { return b_.Sequence(parts); }
  NodeId Or(std::initializer_list<NodeId> alternatives) { return b_.Choice(alternatives); }
  NodeId Rep(NodeId node, int64_t min, int64_t max) { return b_.Repeat(node, min, max); }
  NodeId Times(NodeId node, int64_t count) { return b_.Repeat(node, count, count); }
  NodeId Star(NodeId node) { return b_.Star(node); }
  NodeId Plus(NodeId node) { return b_.Repeat(node, 1, kUnbounded); }
  NodeId Opt(NodeId node) { return b_.Optional(node); }
  NodeId Empty() { return b_.Empty(); }
  GrammarBuilder& b() { return b_; }

  static CodePointSet Set(std::string_view set);

 private:
  GrammarBuilder& b_;
};

// Each writes one format (docs/json_schema_values.md).
NodeId WriteIpv4(FormatWriter& w);
NodeId WriteIpv6(FormatWriter& w);
NodeId WriteHostname(FormatWriter& w);
NodeId WriteIdnHostname(FormatWriter& w);
NodeId WriteIdnMailDomain(FormatWriter& w);  // need not be normalised
NodeId WriteEmail(FormatWriter& w, bool international);
NodeId WriteUri(FormatWriter& w, bool reference, bool international);
NodeId WriteUriTemplate(FormatWriter& w);
NodeId WriteRegex(FormatWriter& w);
NodeId WriteNestedRegex(FormatWriter& w);  // not regular: groups are rules

// ucschar and iprivate of RFC 3987.
CodePointSet InternationalCharacters();
CodePointSet PrivateCharacters();

}  // namespace grammask::internal

#endif  // GRAMMASK_GRAMMAR_JSON_SCHEMA_FORMAT_WRITER_H_
