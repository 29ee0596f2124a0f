// wharf ar client --sla: one task, offloaded when the server says, so that an agreed accuracy is kept.
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "wharf/ar/client/coordinated_client.h"
#include "wharf/cli/ar/client.h"
#include "wharf/cli/ar/find_ar_server.h"
#include "wharf/cli/ar/frames.h"
#include "wharf/cli/ar/view_file.h"
#include "wharf/cli/common/files.h"
#include "wharf/report/table.h"

namespace wharf::cli {
namespace {

// What the networks that Wharf brings take.
constexpr int kWidth = 448, kHeight = 128;

class AgreedRun {
 public:
  explicit AgreedRun(const ArClientOptions& options) : options_(options) {}

  absl::Status Run() {
    if (options_.tasks.size() != 1) {
      throw CLI::ValidationError("client", "--sla is agreed for one task: --tasks depth or --tasks boxes");
    }
    if (!options_.json.empty()) WHARF_RETURN_IF_ERROR(CheckWritable(options_.json));
    WHARF_ASSIGN_OR_RETURN(Sight sight, MakeSight(options_, kWidth, kHeight, {}));
    PacedFrames frames(*sight.source);
    WHARF_ASSIGN_OR_RETURN(multitask::FramePointer frame, frames.Next());
    if (frame == nullptr) return FailedPrecondition("there are no frames");
    WHARF_RETURN_IF_ERROR(BeginAt(*frame, options_, sight));
    WHARF_ASSIGN_OR_RETURN(const auto client, Open(sight));
    WHARF_ASSIGN_OR_RETURN(ViewFile view, ViewFile::Create(options_.view, ViewTitle(), TaskNames(options_.tasks),
                                                           *sight.source, sight.world.get()));
    const TimePoint end = Clock::Real().Now() + options_.duration;
    while (frame != nullptr && Clock::Real().Now() < end) {
      const TimePoint begun = Clock::Real().Now();
      const ar::TrackedResult result = client->OnFrame(frame);
      frame_ms_.push_back(Milliseconds(Clock::Real().Now() - begun));
      if (view.Shows())
        view.Add(*frame, {result.depth, result.boxes, std::nullopt, {result.offloaded}, Agreement(*client)});
      errors_.Add(frame->index, result.depth, result.boxes, std::nullopt);
      WHARF_ASSIGN_OR_RETURN(frame, frames.Next());
    }
    WHARF_RETURN_IF_ERROR(view.Finish());
    ResultErrors::Errors errors;
    if (sight.world != nullptr) errors = errors_.Compare(*sight.world, options_.Has(ar::Task::kBoxes));
    return Show(client->Summary(), errors);
  }

 private:
  absl::StatusOr<std::unique_ptr<ar::CoordinatedClient>> Open(const Sight& sight) const {
    ar::CoordinatedClientConfig config;
    config.camera = sight.source->Camera();
    config.frames_per_s = sight.source->FramesPerSecond();
    config.task = options_.tasks.front();
    config.sla = options_.sla;
    config.motion = sight.odometry;
    config.server = options_.access.server;
    config.dial = options_.Dialling();
    WHARF_ASSIGN_OR_RETURN(config.token, options_.access.Token());
    config.depth_coding = options_.Coding();
    config.jpeg_quality = options_.jpeg_quality;
    return OpenArClient<ar::CoordinatedClient>(std::move(config), options_.access, SayToUser);
  }

  std::string ViewTitle() const {
    const std::string what = options_.video.empty() ? "synthetic " + options_.synthetic : options_.video;
    return fmt::format("AR client with an agreed accuracy: {}", what);
  }

  static std::string Agreement(const ar::CoordinatedClient& client) {
    const ar::AgreedSummary summary = client.Summary();
    return fmt::format("SLA {:g}: mean drop {:.3f}, {}; mean stride {:.1f}", summary.sla, summary.mean_drop,
                       Verdict(summary), summary.mean_stride);
  }

  static const char* Verdict(const ar::AgreedSummary& summary) {
    if (summary.served == 0) return "not served";
    return summary.Within() ? "within" : "beyond";
  }

  absl::Status Show(const ar::AgreedSummary& summary, const ResultErrors::Errors& errors) {
    using report::Align;
    const double frames = static_cast<double>(std::max<int64_t>(1, summary.frames));
    const std::string task = TaskName(options_.tasks.front());
    std::string error;
    if (errors.abs_rel) error = fmt::format("abs_rel {:.3f}", *errors.abs_rel);
    if (errors.iou) error = fmt::format("iou {:.3f}", *errors.iou);
    report::Table table({{"task"},
                         {"served", Align::kRight},
                         {"stride", Align::kRight},
                         {"reference", Align::kRight},
                         {"drop", Align::kRight},
                         {"agreed", Align::kRight},
                         {"verdict"},
                         {"error"}});
    table.AddRow({task, fmt::format("{:.0f} %", 100 * static_cast<double>(summary.served) / frames),
                  fmt::format("{:.1f}", summary.mean_stride), fmt::format("{:.1f}", summary.reference_stride),
                  fmt::format("{:.4f}", summary.mean_drop), fmt::format("{:g}", summary.sla), Verdict(summary), error});
    std::fputs(table.Text().c_str(), stdout);
    std::ranges::sort(frame_ms_);
    const double median = frame_ms_.empty() ? 0 : frame_ms_[frame_ms_.size() / 2];
    fmt::print(
        "{} frames, {:.1f} ms of work each (median); {} waited for room, {} without a server\n"
        "drop rate {:.5f} a frame of stride, network {:.1f} ms; {} offloads: {} answered, {} refused, {} lost\n"
        "{}\n",
        summary.frames, median, summary.waiting, summary.away, summary.drop_rate, 1e3 * summary.network_s,
        summary.offloads, summary.answered, summary.refused, summary.lost, Whereabouts(summary.link));
    if (summary.served == 0 && summary.waiting > 0) {
      const std::string why = summary.why_waiting.empty() ? "" : ": " + summary.why_waiting;
      fmt::print("the server had no room{}; a larger --sla takes less\n", why);
    }
    if (options_.json.empty()) return absl::OkStatus();
    nlohmann::ordered_json row = {{"task", task},
                                  {"sla", summary.sla},
                                  {"verdict", Verdict(summary)},
                                  {"mean_drop", summary.mean_drop},
                                  {"drop_rate", summary.drop_rate},
                                  {"mean_stride", summary.mean_stride},
                                  {"reference_stride", summary.reference_stride},
                                  {"network_ms", 1e3 * summary.network_s},
                                  {"frames", summary.frames},
                                  {"frames_served", summary.served},
                                  {"frames_waiting", summary.waiting},
                                  {"frames_away", summary.away},
                                  {"why_waiting", summary.why_waiting},
                                  {"frame_ms_median", median},
                                  {"offloads", summary.offloads},
                                  {"offloads_answered", summary.answered},
                                  {"offloads_refused", summary.refused},
                                  {"offloads_lost", summary.lost},
                                  {"server", summary.link.server},
                                  {"redirects", summary.link.redirects},
                                  {"nowhere", summary.link.nowhere}};
    if (errors.abs_rel) row["abs_rel"] = *errors.abs_rel;
    if (errors.iou) row["iou"] = *errors.iou;
    return WriteFile(options_.json, row.dump(1) + "\n");
  }

  const ArClientOptions& options_;
  std::vector<double> frame_ms_;
  ResultErrors errors_;
};

}  // namespace

absl::Status RunAgreedClient(const ArClientOptions& options) { return AgreedRun(options).Run(); }

}  // namespace wharf::cli
