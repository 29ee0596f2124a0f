// wharf ar trackers: what local trackers and odometry lose, by stride, on videos of the synthetic world.
#include <cmath>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "wharf/cli/common/ar_command.h"
#include "wharf/cli/common/commands.h"
#include "wharf/cli/common/files.h"
#include "wharf/report/statistics.h"
#include "wharf/report/table.h"
#include "wharf/scene/world/videos.h"
#include "wharf/track/depth_accuracy.h"
#include "wharf/track/depth_warp.h"
#include "wharf/track/metrics.h"
#include "wharf/track/world_odometry.h"

namespace wharf::cli {
namespace {

using report::Align;
using report::Mean;
using scene::Pose;
using scene::World;

constexpr const char* kArTrackersFooter = R"(
No network takes part: depths are the world's own, exact or with noise, motions for warping are true. So this is what the
trackers lose by themselves.

Depth: AbsRel of a true map warped over a stride, and at stride 8 the accuracy model's estimate of it and how the two
correlate over frames. Odometry: t_err of a chain of measured motions, and of the pose filter that takes them 4 frames
late; by what is outside the true boxes of vehicles and people. Filter: how far off it is after some seconds without any.

Example: wharf ar trackers --split evaluation --videos 2 --json trackers.json)";

constexpr int kStrides[] = {1, 4, 8, 16, 30};
constexpr int kModelStride = 8;
constexpr int kOdometryStrides[] = {4, 8, 16};
constexpr int kLatency = 4;  // frames
constexpr double kDepthNoise = 0.1;
constexpr int kSeconds[] = {1, 2, 5, 10};

struct ArTrackersOptions {
  std::string split = "calibration", json;
  int videos = 1;
  int every = 60;
  double assumed_noise = track::OdometryOptions().depth_noise;
  bool all_landmarks = false;
};

// Values of one category, from all its videos: by stride, or by second.
struct Found {
  std::string category;
  std::vector<double> warped[std::size(kStrides)];
  std::vector<double> actual, estimated;  // of the model's stride, frame by frame
  std::vector<double> chained[2][std::size(kOdometryStrides)],
      filtered[2][std::size(kOdometryStrides)];  // exact, noisy
  std::vector<double> drift[std::size(kSeconds)], alone;
};

absl::Status AddDepth(const World& world, int every, Found& found) {
  const int width = track::kOdometryWidth, height = track::kOdometryHeight;
  const scene::Intrinsics camera = World::Camera(width, height);
  for (int64_t first = every / 2; first + kStrides[std::size(kStrides) - 1] < World::kFrames; first += every) {
    const scene::Truth before = world.TruthAt(first, width, height);
    for (size_t i = 0; i < std::size(kStrides); ++i) {
      const scene::Truth after = world.TruthAt(first + kStrides[i], width, height);
      const Pose motion = scene::RelativePose(before.pose, after.pose);
      WHARF_ASSIGN_OR_RETURN(const double error,
                             track::AbsRel(track::WarpDepth(before.depth, camera, motion), after.depth));
      found.warped[i].push_back(error);
      if (kStrides[i] != kModelStride) continue;
      WHARF_ASSIGN_OR_RETURN(const double rate,
                             track::DepthTrackerDropRate(world.FrameAt(first, width, height).image, before.depth,
                                                         world.FrameAt(first + kModelStride, width, height).image,
                                                         camera, motion, kModelStride));
      found.actual.push_back(error);
      found.estimated.push_back(rate * kModelStride);
    }
  }
  return absl::OkStatus();
}

std::vector<Pose> EveryNthOf(const std::vector<Pose>& poses, int stride) {
  std::vector<Pose> some;
  for (const int64_t frame : track::EveryNth(stride, static_cast<int64_t>(poses.size()))) {
    some.push_back(poses[static_cast<size_t>(frame)]);
  }
  return some;
}

absl::Status AddOdometry(const World& world, const track::DriveRecord& record, uint64_t seed,
                         const ArTrackersOptions& options, Found& found) {
  const track::DepthSource sources[] = {track::TrueDepth(), track::NoisyDepth(kDepthNoise, seed)};
  const track::Landmarks landmarks = options.all_landmarks ? track::Landmarks::kAll : track::Landmarks::kOutsideBoxes;
  WHARF_ASSIGN_OR_RETURN(const auto tables, track::MeasureMotions(world, kOdometryStrides, sources, World::kFrames,
                                                                  landmarks, {.depth_noise = options.assumed_noise}));
  for (size_t source = 0; source < tables.size(); ++source) {
    for (size_t i = 0; i < std::size(kOdometryStrides); ++i) {
      const int stride = kOdometryStrides[i];
      // As many segments whatever the stride: KITTI's step of ten frames at ten a second is a second here.
      const track::SegmentOptions segments{.start_step = static_cast<size_t>(64 / stride)};
      WHARF_ASSIGN_OR_RETURN(
          const double chained,
          track::TranslationError(EveryNthOf(record.truth, stride),
                                  track::Chained(tables[source], stride, World::kFrames, record.truth[0]), segments));
      WHARF_ASSIGN_OR_RETURN(const std::vector<Pose> poses,
                             track::FilterTrajectory(record, track::EveryNth(stride, World::kFrames), kLatency,
                                                     track::From(tables[source])));
      WHARF_ASSIGN_OR_RETURN(const double filtered, track::TranslationError(record.truth, poses, {.start_step = 64}));
      found.chained[source][i].push_back(chained);
      found.filtered[source][i].push_back(filtered);
    }
  }
  return absl::OkStatus();
}

// The part of a record from a frame on.
track::DriveRecord From(const track::DriveRecord& record, const World& world, int64_t frame) {
  track::DriveRecord rest;
  rest.truth.assign(record.truth.begin() + frame, record.truth.end());
  rest.imu.assign(record.imu.begin() + frame, record.imu.end());
  rest.imu[0] = {rest.imu[0].back()};  // what came before is the truth's business
  rest.start_velocity = world.MotionAt(static_cast<double>(frame) / World::kFramesPerSecond).velocity;
  return rest;
}

absl::Status AddDrift(const World& world, const track::DriveRecord& record, Found& found) {
  for (int64_t start = 0; start + 10 * World::kFramesPerSecond < World::kFrames;
       start += 10 * World::kFramesPerSecond) {
    const track::DriveRecord rest = From(record, world, start);
    WHARF_ASSIGN_OR_RETURN(const std::vector<Pose> poses, track::FilterTrajectory(rest, {}, 0, nullptr));
    for (size_t i = 0; i < std::size(kSeconds); ++i) {
      const auto frame = static_cast<size_t>(kSeconds[i] * World::kFramesPerSecond);
      found.drift[i].push_back((poses[frame].position - rest.truth[frame].position).norm());
    }
    if (start > 0) continue;
    WHARF_ASSIGN_OR_RETURN(const double alone, track::TranslationError(rest.truth, poses, {.start_step = 64}));
    found.alone.push_back(alone);
  }
  return absl::OkStatus();
}

absl::StatusOr<Found> Measure(const scene::Category& category, scene::Split split, const ArTrackersOptions& options) {
  Found found{.category = scene::CategoryName(category)};
  for (int number = 0; number < options.videos; ++number) {
    WHARF_ASSIGN_OR_RETURN(const scene::Video video, scene::FindVideo(category, number, split));
    const World world(video.seed, video.Options());
    const track::DriveRecord record = track::RecordOf(world);
    WHARF_RETURN_IF_ERROR(AddDepth(world, options.every, found));
    WHARF_RETURN_IF_ERROR(AddDrift(world, record, found));
    WHARF_RETURN_IF_ERROR(AddOdometry(world, record, video.seed, options, found));
  }
  return found;
}

// Pearson's. 0 if either does not vary.
double Correlation(const std::vector<double>& x, const std::vector<double>& y) {
  const double mean_x = Mean(x), mean_y = Mean(y);
  double xy = 0, xx = 0, yy = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - mean_x) * (y[i] - mean_y);
    xx += (x[i] - mean_x) * (x[i] - mean_x);
    yy += (y[i] - mean_y) * (y[i] - mean_y);
  }
  return xx > 0 && yy > 0 ? xy / std::sqrt(xx * yy) : 0;
}

