#include "wharf/device/soft/runtime/fault.h"

#include <link.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <vector>

#include "absl/base/const_init.h"
#include "absl/synchronization/mutex.h"
#include "wharf/device/soft/processor/stack_switch.h"

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

struct CodeRange {
  uintptr_t begin = 0, end = 0;
};
using LoadedCode = std::vector<CodeRange>;
std::atomic<const LoadedCode*> g_loaded_code{nullptr};

int AddLoadedCode(dl_phdr_info* info, size_t, void* opaque) {
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
    const uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
    static_cast<LoadedCode*>(opaque)->push_back({begin, begin + segment.p_memsz});
  }
  return 0;
}

bool IsKernelCode(uintptr_t address) {
  const LoadedCode* const loaded = g_loaded_code.load(std::memory_order_acquire);
  return loaded != nullptr && std::none_of(loaded->begin(), loaded->end(), [&](const CodeRange& range) {
           return address >= range.begin && address < range.end;
         });
}

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
void LeaveKernel(FaultFrame& frame, int signal, void* opaque) {
  frame.armed = false;
  frame.signal = signal;
  BeforeRestore(*frame.main);
  RestoreOnReturn(opaque, frame.main->stack_pointer);
}

void OnFault(int signal, siginfo_t* info, void* opaque) {
  FaultFrame* frame = t_frame;
  if (frame == nullptr || !frame->armed || WasSent(*info)) return Chain(signal, info, opaque);
  frame->address = reinterpret_cast<uintptr_t>(info->si_addr);
  frame->address_known = info->si_code != SI_KERNEL;  // the CPU tells no address for non-canonical ones
  LeaveKernel(*frame, signal, opaque);
}

void OnInterrupt(int signal, siginfo_t* info, void* opaque) {
  FaultFrame* frame = t_frame;
  if (!WasSent(*info)) return Chain(signal, info, opaque);  // the process has used up its time
  if (frame == nullptr || !frame->armed || !frame->stopped->load() || !IsKernelCode(InterruptedAt(opaque))) return;
  LeaveKernel(*frame, signal, opaque);
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
    action.sa_sigaction = &OnInterrupt;
    action.sa_flags |= SA_RESTART;
    return sigaction(kInterrupt, &action, &g_previous[kInterrupt]) == 0 ? 0 : errno;
  }();
  return error == 0 ? absl::OkStatus() : ErrnoStatus(error, "installing fault handlers");
}

void NoteLoadedCode() {
  // Earlier ones stay: a handler may be reading them. There are few, as few kernels are interrupted.
  static absl::Mutex mutex(absl::kConstInit);
  static auto* const all = new std::vector<std::unique_ptr<const LoadedCode>>;
  auto loaded = std::make_unique<LoadedCode>();
  dl_iterate_phdr(&AddLoadedCode, loaded.get());
  absl::MutexLock lock(&mutex);
  g_loaded_code.store(loaded.get(), std::memory_order_release);
  all->push_back(std::move(loaded));
}

ScopedFaultFrame::ScopedFaultFrame(FaultFrame& frame) {
  t_frame = &frame;
  // A thread inherits its maker's mask, and a fault whose signal is blocked ends the process.
  sigset_t faults;
  sigemptyset(&faults);
  for (const int signal : kSignals) sigaddset(&faults, signal);
  sigaddset(&faults, kInterrupt);
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
