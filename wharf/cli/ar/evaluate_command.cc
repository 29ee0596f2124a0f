// wharf ar evaluate: how good the networks are on videos of the synthetic world.
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "wharf/cli/ar/networks.h"
#include "wharf/cli/common/ar_command.h"
#include "wharf/cli/common/commands.h"
#include "wharf/cli/common/files.h"
#include "wharf/exec/torch_engine.h"
#include "wharf/perception/depth_network.h"
#include "wharf/perception/detection_counts.h"
#include "wharf/perception/detector.h"
#include "wharf/report/table.h"
#include "wharf/scene/world/videos.h"
#include "wharf/track/metrics.h"

namespace wharf::cli {
namespace {

constexpr const char* kArEvaluateFooter = R"(
AbsRel: the mean of |depth - truth| / truth over the pixels that show anything, and over frames. IoU: of boxes matched one
to one within their class; a box of either side that stays alone counts as 0. Recall and precision: boxes that match with
an IoU of at least 0.5. Boxes less than --least-height high count neither way.

Nothing is fitted to evaluation videos; what one wants to tune is tuned on calibration videos.

Example: wharf ar evaluate --split evaluation --videos 5 --json accuracy.json)";

struct ArEvaluateOptions {
  std::string networks, split = "calibration", json;
  int videos = 3, frames = 10;
  float least_height = 8;
};

struct Networks {
  perception::DepthNetwork depth, lite;
  perception::Detector detector;
};

absl::StatusOr<Networks> LoadNetworks(const exec::Engine& engine, const std::string& folder) {
  WHARF_ASSIGN_OR_RETURN(auto depth, perception::DepthNetwork::Load(engine, folder + "/depth.onnx", {}));
  WHARF_ASSIGN_OR_RETURN(auto lite, perception::DepthNetwork::Load(engine, folder + "/lite.onnx", {}));
  WHARF_ASSIGN_OR_RETURN(auto detector, perception::Detector::Load(engine, folder + "/detector.onnx", {}));
  return Networks{std::move(depth), std::move(lite), std::move(detector)};
}

// Sums over frames.
struct Scores {
  int frames = 0;
  double depth = 0, lite = 0, iou = 0;
  perception::DetectionCounts boxes;

