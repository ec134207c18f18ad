#include "kernels/cuda_host/simt_emulator.h"

#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include "kernels/cuda/simt.h"

#if defined(__SANITIZE_ADDRESS__)
#define GM_FIBERS_UNDER_ASAN 1
#include <sanitizer/common_interface_defs.h>
#endif

namespace grammask::internal::cuda {
namespace {

constexpr size_t kStackBytes = 128 * 1024;
constexpr uint32_t kWarpLanes = 32;

struct Barrier {
  uint32_t arrived = 0, generation = 0;
};

struct Warp {
  Barrier barrier;
  uint32_t values[2][kWarpLanes];
};

struct Fiber {
  ucontext_t context;
  void* fake_stack = nullptr;
  uint32_t thread, rank;
  uint32_t shuffles = 0;
  const Barrier* waits_for = nullptr;
  uint32_t waits_generation = 0;
  bool done = false;
};

// A team of blocks at work, and the fiber that runs.
struct Team {
  LaunchShape shape;
  uint32_t first_block, row = 0;
  const std::function<void(void*)>* body;
  std::vector<std::vector<unsigned char>> shared;
  std::vector<Fiber> fibers;
  std::vector<Barrier> block_barriers;
  Barrier team_barrier;
  std::vector<Warp> warps;
  ucontext_t scheduler;
  void* scheduler_stack = nullptr;
  const void* scheduler_bottom = nullptr;
  size_t scheduler_size = 0;
  Fiber* current = nullptr;
  char* stacks = nullptr;
  std::string error;
};

thread_local Team* team = nullptr;

void SwitchToScheduler(Fiber* fiber, bool ends) {
#ifdef GM_FIBERS_UNDER_ASAN
  __sanitizer_start_switch_fiber(ends ? nullptr : &fiber->fake_stack, team->scheduler_bottom,
                                 team->scheduler_size);
#else
  (void)ends;
#endif
  swapcontext(&fiber->context, &team->scheduler);
#ifdef GM_FIBERS_UNDER_ASAN
  __sanitizer_finish_switch_fiber(fiber->fake_stack, &team->scheduler_bottom,
                                  &team->scheduler_size);
#endif
}

void SwitchToFiber(size_t index) {
  Fiber& fiber = team->fibers[index];
  team->current = &fiber;
#ifdef GM_FIBERS_UNDER_ASAN
  __sanitizer_start_switch_fiber(&team->scheduler_stack, team->stacks + index * kStackBytes,
                                 kStackBytes);
#endif
  swapcontext(&team->scheduler, &fiber.context);
#ifdef GM_FIBERS_UNDER_ASAN
  __sanitizer_finish_switch_fiber(team->scheduler_stack, nullptr, nullptr);
#endif
}

void FiberMain() {
#ifdef GM_FIBERS_UNDER_ASAN
  __sanitizer_finish_switch_fiber(nullptr, &team->scheduler_bottom, &team->scheduler_size);
#endif
  Fiber* fiber = team->current;
  (*team->body)(team->shared[fiber->rank].data());
  fiber->done = true;
  SwitchToScheduler(fiber, true);
}

void Arrive(Barrier* barrier, uint32_t expected) {
  Fiber* fiber = team->current;
  const uint32_t generation = barrier->generation;
  if (++barrier->arrived == expected) {
    barrier->arrived = 0;
    ++barrier->generation;
    return;
  }
  fiber->waits_for = barrier;
  fiber->waits_generation = generation;
  SwitchToScheduler(fiber, false);
}

uint32_t Shuffle(uint32_t value, uint32_t from_lane) {
  Fiber* fiber = team->current;
  const uint32_t threads = team->shape.threads;
  Warp& warp = team->warps[fiber->rank * (threads / kWarpLanes) + fiber->thread / kWarpLanes];
  // A lane is at most one shuffle ahead of another, so two sets of values are enough.
  uint32_t* values = warp.values[fiber->shuffles++ % 2];
  values[fiber->thread % kWarpLanes] = value;
  Arrive(&warp.barrier, kWarpLanes);
  return values[from_lane];
}

// Stacks of `count` fibers, kept for the next launch of the thread.
char* StacksFor(size_t count) {
  thread_local char* stacks = nullptr;
  thread_local size_t size = 0;
  if (count * kStackBytes > size) {
    if (stacks != nullptr) munmap(stacks, size);
    size = count * kStackBytes;
    void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    stacks = memory == MAP_FAILED ? nullptr : static_cast<char*>(memory);
    if (stacks == nullptr) size = 0;
  }
  return stacks;
}

// A function of its own: compilers take getcontext for one that returns twice.
void StartFiber(Fiber* const fiber, char* const stack) {
  getcontext(&fiber->context);
  fiber->context.uc_stack.ss_sp = stack;
  fiber->context.uc_stack.ss_size = kStackBytes;
  fiber->context.uc_link = nullptr;
  makecontext(&fiber->context, FiberMain, 0);
}

void StartFibers() {
  for (size_t i = 0; i < team->fibers.size(); ++i) {
    Fiber& fiber = team->fibers[i];
    fiber.thread = static_cast<uint32_t>(i % team->shape.threads);
    fiber.rank = static_cast<uint32_t>(i / team->shape.threads);
    StartFiber(&fiber, team->stacks + i * kStackBytes);
  }
}

void RunTeam() {
  const size_t count = team->fibers.size();
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), size_t{0});
  const ThreadOrder kind = team->shape.order;
  const bool ahead = kind == ThreadOrder::kAhead || kind == ThreadOrder::kAheadBackward;
  if (kind == ThreadOrder::kBackward || kind == ThreadOrder::kAheadBackward) {
    std::reverse(order.begin(), order.end());
  }
  std::mt19937 random(team->first_block + 1);
  size_t left = count;
  while (left > 0 && team->error.empty()) {
    if (kind == ThreadOrder::kShuffled) std::shuffle(order.begin(), order.end(), random);
    bool progress = false;
    for (const size_t index : order) {
      Fiber& fiber = team->fibers[index];
      if (fiber.done) continue;
      if (fiber.waits_for != nullptr && fiber.waits_for->generation == fiber.waits_generation) {
        continue;
      }
      fiber.waits_for = nullptr;
      SwitchToFiber(index);
      progress = true;
      if (fiber.done) --left;
      if (ahead) break;  // and look for the first that can run again
    }
    if (!progress) {
      team->error = std::to_string(left) + " of " + std::to_string(count) +
                    " threads wait at a barrier that others do not come to";
    }
  }
}

}  // namespace

