#include "wharf/cli/bench_offload_run.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace wharf::cli {
namespace {

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path);
  if (!file) return NotFound("{} is not there", path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

[[noreturn]] void ExecWharf(std::vector<std::string>& arguments, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(1);
  const int nothing = open("/dev/null", O_RDWR);
  dup2(nothing, STDIN_FILENO);
  dup2(nothing, STDOUT_FILENO);
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  execv("/proc/self/exe", pointers.data());
  _exit(127);
}

absl::Status RunWharf(std::vector<std::string> arguments) {
  const pid_t parent = getpid(), child = fork();
  if (child < 0) return ErrnoStatus(errno, "fork");
  if (child == 0) ExecWharf(arguments, parent);
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return ErrnoStatus(errno, "waitpid");
  }
  if (WIFSIGNALED(status)) return Aborted("the program was ended by signal {}", WTERMSIG(status));
  if (WEXITSTATUS(status) != 0) {
    return Aborted("the program ended with code {} (its own words are above)", WEXITSTATUS(status));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<ScratchDirectory>> ScratchDirectory::Make() {
  std::string path = (std::filesystem::temp_directory_path() / "wharf-bench-XXXXXX").string();
  if (mkdtemp(path.data()) == nullptr) return ErrnoStatus(errno, fmt::format("cannot make {}", path));
  return std::unique_ptr<ScratchDirectory>(new ScratchDirectory(path));
}

ScratchDirectory::~ScratchDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

absl::StatusOr<ProgramRun> RunMeasured(const MeasuredProgram& program, const std::string& address,
                                       const std::string& mode, int inferences, const ScratchDirectory& scratch) {
  const std::string latencies = scratch.File("latencies.json"), counters = scratch.File("counters.json");
  std::error_code ignored;
  std::filesystem::remove(latencies, ignored);
  std::filesystem::remove(counters, ignored);
  // On a link that drops to a fraction of a Mbit/s a large copy alone may take long.
  std::vector<std::string> arguments = {"wharf",     "run", "--server", address,  "--mode", mode,
                                        "--timeout", "60s", "--stats",  counters, "--",     program.path};
  arguments.insert(arguments.end(), program.arguments.begin(), program.arguments.end());
  arguments.insert(arguments.end(), {"--inferences", fmt::format("{}", inferences), "--json", latencies});
  WHARF_RETURN_IF_ERROR(RunWharf(std::move(arguments)));
  const absl::StatusOr<std::string> program_json = ReadFile(latencies);
  if (!program_json.ok()) return DataLoss("{} took --json and wrote no file", program.path);
  const absl::StatusOr<std::string> counters_json = ReadFile(counters);
  if (!counters_json.ok()) return DataLoss("{} made no CUDA call", program.path);
  return ParseRun(*program_json, *counters_json);
}

}  // namespace wharf::cli
