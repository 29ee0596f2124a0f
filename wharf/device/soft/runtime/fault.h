// Turns hardware faults of kernels (SIGSEGV, SIGBUS, SIGFPE, SIGILL, on AArch64 SIGTRAP) into a return to the worker
// that runs the kernel. Faults outside kernels go to the handler that was installed before.
#pragma once

#include <csignal>
#include <cstdint>

#include "wharf/base/status.h"
#include "wharf/device/soft/runtime/fiber.h"

namespace wharf::device::soft {

// Per OS thread that runs kernels. While `armed`, a fault restores `main` with `signal` set.
struct FaultFrame {
  Context* main = nullptr;
  volatile bool armed = false;
  volatile int signal = 0;
  volatile uintptr_t address = 0;
  volatile bool address_known = false;
};

// Installs the handlers, once a process.
absl::Status InstallFaultHandlers();

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
