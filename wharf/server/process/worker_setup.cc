#include "wharf/server/process/worker_setup.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <thread>

#include "wharf/base/sandbox/limits.h"
#include "wharf/base/sandbox/namespaces.h"
#include "wharf/server/process/control_codec.h"

namespace wharf::server {

absl::StatusOr<WorkerSetup> ReceiveSetup(int control_socket) {
  WHARF_ASSIGN_OR_RETURN(ControlMessage message, ReceiveControl(control_socket));
  WorkerSetup setup;
  WHARF_ASSIGN_OR_RETURN(setup.configure, DecodeControl<Configure>(message, ControlKind::kConfigure));
  explicit_bzero(message.body.data(), message.body.size());
  if (message.fd >= 0) {
    WHARF_ASSIGN_OR_RETURN(setup.shares, SharedPage::Map(message.fd));
  }
  return setup;
}

std::optional<uint64_t> ProgramMemory(const Configure& configure) {
  // Of one core: the stacks of 1024 suspendable threads, some local memory, a thread's own stack, OpenBLAS's buffer.
  constexpr uint64_t kOfACore = uint64_t{192} << 20;
  if (kSanitized || configure.device != "soft") return std::nullopt;
  const uint64_t cores = configure.threads > 0 ? static_cast<uint64_t>(configure.threads)
                                               : std::max(1U, std::thread::hardware_concurrency());
  return configure.memory_quota + configure.worker_memory + cores * kOfACore;
}

absl::Status Confine(const Configure& configure, const SandboxPolicy& policy, bool keeps_files,
                     std::optional<uint64_t> memory) {
  if (memory) WHARF_RETURN_IF_ERROR(LimitMemory(*memory));
  if (configure.isolated) {
    const FileSystem becomes = keeps_files || kSanitized ? FileSystem::kKept : FileSystem::kEmpty;
    WHARF_RETURN_IF_ERROR(LeaveFileSystem(kFileSystemDescriptor, becomes));
  }
  return EnterSandbox(policy);
}

void ArmKernelKeepAlive(int connection, Nanoseconds idle_timeout) {
  const int on = 1;
  const int seconds = std::max<int>(1, static_cast<int>(Seconds(idle_timeout)) / 4);
  const int probes = 4;
  const auto milliseconds = static_cast<unsigned>(std::max<int64_t>(1000, idle_timeout.count() / 1'000'000));
  setsockopt(connection, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
  setsockopt(connection, IPPROTO_TCP, TCP_KEEPIDLE, &seconds, sizeof(seconds));
  setsockopt(connection, IPPROTO_TCP, TCP_KEEPINTVL, &seconds, sizeof(seconds));
  setsockopt(connection, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof(probes));
  setsockopt(connection, IPPROTO_TCP, TCP_USER_TIMEOUT, &milliseconds, sizeof(milliseconds));
}

}  // namespace wharf::server
