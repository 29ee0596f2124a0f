#include "wharf/split/simulation/encoded_plans.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "wharf/split/planners/layer_cut.h"

namespace wharf::split {

absl::StatusOr<std::unique_ptr<EncodedPlans>> EncodedPlans::Make(Profile profile, const PlanningOptions& options) {
  std::unique_ptr<EncodedPlans> plans(new EncodedPlans(std::move(profile), options));
  for (const Encoding& encoding : options.encodings) {
    WHARF_RETURN_IF_ERROR(options.plans.empty() ? plans->Add(options, encoding) : plans->AddPlans(options, encoding));
  }
  plans->plans_ = plans->table_->Plans();
  plans->plans_.push_back(DeviceOnlyPlan(*plans->graphs_.front()));
  plans->plans_.back().encoding = options.encodings.front();
  return plans;
}

std::unique_ptr<RowGraph> EncodedPlans::GraphNow(const Encoding& encoding) const {
  return std::make_unique<RowGraph>(Encoded(profile_.WithSlower(kDevice, slowness_), encoding, costs_));
}

absl::Status EncodedPlans::Add(const PlanningOptions& options, const Encoding& encoding) {
  const RowGraph& graph = *graphs_.emplace_back(GraphNow(encoding));
  std::vector<std::string> planners = {options.planner};
  // What intra-dp finds at one rate may be worse at those between.
  if (options.planner == "intra-dp") planners.insert(planners.end(), {"server-only", "device-only"});
  for (const std::string& name : planners) {
    WHARF_ASSIGN_OR_RETURN(std::vector<Plan> plans, FindOrMake(options, name, graph, encoding));
    if (table_ != nullptr) {
      table_->Add(graph, std::move(plans), encoding);
    } else {
      table_ = std::make_unique<PlanTable>(graph, std::move(plans), options.link, options.objective, encoding);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Plan>> EncodedPlans::FindOrMake(const PlanningOptions& options, const std::string& name,
                                                           const RowGraph& graph, const Encoding& encoding) {
  PlannerOptions planner_options = options.planner_options;
  bool cancelled = false;
  planner_options.go_on = [&](double share) {
    const auto encodings = static_cast<double>(options.encodings.size());
    const double all = (static_cast<double>(graphs_.size() - 1) + share) / encodings;
    cancelled = cancelled || (options.go_on != nullptr && !options.go_on(all));
    return !cancelled;
  };
  WHARF_ASSIGN_OR_RETURN(const auto planner, MakePlanner(name, graph, planner_options));
  std::vector<Plan> plans;
  if (options.kept != nullptr) plans = options.kept->Find(name, encoding);
  const bool fit =
      std::all_of(plans.begin(), plans.end(), [&](const Plan& plan) { return CheckPlan(graph, plan).ok(); });
  if (!plans.empty() && fit) return plans;
  plans = planner->Sweep(options.link, PlanningRates(), options.objective);
  if (cancelled) return MakeStatus(absl::StatusCode::kCancelled, "planning was cancelled");
  if (options.kept != nullptr) options.kept->Keep(name, encoding, plans);
  return plans;
}

void EncodedPlans::TakeOver(const EncodedPlans& before) {
  learnt_slowness_ = before.learnt_slowness_;
  slowness_ = before.slowness_;
  costs_ = before.costs_;
  Update();
}

absl::Status EncodedPlans::AddPlans(const PlanningOptions& options, const Encoding& encoding) {
  const RowGraph& graph = *graphs_.emplace_back(GraphNow(encoding));
  for (const Plan& plan : options.plans) WHARF_RETURN_IF_ERROR(CheckPlan(graph, plan));
  if (table_ != nullptr) {
    table_->Add(graph, options.plans, encoding);
  } else {
    table_ = std::make_unique<PlanTable>(graph, options.plans, options.link, options.objective, encoding);
  }
  return absl::OkStatus();
}

uint32_t EncodedPlans::Choose(double bytes_per_ms, double doubt) {
  return static_cast<uint32_t>(&table_->Choose(bytes_per_ms, doubt) - table_->Plans().data());
}

Outcome EncodedPlans::Evaluate(uint32_t plan, const Link& link) {
  return table_->EvaluatorOf(plans_[plan].encoding).Evaluate(plans_[plan], link);
}

Outcome EncodedPlans::Record(uint32_t plan, const Link& link, std::vector<Event>& events) {
  return table_->EvaluatorOf(plans_[plan].encoding).Record(plans_[plan], link, events);
}

void EncodedPlans::Learn(uint32_t plan, const std::map<int, double>& size_by_operator) {
  constexpr double kWeight = 0.25, kChange = 0.01;
  const Encoding& encoding = plans_[plan].encoding;
  bool changed = false;
  for (const auto& [op, seen] : size_by_operator) {
    const auto cost = costs_.find(op == 0 ? encoding.input.coding : encoding.rows.coding);
    if (cost == costs_.end()) continue;
    double& size = cost->second.size[op];
    changed = changed || std::abs(seen - size) > kChange * size;
    size += kWeight * (seen - size);
  }
  if (changed) Update();
}

void EncodedPlans::LearnDevice(double slowness) {
  constexpr double kWeight = 0.25, kChange = 0.05, kLeast = 0.5, kMost = 16;
  learnt_slowness_ += kWeight * (std::clamp(slowness, kLeast, kMost) - learnt_slowness_);
  if (std::abs(learnt_slowness_ - slowness_) <= kChange * slowness_) return;
  slowness_ = learnt_slowness_;
  Update();
}

void EncodedPlans::Update() {
  for (size_t i = 0; i < encodings_.size(); ++i) {
    std::unique_ptr<RowGraph> graph = GraphNow(encodings_[i]);
    table_->Update(*graph, encodings_[i]);
    graphs_[i] = std::move(graph);
  }
  // Now, between two inferences, not when the next one chooses.
  for (const Plan& plan : plans_) table_->EvaluatorOf(plan.encoding).Graph(plan.layout);
}

double EncodedPlans::ProfiledMs(uint32_t plan, std::span<const int> ops) {
  const Plan& of = plans_[plan];
  const RowGraph& graph = profiled_plans_.Graph(of.layout);
  double ms = 0;
  for (const int op : ops) ms += graph.Ms(kDevice, op, of.rows[kDevice][op].Size());
  return ms;
}

double EncodedPlans::ProfiledMs(std::span<const int> rows) const {
  double ms = 0;
  for (int op = 0; op < profiled_.Size(); ++op) ms += profiled_.Ms(kDevice, op, rows[op]);
  return ms;
}

}  // namespace wharf::split
