// ToJson and ParsePlan: a plan as text.
#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "wharf/base/json/parse_json.h"
#include "wharf/pipeline/plan.h"

namespace wharf::pipeline {
namespace {

using nlohmann::json;

constexpr const char* kFormat = "wharf-pipeline-plan/2";
constexpr const char *kThroughput = "throughput", *kCost = "cost";
constexpr size_t kMaxName = 1024, kMaxElements = 1 << 16;
// As deep as latencies, in a stage, in stages, in a pipeline, in pipelines, in the plan.
constexpr JsonLimits kLimits{size_t{16} << 20, 6};

json AsJson(const Cluster& cluster) {
  json classes = json::array(), hosts = json::array();
  for (const GpuClass& one : cluster.classes) {
    classes.push_back({{"name", one.name}, {"max_vgpus", one.max_vgpus}, {"cost", one.cost}});
  }
  for (const HostGroup& group : cluster.hosts) {
    hosts.push_back({{"class", group.gpu_class},
                     {"hosts", group.hosts},
                     {"gpus_per_host", group.gpus_per_host},
                     {"link_bits_per_s", group.link_bits_per_s}});
  }
  return {{"name", cluster.name}, {"classes", std::move(classes)}, {"hosts", std::move(hosts)}};
}

json AsJson(const ServedModel& model) {
  return {{"name", model.name},
          {"blocks", model.blocks},
          {"slo_us", model.slo_us},
          {"weight", model.weight},
          {"margin_us", model.margin_us},
          {"expected_rate", model.expected_rate},
          {"throughput", model.throughput}};
}

json AsJson(const Pipeline& pipeline) {
  json stages = json::array();
  for (const Stage& stage : pipeline.stages) {
    stages.push_back({{"first_block", stage.first_block},
                      {"end_block", stage.end_block},
                      {"class", stage.gpu_class},
                      {"vgpus_per_gpu", stage.vgpus_per_gpu},
                      {"vgpus", stage.vgpus},
                      {"latency_us", stage.latency_us},
                      {"output_bytes", stage.output_bytes},
                      {"transfer_us", stage.transfer_us}});
  }
  return {{"model", pipeline.model},
          {"batch", pipeline.batch},
          {"throughput", pipeline.throughput},
          {"stages", std::move(stages)}};
}

template <typename T>
json List(const std::vector<T>& values) {
  json list = json::array();
  for (const T& value : values) list.push_back(AsJson(value));
  return list;
}

// An object whose every member is asked for once. The first mistake is kept; what comes after it is of no account.
class Reader {
 public:
  Reader(const json& object, std::string where, size_t members, absl::Status& status)
      : object_(object), where_(std::move(where)), status_(status) {
    if (!object_.is_object()) {
      Fail("{} is no object", where_);
    } else if (object_.size() != members) {
      Fail("{} has {} members, not {}", where_, object_.size(), members);
    }
  }
  std::string Text(const char* name) {
    const json* found = Find(name);
    if (found == nullptr || !found->is_string() || found->get_ref<const std::string&>().size() > kMaxName) {
      Fail("{} has no text \"{}\" of at most {} characters", where_, name, kMaxName);
      return "";
    }
    return found->get<std::string>();
  }
  // CheckStructure knows which are out of range.
  int Integer(const char* name) { return static_cast<int>(LongInteger(name, std::numeric_limits<int>::max())); }
  int64_t LongInteger(const char* name, int64_t most = int64_t{1} << 53) {
    const json* found = Find(name);
    if (found == nullptr || !found->is_number_unsigned() || found->get<uint64_t>() > static_cast<uint64_t>(most)) {
      Fail("\"{}\" of {} is no whole number from 0 to {}", name, where_, most);
      return 0;
    }
    return found->get<int64_t>();
  }
  double Number(const char* name) {
    const json* found = Find(name);
    if (found == nullptr || !found->is_number() || !std::isfinite(found->get<double>())) {
      Fail("\"{}\" of {} is no number", name, where_);
      return 0;
    }
    return found->get<double>();
  }
  std::vector<double> Numbers(const char* name) {
    std::vector<double> numbers;
    for (const json& each : Array(name)) {
      if (!each.is_number()) Fail("\"{}\" of {} holds what is no number", name, where_);
      numbers.push_back(each.is_number() ? each.get<double>() : 0);
    }
    return numbers;
  }
  // read(element, "NAME[0] of WHERE")
  template <typename Read>
  auto List(const char* name, Read read) {
    std::vector<decltype(read(object_, where_))> list;
    for (const json& each : Array(name)) {
      if (!status_.ok()) break;
      list.push_back(read(each, fmt::format("{}[{}]", name, list.size())));
    }
    return list;
  }
  const json& Object(const char* name) {
    const json* found = Find(name);
    if (found == nullptr) Fail("{} has no \"{}\"", where_, name);
    return found == nullptr ? object_ : *found;
  }

