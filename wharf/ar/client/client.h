// Client: an AR application's side. Give it every frame of the camera with what the IMU has said since the one before,
// and before the call returns it has depth, pose and boxes of that frame; what is offloaded when, it decides by itself
// (multitask/client.h).
//
//   WHARF_ASSIGN_OR_RETURN(const auto client, ar::Client::Open(std::move(config)));
//   for (each frame) {
//     const ar::Results results = client->OnFrame(frame);   // results.depth, results.pose, results.boxes
//     if (results.pose->state != track::PoseState::kGood) …         // results.pose->why says what is wrong with it
//   }
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "wharf/ar/client/link_offloader.h"
#include "wharf/link/byte_stream.h"
#include "wharf/multitask/tasks/boxes_task.h"
#include "wharf/multitask/tasks/depth_task.h"
#include "wharf/multitask/tasks/odometry_task.h"
#include "wharf/multitask/thread_workers.h"

namespace wharf::ar {

struct ClientConfig {
  scene::Intrinsics camera;
  double frames_per_s = 60;
  std::vector<Task> tasks = {Task::kDepth, Task::kOdometry};  // depth needs odometry: it is warped by the motion
  std::string policy = "accumo";                              // multitask::ParsePolicy
  // Tasks of the application's own, behind the others (model_task/model_task.h): models that the server was given under
  // these tasks' names. They must outlive the client.
  std::vector<multitask::Task*> own_tasks;
  std::vector<double> weights;        // of all tasks; none: all alike
  multitask::OffloadProfile profile;  // what is assumed of offloads until they are measured
  multitask::DepthEstimator lite;     // of this device; for depth
  multitask::DepthCalibration depth;
  bool fuse_depth = true;  // between answers what is warped is fused with the lite map (track/depth_fusion.h)
  multitask::OdometryTaskOptions odometry;
  double box_drop_rate = 0.01;  // IoU per frame of stride, until it is measured
  Dial dial = [](const std::string& to) { return link::Connect(to, {}); };  // as it is, TCP without encryption
  std::string server;                                                       // HOST:PORT
  std::string token;
  DepthCoding depth_coding = DepthCoding::kHalf;
  int jpeg_quality = 90;
};

// What such a client says to a server. REQUIRES: no more than kMostModels own tasks.
Hello HelloOf(const ClientConfig& config);

struct Results {
  multitask::DepthPointer depth;            // null: no such task, or nothing yet
  std::optional<track::PoseEstimate> pose;  // since the start, and whether it can be relied on
  std::vector<scene::Box> boxes;
  multitask::FrameReport report;  // own tasks stand behind the others, and have their results themselves
};

// Not thread-safe.
class Client {
 public:
  // Connects to the server. kInvalidArgument: tasks, policy or weights that do not go together; kFailedPrecondition:
  // the server does not have one of the tasks; else as LinkOffloader::Open.
  static absl::StatusOr<std::unique_ptr<Client>> Open(ClientConfig config);
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // In the order of their indices. Waits for no server.
  Results OnFrame(const multitask::FramePointer& frame);
  const multitask::ClientCounts& Counts() const { return client_->counts(); }
  UplinkState Link() const { return offloader_->State(); }

 private:
  explicit Client(ClientConfig config) : config_(std::move(config)) {}
  absl::Status Start();
  absl::Status MakeTasks();
  void LogState(const track::PoseEstimate& pose, int64_t frame);

  const ClientConfig config_;
  std::optional<multitask::OdometryTask> odometry_;
  std::optional<multitask::DepthTask> depth_;
  std::optional<multitask::BoxesTask> boxes_;
  std::vector<multitask::Task*> tasks_;
  std::unique_ptr<LinkOffloader> offloader_;
  std::optional<multitask::ThreadBackground> background_;
  std::optional<multitask::Client> client_;
  track::PoseState logged_ = track::PoseState::kInitialising;
};

}  // namespace wharf::ar
