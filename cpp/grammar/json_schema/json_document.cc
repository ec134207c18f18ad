// JSON text to a JsonDocument.
//
// One pass over the text with a stack of open containers: children collect on a side stack and move
// into the flat arrays when their container closes, so `[1,{"a":2}]` becomes the nodes 1, 2,
// {"a":2}, [..] with each list of children in one run. On closing, a container is also looked up by
// its kind and its children's representatives, which finds equal subtrees bottom up without ever
// comparing more than one level. Linear in the text, on average.
//
// Source: RFC 8259. Tests: tests/grammar/json_schema_test.cc.
#include "grammar/json_schema/json_document.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/hex.h"
#include "base/mix.h"
#include "base/utf8.h"

namespace grammask::internal {
namespace {

// Objects with more members than this get a hash index.
constexpr size_t kSearchLimit = 16;

// Of eight bytes, the first that ends a string, begins an escape or is a control character has the
// lowest bit set; 0 where there is none. A byte below n borrows when n is taken from it, and what
// is over 0x7F is none of them.
uint64_t SpecialCharacters(const char* eight) {
  constexpr uint64_t kOnes = 0x0101010101010101, kHigh = 0x8080808080808080;
  uint64_t bytes;
  std::memcpy(&bytes, eight, 8);
  if constexpr (std::endian::native == std::endian::big) return kHigh;  // one by one
  auto below = [](uint64_t x, uint64_t n) { return (x - kOnes * n) & ~x & kHigh; };
  return below(bytes, 0x20) | below(bytes ^ (kOnes * '"'), 1) | below(bytes ^ (kOnes * '\\'), 1);
}

#ifdef __SSE2__
// Of sixteen bytes, a bit for each of those that are such characters.
uint32_t SpecialMask(const char* sixteen) {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(sixteen));
  const __m128i quote = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('"'));
  const __m128i escape = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'));
  const __m128i control = _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(0x1F)), bytes);
  return static_cast<uint32_t>(
      _mm_movemask_epi8(_mm_or_si128(_mm_or_si128(quote, escape), control)));
}
#endif

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

class JsonParser {
 public:
  JsonParser(std::string_view source, const Limits& limits, JsonDocument* out)
      : source_(source), limits_(limits), out_(out), text_(out->texts_.back()), first_of_(32) {}

  Status Run();

 private:
  using Node = JsonDocument::Node;
  struct Open {
    JsonKind kind;
    uint32_t offset;
    size_t children;  // where its children begin on the side stack
  };
  // Shallow: containers below count as equal when their representatives are.
  uint32_t HashOf(const Node& container) const;
  bool Same(const Node& x, const Node& y) const;
  // The first container equal to that of this id.
  uint32_t Representative(uint32_t id);

  Status Error(size_t offset, std::string_view what) const {
    return SourceError(source_, offset, what);
  }
  void SkipSpace() {
    while (pos_ < source_.size() && (source_[pos_] == ' ' || source_[pos_] == '\n' ||
                                     source_[pos_] == '\t' || source_[pos_] == '\r')) {
      ++pos_;
    }
  }
  bool Take(char c) {
    if (pos_ >= source_.size() || source_[pos_] != c) return false;
    ++pos_;
    return true;
  }
  // False, and error_ says why, where there is no string; out of line where it has escapes.
  bool ReadString(std::string_view* out);
  bool ReadLongString(size_t start, std::string_view* out);
  Status ReadEscape(std::string* out);
  StatusOr<uint32_t> ReadHex4();
  Status ReadNumber(Node* node);
  Status ReadScalar();
  Status ReadKey();
  void AddNode(const Node& added);
  void Close();
  void DropRepeatedKeys(std::vector<JsonMember>* members, size_t begin);

  Status error_;  // of ReadString
  std::string_view source_;
  const Limits& limits_;
  JsonDocument* out_;
  JsonDocument::Text& text_;
  int depth_ = 0;
  size_t pos_ = 0;
  std::vector<Open> open_;
  std::vector<JsonMember> children_;  // of all open containers; keys empty in arrays
  std::string_view key_;              // of the member whose value comes next
  bool names_schema_ = false;         // the last key is one that may
  HashSlots first_of_;                // containers that differ
};

