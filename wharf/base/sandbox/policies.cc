#include "wharf/base/sandbox/policies.h"

#include <sys/syscall.h>

#include <iterator>
#include <utility>

namespace wharf {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;  // its runtime takes address space by the terabyte, and reads files when it reports
#else
constexpr bool kSanitized = false;
#endif

constexpr uint32_t kWorkerRefused[] = {SYS_ptrace,
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
constexpr uint32_t kWorkerRefusedWithoutGpu[] = {SYS_execve, SYS_execveat, SYS_socket, SYS_bind,
                                                 SYS_listen, SYS_connect,  SYS_accept, SYS_accept4};

// For pictures of kMaxSide x kMaxSide and what a progressive JPEG of one takes besides.
constexpr uint64_t kDecoderMemory = 512 << 20;
constexpr uint32_t kDecoderAllowed[] = {SYS_read,         SYS_write,  SYS_sendto,    SYS_brk,      SYS_mmap,
                                        SYS_munmap,       SYS_mremap, SYS_madvise,   SYS_mprotect, SYS_futex,
                                        SYS_rt_sigreturn, SYS_exit,   SYS_exit_group};

}  // namespace

SandboxPolicy WorkerPolicy(bool for_gpu) {
  std::vector<uint32_t> refused(std::begin(kWorkerRefused), std::end(kWorkerRefused));
  if (!for_gpu) {
    refused.insert(refused.end(), std::begin(kWorkerRefusedWithoutGpu), std::end(kWorkerRefusedWithoutGpu));
  }
  return {.calls = std::move(refused),
          .listed = Verdict::kRefuse,
          .others = Verdict::kAllow,
          .foreign = Verdict::kRefuse,
          .address_space = std::nullopt};
}

SandboxPolicy DecoderPolicy() {
  if (kSanitized) {
    return {.calls = {},
            .listed = Verdict::kAllow,
            .others = Verdict::kAllow,
            .foreign = Verdict::kAllow,
            .address_space = std::nullopt};
  }
  return {.calls = {std::begin(kDecoderAllowed), std::end(kDecoderAllowed)},
          .listed = Verdict::kAllow,
          .others = Verdict::kKill,
          .foreign = Verdict::kKill,
          .address_space = kDecoderMemory};
}

}  // namespace wharf
