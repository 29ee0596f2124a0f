// wharf bench offload: what offloading costs, by mode and link.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>

#include "wharf/cli/bench/common/cores.h"
#include "wharf/cli/bench/common/progress.h"
#include "wharf/cli/bench/offload/model.h"
#include "wharf/cli/bench/offload/programs.h"
#include "wharf/cli/bench/offload/report.h"
#include "wharf/cli/bench/offload/run.h"
#include "wharf/cli/common/bench_command.h"
#include "wharf/cli/common/commands.h"
#include "wharf/cli/common/files.h"
#include "wharf/cli/common/option_types.h"
#include "wharf/cli/offload/local_server.h"
#include "wharf/link/byte_stream.h"
#include "wharf/link/emulation/emulator.h"

namespace wharf::cli {
namespace {

constexpr const char* kBenchOffloadFooter = R"(
Each figure comes from two runs, N inferences apart, so loading and warming up do not count. What is measured begins at the
start of the trace in every run. A machine is not equally fast all the time: with --rounds the modes of a link take turns.

Programs   pose     examples/cuda_pose: the same calls in every inference; about a picture that moves with -- --sway (24 pictures
                    that come again) or -- --wander (none does)
           decode   examples/cuda_decode: other calls in every inference
           pytorch:MODEL  a model of torchvision, encoder or lstm, by the PyTorch of --python: examples/pytorch. On a
                    software device it wants a --kernel-pack
           FILE     any CUDA program that takes --inferences N and --json FILE (which gets {"latency_ms": [...]})
Modes      device_only (or local)  on this machine's device, no link
           percall  every CUDA call is one round trip, as per-call remoting does it: slow, so at most 2 inferences
           cached   the same, with the getters answered locally: at most 5 inferences
           posted   one way unless an answer is needed
           replay   what the server knows from earlier inferences it runs by itself; wrong guesses are undone
           replay_speculative  replay as published. Unsafe: wrong guesses are not undone
           partition  the sequence is cut between a device here, of one CPU thread, and the server's
           NAME_plain  with --compression both: that mode with data that travel as they are
           native   pose and pytorch: offloaded by hand (such as pose_server, pose_client), input up and results down: the
                    yardstick
Scenarios  indoors, outdoors: measured Wi-Fi to a moving robot (traces indoors_a and outdoors_a)
           fixed: 93 Mbit/s. All with --rtt.
           NAME: the trace NAME.csv (there are indoors_b, outdoors_b and outdoors_c as well), or its FILE

The device's processes get half of the cores and everything else the other half, as if they were two machines, unless
--shared-cores. "× native" is the median beside native's. "link limit" is what these bytes and one round trip take on
the link alone. "predicted" is the share of the operations for the server that it predicted. The energy is modelled with
the power states of a Jetson Xavier NX (13.35 W inference, 4.25 W communication, 4.04 W standby):
docs/benchmarks/offload.md says how.)";

constexpr double kFixedBitsPerSecond = 93e6;
constexpr const char* kNoLink = "none";

struct BenchOptions {
  ProgramChoice program;
  std::string traces, server, json, plot, html;
  std::vector<std::string> modes;  // empty: all that the program has
  std::vector<std::string> scenarios = {"indoors", "outdoors", "fixed"};
  int inferences = 20, rounds = 1, programs = 1;
  Nanoseconds round_trip = std::chrono::microseconds(2600);
  std::string device = "auto";
  std::vector<std::string> kernel_packs;
  int threads = 0;
  bool shared_cores = false;
  std::string compression = "auto";
  bool markdown = false;
};

// Those that were asked for, else all that the program has.
absl::StatusOr<std::vector<BenchMode>> ModesOf(const BenchOptions& options, const MeasuredProgram& program) {
  const bool by_hand = !program.native_server.empty() && options.server.empty() && options.programs == 1;
  std::vector<BenchMode> modes;
  for (const BenchMode& mode : BenchModes()) {
    if (mode.way == BenchMode::Way::kByHand && !by_hand) continue;
    if (options.modes.empty()) modes.push_back(mode);
  }
  for (const std::string& name : options.modes) {
    WHARF_ASSIGN_OR_RETURN(BenchMode mode, FindBenchMode(name));
    if (mode.way == BenchMode::Way::kByHand && !by_hand) {
      return InvalidArgument(
          "{} is for one --program pose or pytorch:MODEL on this machine's own server: leave out --server and "
          "--programs",
          name);
    }
    modes.push_back(std::move(mode));
  }
  return modes;
}

// As they are, without compression, or both, one after the other. The baseline of the papers never compresses.
std::vector<BenchMode> WithCompression(const std::string& compression, std::vector<BenchMode> modes) {
  std::vector<BenchMode> chosen;
  for (BenchMode& mode : modes) {
    const bool compresses = mode.way == BenchMode::Way::kLink && mode.name != "percall";
    if (!compresses || compression != "off") chosen.push_back(mode);
    if (!compresses || compression == "auto") continue;
    mode.options.insert(mode.options.end(), {"--compression", "off"});
    if (compression == "both") mode.name += "_plain";
    chosen.push_back(std::move(mode));
  }
  return chosen;
}

struct LinkScenario {
  Scenario scenario;
  link::LinkProfile profile;
};

absl::StatusOr<std::string> FindTrace(const std::string& name, const BenchOptions& options) {
  if (name.ends_with(".csv")) return name;
  const std::string file = (name == "indoors" || name == "outdoors" ? name + "_a" : name) + ".csv";
  if (!options.traces.empty()) return options.traces + "/" + file;
  return FindFile({"../share/wharf/traces/" + file, "../../../data/traces/" + file, "data/traces/" + file},
                  "the trace " + file, "--traces");
}

absl::StatusOr<LinkScenario> MakeScenario(const std::string& name, const BenchOptions& options) {
  LinkScenario made;
  link::BandwidthTrace& trace = made.profile.trace;
  if (name == "fixed") {
    trace = link::BandwidthTrace::Constant(kFixedBitsPerSecond);
  } else {
    WHARF_ASSIGN_OR_RETURN(const std::string path, FindTrace(name, options));
    WHARF_ASSIGN_OR_RETURN(trace, link::BandwidthTrace::Load(path));
  }
  double sum = 0;
  for (double rate : trace.bits_per_second) sum += rate;
  made.profile.round_trip = options.round_trip;
  made.scenario = {name, sum / static_cast<double>(trace.bits_per_second.size()), options.round_trip};
  return made;
}

struct BenchResult {
  std::vector<BenchRow> rows;
  std::optional<CallStages> stages;  // if device_only ran, and the program can load without an inference
};

class OffloadBench {
 public:
  explicit OffloadBench(const BenchOptions& options)
      : options_(options), cores_(options.shared_cores ? ShareCores() : HalveCores()), on_cores_(cores_.client) {}

