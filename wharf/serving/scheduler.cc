#include "wharf/serving/scheduler.h"

#include <algorithm>
#include <cmath>

namespace wharf::serving {

void ApplyReport(const ClientReport& report, ClientModel& model) {
  for (const double value : {report.drop_rate, report.network_s}) {
    if (!std::isfinite(value) || value < 0) return;
  }
  model.drop_rate = std::min(report.drop_rate, kMostDropRate);
  model.network_s = std::min(report.network_s, kMostNetworkSeconds);
}

}  // namespace wharf::serving
