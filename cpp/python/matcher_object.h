// The Python object behind grammask.GrammarMatcher.
#ifndef GRAMMASK_PYTHON_MATCHER_OBJECT_H_
#define GRAMMASK_PYTHON_MATCHER_OBJECT_H_

#include <pybind11/pybind11.h>

#include <optional>
#include <string>

#include "grammask/grammask.h"
#include "python/errors.h"

namespace grammask::python {

struct MatcherObject {
  GrammarMatcher matcher;
  std::optional<double> temperature;
  // True while a call uses the matcher without the GIL. Read and written with the GIL held, so
  // that a second thread's call is refused instead of racing.
  bool busy = false;
};

[[noreturn]] inline void RaiseBusy() {
  Raise(
      FailedPrecondition("this GrammarMatcher is in use by another thread; one matcher serves one "
                         "thread at a time"),
      Source::kArgument);
}

// Every method that reads or changes the matcher passes here first.
inline GrammarMatcher& Idle(MatcherObject& object) {
  if (object.busy) RaiseBusy();
  return object.matcher;
}

// Holds the matcher while the GIL is released. Made and destroyed with the GIL held.
class BusyScope {
 public:
  explicit BusyScope(MatcherObject& object) : object_(object) {
    if (object_.busy) RaiseBusy();
    object_.busy = true;
  }
  ~BusyScope() { object_.busy = false; }
  BusyScope(const BusyScope&) = delete;
  BusyScope& operator=(const BusyScope&) = delete;

 private:
  MatcherObject& object_;
};

// What debug_print=True gives: one record to logging.getLogger("grammask").
void LogDebug(const char* call, const MatcherObject& object, const std::string& result);

}  // namespace grammask::python

#endif  // GRAMMASK_PYTHON_MATCHER_OBJECT_H_
