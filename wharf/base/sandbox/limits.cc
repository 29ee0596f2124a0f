#include "wharf/base/sandbox/limits.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

namespace wharf {

int MostThreads() { return 64 + 16 * static_cast<int>(std::max(1U, std::thread::hardware_concurrency())); }

absl::Status LimitMemory(uint64_t bytes) {
  std::ifstream file("/proc/self/statm");
  uint64_t size = 0, resident = 0, shared = 0, text = 0, unused = 0, data = 0;  // pages
  if (!(file >> size >> resident >> shared >> text >> unused >> data)) {
    return Unavailable("cannot read /proc/self/statm");
  }
  const rlim_t limit = data * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)) + bytes;
  const rlimit writable{limit, limit};
  return setrlimit(RLIMIT_DATA, &writable) == 0 ? absl::OkStatus() : ErrnoStatus(errno, "setrlimit(RLIMIT_DATA)");
}

absl::Status LimitDescriptors(uint64_t most) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return ErrnoStatus(errno, "getrlimit(RLIMIT_NOFILE)");
  limit.rlim_cur = limit.rlim_max = std::min<rlim_t>(most, limit.rlim_max);
  return setrlimit(RLIMIT_NOFILE, &limit) == 0 ? absl::OkStatus() : ErrnoStatus(errno, "setrlimit(RLIMIT_NOFILE)");
}

absl::StatusOr<ProcessUse> UseOf(pid_t process) {
  const std::string place = fmt::format("/proc/{}", process);
  std::ifstream file(place + "/status");
  ProcessUse use;
  for (std::string name; file >> name;) {
    uint64_t value = 0;
    if (name == "Threads:" && file >> value) use.threads = static_cast<int>(value);
    const bool counts = name == "RssAnon:" || name == "RssShmem:" || name == "VmSwap:" || name == "VmPTE:";
    if (counts && file >> value) use.memory += value << 10;
    file.ignore(1 << 16, '\n');
  }
  if (use.threads > 0 && use.memory > 0) return use;
  if (!std::filesystem::exists(place)) return NotFound("there is no process {}", process);
  return Unavailable("{}/status does not say what the process uses", place);
}

}  // namespace wharf
