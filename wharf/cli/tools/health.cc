#include "wharf/cli/tools/health.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "wharf/base/cache_directory.h"
#include "wharf/base/sandbox/namespaces.h"
#include "wharf/base/sandbox/sandbox.h"
#include "wharf/cli/bench/common/child.h"
#include "wharf/cli/common/shim_directory.h"
#include "wharf/cli/common/text.h"
#include "wharf/cli/programs/own_programs.h"
#include "wharf/link/byte_stream.h"

namespace wharf::cli {
namespace {

namespace fs = std::filesystem;

std::string FirstLine(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::string FirstMatch(const std::string& path, const std::regex& pattern) {
  std::ifstream file(path);
  std::string line;
  std::smatch match;
  while (std::getline(file, line)) {
    if (std::regex_search(line, match, pattern)) return match[1];
  }
  return "";
}

Finding Toolkit() {
  Finding finding{"CUDA toolkit"};
  for (const std::string& nvcc : {FindProgram("nvcc").value_or(""), std::string("/usr/local/cuda/bin/nvcc")}) {
    if (nvcc.empty() || access(nvcc.c_str(), X_OK) != 0) continue;
    finding.detail = nvcc;
    return finding;
  }
  finding.health = Health::kNote;
  finding.detail = "no nvcc; needed to build CUDA programs and the drop-in libraries, not to run either";
  finding.mend = "apt install nvidia-cuda-toolkit, or NVIDIA's cuda-nvcc-13-0";
  return finding;
}

Finding DropInLibraries() {
  Finding finding{"drop-in CUDA libraries"};
  const absl::StatusOr<std::string> directory = ShimDirectory();
  if (!directory.ok()) {
    finding.health = Health::kBroken;
    finding.detail = std::string(Message(directory.status()));
    finding.mend = "build where the CUDA toolkit is (`wharf run` needs them, `wharf serve` does not)";
    return finding;
  }
  finding.detail = *directory + ":";
  for (const std::string& name : ShimLibraries(*directory)) finding.detail += " " + name;
  return finding;
}

Finding Processor() {
  Finding finding{"CPU"};
  finding.detail = FirstMatch("/proc/cpuinfo", std::regex(R"(model name\s*:\s*(.*))"));
#if defined(__aarch64__)
  if (finding.detail.empty()) finding.detail = "AArch64";  // by numbers only
#endif
  std::istringstream flags(FirstMatch("/proc/cpuinfo", std::regex(R"((?:flags|Features)\s*:\s*(.*))")));
  const std::set<std::string> has{std::istream_iterator<std::string>(flags), {}};
  for (const char* feature : {"avx2", "fma", "f16c", "avx512f", "avx512_bf16", "asimd", "atomics", "sve"}) {
    if (has.contains(feature)) finding.detail += std::string(" ") + feature;
  }
#if defined(__x86_64__)
  if (!has.contains("avx2") || !has.contains("fma")) {
    finding.health = Health::kNote;
    finding.mend =
        "kernels run, but several times slower than with AVX2 and FMA; check the virtual machine's CPU model";
  }
#endif
  return finding;
}

// What wharf-worker says of the devices that it computes on.
absl::StatusOr<std::vector<Finding>> AskWorkerProgram(const std::string& program) {
  WHARF_ASSIGN_OR_RETURN(const auto child, Child::Start(program, {kWorkerProgram, "devices"}));
  WHARF_ASSIGN_OR_RETURN(const std::string line, child->ReadLine());
  return ParseFindings(line);
}

std::vector<Finding> Devices() {
  Finding finding{"devices"};
  const std::string program = FindOwnProgram(kWorkerProgram);
  if (program.empty()) {
    finding.health = Health::kNote;
    finding.detail = "no wharf-worker: this machine can use servers, `wharf serve` and `wharf run --local` do not work";
    finding.mend = "install wharf-worker (it needs LLVM) beside wharf or in ../libexec/wharf";
    return {finding};
  }
  absl::StatusOr<std::vector<Finding>> found = AskWorkerProgram(program);
  if (found.ok()) return *std::move(found);
  finding.health = Health::kBroken;
  finding.detail = program;
  finding.mend = "it does not start: run it alone to see why (are its libraries installed?)";
  return {finding};
}

// It says what models run on, and why on no GPU.
void AskModelProgram(const std::string& program, Finding& finding) {
  finding.detail = program;
  const auto child = Child::Start(program, {kModelProgram, "devices"});
  const auto device = child.ok() ? (*child)->ReadLine() : child.status();
  const auto no_gpu = device.ok() ? (*child)->ReadLine() : device.status();
  if (!no_gpu.ok()) {
    finding.health = Health::kBroken;
    finding.mend = "it does not start: run it alone to see why (are LibTorch's libraries where they were?)";
    return;
  }
  finding.detail += fmt::format(", {}{}{}", *device, no_gpu->empty() ? "" : "; no GPU: ", *no_gpu);
}

Finding Models() {
  Finding finding{"split inference"};
  if (const std::string program = FindOwnProgram(kModelProgram); !program.empty()) {
    AskModelProgram(program, finding);
    return finding;
  }
  finding.health = Health::kNote;
  finding.detail =
      "no wharf-model: `wharf split` and `wharf profile` do not work, and `wharf serve` refuses split sessions";
  finding.mend = "install wharf-model (it needs LibTorch) beside wharf or in ../libexec/wharf";
  return finding;
}

Finding Port() {
  Finding finding{"port 7070"};
  const auto listener = link::Listener::Create("127.0.0.1:7070");
  if (listener.ok()) {
    finding.detail = "free";
    return finding;
  }
  finding.health = Health::kNote;
  finding.detail = std::string(Message(listener.status()));
  finding.mend = "fine if that is a `wharf serve`; otherwise serve with --listen 127.0.0.1:OTHER";
  return finding;
}

Finding Cache() {
  Finding finding{"kernel cache"};
  const std::string directory = CacheDirectory();
  std::error_code error;
  if (!directory.empty()) fs::create_directories(directory, error);
  if (directory.empty() || error || access(directory.c_str(), W_OK) != 0) {
    finding.health = Health::kNote;
    finding.detail = directory.empty() ? "neither HOME nor XDG_CACHE_HOME is set" : directory + " is not writable";
    finding.mend = "kernels are compiled anew in every session; give `wharf serve --cache-dir DIR`";
    return finding;
  }
  finding.detail = directory;
  return finding;
}

}  // namespace

Finding ExamineSandbox() {
  Finding finding{"worker sandbox"};
  const std::string actions = FirstLine("/proc/sys/kernel/seccomp/actions_avail");
  if (actions.find("kill_process") == std::string::npos) {
    finding.health = Health::kBroken;
    finding.detail = "this kernel has no seccomp filters: `wharf serve` does not work";
    finding.mend = "serve from a kernel with CONFIG_SECCOMP_FILTER, 4.14 or newer";
    return finding;
  }
  if (const absl::Status filtered = TrySandbox(); !filtered.ok()) {
    finding.health = Health::kBroken;
    finding.detail = std::string(Message(filtered));
    finding.mend = "serve where the call seccomp is permitted";
    return finding;
  }
  const absl::StatusOr<Isolation> isolation = FindIsolation();
  if (isolation.ok()) {
    finding.detail = fmt::format("strong: filtered system calls, and name spaces {}",
                                 *isolation == Isolation::kByUser ? "as any user has them" : "as root has them");
    return finding;
  }
  finding.health = Health::kNote;
  finding.detail = fmt::format("weak: filtered system calls, but {}", Message(isolation.status()));
  finding.mend = "permit name spaces, or serve with --sandbox=weak (docs/security.md)";
  return finding;
}

namespace {

Finding Limits() {
  Finding finding{"limits"};
  rlimit files{}, space{};
  getrlimit(RLIMIT_NOFILE, &files);
  getrlimit(RLIMIT_AS, &space);
  const std::string overcommit = FirstLine("/proc/sys/vm/overcommit_memory");
  finding.detail = fmt::format("{} open files, address space {}, overcommit {}, {} available", files.rlim_cur,
                               space.rlim_cur == RLIM_INFINITY ? "unlimited" : FormatBytes(space.rlim_cur), overcommit,
                               FirstMatch("/proc/meminfo", std::regex(R"(MemAvailable:\s*(.*))")));
  if (space.rlim_cur != RLIM_INFINITY) {
    finding.health = Health::kBroken;
    finding.mend = "ulimit -v unlimited: device addresses are reserved as one large range";
  } else if (files.rlim_cur < 256) {
    finding.health = Health::kNote;
    finding.mend = "ulimit -n 1024: a server needs about two descriptors a client";
  } else if (overcommit == "2") {
    finding.health = Health::kNote;
    finding.mend = "sysctl vm.overcommit_memory=0, or keep --memory below what is free";
  }
  return finding;
}

}  // namespace

std::vector<Finding> Examine() {
  std::vector<Finding> findings = {DropInLibraries(), Toolkit(), Processor()};
  for (Finding& finding : Devices()) findings.push_back(std::move(finding));
  for (Finding& finding : std::vector{Models(), Port(), Cache(), ExamineSandbox(), Limits()})
    findings.push_back(std::move(finding));
  return findings;
}

}  // namespace wharf::cli
