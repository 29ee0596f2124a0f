#include "wharf/pipeline/runtime/client_shares.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "wharf/pipeline/dataplane/simulator.h"
#include "wharf/pipeline/dataplane/testing.h"

namespace wharf::pipeline {
namespace {

constexpr Nanoseconds kMs = std::chrono::milliseconds(1);

TEST(MaxMinShare, WhoAsksForLittleKeepsIt) {
  EXPECT_DOUBLE_EQ(MaxMinShare({10, 500, 30}, 100), 60);
  EXPECT_DOUBLE_EQ(MaxMinShare({500, 500}, 100), 50);
  EXPECT_EQ(MaxMinShare({40, 60}, 100), std::numeric_limits<double>::infinity());
  EXPECT_EQ(MaxMinShare({}, 100), std::numeric_limits<double>::infinity());
}

RC_GTEST_PROP(MaxMinShareProperty, AllThatThereIsIsGivenAway, ()) {
  std::vector<double> asked(*rc::gen::inRange<size_t>(1, 20));
  for (double& one : asked) one = *rc::gen::inRange(1, 1000);
  const double capacity = *rc::gen::inRange(1, 5000);
  const double share = MaxMinShare(asked, capacity);
  double given = 0, wanted = 0;
  for (const double one : asked) {
    given += std::min(one, share);
    wanted += one;
  }
  RC_ASSERT(std::abs(given - std::min(capacity, wanted)) < 1e-6 * capacity);
}

// Clients that ask at random, each at its rate, for `seconds`; who asked, by time.
struct Asking {
  TimePoint at;
  ClientId client;
};
std::vector<Asking> AskAtRandom(const std::vector<double>& rates, double seconds, uint64_t seed) {
  std::vector<Asking> all;
  for (ClientId client = 0; client < rates.size(); ++client) {
    for (const Arrival& one : PoissonArrivals({rates[client]}, seconds, seed + client)) all.push_back({one.at, client});
  }
  std::ranges::stable_sort(all, {}, &Asking::at);
  return all;
}

// Requests/s of each that are let through in the second half; where the scheduler had no room in the first second.
std::vector<double> LetThrough(const std::vector<double>& rates, double planned, bool crowded) {
  constexpr double kSeconds = 20;
  ClientShares shares;
  std::vector<double> through(rates.size());
  for (const Asking& one : AskAtRandom(rates, kSeconds, 1)) {
    const bool admitted = shares.Admit(one.client, planned, one.at);
    if (admitted && one.at.since_epoch > std::chrono::seconds(10)) through[one.client] += 2 / kSeconds;
    if (crowded && one.at.since_epoch < std::chrono::seconds(1)) shares.NoCapacity();
  }
  return through;
}

TEST(ClientShares, NobodyIsHeldBackWhileThereIsRoom) {
  const std::vector<double> through = LetThrough({50, 2000}, 100, false);
  EXPECT_NEAR(through[0], 50, 10);
  EXPECT_NEAR(through[1], 2000, 100);
}

TEST(ClientShares, WhoIsAloneIsNotHeldBack) { EXPECT_NEAR(LetThrough({2000}, 100, true)[0], 2000, 100); }

TEST(ClientShares, AFloodTakesWhatTheOthersLeave) {
  const std::vector<double> through = LetThrough({20, 5000, 10}, 100, true);
  EXPECT_NEAR(through[0], 20, 4);
  EXPECT_NEAR(through[2], 10, 3);
  EXPECT_NEAR(through[1], 95 - 30, 8);
}

TEST(ClientShares, FloodsShareEvenly) {
  for (const double one : LetThrough({5000, 800, 300, 10000}, 400, true)) EXPECT_NEAR(one, 95, 8);
}

TEST(ClientShares, WhereTheSchedulerStillHasNoRoomLessIsGivenAway) {
  ClientShares shares;
  int admitted = 0;
  for (const Asking& one : AskAtRandom({1000, 1000}, 20, 1)) {
    const bool through = shares.Admit(one.client, 100, one.at);
    if (through && one.at.since_epoch > std::chrono::seconds(10)) ++admitted;
    shares.NoCapacity();
  }
  EXPECT_NEAR(admitted / 10.0, 40, 4);
}

TEST(ClientShares, WhenTheFloodIsOverNobodyIsHeldBack) {
  ClientShares shares;
  TimePoint now;
  for (int i = 0; i < 5000; ++i, now = now + kMs) {
    shares.Admit(i % 10 == 0 ? 1 : 2, 100, now);
    shares.NoCapacity();
  }
  now = now + std::chrono::seconds(1);
  for (int i = 0; i < 200; ++i, now = now + 5 * kMs) {
    const bool admitted = shares.Admit(1 + i % 2, 1000, now);
    EXPECT_TRUE(admitted || i == 0) << i;
  }
}

TEST(ClientShares, WhoIsGoneIsForgotten) {
  ClientShares shares;
  TimePoint now;
  for (ClientId client = 0; client < 10000; ++client, now = now + kMs) shares.Admit(client, 100, now);
  EXPECT_LE(shares.Clients(), 1001u);
}

// What one client is answered in time beside another that asks for ten times what there is, by the scheduler itself.
double AttainmentBesideAFlood(bool shared) {
  DeploymentBuilder builder;  // batches of four, 20 ms, on two GPUs: 400 requests/s
  const std::vector<int> gpus = builder.AddHost(2, 1);
  const std::vector<Nanoseconds> times = {8 * kMs, 12 * kMs, 16 * kMs, 20 * kMs};
  builder.AddPipeline(builder.AddModel(60 * kMs, 400), {{gpus, times, 0}});
  ClientShares shares;
  std::vector<Arrival> arrivals;
  std::vector<ClientId> clients;
  for (const Asking& one : AskAtRandom({100, 4000}, 20, 7)) {
    if (shared && !shares.Admit(one.client, 400, one.at)) continue;
    if (one.at.since_epoch < std::chrono::seconds(1)) shares.NoCapacity();
    arrivals.push_back({one.at, 0});
    clients.push_back(one.client);
  }
  SimulationOptions options;
  options.seconds = 20;
  options.keep_records = true;
  const SimulationResult result = Simulate(builder.Build(), arrivals, options);
  double asked = 0, on_time = 0;
  for (const RequestRecord& record : result.records) {
    if (clients[record.request.id] != 0 || record.request.arrival.since_epoch < std::chrono::seconds(1)) continue;
    ++asked;
    if (record.fate == Fate::kOnTime) ++on_time;
  }
  return on_time / asked;
}

TEST(ClientShares, WhoAsksForItsShareIsAnsweredInTimeBesideAFlood) {
  EXPECT_LT(AttainmentBesideAFlood(false), 0.2);
  EXPECT_GT(AttainmentBesideAFlood(true), 0.97);
}

}  // namespace
}  // namespace wharf::pipeline
