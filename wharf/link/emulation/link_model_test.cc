// LinkModel against a brute-force simulation and the laws it must keep; traces as files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "wharf/link/emulation/emulator.h"

namespace wharf::link {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;
using testing::HasSubstr;

constexpr TimePoint kStart{seconds(1000)};

LinkProfile Constant(double bits_per_second) {
  LinkProfile profile;
  profile.trace = BandwidthTrace::Constant(bits_per_second);
  return profile;
}

TEST(LinkModelTest, ConstantRateAndDelay) {
  LinkProfile profile = Constant(8e6);  // 1 byte a microsecond
  profile.round_trip = milliseconds(4);
  LinkModel model(profile, kStart);
  const auto first = model.Send(kStart, 1000);
  EXPECT_EQ(first.sent - kStart, microseconds(1000));
  EXPECT_EQ(first.delivered - kStart, microseconds(3000));
  // Handed over while the first is being sent: behind it.
  const auto second = model.Send(kStart + microseconds(10), 500);
  EXPECT_EQ(second.sent - kStart, microseconds(1500));
  // After a pause: at once.
  const auto third = model.Send(kStart + milliseconds(10), 1);
  EXPECT_EQ(third.sent - kStart, microseconds(10'001));
  EXPECT_EQ(third.delivered - third.sent, milliseconds(2));
}

TEST(LinkModelTest, WithoutATraceOnlyTheDelayCounts) {
  LinkProfile profile;
  profile.round_trip = milliseconds(2);
  LinkModel model(profile, kStart);
  const auto times = model.Send(kStart, 1 << 30);
  EXPECT_EQ(times.sent, kStart);
  EXPECT_EQ(times.delivered - kStart, milliseconds(1));
}

TEST(LinkModelTest, FollowsTheTraceAndRepeatsIt) {
  LinkProfile profile;
  profile.trace = {milliseconds(1), {8e6, 0, 16e6}};  // 1000, 0, 2000 bytes a step
  LinkModel model(profile, kStart);
  EXPECT_EQ(model.Send(kStart, 1500).sent - kStart, microseconds(2250));
  EXPECT_EQ(model.Send(kStart, 1500).sent - kStart, microseconds(3000));
  EXPECT_EQ(model.Send(kStart, 1001).sent - kStart, nanoseconds(5'000'500));
}

TEST(LinkModelTest, NothingLeavesOrArrivesDuringAnOutage) {
  LinkProfile profile = Constant(8e6);
  profile.round_trip = milliseconds(2);
  profile.outages = {{milliseconds(10), milliseconds(5)}, {milliseconds(12), milliseconds(8)}};  // 10 to 20 ms
  LinkModel model(profile, kStart);
  // Half of it before the outage, half behind.
  const auto cut = model.Send(kStart + milliseconds(9), 2000);
  EXPECT_EQ(cut.sent - kStart, milliseconds(21));
  EXPECT_EQ(cut.delivered - kStart, milliseconds(22));
  LinkModel other(profile, kStart);
  // Sent before, under way when the outage begins.
  const auto late = other.Send(kStart + microseconds(9300), 100);
  EXPECT_EQ(late.sent - kStart, microseconds(9400));
  EXPECT_EQ(late.delivered - kStart, milliseconds(20));
}

TEST(LinkModelTest, ALinkWithoutBandwidthNeverDelivers) {
  LinkModel model(Constant(0), kStart);
  EXPECT_EQ(model.Send(kStart, 1).delivered, LinkModel::kNever);
  EXPECT_EQ(model.Send(kStart + seconds(1), 1).delivered, LinkModel::kNever);
}

TEST(LinkModelTest, ASlowLinkIsComputedInOneGo) {
  LinkProfile profile;
  profile.trace = {microseconds(1), {0.001, 0.003}};  // 0.002 bit/s: 4000 s for a byte, in steps of 1 us
  LinkModel model(profile, kStart);
  EXPECT_NEAR(Seconds(model.Send(kStart, 1).sent - kStart), 4000, 1e-3);
}

TEST(LinkModelTest, RoundingDoesNotAddUp) {
  LinkModel model(Constant(93e6), kStart);
  TimePoint last;
  for (int i = 0; i < 100'000; ++i) last = model.Send(kStart, 1448).sent;
  EXPECT_NEAR(Seconds(last - kStart), 100'000 * 1448 * 8 / 93e6, 1e-7);
}

TEST(LinkModelTest, RestartBeginsTheTraceAnew) {
  LinkProfile profile;
  profile.trace = {seconds(1), {8e6, 8e3}};
  LinkModel model(profile, kStart);
  const TimePoint later = kStart + milliseconds(1500);
  EXPECT_EQ(model.Send(later, 1).sent - later, milliseconds(1));
  model.Restart(later + milliseconds(1));
  EXPECT_EQ(model.Send(later + milliseconds(1), 1).sent - later, microseconds(1001));
}

TEST(LinkModelTest, SameSeedSameJitter) {
  LinkProfile profile;
  profile.jitter = milliseconds(3);
  LinkModel a(profile, kStart), b(profile, kStart);
  profile.seed = 2;
  LinkModel c(profile, kStart);
  bool differs = false;
  Nanoseconds least = seconds(1), most{0};
  for (int i = 0; i < 1000; ++i) {
    const TimePoint now = kStart + seconds(i);
    const Nanoseconds delay = a.Send(now, 1).delivered - now;
    EXPECT_EQ(b.Send(now, 1).delivered - now, delay);
    differs |= c.Send(now, 1).delivered - now != delay;
    least = std::min(least, delay);
    most = std::max(most, delay);
  }
  EXPECT_TRUE(differs);
  EXPECT_LT(least, microseconds(100));
  EXPECT_GT(most, microseconds(2900));
  EXPECT_LT(most, milliseconds(3));
}

// --- properties ---

struct Packet {
  TimePoint now;
  size_t bytes;
};

LinkProfile AnyProfile() {
  LinkProfile profile;
  profile.trace.step = microseconds(*rc::gen::inRange(100, 5000));
  const auto rates = *rc::gen::nonEmpty(rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 200)));
  for (const int mbps : rates) profile.trace.bits_per_second.push_back(mbps * 1e6);
  profile.trace.bits_per_second.push_back(1e6);  // some bandwidth
  profile.round_trip = microseconds(*rc::gen::inRange(0, 20'000));
  profile.jitter = microseconds(*rc::gen::inRange(0, 5000));
  const int outages = *rc::gen::inRange(0, 3);
  for (int i = 0; i < outages; ++i) {
    profile.outages.push_back({microseconds(*rc::gen::inRange(0, 50'000)), microseconds(*rc::gen::inRange(0, 20'000))});
  }
  return profile;
}

std::vector<Packet> AnyPackets() {
  std::vector<Packet> packets;
  TimePoint now = kStart;
  const int count = *rc::gen::inRange(1, 60);
  for (int i = 0; i < count; ++i) {
    now = now + microseconds(*rc::gen::element(0, 1, 50, 400, 3000));
    packets.push_back({now, static_cast<size_t>(*rc::gen::inRange(0, 3000))});
  }
  return packets;
}

bool InOutage(const LinkProfile& profile, TimePoint t) {
  return std::any_of(profile.outages.begin(), profile.outages.end(),
                     [t](const Outage& o) { return t >= kStart + o.start && t < kStart + o.start + o.length; });
}

double RateAt(const LinkProfile& profile, TimePoint t) {
  if (InOutage(profile, t)) return 0;
  const auto index = static_cast<size_t>((t - kStart) / profile.trace.step);
  return profile.trace.bits_per_second[index % profile.trace.bits_per_second.size()];
}

RC_GTEST_PROP(LinkModelProperty, DelayOrderAndSilenceDuringOutages, ()) {
  const LinkProfile profile = AnyProfile();
  LinkModel model(profile, kStart);
  TimePoint last_sent = kStart, last_delivered = kStart;
  for (const Packet& packet : AnyPackets()) {
    const auto times = model.Send(packet.now, packet.bytes);
    RC_ASSERT(times.sent >= packet.now);
    RC_ASSERT(times.sent >= last_sent);
    RC_ASSERT(times.delivered >= last_delivered);
    RC_ASSERT(times.delivered - times.sent >= profile.round_trip / 2);
    RC_ASSERT(!InOutage(profile, times.delivered));
    last_sent = times.sent;
    last_delivered = times.delivered;
  }
}

// Microsecond by microsecond: what has left by any time never exceeds what the trace could carry since the packets
// came, and each packet leaves within a step of the simulation of the time the model says.
RC_GTEST_PROP(LinkModelProperty, AgreesWithAFineStepSimulation, ()) {
  const LinkProfile profile = AnyProfile();
  const auto packets = AnyPackets();
  LinkModel model(profile, kStart);
  const Nanoseconds tick = microseconds(1);
  TimePoint t = kStart;
  double carried_bits = 0;  // of the packet at the head of the queue
  for (const Packet& packet : packets) {
    const auto times = model.Send(packet.now, packet.bytes);
    if (packet.now >= t) {  // the link was idle, or just about to be
      t = packet.now;
      carried_bits = 0;
    }
    const double bits = static_cast<double>(packet.bytes) * 8;
    while (carried_bits < bits) {
      carried_bits += RateAt(profile, t) * Seconds(tick);
      t = t + tick;
      RC_ASSERT(t < kStart + seconds(60));
    }
    carried_bits -= bits;
    if (packet.bytes == 0) continue;
    const Nanoseconds difference = t - times.sent;
    // The simulation rounds up to its tick.
    RC_ASSERT(difference >= -nanoseconds(2));
    RC_ASSERT(difference <= tick + nanoseconds(2));
  }
}

RC_GTEST_PROP(LinkModelProperty, NeverCarriesMoreThanTheIntegralOfTheTrace, ()) {
  const LinkProfile profile = AnyProfile();
  LinkModel model(profile, kStart);
  const auto packets = AnyPackets();
  double sent_bits = 0, capacity_bits = 0;
  TimePoint t = kStart;
  for (const Packet& packet : packets) {
    const auto times = model.Send(packet.now, packet.bytes);
    sent_bits += static_cast<double>(packet.bytes) * 8;
    while (t < times.sent) {  // exact: all boundaries of the trace and the outages are whole microseconds
      const Nanoseconds part = std::min<Nanoseconds>(microseconds(1) - t.since_epoch % microseconds(1), times.sent - t);
      capacity_bits += RateAt(profile, t) * Seconds(part);
      t = t + part;
    }
    RC_ASSERT(sent_bits <= capacity_bits * (1 + 1e-9) + 1e-3);
  }
}

// --- validation and files ---

TEST(RandomOutagesTest, FollowEachOtherWithTheMeansAskedForAndTheSameBySeed) {
  const auto outages = RandomOutages(seconds(20), seconds(2), std::chrono::hours(24), 7);
  Nanoseconds down{0}, end{0};
  for (const Outage& outage : outages) {
    ASSERT_GE(outage.start, end);
    ASSERT_LT(outage.start, std::chrono::hours(24));
    end = outage.start + outage.length;
    down += outage.length;
  }
  const auto count = static_cast<double>(outages.size());
  EXPECT_NEAR(count, 86400 / 22.0, 300);  // five standard deviations
  EXPECT_NEAR(Seconds(down) / count, 2.0, 0.2);
  EXPECT_EQ(RandomOutages(seconds(20), seconds(2), std::chrono::hours(24), 7).size(), outages.size());
  EXPECT_NE(RandomOutages(seconds(20), seconds(2), std::chrono::hours(24), 8).front().start, outages.front().start);
}

TEST(ValidateTest, RefusesWhatMakesNoSense) {
  EXPECT_EQ(Validate(Constant(1e6)), absl::OkStatus());
  EXPECT_EQ(Validate(LinkProfile{}), absl::OkStatus());
  EXPECT_EQ(Validate(Constant(-1)).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Validate(Constant(NAN)).code(), absl::StatusCode::kInvalidArgument);
  LinkProfile profile;
  profile.round_trip = milliseconds(-1);
  EXPECT_EQ(Validate(profile).code(), absl::StatusCode::kInvalidArgument);
  profile = {};
  profile.trace.bits_per_second = {1e6};
  EXPECT_EQ(Validate(profile).code(), absl::StatusCode::kInvalidArgument);
  profile = {};
  profile.outages = {{seconds(-1), seconds(2)}};
  EXPECT_EQ(Validate(profile).code(), absl::StatusCode::kInvalidArgument);
}

class TraceTest : public testing::Test {
 protected:
  absl::StatusOr<BandwidthTrace> Load(const std::string& text) {
    const auto path = std::filesystem::path(testing::TempDir()) / fmt::format("wharf_trace_{}.csv", getpid());
    std::ofstream(path) << text;
    auto trace = BandwidthTrace::Load(path.string());
    std::filesystem::remove(path);
    return trace;
  }
};

TEST_F(TraceTest, ReadsCommentsHeaderAndRows) {
  const auto trace = Load("# origin: somewhere\ntime_s,mbps\n0.0,83.105\n0.1,0\r\n# in between\n0.2,1e1\n");
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_EQ(trace->step, milliseconds(100));
  EXPECT_THAT(trace->bits_per_second, testing::ElementsAre(83.105e6, 0, 10e6));
}

TEST_F(TraceTest, NamesTheLineThatIsWrong) {
  const std::pair<const char*, const char*> cases[] = {
      {"time_s,mbps\n0.0,1\nx,2\n", "line 3"}, {"0.0,1\n0.1\n", "line 2"},       {"0.0,-1\n", "line 1"},
      {"0.0,1\n0.1,2\n0.3,3\n", "line 3"},     {"0.0,1\n0.0,2\n", "line 2"},     {"0.0,nan\n", "line 1"},
      {"0.0,1\n0.1,2 Mbit\n", "line 2"},       {"# nothing\n", "any bandwidth"}, {"0.0,0\n0.1,0\n", "any bandwidth"},
  };
  for (const auto& [text, expected] : cases) {
    const auto status = Load(text).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(ToString(status), HasSubstr(expected)) << text;
  }
  EXPECT_EQ(BandwidthTrace::Load("/nowhere/trace.csv").status().code(), absl::StatusCode::kNotFound);
}

TEST(ShippedTraceTest, AllLoad) {
  int loaded = 0;
  for (const auto& entry : std::filesystem::directory_iterator(WHARF_TRACES)) {
    const auto trace = BandwidthTrace::Load(entry.path().string());
    ASSERT_TRUE(trace.ok()) << trace.status();
    EXPECT_EQ(trace->step, milliseconds(100));
    EXPECT_GT(trace->bits_per_second.size(), 3000u);
    ++loaded;
  }
  EXPECT_GE(loaded, 5);
}

}  // namespace
}  // namespace wharf::link
