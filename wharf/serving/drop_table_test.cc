#include "wharf/serving/drop_table.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>

#include "wharf/serving/testing.h"

namespace wharf::serving {
namespace {

// Two rows: frames 0 to 3 and 4 to 5.
DropTableData Small() {
  DropTableData data;
  data.video = "small";
  data.frames = 6;
  data.step = 4;
  data.strides = {2, 4};
  data.frame_bytes = 1000;
  data.samples = {{0.2F, 0.4F}, {0.6F, 0.5F}, {1, 1}, {2, 2}};
  return data;
}

TEST(DropTableTest, InterpolatesBetweenStrides) {
  const auto table = DropTable::Make(Small());
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_FLOAT_EQ(table->At(0, 0).drop, 0);
  EXPECT_FLOAT_EQ(table->At(3, 2).drop, 0.2F);
  EXPECT_FLOAT_EQ(table->At(0, 3).drop, 0.4F);
  EXPECT_FLOAT_EQ(table->At(0, 3).seen, 0.45F);
  EXPECT_FLOAT_EQ(table->At(5, 4).drop, 2);
  EXPECT_FLOAT_EQ(table->At(4, 8).drop, 4);  // in proportion
}

TEST(DropTableTest, StridesBelowTheFirstLieOnTheLineThroughTheFirstTwo) {
  const auto table = DropTable::Make(Small());
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_NEAR(table->At(0, 1).drop, 0, 1e-6);
  EXPECT_FLOAT_EQ(table->At(0, 1).seen, 0.35F);
  EXPECT_FLOAT_EQ(table->At(0, 0).seen, 0);
  EXPECT_FLOAT_EQ(table->At(4, 1).drop, 0.5F);
  DropTableData steep = Small();
  steep.strides = {4, 5};
  EXPECT_EQ(DropTable::Make(steep)->At(4, 1).seen, 0) << "never less than nothing";
  DropTableData single = Small();
  single.strides = {2};
  single.samples = {{0.2F, 0.4F}, {1, 1}};
  EXPECT_FLOAT_EQ(DropTable::Make(single)->At(0, 1).seen, 0.4F);
}

TEST(DropTableTest, IsReadAsItWasWritten) {
  const DropTable table = MadeUpTable(3, 0.5);
  const auto again = DropTable::Parse(table.Bytes());
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->Bytes(), table.Bytes());
  EXPECT_EQ(again->data().video, table.data().video);
  EXPECT_EQ(again->At(100, 7).seen, table.At(100, 7).seen);
}

TEST(DropTableTest, RefusesWhatDoesNotFit) {
  using Change = void (*)(DropTableData&);
  const Change changes[] = {
      [](DropTableData& data) { data.frames = 0; },
      [](DropTableData& data) { data.frames = 100; },
      [](DropTableData& data) { data.step = 0; },
      [](DropTableData& data) { data.fps = 0; },
      [](DropTableData& data) { data.strides = {}; },
      [](DropTableData& data) {
        data.strides = {0, 4};
      },
      [](DropTableData& data) {
        data.strides = {4, 4};
      },
      [](DropTableData& data) {
        data.strides = {2, 5000};
      },
      [](DropTableData& data) { data.samples.pop_back(); },
      [](DropTableData& data) { data.samples[1].seen = -1; },
      [](DropTableData& data) { data.client_s = -1; },
      [](DropTableData& data) { data.video.resize(1000); },
      [](DropTableData& data) { data.result_bytes = std::numeric_limits<double>::infinity(); },
      [](DropTableData& data) { data.samples[0].drop = std::numeric_limits<float>::quiet_NaN(); }};
  for (const Change change : changes) {
    DropTableData data = Small();
    change(data);
    EXPECT_EQ(DropTable::Make(std::move(data)).status().code(), absl::StatusCode::kInvalidArgument);
  }
}

TEST(DropTableTest, RefusesEveryBeginningOfATable) {
  const std::vector<std::byte> bytes = DropTable::Make(Small())->Bytes();
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_EQ(DropTable::Parse(std::span(bytes).first(size)).status().code(), absl::StatusCode::kInvalidArgument);
  }
  std::vector<std::byte> longer = bytes;
  longer.push_back({});
  EXPECT_EQ(DropTable::Parse(longer).status().code(), absl::StatusCode::kInvalidArgument);
}

RC_GTEST_PROP(DropTableTest, TakesDamagedBytesOrRefusesThem, ()) {
  std::vector<std::byte> bytes = DropTable::Make(Small())->Bytes();
  for (int n = *rc::gen::inRange(1, 8); n > 0; --n) {
    bytes[*rc::gen::inRange<size_t>(0, bytes.size())] = static_cast<std::byte>(*rc::gen::inRange(0, 256));
  }
  const auto table = DropTable::Parse(bytes);
  if (table.ok()) {
    RC_ASSERT(table->Bytes() == bytes);
  } else {
    RC_ASSERT(table.status().code() == absl::StatusCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace wharf::serving
