// What emulated clients report of videos whose drops grow as a power of the stride, and what a server makes of it.
#include "wharf/serving/emulation/emulated_client.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "wharf/serving/emulation/emulation.h"
#include "wharf/serving/settings.h"
#include "wharf/serving/testing.h"

namespace wharf::serving {
namespace {

constexpr double kExponent = 0.5;

double DropAt(double stride, double at_one) { return at_one * std::pow(stride, kExponent); }

DropTable PowerTable(double at_one, double seconds = 20) {
  DropTableData data;
  data.video = "power";
  data.frames = static_cast<int>(seconds * data.fps);
  data.step = data.frames;  // the same from everywhere
  data.strides = {1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48};
  data.frame_bytes = 18000;
  data.result_bytes = 9000;
  data.client_s = 0.002;
  for (const int stride : data.strides) {
    const auto drop = static_cast<float>(DropAt(stride, at_one));
    data.samples.push_back({drop, drop});
  }
  return *DropTable::Make(std::move(data));
}

class EmulatedClientTest : public testing::Test {
 protected:
  // After two seconds on a server of its own.
  ClientModel Model(const track::DropCurve& curve) {
    VirtualClock clock;
    EmulatedClient::Options options{.id = 1, .table = &table_, .sla = 0.1, .start = clock.Now(), .curve = curve};
    return EmulatedClient(options, profile_).OnOtherServer(clock.Now() + std::chrono::seconds(2)).model;
  }
  const DropTable table_ = PowerTable(0.02);
  const InferenceProfile profile_ = ProfileOf({12, 17, 22, 26});
};

TEST_F(EmulatedClientTest, ReportsWhatAFrameCostsBeyondTheReference) {
  const ClientModel model = Model({kExponent, true});
  const track::OffloadSchedule reference = ReferenceOf(model, profile_);
  const double from = track::MeanStride(reference), to = std::max(reference.interval, reference.latency);
  const double slope =
      from == to ? kExponent * DropAt(to, 0.02) / to : (DropAt(to, 0.02) - DropAt(from, 0.02)) / (to - from);
  EXPECT_NEAR(model.drop_rate, slope, 1e-6);
}

TEST_F(EmulatedClientTest, ByThePublishedEstimateReportsDropOverStride) {
  const ClientModel model = Model(track::kPublishedCurve);
  const track::OffloadSchedule reference = ReferenceOf(model, profile_);
  const double stride = std::max(reference.interval, reference.latency);
  EXPECT_NEAR(model.drop_rate, DropAt(stride, 0.02) / stride, 1e-6);
}

TEST_F(EmulatedClientTest, AServerThatKnowsTheCurveServesMoreAndWrongsNobody) {
  std::vector<DropTable> tables;
  for (const double at_one : {0.01, 0.02, 0.03}) tables.push_back(PowerTable(at_one));
  EmulationOptions options;
  options.seconds = 25;
  options.warm_up_s = 5;
  options.sla_from = options.sla_to = 0.03;
  std::map<System, double> clients;
  for (const System system : {System::kArise, System::kPublishedRateArise}) {
    options.system.system = system;
    const EmulationResult result = Emulate(tables, profile_, options);
    clients[system] = result.MeanClients();
    EXPECT_GT(clients[system], 1);
    for (const ClientOutcome& client : result.clients) {
      EXPECT_TRUE(client.account.frames < 300 || client.account.MeanDrop() <= client.sla);
    }
  }
  EXPECT_GT(clients[System::kArise], 1.3 * clients[System::kPublishedRateArise]);
}

}  // namespace
}  // namespace wharf::serving
