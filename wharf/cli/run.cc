#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <memory>
#include <optional>

#include "wharf/cli/child_process.h"
#include "wharf/cli/commands.h"
#include "wharf/cli/local_server.h"
#include "wharf/cli/option_types.h"
#include "wharf/cli/server_check.h"
#include "wharf/cli/shim_directory.h"
#include "wharf/cli/stats_table.h"
#include "wharf/offload/program_inspector.h"
#include "wharf/server/options.h"

namespace wharf::cli {
namespace {

constexpr const char* kFooter = R"(
After the options, with or without a --, comes the program's command line.

The program is not changed: it loads Wharf's CUDA libraries instead of the vendor's. It must load CUDA as shared
libraries (nvcc -cudart shared) and carry PTX (nvcc's default); if not, this command says so before it starts.

  wharf run --local -- ./saxpy
  wharf run --server edge:7070 --token-file token --stats - -- python3 train.py

Modes: posted (default: one way unless an answer is needed), cached (every call that reaches the server is a round trip,
getters are answered here), percall (every call is a round trip: the baseline).
The exit code is the program's; 126 or 127 if it cannot be started.)";

struct RunOptions {
  std::string server;
  bool local = false;
  std::string mode = "posted", token_file, stats;
  bool tls = false;
  std::string tls_ca, tls_certificate, tls_key;
  Nanoseconds timeout = std::chrono::seconds(10);
  std::string local_device = "auto";
  uint64_t local_memory = uint64_t{2} << 30;
  int local_threads = 0;
  bool no_check = false;
  std::vector<std::string> program;
};

class RunFormatter : public CLI::Formatter {
 public:
  std::string make_usage(const CLI::App*, std::string) const override {
    return "Usage: wharf run [--server HOST:PORT | --local] [OPTIONS] [--] PROGRAM [ARGUMENTS…]\n";
  }
};

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

absl::StatusOr<std::string> TokenFor(const RunOptions& options) {
  if (!options.token_file.empty()) return server::LoadToken(options.token_file);
  if (const char* token = getenv("WHARF_TOKEN"); token != nullptr && *token != '\0') return std::string(token);
  if (const char* file = getenv("WHARF_TOKEN_FILE"); file != nullptr && *file != '\0') return server::LoadToken(file);
  return std::string();
}

// Which kind of device answers at `address`: "soft" or "cuda".
absl::StatusOr<std::string> CheckAddress(const std::string& address, const RunOptions& options) {
  WHARF_ASSIGN_OR_RETURN(const std::string token, TokenFor(options));
  link::ConnectOptions connect;
  connect.timeout = options.timeout;
  if (options.tls) {
    connect.tls = link::TlsClientOptions{.ca_file = options.tls_ca,
                                         .certificate_file = options.tls_certificate,
                                         .key_file = options.tls_key,
                                         .server_name = ""};
  }
  return CheckServer(address, connect, token);
}

// What can be known before the program runs: that its calls reach us, and that there is code the device can run.
absl::Status CheckProgram(const std::string& path, const std::string& driver) {
  WHARF_RETURN_IF_ERROR(offload::InspectProgram(path));
  WHARF_ASSIGN_OR_RETURN(const offload::ProgramFacts facts, offload::ReadProgramFacts(path));
  if (driver == "cuda" || !facts.has_device_code || facts.has_ptx) return absl::OkStatus();
  return FailedPrecondition(
      "{} carries no PTX, so it can only run on the GPU it was built for: rebuild it with nvcc -gencode "
      "arch=compute_75,code=compute_75 (or nvcc's defaults)",
      path);
}

// Programs with an RPATH would find the vendor's libraries first: what is preloaded is found before both.
std::string Preload(const std::string& directory) {
  std::string list;
  for (const std::string& name : ShimLibraries(directory)) {
    list += (list.empty() ? "" : ":") + directory + "/" + name;
  }
  const char* before = getenv("LD_PRELOAD");
  return before == nullptr || *before == '\0' ? list : list + ":" + before;
}

std::map<std::string, std::string> Environment(const RunOptions& options, const std::string& address,
                                               const std::string& shims) {
  std::map<std::string, std::string> variables;
  const char* library_path = getenv("LD_LIBRARY_PATH");
  variables["LD_LIBRARY_PATH"] = library_path == nullptr || *library_path == '\0' ? shims : shims + ":" + library_path;
  variables["LD_PRELOAD"] = Preload(shims);
  variables["WHARF_SERVER"] = address;
  variables["WHARF_MODE"] = options.mode;
  variables["WHARF_TIMEOUT_MS"] = fmt::format("{}", std::max<int64_t>(1, options.timeout.count() / 1'000'000));
  variables["WHARF_TLS"] = options.tls ? "1" : "";
  variables["WHARF_TLS_CA"] = options.tls_ca;
  variables["WHARF_TLS_CERT"] = options.tls_certificate;
  variables["WHARF_TLS_KEY"] = options.tls_key;
  if (!options.token_file.empty()) {
    variables["WHARF_TOKEN_FILE"] = options.token_file;
    variables["WHARF_TOKEN"] = "";  // it would come first
  }
  return variables;
}

absl::StatusOr<std::unique_ptr<LocalServer>> StartLocal(const RunOptions& options) {
  return LocalServer::Start({"--device", options.local_device, "--memory", fmt::format("{}", options.local_memory),
                             "--threads", fmt::format("{}", options.local_threads)});
}

// The program's exit code, or why it was not started.
absl::StatusOr<int> Run(const RunOptions& options, const std::string& path) {
  WHARF_ASSIGN_OR_RETURN(const std::string shims, ShimDirectory());
  Command command;
  command.path = path;
  command.arguments = options.program;
  std::unique_ptr<LocalServer> local;
  if (options.local) {
    WHARF_ASSIGN_OR_RETURN(local, StartLocal(options));
  }
  const std::string address = local ? local->Address() : options.server;
  WHARF_ASSIGN_OR_RETURN(const std::string driver, CheckAddress(address, options));
  if (!options.no_check) WHARF_RETURN_IF_ERROR(CheckProgram(path, driver));
  command.environment = Environment(options, address, shims);
  std::unique_ptr<TemporaryFile> counters;
  if (options.stats == "-") {
    WHARF_ASSIGN_OR_RETURN(counters, TemporaryFile::Make());
  }
  if (!options.stats.empty()) command.environment["WHARF_STATS"] = counters ? counters->path() : options.stats;
  if (!local && !counters) return Execute(command);
  const int code = RunToEnd(command);
  if (counters) {
    const absl::StatusOr<std::string> table = StatsTable(counters->path());
    std::fflush(stdout);
    std::fprintf(stderr, "%s",
                 table.ok() ? table->c_str() : fmt::format("wharf: {}\n", Message(table.status())).c_str());
  }
  return code;
}

void CheckUsage(RunOptions& options) {
  if (options.program.empty()) throw CLI::ValidationError("run", "which program? wharf run --local -- ./program args");
  if (options.server.empty() && !options.local) {
    const char* server = getenv("WHARF_SERVER");
    if (server == nullptr || *server == '\0') {
      throw CLI::ValidationError("run", "say where to run: --server HOST:PORT, or --local for this machine");
    }
    options.server = server;
  }
  options.tls = options.tls || !options.tls_ca.empty() || !options.tls_certificate.empty();
  if (options.tls_certificate.empty() != options.tls_key.empty()) {
    throw CLI::ValidationError("run", "--tls-cert and --tls-key go together");
  }
}

void AddOptions(CLI::App* command, RunOptions& options) {
  CLI::Option* server = command->add_option("--server", options.server, "HOST:PORT of `wharf serve` (or WHARF_SERVER)");
  command->add_flag("--local", options.local, "Run on this machine, with a private server")->excludes(server);
  command->add_option("--mode", options.mode, "How calls travel")
      ->check(CLI::IsMember({"posted", "cached", "percall"}))
      ->capture_default_str();
  AddDuration(command, "--timeout", options.timeout, "A server silent for this long is lost: CUDA calls then fail");
  command->add_option("--stats", options.stats, "Write counters to FILE as JSON; - prints a table at the end")
      ->type_name("FILE");
  command->add_option("--token-file", options.token_file, "The server's token")->type_name("FILE");
  command->add_flag("--tls", options.tls, "Encrypt; the server must have a certificate");
  command->add_option("--tls-ca", options.tls_ca, "Trust this CA instead of the system's")->type_name("FILE");
  command->add_option("--tls-cert", options.tls_certificate, "Our certificate, for mutual TLS")->type_name("FILE");
  command->add_option("--tls-key", options.tls_key, "Its key")->type_name("FILE");
  command->add_option("--device", options.local_device, "With --local: soft (CPU), cuda (GPU) or auto")
      ->capture_default_str();
  AddBytes(command, "--memory", options.local_memory, "With --local: device memory");
  command->add_option("--threads", options.local_threads, "With --local: CPU threads, 0 = all")->capture_default_str();
  command->add_flag("--no-check", options.no_check, "Start the program even if it looks as if it could not work");
}

}  // namespace

std::vector<std::string> TakeProgram(CLI::App& run, std::vector<std::string>& arguments) {
  size_t next = 0;
  while (next < arguments.size()) {
    const std::string& word = arguments[next];
    if (word == "--" || !word.starts_with("-")) break;
    const CLI::Option* option = run.get_option_no_throw(word);
    next += option != nullptr && option->get_expected_max() > 0 ? 2 : 1;
  }
  next = std::min(next, arguments.size());
  const auto begin = arguments.begin() + static_cast<ptrdiff_t>(next);
  std::vector<std::string> program(begin, arguments.end());
  arguments.erase(begin, arguments.end());
  if (!program.empty() && program.front() == "--") program.erase(program.begin());
  return program;
}

void AddRunCommand(CLI::App& app, const std::vector<std::string>& program) {
  CLI::App* command = app.add_subcommand("run", "Run an unmodified CUDA program on a server, or locally on this CPU.");
  command->footer(kFooter);
  auto formatter = std::make_shared<RunFormatter>();
  formatter->column_width(app.get_formatter()->get_column_width());
  command->formatter(formatter);
  auto options = std::make_shared<RunOptions>();
  AddOptions(command, *options);
  command->callback([&program, options] {
    options->program = program;
    CheckUsage(*options);
    const absl::StatusOr<std::string> path = FindProgram(options->program.front());
    if (!path.ok()) {
      Fail(path.status());
      SetExitCode(path.status().code() == absl::StatusCode::kNotFound ? kExitNotFound : kExitNotExecutable);
      return;
    }
    const absl::StatusOr<int> code = Run(*options, *path);
    if (code.ok()) {
      SetExitCode(*code);
    } else {
      Fail(code.status());
    }
  });
}

}  // namespace wharf::cli
