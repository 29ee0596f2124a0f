// wharf bench serving: ARISE and what it is compared with, many emulated clients on one server (thesis, chapter 3).
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "wharf/cli/ar/networks.h"
#include "wharf/cli/bench/common/progress.h"
#include "wharf/cli/bench/serving/drops.h"
#include "wharf/cli/bench/serving/exec.h"
#include "wharf/cli/bench/serving/report.h"
#include "wharf/cli/common/bench_command.h"
#include "wharf/cli/common/commands.h"
#include "wharf/cli/common/files.h"
#include "wharf/cli/common/shared_data.h"
#include "wharf/perception/latency_profile.h"
#include "wharf/pipeline/model_profile.h"

namespace wharf::cli {
namespace {

using serving::System;

constexpr const char* kBenchServingFooter = R"(
Clients are emulated in virtual time: their cameras, links and schedules one by one; what their trackers lose is looked
up in tables that wharf ar drop-table makes of real networks and trackers. The scheduler is the one that serves for
real. The engine takes the times of --profile: a file of wharf ar latency --json, or GPU:MODEL of the measured block
times in data/pipeline (V100:fcn, if nothing is said, stands in for a depth network, V100:rtmdet for a detector). All
clients of a run are modelled by that.

Systems     static (interval, batch and number of clients by pilot search), clipper (dynamic batching, interval by pilot
            search), chameleon (dynamic interval, no batching), arise-alpha (both, uncoordinated), arise. Beside them:
            clipper-tolerant, chameleon-tolerant, arise-alpha-tolerant, stronger than the thesis's, which remove a client
            only if it would miss its SLA by waiting; static-refusing, clipper-refusing, which refuse whom their
            settings do not suit; arise-plain, without what we added to the thesis's scheduler; arise-memoryless, whose
            clients' losses so far change nothing; arise-published-rate, with the thesis's estimate of drop rates.
Sessions    begin at 10 a second and replay a video each, from beginning to end; the server takes the newest first, and
            another one without limits serves who does not fit. Drops are from the reference: a server of one's own.
Measure     network: what is shown against what the network finds in the same frame, which is what clients can measure
            and what SLAs are agreed on (thesis, Figure 3.8). truth: how much farther from the truth that is.
within SLA  of the clients, those whose mean drop while they are served is within their SLAs.
bound       as many such clients as an engine could serve that is never idle or waited for, in batches of the best size.
Figures     3.13 to 3.22 are of clients on a server. 2.2, 3.2, 3.7 and 3.8 are of the depth tables alone: what strides, or
            intervals and latencies, cost in an easy and a hard piece of video, and how that varies by frame.
--real      takes as long as it says: the scheduler works by the clock of this machine. Links are emulated all the same,
            and the engine's times are unless --engine exec says that it computes them: all that a server does for a
            batch, from JPEGs of the videos to coded results, on one thread. Its profile is then measured beforehand.

Example: wharf ar drop-table --output tables && wharf bench serving --drop-tables tables --html serving.html)";

struct BenchServingOptions {
  std::string drop_tables, detection_tables, profile, detection_profile, data, json, html;
  std::string measure = "network", engine = "emulated";
  bool quick = false, markdown = false;
  ExecOptions exec;
  std::vector<std::string> figures = {"3.13", "3.15", "3.16", "3.22"}, systems;
  ServingBenchOptions bench;
};

absl::StatusOr<std::vector<serving::DropTable>> LoadTables(const std::string& folder) {
  std::vector<std::string> paths;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".drop") paths.push_back(entry.path().string());
  }
  if (error || paths.empty()) return NotFound("{}: no drop tables there: make some with wharf ar drop-table", folder);
  std::sort(paths.begin(), paths.end());
  std::vector<serving::DropTable> tables;
  for (const std::string& path : paths) {
    WHARF_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path));
    auto table = serving::DropTable::Parse(std::as_bytes(std::span(bytes)));
    if (!table.ok()) return InvalidArgument("{}: {}", path, Message(table.status()));
    if (table->data().frames < 2 * table->data().fps) return InvalidArgument("{}: less than 2 s of video", path);
    tables.push_back(*std::move(table));
  }
  return tables;
}