  absl::Status Prepare() {
    WHARF_ASSIGN_OR_RETURN(program_, FindBenchProgram(options_.program));
    WHARF_ASSIGN_OR_RETURN(modes_, ModesOf(options_, program_));
    modes_ = WithCompression(options_.compression, std::move(modes_));
    WHARF_ASSIGN_OR_RETURN(scratch_, ScratchDirectory::Make());
    for (const std::string& name : options_.scenarios) {
      WHARF_ASSIGN_OR_RETURN(LinkScenario scenario, MakeScenario(name, options_));
      scenarios_.push_back(std::move(scenario));
    }
    if (options_.server.empty()) {
      WHARF_ASSIGN_OR_RETURN(server_, StartServer());
      target_ = server_->Address();
    } else {
      target_ = options_.server;
      WHARF_RETURN_IF_ERROR(link::Connect(target_, {}).status());
    }
    return program_.waits ? absl::OkStatus() : TryProgram();
  }

  absl::StatusOr<BenchResult> Run() {
    std::vector<const BenchMode*> linked;
    for (const BenchMode& mode : modes_) {
      if (!IsWithoutLink(mode)) linked.push_back(&mode);
    }
    const size_t steps = linked.size() * scenarios_.size() * static_cast<size_t>(options_.rounds);
    Progress progress(modes_.size() - linked.size() + steps);
    for (const BenchMode& mode : modes_) {
      if (!IsWithoutLink(mode)) continue;
      progress.Step(mode.name);
      WHARF_RETURN_IF_ERROR(RunWithoutLink(mode));
    }
    for (const LinkScenario& scenario : scenarios_) {
      WHARF_RETURN_IF_ERROR(RunInTurns(linked, scenario, progress));
    }
    CompareWithNative(result_.rows);
    return std::move(result_);
  }

