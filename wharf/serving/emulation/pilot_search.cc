#include "wharf/serving/emulation/pilot_search.h"

#include <algorithm>
#include <numeric>

namespace wharf::serving {
namespace {

double FramesOf(const std::vector<DropTable>& tables, const PilotOptions& pilot) {
  return tables.front().data().fps * pilot.least_seconds;
}

constexpr int kSteps[] = {1, 2, 4};
constexpr double kTold[] = {1, 0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.6, 0.5, 0.4, 0.3};

bool HasOneInterval(System system) {
  return system == System::kClipper || system == System::kTolerantClipper || system == System::kRefusingClipper;
}

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
      : tables_(tables), profile_(profile), workload_(std::move(workload)), pilot_(pilot) {}

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
    const double missing = MissingShare(Emulate(tables_, profile_, workload_), FramesOf(tables_, pilot_));
    return missing <= (pilot_.adherence > 0 ? 1 - pilot_.adherence : 0);
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
      : tables_(tables), profile_(profile), workload_(workload), pilot_(pilot), best_(workload.system) {
    workload_.seconds = pilot.seconds;
  }

  void Try(const SystemOptions& system) {
    workload_.system = system;
    const double value = ValueOf(Emulate(tables_, profile_, workload_));
    if (value <= most_) return;
    best_ = system;
    most_ = value;
  }
  const SystemOptions& best() const { return best_; }

 private:
  double ValueOf(const EmulationResult& result) const {
    if (pilot_.adherence == 0) return result.MeanClientsWithin();
    const double kept = 1 - MissingShare(result, FramesOf(tables_, pilot_));
    return kept >= pilot_.adherence ? result.MeanClients() : kept - 1;  // if none keeps enough, who keeps the most
  }

  const std::vector<DropTable>& tables_;
  const InferenceProfile& profile_;
  EmulationOptions workload_;
  const PilotOptions pilot_;
  SystemOptions best_;
  double most_ = -2;
};

}  // namespace

SystemOptions Tuned(const std::vector<DropTable>& tables, const InferenceProfile& profile, EmulationOptions workload,
                    const PilotOptions& pilot) {
  SystemOptions system = workload.system;
  if (system.system == System::kStatic || system.system == System::kRefusingStatic) {
    workload.seconds = pilot.seconds;
    system.fixed = StaticSearch(tables, profile, workload, pilot).Find();
    return system;
  }
  // The best by one parameter after the other, each by trying.
  const auto tune = [&](const auto& values, const auto& set) {
    Contest contest(tables, profile, workload, pilot);
    for (const auto value : values) {
      SystemOptions tried = system;
      set(tried, value);
      contest.Try(tried);
    }
    system = contest.best();
  };
  if (HasOneInterval(system.system)) {
    std::vector<int> intervals(static_cast<size_t>(pilot.most_interval));
    std::iota(intervals.begin(), intervals.end(), 1);
    tune(intervals, [](SystemOptions& tried, int interval) { tried.fixed.settings.interval = interval; });
  }
  if (!IsCoordinated(system.system)) tune(kSteps, [](SystemOptions& tried, int step) { tried.step = step; });
  if (pilot.adherence > 0) tune(kTold, [](SystemOptions& tried, double told) { tried.told = told; });
  return system;
}

}  // namespace wharf::serving
