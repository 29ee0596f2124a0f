#include "wharf/cli/split/interruption.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "absl/synchronization/notification.h"
#include "absl/time/time.h"

namespace wharf::cli {
namespace {

constexpr unsigned char kNoSignal = 0;  // in the pipe: nobody listens any more

volatile sig_atomic_t remembered = 0;  // the first signal
int pipe_ends[2] = {-1, -1};           // from the handler to the thread

void OnSignal(int signal) {
  const int before = errno;
  if (remembered == 0) remembered = signal;
  const auto number = static_cast<unsigned char>(signal);
  // The pipe is full after thousands of signals: the thread has enough to read then.
  static_cast<void>(!write(pipe_ends[1], &number, 1));
  errno = before;
}

void Handle(void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;  // no SA_RESTART: reading standard input ends as well
  for (const int signal : {SIGINT, SIGTERM}) sigaction(signal, &action, nullptr);
}

}  // namespace

Interruption::Interruption() {
  remembered = 0;
  if (pipe2(pipe_ends, O_CLOEXEC | O_NONBLOCK) != 0) return;  // signals end the process, as everywhere
  fcntl(pipe_ends[0], F_SETFL, 0);
  sigset_t ours, before;  // of the two signals: what they interrupt is the command's work, not this thread
  sigemptyset(&ours);
  for (const int signal : {SIGINT, SIGTERM}) sigaddset(&ours, signal);
  pthread_sigmask(SIG_BLOCK, &ours, &before);
  thread_ = std::thread([this] { Loop(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  Handle(OnSignal);
}

Interruption::~Interruption() {
  if (!thread_.joinable()) return;
  Handle(SIG_DFL);
  while (write(pipe_ends[1], &kNoSignal, 1) < 0 && errno == EAGAIN) std::this_thread::yield();
  thread_.join();
  for (const int end : pipe_ends) close(end);
}

void Interruption::Remember() {
  absl::MutexLock lock(&mutex_);
  remember_ = true;
}

int Interruption::By() { return remembered; }

void Interruption::Connected(const std::shared_ptr<split::ServerConnection>& server) {
  absl::MutexLock lock(&mutex_);
  server_ = server;
}

void Interruption::Loop() {
  unsigned char signal = kNoSignal;
  while (read(pipe_ends[0], &signal, 1) == 1 && signal != kNoSignal) {
    absl::MutexLock lock(&mutex_);
    if (!remember_) break;
    remember_ = false;  // the next one ends the process
  }
  if (signal != kNoSignal) End(signal);
}

void Interruption::End(int signal) {
  constexpr absl::Duration kFarewell = absl::Milliseconds(500);  // a link that is full may take nothing any more
  std::shared_ptr<split::ServerConnection> server;
  {
    absl::MutexLock lock(&mutex_);
    server = server_.lock();
  }
  static absl::Notification told;
  if (server != nullptr) {
    std::thread([server] {
      server->Leave();
      told.Notify();
    }).detach();
    told.WaitForNotificationWithTimeout(kFarewell);
  }
  const char* const erase = isatty(STDERR_FILENO) != 0 ? "\r\033[K" : "";  // the line of progress
  dprintf(STDERR_FILENO, "%swharf: interrupted\n", erase);
  _exit(128 + signal);
}

}  // namespace wharf::cli