 private:
  // Whether a user's program does what is wanted of it: one inference, before minutes are measured.
  absl::Status TryProgram() const {
    const auto run = RunMeasured(program_, target_, {}, {.inferences = 1}, *scratch_);
    if (run.ok() && run->latencies_ms.size() == 1) return absl::OkStatus();
    return FailedPrecondition(
        "{} with --inferences 1 --json FILE must make one inference and write {{\"latency_ms\": [ms]}} there: {}",
        program_.path,
        run.ok() ? fmt::format("it wrote {} times", run->latencies_ms.size()) : std::string(Message(run.status())));
  }

  static bool IsWithoutLink(const BenchMode& mode) { return mode.way == BenchMode::Way::kNoLink; }

  std::vector<std::string> DeviceOptions() const {
    const int threads = options_.threads != 0 ? options_.threads : cores_.device_cores;
    std::vector<std::string> words = {"--device", options_.device, "--threads", fmt::format("{}", threads)};
    for (const std::string& pack : options_.kernel_packs) words.insert(words.end(), {"--kernel-pack", pack});
    return words;
  }

  absl::StatusOr<std::unique_ptr<LocalServer>> StartServer() const {
    const OnCores of_server(cores_.device);
    return LocalServer::Start(DeviceOptions());
  }

  // Always this machine's own device, also where the links lead to another server.
  absl::Status RunWithoutLink(const BenchMode& mode) {
    std::unique_ptr<LocalServer> own;
    std::string address = target_;
    if (server_ == nullptr) {
      WHARF_ASSIGN_OR_RETURN(own, StartServer());
      address = own->Address();
    }
    const auto run = [&](const RunPlan& plan) {
      return RunTogether(program_, address, mode.options, plan, options_.programs);
    };
    WHARF_ASSIGN_OR_RETURN(const std::vector<MeasuredRound> rounds, Measure(mode, run));
    if (program_.waits) {
      WHARF_ASSIGN_OR_RETURN(const std::vector<ProgramRun> none, run({}));
      WHARF_ASSIGN_OR_RETURN(const std::vector<ProgramRun> one, run({.inferences = 1, .warm_up = 1}));
      result_.stages = StagesOfCalls(none[0], one[0], rounds[0].warm, rounds[0].all);
    }
    return AddRow(mode, rounds, {kNoLink, 0, Nanoseconds{0}});
  }