 private:
  const json* Find(const char* name) const {
    if (!object_.is_object()) return nullptr;
    const auto found = object_.find(name);
    return found == object_.end() ? nullptr : &*found;
  }
  const json& Array(const char* name) {
    static const json kEmpty = json::array();
    const json* found = Find(name);
    if (found != nullptr && found->is_array() && found->size() <= kMaxElements) return *found;
    Fail("{} has no array \"{}\" of at most {} elements", where_, name, kMaxElements);
    return kEmpty;
  }
  template <typename... Args>
  void Fail(fmt::format_string<Args...> format, Args&&... args) {
    status_.Update(InvalidArgument(format, std::forward<Args>(args)...));
  }

  const json& object_;
  const std::string where_;
  absl::Status& status_;
};

Cluster ReadCluster(const json& object, absl::Status& status) {
  Reader reader(object, "the cluster", 3, status);
  Cluster cluster;
  cluster.name = reader.Text("name");
  cluster.classes = reader.List("classes", [&](const json& each, std::string where) {
    Reader one(each, std::move(where), 3, status);
    return GpuClass{one.Text("name"), one.Integer("max_vgpus"), one.Number("cost")};
  });
  cluster.hosts = reader.List("hosts", [&](const json& each, std::string where) {
    Reader one(each, std::move(where), 4, status);
    return HostGroup{one.Integer("class"), one.Integer("hosts"), one.Integer("gpus_per_host"),
                     one.Number("link_bits_per_s")};
  });
  return cluster;
}

ServedModel ReadModel(const json& object, std::string where, absl::Status& status) {
  Reader reader(object, std::move(where), 7, status);
  ServedModel model;
  model.name = reader.Text("name");
  model.blocks = reader.Integer("blocks");
  model.slo_us = reader.Number("slo_us");
  model.margin_us = reader.Number("margin_us");
  model.weight = reader.Number("weight");
  model.expected_rate = reader.Number("expected_rate");
  model.throughput = reader.Number("throughput");
  return model;
}

Stage ReadStage(const json& object, std::string where, absl::Status& status) {
  Reader reader(object, std::move(where), 8, status);
  Stage stage;
  stage.first_block = reader.Integer("first_block");
  stage.end_block = reader.Integer("end_block");
  stage.gpu_class = reader.Integer("class");
  stage.vgpus_per_gpu = reader.Integer("vgpus_per_gpu");
  stage.vgpus = reader.Integer("vgpus");
  stage.latency_us = reader.Numbers("latency_us");
  stage.output_bytes = reader.LongInteger("output_bytes");
  stage.transfer_us = reader.Number("transfer_us");
  return stage;
}

Pipeline ReadPipeline(const json& object, std::string where, absl::Status& status) {
  Reader reader(object, std::move(where), 4, status);
  Pipeline pipeline;
  pipeline.model = reader.Integer("model");
  pipeline.batch = reader.Integer("batch");
  pipeline.throughput = reader.Number("throughput");
  pipeline.stages =
      reader.List("stages", [&](const json& each, std::string at) { return ReadStage(each, std::move(at), status); });
  return pipeline;
}

absl::StatusOr<Plan> ReadPlan(const json& object) {
  absl::Status status;
  Reader reader(object, "the plan", 9, status);
  if (const std::string format = reader.Text("format"); status.ok() && format != kFormat) {
    return InvalidArgument("the format is \"{}\", not {}", format, kFormat);
  }
  Plan plan;
  plan.cluster = ReadCluster(reader.Object("cluster"), status);
  plan.models =
      reader.List("models", [&](const json& each, std::string at) { return ReadModel(each, std::move(at), status); });
  plan.pipelines = reader.List(
      "pipelines", [&](const json& each, std::string at) { return ReadPipeline(each, std::move(at), status); });
  const std::string objective = reader.Text("objective");
  plan.objective = objective == kCost ? Objective::kCost : Objective::kThroughput;
  plan.value = reader.Number("value");
  plan.bound = reader.Number("bound");
  plan.linear_bound = reader.Number("linear_bound");
  plan.solve_s = reader.Number("solve_s");
  WHARF_RETURN_IF_ERROR(status);
  if (objective != kCost && objective != kThroughput) {
    return InvalidArgument("the objective is \"{}\", neither {} nor {}", objective, kThroughput, kCost);
  }
  WHARF_RETURN_IF_ERROR(CheckStructure(plan));
  return plan;
}

}  // namespace

std::string ToJson(const Plan& plan) {
  const json object = {{"format", kFormat},
                       {"cluster", AsJson(plan.cluster)},
                       {"models", List(plan.models)},
                       {"pipelines", List(plan.pipelines)},
                       {"objective", plan.objective == Objective::kCost ? kCost : kThroughput},
                       {"value", plan.value},
                       {"bound", plan.bound},
                       {"linear_bound", plan.linear_bound},
                       {"solve_s", plan.solve_s}};
  return object.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

absl::StatusOr<Plan> ParsePlan(std::string_view text) {
  WHARF_ASSIGN_OR_RETURN(const json object, ParseJson(text, "a plan", kLimits));
  return ReadPlan(object);
}

}  // namespace wharf::pipeline
