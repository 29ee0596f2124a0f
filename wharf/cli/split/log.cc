#include "wharf/cli/split/log.h"

#include <algorithm>
#include <utility>

#include "wharf/report/statistics.h"

namespace wharf::cli {
namespace {

using report::Align;
using split::Resource;

double Of(const std::array<double, 4>& sums, Resource resource) { return sums[static_cast<size_t>(resource)]; }

double Bytes(const std::vector<split::Event>& events, Resource resource) {
  double bytes = 0;
  for (const split::Event& event : events) bytes += event.resource == resource ? event.bytes : 0;
  return bytes;
}

// How long something is on its way out, in either direction or both.
double LinkMs(std::vector<split::Event> events) {
  std::erase_if(events, [](const split::Event& event) {
    return event.resource != Resource::kUplink && event.resource != Resource::kDownlink;
  });
  std::sort(events.begin(), events.end(), [](const auto& a, const auto& b) { return a.start_ms < b.start_ms; });
  double covered_ms = 0, until_ms = 0;
  for (const split::Event& event : events) {
    covered_ms += std::max(0.0, event.end_ms - std::max(until_ms, event.start_ms));
    until_ms = std::max(until_ms, event.end_ms);
  }
  return covered_ms;
}

std::string Where(const split::InferenceReport& report) {
  if (!report.lost.ok()) return fmt::format("device, alone: {}", Message(report.lost));
  return report.alone ? "device" : "both";
}

}  // namespace

SplitLog::SplitLog(std::string model, std::string mode, std::string plan_file)
    : model_(std::move(model)),
      mode_(std::move(mode)),
      plan_file_(std::move(plan_file)),
      table_({{"inference", Align::kRight},
              {"ms", Align::kRight},
              {"planned ms", Align::kRight},
              {"plan", Align::kRight},
              {"link MB/s", Align::kRight},
              {"device ms", Align::kRight},
              {"server ms", Align::kRight},
              {"up KB", Align::kRight},
              {"down KB", Align::kRight},
              {"where"}}) {}

void SplitLog::Add(split::SplitClient& session, std::optional<double> error, std::optional<double> joules) {
  const split::InferenceReport& report = session.Report();
  const std::vector<split::Event> measured = session.MeasuredEvents(), planned = session.PlannedEvents();
  const split::TimelineError timeline = split::CompareTimelines(planned, measured);
  const double up = Bytes(measured, Resource::kUplink), down = Bytes(measured, Resource::kDownlink);
  const double link_ms = LinkMs(measured), device_ms = Of(timeline.measured_ms, Resource::kDevice);
  const split::Outcome outcome{report.latency_ms, {device_ms, Of(timeline.measured_ms, Resource::kServer)}, link_ms};

  latencies_.push_back(report.latency_ms);
  planned_.push_back(report.planned_ms);
  // Without a profile, which the device alone does not need, there is none.
  if (report.bound_ms > 0) longest_share_ = std::max(longest_share_, report.latency_ms / report.bound_ms);
  if (report.predicted_bound_ms > 0 && report.latency_ms > report.predicted_bound_ms) ++beyond_predicted_;
  if (report.device_slowness > 0) slowness_.push_back(report.device_slowness);
  if (!report.lost.ok()) ++lost_;
  if (report.lost.ok() && timeline.messages > 0) message_errors_.push_back(timeline.message_ms_mean);
  checked_ = checked_ || error.has_value();
  worst_error_ = std::max(worst_error_, error.value_or(0));

  if (Count() <= kTableRows) AddRow(report, timeline, up, down);
  rows_.push_back({{"model", model_},
                   {"mode", mode_},
                   {"inference", Count()},
                   {"latency_ms", report.latency_ms},
                   {"planned_ms", report.planned_ms},
                   {"bound_ms", report.bound_ms},
                   {"predicted_bound_ms", report.predicted_bound_ms},
                   {"device_slowness", report.device_slowness},
                   {"plan", report.plan},
                   {"encoding", session.Plans()[report.plan].encoding.Text()},
                   {"link_bytes_per_ms", report.bytes_per_ms},
                   {"alone", report.alone},
                   {"lost", report.lost.ok() ? "" : std::string(Message(report.lost))},
                   {"device_ms", device_ms},
                   {"server_ms", Of(timeline.measured_ms, Resource::kServer)},
                   {"uplink_ms", Of(timeline.measured_ms, Resource::kUplink)},
                   {"downlink_ms", Of(timeline.measured_ms, Resource::kDownlink)},
                   {"link_ms", link_ms},
                   {"uplink_bytes", up},
                   {"downlink_bytes", down},
                   {"device_planned_ms", Of(timeline.planned_ms, Resource::kDevice)},
                   {"server_planned_ms", Of(timeline.planned_ms, Resource::kServer)},
                   {"messages", timeline.messages},
                   {"message_error_ms_mean", timeline.message_ms_mean},
                   {"message_error_ms_worst", timeline.message_ms_worst},
                   {"energy_j_modelled", outcome.Joules()}});
  if (!plan_file_.empty()) rows_.back()["plan_file"] = plan_file_;
  if (error) rows_.back()["relative_error"] = *error;
  if (!joules) return;
  rows_.back()["energy_j_measured"] = *joules;
  joules_.push_back(*joules);
}

void SplitLog::AddRow(const split::InferenceReport& report, const split::TimelineError& timeline, double up_bytes,
                      double down_bytes) {
  table_.AddRow({fmt::format("{}", Count()), fmt::format("{:.1f}", report.latency_ms),
                 fmt::format("{:.1f}", report.planned_ms), fmt::format("{}", report.plan),
                 fmt::format("{:.2f}", report.bytes_per_ms / 1e3),
                 fmt::format("{:.1f}", Of(timeline.measured_ms, Resource::kDevice)),
                 fmt::format("{:.1f}", Of(timeline.measured_ms, Resource::kServer)),
                 fmt::format("{:.1f}", up_bytes / 1e3), fmt::format("{:.1f}", down_bytes / 1e3), Where(report)});
}

std::string SplitLog::Table() const {
  const int more = Count() - kTableRows;
  return table_.Text() + (more > 0 ? fmt::format("and {} more\n", more) : "");
}

std::string SplitLog::Summary() const {
  const double mean = report::Mean(latencies_), planned = report::Mean(planned_);
  std::string text = fmt::format(
      "{} inferences: mean {:.1f} ms, median {:.1f}, longest {:.1f}; planned {:.1f} ({:+.0f} %)\n"
      "every one returned its result, {} after the device finished alone",
      Count(), mean, report::Median(latencies_), *std::max_element(latencies_.begin(), latencies_.end()), planned,
      planned > 0 ? 100 * (mean / planned - 1) : 0, lost_);
  if (longest_share_ > 0) text += fmt::format("; none took longer than {:.0f} % of its bound", 100 * longest_share_);
  text += "\n";
  if (!slowness_.empty()) {
    const auto [least, most] = std::minmax_element(slowness_.begin(), slowness_.end());
    text += fmt::format(
        "the device took {:.2f} to {:.2f} times as long as its profile says, median {:.2f}; {} took longer than the "
        "bound predicted by its last speed\n",
        *least, *most, report::Median(slowness_), beyond_predicted_);
  }
  if (!message_errors_.empty()) {
    text += fmt::format("messages were {:.1f} ms from where they were planned, on average\n",
                        report::Mean(message_errors_));
  }
  if (!joules_.empty()) {
    text +=
        fmt::format("measured: {:.3f} J an inference, on average, of all this machine does\n", report::Mean(joules_));
  }
  if (checked_) {
    text +=
        fmt::format("largest difference from the whole model, relative to the largest output: {:.2g}\n", worst_error_);
  }
  return text;
}

}  // namespace wharf::cli
