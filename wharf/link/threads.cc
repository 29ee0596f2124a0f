#include "wharf/link/threads.h"

#include <pthread.h>

#include <atomic>
#include <csignal>
#include <mutex>
#include <utility>

namespace wharf::link {
namespace {

std::atomic<uint64_t> fork_generation{0};

}  // namespace

std::thread StartThread(const char* name, std::function<void()> body) {
  sigset_t all, before;
  sigfillset(&all);
  // Faults stay deliverable: a blocked one ends the process whatever its handler would do, and threads that a frame
  // handler starts (kernels run on them) inherit this mask.
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP}) sigdelset(&all, fault);
  // The new thread inherits the mask, so there is no moment at which a handler of the program could run on it.
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread(std::move(body));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_setname_np(thread.native_handle(), name);
  return thread;
}

ForkGuard::ForkGuard() {
  static std::once_flag once;
  std::call_once(
      once, [] { pthread_atfork(nullptr, nullptr, [] { fork_generation.fetch_add(1, std::memory_order_relaxed); }); });
  generation_ = fork_generation.load(std::memory_order_relaxed);
}

bool ForkGuard::InChild() const { return fork_generation.load(std::memory_order_relaxed) != generation_; }

}  // namespace wharf::link
