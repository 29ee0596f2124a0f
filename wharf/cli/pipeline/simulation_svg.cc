// SimulationAsSvg: what virtual GPUs did, over time.
#include <fmt/format.h>

#include <algorithm>

#include "wharf/cli/pipeline/simulation_report.h"
#include "wharf/report/markup.h"

namespace wharf::cli {
namespace {

constexpr double kLeft = 150, kWidth = 1000, kTop = 56, kRow = 14, kBox = 9, kBar = 3, kGap = 10;
constexpr int kTicks = 10;

struct Rows {
  std::vector<double> top;  // of each virtual GPU's row; negative: no stage uses it
  std::string labels;
  double bottom = kTop;
};

Rows RowsOf(const pipeline::Deployment& deployment) {
  Rows rows{std::vector<double>(deployment.vgpus.size(), -1), "", kTop};
  for (const pipeline::DeployedPipeline& pipeline : deployment.pipelines) {
    for (size_t s = 0; s < pipeline.stages.size(); ++s) {
      const pipeline::VirtualGpu& first = deployment.vgpus[pipeline.stages[s].vgpus.front()];
      rows.labels +=
          fmt::format("<text x=\"{}\" y=\"{:.0f}\" text-anchor=\"end\">{}, stage {}, {}</text>\n", kLeft - 8,
                      rows.bottom + kBox, report::EscapeMarkup(deployment.models[pipeline.model].name.substr(0, 10)),
                      s + 1, report::EscapeMarkup(deployment.classes[first.gpu_class].name));
      for (const int vgpu : pipeline.stages[s].vgpus) {
        rows.top[vgpu] = rows.bottom;
        rows.bottom += kRow;
      }
    }
    rows.bottom += kGap;
  }
  return rows;
}

std::string Axis(TimePoint from, TimePoint to, double bottom) {
  std::string text;
  for (int tick = 0; tick <= kTicks; ++tick) {
    const double x = kLeft + kWidth * tick / kTicks;
    const double ms = Milliseconds(from.since_epoch) + Milliseconds(to - from) * tick / kTicks;
    text += fmt::format(
        "<line x1=\"{0:.1f}\" y1=\"{1}\" x2=\"{0:.1f}\" y2=\"{2:.0f}\" stroke=\"#ddd\"/>"
        "<text x=\"{0:.1f}\" y=\"{3:.0f}\" text-anchor=\"middle\" fill=\"#555\">{4:.1f}</text>\n",
        x, kTop - 4, bottom, bottom + 14, ms);
  }
  return text + fmt::format("<text x=\"{}\" y=\"{:.0f}\" fill=\"#555\">ms</text>\n", kLeft + kWidth + 24, bottom + 14);
}

std::string Box(const pipeline::BusySpan& span, double top, TimePoint from, TimePoint to, const char* colour) {
  const double scale = kWidth / Milliseconds(to - from);
  const double x = kLeft + scale * std::max(0.0, Milliseconds(span.start - from));
  const double end = kLeft + scale * Milliseconds(std::min(span.end, to) - from);
  return fmt::format(
      "<rect x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{}\" fill=\"{}\" {}>"
      "<title>{} {}, stage {}: {:.2f} to {:.2f} ms</title></rect>\n",
      x, span.transfer ? top + kBox : top, std::max(0.3, end - x), span.transfer ? kBar : kBox, colour,
      span.transfer ? "opacity=\"0.6\"" : "stroke=\"white\" stroke-width=\"0.5\"", span.requests,
      span.transfer ? "received" : "computed", span.stage + 1, Milliseconds(span.start.since_epoch),
      Milliseconds(span.end.since_epoch));
}

}  // namespace

std::string SimulationAsSvg(const SimulationSetup& setup, const pipeline::Deployment& deployment,
                            const pipeline::SimulationResult& result, TimePoint from, TimePoint to) {
  const Rows rows = RowsOf(deployment);
  report::Palette palette;
  std::vector<const char*> colours;
  for (size_t p = 0; p < deployment.pipelines.size(); ++p) colours.push_back(palette.ColourOf(std::to_string(p)));
  std::string body = Axis(from, to, rows.bottom) + rows.labels;
  for (const pipeline::BusySpan& span : result.timeline) {
    if (span.end <= from || span.start >= to || rows.top[span.vgpu] < 0) continue;
    body += Box(span, rows.top[span.vgpu], from, to, colours[span.pipeline]);
  }
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
      "font-family=\"sans-serif\" font-size=\"11\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
      "<text x=\"{2}\" y=\"24\" font-size=\"15\" font-weight=\"bold\">{3} at load {4:g}, scheduler {5} "
      "(simulated)</text>"
      "\n{6}</svg>\n",
      kLeft + kWidth + 60, rows.bottom + 30, 12, report::EscapeMarkup(setup.plan), setup.load,
      report::EscapeMarkup(setup.scheduler), body);
}

}  // namespace wharf::cli
