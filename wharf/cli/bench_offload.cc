// wharf bench offload: what offloading costs, by mode and link.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>

#include "wharf/cli/bench_offload_model.h"
#include "wharf/cli/bench_offload_run.h"
#include "wharf/cli/commands.h"
#include "wharf/cli/local_server.h"
#include "wharf/cli/option_types.h"
#include "wharf/cli/shim_directory.h"
#include "wharf/link/byte_stream.h"
#include "wharf/link/emulator.h"

namespace wharf::cli {
namespace {

constexpr const char* kFooter = R"(
Runs a CUDA program that takes --inferences N and --json FILE (FILE gets {"latency_ms": [...]}); examples/cuda_pose is
the default. Each figure comes from two runs, N inferences apart, so loading and warming up do not count.

Modes      local    on this machine's device, no link
           percall  every CUDA call is one round trip, as per-call remoting does it: slow, so at most 2 inferences
           cached   the same, with the getters answered locally: at most 10 inferences
           posted   one way unless an answer is needed
Scenarios  indoors, outdoors: measured Wi-Fi to a moving robot, from the start of the trace in every run
           fixed: 93 Mbit/s. All with --rtt.

"link limit" is what these bytes and one round trip take on the link alone. The energy is modelled with the power states
of a Jetson Xavier NX (13.35 W inference, 4.25 W communication, 4.04 W standby): docs/benchmarks.md says how.)";

constexpr double kFixedBitsPerSecond = 93e6;
constexpr const char* kNoLink = "none";

struct BenchOptions {
  std::string program, image, traces, server, json, plot;
  std::vector<std::string> arguments;
  std::vector<std::string> modes = {"local", "percall", "cached", "posted"};
  std::vector<std::string> scenarios = {"indoors", "outdoors", "fixed"};
  int inferences = 20;
  Nanoseconds round_trip = std::chrono::microseconds(2600);
  std::string device = "auto";
  int threads = 0;
  bool markdown = false;
};

// The first of `candidates` that exists: relative ones are looked for beside this executable, as in a build or
// installed tree, and below the current directory.
absl::StatusOr<std::string> Find(const std::vector<std::string>& candidates, std::string_view what,
                                 std::string_view option) {
  for (const std::string& candidate : candidates) {
    for (const std::string& path : {ExecutableDirectory() + "/" + candidate, candidate}) {
      std::error_code ignored;
      if (std::filesystem::exists(path, ignored)) return std::filesystem::weakly_canonical(path, ignored).string();
    }
  }
  return NotFound("{} is not there: say where it is with {}", what, option);
}

absl::StatusOr<MeasuredProgram> ProgramOf(const BenchOptions& options) {
  MeasuredProgram program{options.program, options.arguments};
  if (!options.program.empty()) return program;
  WHARF_ASSIGN_OR_RETURN(program.path, Find({"../cuda/cuda_pose", "../libexec/wharf/cuda_pose"},
                                            "cuda_pose (built where the CUDA toolkit is)", "--program"));
  std::string image = options.image;
  if (image.empty()) {
    WHARF_ASSIGN_OR_RETURN(image, Find({"../share/wharf/scene.png", "../../../examples/cuda_pose/scene.png",
                                        "examples/cuda_pose/scene.png"},
                                       "cuda_pose's picture scene.png", "--image"));
  }
  program.arguments.insert(program.arguments.begin(), {"--image", image});
  return program;
}

struct LinkScenario {
  Scenario scenario;
  link::BandwidthTrace trace;
};

absl::StatusOr<LinkScenario> MakeScenario(const std::string& name, const BenchOptions& options) {
  LinkScenario made;
  made.scenario.name = name;
  made.scenario.round_trip = options.round_trip;
  if (name == "fixed") {
    made.trace = link::BandwidthTrace::Constant(kFixedBitsPerSecond);
  } else {
    const std::string file = name + "_a.csv";
    std::string path = options.traces + "/" + file;
    if (options.traces.empty()) {
      WHARF_ASSIGN_OR_RETURN(
          path, Find({"../share/wharf/traces/" + file, "../../../data/traces/" + file, "data/traces/" + file},
                     "the trace " + file, "--traces"));
    }
    WHARF_ASSIGN_OR_RETURN(made.trace, link::BandwidthTrace::Load(path));
  }
  double sum = 0;
  for (double rate : made.trace.bits_per_second) sum += rate;
  made.scenario.mean_bits_per_second = sum / static_cast<double>(made.trace.bits_per_second.size());
  return made;
}

// Says on standard error what runs: one line that is overwritten on a terminal, else a line each.
class Progress {
 public:
  explicit Progress(size_t steps) : steps_(steps), terminal_(isatty(STDERR_FILENO) != 0) {}
  ~Progress() {
    if (terminal_) std::fprintf(stderr, "\r\033[K");
  }
  void Step(const std::string& what) {
    ++step_;
    std::fprintf(stderr, terminal_ ? "\r\033[K[%zu/%zu] %s " : "[%zu/%zu] %s\n", step_, steps_, what.c_str());
    std::fflush(stderr);
  }

