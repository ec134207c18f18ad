// JSON text to a JsonDocument.
//
// One pass over the text with a stack of open containers: children collect on a side stack and move
// into the flat arrays when their container closes, so `[1,{"a":2}]` becomes the nodes 1, 2,
// {"a":2}, [..] with each list of children in one run. On closing, a container is also looked up by
// its kind and its children's representatives, which finds equal subtrees bottom up without ever
// comparing more than one level; scalars are hashed as they are read. Linear in the text, on
// average.
//
// Source: RFC 8259. Tests: tests/grammar/json_schema_test.cc.
#include "grammar/json_schema/json_document.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "base/ascii.h"
#include "base/json_bytes.h"
#include "base/mix.h"
#include "base/tables.h"
#include "base/utf8.h"

namespace grammask::internal {
namespace {

// Objects with more members than this get a hash index.
constexpr size_t kSearchLimit = 16;

// Of eight bytes, the first that ends a string, begins an escape or is a control character has the
// lowest bit set; 0 where there is none.
uint64_t SpecialCharacters(const char* eight) {
  uint64_t bytes;
  std::memcpy(&bytes, eight, 8);
  if constexpr (std::endian::native == std::endian::big) return 0x8080808080808080;  // one by one
  return SpecialBytes(bytes);
}

}  // namespace

class JsonParser {
 public:
  JsonParser(std::string_view source, const Limits& limits, JsonDocument* out)
      : source_(source),
        limits_(limits),
        out_(out),
        text_(out->texts_.back()),
        source_index_(static_cast<uint32_t>(out->texts_.size() - 1)),
        first_of_(std::max<size_t>(16, source.size() / 64)) {
    text_.members.reserve(source.size() / 24 + 1);
    text_.elements.reserve(source.size() / 64 + 1);
    open_.reserve(16);
    children_.reserve(32);
  }

  Status Run();

 private:
  using Node = JsonDocument::Node;
  struct Open {
    JsonKind kind;
    uint32_t offset;
    size_t children;       // where its children begin on the side stack
    std::string_view key;  // of itself, where it is a member
  };
  // One that waits for its container to close.
  struct Child {
    JsonMember member;  // key empty in arrays
    uint32_t hash;      // of the value: equal values have equal ones
  };
  bool Same(const Node& x, const Node& y) const;

  bool Fail(size_t offset, std::string_view what) {
    error_ = SourceError(source_, offset, what);
    return false;
  }
  bool AtSpace() const {
    if (pos_ >= source_.size()) return false;
    const char c = source_[pos_];
    return c <= ' ' && (c == ' ' || c == '\n' || c == '\t' || c == '\r');
  }
  void SkipSpace() {
    while (AtSpace()) ++pos_;
  }
  bool Take(char c) {
    if (pos_ >= source_.size() || source_[pos_] != c) return false;
    ++pos_;
    return true;
  }
  // These are false, and error_ says why, where there is no such thing.
  bool ReadString(std::string_view* out);
  bool ReadLongString(size_t start, std::string_view* out);  // out of line; any string
  bool ReadEscape(std::string* out);
  bool ReadHex4(uint32_t* value);
  bool ReadNumber(std::string_view* out);
  bool ReadScalar();
  bool ReadKey();
  bool Read();
  Node& AddNode(JsonKind kind, size_t offset, uint32_t size);
  void AddChild(std::string_view key, uint32_t hash);
  void Close();
  size_t DropRepeatedKeys(Child* children, size_t count);

