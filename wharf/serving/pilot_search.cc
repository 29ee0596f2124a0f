#include "wharf/serving/pilot_search.h"

#include <algorithm>

namespace wharf::serving {
namespace {

double FramesOf(const std::vector<DropTable>& tables, const PilotOptions& pilot) {
  return tables.front().data().fps * pilot.least_seconds;
}

int Missing(const EmulationResult& result, double least_frames) {
  return static_cast<int>(std::count_if(result.clients.begin(), result.clients.end(), [&](const ClientOutcome& client) {
    return static_cast<double>(client.account.frames) >= least_frames && client.account.MeanDrop() > client.sla;
  }));
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

}  // namespace

bool AllWithinSla(const EmulationResult& result, double least_frames) { return Missing(result, least_frames) == 0; }

ReactiveOptions::Fixed FindStatic(const std::vector<DropTable>& tables, const InferenceProfile& profile,
                                  EmulationOptions workload, const PilotOptions& pilot) {
  workload.seconds = pilot.seconds;
  return StaticSearch(tables, profile, std::move(workload), pilot).Find();
}

int FindClipperInterval(const std::vector<DropTable>& tables, const InferenceProfile& profile,
                        EmulationOptions workload, const PilotOptions& pilot) {
  workload.seconds = pilot.seconds;
  workload.system.system = System::kClipper;
  int best = 1, fewest = 0;
  double most = -1;
  for (int interval = 1; interval <= pilot.most_interval; ++interval) {
    workload.system.fixed.settings.interval = interval;
    const EmulationResult result = Emulate(tables, profile, workload);
    const int missing = Missing(result, FramesOf(tables, pilot));
    const bool better = most < 0 || missing < fewest || (missing == fewest && result.MeanClients() > most);
    if (!better) continue;
    best = interval;
    fewest = missing;
    most = result.MeanClients();
  }
  return best;
}

}  // namespace wharf::serving
