// wharf bench multitask: AccuMO and what it is compared with, on videos of the synthetic world (thesis, chapter 2).
#include <atomic>
#include <cstdio>
#include <memory>
#include <thread>

#include "absl/synchronization/mutex.h"
#include "wharf/cli/ar/networks.h"
#include "wharf/cli/bench/common/progress.h"
#include "wharf/cli/bench/multitask/kept.h"
#include "wharf/cli/bench/multitask/report.h"
#include "wharf/cli/common/bench_command.h"
#include "wharf/cli/common/commands.h"
#include "wharf/cli/common/files.h"
#include "wharf/exec/torch_engine.h"
#include "wharf/multitask/experiment/component_times.h"
#include "wharf/perception/depth_network.h"
#include "wharf/perception/detector.h"
#include "wharf/scene/world/videos.h"
#include "wharf/wire/digest.h"

namespace wharf::cli {
namespace {

using multitask::Calibration;
using multitask::Networks;

constexpr const char* kBenchMultitaskFooter = R"(
Every frame of every video is shown to all systems at once; networks, trackers and accuracy models run for real on it.
Time is virtual: offloads and the flow of depth's accuracy model take what --latencies say (thesis: measured there;
thesis-5g and thesis-a40: derived from it; measured: what one core of this machine computes, without a link).

Systems     la (local algorithms only), rr, wrr X:Y (depth X times, odometry Y times), aao (all at once), accumo (model
            predictive control), accumo-published (the same with the lite network's drop estimated as in the thesis; the
            others' estimate is corrected by calibration); rr+local, rr+local-published and accumo-local are ablations,
            accumo+known is told depth's true drops instead of estimates, wrr 1:0 and wrr 0:1 are single tasks. +fusion
            behind any of them: between answers depth is warped and fused with the lite network's map.
Errors      depth: AbsRel; odometry: KITTI's t_err, over segments of 100 to 800 m, in proportion shorter for videos of
            less than 40 s; boxes: 1 - IoU. Overall: their mean by --weights. Spreads are standard deviations over videos.
Calibration AccuMO's accuracy models are told what --calibration says; --calibrate measures it anew, on videos of the
            calibration split, which are neither trained on nor reported.
--oracle    The truth stands in for the networks: no figure of such a run is a result.

Example: wharf bench multitask --videos 2 --seconds 20 --html multitask.html)";

constexpr const char* kMeasured = "measured";

struct BenchMultitaskOptions {
  std::string networks, calibration, calibrate, keep, json, html;
  std::vector<std::string> systems, weights, categories;
  std::string latencies = "thesis";
  int tasks = 2, first_video = 0, videos = scene::kVideosPerCategory, jobs = 1;
  double seconds = scene::World::kSeconds;
  bool oracle = false, links = false, markdown = false;
};

// Both loaded once, for all threads.
struct LoadedNetworks {
  std::unique_ptr<exec::Engine> engine;
  std::optional<perception::DepthNetwork> depth, lite;
  std::optional<perception::Detector> detector;
};

absl::Status Load(const std::string& folder, LoadedNetworks& networks) {
  networks.engine = exec::MakeTorchEngine({.threads = 1});
  WHARF_ASSIGN_OR_RETURN(networks.depth, perception::DepthNetwork::Load(*networks.engine, folder + "/depth.onnx", {}));
  WHARF_ASSIGN_OR_RETURN(networks.lite, perception::DepthNetwork::Load(*networks.engine, folder + "/lite.onnx", {}));
  WHARF_ASSIGN_OR_RETURN(networks.detector,
                         perception::Detector::Load(*networks.engine, folder + "/detector.onnx", {}));
  return absl::OkStatus();
}

multitask::DepthEstimator EstimatorOf(const perception::DepthNetwork& network) {
  return [&network](const multitask::FramePointer& frame) -> absl::StatusOr<multitask::DepthPointer> {
    WHARF_ASSIGN_OR_RETURN(scene::DepthMap depth, network.Estimate(frame->image));
    return std::make_shared<scene::DepthMap>(std::move(depth));
  };
}

Networks NetworksOf(const LoadedNetworks& loaded) {
  if (!loaded.depth.has_value()) return {};  // an oracle's run
  return {
      EstimatorOf(*loaded.depth), EstimatorOf(*loaded.lite),
      [&detector = *loaded.detector](const multitask::FramePointer& frame) { return detector.Detect(frame->image); }};
}

std::vector<std::string> LatencyNames() {
  std::vector<std::string> names = multitask::ProfileNames();
  names.emplace_back(kMeasured);
  return names;
}

absl::StatusOr<Weights> ParseWeights(const std::string& text, int tasks) {
  WHARF_ASSIGN_OR_RETURN(const multitask::Policy policy, multitask::ParsePolicy("wrr " + text, tasks));
  return Weights(policy.turns.begin(), policy.turns.end());
}

struct VideoJob {
  scene::Category category;
  int number = 0;
};

class BenchMultitask {
 public:
  explicit BenchMultitask(const BenchMultitaskOptions& options) : options_(options) {}

