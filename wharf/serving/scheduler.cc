#include "wharf/serving/scheduler.h"

#include <algorithm>
#include <cmath>

namespace wharf::serving {

void ApplyReport(const ClientReport& report, ClientModel& model) {
  for (const double value : {report.drop_rate, report.network_s, report.frames}) {
    if (!std::isfinite(value) || value < 0) return;
  }
  if (!std::isfinite(report.lost)) return;
  model.drop_rate = std::min(report.drop_rate, kMostDropRate);
  model.network_s = std::min(report.network_s, kMostNetworkSeconds);
  model.frames = report.frames;
  model.lost = std::clamp(report.lost, -report.frames, report.frames);
}

}  // namespace wharf::serving