uint32_t JsonParser::HashOf(const Node& n) const {
  uint64_t h = Mix(MixSeed(), uint64_t{n.count} * 8 + static_cast<uint64_t>(n.kind));
  auto mix = [&](JsonId child) {
    const Node& c = out_->nodes_[child.value];
    if (c.kind >= JsonKind::kArray) {
      h = Mix(h, uint64_t{c.representative} << 8 | static_cast<uint64_t>(c.kind));
    } else {
      h = MixBytes(Mix(h, c.text.size() << 8 | static_cast<uint64_t>(c.kind)), c.text);
    }
  };
  if (n.kind == JsonKind::kArray) {
    const JsonId* elements = text_.elements.data() + n.first;
    for (uint32_t i = 0; i < n.count; ++i) mix(elements[i]);
  } else {
    const JsonMember* members = text_.members.data() + n.first;
    for (uint32_t i = 0; i < n.count; ++i) {
      h = MixBytes(Mix(h, members[i].key.size()), members[i].key);
      mix(members[i].value);
    }
  }
  return static_cast<uint32_t>(h ^ h >> 32);
}

bool JsonParser::Same(const Node& x, const Node& y) const {
  if (x.kind != y.kind || x.count != y.count) return false;
  auto same = [&](JsonId i, JsonId j) {
    const Node& p = out_->nodes_[i.value];
    const Node& q = out_->nodes_[j.value];
    if (p.kind != q.kind) return false;
    return p.kind < JsonKind::kArray ? p.text == q.text : p.representative == q.representative;
  };
  for (uint32_t i = 0; i < x.count; ++i) {
    if (x.kind == JsonKind::kArray) {
      if (!same(text_.elements[x.first + i], text_.elements[y.first + i])) return false;
    } else {
      const JsonMember& m = text_.members[x.first + i];
      const JsonMember& n = text_.members[y.first + i];
      if (m.key != n.key || !same(m.value, n.value)) return false;
    }
  }
  return true;
}

uint32_t JsonParser::Representative(uint32_t id) {
  const Node& node = out_->nodes_[id];
  const uint32_t hash = HashOf(node);
  size_t place = 0;
  const auto known =
      first_of_.Find(hash, [&](uint32_t other) { return Same(out_->nodes_[other], node); }, &place);
  if (known.has_value()) return *known;
  first_of_.Put(place, hash, id);
  return id;
}

StatusOr<uint32_t> JsonParser::ReadHex4() {
  uint32_t value = 0;
  for (int i = 0; i < 4; ++i) {
    int digit = pos_ < source_.size() ? HexDigit(source_[pos_]) : -1;
    if (digit < 0) return Error(pos_, "invalid JSON: \\u needs four hexadecimal digits");
    value = value * 16 + static_cast<uint32_t>(digit);
    ++pos_;
  }
  return value;
}

Status JsonParser::ReadEscape(std::string* out) {
  size_t start = pos_ - 1;  // of the backslash
  char c = pos_ < source_.size() ? source_[pos_++] : '\0';
  switch (c) {
    case '"':
    case '\\':
    case '/':
      *out += c;
      return {};
    case 'b':
      *out += '\b';
      return {};
    case 'f':
      *out += '\f';
      return {};
    case 'n':
      *out += '\n';
      return {};
    case 'r':
      *out += '\r';
      return {};
    case 't':
      *out += '\t';
      return {};
    case 'u':
      break;
    default:
      return Error(start, "invalid JSON: unknown escape in a string");
  }
  GM_ASSIGN_OR_RETURN(uint32_t unit, ReadHex4());
  if (unit >= 0xD800 && unit < 0xDC00 && Take('\\')) {
    if (!Take('u')) return Error(start, "invalid JSON: half of a surrogate pair in a string");
    GM_ASSIGN_OR_RETURN(uint32_t low, ReadHex4());
    if (low < 0xDC00 || low > 0xDFFF) {
      return Error(start, "invalid JSON: half of a surrogate pair in a string");
    }
    unit = 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
  }
  if (unit >= 0xD800 && unit <= 0xDFFF) {
    return Error(start, "invalid JSON: half of a surrogate pair in a string");
  }
  AppendUtf8(unit, out);
  return {};
}

