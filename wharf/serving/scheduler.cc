#include "wharf/serving/scheduler.h"

#include <algorithm>
#include <cmath>

namespace wharf::serving {

std::optional<ClientReport> CheckedReport(const ClientReport& report) {
  for (const double value : {report.drop_rate, report.network_s}) {
    if (!std::isfinite(value) || value < 0) return std::nullopt;
  }
  return ClientReport{std::min(report.drop_rate, kMostDropRate), std::min(report.network_s, kMostNetworkSeconds)};
}

}  // namespace wharf::serving
