#include "wharf/ar/finders/task_finder.h"

#include <algorithm>
#include <utility>

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

class TaskFinder final : public SoloFinder {
 public:
  TaskFinder(const Hello& hello, const Networks& networks)
      : coding_(hello.depth_coding),
        networks_(networks),
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
    return Internal("an unknown task");
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
  Task GetTask() const override { return Task::kDepth; }
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
  Task GetTask() const override { return Task::kBoxes; }
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

}  // namespace

absl::StatusOr<std::unique_ptr<SoloFinder>> MakeTaskFinder(const Hello& hello, const Networks& networks) {
  if (Asks(hello, Task::kDepth) || Asks(hello, Task::kOdometry))
    WHARF_RETURN_IF_ERROR(CheckFits(hello, networks.depth, "depth"));
  if (Asks(hello, Task::kBoxes)) WHARF_RETURN_IF_ERROR(CheckFits(hello, networks.detector, "boxes"));
  return std::make_unique<TaskFinder>(hello, networks);
}

std::unique_ptr<BatchFinder> MakeDepthBatches(const perception::DepthNetwork& network) {
  return std::make_unique<DepthBatches>(network);
}
std::unique_ptr<BatchFinder> MakeBoxBatches(const perception::Detector& detector) {
  return std::make_unique<BoxBatches>(detector);
}

}  // namespace wharf::ar