std::string Three(double value) { return fmt::format("{:.3f}", value); }
std::string Percent(double value) { return fmt::format("{:.2f} %", 100 * value); }

void PrintDepth(const std::vector<Found>& all) {
  std::vector<report::Column> columns{{"warped depth, AbsRel"}};
  for (const int stride : kStrides) columns.push_back({fmt::format("stride {}", stride), Align::kRight});
  columns.insert(columns.end(), {{"estimate at 8", Align::kRight}, {"correlation", Align::kRight}});
  report::Table table(columns);
  for (const Found& found : all) {
    std::vector<std::string> cells{found.category};
    for (const auto& errors : found.warped) cells.push_back(Three(Mean(errors)));
    cells.push_back(Three(Mean(found.estimated)));
    cells.push_back(fmt::format("{:.2f}", Correlation(found.actual, found.estimated)));
    table.AddRow(cells);
  }
  std::printf("%s\n", table.Text().c_str());
}

void PrintOdometry(const std::vector<Found>& all) {
  std::vector<report::Column> columns{{"odometry, t_err"}, {"depth"}, {"poses of"}};
  for (const int stride : kOdometryStrides) columns.push_back({fmt::format("stride {}", stride), Align::kRight});
  columns.push_back({"filter alone", Align::kRight});
  report::Table table(columns);
  for (const Found& found : all) {
    for (const int source : {0, 1}) {
      for (const bool filter : {false, true}) {
        std::vector<std::string> cells{found.category, source == 0 ? "exact" : "10 % noise",
                                       filter ? "filter" : "chain"};
        for (const auto& errors : filter ? found.filtered[source] : found.chained[source]) {
          cells.push_back(Percent(Mean(errors)));
        }
        if (source == 0 && filter) cells.push_back(Percent(Mean(found.alone)));
        table.AddRow(cells);
      }
    }
  }
  std::printf("%s\n", table.Text().c_str());
}