// At the character after the opening quote. Most strings are keys and other words.
inline bool JsonParser::ReadString(std::string_view* out) {
  const size_t start = pos_;
#ifdef __SSE2__
  if (start + 16 <= source_.size()) {
    const uint32_t special = SpecialMask(source_.data() + start);
    if (special != 0) {
      const auto length = static_cast<size_t>(std::countr_zero(special));
      if (source_[start + length] == '"') {
        *out = {source_.data() + start, length};
        pos_ = start + length + 1;
        return true;
      }
    }
  }
#endif
  return ReadLongString(start, out);
}

bool JsonParser::ReadLongString(size_t start, std::string_view* out) {
  auto fail = [&](Status error) {
    error_ = std::move(error);
    return false;
  };
  std::string* decoded = nullptr;
  size_t run = pos_;  // of characters not yet copied
  for (;;) {
#ifdef __SSE2__
    // The same sixteen at a time.
    bool found = false;
    while (!found && pos_ + 16 <= source_.size()) {
      const uint32_t special = SpecialMask(source_.data() + pos_);
      found = special != 0;
      pos_ += found ? static_cast<size_t>(std::countr_zero(special)) : 16;
    }
#else
    const bool found = false;
#endif
    while (!found && pos_ + 8 <= source_.size()) {
      const uint64_t special = SpecialCharacters(source_.data() + pos_);
      pos_ += std::min<size_t>(8, static_cast<size_t>(std::countr_zero(special)) / 8);
      if (special != 0) break;
    }
    if (pos_ >= source_.size()) {
      return fail(Error(start - 1, "invalid JSON: this string has no closing quote"));
    }
    unsigned char c = static_cast<unsigned char>(source_[pos_]);
    if (c == '"') break;
    if (c < 0x20) {
      return fail(
          Error(pos_, "invalid JSON: control character in a string; write it as an escape"));
    }
    ++pos_;
    if (c != '\\') continue;
    if (decoded == nullptr) decoded = &out_->decoded_.emplace_back();
    decoded->append(source_, run, pos_ - 1 - run);
    if (Status status = ReadEscape(decoded); !status.ok()) return fail(std::move(status));
    run = pos_;
  }
  std::string_view tail = source_.substr(run, pos_ - run);
  ++pos_;
  if (decoded != nullptr) decoded->append(tail);
  *out = decoded != nullptr ? std::string_view(*decoded) : tail;
  return true;
}

Status JsonParser::ReadNumber(Node* node) {
  size_t start = pos_;
  auto digits = [&] {
    size_t from = pos_;
    while (pos_ < source_.size() && IsDigit(source_[pos_])) ++pos_;
    return pos_ > from;
  };
  Take('-');
  if (!Take('0') && !digits()) return Error(start, "invalid JSON: a value was expected here");
  if (Take('.') && !digits()) return Error(pos_, "invalid JSON: digits must follow the point");
  if (Take('e') || Take('E')) {
    if (!Take('+')) Take('-');
    if (!digits()) return Error(pos_, "invalid JSON: digits must follow the exponent sign");
  }
  node->kind = JsonKind::kNumber;
  node->text = source_.substr(start, pos_ - start);
  return {};
}

Status JsonParser::ReadScalar() {
  Node node{};
  node.offset = static_cast<uint32_t>(pos_);
  auto word = [&](std::string_view w, JsonKind kind) {
    if (source_.substr(pos_, w.size()) != w) return false;
    pos_ += w.size();
    node.kind = kind;
    return true;
  };
  if (Take('"')) {
    node.kind = JsonKind::kString;
    if (!ReadString(&node.text)) return std::move(error_);
  } else if (!word("true", JsonKind::kTrue) && !word("false", JsonKind::kFalse) &&
             !word("null", JsonKind::kNull)) {
    GM_RETURN_IF_ERROR(ReadNumber(&node));
  }
  if (names_schema_ && (node.kind == JsonKind::kString || node.kind == JsonKind::kTrue)) {
    (open_.size() > 1 ? text_.identifiers : text_.root_identifiers) = true;
  }
  AddNode(node);
  return {};
}

Status JsonParser::ReadKey() {
  SkipSpace();
  size_t start = pos_;
  if (!Take('"')) {
    return Error(start, "invalid JSON: a key in double quotes was expected here");
  }
  if (!ReadString(&key_)) return std::move(error_);
  const char first = key_.empty() ? '\0' : key_.front(), last = key_.empty() ? '\0' : key_.back();
  names_schema_ =
      (last == 'd' && (key_ == "$id" || key_ == "id")) || (last == 'r' && key_.ends_with("nchor"));
  text_.unevaluated |= first == 'u' && key_.starts_with("unevaluated");
  SkipSpace();
  if (!Take(':')) return Error(pos_, "invalid JSON: ':' was expected after the key");
  return {};
}

