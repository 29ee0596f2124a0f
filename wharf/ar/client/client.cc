#include "wharf/ar/client/client.h"

#include <algorithm>
#include <utility>

#include "wharf/base/log.h"

namespace wharf::ar {
namespace {

constexpr double kUsualOffloadMs = 60;  // until it is measured

// As the client counts them.
std::vector<Task> TasksOf(const ClientConfig& config) {
  std::vector<Task> tasks = config.tasks;
  for (size_t i = 0; i < config.own_tasks.size(); ++i) tasks.push_back(ModelTaskAt(static_cast<int>(i)));
  return tasks;
}

}  // namespace

Hello HelloOf(const ClientConfig& config) {
  Hello hello;
  for (const Task task : TasksOf(config)) hello.tasks |= static_cast<uint8_t>(1 << static_cast<int>(task));
  for (const multitask::Task* const task : config.own_tasks) {
    hello.models += hello.models.empty() ? "" : ",";
    hello.models += task->name();
  }
  hello.depth_coding = config.depth_coding;
  hello.frames_per_s = config.frames_per_s;
  SetCamera(config.camera, hello);
  return hello;
}

absl::StatusOr<std::unique_ptr<Client>> Client::Open(ClientConfig config) {
  if (config.weights.empty()) config.weights.assign(config.tasks.size() + config.own_tasks.size(), 1);
  for (const multitask::Task* const task : config.own_tasks) {
    if (config.profile.Find(task->name()) == nullptr)
      config.profile.tasks.push_back({std::string(task->name()), kUsualOffloadMs, 0});
  }
  std::unique_ptr<Client> client(new Client(std::move(config)));
  WHARF_RETURN_IF_ERROR(client->Start());
  return client;
}

absl::Status Client::MakeTasks() {
  const auto has = [this](Task task) { return std::ranges::count(config_.tasks, task); };
  for (const Task task : {Task::kDepth, Task::kOdometry, Task::kBoxes})
    if (has(task) > 1) return InvalidArgument("a task is named twice");
  if (has(Task::kDepth) > 0 && has(Task::kOdometry) == 0)
    return InvalidArgument("depth is tracked by the camera's motion: it needs odometry as well");
  const size_t count = config_.tasks.size() + config_.own_tasks.size();
  if (config_.weights.size() != count) return InvalidArgument("{} weights for {} tasks", config_.weights.size(), count);
  if (has(Task::kOdometry) > 0) odometry_.emplace(config_.odometry);
  for (const Task task : config_.tasks) {
    switch (task) {
      case Task::kDepth:
        tasks_.push_back(&depth_.emplace(config_.camera, config_.lite, config_.depth, *odometry_, config_.fuse_depth));
        break;
      case Task::kOdometry:
        tasks_.push_back(&*odometry_);
        break;
      case Task::kBoxes:
        tasks_.push_back(&boxes_.emplace(config_.box_drop_rate));
        break;
    }
  }
  tasks_.insert(tasks_.end(), config_.own_tasks.begin(), config_.own_tasks.end());
  return absl::OkStatus();
}

absl::Status Client::Start() {
  WHARF_RETURN_IF_ERROR(MakeTasks());
  const int count = static_cast<int>(tasks_.size());
  WHARF_ASSIGN_OR_RETURN(const multitask::Policy policy, multitask::ParsePolicy(config_.policy, count));
  UplinkOptions options;
  options.server = config_.server;
  options.jpeg_quality = config_.jpeg_quality;
  options.token = config_.token;
  if (config_.own_tasks.size() > kMostModels)
    return InvalidArgument("{} own tasks: at most {}", config_.own_tasks.size(), kMostModels);
  options.hello = HelloOf(config_);
  WHARF_ASSIGN_OR_RETURN(offloader_, LinkOffloader::Open(config_.dial, std::move(options), TasksOf(config_)));
  background_.emplace(count);
  WHARF_ASSIGN_OR_RETURN(
      multitask::Client client,
      multitask::Client::Make(tasks_, policy, multitask::WeightedMerge(config_.weights), config_.profile, *offloader_,
                              *background_, Clock::Real(), {.frames_per_s = config_.frames_per_s}));
  client_.emplace(std::move(client));
  return absl::OkStatus();
}

void Client::LogState(const track::PoseEstimate& pose, int64_t frame) {
  if (pose.state == std::exchange(logged_, pose.state)) return;
  const bool good = pose.state == track::PoseState::kGood;
  Log(good ? LogLevel::kInfo : LogLevel::kWarning, fmt::format("pose is {}", track::PoseStateName(pose.state)),
      {{"frame", frame}, {"position_sd_m", fmt::format("{:.2f}", pose.PositionSd())}, {"why", pose.why}});
}

Results Client::OnFrame(const multitask::FramePointer& frame) {
  Results results;
  results.report = client_->OnFrame(frame);
  if (depth_) results.depth = depth_->result();
  if (odometry_) {
    results.pose = odometry_->pose_estimate();
    LogState(*results.pose, frame->index);
  }
  if (boxes_) results.boxes = boxes_->result();
  return results;
}

}  // namespace wharf::ar