void PrintDrift(const std::vector<Found>& all) {
  std::vector<report::Column> columns{{"filter without odometry, metres off"}};
  for (const int seconds : kSeconds) columns.push_back({fmt::format("after {} s", seconds), Align::kRight});
  report::Table table(columns);
  for (const Found& found : all) {
    std::vector<std::string> cells{found.category};
    for (const auto& drifts : found.drift) cells.push_back(fmt::format("{:.2f}", Mean(drifts)));
    table.AddRow(cells);
  }
  std::printf("%s", table.Text().c_str());
}

std::string ToJson(const std::vector<Found>& all, const ArTrackersOptions& options) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  using Fields = std::vector<std::pair<const char*, double>>;
  const auto add = [&](const Found& found, const char* metric, const std::vector<double>& values,
                       const Fields& fields) {
    nlohmann::ordered_json row{{"category", found.category}, {"split", options.split}, {"videos", options.videos}};
    for (const auto& [name, value] : fields) row[name] = value;
    row[metric] = Mean(values);
    rows.push_back(row);
  };
  for (const Found& found : all) {
    for (size_t i = 0; i < std::size(kStrides); ++i)
      add(found, "warped_abs_rel", found.warped[i], {{"stride", kStrides[i]}});
    add(found, "estimated_abs_rel", found.estimated,
        {{"stride", kModelStride}, {"correlation", Correlation(found.actual, found.estimated)}});
    for (const int source : {0, 1}) {
      for (size_t i = 0; i < std::size(kOdometryStrides); ++i) {
        const Fields fields{{"stride", kOdometryStrides[i]}, {"depth_noise", source * kDepthNoise}};
        add(found, "chained_t_err", found.chained[source][i], fields);
        add(found, "filtered_t_err", found.filtered[source][i], fields);
      }
    }
    for (size_t i = 0; i < std::size(kSeconds); ++i) add(found, "drift_m", found.drift[i], {{"seconds", kSeconds[i]}});
    add(found, "filter_alone_t_err", found.alone, {{"seconds", World::kSeconds}});
  }
  return rows.dump(1) + "\n";
}

absl::Status RunArTrackers(const ArTrackersOptions& options) {
  WHARF_ASSIGN_OR_RETURN(const scene::Split split, scene::ParseSplit(options.split));
  if (!options.json.empty()) WHARF_RETURN_IF_ERROR(CheckWritable(options.json));
  std::vector<Found> all;
  for (const scene::Category& category : scene::kCategories) {
    WHARF_ASSIGN_OR_RETURN(Found found, Measure(category, split, options));
    all.push_back(std::move(found));
  }
  PrintDepth(all);
  PrintOdometry(all);
  PrintDrift(all);
  return options.json.empty() ? absl::OkStatus() : WriteFile(options.json, ToJson(all, options));
}

}  // namespace

void AddArTrackersCommand(CLI::App& app) {
  CLI::App* command = ArCommand(app).add_subcommand("trackers", "Say what trackers and odometry lose, by stride.");
  command->footer(kArTrackersFooter);
  auto options = std::make_shared<ArTrackersOptions>();
  command->add_option("--split", options->split, "training, calibration or evaluation")->capture_default_str();
  command->add_option("--videos", options->videos, "Of each category, from number 0")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command->add_option("--every", options->every, "Depth is warped from every Nth frame")
      ->type_name("N")
      ->check(CLI::Range(1, static_cast<int>(World::kFrames)))
      ->capture_default_str();
  command
      ->add_option("--assumed-noise", options->assumed_noise, "Of depth, by which odometry weighs; 0: it trusts depth")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  command->add_flag("--all-landmarks", options->all_landmarks,
                    "Odometry goes by what is in the boxes of vehicles and people, too");
  command->add_option("--json", options->json, "Write the values as rows here")->type_name("FILE");
  command->callback([options] {
    if (const absl::Status done = RunArTrackers(*options); !done.ok()) Fail(done);
  });
}

}  // namespace wharf::cli
