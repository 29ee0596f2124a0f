// Task: one of the things that an AR client wants to know of every frame. To add one, write one class: what it does
// with a frame, with a server's answer, between answers (its local tracker), and if it has one, without them (its local
// algorithm); and how much it thinks these lose. Scheduling, selecting and offloading are the client's (client.h) and
// the same for all (AccuMO, thesis 2.5).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "absl/status/statusor.h"
#include "wharf/multitask/plan.h"
#include "wharf/scene/scene.h"

namespace wharf::multitask {

using FramePointer = std::shared_ptr<const scene::Frame>;

// What a server found in a frame; each task has its own kind. Shared, because others may look at it as well.
struct Answer {
  virtual ~Answer() = default;
};
using AnswerPointer = std::shared_ptr<const Answer>;

// The server's half of a task, for one client. Not thread-safe.
class TaskServer {
 public:
  virtual ~TaskServer() = default;
  // Runs the task's network, or what it has, on `frame`. Any failure is final for this frame.
  virtual absl::StatusOr<AnswerPointer> Serve(const FramePointer& frame) = 0;
};

struct AccuracyEstimate {
  double drop_rate = 0;                   // of the local tracker, per frame of stride
  double local_drop = kNoLocalAlgorithm;  // of the local algorithm, against the server's
  double exponent = 1;                    // the tracker's drop is drop_rate * stride^exponent
};

// Estimates the local tracker's drop rate. May take longer than a frame and runs beside the frames, on any thread: it
// owns or shares all it reads.
using AccuracyModel = std::function<absl::StatusOr<double>()>;

// The client's half. Not thread-safe. A status that is not OK says that this frame's result is not a new one; the
// client counts it and goes on.
class Task {
 public:
  virtual ~Task() = default;
  virtual std::string_view name() const = 0;
  virtual bool has_local_algorithm() const = 0;

  // The next frame, before anything else is asked of any task in it.
  virtual absl::Status Observe(const FramePointer& frame) = 0;

  // An answer to the frame of this index, which is not older than any before. Whatever does not fit is the server's
  // fault: it changes nothing and the status says why.
  virtual absl::Status Accept(int64_t frame, const Answer& answer) = 0;

  // The frame that was observed last is on its way to the server for this task: keep what its answer will be held
  // against.
  virtual void Offloaded() = 0;

  // Of the moment; before any measurement, what is usual.
  virtual AccuracyEstimate estimate() const = 0;
  // What would estimate the tracker's drop rate from the newest answer to the frame that was observed last; nothing if
  // there is nothing to run (yet). The client gives back what it found by SetDropRate, some frames later.
  virtual std::optional<AccuracyModel> TrackerModel() const { return std::nullopt; }
  virtual void SetDropRate(double drop_rate) { static_cast<void>(drop_rate); }

  // This frame's result, by one of the two. Track comes before any answer as well if there is no local algorithm.
  virtual absl::Status Track() = 0;
  virtual absl::Status RunLocalAlgorithm() = 0;
};

}  // namespace wharf::multitask
