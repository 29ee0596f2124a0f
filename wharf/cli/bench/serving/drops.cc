#include "wharf/cli/bench/serving/drops.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "wharf/report/line_chart.h"
#include "wharf/report/statistics.h"
#include "wharf/serving/settings.h"

namespace wharf::cli {
namespace {

using report::Align;
using report::Table;
using serving::DropTable;
using serving::FrameId;
using serving::Measure;
using track::OffloadSchedule;

constexpr int kIntervals[] = {1, 2, 4, 8, 12, 16, 24, 30}, kLatencies[] = {2, 4, 6, 8, 12},
              kStrides[] = {2, 4, 8, 16, 30};
constexpr int kUsualStride = 8;             // by which pieces are told apart
constexpr int kUsualInterval = 8;           // of Figure 3.7
constexpr int kShort = 6, kLong = 12;       // strides of Figure 2.2
constexpr int kLongestLine = 30;            // frames of stride, of Figure 3.8
constexpr double kFirstPieceSeconds = 2;    // before it results may be missing
constexpr double kSecondsBetweenLines = 1;  // of Figure 3.8

double Value(const serving::DropSample& sample, Measure measure) {
  return measure == Measure::kNetwork ? sample.seen : sample.drop;
}

int FramesOf(const DropTable& table, double seconds) { return static_cast<int>(seconds * table.data().fps); }

std::string NameOf(const std::vector<DropTable>& tables, const VideoPiece& piece) {
  const serving::DropTableData& data = tables[piece.table].data();
  return fmt::format("{}, {:g} to {:g} s", data.video, static_cast<double>(piece.first) / data.fps,
                     static_cast<double>(piece.first + piece.frames) / data.fps);
}

OffloadSchedule ReferenceOf(const DropTable& table, const serving::InferenceProfile& profile,
                            const serving::LinkKind& link) {
  const serving::DropTableData& data = table.data();
  const double network_s =
      data.client_s + serving::EmulatedLink(link, 0).MeanSeconds(data.frame_bytes, data.result_bytes);
  return serving::ReferenceOf({.fps = data.fps, .network_s = network_s}, profile);
}

// Of every frame from the third second on, from the reference.
std::vector<double> DropsFromReference(const DropTable& table, const serving::InferenceProfile& profile,
                                       const serving::LinkKind& link, Measure measure) {
  const OffloadSchedule reference = ReferenceOf(table, profile, link), usual = {kUsualInterval, reference.latency};
  std::vector<double> drops;
  for (FrameId frame = FramesOf(table, kFirstPieceSeconds); frame < table.data().frames; ++frame) {
    drops.push_back(DropOfFrame(table, frame, usual, measure) - DropOfFrame(table, frame, reference, measure));
  }
  return drops;
}

// Means of as many values each; what is left over is left out.
std::vector<double> MeansOf(const std::vector<double>& frames, int a_second) {
  std::vector<double> means;
  for (size_t i = 0; i + static_cast<size_t>(a_second) <= frames.size(); i += static_cast<size_t>(a_second)) {
    const auto from = frames.begin() + static_cast<std::ptrdiff_t>(i);
    means.push_back(report::Mean({from, from + a_second}));
  }
  return means;
}

// Of the frames that are in the table, and in the video so much later.
std::vector<double> DropsAt(const DropTable& table, int stride, Measure measure) {
  std::vector<double> drops;
  for (FrameId frame = 0; frame + stride < table.data().frames; frame += table.data().step) {
    drops.push_back(Value(table.At(frame, stride), measure));
  }
  return drops;
}

// Of every frame of the table.
std::vector<double> LostByMoreStride(const DropTable& table) {
  std::vector<double> lost;
  for (FrameId frame = 0; frame + kLong < table.data().frames; frame += table.data().step) {
    lost.push_back(table.At(frame, kLong).drop - table.At(frame, kShort).drop);
  }
  return lost;
}

// Frames of the table in a second of video.
int RowsASecond(const DropTable& table) { return std::max(1, FramesOf(table, 1) / table.data().step); }

void AddIntervals(const std::vector<DropTable>& tables, Measure measure, report::HtmlPage& page) {
  const EasiestAndHardest pieces = FindPieces(tables, measure);
  for (const VideoPiece& piece : {pieces.easiest, pieces.hardest}) {
    report::LineChart chart{"Drop by interval and latency: " + NameOf(tables, piece), "interval, frames", "accuracy"};
    for (const int interval : kIntervals) chart.x.push_back(interval);
    for (const int latency : kLatencies) {
      report::Line line{fmt::format("latency of {} frames", latency), {}};
      for (const int interval : kIntervals) {
        line.values.push_back(MeanDropOf(tables[piece.table], piece.first, piece.frames, {interval, latency}, measure));
      }
      chart.lines.push_back(std::move(line));
    }
    page.AddPicture(chart.Svg());
  }
}

}  // namespace

double DropOfFrame(const DropTable& table, FrameId frame, const OffloadSchedule& schedule, Measure measure) {
  if (frame < schedule.latency) return 0;
  const FrameId source = (frame - schedule.latency) / schedule.interval * schedule.interval;
  return Value(table.At(source, frame - source), measure);
}

double MeanDropOf(const DropTable& table, FrameId first, int frames, const OffloadSchedule& schedule, Measure measure) {
  double sum = 0;
  for (FrameId frame = first; frame < first + frames; ++frame) sum += DropOfFrame(table, frame, schedule, measure);
  return sum / frames;
}

EasiestAndHardest FindPieces(const std::vector<DropTable>& tables, Measure measure) {
  EasiestAndHardest found;
  double least = std::numeric_limits<double>::infinity(), most = -least;
  for (size_t i = 0; i < tables.size(); ++i) {
    const int frames = FramesOf(tables[i], kPieceSeconds);
    for (FrameId first = FramesOf(tables[i], kFirstPieceSeconds); first + frames <= tables[i].data().frames;
         first += frames) {
      double drop = 0;
      for (FrameId frame = first; frame < first + frames; ++frame) {
        drop += Value(tables[i].At(frame - kUsualStride, kUsualStride), measure);
      }
      if (drop < least) least = drop, found.easiest = {i, first, frames};
      if (drop > most) most = drop, found.hardest = {i, first, frames};
    }
  }
  return found;
}

Table DropsByMoreStrideTable(const std::vector<DropTable>& tables) {
  Table table({{"video"},
               {"lost from stride 6 to 12", Align::kRight},
               {"std", Align::kRight},
               {"seconds: least", Align::kRight},
               {"most", Align::kRight}});
  for (const DropTable& one : tables) {
    const std::vector<double> lost = LostByMoreStride(one), seconds = MeansOf(lost, RowsASecond(one));
    const report::MeanAndSpread all = report::Summarize(lost);
    table.AddRow({one.data().video, fmt::format("{:.4f}", all.mean), fmt::format("{:.4f}", all.spread),
                  fmt::format("{:+.4f}", std::ranges::min(seconds)),
                  fmt::format("{:+.4f}", std::ranges::max(seconds))});
  }
  return table;
}

Table DropsByScheduleTable(const std::vector<DropTable>& tables, Measure measure) {
  std::vector<report::Column> columns = {{"piece"}, {"interval", Align::kRight}};
  for (const int latency : kLatencies) columns.push_back({fmt::format("latency {}", latency), Align::kRight});
  Table table(std::move(columns));
  const EasiestAndHardest pieces = FindPieces(tables, measure);
  for (const VideoPiece& piece : {pieces.easiest, pieces.hardest}) {
    for (const int interval : kIntervals) {
      std::vector<std::string> row = {interval == kIntervals[0] ? NameOf(tables, piece) : "", std::to_string(interval)};
      for (const int latency : kLatencies) {
        row.push_back(fmt::format(
            "{:.3f}", MeanDropOf(tables[piece.table], piece.first, piece.frames, {interval, latency}, measure)));
      }
      table.AddRow(std::move(row));
    }
    table.AddRule();
  }
  return table;
}

Table DropsByFrameTable(const std::vector<DropTable>& tables, const serving::InferenceProfile& profile,
                        const serving::LinkKind& link, Measure measure) {
  Table table({{"video"},
               {"reference"},
               {"mean", Align::kRight},
               {"std", Align::kRight},
               {"frames: p5", Align::kRight},
               {"p50", Align::kRight},
               {"p95", Align::kRight},
               {"seconds: least", Align::kRight},
               {"most", Align::kRight}});
  for (const DropTable& one : tables) {
    const OffloadSchedule reference = ReferenceOf(one, profile, link);
    const std::vector<double> drops = DropsFromReference(one, profile, link, measure);
    const std::vector<double> seconds = MeansOf(drops, FramesOf(one, 1));
    const report::MeanAndSpread all = report::Summarize(drops);
    table.AddRow({one.data().video, fmt::format("interval {}, latency {}", reference.interval, reference.latency),
                  fmt::format("{:.4f}", all.mean), fmt::format("{:.4f}", all.spread),
                  fmt::format("{:+.4f}", report::Percentile(drops, 0.05)),
                  fmt::format("{:+.4f}", report::Percentile(drops, 0.5)),
                  fmt::format("{:+.4f}", report::Percentile(drops, 0.95)),
                  fmt::format("{:+.4f}", std::ranges::min(seconds)),
                  fmt::format("{:+.4f}", std::ranges::max(seconds))});
  }
  return table;
}

Table DropsByStrideTable(const std::vector<DropTable>& tables, Measure measure) {
  std::vector<report::Column> columns = {{"video"}};
  for (const int stride : kStrides) columns.push_back({fmt::format("stride {}", stride), Align::kRight});
  Table table(std::move(columns));
  for (const DropTable& one : tables) {
    std::vector<std::string> row = {one.data().video};
    for (const int stride : kStrides) {
      const report::MeanAndSpread drops = report::Summarize(DropsAt(one, stride, measure));
      row.push_back(fmt::format("{:.3f} ± {:.3f}", drops.mean, drops.spread));
    }
    table.AddRow(std::move(row));
  }
  return table;
}

void AddDropCharts(const std::vector<DropTable>& tables, const serving::InferenceProfile& profile,
                   const serving::LinkKind& link, Measure measure, report::HtmlPage& page) {
  const DropTable& hardest = tables[FindPieces(tables, measure).hardest.table];
  const std::string& video = hardest.data().video;
  report::LineChart more{"What tracking over 6 and 12 frames loses of the truth: " + video, "second", "accuracy"};
  for (const int stride : {kShort, kLong}) {
    std::vector<double> lost;
    for (FrameId frame = 0; frame + kLong < hardest.data().frames; frame += hardest.data().step) {
      lost.push_back(hardest.At(frame, stride).drop);
    }
    more.lines.push_back({fmt::format("stride {}, means of a second", stride), MeansOf(lost, RowsASecond(hardest))});
  }
  page.AddPicture(more.Svg());
  AddIntervals(tables, measure, page);
  report::LineChart frames{"Drop frame by frame: " + video, "frame", "accuracy"};
  frames.first = FramesOf(hardest, kFirstPieceSeconds);
  const OffloadSchedule reference = ReferenceOf(hardest, profile, link);
  for (const OffloadSchedule& schedule : {OffloadSchedule{kUsualInterval, reference.latency}, reference}) {
    report::Line line{fmt::format("interval {}, latency {}", schedule.interval, schedule.latency), {}};
    for (FrameId frame = frames.first; frame < hardest.data().frames; ++frame) {
      line.values.push_back(DropOfFrame(hardest, frame, schedule, measure));
    }
    frames.lines.push_back(std::move(line));
  }
  page.AddPicture(frames.Svg());
  report::LineChart strides{"What tracking costs, from frames a second apart: " + video, "frames of stride", "accuracy",
                            false, 1};
  for (FrameId frame = 0; frame + kLongestLine < hardest.data().frames;
       frame += FramesOf(hardest, kSecondsBetweenLines)) {
    report::Line line{fmt::format("frame {}", frame), {}};
    for (int stride = 1; stride <= kLongestLine; ++stride) {
      line.values.push_back(Value(hardest.At(frame, stride), measure));
    }
    strides.lines.push_back(std::move(line));
    if (strides.lines.size() == 8) break;  // more cannot be told apart
  }
  page.AddPicture(strides.Svg());
}

}  // namespace wharf::cli
