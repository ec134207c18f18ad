// JSON text to a tree of nodes that keeps what a schema compiler needs: the exact text of numbers,
// the order of keys, the place of everything.
#ifndef GRAMMASK_GRAMMAR_JSON_SCHEMA_JSON_DOCUMENT_H_
#define GRAMMASK_GRAMMAR_JSON_SCHEMA_JSON_DOCUMENT_H_

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/hash_slots.h"
#include "base/ids.h"
#include "base/status.h"
#include "base/tables.h"
#include "grammask/limits.h"

namespace grammask::internal {

using JsonId = Id<struct JsonTag>;  // a value of a JsonDocument

enum class JsonKind : uint8_t { kNull, kFalse, kTrue, kNumber, kString, kArray, kObject };

struct JsonMember {
  std::string_view key;  // decoded
  JsonId value;
};

// A JSON document, to which further texts can be added as further roots; what is there never
// changes. Strings are decoded UTF-8 that live as long as the document and the source text they
// were parsed from. Where an object repeats a key, the last value counts, at the place of the
// first.
class JsonDocument {
 public:
  // kInvalidArgument with line, column and a caret when `source` is not one JSON text in UTF-8, or
  // has a lone surrogate escape; kResourceExhausted over max_source_bytes or max_nesting. Never
  // recurses. `source` must outlive the document.
  static StatusOr<JsonDocument> Parse(std::string_view source, const Limits& limits);
  // Parses one more text and returns its root; `name` stands before the '#' in pointers into it.
  // max_source_bytes bounds all texts together. Spans and views stay valid.
  StatusOr<JsonId> Append(std::string_view source, std::string name, const Limits& limits);

  JsonId root() const { return texts_[0].root; }
  size_t size() const { return nodes_.size(); }
  // Texts are numbered from 0, the one of root(), in the order in which they came.
  size_t text_count() const { return texts_.size(); }
  uint32_t text_of(JsonId id) const { return nodes_[id.value].source; }
  std::string_view source(uint32_t text) const { return texts_[text].source; }
  const std::string& name(uint32_t text) const { return texts_[text].name; }
  // Whether some object below the root of the text may name a schema, by a string or true under
  // `$id`, `id` or a key that ends in "nchor"; whether the root may; and whether some key begins
  // with "unevaluated".
  bool has_identifiers(uint32_t text) const { return texts_[text].identifiers; }
  bool has_root_identifiers(uint32_t text) const { return texts_[text].root_identifiers; }
  bool has_unevaluated(uint32_t text) const { return texts_[text].unevaluated; }

  JsonKind kind(JsonId id) const { return nodes_[id.value].kind; }
  bool IsObject(JsonId id) const { return kind(id) == JsonKind::kObject; }
  bool IsArray(JsonId id) const { return kind(id) == JsonKind::kArray; }
  bool IsString(JsonId id) const { return kind(id) == JsonKind::kString; }
  bool IsNumber(JsonId id) const { return kind(id) == JsonKind::kNumber; }
  bool IsBool(JsonId id) const {
    return kind(id) == JsonKind::kTrue || kind(id) == JsonKind::kFalse;
  }
  // A string decoded; a number as it was written.
  std::string_view text(JsonId id) const { return nodes_[id.value].text(); }
  std::span<const JsonId> elements(JsonId array) const {
    const Node& n = nodes_[array.value];
    return {texts_[n.source].elements.data() + n.first, n.size};
  }
  std::span<const JsonMember> members(JsonId object) const {
    const Node& n = nodes_[object.value];
    return {texts_[n.source].members.data() + n.first, n.size};
  }
  // The value of `key`; nullopt where there is none or `object` is not an object. Constant time on
  // average.
  std::optional<JsonId> Find(JsonId object, std::string_view key) const;

  // Equal arrays and objects (members in the same order, numbers spelled alike) have the same
  // representative: the first of them. A scalar is its own.
  JsonId representative(JsonId id) const { return JsonId(nodes_[id.value].representative); }
  // The array or object that holds `id`; a root's is itself.
  JsonId parent(JsonId id) const { return JsonId(nodes_[id.value].parent); }
  size_t offset(JsonId id) const { return nodes_[id.value].offset; }
  // Depth of nesting, of all texts one inside another: 0 where the root is a scalar.
  int depth() const { return depth_; }

  // "#/properties/a~1b/0": the JSON pointer to `id` as a URI fragment, after the name of its text,
  // for messages.
  std::string Pointer(JsonId id) const;
  // Whether a message begins with such a pointer.
  bool BeginsWithPointer(std::string_view message) const;
  // The value as compact JSON text, cut after `max_bytes`, for messages.
  std::string Excerpt(JsonId id, size_t max_bytes = 60) const;

 private:
  friend class JsonParser;
  static constexpr uint32_t kMaxTexts = 1 << 24;
  struct Node {  // 32 bytes: half a line of the cache
    union {
      const char* letters;  // of a string or number
      size_t first;         // of an array or object: into the elements or members of its text
    };
    uint32_t size;  // bytes, elements or members
    uint32_t parent;
    uint32_t representative;
    uint32_t offset, end;
    JsonKind kind : 8;
    uint32_t source : 24;  // into texts_
    std::string_view text() const {
      return kind < JsonKind::kArray ? std::string_view(letters, size) : std::string_view();
    }
  };
  // The lists of one text's containers do not move when another text is added.
  struct Text {
    std::string name;
    std::string_view source;
    JsonId root;
    bool identifiers = false;  // below the root
    bool root_identifiers = false, unevaluated = false;
    TableVector<JsonId> elements;
    TableVector<JsonMember> members;
  };

  int depth_ = 0;
  size_t bytes_ = 0;  // of all texts
  std::vector<Text> texts_;
  TableVector<Node> nodes_;
  std::deque<std::string> decoded_;  // strings that had escapes
  // Of objects that are too large to search, the members' places by their keys.
  absl::flat_hash_map<uint32_t, HashSlots> key_places_;
};

}  // namespace grammask::internal

#endif  // GRAMMASK_GRAMMAR_JSON_SCHEMA_JSON_DOCUMENT_H_
