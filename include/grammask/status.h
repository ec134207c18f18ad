// What a call that can fail returns. No exceptions cross this library's C++ interface.
#ifndef GRAMMASK_STATUS_H_
#define GRAMMASK_STATUS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace grammask {

enum class StatusCode : uint8_t {
  kOk = 0,
  kInvalidArgument,     // a grammar, schema, tokenizer file or argument that is malformed
  kUnsupported,         // well-formed input that asks for something this version cannot do exactly
  kUnsatisfiable,       // a grammar or schema that no text satisfies
  kResourceExhausted,   // a bound of Limits was hit
  kOutOfRange,          // an index or count outside its range
  kFailedPrecondition,  // the object is in the wrong state for this call
  kInternal,            // a bug in this library
};

// An outcome: kOk, or a code and a message for the user. Cheap to copy when ok. Immutable, so
// safe to read from many threads.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(StatusCode code, std::string message) : code_(code), message_(std::move(message)) {}

  bool ok() const { return code_ == StatusCode::kOk; }
  StatusCode code() const { return code_; }
  // Empty when ok. Otherwise says what was found, where, and what would be right. The first line
  // stands alone; a caret line and further detail may follow it.
  const std::string& message() const { return message_; }

 private:
  StatusCode code_ = StatusCode::kOk;
  std::string message_;
};

inline Status InvalidArgument(std::string m) {
  return {StatusCode::kInvalidArgument, std::move(m)};
}
inline Status Unsupported(std::string m) { return {StatusCode::kUnsupported, std::move(m)}; }
inline Status Unsatisfiable(std::string m) { return {StatusCode::kUnsatisfiable, std::move(m)}; }
inline Status ResourceExhausted(std::string m) {
  return {StatusCode::kResourceExhausted, std::move(m)};
}
inline Status OutOfRange(std::string m) { return {StatusCode::kOutOfRange, std::move(m)}; }
inline Status FailedPrecondition(std::string m) {
  return {StatusCode::kFailedPrecondition, std::move(m)};
}

// A value, or the Status that says why there is none. value() may be called only when ok().
template <class T>
class [[nodiscard]] StatusOr {
 public:
  StatusOr(T value) : value_(std::move(value)) {}          // NOLINT(google-explicit-constructor)
  StatusOr(Status status) : status_(std::move(status)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }
  T& value() & { return *value_; }
  const T& value() const& { return *value_; }
  T&& value() && { return *std::move(value_); }
  T& operator*() & { return *value_; }
  const T& operator*() const& { return *value_; }
  T&& operator*() && { return *std::move(value_); }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }

 private:
  Status status_;
  std::optional<T> value_;
};

}  // namespace grammask

#endif  // GRAMMASK_STATUS_H_
