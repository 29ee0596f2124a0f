#include "wharf/pipeline/dataplane/network_model.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>

#include "wharf/pipeline/dataplane/scheduler.h"
#include "wharf/pipeline/dataplane/testing.h"

namespace wharf::pipeline {
namespace {

TimePoint At(int64_t ns) { return {Nanoseconds(ns)}; }

// Three hosts whose links carry 1, 2 and 4 bytes/ns.
Deployment ThreeHosts() {
  DeploymentBuilder builder;
  for (const double bytes_per_ns : {1.0, 2.0, 4.0}) builder.AddHost(1, bytes_per_ns);
  return builder.Build();
}

TEST(NetworkModel, ALoneTransferTakesWhatThePlanSays) {
  const Deployment deployment = ThreeHosts();
  NetworkModel network(deployment);
  EXPECT_EQ(network.NextEnd(), kNever);
  network.Start(7, 1, 0, 1001, At(50));
  EXPECT_EQ(network.NextEnd(), At(50) + deployment.TransferTime(1, 0, 1001));
  EXPECT_EQ(network.TakeNext().id, 7u);
  EXPECT_EQ(network.NextEnd(), kNever);
}

TEST(NetworkModel, TransfersToOneHostShareItsLink) {
  const Deployment deployment = ThreeHosts();
  NetworkModel network(deployment);
  network.Start(1, 1, 0, 1000, At(0));
  network.Start(2, 2, 0, 1000, At(500));  // both at 0.5 bytes/ns from here on
  EXPECT_EQ(network.TakeNext().end, At(1500));
  EXPECT_EQ(network.TakeNext().end, At(2000));
}

TEST(NetworkModel, BothDirectionsOfALinkAreItsWidth) {
  const Deployment deployment = ThreeHosts();
  NetworkModel network(deployment);
  network.Start(1, 1, 0, 1000, At(0));
  network.Start(2, 0, 1, 1000, At(0));
  EXPECT_EQ(network.TakeNext().end, At(1000));
  EXPECT_EQ(network.TakeNext().end, At(1000));
}

// Over any run, no link has carried more than it can, and every transfer takes at least its time alone.
RC_GTEST_PROP(NetworkModelProperty, NoLinkCarriesMoreThanItCan, ()) {
  const Deployment deployment = ThreeHosts();
  NetworkModel network(deployment);
  const int transfers = *rc::gen::inRange(1, 20);
  struct Sent {
    int from, to;
    double bytes;
    TimePoint start;
  };
  std::map<uint64_t, Sent> sent;
  std::map<int, double> carried;  // by host: up; by host + 3: down
  TimePoint now, last;
  const auto take = [&] {
    const NetworkModel::Transfer done = network.TakeNext();
    RC_ASSERT(done.end >= last);
    last = done.end;
    const Sent& one = sent.at(done.id);
    RC_ASSERT(done.start == one.start);
    RC_ASSERT(done.end - done.start >= deployment.TransferTime(one.from, one.to, one.bytes) - Nanoseconds(1));
    carried[one.from] += one.bytes;
    carried[3 + one.to] += one.bytes;
  };
  for (int i = 0; i < transfers; ++i) {
    now = now + Nanoseconds(*rc::gen::inRange(0, 500));
    while (network.NextEnd() <= now) take();
    const int from = *rc::gen::inRange(0, 3), to = (from + *rc::gen::inRange(1, 3)) % 3;
    sent[i] = {from, to, static_cast<double>(*rc::gen::inRange(1, 1000)), now};
    network.Start(static_cast<uint64_t>(i), from, to, sent[i].bytes, now);
  }
  while (network.NextEnd() != kNever) take();
  const double seconds_e9 = static_cast<double>(last.since_epoch.count());
  for (const auto& [link, bytes] : carried) {
    RC_ASSERT(bytes <= deployment.hosts[link % 3].link_bits_per_s / 8e9 * seconds_e9 + transfers);
  }
}

}  // namespace
}  // namespace wharf::pipeline