// Of a whole model on a whole GPU: the sum of its blocks' times.
absl::StatusOr<serving::InferenceProfile> ProfileOfBlocks(const std::string& gpu, const std::string& model,
                                                          const std::string& data) {
  std::string folder = data;
  if (folder.empty()) {
    WHARF_ASSIGN_OR_RETURN(folder, FindSharedData("pipeline", "--data"));
  }
  WHARF_ASSIGN_OR_RETURN(const std::vector<pipeline::ModelProfile> profiles, pipeline::LoadModelProfiles(folder));
  for (const pipeline::ModelProfile& profile : profiles) {
    const pipeline::VgpuProfile* whole = profile.Find(gpu, 1);
    if (profile.model.find(model) == std::string::npos || whole == nullptr) continue;
    std::map<int, double> batch_ms;
    for (int batch = 1; batch <= whole->MaxBatch(); ++batch) {
      batch_ms[batch] = whole->LatencyUs(batch, 0, profile.Blocks()) / 1e3;
    }
    return serving::InferenceProfile::Make(fmt::format("{} on {}, sum of measured blocks", profile.model, gpu),
                                           batch_ms);
  }
  return NotFound("{} has no model \"{}\" measured on a {}", folder, model, gpu);
}

absl::StatusOr<serving::InferenceProfile> LoadProfile(const std::string& spec, const std::string& data) {
  const size_t colon = spec.find(':');
  if (colon != std::string::npos) return ProfileOfBlocks(spec.substr(0, colon), spec.substr(colon + 1), data);
  WHARF_ASSIGN_OR_RETURN(const std::string text, ReadFile(spec));
  WHARF_ASSIGN_OR_RETURN(const perception::LatencyProfile measured, perception::ParseLatencyProfile(text));
  std::map<int, double> batch_ms;
  for (const perception::BatchLatency& one : measured.batches) batch_ms[one.batch] = one.ms;
  return serving::InferenceProfile::Make(fmt::format("{} on {}", measured.network, measured.machine), batch_ms);
}

std::vector<ServingCase> CasesOf(const BenchServingOptions& options, const std::vector<System>& systems) {
  std::vector<ServingCase> cases;
  const auto add = [&](const ServingCase& one) {
    if (std::count(options.figures.begin(), options.figures.end(), one.figure) > 0) cases.push_back(one);
  };
  for (const double sla : {0.02, 0.04, 0.06}) {
    add({.figure = "3.13", .sla_from = sla, .sla_to = sla, .systems = systems});
    if (options.quick) return cases;
  }
  add({.figure = "3.13", .sla_from = 0.02, .sla_to = 0.06, .systems = systems});
  for (const char* videos : {"hard", "easy", "all"}) {
    add({.figure = "3.15", .videos = videos, .sla_from = 0.02, .sla_to = 0.06, .systems = {System::kArise}});
  }
  add({.figure = "3.16", .link = serving::kLte, .systems = systems});
  if (!options.detection_tables.empty()) {
    add({.figure = "3.22", .task = "detection", .sla_from = 0.2, .sla_to = 0.2, .systems = systems});
  }
  return cases;
}

absl::StatusOr<std::vector<System>> SystemsOf(const std::vector<std::string>& names) {
  std::vector<System> systems;
  for (const std::string& name : names) {
    const auto system = serving::SystemByName(name);
    if (!system) return InvalidArgument("there is no system \"{}\"", name);
    systems.push_back(*system);
  }
  if (!systems.empty()) return systems;
  systems.assign(std::begin(serving::kSystems), std::end(serving::kSystems));
  systems.insert(systems.end(), std::begin(serving::kVariants), std::end(serving::kVariants));
  return systems;
}

// One task's: its tables, what runs its network, and its network's times.
struct Task {
  std::vector<serving::DropTable> tables;
  std::unique_ptr<ServingExec> exec;  // null: emulated
  std::optional<serving::InferenceProfile> profile;

  static absl::StatusOr<Task> Load(const std::string& name, const std::string& tables, const std::string& profile,
                                   const BenchServingOptions& options) {
    Task task;
    WHARF_ASSIGN_OR_RETURN(task.tables, LoadTables(tables));
    if (options.engine == "exec") {
      WHARF_ASSIGN_OR_RETURN(task.exec, ServingExec::Load(name, task.tables, options.exec));
    }
    if (!profile.empty()) {
      WHARF_ASSIGN_OR_RETURN(task.profile, LoadProfile(profile, options.data));
    } else if (task.exec != nullptr) {
      WHARF_ASSIGN_OR_RETURN(task.profile, task.exec->Profile());
    } else {
      WHARF_ASSIGN_OR_RETURN(task.profile, LoadProfile(name == "depth" ? "V100:fcn" : "V100:rtmdet", options.data));
    }
    return task;
  }
};

