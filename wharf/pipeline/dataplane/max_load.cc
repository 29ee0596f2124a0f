#include "wharf/pipeline/dataplane/max_load.h"

#include <cmath>
#include <map>
#include <numeric>

namespace wharf::pipeline {
namespace {

class Search {
 public:
  Search(const Deployment& deployment, const std::vector<double>& rates, const LoadSearch& search)
      : deployment_(deployment), rates_(rates), search_(search) {}

  double Largest(size_t model) {
    int passes = 0, fails = static_cast<int>(std::floor(search_.highest / search_.step)) + 1;
    while (fails - passes > 1) {
      const int middle = (passes + fails) / 2;
      (AttainmentAt(middle)[model] >= search_.attainment ? passes : fails) = middle;
    }
    return LoadOf(passes);
  }

  std::vector<double> Curve() {
    std::vector<double> curve;
    if (search_.curve_steps <= 0) return curve;
    for (int steps = search_.curve_steps; LoadOf(steps) <= 1; steps += search_.curve_steps) {
      const std::vector<double>& attainment = AttainmentAt(steps);
      curve.push_back(std::accumulate(attainment.begin(), attainment.end(), 0.0) /
                      static_cast<double>(attainment.size()));
    }
    return curve;
  }

  std::vector<double> Utilisation(const std::vector<double>& loads) const {
    std::vector<double> sum(deployment_.classes.size());
    for (int seed = 1; seed <= search_.seeds; ++seed) {
      const std::vector<double> utilisation = Run(loads, seed).utilisation;
      for (size_t c = 0; c < sum.size(); ++c) sum[c] += utilisation[c] / search_.seeds;
    }
    return sum;
  }

 private:
  SimulationResult Run(const std::vector<double>& loads, int seed) const {
    std::vector<double> rates = rates_;
    for (size_t model = 0; model < rates.size(); ++model) rates[model] *= loads[model];
    SimulationOptions options = search_.simulation;
    options.seconds = search_.seconds;
    options.seed = static_cast<uint64_t>(seed);
    return Simulate(deployment_, PoissonArrivals(rates, search_.seconds, options.seed), options);
  }

  // A multiple of the step, without what multiplying leaves in the last digits.
  double LoadOf(int steps) const { return std::round(steps * search_.step * 1e9) / 1e9; }

  // By model.
  const std::vector<double>& AttainmentAt(int steps) {
    const auto [found, is_new] = known_.try_emplace(steps);
    if (!is_new) return found->second;
    std::vector<double> requests(rates_.size()), on_time(rates_.size());
    for (int seed = 1; seed <= search_.seeds; ++seed) {
      const SimulationResult result = Run(std::vector<double>(rates_.size(), LoadOf(steps)), seed);
      for (size_t model = 0; model < rates_.size(); ++model) {
        requests[model] += static_cast<double>(result.models[model].requests);
        on_time[model] += static_cast<double>(result.models[model].Of(Fate::kOnTime));
      }
    }
    for (size_t model = 0; model < rates_.size(); ++model) {
      found->second.push_back(requests[model] > 0 ? on_time[model] / requests[model] : 1);
    }
    return found->second;
  }

  const Deployment& deployment_;
  const std::vector<double>& rates_;
  const LoadSearch& search_;
  std::map<int, std::vector<double>> known_;
};

}  // namespace

double MaxLoad::Mean() const {
  return by_model.empty()
             ? 0
             : std::accumulate(by_model.begin(), by_model.end(), 0.0) / static_cast<double>(by_model.size());
}

MaxLoad FindMaxLoad(const Deployment& deployment, const std::vector<double>& rates, const LoadSearch& search) {
  Search loads(deployment, rates, search);
  MaxLoad found;
  for (size_t model = 0; model < rates.size(); ++model) found.by_model.push_back(loads.Largest(model));
  found.utilisation = loads.Utilisation(found.by_model);
  found.curve = loads.Curve();
  return found;
}

}  // namespace wharf::pipeline
