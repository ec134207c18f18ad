// Histories against a list of (step, set) that every copy has for itself.
#include "matcher/history.h"

#include <gtest/gtest.h>

#include <list>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace grammask::internal {
namespace {

constexpr SetId kStart{7};

// Tables in which no two ways lead to one set; `salt` tells tables apart.
struct Tables {
  uint32_t salt = 1;
  mutable size_t steps = 0;
  SetId operator()(SetId set, int32_t token, std::string_view text) const {
    ++steps;
    uint32_t h = (set.value ^ salt) * 2654435761u + static_cast<uint32_t>(token);
    for (char c : text) h = h * 31 + static_cast<uint8_t>(c);
    return SetId(h ^ h >> 15);
  }
};

// What History does, without sharing anything.
struct Plain {
  struct Step {
    int32_t token;
    std::string text;
    SetId after;
  };
  std::vector<Step> steps;
  SetId set() const { return steps.empty() ? kStart : steps.back().after; }
};

struct Pair {
  History history;
  Plain plain;
  Tables tables;

  void Push(std::mt19937& random) {
    const bool is_text = random() % 20 == 0;
    const std::string text = is_text ? std::string(random() % 40, 'x') : std::string();
    const int32_t token = is_text ? History::kText : static_cast<int32_t>(random() % 5);
    const SetId after = tables(plain.set(), token, text);
    if (is_text) {
      history.PushText(text, after);
    } else {
      history.Push(token, after);
    }
    plain.steps.push_back({token, text, after});
  }
  void Truncate(size_t size) {
    plain.steps.resize(size);
    ASSERT_EQ(history.Truncate(size, kStart, tables), plain.set());
    ASSERT_EQ(history.size(), size);
  }
  void MoveTables(uint32_t salt) {
    tables.salt = salt;
    SetId set = kStart;
    for (Plain::Step& s : plain.steps) s.after = set = tables(set, s.token, s.text);
    ASSERT_EQ(history.Replay(kStart, tables), set);
  }
};

TEST(History, RandomWalksOfManyCopies) {
  for (uint32_t seed = 0; seed < 6; ++seed) {
    std::mt19937 random(seed);
    std::list<Pair> pairs(1);
    for (int round = 0; round < 1500; ++round) {
      auto it = std::next(pairs.begin(), static_cast<std::ptrdiff_t>(random() % pairs.size()));
      const size_t size = it->history.size();
      switch (random() % 16) {
        case 0:
          pairs.push_back(*it);
          break;
        case 1:
          if (pairs.size() > 8) pairs.erase(it);
          break;
        case 2:
          it->Truncate(random() % (size + 1));
          break;
        case 3:
          it->Truncate(size - random() % std::min<size_t>(size + 1, 300));
          break;
        case 4:
          it->MoveTables(static_cast<uint32_t>(random()));
          break;
        case 5:
          it->Truncate(size / 256 * 256);
          break;
        default: {
          const size_t most = random() % 8 == 0 ? 900 : 40;
          for (size_t n = random() % most; n > 0; --n) it->Push(random);
        }
      }
      if (HasFatalFailure()) return;
    }
    for (Pair& p : pairs) {
      while (!p.plain.steps.empty()) {
        p.Truncate(p.plain.steps.size() - 1);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(History, TheLastStepsAreNotTakenAgain) {
  std::mt19937 random(1);
  Pair p;
  for (size_t size = 1; size < 3000; ++size) {
    p.Push(random);
    p.tables.steps = 0;
    History copy(p.history);
    const size_t back = std::min<size_t>(size, 254);
    const Plain::Step* before = size == back ? nullptr : &p.plain.steps[size - back - 1];
    EXPECT_EQ(copy.Truncate(size - back, kStart, p.tables), before ? before->after : kStart);
    ASSERT_EQ(p.tables.steps, 0u) << size;
  }
  // Going back one by one, each step is taken once more at most.
  p.tables.steps = 0;
  for (size_t size = p.history.size(); size-- > 0;) p.history.Truncate(size, kStart, p.tables);
  EXPECT_LT(p.tables.steps, 3000u);
}

TEST(History, FourBytesAToken) {
  History history;
  constexpr size_t kSteps = 300'000;
  for (size_t i = 0; i < kSteps; ++i) history.Push(static_cast<int32_t>(i), SetId(1));
  EXPECT_LT(static_cast<double>(history.memory_bytes()), 4.2 * kSteps);
  History other(history);
  EXPECT_EQ(other.size(), kSteps);
  EXPECT_EQ(History().memory_bytes(), 0u);
}

// Copies on several threads, each going its own way from what they share.
TEST(History, CopiesOnSeveralThreads) {
  std::mt19937 random(2);
  Pair root;
  for (int i = 0; i < 2000; ++i) root.Push(random);
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < 4; ++t) {
    threads.emplace_back([copy = root, t]() mutable {
      std::mt19937 own(t);
      for (int i = 0; i < 300; ++i) {
        Pair fork = copy;
        for (int k = 0; k < 5; ++k) fork.Push(own);
        fork.Truncate(fork.history.size() - own() % 600);
        if (i % 50 == 0) fork.MoveTables(t + 5);
        if (i % 3 == 0) copy.Push(own);
      }
      copy.Truncate(0);
    });
  }
  for (std::thread& t : threads) t.join();
  root.Truncate(1000);
}

}  // namespace
}  // namespace grammask::internal
