// A server and a phone's second core in virtual time: what they find is computed for real and at once, and is there
// when it would be by a profile of latencies. The client cannot tell them from real ones.
#pragma once

#include <utility>
#include <vector>

#include "wharf/multitask/client.h"

namespace wharf::multitask {

class VirtualOffloader final : public Offloader {
 public:
  // `latencies`: of each task; tasks that are offloaded together take their sum. Servers and clock must outlive this.
  // REQUIRES: as many latencies as servers.
  VirtualOffloader(std::vector<TaskServer*> servers, std::vector<Nanoseconds> latencies, const Clock& clock)
      : servers_(std::move(servers)), latencies_(std::move(latencies)), clock_(clock) {}

  absl::Status Send(const FramePointer& frame, std::span<const int> tasks) override;
  std::optional<absl::StatusOr<Reply>> Poll() override;
  void Cancel() override { reply_.reset(); }

 private:
  const std::vector<TaskServer*> servers_;
  const std::vector<Nanoseconds> latencies_;
  const Clock& clock_;
  std::optional<Reply> reply_;
  TimePoint due_;
};

class VirtualBackground final : public Background {
 public:
  // `latencies`: of each task's accuracy model.
  VirtualBackground(std::vector<Nanoseconds> latencies, const Clock& clock)
      : latencies_(std::move(latencies)), clock_(clock), found_(latencies_.size()) {}

  void Start(int task, AccuracyModel model) override;
  std::optional<absl::StatusOr<double>> Poll(int task) override;

 private:
  struct Found {
    absl::StatusOr<double> drop_rate;
    TimePoint due;
  };
  const std::vector<Nanoseconds> latencies_;
  const Clock& clock_;
  std::vector<std::optional<Found>> found_;
};

}  // namespace wharf::multitask
