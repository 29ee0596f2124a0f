#include "wharf/serving/scheduler.h"

#include <algorithm>
#include <cmath>

namespace wharf::serving {

void ApplyReport(const ClientReport& report, ClientModel& model) {
  for (const double value : {report.drop_rate, report.network_s}) {
    if (!std::isfinite(value) || value < 0) return;
  }
  model.drop_rate += kNewestReport * (std::min(report.drop_rate, kMostDropRate) - model.drop_rate);
  model.network_s = std::min(report.network_s, kMostNetworkSeconds);
}

}  // namespace wharf::serving
