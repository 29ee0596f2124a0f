// ArHost: holds an AR client (ar/client) for a program in another language, as ModelHost (host.h) holds a model.
// Pictures lie in the shared memory, and so does depth:
//
//   {"id": 1, "opened": {…}}       with the descriptor of the memory; "width" and "height" are depth's
//   {"id": 2, "framed": {"depth": true, "pose": {…}, "boxes": [[left, top, right, bottom, "person", 0.9], …],
//                        "tasks": {"depth": {"stride": 3, "offloaded": false}, …},
//                        "connected": true, "server": "edge:7072", "lost": ""}}
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "wharf/ar/client_kit/client_kit.h"
#include "wharf/base/status.h"
#include "wharf/cli/host/request.h"
#include "wharf/cli/host/shared_tensors.h"

namespace wharf::cli {

class ArHost {
 public:
  // Loads what the client has of its own; connects with the first frame, for only then it is known how the camera
  // stands. kInvalidArgument: a camera, rate or tasks that cannot be. Else as ClientKit::Load.
  static absl::StatusOr<std::unique_ptr<ArHost>> Open(const OpenArRequest& request);

  // The members of "opened".
  nlohmann::json Opened() const;
  int Descriptor() const { return memory_->Descriptor(); }
  // Of the picture that lies in the memory: the members of "framed". kInvalidArgument: IMU samples that are none, or a
  // time that is not after the last. kFailedPrecondition: there are none with the first frame, which depth and odometry
  // need. The first fails as ar::Client::Open, too.
  absl::StatusOr<nlohmann::json> OnFrame(const ArFrameRequest& request);

 private:
  explicit ArHost(const OpenArRequest& request) : request_(request) {}
  absl::StatusOr<multitask::FramePointer> Frame(const ArFrameRequest& request) const;
  absl::Status Connect(const multitask::FramePointer& first);
  nlohmann::json Answer(const ar::Results& results);

  const OpenArRequest request_;
  std::vector<ar::Task> tasks_;
  std::unique_ptr<ar::ClientKit> kit_;
  std::unique_ptr<SharedTensors> memory_;
  std::unique_ptr<ar::Client> client_;  // null: no frame has come yet
  int64_t next_ = 0;
  double last_s_ = 0;
};

}  // namespace wharf::cli
