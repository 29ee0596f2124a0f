#include "wharf/split/planners/planner.h"

#include "wharf/split/planners/layer_cut.h"
#include "wharf/split/planners/loss_de.h"
#include "wharf/split/planners/mcop.h"
#include "wharf/split/planners/search.h"
#include "wharf/split/planners/spso_ga.h"
#include "wharf/split/planners/tensor_parallel.h"

namespace wharf::split {
namespace {

class FixedPlanner final : public Planner {
 public:
  explicit FixedPlanner(Plan plan) : plan_(std::move(plan)) {}
  Plan MakePlan(const Link&, const Objective&) override { return plan_; }

 private:
  const Plan plan_;
};

// The cheapest partition of whole operators when nothing overlaps, or the device alone where that is no slower.
class LayerPartitionPlanner final : public Planner {
 public:
  explicit LayerPartitionPlanner(const RowGraph& graph) : graph_(graph), cutter_(graph) {}
  Plan MakePlan(const Link& link, const Objective& objective) override {
    const bool energy = objective.energy;
    return PlanOf(
        graph_, cutter_.Cheapest(energy ? EnergyCosts(graph_, link, 0) : LatencyCosts(graph_, link), Replication::kNo));
  }

 private:
  const RowGraph& graph_;
  LayerCutter cutter_;
};

}  // namespace

std::vector<Plan> Planner::Sweep(const Link& link, const std::vector<double>& bytes_per_ms,
                                 const Objective& objective) {
  std::vector<Plan> plans;
  Link at = link;
  for (const double rate : bytes_per_ms) {
    at.bytes_per_ms = rate;
    plans.push_back(MakePlan(at, objective));
  }
  return plans;
}

const std::vector<PlannerKind>& PlannerKinds() {
  static const std::vector<PlannerKind> kinds = {
      {"device-only", "the device alone"},
      {"server-only", "everything on the server"},
      {"dsccs", "the layer partition of least latency, exactly (minimum cut)"},
      {"mcop", "the layer partition that MCOP's own algorithm finds, as published"},
      {"spso-ga", "layer partition of least energy under the deadline (particle swarm)"},
      {"tensor-parallel", "a share of every layer on each side, exchanged whole behind each (as DINA)"},
      {"loss-de", "rows of every operator by differential evolution, as published"},
      {"intra-dp", "rows of every operator, in bands, by this project's search"},
  };
  return kinds;
}

absl::StatusOr<std::unique_ptr<Planner>> MakePlanner(std::string_view name, const RowGraph& graph,
                                                     const PlannerOptions& options) {
  if (name == "device-only") return std::make_unique<FixedPlanner>(DeviceOnlyPlan(graph));
  if (name == "server-only") return std::make_unique<FixedPlanner>(ServerOnlyPlan(graph));
  if (name == "dsccs") return std::make_unique<LayerPartitionPlanner>(graph);
  if (name == "mcop") return std::make_unique<McopPlanner>(graph);
  if (name == "spso-ga") return std::make_unique<SpsoGaPlanner>(graph, options);
  if (name == "tensor-parallel") return std::make_unique<TensorParallelPlanner>(graph);
  if (name == "loss-de") return std::make_unique<LossPlanner>(graph, options);
  if (name == "intra-dp") return std::make_unique<IntraDpPlanner>(graph, options);
  std::string known;
  for (const PlannerKind& kind : PlannerKinds()) known += fmt::format("{}{}", known.empty() ? "" : ", ", kind.name);
  return InvalidArgument("no planner is called \"{}\"; there are {}", name, known);
}

}  // namespace wharf::split
