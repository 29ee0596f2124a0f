#include "wharf/server/daemon/device_probe.h"

#include <poll.h>
#include <sys/wait.h>

#include "wharf/server/process/control_codec.h"

namespace wharf::server {
namespace {

constexpr int kTimeoutMs = 120'000;  // a GPU driver's first start can be slow

}  // namespace

absl::StatusOr<ProbeResult> ProbeDevice(std::unique_ptr<WorkerProcess> worker) {
  absl::StatusOr<ProbeResult> result = Unavailable("it gave no answer");
  const absl::Status asked = SendControlBytes(worker->Control(), ControlKind::kProbe, {});
  pollfd answer{worker->Control(), POLLIN, 0};
  if (asked.ok() && poll(&answer, 1, kTimeoutMs) > 0) {
    const absl::StatusOr<ControlMessage> message = ReceiveControl(worker->Control());
    result = message.ok() ? DecodeControl<ProbeResult>(*message, ControlKind::kProbeResult) : message.status();
  }
  worker->Kill();
  waitpid(worker->Pid(), nullptr, 0);
  if (!result.ok()) return Internal("the process that looks for a device failed: {}", Message(result.status()));
  if (result->driver.empty()) return Unavailable("{}", result->problem);
  return result;
}

}  // namespace wharf::server
