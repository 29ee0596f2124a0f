#include "wharf/pipeline/runtime/worker_supervisor.h"

#include <algorithm>
#include <utility>

#include "absl/time/time.h"
#include "wharf/base/log.h"

namespace wharf::pipeline {
namespace {

constexpr Nanoseconds kPause = std::chrono::milliseconds(100), kPrepareTimeout = std::chrono::seconds(60);
// A connection that was lost sooner is one of those between which there are rests.
constexpr Nanoseconds kBrief = std::chrono::seconds(10), kLongestRest = std::chrono::seconds(20);

}  // namespace

WorkerSupervisor::WorkerSupervisor(Member member, PeerAccess access, EventLoop& loop, WorkerEvents& events)
    : member_(std::move(member)), access_(std::move(access)), loop_(loop), events_(events) {
  thread_ = std::thread([this] { Loop(); });
}

WorkerSupervisor::~WorkerSupervisor() {
  {
    absl::MutexLock lock(&mutex_);
    ending_ = true;
  }
  thread_.join();
}

void WorkerSupervisor::Serve(std::vector<Duty> duties) {
  absl::MutexLock lock(&mutex_);
  duties_ = std::move(duties);
  asked_ = true;
}

void WorkerSupervisor::Again() {
  absl::MutexLock lock(&mutex_);
  asked_ = true;
}

void WorkerSupervisor::Loop() {
  const auto work = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return ending_ || asked_; };
  bool logged = false;
  for (;;) {
    std::vector<Duty> duties;
    {
      absl::MutexLock lock(&mutex_, absl::Condition(&work));
      if (ending_) return;
      duties = duties_;
      asked_ = false;
    }
    if (!RestAfterLoss()) return;
    const absl::Status prepared = Prepare(duties);
    if (prepared.ok()) {
      logged = false;
      continue;
    }
    if (!std::exchange(logged, true)) {
      Log(LogLevel::kWarning, "a worker cannot be used", {{"worker", member_.name}, {"why", Message(prepared)}});
    }
    absl::MutexLock lock(&mutex_);
    mutex_.AwaitWithTimeout(absl::Condition(&ending_), absl::FromChrono(kPause));
    asked_ = true;
  }
}

// Each rest is twice the last: who hangs up whenever it is asked would have requests run in circles until their
// deadlines.
bool WorkerSupervisor::RestAfterLoss() {
  if (connection_ == nullptr || !connection_->Lost()) return true;
  const bool brief = Clock::Real().Now() - connected_ < kBrief;
  rest_ = brief ? std::clamp(2 * rest_, kPause, kLongestRest) : Nanoseconds(0);
  connection_.reset();
  absl::MutexLock lock(&mutex_);
  return !mutex_.AwaitWithTimeout(absl::Condition(&ending_), absl::FromChrono(rest_));
}

absl::Status WorkerSupervisor::Prepare(const std::vector<Duty>& duties) {
  if (connection_ == nullptr || connection_->Lost()) {
    connection_.reset();
    defined_.clear();
    WHARF_ASSIGN_OR_RETURN(connection_, WorkerConnection::Open(member_.name, member_.address, access_, loop_, events_));
    connected_ = Clock::Real().Now();
  }
  std::vector<uint32_t> stages;
  for (const Duty& duty : duties) {
    stages.push_back(duty.stage.stage);
    if (std::ranges::count(defined_, duty.stage.stage) > 0) continue;
    WHARF_RETURN_IF_ERROR(connection_->Prepare(*duty.model, duty.max_batch, duty.parts, {duty.stage}, kPrepareTimeout));
    defined_.push_back(duty.stage.stage);
  }
  loop_.Post([&events = events_, worker = member_.name, connection = connection_, stages] {
    events.OnWorkerReady(worker, connection, stages);
  });
  return absl::OkStatus();
}

}  // namespace wharf::pipeline
