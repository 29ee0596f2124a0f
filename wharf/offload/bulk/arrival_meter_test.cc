#include "wharf/offload/bulk/arrival_meter.h"

#include <gtest/gtest.h>

namespace wharf::offload {
namespace {

constexpr size_t kBulk = 100 << 10;

TimePoint At(int64_t microseconds) { return {std::chrono::microseconds(microseconds)}; }

TEST(ArrivalMeterTest, MeasuresWhatTheReaderHadWaitedFor) {
  ArrivalMeter meter;
  meter.Begin(kBulk, At(0));
  const auto first = meter.End(kBulk, At(8000));
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->bytes, kBulk);
  EXPECT_EQ(first->duration, std::chrono::microseconds(8000));
  meter.Free(At(50'000));
  meter.Begin(kBulk, At(50'100));
  EXPECT_FALSE(meter.End(kBulk, At(50'101)).has_value()) << "some of it may have been here before";
  meter.Free(At(60'000));
  meter.Begin(kBulk, At(61'000));
  EXPECT_TRUE(meter.End(kBulk, At(69'000)).has_value());
}

TEST(ArrivalMeterTest, MeasuresAStreamThatFillsTheLink) {
  ArrivalMeter meter;
  meter.Begin(kBulk, At(0));
  ASSERT_TRUE(meter.End(kBulk, At(25'000)).has_value());
  meter.Free(At(25'100));
  meter.Begin(kBulk, At(25'100));
  const auto second = meter.End(kBulk, At(50'000));
  ASSERT_TRUE(second.has_value());
  EXPECT_EQ(second->duration, std::chrono::microseconds(25'000)) << "from the end of the one before on";
}

TEST(ArrivalMeterTest, FindsAStreamThatWasUnderWay) {
  ArrivalMeter meter;
  meter.Free(At(0));
  meter.Begin(kBulk, At(100));
  EXPECT_FALSE(meter.End(kBulk, At(20'000)).has_value()) << "some of it may have been here before";
  meter.Free(At(20'100));
  meter.Begin(kBulk, At(20'100));
  EXPECT_TRUE(meter.End(kBulk, At(45'000)).has_value());
}

TEST(ArrivalMeterTest, LosesAStreamOverWhatTheReaderDoesBetween) {
  ArrivalMeter meter;
  meter.Begin(kBulk, At(0));
  ASSERT_TRUE(meter.End(kBulk, At(25'000)).has_value());
  meter.Free(At(45'000));  // it was busy
  meter.Begin(kBulk, At(45'100));
  EXPECT_FALSE(meter.End(kBulk, At(70'000)).has_value()) << "what came while it was busy was here before";
  meter.Free(At(70'050));
  meter.Begin(kBulk, At(70'100));
  EXPECT_FALSE(meter.End(kBulk, At(70'200)).has_value()) << "nor did this one arrive while it was read";
  meter.Free(At(70'250));
  meter.Begin(kBulk, At(70'300));
  EXPECT_FALSE(meter.End(kBulk, At(95'000)).has_value()) << "so nothing is known of what follows";
}

TEST(ArrivalMeterTest, LeavesOutSmallOnes) {
  ArrivalMeter meter;
  meter.Begin(ArrivalMeter::kLeastBytes - 1, At(0));
  EXPECT_FALSE(meter.End(ArrivalMeter::kLeastBytes - 1, At(8000)).has_value());
}

TEST(ArrivalMeterTest, TellsRarely) {
  ArrivalMeter meter;
  int told = 0;
  for (int64_t now = 0; now < 1'000'000; now += 5000) {
    meter.Begin(kBulk, At(now));
    if (meter.End(kBulk, At(now + 1000))) ++told;
    meter.Free(At(now + 1000));
  }
  EXPECT_EQ(told, 50);
}

}  // namespace
}  // namespace wharf::offload
