#include "wharf/pipeline/dataplane/scheduler.h"

#include "wharf/pipeline/dataplane/reactive_scheduler.h"
#include "wharf/pipeline/dataplane/reserving_scheduler.h"

namespace wharf::pipeline {

std::string_view FateName(Fate fate) {
  constexpr std::string_view kNames[kFates] = {"on time", "late", "too late", "no capacity", "worker lost"};
  return kNames[static_cast<int>(fate)];
}

std::unique_ptr<Scheduler> MakeScheduler(SchedulerKind kind, const Deployment& deployment, const Clock& clock,
                                         Workers& workers, RequestSink& sink, const SchedulerOptions& options) {
  if (kind == SchedulerKind::kReactive) {
    return std::make_unique<ReactiveScheduler>(deployment, clock, workers, sink, options);
  }
  return std::make_unique<ReservingScheduler>(deployment, clock, workers, sink, options);
}

}  // namespace wharf::pipeline