absl::StatusOr<std::vector<ServingRow>> RunCases(const BenchServingOptions& options) {
  WHARF_ASSIGN_OR_RETURN(const std::vector<System> systems, SystemsOf(options.systems));
  const std::vector<ServingCase> cases = CasesOf(options, systems);
  if (cases.empty()) return std::vector<ServingRow>();
  WHARF_ASSIGN_OR_RETURN(const Task depth, Task::Load("depth", options.drop_tables, options.profile, options));
  Task detection;
  if (!options.detection_tables.empty()) {
    WHARF_ASSIGN_OR_RETURN(detection,
                           Task::Load("detection", options.detection_tables, options.detection_profile, options));
  }
  size_t steps = 0;
  for (const ServingCase& one : cases) steps += one.systems.size();
  Progress progress(steps * options.bench.seeds);
  std::vector<ServingRow> rows;
  for (const ServingCase& one : cases) {
    const Task& task = one.task == "depth" ? depth : detection;
    const auto tables = one.videos == "all" ? task.tables : HalfByDropRate(task.tables, one.videos == "hard");
    if (tables.empty()) return FailedPrecondition("too few videos to tell {} ones", one.videos);
    ServingBenchOptions bench = options.bench;
    if (task.exec != nullptr) bench.engine = &task.exec->engine();
    WHARF_ASSIGN_OR_RETURN(auto more, RunServingCase(one, tables, *task.profile, bench,
                                                     [&](const std::string& what) { progress.Step(what); }));
    rows.insert(rows.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  }
  return rows;
}

// The figures that are of tables alone.
const std::map<std::string, std::string> kDropFigures = {{"2.2", "What stride 12 loses more than stride 6"},
                                                         {"3.2", "Drop by interval and latency"},
                                                         {"3.7", "Drop from the reference by frame, interval 8"},
                                                         {"3.8", "What tracking costs by stride"}};

// Those of them that are asked for, with their titles.
absl::StatusOr<std::vector<std::pair<std::string, report::Table>>> DropTablesOf(const BenchServingOptions& options,
                                                                                report::HtmlPage& page) {
  std::vector<std::pair<std::string, report::Table>> made;
  const auto wants = [&](const std::string& figure) { return std::ranges::count(options.figures, figure) > 0; };
  if (std::ranges::none_of(kDropFigures, [&](const auto& one) { return wants(one.first); })) return made;
  WHARF_ASSIGN_OR_RETURN(const std::vector<serving::DropTable> tables, LoadTables(options.drop_tables));
  const bool too_short = std::ranges::any_of(
      tables, [](const auto& table) { return table.data().frames < 2 * kPieceSeconds * table.data().fps; });
  if (too_short)
    return FailedPrecondition("{}: a video of less than 4 s says nothing of pieces of 2 s", options.drop_tables);
  WHARF_ASSIGN_OR_RETURN(const serving::InferenceProfile profile,
                         LoadProfile(options.profile.empty() ? "V100:fcn" : options.profile, options.data));
  const serving::Measure measure = options.bench.measure;
  for (const auto& [figure, title] : kDropFigures) {
    if (!wants(figure)) continue;
    made.emplace_back(fmt::format("Figure {}: {}", figure, title),
                      figure == "2.2"   ? DropsByMoreStrideTable(tables)
                      : figure == "3.2" ? DropsByScheduleTable(tables, measure)
                      : figure == "3.7" ? DropsByFrameTable(tables, profile, serving::kMmWave, measure)
                                        : DropsByStrideTable(tables, measure));
  }
  AddDropCharts(tables, profile, serving::kMmWave, measure, page);
  return made;
}

absl::Status BenchServing(BenchServingOptions options) {
  for (const std::string& path : {options.json, options.html}) {
    if (!path.empty()) WHARF_RETURN_IF_ERROR(CheckWritable(path));
  }
  if (options.engine == "exec" && !options.bench.real) return InvalidArgument("--engine exec needs --real");
  if (options.quick) {
    options.bench.seconds = 60;
    options.bench.pilot_seconds = 30;
    options.bench.seeds = 1;
  }
  options.bench.measure = options.measure == "truth" ? serving::Measure::kTruth : serving::Measure::kNetwork;
  WHARF_ASSIGN_OR_RETURN(const std::vector<ServingRow> rows, RunCases(options));
  report::HtmlPage page(
      "Many AR clients on one server: emulated",
      report::RunRecord::OfThisProcess(fmt::format("{} rows, each from {} runs of {:g} emulated seconds", rows.size(),
                                                   options.bench.seeds, options.bench.seconds)));
  WHARF_ASSIGN_OR_RETURN(auto tables, DropTablesOf(options, page));
  if (!rows.empty()) {
    page.AddParagraph("Engine: " + rows.front().profile + ". Clients are emulated; see docs/serving.md.");
    AddServingCharts(rows, page);
    tables.emplace_back("Clients", ServingClientsTable(rows));
    tables.emplace_back("How well plans and estimates hold", ServingQualityTable(rows));
    tables.emplace_back("How many kept their agreements, over all seeds", ServingAdherenceTable(rows));
    tables.emplace_back("How drops and errors of estimates are distributed", ServingDistributionsTable(rows));
  }
  for (const auto& [title, table] : tables) {
    std::printf("%s\n", (options.markdown ? table.Markdown() : table.Text()).c_str());
    page.AddHeading(title);
    page.AddTable(table);
  }
  if (!options.json.empty()) WHARF_RETURN_IF_ERROR(WriteFile(options.json, ServingRowsAsJson(rows)));
  return options.html.empty() ? absl::OkStatus() : WriteFile(options.html, page.Text());
}

}  // namespace

