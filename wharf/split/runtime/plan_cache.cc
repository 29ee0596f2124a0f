#include "wharf/split/runtime/plan_cache.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>

#include "wharf/base/stored/stored_files.h"
#include "wharf/wire/digest.h"

namespace wharf::split {
namespace {

constexpr uint64_t kMostBytes = uint64_t{256} << 20;  // of all plans

// Everything that planning reads of a profile.
std::string Text(const Profile& profile) {
  std::string text;
  for (const ProfiledOperator& one : profile.operators) {
    text += fmt::format("{} {} {}", one.op.name, one.op.rows, one.op.output_bytes);
    for (const Side side : kSides) {
      const SliceTime slice = one.slice[side].value_or(SliceTime{-1, -1});
      text += fmt::format(" {} {} {}", one.full_ms[side], slice.fixed_ms, slice.row_ms);
    }
    text += '\n';
  }
  const SliceCost& cost = profile.slice_cost;
  return text + fmt::format("{} {} {}", cost.fixed_ms[kDevice], cost.fixed_ms[kServer], cost.inflation);
}

// By powers of two; below a millisecond is all the same.
int RoundTripStep(double ms) { return static_cast<int>(std::lround(std::log2(std::max(ms, 1.0)))); }

}  // namespace

PlanCache::PlanCache(const std::string& cache_directory, const Profile& profile, const PlanningOptions& options)
    : directory_(cache_directory.empty() ? "" : cache_directory + "/plans") {
  const PlannerOptions& planner = options.planner_options;
  question_ = fmt::format(
      "version {}, seed {}, budget {}, bands {}, small outputs {}, energy {} {}, "
      "overhead {}, model {}\n{}",
      kPlannerVersion, planner.seed, planner.budget, planner.bands, planner.small_outputs_only,
      options.objective.energy, options.objective.deadline_ms, options.link.message_overhead_ms, profile.model_hash,
      Text(profile));
  stored_.model = profile.model;
  stored_.model_hash = profile.model_hash;
  stored_.operators = PlannedOperatorsOf(profile);
  stored_.slice_cost = profile.slice_cost;
  stored_.link = options.link;
  stored_.objective = options.objective;
}

std::string PlanCache::NameOf(const std::string& planner, const Encoding& encoding, int round_trip_step) const {
  const std::string text =
      fmt::format("{}, {}, round trip 2^{}, {}", planner, encoding.Text(), round_trip_step, question_);
  return wire::HexOf(wire::HashOf(std::as_bytes(std::span(text)))) + ".json";
}

std::vector<Plan> PlanCache::Find(const std::string& planner, const Encoding& encoding) const {
  const int step = RoundTripStep(stored_.link.round_trip_ms);
  std::optional<std::string> text;
  for (const int near : {step, step - 1, step + 1}) {  // it is measured, and never twice the same
    if (!text) text = ReadStored(directory_, NameOf(planner, encoding, near));
  }
  if (!text) return {};
  const auto stored = ParsePlans(*text);
  if (!stored.ok()) return {};
  std::vector<Plan> plans;
  for (const StoredPlan& one : *stored) {
    if (!CheckFits(one, stored_.operators, stored_.model_hash).ok()) return {};
    plans.push_back(one.plan);
  }
  return plans;
}

void PlanCache::Keep(const std::string& planner, const Encoding& encoding, const std::vector<Plan>& plans) const {
  if (directory_.empty()) return;
  std::vector<StoredPlan> stored;
  for (const Plan& plan : plans) {
    StoredPlan one = stored_;
    one.planner = planner;
    one.plan = plan;
    stored.push_back(std::move(one));
  }
  const std::string text = PlansAsJson(stored),
                    name = NameOf(planner, encoding, RoundTripStep(stored_.link.round_trip_ms));
  if (!WriteStored(directory_, name, std::as_bytes(std::span(text))).ok()) return;  // a cache is worth no failure
  LimitStored(directory_, kMostBytes, name);
}

}  // namespace wharf::split