void JsonParser::AddNode(const Node& added) {
  uint32_t id = static_cast<uint32_t>(out_->nodes_.size());
  Node& node = out_->nodes_.emplace_back(added);
  node.end = static_cast<uint32_t>(pos_);
  node.source = static_cast<uint32_t>(out_->texts_.size() - 1);
  node.representative = id;
  if (open_.empty()) {
    text_.root = JsonId(id);
    out_->nodes_[id].parent = id;
  } else {
    children_.push_back({key_, JsonId(id)});
  }
}

// The members from `begin` on are those of the object that is the next node.
void JsonParser::DropRepeatedKeys(std::vector<JsonMember>* members, size_t begin) {
  size_t count = members->size() - begin;
  JsonMember* m = members->data() + begin;
  size_t kept = 0;
  if (count <= kSearchLimit) {
    for (size_t i = 0; i < count; ++i) {
      size_t j = 0;
      while (j < kept && m[j].key != m[i].key) ++j;
      if (j < kept) {
        m[j].value = m[i].value;
      } else {
        m[kept++] = m[i];
      }
    }
  } else {
    HashSlots places(count);
    for (size_t i = 0; i < count; ++i) {
      const uint32_t hash = HashText(m[i].key);
      size_t place = 0;
      const auto same =
          places.Find(hash, [&](uint32_t other) { return m[other].key == m[i].key; }, &place);
      if (same.has_value()) {
        m[*same].value = m[i].value;
      } else {
        places.Put(place, hash, static_cast<uint32_t>(kept));
        m[kept++] = m[i];
      }
    }
    out_->key_places_.try_emplace(static_cast<uint32_t>(out_->nodes_.size()), std::move(places));
  }
  members->resize(begin + kept);
}

void JsonParser::Close() {
  Open open = open_.back();
  open_.pop_back();
  if (open.kind == JsonKind::kObject) DropRepeatedKeys(&children_, open.children);
  uint32_t id = static_cast<uint32_t>(out_->nodes_.size());
  Node node{};
  node.kind = open.kind;
  node.offset = open.offset;
  node.count = static_cast<uint32_t>(children_.size() - open.children);
  for (size_t i = open.children; i < children_.size(); ++i) {
    out_->nodes_[children_[i].value.value].parent = id;
  }
  if (open.kind == JsonKind::kArray) {
    node.first = static_cast<uint32_t>(text_.elements.size());
    for (size_t i = open.children; i < children_.size(); ++i) {
      text_.elements.push_back(children_[i].value);
    }
  } else {
    node.first = static_cast<uint32_t>(text_.members.size());
    text_.members.insert(text_.members.end(), children_.begin() + open.children, children_.end());
  }
  children_.resize(open.children);
  AddNode(node);
  out_->nodes_[id].representative = Representative(id);
}