  const uint64_t seed_ = MixSeed();
  Status error_;
  std::string_view source_;
  const Limits& limits_;
  JsonDocument* out_;
  JsonDocument::Text& text_;
  const uint32_t source_index_;
  int depth_ = 0;
  size_t pos_ = 0;
  TableVector<Open> open_;
  TableVector<Child> children_;  // of all open containers
  std::string_view key_;         // of the member whose value comes next
  bool names_schema_ = false;    // the last key is one that may
  HashSlots first_of_;           // containers that differ
};

bool JsonParser::Same(const Node& x, const Node& y) const {
  if (x.kind != y.kind || x.size != y.size) return false;
  auto same = [&](JsonId i, JsonId j) {
    const Node& p = out_->nodes_[i.value];
    const Node& q = out_->nodes_[j.value];
    if (p.kind != q.kind) return false;
    return p.kind < JsonKind::kArray ? p.text() == q.text() : p.representative == q.representative;
  };
  for (uint32_t i = 0; i < x.size; ++i) {
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

bool JsonParser::ReadHex4(uint32_t* value) {
  *value = 0;
  for (int i = 0; i < 4; ++i) {
    int digit = pos_ < source_.size() ? HexDigit(source_[pos_]) : -1;
    if (digit < 0) return Fail(pos_, "invalid JSON: \\u needs four hexadecimal digits");
    *value = *value * 16 + static_cast<uint32_t>(digit);
    ++pos_;
  }
  return true;
}

bool JsonParser::ReadEscape(std::string* out) {
  size_t start = pos_ - 1;  // of the backslash
  char c = pos_ < source_.size() ? source_[pos_++] : '\0';
  switch (c) {
    case '"':
    case '\\':
    case '/':
      *out += c;
      return true;
    case 'b':
      *out += '\b';
      return true;
    case 'f':
      *out += '\f';
      return true;
    case 'n':
      *out += '\n';
      return true;
    case 'r':
      *out += '\r';
      return true;
    case 't':
      *out += '\t';
      return true;
    case 'u':
      break;
    default:
      return Fail(start, "invalid JSON: unknown escape in a string");
  }
  uint32_t unit = 0;
  if (!ReadHex4(&unit)) return false;
  if (unit >= 0xD800 && unit < 0xDC00 && Take('\\')) {
    uint32_t low = 0;
    if (!Take('u')) return Fail(start, "invalid JSON: half of a surrogate pair in a string");
    if (!ReadHex4(&low)) return false;
    if (low < 0xDC00 || low > 0xDFFF) {
      return Fail(start, "invalid JSON: half of a surrogate pair in a string");
    }
    unit = 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
  }
  if (unit >= 0xD800 && unit <= 0xDFFF) {
    return Fail(start, "invalid JSON: half of a surrogate pair in a string");
  }
  AppendUtf8(unit, out);
  return true;
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
      return Fail(start - 1, "invalid JSON: this string has no closing quote");
    }
    unsigned char c = static_cast<unsigned char>(source_[pos_]);
    if (c == '"') break;
    if (c < 0x20) {
      return Fail(pos_, "invalid JSON: control character in a string; write it as an escape");
    }
    ++pos_;
    if (c != '\\') continue;
    if (decoded == nullptr) decoded = &out_->decoded_.emplace_back();
    decoded->append(source_, run, pos_ - 1 - run);
    if (!ReadEscape(decoded)) return false;
    run = pos_;
  }
  std::string_view tail = source_.substr(run, pos_ - run);
  ++pos_;
  if (decoded != nullptr) decoded->append(tail);
  *out = decoded != nullptr ? std::string_view(*decoded) : tail;
  return true;
}

bool JsonParser::ReadNumber(std::string_view* out) {
  size_t start = pos_;
  auto digits = [&] {
    size_t from = pos_;
    while (pos_ < source_.size() && IsDigit(source_[pos_])) ++pos_;
    return pos_ > from;
  };
  Take('-');
  if (!Take('0') && !digits()) return Fail(start, "invalid JSON: a value was expected here");
  if (Take('.') && !digits()) return Fail(pos_, "invalid JSON: digits must follow the point");
  if (Take('e') || Take('E')) {
    if (!Take('+')) Take('-');
    if (!digits()) return Fail(pos_, "invalid JSON: digits must follow the exponent sign");
  }
  *out = source_.substr(start, pos_ - start);
  return true;
}

inline JsonParser::Node& JsonParser::AddNode(JsonKind kind, size_t offset, uint32_t size) {
  const auto id = static_cast<uint32_t>(out_->nodes_.size());
  return out_->nodes_.emplace_back(Node{.first = 0,
                                        .size = size,
                                        .parent = id,
                                        .representative = id,
                                        .offset = static_cast<uint32_t>(offset),
                                        .end = static_cast<uint32_t>(pos_),
                                        .kind = kind,
                                        .source = source_index_});
}

// Of the last node.
inline void JsonParser::AddChild(std::string_view key, uint32_t hash) {
  const JsonId id(static_cast<uint32_t>(out_->nodes_.size() - 1));
  if (open_.empty()) {
    text_.root = id;
  } else {
    children_.push_back({{key, id}, hash});
  }
}

inline bool JsonParser::ReadScalar() {
  const size_t start = pos_;
  std::string_view text;
  auto kind = JsonKind::kString;
  auto word = [&](std::string_view w, JsonKind k) {
    if (source_.substr(pos_, w.size()) != w) return false;
    pos_ += w.size();
    kind = k;
    return true;
  };
  if (Take('"')) {
    if (!ReadString(&text)) return false;
  } else if (!word("true", JsonKind::kTrue) && !word("false", JsonKind::kFalse) &&
             !word("null", JsonKind::kNull)) {
    kind = JsonKind::kNumber;
    if (!ReadNumber(&text)) return false;
  }
  if (names_schema_ && (kind == JsonKind::kString || kind == JsonKind::kTrue)) {
    (open_.size() > 1 ? text_.identifiers : text_.root_identifiers) = true;
  }
  AddNode(kind, start, static_cast<uint32_t>(text.size())).letters = text.data();
  const uint64_t hash = MixBytes(Mix(seed_, text.size() << 8 | static_cast<uint64_t>(kind)), text);
  AddChild(key_, static_cast<uint32_t>(hash));
  return true;
}

inline bool JsonParser::ReadKey() {
  SkipSpace();
  size_t start = pos_;
  if (!Take('"')) return Fail(start, "invalid JSON: a key in double quotes was expected here");
  if (!ReadString(&key_)) return false;
  const char first = key_.empty() ? '\0' : key_.front(), last = key_.empty() ? '\0' : key_.back();
  names_schema_ =
      (last == 'd' && (key_ == "$id" || key_ == "id")) || (last == 'r' && key_.ends_with("nchor"));
  text_.unevaluated |= first == 'u' && key_.starts_with("unevaluated");
  SkipSpace();
  if (!Take(':')) return Fail(pos_, "invalid JSON: ':' was expected after the key");
  return true;
}

// The children are those of the object that is the next node. Returns how many are left.
size_t JsonParser::DropRepeatedKeys(Child* c, size_t count) {
  size_t kept = 0;
  if (count <= kSearchLimit) {
    for (size_t i = 0; i < count; ++i) {
      const std::string_view key = c[i].member.key;
      size_t j = 0;
      while (j < kept && (c[j].member.key.size() != key.size() || c[j].member.key != key)) ++j;
      if (j < kept) {
        c[j].member.value = c[i].member.value;
        c[j].hash = c[i].hash;
      } else {
        if (kept < i) c[kept] = c[i];
        ++kept;
      }
    }
    return kept;
  }
  HashSlots places(count);
  for (size_t i = 0; i < count; ++i) {
    const std::string_view key = c[i].member.key;
    const uint32_t hash = HashText(key);
    size_t place = 0;
    const auto same =
        places.Find(hash, [&](uint32_t other) { return c[other].member.key == key; }, &place);
    if (same.has_value()) {
      c[*same].member.value = c[i].member.value;
      c[*same].hash = c[i].hash;
    } else {
      places.Put(place, hash, static_cast<uint32_t>(kept));
      c[kept++] = c[i];
    }
  }
  out_->key_places_.try_emplace(static_cast<uint32_t>(out_->nodes_.size()), std::move(places));
  return kept;
}

// The innermost container ends here.
void JsonParser::Close() {
  const Open open = open_.back();
  open_.pop_back();
  const auto id = static_cast<uint32_t>(out_->nodes_.size());
  Child* const children = children_.data() + open.children;
  size_t count = children_.size() - open.children;
  // What is dropped has a parent, too, though no list shows it.
  for (size_t i = 0; i < count; ++i) out_->nodes_[children[i].member.value.value].parent = id;
  uint64_t hash = seed_;
  size_t first = 0;
  if (open.kind == JsonKind::kArray) {
    first = text_.elements.size();
    for (size_t i = 0; i < count; ++i) {
      text_.elements.push_back(children[i].member.value);
      hash = Mix(hash, children[i].hash);
    }
  } else {
    if (count > 1) count = DropRepeatedKeys(children, count);
    first = text_.members.size();
    for (size_t i = 0; i < count; ++i) {
      const JsonMember& member = children[i].member;
      text_.members.push_back(member);
      hash = MixBytes(Mix(hash, uint64_t{children[i].hash} << 32 | member.key.size()), member.key);
    }
  }
  children_.resize(open.children);
  hash = Mix(hash, uint64_t{count} * 8 + static_cast<uint64_t>(open.kind));
  Node& node = AddNode(open.kind, open.offset, static_cast<uint32_t>(count));
  node.first = first;
  // The first container equal to this one.
  const auto short_hash = static_cast<uint32_t>(hash ^ hash >> 32);
  size_t place = 0;
  const auto known = first_of_.Find(
      short_hash, [&](uint32_t other) { return Same(out_->nodes_[other], node); }, &place);
  if (known.has_value()) {
    node.representative = *known;
  } else {
    first_of_.Put(place, short_hash, id);
  }
  AddChild(open.key, static_cast<uint32_t>(Mix(hash, node.representative)));
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
    return SourceError(source_, *bad, "invalid JSON: the text is not UTF-8");
  }
  if (!Read()) return std::move(error_);
  out_->depth_ += depth_;
  return {};
}

