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

// An outcome: kOk, or a code and a message for the user. One pointer, null when ok, so that what
// succeeds costs nothing; what was moved from is ok. Immutable, so safe to read from many threads.
class [[nodiscard]] Status {
 public:
  Status() = default;
  [[gnu::cold]] Status(StatusCode code, std::string message);
  Status(const Status& other) : error_(other.ok() ? nullptr : Copy(*other.error_)) {}
  Status(Status&& other) noexcept : error_(std::exchange(other.error_, nullptr)) {}
  Status& operator=(Status other) noexcept {
    std::swap(error_, other.error_);
    return *this;
  }
  ~Status() {
    if (!ok()) [[unlikely]]
      Delete(error_);
  }

  bool ok() const { return error_ == nullptr; }
  StatusCode code() const { return ok() ? StatusCode::kOk : error_->code; }
  // Empty when ok. Otherwise says what was found, where, and what would be right. The first line
  // stands alone; a caret line and further detail may follow it.
  const std::string& message() const { return ok() ? NoMessage() : error_->message; }

 private:
  struct Error {
    StatusCode code;
    std::string message;
  };

  [[gnu::cold]] static const Error* Copy(const Error& error);
  [[gnu::cold]] static void Delete(const Error* error);
  static const std::string& NoMessage();

  const Error* error_ = nullptr;
};

// Errors of each kind. Not inline, and cold: a compiler keeps what leads to them out of the way of
// what succeeds.
[[gnu::cold]] Status InvalidArgument(std::string m);
[[gnu::cold]] Status Unsupported(std::string m);
[[gnu::cold]] Status Unsatisfiable(std::string m);
[[gnu::cold]] Status ResourceExhausted(std::string m);
[[gnu::cold]] Status OutOfRange(std::string m);
[[gnu::cold]] Status FailedPrecondition(std::string m);

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