Status JsonParser::Run() {
  size_t most = std::min<size_t>(limits_.max_source_bytes, UINT32_MAX - 1);
  if (source_.size() > most || out_->bytes_ > most - source_.size()) {
    bool more = out_->texts_.size() > 1;
    return ResourceExhausted(
        std::string(more ? "the schema and the documents it refers to are " : "the schema is ") +
        std::to_string(out_->bytes_ + source_.size()) + " bytes long; limits.max_source_bytes is " +
        std::to_string(limits_.max_source_bytes));
  }
  out_->bytes_ += source_.size();
  if (std::optional<size_t> bad = FindInvalidUtf8(source_)) {
    return Error(*bad, "invalid JSON: the text is not UTF-8");
  }
  // The keys of the open containers: a container's own key is needed again when it closes.
  std::vector<std::string_view> keys;
  for (;;) {
    // A value begins here.
    SkipSpace();
    bool closed_at_once = false;
    if (pos_ < source_.size() && (source_[pos_] == '{' || source_[pos_] == '[')) {
      bool object = source_[pos_] == '{';
      if (static_cast<int>(open_.size()) >= limits_.max_nesting) {
        return ResourceExhausted(
            Error(pos_, "the schema is nested deeper than limits.max_nesting, " +
                            std::to_string(limits_.max_nesting))
                .message());
      }
      open_.push_back({object ? JsonKind::kObject : JsonKind::kArray, static_cast<uint32_t>(pos_),
                       children_.size()});
      depth_ = std::max(depth_, static_cast<int>(open_.size()));
      keys.push_back(key_);
      ++pos_;
      SkipSpace();
      closed_at_once = pos_ < source_.size() && source_[pos_] == (object ? '}' : ']');
      if (!closed_at_once) {
        if (object) GM_RETURN_IF_ERROR(ReadKey());
        continue;
      }
    } else {
      GM_RETURN_IF_ERROR(ReadScalar());
    }
    // A value ended, or an empty container is about to.
    for (;;) {
      if (open_.empty()) {
        SkipSpace();
        if (pos_ < source_.size()) return Error(pos_, "invalid JSON: text after the value");
        out_->depth_ += depth_;
        return {};
      }
      bool object = open_.back().kind == JsonKind::kObject;
      SkipSpace();
      if (!closed_at_once && Take(',')) {
        if (object) GM_RETURN_IF_ERROR(ReadKey());
        break;
      }
      closed_at_once = false;
      if (!Take(object ? '}' : ']')) {
        return Error(pos_, object ? "invalid JSON: ',' or '}' was expected here"
                                  : "invalid JSON: ',' or ']' was expected here");
      }
      key_ = keys.back();
      keys.pop_back();
      Close();
    }
  }
}

StatusOr<JsonDocument> JsonDocument::Parse(std::string_view source, const Limits& limits) {
  JsonDocument document;
  document.nodes_.reserve(source.size() / 12 + 1);
  GM_RETURN_IF_ERROR(document.Append(source, "", limits).status());
  return document;
}

// After an error the nodes read so far stay, and nothing refers to them.
StatusOr<JsonId> JsonDocument::Append(std::string_view source, std::string name,
                                      const Limits& limits) {
  texts_.push_back({.name = std::move(name), .source = source});
  JsonParser parser(source, limits, this);
  GM_RETURN_IF_ERROR(parser.Run());
  return JsonId{texts_.back().root};
}

std::optional<JsonId> JsonDocument::Find(JsonId object, std::string_view key) const {
  if (!IsObject(object)) return std::nullopt;
  std::span<const JsonMember> list = members(object);
  if (list.size() > kSearchLimit) {
    const auto place = key_places_.find(object.value)->second.Find(HashText(key), [&](uint32_t i) {
      return list[i].key == key;
    });
    if (place.has_value()) return list[*place].value;
    return std::nullopt;
  }
  for (const JsonMember& m : list) {
    if (m.key == key) return m.value;
  }
  return std::nullopt;
}

std::string JsonDocument::Pointer(JsonId id) const {
  std::vector<std::string> parts;
  for (JsonId at = id; at != parent(at); at = parent(at)) {
    JsonId up = parent(at);
    std::string part;
    if (IsArray(up)) {
      std::span<const JsonId> list = elements(up);
      part = std::to_string(std::find(list.begin(), list.end(), at) - list.begin());
    } else {
      for (const JsonMember& m : members(up)) {
        if (m.value != at) continue;
        for (char c : m.key) {
          if (c == '~')
            part += "~0";
          else if (c == '/')
            part += "~1";
          else
            part += c;
        }
        break;
      }
    }
    parts.push_back(std::move(part));
  }
  std::string out = texts_[text_of(id)].name + "#";
  for (auto it = parts.rbegin(); it != parts.rend(); ++it) out += "/" + Printable(*it);
  return out;
}

bool JsonDocument::BeginsWithPointer(std::string_view message) const {
  return std::any_of(texts_.begin(), texts_.end(), [&](const Text& text) {
    return message.starts_with(text.name) && message.substr(text.name.size()).starts_with('#');
  });
}

std::string JsonDocument::Excerpt(JsonId id, size_t max_bytes) const {
  const Node& n = nodes_[id.value];
  std::string_view whole = texts_[n.source].source.substr(n.offset, n.end - n.offset);
  if (whole.size() <= max_bytes) return std::string(whole);
  std::string_view head = whole.substr(0, max_bytes);
  return std::string(head.substr(0, CompleteUtf8Prefix(head))) + "...";
}

}  // namespace grammask::internal
