#include "wharf/serving/emulation/pilot_search.h"

#include <algorithm>

namespace wharf::serving {
namespace {

double FramesOf(const std::vector<DropTable>& tables, const PilotOptions& pilot) {
  return tables.front().data().fps * pilot.least_seconds;
}

constexpr int kSteps[] = {1, 2, 4};

// Of the clients that count, the share that lost more than its SLA allows.
double MissingShare(const EmulationResult& result, double least_frames) {
  double counted = 0, missing = 0;
  for (const ClientOutcome& client : result.clients) {
    if (static_cast<double>(client.account.frames) < least_frames) continue;
    ++counted;
    missing += client.account.MeanDrop() > client.sla ? 1 : 0;
  }
  return counted > 0 ? missing / counted : 0;
}

class StaticSearch {
 public:
  StaticSearch(const std::vector<DropTable>& tables, const InferenceProfile& profile, EmulationOptions workload,
               const PilotOptions& pilot)
      : tables_(tables), profile_(profile), workload_(std::move(workload)), pilot_(pilot) {
    workload_.system.system = System::kStatic;
  }

  ReactiveOptions::Fixed Find() {
    for (int interval = 1; interval <= pilot_.most_interval; ++interval) {
      for (int batch = 1; batch <= profile_.MaxBatch(); ++batch) Try({interval, batch});
    }
    return best_;
  }

 private:
  // The most clients by doubling and halving; given up if not one more than the best so far can be served.
  void Try(const OffloadSettings& settings) {
    int good = best_.clients, bad = best_.clients + 1;
    if (!Works(bad, settings)) return;
    while (Works(bad, settings)) {
      good = bad;
      bad = 2 * bad;
    }
    while (bad - good > 1) {
      const int middle = (good + bad) / 2;
      (Works(middle, settings) ? good : bad) = middle;
    }
    best_ = {good, settings};
  }

  bool Works(int clients, const OffloadSettings& settings) {
    workload_.system.fixed = {clients, settings};
    return AllWithinSla(Emulate(tables_, profile_, workload_), FramesOf(tables_, pilot_));
  }

  const std::vector<DropTable>& tables_;
  const InferenceProfile& profile_;
  EmulationOptions workload_;
  const PilotOptions& pilot_;
  ReactiveOptions::Fixed best_;
};

// The best of some systems, tried one after the other.
class Contest {
 public:
  Contest(const std::vector<DropTable>& tables, const InferenceProfile& profile, const EmulationOptions& workload,
          const PilotOptions& pilot)
      : tables_(tables), profile_(profile), workload_(workload), best_(workload.system) {
    workload_.seconds = pilot.seconds;
  }

  void Try(const SystemOptions& system) {
    workload_.system = system;
    const double clients = Emulate(tables_, profile_, workload_).MeanClientsWithin();
    if (clients <= most_) return;
    best_ = system;
    most_ = clients;
  }
  const SystemOptions& best() const { return best_; }

 private:
  const std::vector<DropTable>& tables_;
  const InferenceProfile& profile_;
  EmulationOptions workload_;
  SystemOptions best_;
  double most_ = -1;
};

}  // namespace

bool AllWithinSla(const EmulationResult& result, double least_frames) {
  return MissingShare(result, least_frames) == 0;
}

SystemOptions Tuned(const std::vector<DropTable>& tables, const InferenceProfile& profile, EmulationOptions workload,
                    const PilotOptions& pilot) {
  SystemOptions system = workload.system;
  if (IsCoordinated(system.system)) return system;
  if (system.system == System::kStatic) {
    workload.seconds = pilot.seconds;
    system.fixed = StaticSearch(tables, profile, workload, pilot).Find();
    return system;
  }
  if (system.system == System::kClipper || system.system == System::kTolerantClipper) {
    Contest intervals(tables, profile, workload, pilot);
    for (int interval = 1; interval <= pilot.most_interval; ++interval) {
      system.fixed.settings.interval = interval;
      intervals.Try(system);
    }
    system = intervals.best();
  }
  Contest steps(tables, profile, workload, pilot);
  for (const int step : kSteps) {
    system.step = step;
    steps.Try(system);
  }
  return steps.best();
}

}  // namespace wharf::serving