  absl::Status Run() {
    for (const std::string& path : {options_.json, options_.html, options_.calibrate}) {
      if (!path.empty()) WHARF_RETURN_IF_ERROR(CheckWritable(path));
    }
    if (!options_.oracle) WHARF_RETURN_IF_ERROR(Load(options_.networks, loaded_));
    for (const std::string& text : options_.weights) {
      WHARF_ASSIGN_OR_RETURN(Weights weights, ParseWeights(text, options_.tasks));
      weights_.push_back(std::move(weights));
    }
    // By number, so that an early end has something of each category.
    for (int number = options_.first_video; number < options_.first_video + options_.videos; ++number) {
      for (const std::string& name : options_.categories) {
        WHARF_ASSIGN_OR_RETURN(const scene::Category category, scene::ParseCategory(name));
        jobs_.push_back({category, number});
      }
    }
    return options_.calibrate.empty() ? Compare() : Calibrate();
  }

 private:
  int64_t Frames() const { return std::min(static_cast<int64_t>(options_.seconds * 60), scene::World::kFrames); }

  // Runs `work` for each job on as many threads as were asked for; the first failure ends it.
  template <typename Work>
  absl::Status ForEachVideo(scene::Split split, Work work) {
    Progress progress(jobs_.size());
    absl::Mutex mutex;
    absl::Status failed;
    std::atomic<size_t> next = 0;
    const auto run = [&] {
      for (size_t i = next++; i < jobs_.size(); i = next++) {
        absl::StatusOr<scene::Video> video = scene::FindVideo(jobs_[i].category, jobs_[i].number, split);
        {
          const absl::MutexLock lock(&mutex);
          if (!failed.ok()) return;
          progress.Step(fmt::format("{} video {}", scene::CategoryName(jobs_[i].category), jobs_[i].number));
        }
        absl::Status status = video.ok() ? work(i, *video) : video.status();
        const absl::MutexLock lock(&mutex);
        failed.Update(status);
      }
    };
    std::vector<std::thread> threads;
    for (int i = 1; i < options_.jobs; ++i) threads.emplace_back(run);
    run();
    for (std::thread& thread : threads) thread.join();
    return failed;
  }

  absl::Status Calibrate() {
    std::vector<multitask::CalibrationVideo> found(jobs_.size());
    WHARF_RETURN_IF_ERROR(
        ForEachVideo(scene::Split::kCalibration, [&](size_t i, const scene::Video& video) -> absl::Status {
          const scene::World world(video.seed, video.Options());
          WHARF_ASSIGN_OR_RETURN(
              found[i], multitask::Watch(world, NetworksOf(loaded_), {.frames = Frames(), .oracle = options_.oracle}));
          return absl::OkStatus();
        }));
    const std::string from = options_.first_video == 0 ? "" : fmt::format(" from number {} on", options_.first_video);
    const std::string source = fmt::format("{} calibration videos of each category{}, {:g} s{}", options_.videos, from,
                                           options_.seconds, options_.oracle ? ", oracle" : "");
    WHARF_ASSIGN_OR_RETURN(const Calibration calibration, multitask::Fit(found, source));
    std::fputs(calibration.Json().c_str(), stdout);
    if (const auto errors = multitask::CrossValidate(found); errors.ok())
      std::printf("The lite network's estimated drop is off by %.4f as published, by %.4f corrected.\n",
                  errors->published, errors->corrected);
    return WriteFile(options_.calibrate, calibration.Json());
  }

