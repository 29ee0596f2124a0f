// Accounts of sessions on a scripted device: work takes the time it says, and any number may run at once.
#include "wharf/server/process/share_account.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <deque>
#include <limits>
#include <memory>
#include <vector>

#include "wharf/server/process/fair_share.h"

namespace wharf::server {
namespace {

constexpr int64_t kMs = 1'000'000;
constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

// A piece of work of a session, and the pause before the next one, nanoseconds.
struct Item {
  int64_t takes = 0, pause = 0;
};

class ScriptedSession {
 public:
  // Repeats `items`; `cores` is the fraction of the device's cores that its work can use. Begins at `start`.
  ScriptedSession(SharePage& page, uint32_t slot, std::vector<Item> items, double cores = 1, int64_t start = 1)
      : account_((OpenSlot(page, slot), page), slot), items_(std::move(items)), cores_(cores), next_(start) {}

  int64_t NextEvent() const { return next_; }
  bool Running() const { return state_ == State::kRunning; }
  bool Waiting() const { return state_ == State::kWaiting; }
  int64_t used() const { return used_; }
  int64_t longest_wait() const { return longest_wait_; }

  void On(TimePoint now) {
    if (now.since_epoch.count() >= next_ && state_ == State::kRunning) Finish(now);
    if (now.since_epoch.count() >= next_ && state_ == State::kPausing) Arrive(now);
    if (state_ == State::kWaiting) Try(now);
  }

 private:
  enum class State { kPausing, kWaiting, kRunning };

  void Finish(TimePoint now) {
    const auto used = static_cast<int64_t>(static_cast<double>(Current().takes) * cores_);
    account_.Settle(now, Nanoseconds(used));
    used_ += used;
    state_ = State::kPausing;
    next_ = now.since_epoch.count() + Current().pause;
    if (Current().pause > 0) account_.Leave();
    index_ = (index_ + 1) % items_.size();
  }
  void Arrive(TimePoint now) {
    if (!account_.TakesPart()) account_.Join(now);
    state_ = State::kWaiting;
    arrived_ = now.since_epoch.count();
  }
  void Try(TimePoint now) {
    const int64_t time = now.since_epoch.count(), wait = account_.Wait(now).count();
    if (wait > 0) {
      next_ = time + wait;
      return;
    }
    if (time > arrived_) {
      account_.Waited(now);
      longest_wait_ = std::max(longest_wait_, time - arrived_);
    }
    state_ = State::kRunning;
    next_ = Current().takes == kNever ? kNever : time + Current().takes;
  }
  const Item& Current() const { return items_[index_]; }

  ShareAccount account_;
  const std::vector<Item> items_;
  const double cores_;
  State state_ = State::kPausing;
  size_t index_ = 0;
  int64_t next_, arrived_ = 0, used_ = 0, longest_wait_ = 0;
};

class ScriptedDevice {
 public:
  ScriptedSession& Add(std::vector<Item> items, double cores = 1, int64_t start = 1) {
    return sessions_.emplace_back(page(), static_cast<uint32_t>(sessions_.size()), std::move(items), cores, start);
  }
  // False if at some time nobody ran although somebody waited.
  bool RunUntil(int64_t end) {
    bool always_busy = true;
    for (;;) {
      int64_t next = kNever;
      for (const ScriptedSession& session : sessions_) next = std::min(next, session.NextEvent());
      if (next >= end) return always_busy;
      // Twice: what one does may let another go on at once.
      for (int round = 0; round < 2; ++round) {
        for (ScriptedSession& session : sessions_) session.On({Nanoseconds(next)});
      }
      const auto any = [this](auto state) { return std::any_of(sessions_.begin(), sessions_.end(), state); };
      const bool waits = any([](const ScriptedSession& s) { return s.Waiting(); });
      always_busy = always_busy && (!waits || any([](const ScriptedSession& s) { return s.Running(); }));
    }
  }
  SharePage& page() { return *page_; }

