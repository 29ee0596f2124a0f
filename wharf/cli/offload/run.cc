#include <stdlib.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "wharf/cli/common/child_process.h"
#include "wharf/cli/common/commands.h"
#include "wharf/cli/common/files.h"
#include "wharf/cli/common/option_types.h"
#include "wharf/cli/common/server_access.h"
#include "wharf/cli/common/shim_directory.h"
#include "wharf/cli/offload/find_server.h"
#include "wharf/cli/offload/local_server.h"
#include "wharf/cli/offload/server_check.h"
#include "wharf/cli/offload/stats_table.h"
#include "wharf/device/soft/check/checks.h"
#include "wharf/offload/client/program_inspector.h"
#include "wharf/server/process/control.h"

namespace wharf::cli {
namespace {

constexpr const char* kRunFooter = R"(
After the options, with or without a --, comes the program's command line.

The program is not changed: it loads Wharf's CUDA libraries instead of the vendor's; the CUDA runtime may be linked in.
It must carry PTX (nvcc's default) where there is no GPU; if not, this command says so before it starts.

  wharf run --local -- ./saxpy
  wharf run --server edge:7070 --token-file token --stats - -- python3 train.py
  wharf run --server auto --token-file token -- ./saxpy    the best of those that announce themselves on this network

Modes
  replay              after a few inferences the server knows the program's sequence of calls, runs it as soon as the
                      input is there and sends the results; what the program then does differently is undone
  posted              one way unless an answer is needed; nothing is predicted
  cached              every call that reaches the server is a round trip, getters are answered here
  percall             every call is a round trip: the baseline
  replay_speculative  replay as published: what the server ran ahead is never undone. UNSAFE, for comparison only:
                      a program that deviates after an update in place computes with wrong memory
Compression
  auto                data that the program copies travel compressed, or as their change, where that is faster on this
                      link; exact. Not in percall, which is the papers' baseline
  off                 as they are
  always              as if the link were slow, for comparisons
Search
  How replay tells which inference the program is in, for --stats and the trace; what is predicted does not depend on it.
  incremental         ours, some 40 ns a call
  data-dependency     Data Dependency Search, as published
  published           Operator Sequence Search: it refuses what may carry state from one inference to the next, and
                      which of a kernel's pointers are only read is not known here, so it seldom finds any
Partition
  remote              every operation runs on the server
  local               every operation runs on this machine's device; what only the server can run does there
  auto                the operators of an inference are cut by what each takes on either side and what the link carries
                      now, again before each inference; until times are known everything runs on the server

Checks (--check, with --local)
  race                two threads of a block access a byte of shared memory, one of them writes, and no barrier is
                      between: a __syncthreads() or __syncwarp() is missing
  memory              accesses outside of what cudaMalloc gave, to the byte, or of shared memory; misaligned ones; what
                      is never freed
  init                reads of device or shared memory that nobody has written
  all                 all of these
  What is found is told on standard error, each place once, with source lines if nvcc was given -lineinfo. Kernels run
  thread by thread, much slower than without. Calls travel as in posted where replay was to be used.

`wharf trace --help` shows what happens when. The exit code is the program's; 126 or 127 if it cannot be started; 66 if
it is 0 and --check has found something.)";

constexpr const char* kTraceFooter = R"(
Like `wharf run` (see its --help for the options and modes), and writes when the program made which calls, which of them
waited and what was replayed, as Chrome trace events: open the file at https://ui.perfetto.dev or chrome://tracing. Calls that
are answered on the client are left out. At the end a summary says how much was predicted, what not and why. The first
events are kept, 64 MiB of them. A program that runs for ever leaves its trace, and the counters of --stats, on Ctrl-C.

  wharf trace --local -o decode.json -- ./cuda_decode --inferences 5
  wharf trace --server edge:7070 -o trace.json -- python3 detect.py)";

// Half of this machine's memory, in GiB: programs expect as much as GPUs have, and what they do not touch takes none.
uint64_t DefaultLocalMemory() {
  const uint64_t half =
      static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)) / 2;
  return std::max<uint64_t>(half >> 30, 2) << 30;
}

