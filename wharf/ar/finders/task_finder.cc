#include "wharf/ar/finders/task_finder.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "wharf/ar/result_coding.h"

namespace wharf::ar {
namespace {

bool Asks(const Hello& hello, Task task) { return (hello.tasks >> static_cast<int>(task) & 1) != 0; }

template <typename Network>
bool Fits(const Hello& hello, const Network& network) {
  return hello.width == network.Width() && hello.height == network.Height();
}

template <typename Network>
absl::Status CheckFits(const Hello& hello, const Network* network, const char* what) {
  if (network == nullptr) return FailedPrecondition("this server has no network for {}", what);
  if (Fits(hello, *network)) return absl::OkStatus();
  return InvalidArgument("pictures of {} x {} for a network that takes {} x {}", hello.width, hello.height,
                         network->Width(), network->Height());
}

absl::Status NoModel(const std::string& name, const Networks& networks) {
  if (networks.models.empty())
    return FailedPrecondition("this server has no task {}: start it with --task {}=MODEL.onnx", name, name);
  std::vector<std::string> names;
  for (const auto& [known, model] : networks.models) names.push_back(known);
  return FailedPrecondition("this server has no task {}: of its own it has {}", name, fmt::join(names, ", "));
}

class TaskFinder final : public SoloFinder {
 public:
  TaskFinder(const Hello& hello, const Networks& networks, std::vector<const perception::PictureModel*> models)
      : coding_(hello.depth_coding),
        networks_(networks),
        models_(std::move(models)),
        odometry_([this](const multitask::FramePointer& frame) { return Depth(frame); },
                  multitask::FeatureMotion({hello.width, hello.height, hello.fx, hello.fy, hello.cx, hello.cy}),
                  DetectorFor(hello)) {}

  Finding Find(Task task, const multitask::FramePointer& frame) override {
    switch (task) {
      case Task::kDepth: {
        WHARF_ASSIGN_OR_RETURN(const multitask::DepthPointer depth, Depth(frame));
        return EncodeDepth(*depth, coding_);
      }
      case Task::kOdometry:
        return Odometry(frame);
      case Task::kBoxes: {
        WHARF_ASSIGN_OR_RETURN(const std::vector<scene::Box> boxes, Boxes(frame));
        return EncodeBoxes(boxes);
      }
    }
    const size_t place = static_cast<size_t>(task) - kTasks;
    if (place >= models_.size()) return Internal("an unknown task");
    WHARF_ASSIGN_OR_RETURN(const std::vector<graph::Constant> outputs, models_[place]->Run(frame->image));
    return EncodeOutputs(outputs);
  }

 private:
  // For odometry; none where it has none that takes these pictures.
  multitask::BoxDetector DetectorFor(const Hello& hello) {
    if (networks_.detector == nullptr || !Fits(hello, *networks_.detector)) return nullptr;
    return [this](const multitask::FramePointer& frame) { return Boxes(frame); };
  }
  // Both tasks that want a picture's depth have it from one run.
  absl::StatusOr<multitask::DepthPointer> Depth(const multitask::FramePointer& frame) {
    if (depth_frame_ == frame->index && depth_ != nullptr) return depth_;
    WHARF_ASSIGN_OR_RETURN(scene::DepthMap depth, networks_.depth->Estimate(frame->image));
    depth_ = std::make_shared<const scene::DepthMap>(std::move(depth));
    depth_frame_ = frame->index;
    return depth_;
  }
  // As Depth.
  absl::StatusOr<std::vector<scene::Box>> Boxes(const multitask::FramePointer& frame) {
    if (boxes_frame_ == frame->index) return boxes_;
    WHARF_ASSIGN_OR_RETURN(boxes_, networks_.detector->Detect(frame->image));
    boxes_frame_ = frame->index;
    return boxes_;
  }
  Finding Odometry(const multitask::FramePointer& frame) {
    WHARF_ASSIGN_OR_RETURN(const multitask::AnswerPointer answer, odometry_.Serve(frame));
    const auto& measured = static_cast<const multitask::OdometryAnswer&>(*answer).measured;
    if (!measured) return std::vector<std::byte>();  // the first picture
    return EncodeMotion({measured->from, measured->motion});
  }

