#include "wharf/cli/host/ar_host.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "wharf/cli/common/shared_data.h"
#include "wharf/cli/host/server_wish.h"

namespace wharf::cli {
namespace {

using nlohmann::json;

json AsJson(const track::PoseEstimate& estimate) {
  const scene::Pose& pose = estimate.pose;
  json covariance = json::array();
  for (int row = 0; row < 6; ++row) {
    for (int column = 0; column < 6; ++column) covariance.push_back(estimate.covariance(row, column));
  }
  return {{"position", {pose.position.x(), pose.position.y(), pose.position.z()}},
          {"rotation", {pose.rotation.w(), pose.rotation.x(), pose.rotation.y(), pose.rotation.z()}},
          {"covariance", std::move(covariance)},
          {"state", track::PoseStateName(estimate.state)},
          {"why", std::string(estimate.why)}};
}

}  // namespace

absl::StatusOr<std::unique_ptr<ArHost>> ArHost::Open(const OpenArRequest& request) {
  std::unique_ptr<ArHost> host(new ArHost(request));
  const bool wanted[ar::kTasks] = {request.depth, request.odometry, request.boxes};
  for (int task = 0; task < ar::kTasks; ++task) {
    if (wanted[task]) host->tasks_.push_back(static_cast<ar::Task>(task));
  }
  if (host->tasks_.empty()) return InvalidArgument("tasks: there are depth, odometry and boxes; say some");
  if (request.depth && !request.odometry) return InvalidArgument("tasks: depth needs odometry, by which it is tracked");
  if (!(request.fx > 0) || !(request.fy > 0)) return InvalidArgument("a camera's focal lengths are more than 0");
  if (!(request.frames_per_s > 0 && request.frames_per_s <= 1000)) {
    return InvalidArgument("a camera has more than 0 frames a second, and no more than 1000");
  }
  std::string networks = request.networks;
  if (networks.empty()) {
    WHARF_ASSIGN_OR_RETURN(networks, FindSharedData("ar", "networks"));
  }
  WHARF_ASSIGN_OR_RETURN(host->kit_, ar::ClientKit::Load(networks));
  const size_t picture = size_t{3} * static_cast<size_t>(request.width) * static_cast<size_t>(request.height);
  const graph::TensorType depth{graph::ElementType::kFloat, {host->kit_->Height(), host->kit_->Width()}};
  WHARF_ASSIGN_OR_RETURN(host->memory_, SharedTensors::Make(picture, {depth}, 1));
  return host;
}

json ArHost::Opened() const {
  return {{"bytes", memory_->Bytes()},
          {"depth", memory_->FirstSlot() + memory_->OutputOffsets()[0]},
          {"width", kit_->Width()},
          {"height", kit_->Height()}};
}

absl::StatusOr<multitask::FramePointer> ArHost::Frame(const ArFrameRequest& request) const {
  if (client_ != nullptr && !(request.time_s > last_s_)) {
    return InvalidArgument("a frame at {:g} s, after one at {:g} s: frames come one after the other", request.time_s,
                           last_s_);
  }
  constexpr size_t kNumbers = 7;
  if (request.imu.size() % kNumbers != 0) {
    return InvalidArgument("an IMU sample is 7 numbers: time, angular velocity, specific force");
  }
  auto frame = std::make_shared<scene::Frame>();
  frame->index = next_;
  frame->time_s = request.time_s;
  frame->image = {request_.width, request_.height, {}};
  const auto* const pixels = reinterpret_cast<const uint8_t*>(memory_->Input().data());
  frame->image.rgb.assign(pixels, pixels + memory_->Input().size());
  for (size_t i = 0; i < request.imu.size(); i += kNumbers) {
    const double* const n = request.imu.data() + i;
    frame->imu.push_back({n[0], {n[1], n[2], n[3]}, {n[4], n[5], n[6]}});
  }
  return kit_->Fitted(std::move(frame));
}

absl::Status ArHost::Connect(const multitask::FramePointer& first) {
  const scene::Intrinsics camera{request_.width, request_.height, request_.fx, request_.fy, request_.cx, request_.cy};
  ar::ClientConfig config = kit_->Config(camera, request_.frames_per_s);
  config.tasks = tasks_;
  config.jpeg_quality = request_.jpeg_quality;
  const ServerAccess access = AccessOf(request_);
  if (access.tls_certificate.empty() != access.tls_key.empty()) {
    return InvalidArgument("a certificate and its key go together");
  }
  config.server = access.server;
  config.token = request_.token;
  if (config.token.empty()) {
    WHARF_ASSIGN_OR_RETURN(config.token, access.Token());
  }
  config.dial = [connecting = access.Connecting()](const std::string& server) {
    return link::Connect(server, connecting);
  };
  if (request_.depth || request_.odometry) WHARF_RETURN_IF_ERROR(ar::LevelStart(first->imu, config.odometry));
  WHARF_ASSIGN_OR_RETURN(client_, ar::Client::Open(std::move(config)));
  return absl::OkStatus();
}

absl::StatusOr<json> ArHost::OnFrame(const ArFrameRequest& request) {
  WHARF_ASSIGN_OR_RETURN(const multitask::FramePointer frame, Frame(request));
  if (client_ == nullptr) WHARF_RETURN_IF_ERROR(Connect(frame));
  ++next_;
  last_s_ = request.time_s;
  return Answer(client_->OnFrame(frame));
}

json ArHost::Answer(const ar::Results& results) {
  const std::span<std::byte> place = memory_->Outputs(0)[0];
  const bool has_depth = results.depth != nullptr && results.depth->metres.size() * sizeof(float) == place.size();
  if (has_depth) std::memcpy(place.data(), results.depth->metres.data(), place.size());
  // They are in pixels of what the networks see.
  const double across = static_cast<double>(request_.width) / kit_->Width();
  const double down = static_cast<double>(request_.height) / kit_->Height();
  json boxes = json::array();
  for (const scene::Box& box : results.boxes) {
    const char* const kind = box.object_class == scene::ObjectClass::kPerson ? "person" : "vehicle";
    boxes.push_back({box.left * across, box.top * down, box.right * across, box.bottom * down, kind, box.score});
  }
  json tasks = json::object();
  for (size_t i = 0; i < tasks_.size(); ++i) {
    const bool offloaded = std::ranges::count(results.report.offloaded, static_cast<int>(i)) > 0;
    tasks[std::string(ar::kTaskNames[static_cast<size_t>(tasks_[i])])] = {{"stride", results.report.tasks[i].stride},
                                                                          {"offloaded", offloaded}};
  }
  const ar::UplinkState link = client_->Link();
  json answer = {{"depth", has_depth},        {"pose", nullptr},       {"boxes", std::move(boxes)},
                 {"tasks", std::move(tasks)}, {"server", link.server}, {"connected", link.connected},
                 {"lost", link.last_lost}};
  if (results.pose) answer["pose"] = AsJson(*results.pose);
  return answer;
}

}  // namespace wharf::cli