  absl::Status Compare() {
    const absl::StatusOr<std::string> text = ReadFile(options_.calibration);
    if (!text.ok()) return NotFound("{}: measure it with --calibrate", Message(text.status()));
    WHARF_ASSIGN_OR_RETURN(const Calibration calibration, Calibration::Parse(*text));
    WHARF_RETURN_IF_ERROR(MeasureHere());
    WHARF_RETURN_IF_ERROR(FindSystems());
    WHARF_ASSIGN_OR_RETURN(const std::string depended_on, DependedOn(calibration));
    const KeptVideos kept(options_.keep, depended_on);
    std::vector<MultitaskVideo> videos(jobs_.size());
    WHARF_RETURN_IF_ERROR(
        ForEachVideo(scene::Split::kEvaluation, [&](size_t i, const scene::Video& video) -> absl::Status {
          const std::string category = scene::CategoryName(jobs_[i].category);
          WHARF_ASSIGN_OR_RETURN(std::optional<MultitaskVideo> seen, kept.Find(category, video.seed));
          if (seen.has_value()) {
            videos[i] = *std::move(seen);
            return absl::OkStatus();
          }
          const scene::World world(video.seed, video.Options());
          const multitask::ExperimentOptions options{.frames = Frames(),
                                                     .tasks = options_.tasks,
                                                     .oracle = options_.oracle,
                                                     .timelines = i == TimelineVideo()};
          WHARF_ASSIGN_OR_RETURN(auto results,
                                 multitask::RunVideo(world, systems_, NetworksOf(loaded_), calibration, options));
          videos[i] = {category, video.seed, std::move(results)};
          return kept.Keep(videos[i]);
        }));
    return Show(Summarise(systems_, weights_, videos), videos, calibration);
  }

  // All that the scores of a video depend on.
  absl::StatusOr<std::string> DependedOn(const Calibration& calibration) const {
    std::string text = fmt::format("{} tasks, {} frames, oracle {}\n{}", options_.tasks, Frames(), options_.oracle,
                                   calibration.Json());
    for (const multitask::System& system : systems_) {
      text += fmt::format("{} {} {}", system.policy, WeightsText(system.weights), system.profile.name);
      for (const multitask::TaskLatency& task : system.profile.tasks)
        text += fmt::format(" {}:{}:{}", task.task, task.offload_ms, task.model_ms);
      text += "\n";
    }
    for (const char* network : {"depth", "lite", "detector"}) {
      if (options_.oracle) break;
      WHARF_ASSIGN_OR_RETURN(const std::string file, ReadFile(options_.networks + "/" + network + ".onnx"));
      text += wire::HexOf(wire::HashOf(std::as_bytes(std::span(file)))) + "\n";
    }
    return text;
  }

  // The first of the hardest category, as in Figure 2.15.
  size_t TimelineVideo() const { return options_.categories.size() - 1; }

  absl::Status FindSystems() {
    WHARF_ASSIGN_OR_RETURN(const multitask::OffloadProfile profile, Latencies());
    for (const std::string& policy : options_.systems) WHARF_RETURN_IF_ERROR(AddSystem(policy, profile));
    if (!options_.links) return absl::OkStatus();
    for (const std::string& name : multitask::ProfileNames()) {
      if (name == options_.latencies) continue;
      WHARF_ASSIGN_OR_RETURN(const multitask::OffloadProfile other, multitask::NamedProfile(name));
      for (const std::string& policy : options_.systems) {
        if (policy == "rr" || policy == "accumo" || policy == "accumo-published")
          WHARF_RETURN_IF_ERROR(AddSystem(policy, other));
      }
    }
    return absl::OkStatus();
  }

  absl::StatusOr<multitask::OffloadProfile> Latencies() const {
    if (options_.latencies == kMeasured) return times_.Profile();
    return multitask::NamedProfile(options_.latencies);
  }

