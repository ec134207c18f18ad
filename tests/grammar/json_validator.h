// The slow twin of the schema compiler: decides by definition whether a value meets a schema.
//
// For tests only. One function for each group of keywords, straight from the specification of draft
// 2020-12, over nlohmann's values and RE2; recursive, for small schemas. References are "#/..."
// only.
#ifndef GRAMMASK_TESTS_GRAMMAR_JSON_VALIDATOR_H_
#define GRAMMASK_TESTS_GRAMMAR_JSON_VALIDATOR_H_

#include <re2/re2.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

namespace grammask::internal {

class JsonValidator {
 public:
  using Json = nlohmann::ordered_json;
  explicit JsonValidator(const Json& root) : root_(root) {}

  // The keys and elements of one value that some schema which holds for it has evaluated.
  struct Seen {
    std::set<std::string> keys;
    std::set<size_t> elements;
    void Add(const Seen& other) {
      keys.insert(other.keys.begin(), other.keys.end());
      elements.insert(other.elements.begin(), other.elements.end());
    }
  };

  bool Valid(const Json& value) const { return Valid(root_, value); }

  // Adds to `seen` what the schema evaluates, if it holds.
  bool Valid(const Json& schema, const Json& value, Seen* seen = nullptr) const {
    if (schema.is_boolean()) return schema.get<bool>();
    if (depth_ > kMaxDepth) {
      looped_ = true;
      return false;
    }
    ++depth_;
    Seen own;
    bool valid = Check(schema, value, &own);
    --depth_;
    if (valid && seen != nullptr) seen->Add(own);
    return valid;
  }

  // Whether some answer so far was cut short, because a reference led back to itself.
  bool looped() const { return looped_; }

 private:
  static constexpr int kMaxDepth = 100;

  bool Check(const Json& schema, const Json& value, Seen* seen) const {
    if (schema.contains("$ref") && !Valid(Target(schema["$ref"]), value, seen)) return false;
    return Type(schema, value) && Finite(schema, value) && Number(schema, value) &&
           String(schema, value) && Array(schema, value, seen) && Object(schema, value, seen) &&
           Applied(schema, value, seen) && Unevaluated(schema, value, seen);
  }

  const Json& Target(const std::string& ref) const {
    return root_.at(Json::json_pointer(ref.substr(1)));
  }

  // Equality of values: numbers by value, objects without regard to order.
  static bool Equal(const Json& a, const Json& b) {
    if (a.is_number() && b.is_number()) return a.get<double>() == b.get<double>();
    if (a.type() != b.type() || a.size() != b.size()) return false;
    if (a.is_array()) return std::equal(a.begin(), a.end(), b.begin(), Equal);
    if (!a.is_object()) return a == b;
    return std::all_of(a.items().begin(), a.items().end(), [&](const auto& m) {
      return b.contains(m.key()) && Equal(m.value(), b[m.key()]);
    });
  }

  static bool HasType(const std::string& type, const Json& v) {
    if (type == "null") return v.is_null();
    if (type == "boolean") return v.is_boolean();
    if (type == "string") return v.is_string();
    if (type == "array") return v.is_array();
    if (type == "object") return v.is_object();
    if (type == "number") return v.is_number();
    return v.is_number() && v.get<double>() == std::floor(v.get<double>());
  }

  bool Type(const Json& s, const Json& v) const {
    if (!s.contains("type")) return true;
    if (s["type"].is_string()) return HasType(s["type"], v);
    return std::any_of(s["type"].begin(), s["type"].end(),
                       [&](const Json& t) { return HasType(t, v); });
  }

  bool Finite(const Json& s, const Json& v) const {
    if (s.contains("const") && !Equal(s["const"], v)) return false;
    if (!s.contains("enum")) return true;
    return std::any_of(s["enum"].begin(), s["enum"].end(),
                       [&](const Json& e) { return Equal(e, v); });
  }

  bool Number(const Json& s, const Json& v) const {
    if (!v.is_number()) return true;
    double x = v.get<double>();
    if (s.contains("minimum") && x < s["minimum"].get<double>()) return false;
    if (s.contains("maximum") && x > s["maximum"].get<double>()) return false;
    if (s.contains("exclusiveMinimum") && x <= s["exclusiveMinimum"].get<double>()) return false;
    if (s.contains("exclusiveMaximum") && x >= s["exclusiveMaximum"].get<double>()) return false;
    if (!s.contains("multipleOf")) return true;
    double q = x / s["multipleOf"].get<double>();
    return q == std::floor(q);
  }

  bool String(const Json& s, const Json& v) const {
    if (!v.is_string()) return true;
    std::string text = v;
    auto length = std::count_if(text.begin(), text.end(), [](char c) {
      return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
    });
    if (s.contains("minLength") && length < s["minLength"].get<int64_t>()) return false;
    if (s.contains("maxLength") && length > s["maxLength"].get<int64_t>()) return false;
    return !s.contains("pattern") || RE2::PartialMatch(text, s["pattern"].get<std::string>());
  }

