// ModelHost: holds a model, an AR client (ar_host.h), or a calibration (ar_calibration.h) for a program in another
// language, in a process of its own, so that the program can have any PyTorch. Requests come as packets on a Unix
// socket (request.h) and are answered in their order, by JSON:
//
//   {"id": 1, "progress": "connecting …", "share": 0.5}   before the answer to "open", if that was asked for
//   {"id": 1, "opened": {…}}                              with the descriptor of the shared memory: names and types of
//                                                         inputs and outputs, where they lie (shared_tensors.h)
//   {"id": 2, "ran": {"ms": 3.1, "alone": false, "lost": "", "connected": true}}
//   {"id": 3, "report": {…}}                              who computed what in the last inference, and what travelled
//   {"id": 4, "state": {"connected": true, "planning": false, "given_up": ""}}
//   {"id": 5, "error": "one line", "code": "INVALID_ARGUMENT"}
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "wharf/base/status.h"
#include "wharf/cli/host/ar_calibration.h"
#include "wharf/cli/host/ar_host.h"
#include "wharf/cli/host/caller.h"
#include "wharf/cli/host/request.h"
#include "wharf/cli/host/shared_tensors.h"
#include "wharf/split/runtime/edge_model.h"

namespace wharf::cli {

inline constexpr int kOutputSlots = 4;
// What pictures may have, which are of any size: taken when it is used only.
inline constexpr size_t kMaxPictureBytes = 64 << 20;

class ModelHost {
 public:
  // `socket`: of SOCK_SEQPACKET; not owned.
  explicit ModelHost(int socket) : socket_(socket), caller_(socket) {}

  // Until the other side has gone, which is OK. kDataLoss: a packet that is too long. What else is wrong with a request
  // is the answer to it.
  absl::Status Serve();

 private:
  class Progress;

  absl::Status AnswerTo(const std::string& packet);
  absl::Status Open(uint64_t id, const OpenRequest& request);
  absl::Status OpenAr(uint64_t id, const OpenArRequest& request);
  absl::Status Frame(uint64_t id, const ArFrameRequest& request);
  absl::Status OpenCalibration(uint64_t id, const OpenCalibrationRequest& request);
  absl::Status Calibrate(uint64_t id);
  absl::Status Run(uint64_t id, const RunRequest& request);
  absl::Status Report(uint64_t id);
  absl::Status State(uint64_t id);
  bool IsOpen() const { return model_ != nullptr || ar_ != nullptr || calibration_ != nullptr; }
  absl::Status SayError(uint64_t id, const absl::Status& error);
  absl::StatusOr<std::unique_ptr<split::EdgeModel>> Connect(uint64_t id, const OpenRequest& request,
                                                            std::vector<std::string>& cautions);
  absl::Status Compute(const RunRequest& request);
  size_t InputBytes() const;

  const int socket_;
  Caller caller_;
  bool pictures_ = false;
  std::unique_ptr<split::EdgeModel> model_;  // one of these three
  std::unique_ptr<ArHost> ar_;
  std::unique_ptr<ArCalibration> calibration_;
  std::unique_ptr<SharedTensors> tensors_;
  bool ran_ = false;
};

}  // namespace wharf::cli
