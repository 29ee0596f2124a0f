#include "wharf/server/daemon/poll_loop.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <utility>

#include "wharf/base/log.h"

namespace wharf::server {
namespace {

std::atomic<pid_t> loop_process{0}, loop_thread{0};

// To the thread that blocks it, where it waits to be read.
void PassOn(int signal) {
  const int before = errno;
  if (getpid() == loop_process) syscall(SYS_tgkill, loop_process.load(), loop_thread.load(), signal);
  errno = before;
}

absl::Status PassOnAll(const sigset_t& signals) {
  loop_process = getpid();
  loop_thread = gettid();
  struct sigaction action {};
  action.sa_handler = PassOn;
  action.sa_flags = SA_RESTART;
  for (int signal = 1; signal < NSIG; ++signal) {
    if (sigismember(&signals, signal) != 1) continue;
    if (sigaction(signal, &action, nullptr) != 0) return ErrnoStatus(errno, "sigaction");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<PollLoop>> PollLoop::Create() {
  const int wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wake < 0) return ErrnoStatus(errno, "eventfd");
  return std::unique_ptr<PollLoop>(new PollLoop(wake));
}

PollLoop::PollLoop(int wake) : wake_(wake) {}

PollLoop::~PollLoop() {
  close(wake_);
  if (signals_ >= 0) close(signals_);
}

void PollLoop::Watch(int fd, std::function<void()> on_readable) {
  watched_[next_watch_++] = {fd, std::move(on_readable)};
}

void PollLoop::Forget(int fd) {
  std::erase_if(watched_, [fd](const auto& entry) { return entry.second.fd == fd; });
}

absl::Status PollLoop::WatchSignals(const sigset_t& signals, std::function<void(int signal)> on_signal) {
  if (pthread_sigmask(SIG_BLOCK, &signals, nullptr) != 0) return ErrnoStatus(errno, "pthread_sigmask");
  signals_ = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
  if (signals_ < 0) return ErrnoStatus(errno, "signalfd");
  WHARF_RETURN_IF_ERROR(PassOnAll(signals));
  on_signal_ = std::move(on_signal);
  return absl::OkStatus();
}

void PollLoop::Post(std::function<void()> event) {
  absl::MutexLock lock(&mutex_);
  posted_.push_back(std::move(event));
  eventfd_write(wake_, 1);
}

bool PollLoop::Turn(int timeout_ms) {
  std::vector<pollfd> events = {{wake_, POLLIN, 0}, {signals_, POLLIN, 0}};
  std::vector<uint64_t> numbers;
  for (const auto& [number, one] : watched_) {
    events.push_back({one.fd, POLLIN, 0});
    numbers.push_back(number);
  }
  const int ready = poll(events.data(), events.size(), timeout_ms);
  if (ready < 0) {
    if (errno != EINTR) Log(LogLevel::kError, "poll failed", {{"errno", errno}});
    return true;
  }
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (events[i + 2].revents == 0) continue;
    const auto found = watched_.find(numbers[i]);
    if (found == watched_.end()) continue;  // a handler before it forgot it
    const std::function<void()> handler = found->second.on_readable;
    handler();
  }
  if (events[1].revents != 0) ReadSignals();
  if (events[0].revents != 0) RunPosted();
  return ready > 0;
}

void PollLoop::ReadSignals() {
  signalfd_siginfo info{};
  while (read(signals_, &info, sizeof(info)) == sizeof(info)) on_signal_(static_cast<int>(info.ssi_signo));
}

void PollLoop::RunPosted() {
  std::vector<std::function<void()>> events;
  {
    absl::MutexLock lock(&mutex_);
    eventfd_t count = 0;
    eventfd_read(wake_, &count);
    events.swap(posted_);
  }
  for (const auto& event : events) event();
}

}  // namespace wharf::server
