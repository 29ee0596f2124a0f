// SimulationAsSvg: what virtual GPUs did, over time.
#include <fmt/format.h>

#include "wharf/cli/pipeline/simulation_report.h"
#include "wharf/report/gantt_chart.h"

namespace wharf::cli {
namespace {

// A lane for each virtual GPU that a stage uses, in the order of pipelines and stages.
std::vector<size_t> AddLanes(const pipeline::Deployment& deployment, report::GanttChart& chart) {
  std::vector<size_t> lanes(deployment.vgpus.size(), SIZE_MAX);
  for (const pipeline::DeployedPipeline& pipeline : deployment.pipelines) {
    for (size_t s = 0; s < pipeline.stages.size(); ++s) {
      int number = 0;
      for (const int vgpu : pipeline.stages[s].vgpus) {
        lanes[vgpu] = chart.lanes.size();
        chart.lanes.push_back(fmt::format("{}, stage {}, {} {}", deployment.models[pipeline.model].name, s + 1,
                                          deployment.classes[deployment.vgpus[vgpu].gpu_class].name, ++number));
      }
    }
  }
  return lanes;
}

}  // namespace

std::string SimulationAsSvg(const SimulationSetup& setup, const pipeline::Deployment& deployment,
                            const pipeline::SimulationResult& result, TimePoint from, TimePoint to) {
  report::GanttChart chart;
  chart.title = fmt::format("{} at load {:g}, scheduler {} (simulated)", setup.plan, setup.load, setup.scheduler);
  chart.unit = "ms; a number in a bar: requests in the batch";
  chart.list_names = false;
  chart.from = Milliseconds(from.since_epoch);
  chart.to = Milliseconds(to.since_epoch);
  const std::vector<size_t> lanes = AddLanes(deployment, chart);
  for (const pipeline::BusySpan& span : result.timeline) {
    if (span.end <= from || span.start >= to || lanes[span.vgpu] == SIZE_MAX) continue;
    const pipeline::DeployedPipeline& pipeline = deployment.pipelines[span.pipeline];
    report::GanttBar bar{lanes[span.vgpu], Milliseconds(span.start.since_epoch), Milliseconds(span.end.since_epoch)};
    bar.kind = span.transfer
                   ? "feature maps received"
                   : fmt::format("pipeline {}: {}", span.pipeline + 1, deployment.models[pipeline.model].name);
    if (!span.transfer) bar.name = std::to_string(span.requests);
    bar.detail = fmt::format("{} {}, stage {}: {:.2f} to {:.2f} ms", span.requests,
                             span.transfer ? "received" : "computed", span.stage + 1, bar.start, bar.end);
    bar.thin = span.transfer;
    chart.bars.push_back(std::move(bar));
  }
  return chart.Svg();
}

}  // namespace wharf::cli
