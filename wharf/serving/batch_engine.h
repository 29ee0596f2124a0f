// BatchEngine: what computes an emulation's batches for real, on a thread of its own, while clients and links are
// emulated beside it. What it runs on frames is somebody else's: this room knows no networks.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "wharf/base/clock.h"
#include "wharf/base/status.h"
#include "wharf/serving/types.h"

namespace wharf::serving {

struct VideoFrame {
  std::string_view video;  // DropTableData::video, of a table that outlives the run
  FrameId frame = 0;       // of that video
};

// One batch at a time; both calls from one thread.
class BatchEngine {
 public:
  virtual ~BatchEngine() = default;
  // Begins at once. REQUIRES: none is running, a frame or more.
  virtual void Start(std::vector<VideoFrame> batch) = 0;
  // Waits for the deadline, or only until the batch is done if that is earlier: then how long it took since Start. A
  // deadline that has passed only asks. Fails as what is run.
  virtual absl::StatusOr<std::optional<Nanoseconds>> Wait(TimePoint deadline) = 0;
};

// All of what a server computes for a batch, in one call.
using RunBatch = std::function<absl::Status(std::span<const VideoFrame> batch)>;

// Runs `run` on a thread of its own; `clock` is a real one. Its end waits for the batch that runs.
std::unique_ptr<BatchEngine> MakeThreadedEngine(RunBatch run, Clock& clock);

}  // namespace wharf::serving
