// A base URI and a reference to the URI that the reference means.
//
// The reference is split into scheme, authority, path and query; what it lacks comes from the base,
// and "." and ".." segments are removed. From http://a/b/c the reference d/../e?x means
// http://a/b/e?x. Linear in both.
//
// Source: RFC 3986, sections 5.2 and 5.3. Tests: tests/grammar/json_schema_test.cc.
#include "grammar/json_schema/uri.h"

#include "base/ascii.h"

namespace grammask::internal {
namespace {

struct UriParts {
  std::string_view scheme;     // without ':'
  std::string_view authority;  // with its "//"
  std::string_view path;
  std::string_view query;  // with its '?'
};

UriParts Split(std::string_view uri) {
  UriParts parts;
  size_t end = uri.find_first_of(":/?");
  if (end != std::string_view::npos && end > 0 && uri[end] == ':') {
    parts.scheme = uri.substr(0, end);
    uri.remove_prefix(end + 1);
  }
  if (uri.substr(0, 2) == "//") {
    parts.authority = uri.substr(0, uri.find_first_of("/?", 2));
    uri.remove_prefix(parts.authority.size());
  }
  parts.path = uri.substr(0, uri.find('?'));
  parts.query = uri.substr(parts.path.size());
  return parts;
}

std::string RemoveDotSegments(std::string_view path) {
  bool absolute = !path.empty() && path[0] == '/';
  std::string out;
  size_t pos = absolute ? 1 : 0;
  for (;;) {
    size_t end = path.find('/', pos);
    bool last = end == std::string_view::npos;
    std::string_view segment = path.substr(pos, last ? end : end - pos);
    if (segment == "..") {
      if (!out.empty()) out.erase(out.rfind('/') == std::string::npos ? 0 : out.rfind('/'));
      if (last) out += '/';
    } else if (segment == ".") {
      if (last) out += '/';
    } else {
      if (absolute || pos > 0) out += '/';
      out += segment;
    }
    if (last) return out;
    pos = end + 1;
  }
}

}  // namespace

std::pair<std::string_view, std::string_view> SplitFragment(std::string_view uri) {
  size_t hash = uri.find('#');
  if (hash == std::string_view::npos) return {uri, {}};
  return {uri.substr(0, hash), uri.substr(hash + 1)};
}

std::string ResolveUri(std::string_view base, std::string_view reference) {
  if (reference.empty()) return std::string(base);
  UriParts b = Split(base);
  UriParts r = Split(reference);
  std::string path(r.path);
  if (r.scheme.empty()) {
    r.scheme = b.scheme;
    if (r.authority.empty()) {
      r.authority = b.authority;
      if (r.path.empty()) {
        path = b.path;
        if (r.query.empty()) r.query = b.query;
      } else if (r.path[0] != '/') {
        size_t slash = b.path.rfind('/');
        if (slash != std::string_view::npos) {
          path = std::string(b.path.substr(0, slash + 1)) + path;
        } else if (!b.authority.empty()) {
          path = "/" + path;
        }
      }
    }
  }
  if (path.find("./") != std::string::npos || path.ends_with('.')) path = RemoveDotSegments(path);
  std::string out;
  if (!r.scheme.empty()) out.append(r.scheme).append(":");
  return out.append(r.authority).append(path).append(r.query);
}

std::optional<std::string> PercentDecode(std::string_view text) {
  if (text.find('%') == std::string_view::npos) return std::string(text);
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    bool room = i + 2 < text.size();
    int high = room ? HexDigit(text[i + 1]) : -1;
    int low = room ? HexDigit(text[i + 2]) : -1;
    if (high < 0 || low < 0) return std::nullopt;
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return out;
}

}  // namespace grammask::internal
