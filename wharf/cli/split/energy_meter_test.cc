#include "wharf/cli/split/energy_meter.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace wharf::power {
namespace {

// A tree of files as a kernel shows it.
class EnergyMeterTest : public testing::Test {
 protected:
  EnergyMeterTest() : root_(std::filesystem::temp_directory_path() / fmt::format("wharf_power_{}", getpid())) {}
  ~EnergyMeterTest() override { std::filesystem::remove_all(root_); }

  void Write(const std::string& file, const std::string& text) const {
    const std::filesystem::path path = root_ / file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text << "\n";
  }
  void AddPackage(int number, double microjoules, double range) const {
    const std::string zone = fmt::format("class/powercap/intel-rapl:{}/", number);
    Write(zone + "name", fmt::format("package-{}", number));
    Write(zone + "max_energy_range_uj", fmt::format("{:.0f}", range));
    SetCounter(number, microjoules);
  }
  void SetCounter(int number, double microjoules) const {
    Write(fmt::format("class/powercap/intel-rapl:{}/energy_uj", number), fmt::format("{:.0f}", microjoules));
  }
  void SetBoard(int millivolts, int milliamperes) const {
    Write("class/hwmon/hwmon3/name", "ina3221");
    Write("class/hwmon/hwmon3/in1_label", "VDD_IN");
    Write("class/hwmon/hwmon3/in1_input", fmt::format("{}", millivolts));
    Write("class/hwmon/hwmon3/curr1_input", fmt::format("{}", milliamperes));
  }
  absl::StatusOr<std::unique_ptr<EnergyMeter>> Open() { return EnergyMeter::Open(root_.string(), clock_); }

  const std::filesystem::path root_;
  VirtualClock clock_;
};

TEST_F(EnergyMeterTest, AddsUpPackagesAndSurvivesACounterThatWraps) {
  AddPackage(0, 900e6, 1000e6);
  AddPackage(1, 100e6, 1000e6);
  const auto meter = Open().value();
  EXPECT_EQ(meter->Name(), "RAPL, 2 packages");
  EXPECT_EQ(meter->Joules(), 0);
  SetCounter(0, 50e6);  // 150 J later
  SetCounter(1, 103e6);
  EXPECT_DOUBLE_EQ(meter->Joules(), 153);
  EXPECT_DOUBLE_EQ(meter->Joules(), 153);
}

TEST_F(EnergyMeterTest, PartsOfAPackageAreNotCountedTwice) {
  AddPackage(0, 0, 1000e6);
  Write("class/powercap/intel-rapl:0:0/name", "core");
  Write("class/powercap/intel-rapl:0:0/energy_uj", "5");
  Write("class/powercap/intel-rapl:0:0/max_energy_range_uj", "1000");
  EXPECT_EQ(Open().value()->Name(), "RAPL, 1 package");
}

TEST_F(EnergyMeterTest, IntegratesABoardsPower) {
  AddPackage(0, 0, 1000e6);  // the whole board says more
  SetBoard(5000, 1000);      // 5 W
  const auto meter = Open().value();
  EXPECT_EQ(meter->Name(), "INA3221, VDD_IN");
  clock_.Advance(std::chrono::seconds(2));
  EXPECT_DOUBLE_EQ(meter->Joules(), 10);
  SetBoard(5000, 3000);  // 15 W: 10 on the way
  clock_.Advance(std::chrono::seconds(1));
  EXPECT_DOUBLE_EQ(meter->Joules(), 20);
}

TEST_F(EnergyMeterTest, ASensorThatVanishesAddsNothing) {
  SetBoard(5000, 1000);
  const auto meter = Open().value();
  std::filesystem::remove_all(root_);
  clock_.Advance(std::chrono::seconds(2));
  EXPECT_EQ(meter->Joules(), 0);
}

TEST_F(EnergyMeterTest, SaysWhenThereIsNone) {
  EXPECT_EQ(Open().status().code(), absl::StatusCode::kNotFound);
  Write("class/powercap/intel-rapl:0/name", "package-0");  // without a counter
  EXPECT_EQ(Open().status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace wharf::power
