#include "wharf/link/discovery/browse.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>

#include "wharf/base/subprocess/subprocess.h"

namespace wharf::link {
namespace {

constexpr size_t kMostOutput = 1 << 20;
constexpr Nanoseconds kFarewell = std::chrono::seconds(2);  // after SIGTERM it writes what it has found, and ends

int MillisecondsUntil(TimePoint time) {
  const int64_t left = (time - Clock::Real().Now()).count() / 1'000'000 + 1;
  return static_cast<int>(std::clamp<int64_t>(left, 0, 3'600'000));
}

// Appends what comes until its end, or until `deadline`. False: there may be more.
bool ReadUntil(int descriptor, TimePoint deadline, std::string& output) {
  std::array<char, 4096> buffer;
  while (output.size() < kMostOutput) {
    pollfd readable = {descriptor, POLLIN, 0};
    const int ready = poll(&readable, 1, MillisecondsUntil(deadline));
    if (ready == 0) return false;
    const ssize_t got = ready < 0 ? -1 : read(descriptor, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return true;
    output.append(buffer.data(), static_cast<size_t>(got));
  }
  return false;
}

}  // namespace

absl::StatusOr<std::vector<Announcement>> Browse(const std::string& program, const std::string& type,
                                                 Nanoseconds patience) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return ErrnoStatus(errno, "pipe");
  sigset_t none;
  sigemptyset(&none);
  auto process = Subprocess::Start(
      {.path = program,
       .arguments = {kBrowseProgram, "--parsable", "--resolve", "--terminate", "--no-db-lookup", type},
       .descriptors = {kDevNull, ends[1], kDevNull},
       .own_group = true,
       .blocked = none,
       .parent_death_signal = SIGKILL});
  close(ends[1]);
  std::string output;
  std::optional<ProcessEnd> end;
  if (process.ok()) {
    const bool whole = ReadUntil(ends[0], Clock::Real().Now() + patience, output);
    if (!whole) {
      process->Signal(SIGTERM);
      ReadUntil(ends[0], Clock::Real().Now() + kFarewell, output);
    } else {
      end = process->Wait();
    }
  }
  close(ends[0]);
  if (!process.ok()) return Unavailable("{}", Message(process.status()));
  if (end && *end != ProcessEnd{}) {
    return Unavailable("{} finds nobody to ask: start avahi-daemon on this machine", kBrowseProgram);
  }
  return ParseAnnouncements(output, type);
}

}  // namespace wharf::link
