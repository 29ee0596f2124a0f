#include "wharf/cli/common/text.h"

#include <gtest/gtest.h>

#include <cmath>

#include <rapidcheck/gtest.h>

namespace wharf::cli {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

TEST(TextTest, BytesAreInPowersOf1024) {
  EXPECT_EQ(ParseBytes("4096").value(), 4096U);
  EXPECT_EQ(ParseBytes("2GiB").value(), uint64_t{2} << 30);
  EXPECT_EQ(ParseBytes("2g").value(), uint64_t{2} << 30);
  EXPECT_EQ(ParseBytes("1.5M").value(), 3U << 19);
  EXPECT_EQ(ParseBytes("0").value(), 0U);
}

TEST(TextTest, DurationsHaveUnitsOrAreSeconds) {
  EXPECT_EQ(ParseDuration("2.6ms").value(), microseconds(2600));
  EXPECT_EQ(ParseDuration("250us").value(), microseconds(250));
  EXPECT_EQ(ParseDuration("10").value(), seconds(10));
  EXPECT_EQ(ParseDuration("2m").value(), minutes(2));
  EXPECT_EQ(ParseDuration("0.2s").value(), milliseconds(200));
}

TEST(TextTest, RatesAreInPowersOf1000) {
  EXPECT_DOUBLE_EQ(ParseBitRate("93mbit").value(), 93e6);
  EXPECT_DOUBLE_EQ(ParseBitRate("1.5Gbit").value(), 1.5e9);
  EXPECT_DOUBLE_EQ(ParseBitRate("10MB/s").value(), 80e6);
  EXPECT_DOUBLE_EQ(ParseBitRate("10MBps").value(), 80e6);
  EXPECT_DOUBLE_EQ(ParseBitRate("10Mbps").value(), 10e6);
  EXPECT_EQ(ParseBitRate("10MBPS").status(),
            InvalidArgument("\"10MBPS\" may be of bits or of bytes: write it like 93mbit or 10MB/s"));
  EXPECT_EQ(ParseBitRate("10mb/s").status(),  // of bits or of bytes?
            InvalidArgument("\"10mb/s\" has no known unit (kBps, MBps, GBps, bit, kbit, kbps, mbit, mbps, mbit/s, "
                            "gbit, gbps, gbit/s, kB/s, "
                            "MB/s, GB/s); write it like 93mbit"));
}

TEST(TextTest, WhatIsNoQuantityIsSaidSo) {
  for (const char* wrong : {"", "GiB", "-1", "1XB", "1 GiB", "nan", "inf", "1e3", "99999999TiB", "0x10"}) {
    EXPECT_EQ(ParseBytes(wrong).status().code(), absl::StatusCode::kInvalidArgument) << wrong;
  }
  for (const char* wrong : {"", "s", "-1s", "1parsec", "99999999999s"}) {
    EXPECT_EQ(ParseDuration(wrong).status().code(), absl::StatusCode::kInvalidArgument) << wrong;
  }
  for (const char* wrong : {"", "mbit", "-1mbit", "1mile", "93"}) {
    EXPECT_EQ(ParseBitRate(wrong).status().code(), absl::StatusCode::kInvalidArgument) << wrong;
  }
}

RC_GTEST_PROP(TextTest, AnyTextGivesAValueOrAnError, (const std::string& text)) {
  ParseBytes(text).status().IgnoreError();
  ParseBitRate(text).status().IgnoreError();
  RC_ASSERT(ParseDuration(text).value_or(Nanoseconds(0)).count() >= 0);
}

RC_GTEST_PROP(TextTest, WholeBytesComeBackExactly, (uint32_t bytes)) {
  RC_ASSERT(ParseBytes(fmt::format("{}", bytes)).value() == bytes);
  RC_ASSERT(ParseBytes(fmt::format("{}k", bytes)).value() == uint64_t{bytes} * 1024);
}

RC_GTEST_PROP(TextTest, WrittenBytesComeBackButForRounding, (uint32_t bytes, bool many)) {
  const double written = many ? bytes * 1048576.0 : bytes;
  const double read = static_cast<double>(ParseBytes(WriteBytes(static_cast<uint64_t>(written))).value());
  RC_ASSERT(std::abs(read - written) <= 0.05 * written);
}

TEST(TextTest, BytesAreWrittenWithoutASpace) {
  EXPECT_EQ(WriteBytes(0), "0B");
  EXPECT_EQ(WriteBytes(1023), "1023B");
  EXPECT_EQ(WriteBytes(uint64_t{3} << 29), "1.5GiB");
  EXPECT_EQ(WriteBytes(uint64_t{2} << 30), "2GiB");
  EXPECT_EQ(WriteBytes(uint64_t{10} << 30), "10GiB");
}

TEST(TextTest, BytesForPeople) {
  EXPECT_EQ(FormatBytes(0), "0 B");
  EXPECT_EQ(FormatBytes(1023), "1023 B");
  EXPECT_EQ(FormatBytes(1536), "1.5 KiB");
  EXPECT_EQ(FormatBytes(uint64_t{2} << 30), "2.0 GiB");
}

}  // namespace
}  // namespace wharf::cli