  // Of every component, whatever latencies are used; the truth takes no time worth measuring.
  absl::Status MeasureHere() {
    if (options_.oracle) {
      if (options_.latencies == kMeasured) return InvalidArgument("an oracle's latencies cannot be measured");
      return absl::OkStatus();
    }
    WHARF_ASSIGN_OR_RETURN(const scene::Video video,
                           scene::FindVideo(jobs_[0].category, jobs_[0].number, scene::Split::kCalibration));
    const scene::World world(video.seed, video.Options());
    const multitask::ExperimentOptions sizes;
    WHARF_ASSIGN_OR_RETURN(times_, multitask::MeasureComponents(world, NetworksOf(loaded_), sizes.width, sizes.height,
                                                                Clock::OfProcess()));
    return absl::OkStatus();
  }

  absl::Status AddSystem(const std::string& name, const multitask::OffloadProfile& profile) {
    WHARF_ASSIGN_OR_RETURN(const multitask::SystemPolicy parsed, multitask::ParseSystemPolicy(name, options_.tasks));
    if (parsed.policy.mode != multitask::Mode::kPredictive) {
      systems_.push_back({name, {}, profile});
      return absl::OkStatus();
    }
    // Ablations, and other networks, at equal weights only, as in the thesis.
    const Weights equal(options_.tasks, 1);
    const bool all = parsed.policy.local_algorithms && !parsed.depth_known && profile.name == options_.latencies;
    for (const Weights& weights : all ? weights_ : std::vector<Weights>{equal})
      systems_.push_back({name, weights, profile});
    return absl::OkStatus();
  }

  std::string Conditions(const Calibration& calibration, const std::vector<MultitaskRow>& rows) const {
    const multitask::OffloadProfile& profile = systems_.front().profile;
    std::string text = fmt::format(
        "{} videos a category from number {} on, {:g} s each; latencies {}: {}; calibrated on {}.", options_.videos,
        options_.first_video, options_.seconds, profile.name, profile.source, calibration.source);
    if (options_.oracle) text = "ORACLE: the truth stood in for the networks; these are no results. " + text;
    if (rows.empty()) text += " No systems.";
    return text;
  }

  absl::Status Show(const std::vector<MultitaskRow>& rows, const std::vector<MultitaskVideo>& videos,
                    const Calibration& calibration) const {
    const std::string conditions = Conditions(calibration, rows);
    std::printf("%s\n", conditions.c_str());
    report::HtmlPage page("Several tasks of one AR client",
                          report::RunRecord::OfThisProcess(fmt::format("{} videos of {:g} s, each seen by every system",
                                                                       videos.size(), options_.seconds)));
    page.AddParagraph(conditions);
    std::vector<TitledTable> tables = MultitaskTables(rows, weights_);
    if (!options_.oracle) tables.push_back(TimesTable(times_));
    for (const TitledTable& one : tables) {
      std::printf("\n%s\n\n%s", one.title.c_str(),
                  options_.markdown ? one.table.Markdown().c_str() : one.table.Text().c_str());
      page.AddHeading(one.title);
      page.AddTable(one.table);
    }
    if (!options_.json.empty()) WHARF_RETURN_IF_ERROR(WriteFile(options_.json, RowsAsJson(rows, options_.oracle)));
    if (options_.html.empty()) return absl::OkStatus();
    AddOverallCharts(rows, weights_, page);
    if (!videos[TimelineVideo()].results.front().timeline.abs_rel.empty())  // kept ones have none
      AddTimelineOf(videos[TimelineVideo()], page);
    return WriteFile(options_.html, page.Text());
  }

  void AddTimelineOf(const MultitaskVideo& video, report::HtmlPage& page) const {
    const multitask::Timeline* accumo = nullptr;
    std::vector<NamedTimeline> others;
    for (size_t i = 0; i < systems_.size(); ++i) {
      const std::string& policy = systems_[i].policy;
      const bool known = std::ranges::any_of(others, [&](const NamedTimeline& one) { return one.system == policy; });
      if ((policy == "rr" || policy == "la") && !known) others.push_back({policy, &video.results[i].timeline});
      const bool equal = systems_[i].weights == Weights(options_.tasks, 1);
      if (systems_[i].policy == "accumo" && equal && accumo == nullptr) accumo = &video.results[i].timeline;
    }
    if (accumo == nullptr || others.empty()) return;
    AddTimelines(fmt::format("{} video of seed {} under AccuMO, weights 1:1 (Figure 2.15)", video.category, video.seed),
                 *accumo, others, page);
  }