struct RunOptions {
  ServerAccess access;
  std::string next_servers;  // with commas: where the program goes if the server does not let it in
  bool local = false;
  bool own_server = false;  // it is private: nobody else reaches it, and it asks for no token
  std::string mode = "replay", stats, trace;
  std::string compression = "auto";
  Nanoseconds resume = std::chrono::seconds(30);
  std::string search = "incremental";
  std::string partition = "remote";
  std::string local_device = "auto";
  uint64_t local_memory = DefaultLocalMemory();
  int local_threads = 0;
  int local_capability = 0;
  Nanoseconds local_kernel_timeout{0};
  std::vector<std::string> kernel_packs;
  bool no_check = false;
  std::string checks;
  std::vector<std::string> program;
};

class RunFormatter : public CLI::Formatter {
 public:
  explicit RunFormatter(std::string usage) : usage_(std::move(usage)) {}
  std::string make_usage(const CLI::App*, std::string) const override { return "Usage: " + usage_ + "\n"; }

 private:
  const std::string usage_;
};

// The program has ended well, but checks have found something. ThreadSanitizer's, too.
constexpr int kExitFound = 66;

// A file that is gone at the end.
class TemporaryFile {
 public:
  static absl::StatusOr<std::unique_ptr<TemporaryFile>> Make() {
    std::string path = "/tmp/wharf-stats-XXXXXX";
    const int fd = mkstemp(path.data());
    if (fd < 0) return ErrnoStatus(errno, fmt::format("cannot make {}", path));
    close(fd);
    return std::make_unique<TemporaryFile>(std::move(path));
  }
  explicit TemporaryFile(std::string path) : path_(std::move(path)) {}
  ~TemporaryFile() { unlink(path_.c_str()); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  const std::string path_;
};

// Of those that announce themselves the best, and after it those that are the same to the program.
absl::StatusOr<CheckedServer> ChooseServer(const std::string& token, RunOptions& options) {
  WHARF_ASSIGN_OR_RETURN(const std::vector<FoundServer> found, FindServers(options.access, token));
  const CheckedServer& best = found.front().server;
  options.access.server = found.front().address;
  for (auto other = found.begin() + 1; other != found.end(); ++other) {
    if (other->server.driver != best.driver || other->server.has_kernel_packs != best.has_kernel_packs) continue;
    options.next_servers += (options.next_servers.empty() ? "" : ",") + other->address;
  }
  SayToUser(Describe(found.front()));
  return best;
}

// What answers at the server's address, which is known afterwards.
absl::StatusOr<CheckedServer> CheckAddress(RunOptions& options) {
  std::string token;
  if (!options.own_server) {
    WHARF_ASSIGN_OR_RETURN(token, options.access.Token());
  }
  if (options.access.server == kAnyServer) return ChooseServer(token, options);
  return CheckServer(options.access.server, options.access.Connecting(), token);
}

// What can be known before the program runs: that it is of a CUDA that we stand in for, and that there is code the
// device can run.
absl::Status CheckProgram(const std::string& path, const CheckedServer& server) {
  WHARF_ASSIGN_OR_RETURN(const offload::ProgramFacts facts, offload::ReadProgramFacts(path));
  const bool needs_ptx = server.driver != "cuda" && !server.has_kernel_packs;
  return offload::InspectProgram(path, facts, needs_ptx);
}

// Programs with an RPATH would find the vendor's libraries first: what is preloaded is found before both. Of every
// release, the newest first: who asks for a function without saying of which finds that.
std::string Preload(const std::string& directory) {
  std::string list;
  const std::vector<std::string> names = ShimLibraries(directory);
  for (auto name = names.rbegin(); name != names.rend(); ++name) {
    list += (list.empty() ? "" : ":") + directory + "/" + *name;
  }
  const char* before = getenv("LD_PRELOAD");
  return before == nullptr || *before == '\0' ? list : list + ":" + before;
}

// How to reach the server, for a process that reads `prefix` (offload/client/session_environment.h).
std::map<std::string, std::string> ServerVariables(const RunOptions& options, const std::string& prefix) {
  std::map<std::string, std::string> variables;
  variables[prefix + "SERVER"] = options.access.server;
  variables[prefix + "SERVER_NEXT"] = options.next_servers;
  variables[prefix + "MODE"] = options.mode;
  variables[prefix + "TIMEOUT_MS"] =
      fmt::format("{}", std::max<int64_t>(1, options.access.timeout.count() / 1'000'000));
  variables[prefix + "COMPRESSION"] = options.compression;
  variables[prefix + "RESUME_MS"] = fmt::format("{}", options.resume.count() / 1'000'000);
  variables[prefix + "TLS"] = options.access.tls ? "1" : "";
  variables[prefix + "TLS_CA"] = options.access.tls_ca;
  variables[prefix + "TLS_PIN"] = options.access.tls_pin;
  variables[prefix + "TLS_CERT"] = options.access.tls_certificate;
  variables[prefix + "TLS_KEY"] = options.access.tls_key;
  if (options.own_server) {
    variables[prefix + "TOKEN_FILE"] = variables[prefix + "TOKEN"] = "";
  } else if (!options.access.token_file.empty()) {
    variables[prefix + "TOKEN_FILE"] = options.access.token_file;
    variables[prefix + "TOKEN"] = "";  // it would come first
  }
  return variables;
}

// What the program needs to find our libraries, and its server.
std::map<std::string, std::string> Environment(const RunOptions& options, const std::string& shims) {
  std::map<std::string, std::string> variables = ServerVariables(options, "WHARF_");
  std::string folders = shims;
  if (options.mode == "replay_speculative" || options.search != "incremental") folders = shims + "/baselines:" + shims;
  const char* library_path = getenv("LD_LIBRARY_PATH");
  if (library_path != nullptr && *library_path != '\0') folders += std::string(":") + library_path;
  variables["LD_LIBRARY_PATH"] = folders;
  variables["LD_PRELOAD"] = Preload(shims);
  variables["WHARF_SEARCH"] = options.search;
  return variables;
}

// What checks have found, as the local server's worker tells it.
class CheckReader {
 public:
  void Hear(std::string_view line) {
    if (device::soft::check::TellsFinding(line)) found_ = true;
  }
  bool found() const { return found_; }