  bool Array(const Json& s, const Json& v, Seen* seen) const {
    if (!v.is_array()) return true;
    if (s.contains("minItems") && v.size() < s["minItems"].get<size_t>()) return false;
    if (s.contains("maxItems") && v.size() > s["maxItems"].get<size_t>()) return false;
    size_t prefix = s.contains("prefixItems") ? s["prefixItems"].size() : 0;
    for (size_t i = 0; i < v.size(); ++i) {
      if (i >= prefix && !s.contains("items")) break;
      if (!Valid(i < prefix ? s["prefixItems"][i] : s["items"], v[i])) return false;
      seen->elements.insert(i);
    }
    if (s.contains("uniqueItems") && s["uniqueItems"].get<bool>()) {
      for (size_t i = 0; i < v.size(); ++i) {
        for (size_t j = 0; j < i; ++j) {
          if (Equal(v[i], v[j])) return false;
        }
      }
    }
    if (!s.contains("contains")) return true;
    size_t count = 0;
    for (size_t i = 0; i < v.size(); ++i) {
      if (!Valid(s["contains"], v[i])) continue;
      seen->elements.insert(i);
      ++count;
    }
    if (s.contains("maxContains") && count > s["maxContains"].get<size_t>()) return false;
    return count >= (s.contains("minContains") ? s["minContains"].get<size_t>() : 1);
  }

  bool Object(const Json& s, const Json& v, Seen* seen) const {
    if (!v.is_object()) return true;
    if (s.contains("minProperties") && v.size() < s["minProperties"].get<size_t>()) return false;
    if (s.contains("maxProperties") && v.size() > s["maxProperties"].get<size_t>()) return false;
    if (s.contains("required")) {
      for (const Json& name : s["required"]) {
        if (!v.contains(name.get<std::string>())) return false;
      }
    }
    for (const auto& m : v.items()) {
      if (!Member(s, m.key(), m.value(), seen)) return false;
    }
    if (s.contains("dependentRequired")) {
      for (const auto& d : s["dependentRequired"].items()) {
        if (!v.contains(d.key())) continue;
        for (const Json& name : d.value()) {
          if (!v.contains(name.get<std::string>())) return false;
        }
      }
    }
    if (s.contains("dependentSchemas")) {
      for (const auto& d : s["dependentSchemas"].items()) {
        if (v.contains(d.key()) && !Valid(d.value(), v, seen)) return false;
      }
    }
    return true;
  }

  bool Member(const Json& s, const std::string& key, const Json& value, Seen* seen) const {
    if (s.contains("propertyNames") && !Valid(s["propertyNames"], Json(key))) return false;
    bool evaluated = false;
    if (s.contains("properties") && s["properties"].contains(key)) {
      evaluated = true;
      if (!Valid(s["properties"][key], value)) return false;
    }
    if (s.contains("patternProperties")) {
      for (const auto& p : s["patternProperties"].items()) {
        if (!RE2::PartialMatch(key, p.key())) continue;
        evaluated = true;
        if (!Valid(p.value(), value)) return false;
      }
    }
    if (evaluated || s.contains("additionalProperties")) seen->keys.insert(key);
    if (evaluated || !s.contains("additionalProperties")) return true;
    return Valid(s["additionalProperties"], value);
  }

  bool Applied(const Json& s, const Json& v, Seen* seen) const {
    auto count = [&](const char* keyword) {
      return std::count_if(s[keyword].begin(), s[keyword].end(),
                           [&](const Json& sub) { return Valid(sub, v, seen); });
    };
    if (s.contains("allOf") && count("allOf") != static_cast<long>(s["allOf"].size())) return false;
    if (s.contains("anyOf") && count("anyOf") == 0) return false;
    if (s.contains("oneOf") && count("oneOf") != 1) return false;
    if (s.contains("not") && Valid(s["not"], v)) return false;
    if (!s.contains("if")) return true;
    const char* branch = Valid(s["if"], v, seen) ? "then" : "else";
    return !s.contains(branch) || Valid(s[branch], v, seen);
  }

  // After all other keywords.
  bool Unevaluated(const Json& s, const Json& v, Seen* seen) const {
    if (v.is_array() && s.contains("unevaluatedItems")) {
      for (size_t i = 0; i < v.size(); ++i) {
        if (seen->elements.contains(i)) continue;
        if (!Valid(s["unevaluatedItems"], v[i])) return false;
        seen->elements.insert(i);
      }
    }
    if (v.is_object() && s.contains("unevaluatedProperties")) {
      for (const auto& m : v.items()) {
        if (seen->keys.contains(m.key())) continue;
        if (!Valid(s["unevaluatedProperties"], m.value())) return false;
        seen->keys.insert(m.key());
      }
    }
    return true;
  }

  const Json& root_;
  mutable int depth_ = 0;
  mutable bool looped_ = false;
};

}  // namespace grammask::internal

#endif  // GRAMMASK_TESTS_GRAMMAR_JSON_VALIDATOR_H_