  Scores& operator+=(const Scores& other) {
    frames += other.frames;
    depth += other.depth;
    lite += other.lite;
    iou += other.iou;
    boxes += other.boxes;
    return *this;
  }
};

std::vector<scene::Box> OfHeight(std::vector<scene::Box> boxes, float least) {
  std::erase_if(boxes, [&](const scene::Box& box) { return box.bottom - box.top < least; });
  return boxes;
}

absl::StatusOr<double> DepthError(const perception::DepthNetwork& network, const scene::Image& image,
                                  const scene::DepthMap& truth) {
  WHARF_ASSIGN_OR_RETURN(const scene::DepthMap estimate, network.Estimate(image));
  return track::AbsRel(estimate, truth);
}

absl::StatusOr<Scores> EvaluateFrame(const Networks& networks, const scene::World& world, int64_t index,
                                     float least_height) {
  const int width = networks.depth.Width(), height = networks.depth.Height();
  const scene::Image image = world.FrameAt(index, width, height).image;
  const scene::Truth truth = world.TruthAt(index, width, height);
  Scores scores{.frames = 1};
  WHARF_ASSIGN_OR_RETURN(scores.depth, DepthError(networks.depth, image, truth.depth));
  WHARF_ASSIGN_OR_RETURN(scores.lite, DepthError(networks.lite, image, truth.depth));
  WHARF_ASSIGN_OR_RETURN(const auto found, networks.detector.Detect(image));
  scores.iou = track::MeanIou(OfHeight(found, least_height), OfHeight(truth.boxes, least_height));
  scores.boxes = perception::CountDetections(found, truth.boxes, {.least_height = least_height});
  return scores;
}

absl::StatusOr<Scores> EvaluateCategory(const Networks& networks, const scene::Category& category, scene::Split split,
                                        const ArEvaluateOptions& options) {
  Scores sum;
  for (int number = 0; number < options.videos; ++number) {
    WHARF_ASSIGN_OR_RETURN(const scene::Video video, scene::FindVideo(category, number, split));
    const scene::World world(video.seed, video.Options());
    for (int i = 0; i < options.frames; ++i) {
      const int64_t index = (2 * i + 1) * scene::World::kFrames / (2 * options.frames);
      WHARF_ASSIGN_OR_RETURN(const Scores one, EvaluateFrame(networks, world, index, options.least_height));
      sum += one;
    }
  }
  return sum;
}

struct Row {
  std::string category;
  Scores sum;
  double Mean(double total) const { return total / sum.frames; }
};

void Print(const std::vector<Row>& rows) {
  using report::Align;
  report::Table table({{"category"},
                       {"frames", Align::kRight},
                       {"depth AbsRel", Align::kRight},
                       {"lite AbsRel", Align::kRight},
                       {"boxes", Align::kRight},
                       {"IoU", Align::kRight},
                       {"recall", Align::kRight},
                       {"precision", Align::kRight}});
  const auto three = [](double value) { return fmt::format("{:.3f}", value); };
  for (const Row& row : rows) {
    const Scores& sum = row.sum;
    table.AddRow({row.category, std::to_string(sum.frames), three(row.Mean(sum.depth)), three(row.Mean(sum.lite)),
                  std::to_string(sum.boxes.truths), three(row.Mean(sum.iou)), three(sum.boxes.Recall()),
                  three(sum.boxes.Precision())});
  }
  std::fputs(table.Text().c_str(), stdout);
}

std::string ToJson(const std::vector<Row>& rows, const ArEvaluateOptions& options) {
  nlohmann::ordered_json array = nlohmann::ordered_json::array();
  for (const Row& row : rows) {
    array.push_back({{"category", row.category},
                     {"split", options.split},
                     {"videos", options.videos},
                     {"frames", row.sum.frames},
                     {"depth_abs_rel", row.Mean(row.sum.depth)},
                     {"lite_abs_rel", row.Mean(row.sum.lite)},
                     {"detector_boxes", row.sum.boxes.truths},
                     {"detector_iou", row.Mean(row.sum.iou)},
                     {"detector_recall", row.sum.boxes.Recall()},
                     {"detector_precision", row.sum.boxes.Precision()}});
  }
  return array.dump(1) + "\n";
}

absl::Status RunArEvaluate(const ArEvaluateOptions& options) {
  WHARF_ASSIGN_OR_RETURN(const scene::Split split, scene::ParseSplit(options.split));
  if (!options.json.empty()) WHARF_RETURN_IF_ERROR(CheckWritable(options.json));
  const auto engine = exec::MakeTorchEngine({.threads = 1});
  WHARF_ASSIGN_OR_RETURN(const Networks networks, LoadNetworks(*engine, options.networks));
  std::vector<Row> rows;
  Scores all;
  for (const scene::Category& category : scene::kCategories) {
    WHARF_ASSIGN_OR_RETURN(const Scores sum, EvaluateCategory(networks, category, split, options));
    rows.push_back({scene::CategoryName(category), sum});
    all += sum;
  }
  rows.push_back({"all", all});
  Print(rows);
  return options.json.empty() ? absl::OkStatus() : WriteFile(options.json, ToJson(rows, options));
}

}  // namespace

void AddArEvaluateCommand(CLI::App& app) {
  CLI::App* command =
      ArCommand(app).add_subcommand("evaluate", "Say how good the networks are on videos of a town that is not there.");
  command->footer(kArEvaluateFooter);
  auto options = std::make_shared<ArEvaluateOptions>();
  AddNetworksOption(command, options->networks);
  command->add_option("--split", options->split, "training, calibration or evaluation")->capture_default_str();
  command->add_option("--videos", options->videos, "Of each category, from number 0")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command->add_option("--frames", options->frames, "Of each video, evenly apart")
      ->check(CLI::Range(1, static_cast<int>(scene::World::kFrames)))
      ->capture_default_str();
  command->add_option("--least-height", options->least_height, "Of boxes that count, in pixels")
      ->check(CLI::Range(0, 128))
      ->capture_default_str();
  command->add_option("--json", options->json, "Write a row for each category here")->type_name("FILE");
  command->callback([options] {
    if (const absl::Status done = RunArEvaluate(*options); !done.ok()) Fail(done);
  });
}

}  // namespace wharf::cli
