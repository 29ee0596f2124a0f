#include "wharf/ar/client_kit/client_kit.h"

#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>

#include "wharf/base/read_file.h"
#include "wharf/exec/torch_engine.h"
#include "wharf/track/pose_filter.h"

namespace wharf::ar {

absl::StatusOr<std::unique_ptr<ClientKit>> ClientKit::Load(const std::string& folder) {
  std::unique_ptr<ClientKit> kit(new ClientKit);
  const std::string calibration = folder + "/accumo.json";
  WHARF_ASSIGN_OR_RETURN(const std::string text, ReadFile(calibration));
  auto parsed = multitask::Calibration::Parse(text);
  if (!parsed.ok()) return InvalidArgument("{}: {}", calibration, Message(parsed.status()));
  kit->calibration_ = *std::move(parsed);
  kit->engine_ = exec::MakeTorchEngine({.threads = 1});
  WHARF_ASSIGN_OR_RETURN(kit->lite_, perception::DepthNetwork::Load(*kit->engine_, folder + "/lite.onnx", {}));
  return kit;
}

ClientConfig ClientKit::Config(const scene::Intrinsics& camera, double frames_per_s) const {
  ClientConfig config;
  config.camera = scene::Resized(camera, Width(), Height());
  config.frames_per_s = frames_per_s;
  config.tasks = {Task::kDepth, Task::kOdometry, Task::kBoxes};
  config.profile = *multitask::NamedProfile("thesis");
  config.lite = [this](const multitask::FramePointer& frame) -> absl::StatusOr<multitask::DepthPointer> {
    WHARF_ASSIGN_OR_RETURN(scene::DepthMap depth, lite_->Estimate(frame->image));
    return std::make_shared<const scene::DepthMap>(std::move(depth));
  };
  config.depth = calibration_.depth;
  config.odometry.accuracy = calibration_.odometry;
  config.odometry.frame_s = 1 / frames_per_s;
  config.box_drop_rate = calibration_.box_drop_rate;
  config.dial = [](const std::string& server) { return link::Connect(server, {}); };
  return config;
}

multitask::FramePointer ClientKit::Fitted(multitask::FramePointer frame) const {
  const scene::Image& image = frame->image;
  if (image.width == Width() && image.height == Height()) return frame;
  auto fitted =
      std::make_shared<scene::Frame>(scene::Frame{frame->index, frame->time_s, {Width(), Height(), {}}, frame->imu});
  fitted->image.rgb.resize(static_cast<size_t>(Width()) * static_cast<size_t>(Height()) * 3);
  const cv::Mat from(image.height, image.width, CV_8UC3, const_cast<uint8_t*>(image.rgb.data()));
  cv::Mat to(Height(), Width(), CV_8UC3, fitted->image.rgb.data());
  cv::resize(from, to, to.size(), 0, 0, Width() < image.width ? cv::INTER_AREA : cv::INTER_LINEAR);
  return fitted;
}

absl::Status LevelStart(std::span<const scene::ImuSample> first, multitask::OdometryTaskOptions& odometry) {
  if (first.empty()) return FailedPrecondition("there are no IMU samples with the first frame");
  const auto level = track::AlignWithGravity(first, odometry.filter.gravity);
  if (level.ok()) odometry.start.pose.rotation = *level;
  odometry.start.velocity_sd = 2;
  odometry.start.orientation_sd = 0.1;
  odometry.start.heading_sd = 1e-4;  // the world's axes are those of its first heading
  odometry.start.time_s = first.front().time_s;
  return absl::OkStatus();
}

}  // namespace wharf::ar
