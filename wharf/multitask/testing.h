// For tests: tasks whose accuracy follows a script, and servers that answer them.
#pragma once

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "wharf/base/status.h"
#include "wharf/multitask/task.h"

namespace wharf::multitask::testing {

struct FakeAnswer final : Answer {
  int64_t about = 0;
};

class FakeServer final : public TaskServer {
 public:
  absl::StatusOr<AnswerPointer> Serve(const FramePointer& frame) override {
    served.push_back(frame->index);
    if (refuses) return NotFound("nothing in frame {}", frame->index);
    auto answer = std::make_shared<FakeAnswer>();
    answer->about = frame->index;
    return answer;
  }

  std::vector<int64_t> served;
  bool refuses = false;
};

// Keeps what was asked of it. Its tracker's drop rate and its local algorithm's drop are functions of the frame.
class FakeTask final : public Task {
 public:
  using Script = std::function<double(int64_t frame)>;

  FakeTask(std::string name, Script drop_rate, Script local_drop = nullptr)
      : name_(std::move(name)), drop_rate_(std::move(drop_rate)), local_drop_(std::move(local_drop)) {}

  std::string_view name() const override { return name_; }
  bool has_local_algorithm() const override { return local_drop_ != nullptr; }
  absl::Status Observe(const FramePointer& frame) override {
    now_ = frame->index;
    return absl::OkStatus();
  }
  absl::Status Accept(int64_t frame, const Answer& answer) override {
    const auto* const fake = dynamic_cast<const FakeAnswer*>(&answer);
    if (fake == nullptr || fake->about != frame) return InvalidArgument("not an answer to frame {}", frame);
    accepted.emplace_back(frame, now_);
    newest_ = frame;
    return absl::OkStatus();
  }
  void Offloaded() override { offloaded.push_back(now_); }
  AccuracyEstimate estimate() const override {
    return {measured_rate_.value_or(drop_rate_(now_)), has_local_algorithm() ? local_drop_(now_) : kNoLocalAlgorithm};
  }
  std::optional<AccuracyModel> TrackerModel() const override {
    if (!model_scripted) return std::nullopt;
    return [rate = drop_rate_(now_)] { return absl::StatusOr<double>(rate); };
  }
  void SetDropRate(double drop_rate) override {
    measured_rate_ = drop_rate;
    rates_set.emplace_back(now_, drop_rate);
  }
  absl::Status Track() override {
    tracked.push_back(now_);
    total_drop += static_cast<double>(now_ - newest_.value_or(now_)) * drop_rate_(now_);
    return absl::OkStatus();
  }
  absl::Status RunLocalAlgorithm() override {
    ran_locally.push_back(now_);
    total_drop += local_drop_(now_);
    return absl::OkStatus();
  }

  std::vector<std::pair<int64_t, int64_t>> accepted;  // about which frame, in which frame
  std::vector<int64_t> offloaded, tracked, ran_locally;
  std::vector<std::pair<int64_t, double>> rates_set;  // in which frame
  bool model_scripted = false;
  double total_drop = 0;  // what its results really lost

 private:
  std::string name_;
  Script drop_rate_, local_drop_;
  int64_t now_ = 0;
  std::optional<int64_t> newest_;
  std::optional<double> measured_rate_;
};

inline FakeTask::Script Always(double value) {
  return [value](int64_t) { return value; };
}

}  // namespace wharf::multitask::testing
