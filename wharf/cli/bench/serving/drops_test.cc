#include "wharf/cli/bench/serving/drops.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "wharf/serving/testing.h"

namespace wharf::cli {
namespace {

using serving::Measure;
using testing::HasSubstr;

// 0.01 a frame of stride, seen as 0.02, in 8 s of video; from `hard_from` to `hard_until` three times as much.
serving::DropTable Linear(int hard_from = 0, int hard_until = 0) {
  serving::DropTableData data;
  data.video = "linear";
  data.frames = 480;
  data.strides = {1, 48};
  data.frame_bytes = data.result_bytes = 1000;
  for (int row = 0; row < data.Rows(); ++row) {
    const float level = row >= hard_from && row < hard_until ? 3 : 1;
    for (const int stride : data.strides) {
      const auto drop = 0.01F * level * static_cast<float>(stride);
      data.samples.push_back({drop, 2 * drop});
    }
  }
  return *serving::DropTable::Make(std::move(data));
}

TEST(DropOfFrame, IsOfTheNewestResultThatIsThere) {
  const serving::DropTable table = Linear();
  const track::OffloadSchedule schedule{4, 3};  // results of 0, 4, 8 … are there at 3, 7, 11 …
  const auto drop = [&](serving::FrameId frame) { return DropOfFrame(table, frame, schedule, Measure::kTruth); };
  EXPECT_EQ(drop(2), 0);
  EXPECT_NEAR(drop(3), 0.03, 1e-6);
  EXPECT_NEAR(drop(6), 0.06, 1e-6);
  EXPECT_NEAR(drop(7), 0.03, 1e-6);
  EXPECT_NEAR(drop(103), 0.03, 1e-6);
  EXPECT_NEAR(DropOfFrame(table, 6, schedule, Measure::kNetwork), 0.12, 1e-6) << "as a client sees it";
}

TEST(MeanDropOf, IsInProportionToTheMeanStride) {
  const serving::DropTable table = Linear();
  for (const track::OffloadSchedule& schedule : {track::OffloadSchedule{1, 2}, {8, 4}, {30, 12}}) {
    // As many frames of each stride.
    EXPECT_NEAR(MeanDropOf(table, 240, 2 * schedule.interval, schedule, Measure::kTruth),
                0.01 * track::MeanStride(schedule), 1e-6);
  }
}

TEST(FindPieces, TellsTheEasiestFromTheHardest) {
  const auto found = FindPieces({Linear(), Linear(230, 360)}, Measure::kNetwork);
  EXPECT_EQ(found.easiest.table, 0u);
  EXPECT_EQ(found.easiest.first, 120);
  EXPECT_EQ(found.hardest.table, 1u);
  EXPECT_EQ(found.hardest.first, 240);
  EXPECT_EQ(found.hardest.frames, 120);
}

TEST(DropTables, HaveARowForEachIntervalAndVideo) {
  const std::vector<serving::DropTable> tables = {Linear(), Linear(230, 360)};
  const std::string by_schedule = DropsByScheduleTable(tables, Measure::kTruth).Markdown();
  EXPECT_THAT(by_schedule, HasSubstr("| linear, 2 to 4 s | 1 | 0.020 | 0.040 | 0.060 | 0.080 | 0.120 |"));
  EXPECT_THAT(by_schedule, HasSubstr("| linear, 4 to 6 s | 1 | 0.060 |"));
  const std::string by_stride = DropsByStrideTable({Linear()}, Measure::kTruth).Markdown();
  EXPECT_THAT(by_stride, HasSubstr("| linear | 0.020 ± 0.000 | 0.040 ± 0.000 | 0.080 ± 0.000 |"));
  const std::string by_more = DropsByMoreStrideTable(tables).Markdown();
  EXPECT_THAT(by_more, HasSubstr("| linear | 0.0600 | 0.0000 | +0.0600 | +0.0600 |"));
  EXPECT_THAT(by_more, HasSubstr("| +0.0600 | +0.1800 |"));
}

// 14 ms of the link and 10 ms of computing are two frames; a server of one's own takes every frame.
TEST(DropTables, AreFromTheReferenceByFrame) {
  const std::string table =
      DropsByFrameTable({Linear()}, serving::ProfileOf({10, 15}), serving::kMmWave, Measure::kTruth).Markdown();
  EXPECT_THAT(table, HasSubstr("| linear | interval 1, latency 2 | 0.0350 |"));
  EXPECT_THAT(table, HasSubstr("| +0.0000 | +0.0300 | +0.0700 |"));
}

TEST(DropCharts, DrawAllThreeFigures) {
  report::HtmlPage page("page", {});
  AddDropCharts({Linear(230, 360)}, serving::ProfileOf({10, 15}), serving::kMmWave, Measure::kNetwork, page);
  for (const char* title :
       {"What tracking over 6 and 12", "Drop by interval and latency", "frame by frame", "What tracking costs"}) {
    EXPECT_THAT(page.Text(), HasSubstr(title));
  }
}

}  // namespace
}  // namespace wharf::cli
