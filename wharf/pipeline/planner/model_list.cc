#include "wharf/pipeline/planner/model_list.h"

#include <algorithm>
#include <limits>

#include "wharf/pipeline/yaml_map.h"

namespace wharf::pipeline {
namespace {

absl::StatusOr<std::optional<double>> Positive(const YamlMap& map, const char* name) {
  if (!map.Has(name)) return std::nullopt;
  WHARF_ASSIGN_OR_RETURN(const double value, map.Number(name));
  if (value <= 0) return InvalidArgument("\"{}\" of {} is {}, not above 0", name, map.Where(), value);
  return value;
}

absl::StatusOr<ModelList::Model> ReadModel(const YamlMap& map) {
  WHARF_RETURN_IF_ERROR(map.Only({"name", "weight", "slo_ms", "expected_rate"}));
  ModelList::Model model;
  WHARF_ASSIGN_OR_RETURN(model.name, map.Text("name"));
  WHARF_ASSIGN_OR_RETURN(const auto weight, Positive(map, "weight"));
  model.weight = weight.value_or(1);
  WHARF_ASSIGN_OR_RETURN(model.slo_us, Positive(map, "slo_ms"));
  if (model.slo_us) *model.slo_us *= 1e3;
  WHARF_ASSIGN_OR_RETURN(model.expected_rate, Positive(map, "expected_rate"));
  return model;
}

// Of one request, whole, on the fastest GPU measured.
double FastestUs(const ModelProfile& profile) {
  double fastest = std::numeric_limits<double>::infinity();
  for (const VgpuProfile& one : profile.vgpus) {
    if (one.MaxBatch() > 0) fastest = std::min(fastest, one.LatencyUs(1, 0, profile.Blocks()));
  }
  return fastest;
}

}  // namespace

absl::StatusOr<ModelList> ParseModelList(std::string_view yaml) {
  WHARF_ASSIGN_OR_RETURN(const YamlMap map, YamlMap::Parse(yaml, "the list of models"));
  WHARF_RETURN_IF_ERROR(map.Only({"profiles", "slo_scale", "margin", "models"}));
  ModelList list;
  WHARF_ASSIGN_OR_RETURN(list.profiles, map.Text("profiles"));
  WHARF_ASSIGN_OR_RETURN(const auto scale, Positive(map, "slo_scale"));
  list.slo_scale = scale.value_or(list.slo_scale);
  WHARF_ASSIGN_OR_RETURN(list.margin, map.Number("margin", list.margin));
  if (list.margin < 0 || list.margin >= 1)
    return InvalidArgument("the margin is {}, not from 0 to below 1", list.margin);
  WHARF_ASSIGN_OR_RETURN(const std::vector<YamlMap> models, map.Maps("models"));
  for (const YamlMap& each : models) {
    WHARF_ASSIGN_OR_RETURN(ModelList::Model model, ReadModel(each));
    if (std::ranges::count(list.models, model.name, &ModelList::Model::name) > 0) {
      return InvalidArgument("{}: model {} is there twice", each.Where(), model.name);
    }
    list.models.push_back(std::move(model));
  }
  if (list.models.empty()) return InvalidArgument("the list of models is empty");
  return list;
}

absl::StatusOr<std::vector<Demand>> MakeDemands(const ModelList& list, std::span<const ModelProfile> profiles) {
  std::vector<Demand> demands;
  for (const ModelList::Model& model : list.models) {
    const auto profile = std::ranges::find(profiles, model.name, &ModelProfile::model);
    if (profile == profiles.end()) {
      std::vector<std::string> names;
      for (const ModelProfile& each : profiles) names.push_back(each.model);
      return NotFound("there is no profile of {}; there are: {}", model.name, fmt::join(names, ", "));
    }
    const double slo_us = model.slo_us.value_or(list.slo_scale * FastestUs(*profile));
    demands.push_back({&*profile, slo_us, slo_us * list.margin, model.weight, model.expected_rate});
  }
  return demands;
}

}  // namespace wharf::pipeline
