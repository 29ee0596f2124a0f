// ArHost: holds an AR client (ar/client) for a program in another language, as ModelHost (host.h) holds a model.
// Pictures lie in the shared memory, and so does depth:
//
//   {"id": 1, "opened": {…}}       with the descriptor of the memory; "width" and "height" are depth's, and those of
//                                  pictures as they travel; "frames": where those lie that own tasks see (own_task.h)
//   {"id": 2, "framed": {"depth": true, "pose": {…}, "boxes": [[left, top, right, bottom, "person", 0.9], …],
//                        "tasks": {"depth": {"stride": 3, "offloaded": false}, "mine": {…, "result": 18}, …},
//                        "connected": true, "server": "edge:7072", "lost": "", "standing": ""}}
//   {"id": 3, "report": {…}}       how an agreed accuracy is kept (ar::AgreedSummary)
//
// Tasks of the program's own are called while it waits for "framed" (caller.h).
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "wharf/ar/client/coordinated_client.h"
#include "wharf/ar/client_kit/client_kit.h"
#include "wharf/ar/model_task/agreed_task.h"
#include "wharf/ar/model_task/model_task.h"
#include "wharf/base/status.h"
#include "wharf/cli/host/caller.h"
#include "wharf/cli/host/own_task.h"
#include "wharf/cli/host/request.h"
#include "wharf/cli/host/shared_tensors.h"

namespace wharf::cli {

class ArHost {
 public:
  // Loads what the client has of its own; connects with the first frame, for only then it is known how the camera
  // stands. kInvalidArgument: a camera, rate, accuracy or tasks that cannot be. Else as ClientKit::Load and
  // TaskCalibration::Load. `caller` must outlive it.
  static absl::StatusOr<std::unique_ptr<ArHost>> Open(const OpenArRequest& request, Caller& caller);

  // The members of "opened".
  nlohmann::json Opened() const;
  int Descriptor() const { return memory_->Descriptor(); }
  // Of the picture that lies in the memory: the members of "framed". kInvalidArgument: IMU samples that are none, or a
  // time that is not after the last. kFailedPrecondition: there are none with the first frame, which depth and odometry
  // need. The first fails as ar::Client::Open and ar::CoordinatedClient::Open, too.
  absl::StatusOr<nlohmann::json> OnFrame(const ArFrameRequest& request);
  // The members of "report". kFailedPrecondition: no accuracy is agreed, or no frame has come yet.
  absl::StatusOr<nlohmann::json> Report() const;

 private:
  struct Own {
    std::unique_ptr<ProgramTracker> tracker;
    std::unique_ptr<ar::ModelTask<Held>> task;  // one of the two
    std::unique_ptr<ar::AgreedTask<Held>> agreed;
  };
  // What both kinds of clients have to say of a frame.
  struct Known {
    multitask::DepthPointer depth;
    std::optional<track::PoseEstimate> pose;
    std::vector<scene::Box> boxes;
    nlohmann::json tasks = nlohmann::json::object();
    ar::UplinkState link;
    std::string standing;  // "" without an agreed accuracy
  };

  explicit ArHost(const OpenArRequest& request) : request_(request) {}
  absl::Status CheckTasks() const;
  absl::Status MakeOwnTasks(Caller& caller);
  absl::StatusOr<multitask::FramePointer> Frame(const ArFrameRequest& request) const;
  absl::Status Connect(const multitask::FramePointer& first);
  absl::Status Agree(ar::ClientConfig config);
  Known OwnPlan(const multitask::FramePointer& frame);
  Known Coordinated(const multitask::FramePointer& frame);
  nlohmann::json Answer(const Known& known) const;
  int Width() const { return kit_ != nullptr ? kit_->Width() : request_.width; }
  int Height() const { return kit_ != nullptr ? kit_->Height() : request_.height; }

  const OpenArRequest request_;
  std::vector<ar::Task> tasks_;         // of those that are built in
  std::unique_ptr<ar::ClientKit> kit_;  // null: there are none of these
  std::unique_ptr<SharedTensors> memory_;
  std::optional<SharedFrames> frames_;  // if there are tasks of the program's own
  std::vector<Own> own_;
  std::unique_ptr<ar::Client> client_;             // one of the two, once a frame has come
  std::unique_ptr<ar::CoordinatedClient> agreed_;  // with an agreed accuracy
  int64_t next_ = 0;
  double last_s_ = 0;
};

}  // namespace wharf::cli