 private:
  std::atomic<bool> found_{false};
};

// `reader`: null if nothing is checked.
absl::StatusOr<std::unique_ptr<LocalServer>> StartLocal(const RunOptions& options, CheckReader* reader) {
  std::vector<std::string> arguments = {"--device",  options.local_device,
                                        "--memory",  fmt::format("{}", options.local_memory),
                                        "--threads", fmt::format("{}", options.local_threads)};
  if (options.local_capability != 0) {
    arguments.insert(arguments.end(), {"--compute-capability", fmt::format("{}.{}", options.local_capability / 10,
                                                                           options.local_capability % 10)});
  }
  if (options.local_kernel_timeout != Nanoseconds(0)) {
    arguments.insert(arguments.end(), {"--kernel-timeout", fmt::format("{}ns", options.local_kernel_timeout.count())});
  }
  for (const std::string& pack : options.kernel_packs) arguments.insert(arguments.end(), {"--kernel-pack", pack});
  // An empty one keeps a variable of ours from the server.
  const std::map<std::string, std::string> variables = {{"WHARF_CHECK", options.checks}};
  if (reader == nullptr) return LocalServer::Start(arguments, variables);
  return LocalServer::Start(arguments, variables, [reader](std::string_view line) { reader->Hear(line); });
}

// A server here whose device is this machine's and, behind it, the server's.
absl::StatusOr<std::unique_ptr<LocalServer>> StartPartition(const RunOptions& options) {
  std::map<std::string, std::string> variables = ServerVariables(options, "WHARF_UPSTREAM_");
  if (options.access.token_file.empty()) {
    WHARF_ASSIGN_OR_RETURN(variables["WHARF_UPSTREAM_TOKEN"], options.access.Token());
  }
  variables["WHARF_PARTITION"] = options.partition;
  variables["WHARF_PARTITION_DEVICE"] = options.local_device;
  return LocalServer::Start({"--device", server::kPartitionDriver, "--memory", fmt::format("{}", options.local_memory),
                             "--threads", fmt::format("{}", options.local_threads)},
                            variables);
}

// Whether the program's allocations are to be known to the byte.
bool WantsSizes(const RunOptions& options) {
  const auto checks = device::soft::check::ParseChecks(options.checks);
  return checks.ok() && (*checks & device::soft::check::kMemory) != 0;
}

// The server to run on. `own`: one that was started for this.
absl::Status PrepareServer(RunOptions& options, CheckReader& reader, CheckedServer* server,
                           std::unique_ptr<LocalServer>* own) {
  if (options.local) {
    WHARF_ASSIGN_OR_RETURN(*own, StartLocal(options, options.checks.empty() ? nullptr : &reader));
    options.access.server = (*own)->Address();
    options.own_server = true;
    server->driver = (*own)->Driver();
  }
  // A server of one's own has said what it is; whether it can use the packs it was given is asked.
  if (!options.local || !options.kernel_packs.empty()) {
    WHARF_ASSIGN_OR_RETURN(*server, CheckAddress(options));
  }
  if (options.partition == "remote") return absl::OkStatus();
  WHARF_ASSIGN_OR_RETURN(*own, StartPartition(options));
  // What follows is how the program reaches it: nothing is compressed within a machine.
  options.compression = "off";
  options.access.server = (*own)->Address();
  options.next_servers.clear();
  options.own_server = true;
  options.mode = "posted";
  options.access.tls = false;
  return absl::OkStatus();
}

// Paths may be relative, and the program may change its directory.
absl::Status PrepareStats(const std::string& path, Command& command) {
  WHARF_RETURN_IF_ERROR(CheckWritable(path));
  command.environment["WHARF_STATS"] = std::filesystem::absolute(path).string();
  return absl::OkStatus();
}

// What an earlier run left goes.
absl::Status PrepareTrace(const std::string& path, Command& command) {
  WHARF_RETURN_IF_ERROR(CheckWritable(path));
  std::error_code error;
  std::filesystem::remove(path, error);
  if (error) return PermissionDenied("{} cannot be replaced: {}", path, error.message());
  command.environment["WHARF_TRACE"] = std::filesystem::absolute(path).string();
  return absl::OkStatus();
}

void Tell(const absl::StatusOr<std::string>& text) {
  std::fputs(text.ok() ? text->c_str() : fmt::format("wharf: {}\n", Message(text.status())).c_str(), stderr);
}

void TellOfTrace(const std::string& path, const std::string& stats) {
  Tell(ReplaySummary(stats));
  const bool written = std::filesystem::exists(path);
  std::fprintf(stderr, "wharf: %s %s\n", written ? "open at https://ui.perfetto.dev:" : "no trace was written to",
               path.c_str());
}

// The program's exit code, or why it was not started.
absl::StatusOr<int> Run(RunOptions options, const std::string& path) {
  WHARF_ASSIGN_OR_RETURN(const std::string shims, ShimDirectory());
  Command command;
  command.path = path;
  command.arguments = options.program;
  CheckedServer server;
  CheckReader reader;
  std::unique_ptr<LocalServer> local;
  WHARF_RETURN_IF_ERROR(PrepareServer(options, reader, &server, &local));
  if (!options.no_check) WHARF_RETURN_IF_ERROR(CheckProgram(path, server));
  command.environment = Environment(options, shims);
  if (WantsSizes(options)) command.environment["WHARF_TELL_SIZES"] = "1";
  std::unique_ptr<TemporaryFile> counters;
  if (options.stats == "-" || (options.stats.empty() && !options.trace.empty())) {
    WHARF_ASSIGN_OR_RETURN(counters, TemporaryFile::Make());
  }
  const std::string stats = counters ? counters->path() : options.stats;
  if (!stats.empty()) WHARF_RETURN_IF_ERROR(PrepareStats(stats, command));
  if (!options.trace.empty()) WHARF_RETURN_IF_ERROR(PrepareTrace(options.trace, command));
  if (!local && !counters && options.trace.empty()) return Execute(command);
  int code = RunToEnd(command);
  std::fflush(stdout);
  if (!options.checks.empty()) {
    local->Stop();
    if (code == 0 && reader.found()) code = kExitFound;
  }
  if (options.stats == "-") Tell(StatsTable(stats));
  if (!options.trace.empty()) TellOfTrace(options.trace, stats);
  return code;
}

// Kernels are checked by a software device of one's own, and run when the program says so.
void CheckCheckUsage(RunOptions& options) {
  if (options.checks.empty()) return;
  if (!options.local) throw CLI::ValidationError("run", "--check goes with --local: a server does not check");
  if (options.local_device == "cuda") {
    throw CLI::ValidationError("run", "--check is for --device soft; on a GPU use NVIDIA's compute-sanitizer");
  }
  if (options.mode == "replay_speculative") {
    throw CLI::ValidationError("run", "--check goes with --mode posted, cached or percall");
  }
  const auto checks = device::soft::check::ParseChecks(options.checks);
  if (!checks.ok()) throw CLI::ValidationError("run", fmt::format("--check: {}", Message(checks.status())));
  options.local_device = "soft";
  if (options.mode == "replay") options.mode = "posted";
}

void CheckUsage(RunOptions& options) {
  if (options.program.empty()) throw CLI::ValidationError("run", "which program? wharf run --local -- ./program args");
  FinishServerAccess("run", options.access);
  if (options.access.server.empty() && !options.local) {
    throw CLI::ValidationError("run", "say where to run: --server HOST:PORT, or --local for this machine");
  }
  if (!options.kernel_packs.empty() && !options.local) {
    throw CLI::ValidationError("run", "--kernel-pack goes with --local; a server is given packs when it is started");
  }
  for (const auto& [option, is_given] : {std::pair("--compute-capability", options.local_capability != 0),
                                         {"--kernel-timeout", options.local_kernel_timeout != Nanoseconds(0)}}) {
    if (!is_given || options.local) continue;
    throw CLI::ValidationError("run", fmt::format("{} goes with --local; a server is told when it is started", option));
  }
  CheckCheckUsage(options);
  if (options.partition == "remote") return;
  if (options.local) throw CLI::ValidationError("run", "--partition wants a --server: with --local all runs here");
  if (options.mode != "replay" && options.mode != "posted") {
    throw CLI::ValidationError("run", "--partition goes with --mode replay or posted");
  }
}

void AddOptions(CLI::App* command, RunOptions& options) {
  CLI::Option* server = AddServerAccess(command, options.access);
  command->add_flag("--local", options.local, "Run on this machine, with a private server")->excludes(server);
  command->add_option("--mode", options.mode, "How calls travel")
      ->check(CLI::IsMember({"replay", "posted", "cached", "percall", "replay_speculative"}))
      ->capture_default_str();
  command->add_option("--compression", options.compression, "How the program's data travel")
      ->check(CLI::IsMember({"auto", "off", "always"}))
      ->capture_default_str();
  command->add_option("--search", options.search, "How an inference is found in the calls")
      ->check(CLI::IsMember({"incremental", "published", "data-dependency"}))
      ->capture_default_str();
  command->add_option("--partition", options.partition, "Where operations run: the server, this machine, or both")
      ->check(CLI::IsMember({"remote", "local", "auto"}))
      ->capture_default_str();
  AddDuration(command, "--timeout", options.access.timeout,
              "A server silent for this long is lost: CUDA calls then fail");
  AddDuration(command, "--resume", options.resume,
              "A dropped connection is waited for this long, and the program goes on; 0 = not at all");
  command->add_option("--stats", options.stats, "Write counters to FILE as JSON; - prints a table at the end")
      ->type_name("FILE");
  command->add_option("--device", options.local_device, "With --local or --partition: soft (CPU), cuda (GPU) or auto")
      ->capture_default_str();
  AddBytes(command, "--memory", options.local_memory, "The same: device memory; half of the machine's by default");
  command->add_option("--threads", options.local_threads, "The same: CPU threads, 0 = all")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  AddComputeCapability(command, options.local_capability, "With --local: what the software device says it has");
  AddDuration(
      command, "--kernel-timeout", options.local_kernel_timeout,
      "With --local: how long a kernel may run on the software device before it fails; 0 = as long as it likes");
  command
      ->add_option("--kernel-pack", options.kernel_packs,
                   "With --local: PTX for programs that carry machine code only (wharf pack); may be repeated")
      ->type_name("FILE")
      ->allow_extra_args(false);
  command
      ->add_option("--check", options.checks,
                   "With --local: look for mistakes in kernels while they run: race, memory, init, all")
      ->type_name("CHECK,…");
  command->add_flag("--no-check", options.no_check, "Start the program even if it looks as if it could not work");
}

}  // namespace

