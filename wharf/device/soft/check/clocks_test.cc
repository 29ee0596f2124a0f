#include "wharf/device/soft/check/clocks.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <set>
#include <vector>

namespace wharf::device::soft::check {
namespace {

TEST(BlockClocks, NothingOrdersThreadsThatDoNotMeet) {
  BlockClocks clocks;
  clocks.Start(64);
  EXPECT_FALSE(clocks.IsOrdered(0, clocks.Now(0), 1));
  EXPECT_FALSE(clocks.IsOrdered(0, clocks.Now(0), 40));
  EXPECT_TRUE(clocks.IsOrdered(5, clocks.Now(5), 5)) << "a thread's own doings are in order";
}

TEST(BlockClocks, AWarpsBarrierOrdersItsLanesOnly) {
  BlockClocks clocks;
  clocks.Start(64);
  const uint32_t before = clocks.Now(3);
  clocks.MeetInWarp(0, 0xff);
  EXPECT_TRUE(clocks.IsOrdered(3, before, 7));
  EXPECT_FALSE(clocks.IsOrdered(3, before, 8)) << "not of the mask";
  EXPECT_FALSE(clocks.IsOrdered(3, before, 35)) << "another warp";
  EXPECT_FALSE(clocks.IsOrdered(3, clocks.Now(3), 7)) << "what comes after";
}

TEST(BlockClocks, WhoArrivesIsBeforeThoseThatWait) {
  BlockClocks clocks;
  clocks.Start(64);
  const uint32_t producer = clocks.Now(2), consumer = clocks.Now(40);
  clocks.Arrive(1, 2);
  const std::vector<uint32_t> waiting = {0, 1U << 8};
  clocks.MeetAt(1, waiting);
  EXPECT_TRUE(clocks.IsOrdered(2, producer, 40));
  EXPECT_FALSE(clocks.IsOrdered(40, consumer, 2)) << "it did not wait";
  EXPECT_FALSE(clocks.IsOrdered(2, clocks.Now(2), 40)) << "what it did after it had arrived";
}

// What each thread knows, as sets of all accesses.
struct Oracle {
  struct Access {
    uint32_t thread, clock, interval;
  };
  explicit Oracle(uint32_t threads) : known(threads) {}

  void Meet(const std::vector<uint32_t>& threads, std::set<size_t> joined = {}) {
    for (const uint32_t t : threads) joined.insert(known[t].begin(), known[t].end());
    for (const uint32_t t : threads) known[t] = joined;
  }

  std::vector<Access> accesses;
  std::vector<std::set<size_t>> known;
  std::map<uint32_t, std::set<size_t>> arrived;
};

std::vector<uint32_t> ThreadsOf(const std::vector<uint32_t>& lanes) {
  std::vector<uint32_t> threads;
  for (uint32_t i = 0; i < lanes.size() * 32; ++i) {
    if ((lanes[i / 32] >> i % 32 & 1) != 0) threads.push_back(i);
  }
  return threads;
}

RC_GTEST_PROP(BlockClocks, KnowWhatASetOfAllAccessesKnows, ()) {
  const auto warps = *rc::gen::inRange<uint32_t>(1, 4);
  const uint32_t threads = warps * 32;
  BlockClocks clocks;
  clocks.Start(*rc::gen::inRange<uint32_t>(1, 200));  // of a block before
  clocks.MeetAt(0, std::vector<uint32_t>{1});
  clocks.Start(threads);
  Oracle oracle(threads);
  const auto lanes = [] { return *rc::gen::arbitrary<uint32_t>() | 1; };
  const auto steps = *rc::gen::inRange(1, 60);
  for (int i = 0; i < steps; ++i) {
    const auto thread = *rc::gen::inRange<uint32_t>(0, threads);
    const auto what = *rc::gen::inRange(0, 12);
    const auto barrier = *rc::gen::inRange<uint32_t>(0, 3);
    if (what < 6) {
      oracle.known[thread].insert(oracle.accesses.size());
      oracle.accesses.push_back({thread, clocks.Now(thread), clocks.interval()});
    } else if (what < 9) {
      std::vector<uint32_t> meeting(warps);
      meeting[thread / 32] = lanes();
      clocks.MeetInWarp(thread / 32, meeting[thread / 32]);
      oracle.Meet(ThreadsOf(meeting));
    } else if (what == 9) {
      clocks.Arrive(barrier, thread);
      oracle.arrived[barrier].insert(oracle.known[thread].begin(), oracle.known[thread].end());
    } else if (what == 10) {
      std::vector<uint32_t> meeting(warps);
      for (uint32_t& mask : meeting) mask = lanes();
      clocks.MeetAt(barrier, meeting);
      oracle.Meet(ThreadsOf(meeting), std::exchange(oracle.arrived[barrier], {}));
    } else {
      clocks.MeetAll();
      oracle.Meet(ThreadsOf(std::vector<uint32_t>(warps, ~0U)));
    }
  }
  for (size_t i = 0; i < oracle.accesses.size(); ++i) {
    const Oracle::Access& access = oracle.accesses[i];
    for (uint32_t thread = 0; thread < threads; ++thread) {
      const bool ordered =
          access.interval != clocks.interval() || clocks.IsOrdered(access.thread, access.clock, thread);
      RC_ASSERT(ordered == oracle.known[thread].contains(i));
    }
  }
}

}  // namespace
}  // namespace wharf::device::soft::check