  const BenchMultitaskOptions& options_;
  LoadedNetworks loaded_;
  std::vector<Weights> weights_;
  std::vector<VideoJob> jobs_;
  std::vector<multitask::System> systems_;
  multitask::ComponentTimes times_;
};

void SetDefaults(BenchMultitaskOptions& options) {
  const bool three = options.tasks == 3;
  if (options.systems.empty()) {
    options.systems = {"la",           "rr",           "wrr 3:1", "wrr 2:1",          "wrr 1:2",
                       "wrr 1:3",      "aao",          "accumo",  "accumo-published", "rr+local",
                       "accumo-local", "accumo+known", "wrr 1:0", "wrr 0:1"};
    if (three) options.systems = {"la", "rr", "wrr 2:1:1", "wrr 1:2:1", "wrr 1:1:2", "aao", "accumo"};
  }
  if (options.weights.empty()) {
    options.weights = {"4:1", "2:1", "1:1", "1:2", "1:4"};
    if (three) options.weights = {"1:1:1", "2:1:1", "1:2:1", "1:1:2"};
  }
  if (options.categories.empty()) {
    for (const scene::Category& category : scene::kCategories)
      options.categories.push_back(scene::CategoryName(category));
  }
  if (options.calibration.empty())
    options.calibration = options.networks + (options.oracle ? "/accumo_oracle.json" : "/accumo.json");
}

}  // namespace

void AddBenchMultitaskCommand(CLI::App& app) {
  CLI::App* command = BenchCommand(app).add_subcommand(
      "multitask", "One AR client that offloads several tasks: AccuMO beside static schedules.");
  command->footer(kBenchMultitaskFooter);
  auto options = std::make_shared<BenchMultitaskOptions>();
  AddNetworksOption(command, options->networks);
  command->add_option("--videos", options->videos, "Of each category")
      ->check(CLI::Range(1, scene::kVideosPerCategory))
      ->capture_default_str();
  command->add_option("--first-video", options->first_video, "The number of the first of them")
      ->check(CLI::Range(0, scene::kVideosPerCategory - 1))
      ->capture_default_str();
  command->add_option("--seconds", options->seconds, "Of each video")
      ->check(CLI::Range(2.0, double{scene::World::kSeconds}))
      ->capture_default_str();
  command->add_option("--jobs", options->jobs, "Videos at a time")->check(CLI::Range(1, 256))->capture_default_str();
  command->add_option("--tasks", options->tasks, "2: depth and odometry; 3: and boxes")
      ->check(CLI::Range(2, 3))
      ->capture_default_str();
  command->add_option("--systems", options->systems, "Separated by commas; default: all")->delimiter(',');
  command->add_option("--weights", options->weights, "Of the tasks' errors, separated by commas")
      ->delimiter(',')
      ->default_str("4:1,2:1,1:1,1:2,1:4");
  command->add_option("--categories", options->categories, "Of L/L, L/H, H/L, H/H, separated by commas; default: all")
      ->delimiter(',');
  command->add_option("--latencies", options->latencies, "What offloads take")
      ->check(CLI::IsMember(LatencyNames()))
      ->capture_default_str();
  command->add_flag("--links", options->links,
                    "Of the systems, round-robin and AccuMO under the other latencies as well (Table 2.5)");
  command->add_option("--calibration", options->calibration, "Default: accumo.json beside the networks")
      ->type_name("FILE");
  command
      ->add_option("--calibrate", options->calibrate,
                   "Only calibrate, on --videos of the calibration split, into this file")
      ->type_name("FILE");
  command->add_flag("--oracle", options->oracle, "The truth instead of networks: for trying things out");
  command
      ->add_option("--keep", options->keep,
                   "Keep each video's scores here, and take those that an earlier run has kept")
      ->type_name("FOLDER")
      ->check(CLI::ExistingDirectory);
  command->add_option("--json", options->json, "Write the rows here")->type_name("FILE");
  command->add_option("--html", options->html, "Write tables and plots here")->type_name("FILE");
  command->add_flag("--markdown", options->markdown, "Print Markdown tables");
  command->callback([options] {
    SetDefaults(*options);
    if (const absl::Status status = BenchMultitask(*options).Run(); !status.ok()) Fail(status);
  });
}

}  // namespace wharf::cli
