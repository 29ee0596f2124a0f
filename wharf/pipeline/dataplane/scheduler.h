// Scheduler: the data plane's decisions: which requests form a batch, which virtual GPUs it goes over and when (thesis
// 4.5.5, Algorithm 4). It knows time only from a Clock and machines only through Workers, so that the same code serves
// in virtual time (simulator.h) and for real.
//
// Who drives it calls, one at a time: Submit for each arrival, OnTransferred and OnComputed for each report of a
// worker, and Poll at NextWakeup(). It answers with commands to Workers and with one RequestRecord for each request,
// exactly one.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "wharf/base/clock.h"
#include "wharf/pipeline/dataplane/deployment.h"

namespace wharf::pipeline {

// Of schedulers: a wait shorter than this is none.
inline constexpr Nanoseconds kShortestWait = std::chrono::microseconds(10);

using RequestId = uint64_t;
using TaskId = uint64_t;  // of a transfer or of a computation; never used again

struct Request {
  RequestId id = 0;
  int model = 0;
  TimePoint arrival;  // its deadline is the model's SLO later
};

// How a request ended. What is dropped has not been answered.
enum class Fate {
  kOnTime,
  kLate,        // answered after its deadline
  kTooLate,     // dropped: even with nothing else to do, its deadline could not be met
  kNoCapacity,  // dropped: what it needs is promised to others until too late
  kWorkerLost,  // dropped: a worker failed, and there was no time to try again
};
inline constexpr int kFates = 5;
std::string_view FateName(Fate fate);  // "on time", "late", "too late", "no capacity", "worker lost"

struct RequestRecord {
  Request request;
  Fate fate = Fate::kOnTime;
  TimePoint ended;    // answered or dropped
  int pipeline = -1;  // -1: dropped before it was in a batch
  int batch = 0;      // how many were computed with it, itself included, in the last stage
  // Where its time went: until its first batch began to compute; computing; moving; the rest of ended - arrival was
  // spent waiting between stages.
  Nanoseconds queued{0}, computed{0}, transferred{0};
};

class RequestSink {
 public:
  virtual ~RequestSink() = default;
  virtual void OnEnded(const RequestRecord& record) = 0;
};

// `requests` are the batch's, in the order of arrival; valid only during the call.
struct TransferCommand {
  TaskId task = 0;
  int pipeline = 0, stage = 0;  // the stage whose input it is
  int from_vgpu = 0, to_vgpu = 0;
  double bytes = 0;
  absl::Span<const Request> requests;
};
struct ComputeCommand {
  TaskId task = 0;
  int pipeline = 0, stage = 0, vgpu = 0;
  absl::Span<const Request> requests;
};

// What carries commands out, and afterwards reports each with OnTransferred or OnComputed. A report must not come
// before the command's call has returned.
class Workers {
 public:
  virtual ~Workers() = default;
  // To begin at once: the feature maps lie on from_vgpu.
  virtual void Transfer(const TransferCommand& command) = 0;
  // To begin as soon as what was commanded of this virtual GPU before is done. Its input is there.
  virtual void Compute(const ComputeCommand& command) = 0;
};

// Not thread-safe.
class Scheduler {
 public:
  virtual ~Scheduler() = default;
  // REQUIRES: an id not used before, a model of the deployment, request.arrival <= the clock's now.
  virtual void Submit(const Request& request) = 0;
  // When it was really under way. Reports of tasks that were given up are ignored.
  virtual void OnTransferred(TaskId task, TimePoint start, TimePoint end) = 0;
  virtual void OnComputed(TaskId task, TimePoint start, TimePoint end) = 0;
  // The virtual GPU is gone, and what was on it: the requests of its batches, those on their way to it and those whose
  // feature maps lie on it begin again if their deadlines still allow it. Nothing is sent there until it is back.
  virtual void OnWorkerLost(int vgpu) = 0;
  virtual void OnWorkerBack(int vgpu) = 0;
  // Does what is due now.
  virtual void Poll() = 0;
  // When Poll has something to do if nothing is reported before; kNever if never.
  virtual TimePoint NextWakeup() const = 0;
};

inline constexpr TimePoint kNever{Nanoseconds::max()};

// What the thesis leaves open of its reactive scheduler (4.5.2, 4.7.4).
struct ReactiveRules {
  enum class Choice {
    kFreeFirst,   // of the virtual GPUs that take a batch the one that is free first, as far as is known
    kInOrder,     // the first of the pool
    kRoundRobin,  // the next of the pool
  };
  Choice choice = Choice::kFreeFirst;
  int ahead = 2;      // batches that a virtual GPU of a later stage has at most: from 2 on moving overlaps computing
  bool waits = true;  // for a full batch as long as the oldest request may; otherwise what is there goes at once
};

struct SchedulerOptions {
  // A batch is formed so that it should be done this share of the SLO before its oldest request's deadline: room for
  // computations that take longer than planned.
  double guard = 0;
  ReactiveRules reactive;
};

enum class SchedulerKind { kReserving, kReactive };

// All must outlive it.
std::unique_ptr<Scheduler> MakeScheduler(SchedulerKind kind, const Deployment& deployment, const Clock& clock,
                                         Workers& workers, RequestSink& sink, const SchedulerOptions& options = {});

}  // namespace wharf::pipeline
