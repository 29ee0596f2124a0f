#include "wharf/cli/host/ar_host.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>
#include <utility>

#include "wharf/cli/ar/find_ar_server.h"
#include "wharf/cli/common/shared_data.h"
#include "wharf/cli/host/ar_server.h"
#include "wharf/cli/host/server_wish.h"

namespace wharf::cli {
namespace {

using nlohmann::json;

constexpr double kLeastSla = 1e-6, kMostSla = 10;  // as `wharf ar client --sla` has them

void SayNothing(const std::string&) {}  // results say at which server they are

const char* NameOf(ar::Standing standing) {
  switch (standing) {
    case ar::Standing::kServed:
      return "served";
    case ar::Standing::kWaiting:
      return "waiting";
    case ar::Standing::kAway:
      break;
  }
  return "away";
}

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

absl::Status ArHost::CheckTasks() const {
  if (tasks_.empty() && request_.own_tasks.empty()) {
    return InvalidArgument("tasks: there are depth, odometry and boxes; say some");
  }
  if (request_.sla) {
    if (!(*request_.sla >= kLeastSla && *request_.sla <= kMostSla)) {
      return InvalidArgument("the accuracy drop to agree on is from {:g} to {:g}", kLeastSla, kMostSla);
    }
    if (tasks_.size() + request_.own_tasks.size() != 1 || request_.odometry) {
      return InvalidArgument("an accuracy is agreed for one task: depth or boxes, or one of the program's own");
    }
  } else if (request_.depth && !request_.odometry) {
    return InvalidArgument("tasks: depth needs odometry, by which it is tracked");
  }
  if (request_.own_tasks.size() > ar::kMostModels) {
    return InvalidArgument("{} own tasks: at most {}", request_.own_tasks.size(), ar::kMostModels);
  }
  for (const OwnTask& task : request_.own_tasks) WHARF_RETURN_IF_ERROR(ar::CheckModelName(task.name));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<ArHost>> ArHost::Open(const OpenArRequest& request, Caller& caller) {
  std::unique_ptr<ArHost> host(new ArHost(request));
  const bool wanted[ar::kTasks] = {request.depth, request.odometry, request.boxes};
  for (int task = 0; task < ar::kTasks; ++task) {
    if (wanted[task]) host->tasks_.push_back(static_cast<ar::Task>(task));
  }
  WHARF_RETURN_IF_ERROR(host->CheckTasks());
  if (!(request.fx > 0) || !(request.fy > 0)) return InvalidArgument("a camera's focal lengths are more than 0");
  if (!(request.frames_per_s > 0 && request.frames_per_s <= 1000)) {
    return InvalidArgument("a camera has more than 0 frames a second, and no more than 1000");
  }
  if (!host->tasks_.empty()) {
    std::string networks = request.networks;
    if (networks.empty()) {
      WHARF_ASSIGN_OR_RETURN(networks, FindSharedData("ar", "networks"));
    }
    WHARF_ASSIGN_OR_RETURN(host->kit_, ar::ClientKit::Load(networks));
  }
  const size_t picture = size_t{3} * static_cast<size_t>(request.width) * static_cast<size_t>(request.height);
  std::vector<graph::TensorType> tensors = {{graph::ElementType::kFloat, {host->Height(), host->Width()}}};
  if (!request.own_tasks.empty()) {
    for (graph::TensorType& type : SharedFrames::TypesOf(host->Width(), host->Height())) tensors.push_back(type);
  }
  const int slots = request.own_tasks.empty() ? 1 : SharedFrames::kSlots;
  WHARF_ASSIGN_OR_RETURN(host->memory_, SharedTensors::Make(picture, tensors, slots));
  WHARF_RETURN_IF_ERROR(host->MakeOwnTasks(caller));
  return host;
}

absl::Status ArHost::MakeOwnTasks(Caller& caller) {
  if (request_.own_tasks.empty()) return absl::OkStatus();
  frames_.emplace(*memory_, 1);
  for (const OwnTask& task : request_.own_tasks) {
    ar::TaskCalibration calibration;
    calibration.task = task.name;
    if (!task.calibration.empty()) {
      WHARF_ASSIGN_OR_RETURN(calibration, ar::TaskCalibration::Load(task.calibration));
    }
    if (calibration.task != task.name) {
      return InvalidArgument("{} is a calibration of {:?}, not of {:?}", task.calibration, calibration.task, task.name);
    }
    Own& own = own_.emplace_back();
    own.tracker = std::make_unique<ProgramTracker>(task.name, task.local, caller, *frames_);
    if (request_.sla) {
      own.agreed = std::make_unique<ar::AgreedTask<Held>>(std::move(calibration), *own.tracker);
    } else {
      own.task = std::make_unique<ar::ModelTask<Held>>(std::move(calibration), *own.tracker);
    }
  }
  return absl::OkStatus();
}

json ArHost::Opened() const {
  json opened = {{"bytes", memory_->Bytes()},
                 {"depth", memory_->FirstSlot() + memory_->OutputOffsets()[0]},
                 {"width", Width()},
                 {"height", Height()}};
  if (frames_) opened["frames"] = frames_->Layout();
  return opened;
}

absl::StatusOr<multitask::FramePointer> ArHost::Frame(const ArFrameRequest& request) const {
  if (next_ > 0 && !(request.time_s > last_s_)) {
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
  if (kit_ == nullptr) return frame;
  return kit_->Fitted(std::move(frame));
}

absl::Status ArHost::Connect(const multitask::FramePointer& first) {
  const scene::Intrinsics camera{request_.width, request_.height, request_.fx, request_.fy, request_.cx, request_.cy};
  ar::ClientConfig config;
  if (kit_ != nullptr) {
    config = kit_->Config(camera, request_.frames_per_s);
  } else {
    config.camera = camera;
    config.frames_per_s = request_.frames_per_s;
  }
  config.tasks = tasks_;
  config.jpeg_quality = request_.jpeg_quality;
  WHARF_ASSIGN_OR_RETURN(ArServer server, ArServerOf(request_));
  config.server = std::move(server.address);
  config.token = std::move(server.token);
  config.dial = std::move(server.dial);
  if (request_.depth || request_.odometry) WHARF_RETURN_IF_ERROR(ar::LevelStart(first->imu, config.odometry));
  if (request_.sla) return Agree(std::move(config));
  for (const Own& own : own_) ar::AddTask(*own.task, config);
  WHARF_ASSIGN_OR_RETURN(client_, OpenArClient<ar::Client>(std::move(config), AccessOf(request_), SayNothing));
  return absl::OkStatus();
}

absl::Status ArHost::Agree(ar::ClientConfig config) {
  ar::CoordinatedClientConfig agreed;
  agreed.camera = config.camera;
  agreed.frames_per_s = config.frames_per_s;
  if (own_.empty()) {
    agreed.task = tasks_.front();
  } else {
    ar::AgreeOn(*own_.front().agreed, agreed);
  }
  agreed.sla = *request_.sla;
  agreed.motion = config.odometry;
  agreed.dial = std::move(config.dial);
  agreed.server = std::move(config.server);
  agreed.token = std::move(config.token);
  agreed.jpeg_quality = config.jpeg_quality;
  WHARF_ASSIGN_OR_RETURN(agreed_,
                         OpenArClient<ar::CoordinatedClient>(std::move(agreed), AccessOf(request_), SayNothing));
  return absl::OkStatus();
}

absl::StatusOr<json> ArHost::OnFrame(const ArFrameRequest& request) {
  WHARF_ASSIGN_OR_RETURN(const multitask::FramePointer frame, Frame(request));
  if (client_ == nullptr && agreed_ == nullptr) WHARF_RETURN_IF_ERROR(Connect(frame));
  ++next_;
  last_s_ = request.time_s;
  return Answer(agreed_ != nullptr ? Coordinated(frame) : OwnPlan(frame));
}

ArHost::Known ArHost::OwnPlan(const multitask::FramePointer& frame) {
  const ar::Results results = client_->OnFrame(frame);
  Known known;
  known.depth = results.depth;
  known.pose = results.pose;
  known.boxes = results.boxes;
  known.link = client_->Link();
  const multitask::FrameReport& report = results.report;
  for (size_t i = 0; i < report.tasks.size(); ++i) {
    const ar::ModelTask<Held>* const own = i < tasks_.size() ? nullptr : own_[i - tasks_.size()].task.get();
    const std::string_view name = own != nullptr ? own->name() : ar::kTaskNames[static_cast<size_t>(tasks_[i])];
    json& task = known.tasks[std::string(name)];
    task = {{"stride", report.tasks[i].stride},
            {"offloaded", std::ranges::count(report.offloaded, static_cast<int>(i)) > 0}};
    if (own != nullptr && own->result() != nullptr) task["result"] = (*own->result())->number();
  }
  return known;
}

ArHost::Known ArHost::Coordinated(const multitask::FramePointer& frame) {
  const ar::TrackedResult result = agreed_->OnFrame(frame);
  Known known;
  known.depth = result.depth;
  known.boxes = result.boxes;
  known.link = agreed_->Summary().link;
  const ar::AgreedTask<Held>* const own = own_.empty() ? nullptr : own_.front().agreed.get();
  json& task = known.tasks[own != nullptr ? own->calibration().task
                                          : std::string(ar::kTaskNames[static_cast<size_t>(tasks_.front())])];
  task = {{"stride", result.stride}, {"offloaded", result.offloaded}};
  if (own != nullptr && own->result() != nullptr) task["result"] = (*own->result())->number();
  known.standing = NameOf(result.standing);
  return known;
}

absl::StatusOr<json> ArHost::Report() const {
  if (!request_.sla) return FailedPrecondition("no accuracy is agreed: there is a report for clients with sla only");
  if (agreed_ == nullptr) return FailedPrecondition("no frame has come yet");
  const ar::AgreedSummary summary = agreed_->Summary();
  return json{{"sla", summary.sla},
              {"within", summary.served > 0 && summary.Within()},
              {"mean_drop", summary.mean_drop},
              {"drop_rate", summary.drop_rate},
              {"mean_stride", summary.mean_stride},
              {"reference_stride", summary.reference_stride},
              {"network_ms", 1e3 * summary.network_s},
              {"frames", summary.frames},
              {"served", summary.served},
              {"waiting", summary.waiting},
              {"away", summary.away},
              {"why_waiting", summary.why_waiting},
              {"offloads", summary.offloads},
              {"answered", summary.answered},
              {"refused", summary.refused},
              {"lost", summary.lost},
              {"server", summary.link.server},
              {"redirects", summary.link.redirects},
              {"nowhere", summary.link.nowhere}};
}

json ArHost::Answer(const Known& known) const {
  const std::span<std::byte> place = memory_->Outputs(0)[0];
  const bool has_depth = known.depth != nullptr && known.depth->metres.size() * sizeof(float) == place.size();
  if (has_depth) std::memcpy(place.data(), known.depth->metres.data(), place.size());
  // They are in pixels of what the networks see.
  const double across = static_cast<double>(request_.width) / Width();
  const double down = static_cast<double>(request_.height) / Height();
  json boxes = json::array();
  for (const scene::Box& box : known.boxes) {
    const char* const kind = box.object_class == scene::ObjectClass::kPerson ? "person" : "vehicle";
    boxes.push_back({box.left * across, box.top * down, box.right * across, box.bottom * down, kind, box.score});
  }
  json answer = {{"depth", has_depth},           {"pose", nullptr},
                 {"boxes", std::move(boxes)},    {"tasks", known.tasks},
                 {"server", known.link.server},  {"connected", known.link.connected},
                 {"lost", known.link.last_lost}, {"standing", known.standing}};
  if (known.pose) answer["pose"] = AsJson(*known.pose);
  return answer;
}

}  // namespace wharf::cli
