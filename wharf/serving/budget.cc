#include "wharf/serving/budget.h"

#include <algorithm>

namespace wharf::serving {

double Allowance(const ClientModel& client, const BudgetOptions& options) {
  const double balance = client.sla * client.frames - client.lost;
  const double spare = std::max(balance, 0.0) - client.sla * options.reserve_s * client.fps;
  const double owed = std::max(-balance, 0.0);
  const double mean = client.sla + (spare / options.horizon_s - owed / options.repay_s) / client.fps;
  return std::clamp(mean, options.least * client.sla, options.most * client.sla);
}

}  // namespace wharf::serving
