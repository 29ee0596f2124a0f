#include "wharf/base/sandbox/sandbox.h"

#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>

#include "wharf/base/sandbox/limits.h"
#include "wharf/base/sandbox/seccomp_filter.h"

namespace wharf {
namespace {

absl::Status Limit(decltype(RLIMIT_CORE) resource, rlim_t most, std::string_view name) {
  const rlimit limit{most, most};
  return setrlimit(resource, &limit) == 0 ? absl::OkStatus() : ErrnoStatus(errno, name);
}

}  // namespace

absl::Status EnterSandbox(const SandboxPolicy& policy) {
  tzset();  // log lines have local times, for which a file is read once
  WHARF_RETURN_IF_ERROR(Limit(RLIMIT_CORE, 0, "setrlimit(RLIMIT_CORE)"));
  if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) return ErrnoStatus(errno, "prctl(PR_SET_DUMPABLE)");
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return ErrnoStatus(errno, "prctl(PR_SET_NO_NEW_PRIVS)");
  if (!policy.files_grow) WHARF_RETURN_IF_ERROR(Limit(RLIMIT_FSIZE, 0, "setrlimit(RLIMIT_FSIZE)"));
  if (policy.address_space) {
    WHARF_RETURN_IF_ERROR(Limit(RLIMIT_AS, *policy.address_space, "setrlimit(RLIMIT_AS)"));
  }
  if (policy.descriptors) WHARF_RETURN_IF_ERROR(LimitDescriptors(*policy.descriptors));
  WHARF_ASSIGN_OR_RETURN(std::vector<sock_filter> filter, MakeFilter(policy));
  if (filter.empty()) return absl::OkStatus();
  const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) != 0) {
    return ErrnoStatus(errno, "seccomp");
  }
  return absl::OkStatus();
}

absl::Status TrySandbox() {
  const SandboxPolicy any{.rules = {{SYS_reboot, {}, Verdict::kRefuse}}};
  const pid_t child = fork();
  if (child == 0) _exit(EnterSandbox(any).ok() ? 0 : 1);
  if (child < 0) return ErrnoStatus(errno, "fork");
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return absl::OkStatus();
  return FailedPrecondition(
      "system calls cannot be filtered here, and no server runs without, --sandbox=weak or not: the kernel must have "
      "CONFIG_SECCOMP_FILTER, and a container must permit the call seccomp");
}

}  // namespace wharf
