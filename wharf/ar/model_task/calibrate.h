// Calibrate: learns from videos how much a task's tracker loses by the stride. There need be no truth: what the model
// says of a frame is what a tracked result of that frame is held against, and the server that will serve the clients
// says it, of pictures that travel as theirs do.
//
//   WHARF_ASSIGN_OR_RETURN(const ar::CalibrationReport report, ar::Calibrate(tracker, videos, options));
//   std::puts(report.Text().c_str());
//   WHARF_RETURN_IF_ERROR(WriteFile("free_space.json", report.calibration.Json()));
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "wharf/ar/client/uplink.h"
#include "wharf/ar/model_task/task_calibration.h"
#include "wharf/ar/model_task/tracker.h"
#include "wharf/link/byte_stream.h"
#include "wharf/scene/source/source.h"

namespace wharf::ar {

struct CalibrateOptions {
  std::string task;    // the name under which the server has the model
  std::string server;  // HOST:PORT
  std::string token;
  Dial dial = [](const std::string& server) { return link::Connect(server, {}); };
  std::string source;  // what the videos are, for people
  // What is measured: tracking that starts at every `every`-th frame, at these strides.
  std::vector<int> strides = {1, 2, 4, 8, 16, 32};
  int every = 16;
  // In a client an answer comes so many frames after its frame: the tracker catches up with these in one step.
  int latency_frames = 4;
  int jpeg_quality = 90;
};

// At one stride, on average over the videos.
struct TrackedLoss {
  int stride = 0, samples = 0;
  double tracked = 0, held = 0;  // by the tracker, and by leaving the old answer as it is
};

struct CalibrationReport {
  TaskCalibration calibration;
  std::vector<TrackedLoss> losses;  // by stride
  // How far the curve is from what a video lost that it was not fitted to, as a share of that; of several videos only.
  std::optional<double> held_out_error;
  int64_t frames = 0, asked = 0,
          refused = 0;       // of all videos; answers that there were none, or that the tracker refused
  std::string Text() const;  // a table
};

// Reads the videos to their ends, and has their frames served one after the other, slower or faster than a camera has
// them. kInvalidArgument: no videos, pictures of several sizes, or options that cannot be. kFailedPrecondition: the
// server does not have the task, or the videos are too short for two strides. Else as sources, server and connection
// fail.
absl::StatusOr<CalibrationReport> Calibrate(AnyTracker& tracker, std::span<const std::unique_ptr<scene::Source>> videos,
                                            const CalibrateOptions& options);

}  // namespace wharf::ar
