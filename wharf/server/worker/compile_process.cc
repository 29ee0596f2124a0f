#include "wharf/server/worker/compile_process.h"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <optional>

#include "wharf/base/log.h"
#include "wharf/base/sandbox/policies.h"
#include "wharf/device/device.h"
#include "wharf/device/soft/jit/compile_service.h"
#include "wharf/server/process/control_codec.h"
#include "wharf/server/process/worker_setup.h"

namespace wharf::server {
namespace {

// Of the processor, for all kernels of a session.
constexpr rlim_t kMostSeconds = 600;
constexpr int kTooLong = 5;  // exit code

absl::Status LimitTime() {
  const rlimit limit{kMostSeconds, kMostSeconds};
  return setrlimit(RLIMIT_CPU, &limit) == 0 ? absl::OkStatus() : ErrnoStatus(errno, "setrlimit(RLIMIT_CPU)");
}

absl::Status Shut(const Configure& configure) {
  WHARF_RETURN_IF_ERROR(LimitTime());
  return Confine(configure, CompilerPolicy(), /*keeps_files=*/false, /*memory=*/std::nullopt);
}

}  // namespace

int RunCompiler(int control_socket, const Configure& configure) {
  prctl(PR_SET_NAME, "wharf-compiler", 0, 0, 0);  // for who looks at processes
  device::ReadMachineForSoftDevices();
  if (const absl::Status confined = Shut(configure); !confined.ok()) {
    Log(LogLevel::kError, "a compiler that cannot be confined compiles nothing", {{"why", Message(confined)}});
    return 3;
  }
  const absl::StatusOr<ControlMessage> order = ReceiveControl(control_socket);
  if (!order.ok() || order->kind != ControlKind::kAssign || order->fd < 0) return 0;
  SendControlBytes(control_socket, ControlKind::kTaken, {}).IgnoreError();
  const std::string& cache = configure.cache_directory;
  const absl::Status served =
      device::soft::ServeCompilations(order->fd, cache.empty() ? "" : cache + "/kernels",
                                      {Nanoseconds(configure.compile_limit_ns), [] { _exit(kTooLong); }});
  if (served.ok()) return 0;
  Log(LogLevel::kError, "kernels cannot be compiled", {{"why", Message(served)}});
  return 1;
}

}  // namespace wharf::server