bool JsonParser::Read() {
  for (;;) {
    // A value begins here.
    SkipSpace();
    bool closed_at_once = false;
    if (pos_ < source_.size() && (source_[pos_] == '{' || source_[pos_] == '[')) {
      bool object = source_[pos_] == '{';
      if (static_cast<int>(open_.size()) >= limits_.max_nesting) {
        Fail(pos_, "the schema is nested deeper than limits.max_nesting, " +
                       std::to_string(limits_.max_nesting));
        error_ = ResourceExhausted(error_.message());
        return false;
      }
      open_.push_back({object ? JsonKind::kObject : JsonKind::kArray, static_cast<uint32_t>(pos_),
                       children_.size(), key_});
      depth_ = std::max(depth_, static_cast<int>(open_.size()));
      ++pos_;
      SkipSpace();
      closed_at_once = pos_ < source_.size() && source_[pos_] == (object ? '}' : ']');
      if (!closed_at_once) {
        if (object && !ReadKey()) return false;
        continue;
      }
    } else if (!ReadScalar()) {
      return false;
    }
    // A value ended, or an empty container is about to.
    for (;;) {
      if (open_.empty()) {
        SkipSpace();
        return pos_ >= source_.size() || Fail(pos_, "invalid JSON: text after the value");
      }
      bool object = open_.back().kind == JsonKind::kObject;
      SkipSpace();
      if (!closed_at_once && Take(',')) {
        if (object && !ReadKey()) return false;
        break;
      }
      closed_at_once = false;
      if (!Take(object ? '}' : ']')) {
        return Fail(pos_, object ? "invalid JSON: ',' or '}' was expected here"
                                 : "invalid JSON: ',' or ']' was expected here");
      }
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
  if (texts_.size() >= kMaxTexts) {
    return ResourceExhausted("the schema refers to more than " + std::to_string(kMaxTexts - 1) +
                             " documents");
  }
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