 private:
  std::unique_ptr<SharePage> page_ = std::make_unique<SharePage>();
  std::deque<ScriptedSession> sessions_;
};

double ShareOf(const ScriptedSession& one, const ScriptedSession& other) {
  return static_cast<double>(one.used()) / static_cast<double>(one.used() + other.used());
}

TEST(ShareAccountTest, WhoIsAloneNeverWaits) {
  ScriptedDevice device;
  const ScriptedSession& only = device.Add({{7 * kMs, 0}});
  EXPECT_TRUE(device.RunUntil(10'000 * kMs));
  EXPECT_EQ(only.used(), 9'996 * kMs);
  EXPECT_EQ(only.longest_wait(), 0);
}

TEST(ShareAccountTest, DeepQueuesOfLongKernelsLeaveShortOnesTheirHalf) {
  ScriptedDevice device;
  const ScriptedSession& greedy = device.Add({{20 * kMs, 0}});
  const ScriptedSession& brief = device.Add({{kMs / 10, 0}});
  EXPECT_TRUE(device.RunUntil(10'000 * kMs));
  EXPECT_NEAR(ShareOf(brief, greedy), 0.5, 0.01);
}

TEST(ShareAccountTest, TimeThatOneSessionLeavesIsTheOthers) {
  ScriptedDevice device;
  const ScriptedSession& greedy = device.Add({{20 * kMs, 0}});
  // An inference of 2 ms, every 20 ms.
  const ScriptedSession& rare = device.Add({{2 * kMs, 18 * kMs}});
  EXPECT_TRUE(device.RunUntil(10'000 * kMs));
  EXPECT_EQ(rare.longest_wait(), 0);
  EXPECT_GE(rare.used(), 990 * kMs);
  EXPECT_GE(greedy.used(), 8'000 * kMs);
}

TEST(ShareAccountTest, WhoCanUseLessThanItsPartHoldsNobodyBelowTheirs) {
  ScriptedDevice device;
  const ScriptedSession& narrow = device.Add({{kMs, 0}}, 1.0 / 16);
  const ScriptedSession& wide = device.Add({{5 * kMs, 0}});
  EXPECT_TRUE(device.RunUntil(10'000 * kMs));
  EXPECT_NEAR(static_cast<double>(narrow.used()), 10'000.0 * kMs / 16, 10.0 * kMs);  // all it can use
  EXPECT_GE(wide.used(), 4'900 * kMs);
}

TEST(ShareAccountTest, AKernelThatNeverEndsHoldsNobodyUp) {
  ScriptedDevice device;
  device.Add({{kNever, 0}});
  const ScriptedSession& other = device.Add({{kMs, 0}});
  EXPECT_TRUE(device.RunUntil(10'000 * kMs));
  EXPECT_GE(other.used(), 4'900 * kMs);
}

TEST(ShareAccountTest, HavingBeenIdleIsNoCredit) {
  ScriptedDevice device;
  const ScriptedSession& early = device.Add({{kMs, 0}});
  const ScriptedSession& late = device.Add({{kMs, 0}}, 1, 5'000 * kMs);
  EXPECT_TRUE(device.RunUntil(5'000 * kMs));
  const int64_t before = early.used();
  EXPECT_TRUE(device.RunUntil(10'000 * kMs));
  EXPECT_NEAR(static_cast<double>(early.used() - before), static_cast<double>(late.used()), 5.0 * kMs);
}

TEST(ShareAccountTest, ASessionBeginsWhereTheLastOnesStopped) {
  ScriptedDevice device;
  const ScriptedSession& first = device.Add({{1'000 * kMs, 100 * kMs}, {kMs, 10'000 * kMs}});
  // Begins while nobody takes part: were its account empty, the first would have to wait until it has used a second.
  const ScriptedSession& second = device.Add({{kMs, 0}}, 1, 1'050 * kMs);
  EXPECT_TRUE(device.RunUntil(1'200 * kMs));
  EXPECT_EQ(first.longest_wait(), 0);
  EXPECT_EQ(first.used(), 1'001 * kMs);
  EXPECT_GT(second.used(), 0);
}

TEST(ShareAccountTest, AClosedSlotIsNobody) {
  ScriptedDevice device;
  device.Add({{kNever, 0}});
  const ScriptedSession& other = device.Add({{kMs, 0}});
  EXPECT_TRUE(device.RunUntil(100 * kMs));
  CloseSlot(device.page(), 0);
  const int64_t before = other.used();
  EXPECT_TRUE(device.RunUntil(200 * kMs));
  EXPECT_GE(other.used() - before, 98 * kMs);
}

std::vector<Item> AnyItems(int64_t longest_pause) {
  const auto count = *rc::gen::inRange<size_t>(1, 6);
  return *rc::gen::container<std::vector<Item>>(
      count, rc::gen::construct<Item>(rc::gen::inRange<int64_t>(kMs / 10, 30 * kMs),
                                      rc::gen::inRange<int64_t>(0, longest_pause + 1)));
}

RC_GTEST_PROP(ShareAccountProperty, WhoAlwaysHasWorkIsNeverFarBehindAnother, ()) {
  ScriptedDevice device;
  const auto count = *rc::gen::inRange(2, 6);
  std::vector<const ScriptedSession*> backlogged;
  for (int i = 0; i < count; ++i) backlogged.push_back(&device.Add(AnyItems(0)));
  const auto others = *rc::gen::inRange(0, 4);
  for (int i = 0; i < others; ++i) device.Add(AnyItems(50 * kMs), *rc::gen::element(0.1, 0.5, 1.0));
  RC_ASSERT(device.RunUntil(400 * kMs));
  const auto by_use = [](const auto* a, const auto* b) { return a->used() < b->used(); };
  const auto [least, most] = std::minmax_element(backlogged.begin(), backlogged.end(), by_use);
  RC_ASSERT((*most)->used() - (*least)->used() <= kShareLead.count() + 2 * 30 * kMs);
}

RC_GTEST_PROP(ShareAccountProperty, NobodyWaitsLongerThanTheSessionsTimesTheLongestWork, ()) {
  ScriptedDevice device;
  const auto count = *rc::gen::inRange(1, 9);
  std::vector<const ScriptedSession*> sessions;
  for (int i = 0; i < count; ++i) {
    const int64_t start = *rc::gen::inRange<int64_t>(1, 100 * kMs);
    sessions.push_back(
        &device.Add(AnyItems(*rc::gen::element<int64_t>(0, 0, 100 * kMs)), *rc::gen::element(0.1, 0.5, 1.0), start));
  }
  RC_ASSERT(device.RunUntil(400 * kMs));
  const int64_t bound = count * (kShareLead.count() + 30 * kMs);
  for (const ScriptedSession* session : sessions) RC_ASSERT(session->longest_wait() <= bound);
}

}  // namespace
}  // namespace wharf::server