std::vector<std::string> TakeProgram(CLI::App& command, std::vector<std::string>& arguments) {
  size_t next = 0;
  while (next < arguments.size()) {
    const std::string& word = arguments[next];
    if (word == "--" || !word.starts_with("-")) break;
    const CLI::Option* option = command.get_option_no_throw(word);
    next += option != nullptr && option->get_expected_max() > 0 ? 2 : 1;
  }
  next = std::min(next, arguments.size());
  const auto begin = arguments.begin() + static_cast<ptrdiff_t>(next);
  std::vector<std::string> program(begin, arguments.end());
  arguments.erase(begin, arguments.end());
  if (!program.empty() && program.front() == "--") program.erase(program.begin());
  return program;
}

namespace {

void RunProgram(RunOptions& options) {
  CheckUsage(options);
  const absl::StatusOr<std::string> path = FindProgram(options.program.front());
  if (!path.ok()) {
    Fail(path.status());
    SetExitCode(path.status().code() == absl::StatusCode::kNotFound ? kExitNotFound : kExitNotExecutable);
    return;
  }
  const absl::StatusOr<int> code = Run(options, *path);
  if (code.ok()) {
    SetExitCode(*code);
  } else {
    Fail(code.status());
  }
}

// `wharf run` and `wharf trace` take the same options.
std::shared_ptr<RunOptions> AddRunning(CLI::App& app, CLI::App* command, const std::vector<std::string>& program,
                                       const char* footer, std::string usage) {
  command->footer(footer);
  auto formatter = std::make_shared<RunFormatter>(std::move(usage));
  formatter->column_width(app.get_formatter()->get_column_width());
  command->formatter(formatter);
  auto options = std::make_shared<RunOptions>();
  AddOptions(command, *options);
  command->callback([&program, options] {
    options->program = program;
    RunProgram(*options);
  });
  return options;
}

}  // namespace

void AddRunCommand(CLI::App& app, const std::vector<std::string>& program) {
  CLI::App* command = app.add_subcommand("run", "Run an unmodified CUDA program on a server, or locally on this CPU.");
  AddRunning(app, command, program, kRunFooter,
             "wharf run [--server HOST:PORT | --local] [OPTIONS] [--] PROGRAM [ARGUMENTS…]");
}

void AddTraceCommand(CLI::App& app, const std::vector<std::string>& program) {
  CLI::App* command = app.add_subcommand("trace", "Run a CUDA program and write what was sent and replayed when.");
  const auto options =
      AddRunning(app, command, program, kTraceFooter,
                 "wharf trace -o FILE [--server HOST:PORT | --local] [OPTIONS] [--] PROGRAM [ARGUMENTS…]");
  command->add_option("-o,--output", options->trace, "Where the trace goes")->type_name("FILE")->required();
}

}  // namespace wharf::cli
