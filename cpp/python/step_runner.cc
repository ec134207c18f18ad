// grammask._core.StepRunner: decoding steps on a thread of its own, beside Python.
//
// begin() reads its arguments, marks the matchers as busy, and hands BatchGrammarMatcher::Step to
// the runner's thread, which never touches Python: however long some thread keeps the GIL, masks
// are filled. The StepJob returned holds all that the step reads and writes, and gives the matchers
// back when its results are asked for. Example: job = runner.begin([a, None], [[5, 7], None], None,
// [0, 1], bitmask); job.wait(); job.results() -> [(2, 0, 1, False, None), (0, 0, 0, False, None)].
// Cost: about 0.2 us for a row, and the hand-over between threads, some 10 us.
// Tested by tests/python/test_step_runner.py and test_pipeline.py.
#include "python/step_runner.h"

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "grammask/grammask.h"
#include "python/errors.h"
#include "python/matcher_object.h"
#include "python/tensor_view.h"

namespace py = pybind11;

namespace grammask::python {
namespace {

int64_t Now() {  // the clock of Python's time.perf_counter_ns()
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// What the runner's thread and the job share. Belongs to both, so that either may go first.
struct Progress {
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  Status status;
  int64_t begun = 0, ended = 0;
};

// A step as plain memory: no Python in it.
struct Work {
  BatchGrammarMatcher* batch = nullptr;
  std::vector<BatchStep> steps;
  MaskRows mask;
  int words = 0;

  void Run(Progress* progress) {
    const int64_t begun = Now();
    Status status = batch->Step(steps, mask.data, mask.rows, words, mask.stride);
    std::lock_guard lock(progress->mutex);
    progress->status = std::move(status);
    progress->begun = begun;
    progress->ended = Now();
    progress->done = true;
    progress->changed.notify_all();
  }
};

// The thread. Work is done in the order in which it came.
class Thread {
 public:
  ~Thread() {  // without the GIL
    {
      std::lock_guard lock(mutex_);
      stop_ = true;
    }
    wake_.notify_all();
    if (thread_.joinable()) thread_.join();
  }
  void Add(Work* work, std::shared_ptr<Progress> progress) {
    std::lock_guard lock(mutex_);
    queue_.emplace_back(work, std::move(progress));
    if (!thread_.joinable()) thread_ = std::thread([this] { Loop(); });
    wake_.notify_one();
  }

 private:
  void Loop() {
    std::unique_lock lock(mutex_);
    while (true) {
      wake_.wait(lock, [this] { return stop_ || !queue_.empty(); });
      if (queue_.empty()) return;
      auto [work, progress] = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      work->Run(progress.get());
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::pair<Work*, std::shared_ptr<Progress>>> queue_;
  bool stop_ = false;
  std::thread thread_;
};

void AppendId(py::handle item, std::vector<int32_t>* ids) {
  py::object index;  // NumPy's and torch's integers are none of Python's
  if (!PyLong_Check(item.ptr())) {
    index = py::reinterpret_steal<py::object>(PyNumber_Index(item.ptr()));
    if (!index) throw py::error_already_set();
    item = index;
  }
  int overflow = 0;
  const long long id = PyLong_AsLongLongAndOverflow(item.ptr(), &overflow);  // NOLINT
  if (id == -1 && overflow == 0) return;
  // An id that no token has is refused later, as it is wrong with its own row alone.
  const bool fits = overflow == 0 && id >= 0 && id <= std::numeric_limits<int32_t>::max();
  ids->push_back(fits ? static_cast<int32_t>(id) : std::numeric_limits<int32_t>::max());
}

// Ids of one row: None or -1 for none, an int, or a list, tuple or array of them, -1 left out.
void AppendIds(py::handle given, std::vector<int32_t>* ids) {
  if (given.is_none()) return;
  py::object list;
  if (!PyLong_Check(given.ptr()) && !PyList_Check(given.ptr()) && !PyTuple_Check(given.ptr()) &&
      py::hasattr(given, "tolist")) {
    list = given.attr("tolist")();
    given = list;
  }
  if (!PyList_Check(given.ptr()) && !PyTuple_Check(given.ptr())) return AppendId(given, ids);
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(given.ptr()); ++i) {
    AppendId(PySequence_Fast_GET_ITEM(given.ptr(), i), ids);
  }
}

size_t ListSize(py::handle list, const char* what) {
  if (!PyList_Check(list.ptr())) RaiseType(what, "a list", list);
  return static_cast<size_t>(PyList_GET_SIZE(list.ptr()));
}

py::handle Item(py::handle list, size_t i) {
  return PyList_GET_ITEM(list.ptr(), static_cast<Py_ssize_t>(i));
}

py::object ErrorOf(const Status& status) {
  try {
    Raise(status, Source::kArgument);
  } catch (py::error_already_set& error) {
    return error.value();
  }
}

class StepJob {
 public:
  StepJob(py::object batch, py::handle matchers, py::handle tokens, py::handle drafts,
          py::handle rows, py::handle bitmask)
      : batch_(std::move(batch)), tensor_(bitmask, "bitmask") {
    const size_t count = ListSize(matchers, "matchers");
    CheckSize(tokens, count, "tokens");
    CheckSize(drafts, count, "drafts");
    ListSize(rows, "rows");
    CheckSize(rows, count, "rows");
    bitmask_ = py::reinterpret_borrow<py::object>(bitmask);
    work_.batch = batch_.cast<BatchGrammarMatcher*>();
    work_.steps.resize(count);
    ReadIds(tokens, drafts);
    for (size_t i = 0; i < count; ++i) work_.steps[i].row = Item(rows, i).cast<int64_t>();
    try {
      for (size_t i = 0; i < count; ++i) Hold(Item(matchers, i), i);
      if (!held_.empty()) {
        work_.words = held_.front()->matcher.mask_words();
      } else if (tensor_.view().ndim > 0) {
        work_.words = static_cast<int>(tensor_.view().shape[tensor_.view().ndim == 1 ? 0 : 1]);
      }
      work_.mask = WritableMaskRows(tensor_.view(), work_.words);
    } catch (...) {
      Release();
      throw;
    }
  }
  ~StepJob() {
    Wait(-1);
    Release();
  }
  StepJob(const StepJob&) = delete;
  StepJob& operator=(const StepJob&) = delete;

  void Start(Thread* thread) {
    progress_ = std::make_shared<Progress>();
    thread->Add(&work_, progress_);
  }
  bool Done() const {
    std::lock_guard lock(progress_->mutex);
    return progress_->done;
  }
  // Waits, for ever where `seconds` is negative; whether the step is done.
  bool Wait(double seconds) {
    if (!progress_) return true;  // never started
    py::gil_scoped_release release;
    std::unique_lock lock(progress_->mutex);
    const auto done = [this] { return progress_->done; };
    if (seconds < 0) {
      progress_->changed.wait(lock, done);
      return true;
    }
    return progress_->changed.wait_for(lock, std::chrono::duration<double>(seconds), done);
  }
  py::list Results() {
    Wait(-1);
    Release();
    RaiseIfError(progress_->status);
    py::list results(work_.steps.size());
    for (size_t i = 0; i < work_.steps.size(); ++i) {
      const BatchStep& step = work_.steps[i];
      results[i] =
          py::make_tuple(step.accepted, step.drafts_accepted, step.rows_filled, step.terminated,
                         step.status.ok() ? py::object(py::none()) : ErrorOf(step.status));
    }
    return results;
  }
  std::pair<int64_t, int64_t> Times() {
    Wait(-1);
    return {progress_->begun, progress_->ended};
  }

 private:
  static void CheckSize(py::handle list, size_t count, const char* what) {
    if (list.is_none()) return;
    const size_t size = ListSize(list, what);
    if (size == count) return;
    RaiseArgument("there are " + std::to_string(count) + " requests but " + what + " for " +
                  std::to_string(size));
  }
  // All ids go into one array, which must not move afterwards.
  void ReadIds(py::handle tokens, py::handle drafts) {
    std::vector<size_t> ends;
    for (size_t i = 0; i < work_.steps.size(); ++i) {
      if (!tokens.is_none()) AppendIds(Item(tokens, i), &ids_);
      ends.push_back(ids_.size());
      if (!drafts.is_none()) AppendIds(Item(drafts, i), &ids_);
      ends.push_back(ids_.size());
    }
    size_t begin = 0;
    const std::span<const int32_t> all(ids_);
    for (size_t i = 0; i < work_.steps.size(); ++i) {
      work_.steps[i].tokens = all.subspan(begin, ends[2 * i] - begin);
      work_.steps[i].drafts = all.subspan(ends[2 * i], ends[2 * i + 1] - ends[2 * i]);
      begin = ends[2 * i + 1];
    }
  }
  void Hold(py::handle item, size_t i) {
    if (item.is_none()) return;
    py::detail::make_caster<MatcherObject> caster;
    if (!caster.load(item, false)) {
      RaiseType(("matchers[" + std::to_string(i) + "]").c_str(),
                "a grammask.GrammarMatcher or None", item);
    }
    auto& object = py::detail::cast_op<MatcherObject&>(caster);
    // In use elsewhere, or by another row of this step: wrong with this row alone.
    if (object.busy) {
      RaiseArgument("the matcher of row " + std::to_string(i) +
                    " is in use, by another thread or another row; one matcher serves one text");
    }
    object.busy = true;
    held_.push_back(&object);
    owners_.push_back(py::reinterpret_borrow<py::object>(item));
    work_.steps[i].matcher = &object.matcher;
  }
  void Release() {
    for (MatcherObject* object : held_) object->busy = false;
    held_.clear();
    owners_.clear();
  }

  py::object batch_, bitmask_;
  BorrowedTensor tensor_;
  std::vector<int32_t> ids_;
  std::vector<MatcherObject*> held_;
  std::vector<py::object> owners_;
  Work work_;
  std::shared_ptr<Progress> progress_;
};

class StepRunner {
 public:
  explicit StepRunner(py::object batch)
      : batch_(std::move(batch)), thread_(std::make_unique<Thread>()) {
    if (!py::isinstance<BatchGrammarMatcher>(batch_)) {
      RaiseType("batch_matcher", "a grammask.BatchGrammarMatcher", batch_);
    }
  }
  ~StepRunner() {
    py::gil_scoped_release release;
    thread_.reset();
  }
  StepRunner(const StepRunner&) = delete;
  StepRunner& operator=(const StepRunner&) = delete;

  std::unique_ptr<StepJob> Begin(py::handle matchers, py::handle tokens, py::handle drafts,
                                 py::handle rows, py::handle bitmask) {
    auto job = std::make_unique<StepJob>(batch_, matchers, tokens, drafts, rows, bitmask);
    job->Start(thread_.get());
    return job;
  }

 private:
  py::object batch_;
  std::unique_ptr<Thread> thread_;
};

}  // namespace

void BindStepRunner(py::module_& m) {
  py::class_<StepJob>(m, "StepJob", "A step of StepRunner.begin. Needs the GIL, but never long.")
      .def("done", &StepJob::Done, "done(self)\n--\n\nWhether the masks are filled.")
      .def("wait", &StepJob::Wait, py::arg("timeout") = -1.0,
           "wait(self, timeout=-1.0)\n--\n\nWaits, without the GIL, for as many seconds or for "
           "ever; returns whether the masks are filled.")
      .def("results", &StepJob::Results,
           "results(self)\n--\n\nWaits; for each row (accepted tokens, accepted drafts, rows "
           "filled, terminated, error or None). Raises what was wrong with the call; nothing was "
           "done then. The matchers may be used again.")
      .def(
          "times", &StepJob::Times,
          "times(self)\n--\n\nWaits; when the step began and ended, as of time.perf_counter_ns().");
  py::class_<StepRunner>(m, "StepRunner",
                         "Runs decoding steps on a thread that never touches Python.\n\n"
                         "StepRunner(batch_matcher)")
      .def(py::init<py::object>(), py::arg("batch_matcher"),
           "__init__(self, batch_matcher)\n--\n\nSee the class.")
      .def("begin", &StepRunner::Begin, py::arg("matchers"), py::arg("tokens"), py::arg("drafts"),
           py::arg("rows"), py::arg("bitmask"),
           R"(begin(self, matchers, tokens, drafts, rows, bitmask)
--

Begins a step and returns its StepJob. Lists with an entry for each text:

matchers: a GrammarMatcher, or None without a grammar. Busy until the job's results are read.
tokens: to accept first: None or -1 for nothing, an int, or a list of ints. None for no tokens.
drafts: to try after them, with a mask after each: as tokens.
rows: the row of bitmask for the mask before any draft; those after drafts follow it.
bitmask: int32 of CPU memory; not to be touched until the job is done.)");
}

}  // namespace grammask::python