 private:
  const size_t steps_;
  const bool terminal_;
  size_t step_ = 0;
};

class OffloadBench {
 public:
  explicit OffloadBench(const BenchOptions& options) : options_(options) {}

  absl::Status Prepare() {
    WHARF_ASSIGN_OR_RETURN(program_, ProgramOf(options_));
    WHARF_ASSIGN_OR_RETURN(scratch_, ScratchDirectory::Make());
    for (const std::string& name : options_.scenarios) {
      WHARF_ASSIGN_OR_RETURN(LinkScenario scenario, MakeScenario(name, options_));
      scenarios_.push_back(std::move(scenario));
    }
    target_ = options_.server;
    // Through the links a server that is not there would look like one that hangs up.
    if (!target_.empty()) return link::Connect(target_).status();
    WHARF_ASSIGN_OR_RETURN(
        server_, LocalServer::Start({"--device", options_.device, "--threads", fmt::format("{}", options_.threads)}));
    target_ = server_->Address();
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<BenchRow>> Run() {
    const bool local = Wants("local");
    const size_t linked = options_.modes.size() - (local ? 1 : 0);
    Progress progress((local ? 1 : 0) + linked * scenarios_.size());
    std::vector<BenchRow> rows;
    if (local) {
      progress.Step("local");
      WHARF_ASSIGN_OR_RETURN(BenchRow row, RunLocal());
      rows.push_back(std::move(row));
    }
    for (const LinkScenario& scenario : scenarios_) {
      for (const std::string& mode : options_.modes) {
        if (mode == "local") continue;
        progress.Step(fmt::format("{}, {}", scenario.scenario.name, mode));
        WHARF_ASSIGN_OR_RETURN(BenchRow row, RunLinked(mode, scenario));
        rows.push_back(std::move(row));
      }
    }
    return rows;
  }

 private:
  bool Wants(const std::string& mode) const {
    return std::find(options_.modes.begin(), options_.modes.end(), mode) != options_.modes.end();
  }

  // Always this machine's own device, also where the links lead to another server.
  absl::StatusOr<BenchRow> RunLocal() {
    std::unique_ptr<LocalServer> own;
    std::string address = target_;
    if (server_ == nullptr) {
      WHARF_ASSIGN_OR_RETURN(
          own, LocalServer::Start({"--device", options_.device, "--threads", fmt::format("{}", options_.threads)}));
      address = own->Address();
    }
    return Measure("local", "posted", address, {kNoLink, 0, Nanoseconds{0}}, nullptr);
  }

  absl::StatusOr<BenchRow> RunLinked(const std::string& mode, const LinkScenario& scenario) {
    link::LinkProfile profile;
    profile.trace = scenario.trace;
    profile.round_trip = options_.round_trip;
    WHARF_ASSIGN_OR_RETURN(const auto proxy, link::LinkProxy::Start("127.0.0.1:0", target_, std::move(profile)));
    return Measure(mode, mode, proxy->Address(), scenario.scenario, proxy.get());
  }

  absl::StatusOr<BenchRow> Measure(const std::string& name, const std::string& mode, const std::string& address,
                                   const Scenario& scenario, link::LinkProxy* proxy) {
    const int warm_up = mode == "percall" ? 1 : 2;
    const int most = mode == "percall" ? 2 : mode == "cached" ? 10 : options_.inferences;
    const int inferences = std::min(options_.inferences, most);
    WHARF_ASSIGN_OR_RETURN(const ProgramRun warm, RunMeasured(program_, address, mode, warm_up, *scratch_));
    if (proxy != nullptr) proxy->Rewind();
    WHARF_ASSIGN_OR_RETURN(const ProgramRun all, RunMeasured(program_, address, mode, warm_up + inferences, *scratch_));
    WHARF_ASSIGN_OR_RETURN(BenchRow row, MakeRow(warm, all, warm_up, scenario));
    row.program = std::filesystem::path(program_.path).filename().string();
    row.mode = name;
    return row;
  }

  const BenchOptions& options_;
  MeasuredProgram program_;
  std::unique_ptr<ScratchDirectory> scratch_;
  std::vector<LinkScenario> scenarios_;
  std::unique_ptr<LocalServer> server_;
  std::string target_;
};

absl::Status Write(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::trunc);
  file << text;
  if (!file.flush()) return PermissionDenied("{} cannot be written", path);
  return absl::OkStatus();
}

absl::Status BenchOffload(const BenchOptions& options) {
  OffloadBench bench(options);
  WHARF_RETURN_IF_ERROR(bench.Prepare());
  WHARF_ASSIGN_OR_RETURN(const std::vector<BenchRow> rows, bench.Run());
  const std::string table = RowsAsTable(rows, options.markdown ? TableStyle::kMarkdown : TableStyle::kText);
  std::fputs(table.c_str(), stdout);
  std::puts("Calls, round trips and bytes are per inference; \"local\" is this machine's device, no Jetson.");
  if (!options.json.empty()) WHARF_RETURN_IF_ERROR(Write(options.json, RowsAsJson(rows)));
  if (!options.plot.empty()) WHARF_RETURN_IF_ERROR(Write(options.plot, RowsAsChart(rows)));
  return absl::OkStatus();
}

void AddOffload(CLI::App* bench) {
  CLI::App* command = bench->add_subcommand("offload", "What offloading costs, by mode and link.");
  command->footer(kFooter);
  auto options = std::make_shared<BenchOptions>();
  command->add_option("--modes", options->modes, "Which modes, separated by commas")
      ->delimiter(',')
      ->check(CLI::IsMember({"local", "percall", "cached", "posted"}))
      ->default_str("local,percall,cached,posted");
  command->add_option("--scenarios", options->scenarios, "Which links, separated by commas")
      ->delimiter(',')
      ->check(CLI::IsMember({"indoors", "outdoors", "fixed"}))
      ->default_str("indoors,outdoors,fixed");
  command->add_option("--inferences", options->inferences, "Measured inferences (fewer in the slow modes)")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  command->add_option("--program", options->program, "The CUDA program, instead of examples/cuda_pose")
      ->type_name("FILE");
  command->add_option("--image", options->image, "The picture cuda_pose looks at")->type_name("FILE");
  command->add_option("--traces", options->traces, "Where indoors_a.csv and outdoors_a.csv are")->type_name("DIR");
  command->add_option("--server", options->server, "Through the links to this server, instead of one of its own")
      ->type_name("HOST:PORT");
  command->add_option("--device", options->device, "Of its own server: soft (CPU), cuda (GPU) or auto")
      ->capture_default_str();
  command->add_option("--threads", options->threads, "CPU threads of its own server's device, 0 = all")
      ->capture_default_str();
  AddDuration(command, "--rtt", options->round_trip, "Round-trip time of every link");
  command->add_option("--json", options->json, "Write the rows to FILE")->type_name("FILE");
  command->add_option("--plot", options->plot, "Draw the latencies to FILE (SVG)")->type_name("FILE");
  command->add_flag("--markdown", options->markdown, "Print the table as Markdown");
  command->add_option("arguments", options->arguments, "After --: arguments of the program");
  command->callback([options] {
    const absl::Status status = BenchOffload(*options);
    if (!status.ok()) Fail(status);
  });
}

}  // namespace

void AddBenchCommand(CLI::App& app) {
  CLI::App* bench =
      app.add_subcommand("bench", "Measure; every table of docs/benchmarks.md is printed by one of these.");
  bench->require_subcommand(1);
  AddOffload(bench);
}

}  // namespace wharf::cli
