// ArCalibration: calibrates an AR task of the program's own (ar/model_task/calibrate.h). Videos are files and folders
// that this process reads, or frames that the program gives, which then has a function more:
//
//   {"id": 1, "opened": {…}}                                              as an AR client's (ar_host.h)
//   {"id": 2, "call": {"function": "next", "video": 0}, "dropped": []}    → "called" with a result, when the next
//   picture
//                                                                         lies where the input is; with none at the end
//   {"id": 2, "calibrated": {"json": …, "text": …, …}}                    the task's file; the report
//
// A function that fails ends the calibration, and is why it has ended: no result is the program's way to say that there
// is none.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "wharf/base/status.h"
#include "wharf/cli/host/caller.h"
#include "wharf/cli/host/own_task.h"
#include "wharf/cli/host/request.h"
#include "wharf/cli/host/shared_tensors.h"
#include "wharf/scene/source/source.h"

namespace wharf::cli {

class ArCalibration {
 public:
  // Opens the videos. kInvalidArgument: there are none, or pictures that a server does not take. Else as
  // scene::OpenFiles. `caller` must outlive it.
  static absl::StatusOr<std::unique_ptr<ArCalibration>> Open(const OpenCalibrationRequest& request, Caller& caller);

  // The members of "opened".
  nlohmann::json Opened() const;
  int Descriptor() const { return memory_->Descriptor(); }
  // The members of "calibrated". Once: videos are read to their ends. Fails as ar::Calibrate; as Caller::Call.
  absl::StatusOr<nlohmann::json> Run();

 private:
  ArCalibration(const OpenCalibrationRequest& request, Caller& caller) : request_(request), caller_(caller) {}

  const OpenCalibrationRequest request_;
  Caller& caller_;
  std::vector<std::unique_ptr<scene::Source>> videos_;
  std::unique_ptr<SharedTensors> memory_;
  std::optional<SharedFrames> frames_;
};

}  // namespace wharf::cli
