// The boxes task: a detector on the server, Lucas-Kanade flow in between, no local algorithm; its accuracy model is
// ARISE's drop rate (thesis 3.4.3): what was tracked to a frame, held against the server's answer for it.
#pragma once

#include <functional>
#include <vector>

#include "wharf/multitask/task.h"
#include "wharf/track/box_tracker.h"

namespace wharf::multitask {

using BoxDetector = std::function<absl::StatusOr<std::vector<scene::Box>>(const FramePointer&)>;

struct BoxesAnswer final : Answer {
  std::vector<scene::Box> boxes;
};

class BoxesServer final : public TaskServer {
 public:
  explicit BoxesServer(BoxDetector detector) : detector_(std::move(detector)) {}
  absl::StatusOr<AnswerPointer> Serve(const FramePointer& frame) override;

 private:
  const BoxDetector detector_;
};

class BoxesTask final : public Task {
 public:
  // `drop_rate`, in IoU per frame of stride: what is assumed until it is measured.
  explicit BoxesTask(double drop_rate) : estimate_{drop_rate, kNoLocalAlgorithm} {}

  std::string_view name() const override { return "boxes"; }
  bool has_local_algorithm() const override { return false; }
  absl::Status Observe(const FramePointer& frame) override;
  // kInvalidArgument: not boxes. kNotFound: not asked for.
  absl::Status Accept(int64_t frame, const Answer& answer) override;
  void Offloaded() override;
  AccuracyEstimate estimate() const override { return estimate_; }
  // Before the first answer there are no boxes.
  absl::Status Track() override;
  absl::Status RunLocalAlgorithm() override { return Track(); }

  // On the frame that was observed last.
  const std::vector<scene::Box>& result() const { return result_; }

 private:
  struct Asked {
    FramePointer frame;
    std::optional<std::vector<scene::Box>> tracked;  // to the frame, by an older answer
    int64_t stride = 0;
  };

  track::BoxTracker tracker_;
  FramePointer frame_;
  std::optional<Asked> asked_;
  std::optional<int64_t> newest_;  // the newest answer's frame
  AccuracyEstimate estimate_;
  std::vector<scene::Box> result_;
};

}  // namespace wharf::multitask