std::string RunLaunch(const LaunchShape& shape, size_t shared_bytes,
                      const std::function<void(void* shared)>& body) {
  if (shape.team == 0 || shape.blocks % shape.team != 0 || shape.threads == 0 ||
      shape.threads > 1024) {
    return "a launch of " + std::to_string(shape.blocks) + " blocks of " +
           std::to_string(shape.threads) + " threads in teams of " + std::to_string(shape.team);
  }
  auto state = std::make_unique<Team>();
  state->shape = shape;
  state->body = &body;
  team = state.get();
  const size_t count = size_t{shape.threads} * shape.team;
  state->stacks = StacksFor(count);
  if (state->stacks == nullptr) return "no memory for the stacks of the threads";
  const uint64_t blocks = uint64_t{shape.blocks} * shape.rows;
  for (uint64_t first = 0; first < blocks && state->error.empty(); first += shape.team) {
    state->row = static_cast<uint32_t>(first / shape.blocks);
    state->first_block = static_cast<uint32_t>(first % shape.blocks);
    state->shared.assign(shape.team, std::vector<unsigned char>(shared_bytes, 0xA5));
    state->block_barriers.assign(shape.team, {});
    state->team_barrier = {};
    state->warps.assign(size_t{shape.team} * (shape.threads / kWarpLanes + 1), {});
    state->fibers = std::vector<Fiber>(count);
    StartFibers();
    RunTeam();
  }
  team = nullptr;
  return state->error;
}

// --- kernels/cuda/simt.h on the host
// --------------------------------------------------------------

uint32_t ThreadIndex() { return team->current->thread; }
uint32_t BlockThreads() { return team->shape.threads; }
uint32_t BlockIndex() { return team->first_block + team->current->rank; }
uint32_t GridRow() { return team->row; }
uint32_t TeamRank() { return team->current->rank; }
uint32_t TeamBlocks() { return team->shape.team; }
void BlockBarrier() { Arrive(&team->block_barriers[team->current->rank], team->shape.threads); }
void TeamBarrier() { Arrive(&team->team_barrier, team->shape.threads * team->shape.team); }
uint32_t ShuffleXor(uint32_t value, int lanes) {
  const uint32_t lane = team->current->thread % kWarpLanes;
  return Shuffle(value, lane ^ static_cast<uint32_t>(lanes));
}
uint32_t ShuffleUp(uint32_t value, int lanes) {
  const uint32_t lane = team->current->thread % kWarpLanes;
  const auto up = static_cast<uint32_t>(lanes);
  return Shuffle(value, lane < up ? lane : lane - up);
}
uint32_t ShuffleFrom(uint32_t value, uint32_t lane) { return Shuffle(value, lane); }
uint32_t WarpOr(uint32_t value) {
  for (int lanes = 1; lanes < 32; lanes *= 2) value |= ShuffleXor(value, lanes);
  return value;
}
void Store16(void* to, uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
  const uint32_t words[4] = {a, b, c, d};
  if (reinterpret_cast<uintptr_t>(to) % 16 != 0) {
    team->error = "a store of 16 bytes that is not aligned";
    return;
  }
  std::memcpy(to, words, sizeof(words));
}
uint32_t SharedAdd(uint32_t* word, uint32_t value) {
  const uint32_t before = *word;
  *word += value;
  return before;
}
const void* SharedInBlock(const void* mine, uint32_t rank) {
  const auto offset =
      static_cast<const unsigned char*>(mine) - team->shared[team->current->rank].data();
  return team->shared[rank].data() + offset;
}
uint32_t FloatBits(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}
float FloatOf(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}
uint64_t DoubleBits(double value) {
  uint64_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}
double DoubleOf(uint64_t bits) {
  double value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}
float HalfToFloat(uint16_t bits) {
  const int exponent = (bits >> 10) & 31, fraction = bits & 1023;
  float value;
  if (exponent == 31) {
    value = fraction != 0 ? NAN : INFINITY;
  } else if (exponent == 0) {
    value = std::ldexp(static_cast<float>(fraction), -24);
  } else {
    value = std::ldexp(static_cast<float>(fraction + 1024), exponent - 25);
  }
  return (bits & 0x8000) != 0 ? -value : value;
}
uint64_t MultiplyHigh(uint64_t a, uint64_t b) {
  return static_cast<uint64_t>((static_cast<unsigned __int128>(a) * b) >> 64);
}
float MultiplyAdd(float a, float b, float c) { return std::fma(a, b, c); }
float Larger(float a, float b) { return std::fmax(a, b); }
double Larger(double a, double b) { return std::fmax(a, b); }

}  // namespace grammask::internal::cuda