  absl::Status RunInTurns(const std::vector<const BenchMode*>& modes, const LinkScenario& scenario,
                          Progress& progress) {
    std::vector<std::vector<MeasuredRound>> rounds(modes.size());
    for (int turn = 0; turn < options_.rounds; ++turn) {
      for (size_t i = 0; i < modes.size(); ++i) {
        progress.Step(fmt::format("{}, {}", scenario.scenario.name, modes[i]->name));
        WHARF_ASSIGN_OR_RETURN(const std::vector<MeasuredRound> of_each, RunLinked(*modes[i], scenario));
        rounds[i].insert(rounds[i].end(), of_each.begin(), of_each.end());
      }
    }
    for (size_t i = 0; i < modes.size(); ++i) {
      WHARF_RETURN_IF_ERROR(AddRow(*modes[i], rounds[i], scenario.scenario));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<MeasuredRound>> RunLinked(const BenchMode& mode, const LinkScenario& scenario) {
    if (mode.way == BenchMode::Way::kByHand) {
      return Measure(mode, [&](const RunPlan& plan) -> absl::StatusOr<std::vector<ProgramRun>> {
        WHARF_ASSIGN_OR_RETURN(ProgramRun run,
                               RunNative(program_, DeviceOptions(), cores_, scenario.profile, plan, *scratch_));
        return std::vector{std::move(run)};
      });
    }
    WHARF_ASSIGN_OR_RETURN(const auto proxy, link::LinkProxy::Start("127.0.0.1:0", target_, scenario.profile));
    return Measure(mode, [&](RunPlan plan) {
      plan.on_ready = [&proxy] { proxy->Rewind(); };
      return RunTogether(program_, proxy->Address(), mode.options, plan, options_.programs);
    });
  }

  // A round of each copy of the program.
  template <typename RunOnce>
  absl::StatusOr<std::vector<MeasuredRound>> Measure(const BenchMode& mode, const RunOnce& run) {
    const int inferences = mode.most == 0 ? options_.inferences : std::min(options_.inferences, mode.most);
    WHARF_ASSIGN_OR_RETURN(std::vector<ProgramRun> warm,
                           run(RunPlan{.inferences = mode.warm_up, .warm_up = mode.warm_up}));
    WHARF_ASSIGN_OR_RETURN(std::vector<ProgramRun> all,
                           run(RunPlan{.inferences = mode.warm_up + inferences, .warm_up = mode.warm_up}));
    std::vector<MeasuredRound> rounds;
    for (size_t i = 0; i < warm.size(); ++i) rounds.push_back({std::move(warm[i]), std::move(all[i])});
    return rounds;
  }

  absl::Status AddRow(const BenchMode& mode, const std::vector<MeasuredRound>& rounds, const Scenario& scenario) {
    WHARF_ASSIGN_OR_RETURN(BenchRow row, MakeRow(rounds, mode.warm_up, scenario));
    row.program = program_.name;
    row.mode = mode.name;
    row.programs = options_.programs;
    result_.rows.push_back(std::move(row));
    return absl::OkStatus();
  }

  const BenchOptions& options_;
  const CoreShares cores_;
  const OnCores on_cores_;
  MeasuredProgram program_;
  std::vector<BenchMode> modes_;
  std::unique_ptr<ScratchDirectory> scratch_;
  std::vector<LinkScenario> scenarios_;
  std::unique_ptr<LocalServer> server_;
  std::string target_;
  BenchResult result_;
};

// Minutes of measuring are not to be lost to a wrong path.
absl::Status CheckOutputs(const BenchOptions& options) {
  for (const std::string& path : {options.json, options.plot, options.html}) {
    if (!path.empty()) WHARF_RETURN_IF_ERROR(CheckWritable(path));
  }
  return absl::OkStatus();
}

absl::Status BenchOffload(const BenchOptions& options) {
  WHARF_RETURN_IF_ERROR(CheckOutputs(options));
  OffloadBench bench(options);
  WHARF_RETURN_IF_ERROR(bench.Prepare());
  WHARF_ASSIGN_OR_RETURN(const BenchResult result, bench.Run());
  const TableStyle style = options.markdown ? TableStyle::kMarkdown : TableStyle::kText;
  std::fputs(RowsAsTable(result.rows, style).c_str(), stdout);
  std::puts("Calls, round trips and bytes are per inference; \"device_only\" is this machine's device, no Jetson.");
  if (options.programs > 1) {
    std::printf("%d copies of the program at once, over one link to one server; figures are of each.\n",
                options.programs);
  }
  if (result.stages) std::fputs(("\n" + CallsAsTable(*result.stages, style)).c_str(), stdout);
  if (!options.json.empty()) WHARF_RETURN_IF_ERROR(WriteFile(options.json, RowsAsJson(result.rows)));
  if (!options.plot.empty()) WHARF_RETURN_IF_ERROR(WriteFile(options.plot, RowsAsChart(result.rows)));
  if (options.html.empty()) return absl::OkStatus();
  return WriteFile(options.html, RowsAsPage(result.rows, result.stages ? &*result.stages : nullptr));
}

std::vector<std::string> ModeNames() {
  std::vector<std::string> names = {"local"};
  for (const BenchMode& mode : BenchModes()) names.push_back(mode.name);
  return names;
}

}  // namespace

void AddBenchOffloadCommand(CLI::App& app) {
  CLI::App* command = BenchCommand(app).add_subcommand("offload", "What offloading costs, by mode and link.");
  command->footer(kBenchOffloadFooter);
  auto options = std::make_shared<BenchOptions>();
  command->add_option("--modes", options->modes, "Which modes, separated by commas")
      ->delimiter(',')
      ->check(CLI::IsMember(ModeNames()))
      ->default_str("all that the program has");
  command->add_option("--scenarios", options->scenarios, "Which links, separated by commas")
      ->delimiter(',')
      ->default_str("indoors,outdoors,fixed");
  command->add_option("--inferences", options->inferences, "Measured inferences (fewer in the slow modes)")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  command->add_option("--rounds", options->rounds, "How often each mode gets its turn; figures are of all rounds")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command->add_option("--program", options->program.name, "pose, decode, pytorch:MODEL, or a CUDA program's FILE")
      ->type_name("PROGRAM")
      ->capture_default_str();
  command->add_option("--programs", options->programs, "So many copies of it at once, over one link to one server")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  command->add_option("--image", options->program.image, "The picture cuda_pose looks at")->type_name("FILE");
  command->add_option("--python", options->program.python, "The interpreter that has PyTorch and torchvision")
      ->type_name("FILE")
      ->capture_default_str();
  command->add_option("--traces", options->traces, "Where the traces are")->type_name("DIR");
  command->add_option("--server", options->server, "Through the links to this server, instead of one of its own")
      ->type_name("HOST:PORT");
  command->add_option("--device", options->device, "Of its own server: soft (CPU), cuda (GPU) or auto")
      ->capture_default_str();
  command->add_option("--threads", options->threads, "CPU threads of its own server's device, 0 = all its cores")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  command->add_option("--kernel-pack", options->kernel_packs, "Of its own server: PTX for programs that carry none")
      ->type_name("FILE");
  CLI::Option* compression =
      command->add_option("--compression", options->compression, "How data travel (wharf run); both: NAME_plain is off")
          ->check(CLI::IsMember({"auto", "off", "both"}))
          ->capture_default_str();
  command
      ->add_flag_callback(
          "--no-compression", [options] { options->compression = "off"; }, "The same as --compression off")
      ->excludes(compression);
  command->add_flag("--shared-cores", options->shared_cores, "Let the client run on the device's cores as well");
  AddDuration(command, "--rtt", options->round_trip, "Round-trip time of every link");
  command->add_option("--json", options->json, "Write the rows to FILE")->type_name("FILE");
  command->add_option("--plot", options->plot, "Draw the latencies to FILE (SVG)")->type_name("FILE");
  command->add_option("--html", options->html, "Write tables and pictures to FILE, one page")->type_name("FILE");
  command->add_flag("--markdown", options->markdown, "Print the tables as Markdown");
  command->add_option("arguments", options->program.arguments,
                      "After --: arguments of the program, and of native's client");
  command->callback([options] {
    const absl::Status status = BenchOffload(*options);
    if (!status.ok()) Fail(status);
  });
}

}  // namespace wharf::cli