void AddBenchServingCommand(CLI::App& app) {
  CLI::App* command =
      BenchCommand(app).add_subcommand("serving", "Many AR clients on one server: ARISE beside its baselines.");
  command->footer(kBenchServingFooter);
  auto options = std::make_shared<BenchServingOptions>();
  command->add_option("--drop-tables", options->drop_tables, "Of depth: *.drop")->type_name("DIR")->required();
  command->add_option("--detection-tables", options->detection_tables, "Of detection, for Figure 3.22")
      ->type_name("DIR");
  command->add_option("--profile", options->profile, "How long batches of the depth network take")
      ->type_name("FILE|GPU:MODEL");
  command->add_option("--detection-profile", options->detection_profile, "The same of the detector")
      ->type_name("FILE|GPU:MODEL");
  command->add_option("--data", options->data, "Where block_latency.csv and block_output_bytes.csv are")
      ->type_name("DIR");
  command->add_option("--figures", options->figures, "Which, separated by commas")
      ->delimiter(',')
      ->check(CLI::IsMember({"2.2", "3.2", "3.7", "3.8", "3.13", "3.15", "3.16", "3.22"}))
      ->capture_default_str();
  command->add_option("--systems", options->systems, "Which, separated by commas")->delimiter(',');
  command->add_option("--seconds", options->bench.seconds, "Emulated for each seed")
      ->check(CLI::Range(15.0, 1e5))
      ->capture_default_str();
  command->add_option("--pilot-seconds", options->bench.pilot_seconds, "Emulated for each try of the pilot searches")
      ->check(CLI::Range(15.0, 1e5))
      ->capture_default_str();
  command->add_option("--seeds", options->bench.seeds, "Runs of each system and setting")
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
  command->add_option("--arrivals", options->bench.arrivals_per_s, "Sessions that begin in a second")
      ->check(CLI::Range(0.01, 1000.0))
      ->capture_default_str();
  command->add_option("--measure", options->measure, "What a drop is: network or truth")
      ->check(CLI::IsMember({"network", "truth"}))
      ->capture_default_str();
  command
      ->add_option("--adherence", options->bench.adherence,
                   "Compare at the same share of clients within their SLAs: pilots find the most clients of whom so "
                   "many keep theirs, and how much of the SLAs to tell each system for it; 0: the most that do")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  command->add_flag("--real", options->bench.real, "By the clock of this machine; pilots are not");
  command->add_option("--engine", options->engine, "emulated or, with --real, exec: computes batches on this machine")
      ->check(CLI::IsMember({"emulated", "exec"}))
      ->capture_default_str();
  AddNetworksOption(command, options->exec.networks);
  command->add_option("--largest-batch", options->exec.largest_batch, "Pictures that exec runs at once")
      ->check(CLI::Range(1, perception::kLargestBatch))
      ->capture_default_str();
  command->add_flag("--quick", options->quick, "One SLA, 60 s, one seed");
  command->add_option("--json", options->json, "Write the rows here")->type_name("FILE");
  command->add_option("--html", options->html, "Write tables and plots here")->type_name("FILE");
  command->add_flag("--markdown", options->markdown, "Print Markdown tables");
  command->callback([options] {
    if (const absl::Status status = BenchServing(*options); !status.ok()) Fail(status);
  });
}

}  // namespace wharf::cli
