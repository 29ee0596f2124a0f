#include "wharf/cli/pipeline/simulation_report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "wharf/report/table.h"

namespace wharf::cli {
namespace {

using pipeline::Fate;
using report::Align;
using report::Table;

constexpr Fate kDropped[] = {Fate::kTooLate, Fate::kNoCapacity, Fate::kWorkerLost};

std::string Percent(double share) { return fmt::format("{:.2f} %", 100 * share); }

std::string Ms(double ms) { return fmt::format("{:.2f}", ms); }

Table ModelTable(const pipeline::Deployment& deployment, const pipeline::SimulationResult& result) {
  Table table({{"model"},
               {"requests", Align::kRight},
               {"on time", Align::kRight},
               {"late", Align::kRight},
               {"too late", Align::kRight},
               {"no capacity", Align::kRight},
               {"SLO ms", Align::kRight},
               {"p50", Align::kRight},
               {"p99", Align::kRight},
               {"mean", Align::kRight},
               {"= queue", Align::kRight},
               {"+ compute", Align::kRight},
               {"+ transfer", Align::kRight},
               {"+ wait", Align::kRight}});
  for (size_t i = 0; i < result.models.size(); ++i) {
    const pipeline::ModelResult& model = result.models[i];
    const auto share = [&model](Fate fate) {
      const uint64_t count = model.Of(fate);
      return count == 0 ? std::string("0") : Percent(static_cast<double>(count) / static_cast<double>(model.requests));
    };
    table.AddRow({deployment.models[i].name, std::to_string(model.requests), Percent(model.Attainment()),
                  share(Fate::kLate), share(Fate::kTooLate), share(Fate::kNoCapacity),
                  fmt::format("{:.1f}", Milliseconds(deployment.models[i].slo)), Ms(model.p50_ms), Ms(model.p99_ms),
                  Ms(model.mean_ms), Ms(model.queued_ms), Ms(model.computed_ms), Ms(model.transferred_ms),
                  Ms(model.waited_ms)});
  }
  return table;
}

std::string StagesOf(const pipeline::Deployment& deployment, const pipeline::DeployedPipeline& pipeline) {
  std::string text;
  for (const pipeline::DeployedStage& stage : pipeline.stages) {
    const pipeline::VirtualGpu& vgpu = deployment.vgpus[stage.vgpus.front()];
    text +=
        fmt::format("{}{} {}{}", text.empty() ? "" : " → ", stage.vgpus.size(), deployment.classes[vgpu.gpu_class].name,
                    vgpu.share < 1 ? fmt::format("/{:.0f}", 1 / vgpu.share) : "");
  }
  return text;
}

Table PipelineTable(const SimulationSetup& setup, const pipeline::Deployment& deployment,
                    const pipeline::SimulationResult& result) {
  Table table(
      {{"pipeline"}, {"of"}, {"answered/s", Align::kRight}, {"batch", Align::kRight}, {"planned", Align::kRight}});
  for (size_t i = 0; i < result.pipelines.size(); ++i) {
    const pipeline::PipelineResult& one = result.pipelines[i];
    const pipeline::DeployedPipeline& pipeline = deployment.pipelines[i];
    table.AddRow({StagesOf(deployment, pipeline), deployment.models[pipeline.model].name,
                  fmt::format("{:.1f}", static_cast<double>(one.requests) / setup.seconds),
                  fmt::format("{:.2f}", one.mean_batch), std::to_string(pipeline.Batch())});
  }
  return table;
}

Table ClassTable(const pipeline::Deployment& deployment, const pipeline::SimulationResult& result) {
  Table table({{"class"}, {"GPUs", Align::kRight}, {"busy", Align::kRight}});
  for (size_t i = 0; i < result.utilisation.size(); ++i) {
    table.AddRow({deployment.classes[i].name, std::to_string(deployment.classes[i].gpus),
                  fmt::format("{:.1f} %", 100 * result.utilisation[i])});
  }
  return table;
}

nlohmann::ordered_json ModelAsJson(const std::string& name, const pipeline::ModelResult& model) {
  return {{"model", name},
          {"requests", model.requests},
          {"on_time", model.Of(Fate::kOnTime)},
          {"late", model.Of(Fate::kLate)},
          {"too_late", model.Of(Fate::kTooLate)},
          {"no_capacity", model.Of(Fate::kNoCapacity)},
          {"worker_lost", model.Of(Fate::kWorkerLost)},
          {"attainment", model.Attainment()},
          {"mean_ms", model.mean_ms},
          {"p50_ms", model.p50_ms},
          {"p99_ms", model.p99_ms},
          {"queued_ms", model.queued_ms},
          {"computed_ms", model.computed_ms},
          {"transferred_ms", model.transferred_ms},
          {"waited_ms", model.waited_ms}};
}

}  // namespace

std::string SimulationAsText(const SimulationSetup& setup, const pipeline::Deployment& deployment,
                             const pipeline::SimulationResult& result) {
  std::string text =
      fmt::format("{} at load {:g}, {} arrivals, {:g} s, seed {}, scheduler {}: {} on time (simulated)\n\n", setup.plan,
                  setup.load, setup.trace, setup.seconds, setup.seed, setup.scheduler, Percent(result.Attainment()));
  text += ModelTable(deployment, result).Text() + "\n";
  text += PipelineTable(setup, deployment, result).Text() + "\n";
  return text + ClassTable(deployment, result).Text();
}

std::string SimulationAsJson(const SimulationSetup& setup, const pipeline::Deployment& deployment,
                             const pipeline::SimulationResult& result) {
  nlohmann::ordered_json models = nlohmann::ordered_json::array(), pipelines = models, classes = models;
  for (size_t i = 0; i < result.models.size(); ++i) {
    models.push_back(ModelAsJson(deployment.models[i].name, result.models[i]));
  }
  for (size_t i = 0; i < result.pipelines.size(); ++i) {
    pipelines.push_back({{"model", deployment.models[deployment.pipelines[i].model].name},
                         {"stages", StagesOf(deployment, deployment.pipelines[i])},
                         {"answered", result.pipelines[i].requests},
                         {"mean_batch", result.pipelines[i].mean_batch},
                         {"planned_batch", deployment.pipelines[i].Batch()}});
  }
  for (size_t i = 0; i < result.utilisation.size(); ++i) {
    classes.push_back({{"class", deployment.classes[i].name},
                       {"gpus", deployment.classes[i].gpus},
                       {"utilisation", result.utilisation[i]}});
  }
  const nlohmann::ordered_json all = {{"plan", setup.plan},
                                      {"simulated", true},
                                      {"scheduler", setup.scheduler},
                                      {"trace", setup.trace},
                                      {"load", setup.load},
                                      {"seconds", setup.seconds},
                                      {"seed", setup.seed},
                                      {"compute_cv", setup.compute_cv},
                                      {"transfer_cv", setup.transfer_cv},
                                      {"attainment", result.Attainment()},
                                      {"models", models},
                                      {"pipelines", pipelines},
                                      {"classes", classes}};
  return all.dump(1) + "\n";
}

std::string RequestsAsCsv(const pipeline::Deployment& deployment, const pipeline::SimulationResult& result) {
  std::string csv = "request,model,arrival_ms,ended_ms,fate,pipeline,batch,queued_ms,computed_ms,transferred_ms\n";
  for (const pipeline::RequestRecord& record : result.records) {
    csv += fmt::format("{},{},{:.3f},{:.3f},{},{},{},{:.3f},{:.3f},{:.3f}\n", record.request.id,
                       deployment.models[record.request.model].name, Milliseconds(record.request.arrival.since_epoch),
                       Milliseconds(record.ended.since_epoch), pipeline::FateName(record.fate), record.pipeline,
                       record.batch, Milliseconds(record.queued), Milliseconds(record.computed),
                       Milliseconds(record.transferred));
  }
  return csv;
}

}  // namespace wharf::cli