  const DepthCoding coding_;
  const Networks networks_;
  const std::vector<const perception::PictureModel*> models_;  // as the Hello has them
  multitask::OdometryServer odometry_;
  int64_t depth_frame_ = -1;
  multitask::DepthPointer depth_;
  int64_t boxes_frame_ = -1;
  std::vector<scene::Box> boxes_;
};

// In pieces that the network can run at once.
template <typename Network, typename Run, typename Encode>
std::vector<Finding> FindInPieces(const Network& network, std::span<const scene::Image> pictures, const Run& run,
                                  const Encode& encode) {
  std::vector<Finding> findings;
  while (!pictures.empty()) {
    const auto piece = pictures.first(std::min(pictures.size(), static_cast<size_t>(network.LargestBatch())));
    auto found = run(piece);
    for (size_t i = 0; i < piece.size(); ++i) {
      findings.push_back(found.ok() ? Finding(encode((*found)[i], findings.size())) : Finding(found.status()));
    }
    pictures = pictures.subspan(piece.size());
  }
  return findings;
}

class DepthBatches final : public BatchFinder {
 public:
  explicit DepthBatches(const perception::DepthNetwork& network) : network_(network) {}
  std::string_view TaskName() const override { return "depth"; }
  int Width() const override { return network_.Width(); }
  int Height() const override { return network_.Height(); }
  std::vector<Finding> Find(std::span<const scene::Image> pictures, std::span<const DepthCoding> codings) override {
    return FindInPieces(
        network_, pictures, [&](auto piece) { return network_.Estimate(piece); },
        [&](const scene::DepthMap& depth, size_t i) { return EncodeDepth(depth, codings[i]); });
  }

 private:
  const perception::DepthNetwork& network_;
};

class BoxBatches final : public BatchFinder {
 public:
  explicit BoxBatches(const perception::Detector& detector) : detector_(detector) {}
  std::string_view TaskName() const override { return "boxes"; }
  int Width() const override { return detector_.Width(); }
  int Height() const override { return detector_.Height(); }
  std::vector<Finding> Find(std::span<const scene::Image> pictures, std::span<const DepthCoding>) override {
    return FindInPieces(
        detector_, pictures, [&](auto piece) { return detector_.Detect(piece); },
        [](const std::vector<scene::Box>& boxes, size_t) { return EncodeBoxes(boxes); });
  }

 private:
  const perception::Detector& detector_;
};

class ModelBatches final : public BatchFinder {
 public:
  ModelBatches(std::string name, const perception::PictureModel& model) : name_(std::move(name)), model_(model) {}
  std::string_view TaskName() const override { return name_; }
  int Width() const override { return model_.Width(); }
  int Height() const override { return model_.Height(); }
  bool TakesAnySize() const override { return true; }
  std::vector<Finding> Find(std::span<const scene::Image> pictures, std::span<const DepthCoding>) override {
    std::vector<Finding> findings;
    for (const scene::Image& picture : pictures) {
      const auto outputs = model_.Run(picture);
      findings.push_back(outputs.ok() ? Finding(EncodeOutputs(*outputs)) : Finding(outputs.status()));
    }
    return findings;
  }

 private:
  const std::string name_;
  const perception::PictureModel& model_;
};

}  // namespace

absl::Status CheckModelTask(std::string_view name, const perception::PictureModel& model) {
  WHARF_RETURN_IF_ERROR(CheckModelName(name));
  if (const absl::Status fits = CheckOutputs(model.Outputs()); !fits.ok())
    return InvalidArgument("the task {} cannot be served: {}", name, Message(fits));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<SoloFinder>> MakeTaskFinder(const Hello& hello, const Networks& networks) {
  if (Asks(hello, Task::kDepth) || Asks(hello, Task::kOdometry))
    WHARF_RETURN_IF_ERROR(CheckFits(hello, networks.depth, "depth"));
  if (Asks(hello, Task::kBoxes)) WHARF_RETURN_IF_ERROR(CheckFits(hello, networks.detector, "boxes"));
  std::vector<const perception::PictureModel*> models;
  for (const std::string& name : ModelNames(hello.models)) {
    const auto found = networks.models.find(name);
    if (found == networks.models.end()) return NoModel(name, networks);
    models.push_back(found->second);
  }
  return std::make_unique<TaskFinder>(hello, networks, std::move(models));
}

std::unique_ptr<BatchFinder> MakeDepthBatches(const perception::DepthNetwork& network) {
  return std::make_unique<DepthBatches>(network);
}
std::unique_ptr<BatchFinder> MakeBoxBatches(const perception::Detector& detector) {
  return std::make_unique<BoxBatches>(detector);
}
std::unique_ptr<BatchFinder> MakeModelBatches(std::string name, const perception::PictureModel& model) {
  return std::make_unique<ModelBatches>(std::move(name), model);
}

}  // namespace wharf::ar
