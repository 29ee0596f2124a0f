// ClientKit: what an AR client has of its own, from a folder of networks (data/ar, installed as share/wharf/ar): the
// lite depth network, and what calibration says of networks and trackers. Together with Client all that an application
// needs.
//
//   WHARF_ASSIGN_OR_RETURN(const auto kit, ar::ClientKit::Load("/usr/local/share/wharf/ar"));
//   ar::ClientConfig config = kit->Config(camera, 60);
//   config.server = "edge:7072";
//   WHARF_RETURN_IF_ERROR(ar::LevelStart(first_samples, config.odometry));
//   WHARF_ASSIGN_OR_RETURN(const auto client, ar::Client::Open(std::move(config)));
//   … for each frame: client->OnFrame(kit->Fitted(frame)) …
#pragma once

#include <memory>
#include <span>
#include <string>

#include "wharf/ar/client/client.h"
#include "wharf/exec/engine.h"
#include "wharf/multitask/experiment/calibration.h"
#include "wharf/perception/depth_network.h"

namespace wharf::ar {

// Immutable; safe to share between threads.
class ClientKit {
 public:
  // kNotFound: the folder has no lite.onnx or accumo.json. kInvalidArgument: they are not what they should be.
  static absl::StatusOr<std::unique_ptr<ClientKit>> Load(const std::string& folder);

  // What pictures have to be for the networks.
  int Width() const { return lite_->Width(); }
  int Height() const { return lite_->Height(); }
  const multitask::Calibration& Calibrated() const { return calibration_; }

  // For all three tasks of a camera, whatever the size of its pictures, and a server that is dialled by TCP without
  // encryption; token and server are for the caller to fill in. The kit must outlive the client.
  ClientConfig Config(const scene::Intrinsics& camera, double frames_per_s) const;
  // The frame with its picture stretched to what the networks take; itself if it fits.
  multitask::FramePointer Fitted(multitask::FramePointer frame) const;

 private:
  ClientKit() = default;

  std::unique_ptr<exec::Engine> engine_;
  std::optional<perception::DepthNetwork> lite_;
  multitask::Calibration calibration_;
};

// Odometry of a camera of whose start nothing is known: it stands level, as far as its first IMU samples can tell, and
// moves at some metres a second at most. kFailedPrecondition: there are none, without which there is neither odometry
// nor depth.
absl::Status LevelStart(std::span<const scene::ImuSample> first, multitask::OdometryTaskOptions& odometry);

}  // namespace wharf::ar
