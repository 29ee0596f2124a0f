#include "wharf/server/sandbox.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <vector>

#include "wharf/base/seccomp_architecture.h"

namespace wharf::server {
namespace {

constexpr uint32_t kForbidden[] = {SYS_ptrace,
                                   SYS_process_vm_readv,
                                   SYS_process_vm_writev,
                                   SYS_mount,
                                   SYS_umount2,
                                   SYS_pivot_root,
                                   SYS_chroot,
                                   SYS_setns,
                                   SYS_unshare,
                                   SYS_init_module,
                                   SYS_finit_module,
                                   SYS_delete_module,
                                   SYS_kexec_load,
                                   SYS_reboot,
                                   SYS_swapon,
                                   SYS_swapoff,
                                   SYS_bpf,
                                   SYS_perf_event_open,
                                   SYS_userfaultfd,
                                   SYS_keyctl,
                                   SYS_add_key,
                                   SYS_request_key,
                                   SYS_acct,
                                   SYS_sethostname,
                                   SYS_setdomainname,
                                   SYS_settimeofday,
                                   SYS_clock_settime,
                                   SYS_quotactl,
                                   SYS_name_to_handle_at,
                                   SYS_open_by_handle_at,
                                   SYS_personality,
                                   SYS_io_uring_setup,
                                   SYS_io_uring_enter,
                                   SYS_io_uring_register,
                                   SYS_pidfd_getfd};
constexpr uint32_t kForbiddenWithoutGpu[] = {SYS_execve, SYS_execveat, SYS_socket, SYS_bind,
                                             SYS_listen, SYS_connect,  SYS_accept, SYS_accept4};

void Forbid(uint32_t call, std::vector<sock_filter>& program) {
  program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1));
  program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM));
}

std::vector<sock_filter> Filter(bool for_gpu) {
  std::vector<sock_filter> program = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kSeccompArchitecture, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
  };
#if defined(__x86_64__)
  // The x32 numbers are another way to the same calls.
  program.push_back(BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1));
  program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM));
#endif
  for (const uint32_t call : kForbidden) Forbid(call, program);
  if (!for_gpu) {
    for (const uint32_t call : kForbiddenWithoutGpu) Forbid(call, program);
  }
  program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  return program;
}

}  // namespace

absl::Status EnterSandbox(bool for_gpu) {
  const rlimit no_core{0, 0};
  if (setrlimit(RLIMIT_CORE, &no_core) != 0) return ErrnoStatus(errno, "setrlimit(RLIMIT_CORE)");
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return ErrnoStatus(errno, "prctl(PR_SET_NO_NEW_PRIVS)");
  if constexpr (kSeccompArchitecture == 0) return absl::OkStatus();
  std::vector<sock_filter> filter = Filter(for_gpu);
  const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  // All threads, those a library has started before too.
  if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) != 0) {
    return ErrnoStatus(errno, "seccomp");
  }
  return absl::OkStatus();
}

}  // namespace wharf::server
