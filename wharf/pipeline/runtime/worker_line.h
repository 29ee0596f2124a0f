// WorkerLine: a link to a worker whose reports are posted to an event loop.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "wharf/base/event_loop.h"
#include "wharf/pipeline/runtime/worker_link.h"

namespace wharf::pipeline {

class WorkerLine;

// Called on the event loop. `worker` is the member's name.
class WorkerEvents {
 public:
  virtual ~WorkerEvents() = default;
  // It serves these stages, and may be commanded through the line until OnWorkerGone.
  virtual void OnWorkerReady(const std::string& worker, std::shared_ptr<WorkerLine> line,
                             const std::vector<uint32_t>& stages) = 0;
  virtual void OnWorkerGone(const std::string& worker, uint64_t line, const absl::Status& why) = 0;
  virtual void OnWorkerComputed(uint64_t task, Nanoseconds took, std::vector<std::byte> outputs) = 0;
  virtual void OnWorkerArrived(uint64_t task) = 0;
  virtual void OnWorkerFailed(uint64_t task, const absl::Status& why) = 0;
};

// Not to be released on its own reader thread, which therefore knows it by number only.
class WorkerLine final : public WorkerReports {
 public:
  // `loop` and `events` must outlive it, and what it posts before it goes. Fails as WorkerLink::Open.
  static absl::StatusOr<std::shared_ptr<WorkerLine>> Open(const std::string& worker, const std::string& address,
                                                          const PeerAccess& access, EventLoop& loop,
                                                          WorkerEvents& events) {
    auto line = std::shared_ptr<WorkerLine>(new WorkerLine(worker, loop, events));
    WHARF_ASSIGN_OR_RETURN(line->link_, WorkerLink::Open(address, access, *line));
    return line;
  }
  WorkerLink& Link() { return *link_; }
  bool Lost() const { return lost_; }
  uint64_t Number() const { return number_; }

 private:
  WorkerLine(std::string worker, EventLoop& loop, WorkerEvents& events)
      : worker_(std::move(worker)), loop_(loop), events_(events) {}
  void OnComputed(uint64_t task, Nanoseconds took, std::vector<std::byte> outputs) override {
    loop_.Post([&events = events_, task, took, outputs = std::move(outputs)]() mutable {
      events.OnWorkerComputed(task, took, std::move(outputs));
    });
  }
  void OnArrived(uint64_t task, Nanoseconds) override {
    loop_.Post([&events = events_, task] { events.OnWorkerArrived(task); });
  }
  void OnFailed(uint64_t task, const absl::Status& why) override {
    loop_.Post([&events = events_, task, why] { events.OnWorkerFailed(task, why); });
  }
  void OnLost(const absl::Status& why) override {
    lost_ = true;
    loop_.Post(
        [&events = events_, worker = worker_, number = number_, why] { events.OnWorkerGone(worker, number, why); });
  }

  static uint64_t NextNumber() {
    static std::atomic<uint64_t> last = 0;
    return ++last;
  }

  const std::string worker_;
  const uint64_t number_ = NextNumber();  // never used again
  EventLoop& loop_;
  WorkerEvents& events_;
  std::atomic<bool> lost_ = false;
  std::unique_ptr<WorkerLink> link_;
};

}  // namespace wharf::pipeline
