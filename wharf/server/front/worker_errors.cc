#include "wharf/server/front/worker_errors.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace wharf::server {
namespace {

constexpr size_t kPiece = 64 << 10;  // what a pipe holds
constexpr int kLastPieces = 16;      // at the end: something that a worker has started may still write

void WriteAll(int to, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(to, text.data(), text.size());
    if (written < 0 && errno != EINTR) return;
    if (written > 0) text.remove_prefix(static_cast<size_t>(written));
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<WorkerErrors>> WorkerErrors::Start(int to) {
  struct stat facts {};
  if (fstat(to, &facts) != 0 || !S_ISSOCK(facts.st_mode)) return nullptr;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return ErrnoStatus(errno, "pipe");
  link::UniqueFd from(ends[0]), workers(ends[1]), over(eventfd(0, EFD_CLOEXEC));
  if (over.get() < 0) return ErrnoStatus(errno, "eventfd");
  return std::unique_ptr<WorkerErrors>(new WorkerErrors(to, std::move(from), std::move(workers), std::move(over)));
}

WorkerErrors::WorkerErrors(int to, link::UniqueFd from, link::UniqueFd workers, link::UniqueFd over)
    : to_(to), from_(std::move(from)), workers_(std::move(workers)), over_(std::move(over)) {
  thread_ = std::thread([this] { Carry(); });
}

WorkerErrors::~WorkerErrors() {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t told = write(over_.get(), &one, sizeof(one));
  thread_.join();
}

// Whole lines, that the daemon's do not come between.
void WorkerErrors::Carry() {
  std::array<char, kPiece> piece;
  std::string line;  // the beginning of one
  int last = 0;
  while (last < kLastPieces) {
    pollfd events[2] = {{from_.get(), POLLIN, 0}, {over_.get(), POLLIN, 0}};
    if (poll(events, 2, -1) < 0) continue;  // a signal
    if (events[1].revents != 0) ++last;
    if (events[0].revents == 0) break;
    const ssize_t got = read(from_.get(), piece.data(), piece.size());
    if (got <= 0) continue;
    line.append(piece.data(), static_cast<size_t>(got));
    const size_t end = line.size() < kPiece ? line.rfind('\n') + 1 : line.size();
    WriteAll(to_, std::string_view(line).substr(0, end));
    line.erase(0, end);
  }
  WriteAll(to_, line);
}

}  // namespace wharf::server
