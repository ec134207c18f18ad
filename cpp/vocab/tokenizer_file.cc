// tokenizer.json text -> its vocabulary as a list, and the small rest as a JSON value.
//
// Such a file is megabytes of vocabulary and merges around a few hundred bytes of settings. A SAX
// handler keeps the settings as a value, drops the merges, and moves each vocabulary entry straight
// into a vector: {"model":{"vocab":{"a":0},"merges":["a b"]},"decoder":null} gives the vocabulary
// {("a", 0)} and the rest {"model":{},"decoder":null}. Containers under way stand on an explicit
// stack, bounded by Limits::max_nesting.
//
// Cost: one pass; about 10 ns a byte.
// Tests: tests/vocab/tokenizer_json_test.cc.
#include "vocab/tokenizer_file.h"

#include <cstddef>
#include <optional>

#include "base/utf8.h"

namespace grammask::internal {
namespace {

using nlohmann::json;

// How nlohmann::json::sax_parse reports to us; a method that returns false ends the parse.
class Handler {
 public:
  explicit Handler(const Limits& limits) : max_nesting_(static_cast<size_t>(limits.max_nesting)) {}

  // nlohmann's names.
  bool null() { return Scalar(json(nullptr)); }
  bool boolean(bool v) { return Scalar(json(v)); }
  bool number_integer(int64_t v) { return Number(v, json(v)); }
  bool number_unsigned(uint64_t v) {
    // An id over 2^63 is out of range like any other huge one.
    return Number(static_cast<int64_t>(v >> 63 ? v >> 1 : v), json(v));
  }
  bool number_float(double v, const std::string&) {
    return InScoredEntry() ? true : Scalar(json(v));
  }
  bool string(std::string& v) {
    if (place_ == Place::kSettings) return Scalar(json(std::move(v)));
    if (InScoredEntry() && !entry_text_) {
      entry_text_ = std::move(v);
      return true;
    }
    return place_ == Place::kMerges || WrongVocab();
  }
  bool binary(json::binary_t&) { return false; }  // JSON text has none
  bool key(std::string& v) {
    if (place_ == Place::kVocab) {
      entry_text_ = std::move(v);
    } else if (place_ == Place::kSettings) {
      key_ = std::move(v);
    }
    return true;
  }

  bool start_object(size_t) { return Open(json::object()); }
  bool start_array(size_t) { return Open(json::array()); }
  bool end_object() { return Close(); }
  bool end_array() { return Close(); }

  bool parse_error(size_t position, const std::string& last_token, const json::exception&) {
    std::string what = "tokenizer.json is not valid JSON at byte " + std::to_string(position);
    if (!last_token.empty()) what += ", at " + Printable(last_token.substr(0, 40));
    status_ = InvalidArgument(std::move(what));
    return false;
  }

  StatusOr<TokenizerFile> Finish() && {
    if (!status_.ok()) return std::move(status_);
    if (!file_.rest.is_object()) {
      return InvalidArgument("tokenizer.json is not a JSON object but " +
                             std::string(file_.rest.type_name()));
    }
    return std::move(file_);
  }

 private:
  enum class Place { kSettings, kVocab, kMerges };

  bool Fail(Status status) {
    status_ = std::move(status);
    return false;
  }
  bool WrongVocab() {
    return Fail(InvalidArgument("tokenizer.json: entry " + std::to_string(file_.vocab.size()) +
                                " of model.vocab is neither \"text\": id nor [\"text\", score]"));
  }

  // Inside one [text, score] of a list vocabulary.
  bool InScoredEntry() const {
    return place_ == Place::kVocab && vocab_is_list_ && depth_ == part_depth_ + 1;
  }

  bool Number(int64_t v, json value) {
    if (place_ != Place::kVocab) return Scalar(std::move(value));
    if (InScoredEntry()) return true;
    if (vocab_is_list_ || depth_ != part_depth_) return WrongVocab();
    file_.vocab.emplace_back(std::move(*entry_text_), v);
    return true;
  }

  bool Scalar(json value) {
    if (place_ == Place::kMerges) return true;
    if (place_ == Place::kVocab) return WrongVocab();
    Put(std::move(value));
    return true;
  }

  // Adds `value` to the container under way, or makes it the root. Returns where it lies.
  json* Put(json value) {
    if (open_.empty()) return &(file_.rest = std::move(value));
    json& parent = *open_.back();
    if (parent.is_array()) return &parent.emplace_back(std::move(value));
    return &(parent[key_] = std::move(value));
  }

  bool InModel() const {
    return open_.size() == 2 && open_.back()->is_object() && open_keys_.back() == "model" &&
           open_.front()->is_object();
  }

  bool Open(json container) {
    if (++depth_ > max_nesting_) {
      return Fail(ResourceExhausted("tokenizer.json is nested deeper than max_nesting (" +
                                    std::to_string(max_nesting_) + ")"));
    }
    if (place_ == Place::kMerges) return true;
    if (place_ == Place::kVocab) {
      entry_text_.reset();
      return InScoredEntry() && container.is_array() ? true : WrongVocab();
    }
    if (InModel() && (key_ == "vocab" || key_ == "merges")) {
      place_ = key_ == "vocab" ? Place::kVocab : Place::kMerges;
      part_depth_ = depth_;
      if (place_ == Place::kVocab) {
        file_.has_vocab = true;
        vocab_is_list_ = container.is_array();
        file_.vocab.clear();  // of two values for one key the last counts
      }
      return true;
    }
    open_.push_back(Put(std::move(container)));
    open_keys_.push_back(key_);
    return true;
  }

  bool Close() {
    size_t depth = depth_--;
    if (place_ == Place::kSettings) {
      open_.pop_back();
      open_keys_.pop_back();
    } else if (depth == part_depth_) {
      place_ = Place::kSettings;
    } else if (place_ == Place::kVocab) {
      if (!entry_text_) return WrongVocab();
      int64_t id = static_cast<int64_t>(file_.vocab.size());
      file_.vocab.emplace_back(std::move(*entry_text_), id);
    }
    return true;
  }

  const size_t max_nesting_;
  TokenizerFile file_;
  Status status_;
  // The containers of `file_.rest` under way, from the root, and the key of each. Adding to the
  // last does not move those before it: a container is added to only while it is the last.
  std::vector<json*> open_;
  std::vector<std::string> open_keys_;
  std::string key_;   // the last key in the settings
  size_t depth_ = 0;  // of containers, kept or not
  Place place_ = Place::kSettings;
  size_t part_depth_ = 0;  // depth_ inside model.vocab or model.merges itself
  bool vocab_is_list_ = false;
  std::optional<std::string> entry_text_;  // of the vocabulary entry under way
};

}  // namespace

StatusOr<TokenizerFile> ParseTokenizerFile(std::string_view text, const Limits& limits) {
  if (text.size() > limits.max_source_bytes) {
    return ResourceExhausted("tokenizer.json is " + std::to_string(text.size()) +
                             " bytes long; max_source_bytes is " +
                             std::to_string(limits.max_source_bytes));
  }
  Handler handler(limits);
  json::sax_parse(text, &handler);
  return std::move(handler).Finish();
}

}  // namespace grammask::internal
