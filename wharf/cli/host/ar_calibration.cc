#include "wharf/cli/host/ar_calibration.h"

#include <cmath>
#include <utility>

#include "wharf/ar/messages.h"
#include "wharf/ar/model_task/calibrate.h"
#include "wharf/cli/host/ar_server.h"

namespace wharf::cli {
namespace {

using nlohmann::json;

constexpr int kLeastSide = 16;  // of what a server takes; ar::kMaxSide is the most

// A video as a calibration reads it: it ends where no function is called any more, and its frames' indices begin again.
class WatchedSource final : public scene::Source {
 public:
  WatchedSource(std::unique_ptr<scene::Source> source, const Caller& caller, std::optional<SharedFrames>& frames)
      : source_(std::move(source)), caller_(caller), frames_(frames) {}
  scene::Intrinsics Camera() const override { return source_->Camera(); }
  double FramesPerSecond() const override { return source_->FramesPerSecond(); }
  absl::StatusOr<std::optional<scene::Frame>> Next() override {
    WHARF_RETURN_IF_ERROR(caller_.Stopped());
    if (!std::exchange(begun_, true)) frames_->Forget();
    return source_->Next();
  }

 private:
  const std::unique_ptr<scene::Source> source_;
  const Caller& caller_;
  std::optional<SharedFrames>& frames_;
  bool begun_ = false;
};

// Frames that the program gives.
class ProgramSource final : public scene::Source {
 public:
  ProgramSource(const OpenCalibrationRequest& request, size_t video, Caller& caller,
                const std::unique_ptr<SharedTensors>& memory)
      : width_(request.width),
        height_(request.height),
        frames_per_s_(request.frames_per_s),
        video_(video),
        caller_(caller),
        memory_(memory) {}
  scene::Intrinsics Camera() const override {  // a server wants some; what a model finds does not depend on it
    return {width_, height_, static_cast<double>(width_), static_cast<double>(width_), width_ / 2.0, height_ / 2.0};
  }
  double FramesPerSecond() const override { return frames_per_s_; }
  absl::StatusOr<std::optional<scene::Frame>> Next() override {
    WHARF_ASSIGN_OR_RETURN(const CalledRequest called, caller_.Call({{"function", "next"}, {"video", video_}}));
    if (!called.result) return std::nullopt;
    const auto* const pixels = reinterpret_cast<const uint8_t*>(memory_->Input().data());
    scene::Frame frame{next_, static_cast<double>(next_) / frames_per_s_, {width_, height_, {}}, {}};
    frame.image.rgb.assign(pixels, pixels + memory_->Input().size());
    ++next_;
    return frame;
  }

 private:
  const int width_, height_;
  const double frames_per_s_;
  const size_t video_;
  Caller& caller_;
  const std::unique_ptr<SharedTensors>& memory_;
  int64_t next_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ArCalibration>> ArCalibration::Open(const OpenCalibrationRequest& request,
                                                                   Caller& caller) {
  std::unique_ptr<ArCalibration> made(new ArCalibration(request, caller));
  if (request.videos.empty()) return InvalidArgument("there are no videos to calibrate on");
  WHARF_RETURN_IF_ERROR(ar::CheckModelName(request.task));
  if (!(request.frames_per_s > 0 && request.frames_per_s <= 1000)) {
    return InvalidArgument("a camera has more than 0 frames a second, and no more than 1000");
  }
  for (const std::string& path : request.videos) {
    std::unique_ptr<scene::Source> source;
    if (path.empty()) {
      source = std::make_unique<ProgramSource>(request, made->videos_.size(), caller, made->memory_);
    } else {
      WHARF_ASSIGN_OR_RETURN(scene::FileSource file,
                             scene::OpenFiles(path, {.width = request.width, .height = request.height}));
      source = std::move(file.source);
    }
    made->videos_.push_back(std::make_unique<WatchedSource>(std::move(source), caller, made->frames_));
  }
  const scene::Intrinsics camera = made->videos_[0]->Camera();
  for (const int side : {camera.width, camera.height}) {
    if (side < kLeastSide || side > ar::kMaxSide) {
      return InvalidArgument("pictures of {} x {}: each side must be {} to {}", camera.width, camera.height, kLeastSide,
                             ar::kMaxSide);
    }
  }
  const size_t picture = size_t{3} * static_cast<size_t>(camera.width) * static_cast<size_t>(camera.height);
  WHARF_ASSIGN_OR_RETURN(made->memory_, SharedTensors::Make(picture, SharedFrames::TypesOf(camera.width, camera.height),
                                                            SharedFrames::kSlots));
  made->frames_.emplace(*made->memory_, 0);
  return made;
}

json ArCalibration::Opened() const {
  const scene::Intrinsics camera = videos_[0]->Camera();
  return {
      {"bytes", memory_->Bytes()}, {"width", camera.width}, {"height", camera.height}, {"frames", frames_->Layout()}};
}

absl::StatusOr<json> ArCalibration::Run() {
  WHARF_ASSIGN_OR_RETURN(ArServer server, ArServerOf(request_));
  ar::CalibrateOptions options;
  options.task = request_.task;
  options.server = std::move(server.address);
  options.token = std::move(server.token);
  options.dial = std::move(server.dial);
  options.source = request_.source;
  if (!request_.strides.empty()) options.strides = request_.strides;
  options.every = request_.every;
  options.latency_frames = request_.latency_frames;
  options.jpeg_quality = request_.jpeg_quality;
  ProgramTracker tracker(request_.task, request_.local, caller_, *frames_);
  const auto report = ar::Calibrate(tracker, videos_, options);
  WHARF_RETURN_IF_ERROR(caller_.Stopped());
  WHARF_RETURN_IF_ERROR(report.status());
  const ar::TaskCalibration& calibration = report->calibration;
  json losses = json::array();
  for (const ar::TrackedLoss& loss : report->losses) {
    losses.push_back({loss.stride, loss.samples, loss.tracked, calibration.DropAt(loss.stride), loss.held});
  }
  json calibrated = {
      {"json", calibration.Json()}, {"text", report->Text()},           {"losses", std::move(losses)},
      {"rate", calibration.rate},   {"exponent", calibration.exponent}, {"offload_ms", calibration.offload_ms},
      {"local_drop", nullptr},      {"held_out_error", nullptr},        {"frames", report->frames},
      {"asked", report->asked},     {"refused", report->refused}};
  if (std::isfinite(calibration.local_drop)) calibrated["local_drop"] = calibration.local_drop;
  if (report->held_out_error) calibrated["held_out_error"] = *report->held_out_error;
  return calibrated;
}

}  // namespace wharf::cli
