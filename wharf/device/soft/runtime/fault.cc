#include "wharf/device/soft/runtime/fault.h"

#include <sys/mman.h>

#include <array>
#include <cerrno>

namespace wharf::device::soft {
namespace {

// A trap is an instruction that does not exist on x86-64, and a breakpoint on AArch64.
#if defined(__aarch64__)
constexpr std::array kSignals{SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};
#else
constexpr std::array kSignals{SIGSEGV, SIGBUS, SIGFPE, SIGILL};
#endif
constexpr size_t kSignalStackBytes = 64 << 10;

struct sigaction g_previous[NSIG];
thread_local FaultFrame* t_frame = nullptr;

// By kill or sigqueue, rather than by the hardware.
bool WasSent(const siginfo_t& info) { return info.si_code <= 0; }

void Chain(int signal, siginfo_t* info, void* context) {
  const struct sigaction& previous = g_previous[signal];
  if ((previous.sa_flags & SA_SIGINFO) != 0) return previous.sa_sigaction(signal, info, context);
  if (previous.sa_handler == SIG_IGN) return;
  if (previous.sa_handler != SIG_DFL) return previous.sa_handler(signal);
  // Default action: returning re-executes the faulting instruction, which then ends the process with the right signal.
  sigaction(signal, &previous, nullptr);
  if (WasSent(*info)) raise(signal);  // no instruction to execute again; delivered on return
}

// Does not unwind the kernel: compiled code owns nothing. Returning from the handler "to" wharf_restore_stack rather
// than jumping out of it keeps the signal mask right.
void OnFault(int signal, siginfo_t* info, void* opaque) {
  FaultFrame* frame = t_frame;
  if (frame == nullptr || !frame->armed || WasSent(*info)) return Chain(signal, info, opaque);
  frame->armed = false;
  frame->signal = signal;
  frame->address = reinterpret_cast<uintptr_t>(info->si_addr);
  frame->address_known = info->si_code != SI_KERNEL;  // the CPU tells no address for non-canonical ones
  BeforeRestore(*frame->main);
  RestoreOnReturn(opaque, frame->main->stack_pointer);
}

}  // namespace

absl::Status InstallFaultHandlers() {
  static const int error = [] {
    struct sigaction action {};
    action.sa_sigaction = &OnFault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    for (const int signal : kSignals) {
      if (sigaction(signal, &action, &g_previous[signal]) != 0) return errno;
    }
    return 0;
  }();
  return error == 0 ? absl::OkStatus() : ErrnoStatus(error, "installing fault handlers");
}

ScopedFaultFrame::ScopedFaultFrame(FaultFrame& frame) {
  t_frame = &frame;
  // A thread inherits its maker's mask, and a fault whose signal is blocked ends the process.
  sigset_t faults;
  sigemptyset(&faults);
  for (const int signal : kSignals) sigaddset(&faults, signal);
  pthread_sigmask(SIG_UNBLOCK, &faults, nullptr);
  stack_ = mmap(nullptr, kSignalStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (stack_ == MAP_FAILED) {
    stack_ = nullptr;  // faults of this thread end the process; nothing else is lost
    return;
  }
  stack_t stack{};
  stack.ss_sp = stack_;
  stack.ss_size = kSignalStackBytes;
  sigaltstack(&stack, &previous_);
}

ScopedFaultFrame::~ScopedFaultFrame() {
  t_frame = nullptr;
  if (stack_ == nullptr) return;
  sigaltstack(&previous_, nullptr);
  munmap(stack_, kSignalStackBytes);
}

}  // namespace wharf::device::soft
