// Turns hardware faults of kernels (SIGSEGV, SIGBUS, SIGFPE, SIGILL, on AArch64 SIGTRAP) into a return to the worker
// that runs the kernel. Faults outside kernels go to the handler that was installed before. A kernel that goes on when
// its run has been stopped is left in the same way, where kInterrupt finds it.
#pragma once

#include <pthread.h>

#include <atomic>
#include <csignal>
#include <cstdint>

#include "wharf/base/status.h"
#include "wharf/device/soft/runtime/fiber.h"

namespace wharf::device::soft {

// Sent to a thread, it leaves a kernel whose run has been stopped, if it is in the kernel's own code: in the runtime's
// functions it may hold a lock. The default action ends the process, so install the handlers first.
inline constexpr int kInterrupt = SIGXCPU;

// Per OS thread that runs kernels. While `armed`, a fault restores `main` with `signal` set.
struct FaultFrame {
  Context* main = nullptr;
  const std::atomic<bool>* stopped = nullptr;  // of what runs
  volatile bool armed = false;
  volatile int signal = 0;
  volatile uintptr_t address = 0;
  volatile bool address_known = false;
};

// Installs the handlers, once a process.
absl::Status InstallFaultHandlers();
// Notes which code is not a kernel's: the program's and its libraries', as of now. Call it before kInterrupt is sent.
void NoteLoadedCode();

// Gives the calling thread a signal stack of its own and makes `frame` its fault frame, until destroyed.
class ScopedFaultFrame {
 public:
  explicit ScopedFaultFrame(FaultFrame& frame);
  ~ScopedFaultFrame();
  ScopedFaultFrame(const ScopedFaultFrame&) = delete;
  ScopedFaultFrame& operator=(const ScopedFaultFrame&) = delete;

 private:
  void* stack_ = nullptr;
  stack_t previous_{};
};

}  // namespace wharf::device::soft
