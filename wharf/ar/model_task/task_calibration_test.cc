#include "wharf/ar/model_task/task_calibration.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>

namespace wharf::ar {
namespace {

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

RC_GTEST_PROP(FitPowerLaw, FindsThePowerLawThatThereIs, ()) {
  const PowerLaw truth{*rc::gen::inRange(0, 1000) / 1e4, *rc::gen::inRange(5, 201) / 100.0};
  std::vector<LossAtStride> losses;
  for (const double stride : {1, 2, 5, 17})
    losses.push_back({stride, truth.At(stride), static_cast<double>(*rc::gen::inRange(1, 50))});
  const auto found = FitPowerLaw(losses);
  RC_ASSERT(found.ok());
  RC_ASSERT(std::abs(found->rate - truth.rate) <= 1e-9);
  RC_ASSERT(truth.rate == 0 || std::abs(found->exponent - truth.exponent) <= 1e-9);
}

RC_GTEST_PROP(FitPowerLaw, NoNeighbourFitsBetter, ()) {
  std::vector<LossAtStride> losses;
  for (const double stride : {1, 2, 4, 8, 16})
    losses.push_back({stride, *rc::gen::inRange(0, 100) / 100.0, static_cast<double>(*rc::gen::inRange(1, 9))});
  const auto error = [&](const PowerLaw& law) {
    double sum = 0;
    for (const LossAtStride& one : losses) sum += one.samples * std::pow(law.At(one.stride) - one.loss, 2);
    return sum;
  };
  const auto found = FitPowerLaw(losses);
  RC_ASSERT(found.ok());
  RC_ASSERT(found->rate >= 0);
  const double slack = 1e-12 + 1e-9 * error(*found);
  for (const double rate : {0.99, 1.01})
    RC_ASSERT(error(*found) <= error({rate * found->rate, found->exponent}) + slack);
}

TEST(FitPowerLaw, WantsTwoStrides) {
  EXPECT_EQ(FitPowerLaw({}).status().code(), absl::StatusCode::kFailedPrecondition);
  const std::vector<LossAtStride> same = {{4, 0.1, 1}, {4, 0.2, 1}};
  EXPECT_EQ(FitPowerLaw(same).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST(TaskCalibration, ComesBackAsItWasWritten) {
  TaskCalibration calibration{.task = "free_space", .source = "two drives", .rate = 0.0123, .exponent = 0.6};
  calibration.offload_ms = 41.5;
  for (const double local : {multitask::kNoLocalAlgorithm, 0.25}) {
    calibration.local_drop = local;
    const auto back = TaskCalibration::Parse(calibration.Json());
    ASSERT_TRUE(back.ok()) << ToString(back.status());
    EXPECT_EQ(back->task, calibration.task);
    EXPECT_EQ(back->source, calibration.source);
    EXPECT_EQ(back->rate, calibration.rate);
    EXPECT_EQ(back->exponent, calibration.exponent);
    EXPECT_EQ(back->offload_ms, calibration.offload_ms);
    EXPECT_EQ(back->local_drop, local);
  }
  EXPECT_DOUBLE_EQ(calibration.DropAt(1), 0.0123);
  EXPECT_DOUBLE_EQ(calibration.DropAt(32), 0.0123 * 8);
}

TEST(TaskCalibration, RefusesWhatIsNone) {
  const std::string good = TaskCalibration{.task = "mine"}.Json();
  ASSERT_TRUE(TaskCalibration::Parse(good).ok());
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string other = good;
    const size_t place = other.find(from);
    EXPECT_NE(place, std::string::npos) << from;
    return TaskCalibration::Parse(other.replace(place, from.size(), to)).status().code();
  };
  EXPECT_EQ(TaskCalibration::Parse("").status().code(), kInvalid);
  EXPECT_EQ(TaskCalibration::Parse("[1]").status().code(), kInvalid);
  EXPECT_EQ(with("wharf-ar-task/1", "wharf-latency-profile/1"), kInvalid);
  EXPECT_EQ(with("\"rate\": 0.01", "\"rate\": -0.01"), kInvalid);
  EXPECT_EQ(with("\"rate\": 0.01", "\"rate\": \"fast\""), kInvalid);
  EXPECT_EQ(with("\"exponent\"", "\"power\""), kInvalid);
  EXPECT_EQ(with("\"exponent\": 1.0", "\"exponent\": 1e300"), kInvalid);
  EXPECT_EQ(TaskCalibration::Load("/nowhere.json").status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace wharf::ar
