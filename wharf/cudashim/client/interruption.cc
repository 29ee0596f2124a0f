#include "wharf/cudashim/client/interruption.h"

#include <semaphore.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <functional>
#include <memory>
#include <system_error>
#include <utility>

#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "wharf/cudashim/client/process.h"
#include "wharf/link/threads.h"

namespace wharf::client {
namespace {

// A server that does not answer, or a kernel that never ends, keeps nobody from ending the program.
constexpr absl::Duration kPatience = absl::Seconds(5);

// A semaphore and no pipe: programs close descriptors that they did not open, and reuse their numbers.
sem_t interrupted;
std::atomic<int> interrupted_by{0};
static_assert(std::atomic<int>::is_always_lock_free);
pid_t owner = 0;

void OnSignal(int signal) {
  const int error = errno;
  if (getpid() == owner) {
    interrupted_by.store(signal);
    sem_post(&interrupted);
  } else {  // a forked child: it has no thread that would wake
    ::signal(signal, SIG_DFL);
    raise(signal);  // delivered when this returns
  }
  errno = error;
}

// As if there had been no handler.
[[noreturn]] void EndBy(int signal) {
  ::signal(signal, SIG_DFL);
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, signal);
  pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
  raise(signal);
  _exit(128 + signal);  // the first process of a container: signals do not end it by default
}

// False if the process may have no more threads.
bool StartDetached(const char* name, std::function<void()> body) {
  try {
    link::StartThread(name, std::move(body)).detach();
    return true;
  } catch (const std::system_error&) {
    return false;
  }
}

void AwaitInterruption() {
  while (sem_wait(&interrupted) != 0) {
  }
  const auto written = std::make_shared<absl::Notification>();
  const bool started = StartDetached("wharf-files", [written] {
    Process::Get().Interrupt();
    written->Notify();
  });
  if (!started || !written->WaitForNotificationWithTimeout(kPatience)) {
    TellUser("the server does not answer: no counters were written");
  }
  EndBy(interrupted_by.load());
}

}  // namespace

void WriteFilesWhenInterrupted() {
  static std::atomic<bool> done{false};
  if (done.exchange(true)) return;
  owner = getpid();
  sem_init(&interrupted, /*pshared=*/0, 0);
  if (!StartDetached("wharf-interrupt", AwaitInterruption)) return;
  for (const int signal : {SIGINT, SIGTERM}) {
    struct sigaction action {};
    if (sigaction(signal, nullptr, &action) != 0 || action.sa_handler != SIG_DFL) continue;
    action.sa_handler = OnSignal;
    action.sa_flags = SA_RESTART;
    sigaction(signal, &action, nullptr);
  }
}

}  // namespace wharf::client
