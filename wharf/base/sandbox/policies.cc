#include "wharf/base/sandbox/policies.h"

#include <asm/unistd.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <initializer_list>
#include <utility>

#include "wharf/base/sandbox/system_calls.h"

namespace wharf {
namespace {

using Rules = std::vector<CallRule>;

void Add(Rules& rules, Verdict verdict, std::initializer_list<uint32_t> calls) {
  for (const uint32_t call : calls) rules.push_back({call, {}, verdict});
}
void Allow(Rules& rules, std::initializer_list<uint32_t> calls) { Add(rules, Verdict::kAllow, calls); }
void Refuse(Rules& rules, std::initializer_list<uint32_t> calls) { Add(rules, Verdict::kRefuse, calls); }
void AllowIf(Rules& rules, uint32_t call, std::vector<ArgumentIs> when) {
  rules.push_back({call, std::move(when), Verdict::kAllow});
}
// For each of the values that argument number `argument` may have.
void AllowValues(Rules& rules, uint32_t call, uint32_t argument, std::initializer_list<uint64_t> values) {
  for (const uint64_t value : values) AllowIf(rules, call, {{.argument = argument, .value = value}});
}

// The kernel takes an int of these arguments.
constexpr uint64_t kInt = 0xffffffff;

enum class Code {
  kNone,
  kWrittenThenExecuted,  // compiled code is never writable and executable at once
  kAny                   // oneDNN asks for both
};

void AllowMemory(Rules& rules, Code code) {
  Allow(rules, {SYS_madvise, SYS_munmap, SYS_mremap, SYS_brk});
  // Private memory that does not grow by itself: the other kinds do not count for a limit of memory.
  AllowIf(rules, SYS_mmap,
          {{.argument = 2, .value = 0, .mask = PROT_EXEC},
           {.argument = 3, .value = MAP_PRIVATE, .mask = MAP_TYPE | MAP_GROWSDOWN}});
  if (code == Code::kAny) return Allow(rules, {SYS_mprotect});
  AllowIf(rules, SYS_mprotect, {{.argument = 2, .value = 0, .mask = PROT_EXEC}});
  if (code == Code::kWrittenThenExecuted) {
    AllowIf(rules, SYS_mprotect, {{.argument = 2, .value = PROT_EXEC, .mask = PROT_EXEC | PROT_WRITE}});
  }
}

void AllowThreads(Rules& rules) {
  // What pthread_create asks for, and nothing that makes a process or a name space. clone3 has its flags in memory,
  // where a filter does not see them: libraries fall back to clone.
  constexpr uint64_t kThread = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
                               CLONE_SETTLS | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;
  AllowIf(rules, SYS_clone, {{.argument = 0, .value = kThread}});
  Add(rules, Verdict::kAbsent, {SYS_clone3});
  Allow(rules, {SYS_set_robust_list, SYS_rseq, SYS_gettid, SYS_getpid, SYS_sched_yield, SYS_sched_getaffinity,
                SYS_sched_getparam, SYS_sched_getscheduler, SYS_exit, SYS_exit_group});
  AllowValues(rules, SYS_prctl, 0, {PR_SET_NAME, PR_GET_NAME});
  // Of the calling thread (that is what 0 means), downwards.
  AllowIf(rules, SYS_setpriority, {{.argument = 0, .value = PRIO_PROCESS, .mask = kInt}, {.argument = 1, .value = 0}});
}

void AllowSignals(Rules& rules) {
  Allow(rules, {SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_sigaltstack});
  AllowIf(rules, SYS_tgkill, {{.argument = 0, .mask = kInt, .own_process = true}});
}

void AllowClocksAndRandomNumbers(Rules& rules) {
  Allow(rules, {SYS_clock_gettime, SYS_gettimeofday, SYS_clock_nanosleep, SYS_nanosleep, SYS_restart_syscall,
                SYS_getrandom, SYS_getrusage, SYS_sysinfo});
  // Asking for a limit, not setting one.
  AllowIf(rules, SYS_prlimit64, {{.argument = 0, .value = 0}, {.argument = 2, .value = 0}});
}

// Descriptors that are there, or come with a message.
void AllowDescriptors(Rules& rules) {
  Allow(rules, {SYS_read, SYS_write, SYS_readv, SYS_writev, SYS_recvfrom, SYS_recvmsg, SYS_ppoll, SYS_close,
                SYS_shutdown, SYS_pread64, SYS_fstat, SYS_eventfd2, SYS_getpeername, SYS_getsockname, SYS_getsockopt});
#if defined(__x86_64__)
  Allow(rules, {SYS_poll});
#endif
  // TCP Fast Open would connect by sending; so would a datagram with an address, but no such socket can be had. Data
  // out of band nobody needs, and the kernel's code for those of Unix sockets has been a way out of sandboxes.
  constexpr uint64_t kNoFlags = MSG_FASTOPEN | MSG_OOB;
  AllowIf(rules, SYS_sendmsg, {{.argument = 2, .value = 0, .mask = kNoFlags}});
  AllowIf(rules, SYS_sendto, {{.argument = 3, .value = 0, .mask = kNoFlags}, {.argument = 4, .value = 0}});
  AllowIf(rules, SYS_socketpair,
          {{.argument = 0, .value = AF_UNIX, .mask = kInt},
           {.argument = 1, .value = SOCK_STREAM, .mask = kInt & ~uint64_t{SOCK_CLOEXEC | SOCK_NONBLOCK}}});
  for (const uint64_t option : {SO_KEEPALIVE, SO_RCVTIMEO, SO_SNDTIMEO, SO_SNDBUF, SO_RCVBUF}) {
    AllowIf(rules, SYS_setsockopt,
            {{.argument = 1, .value = SOL_SOCKET, .mask = kInt}, {.argument = 2, .value = option, .mask = kInt}});
  }
  // Not TCP_ULP, which has the kernel do TLS, or TCP_REPAIR, and their like.
  for (const uint64_t option : {TCP_NODELAY, TCP_KEEPIDLE, TCP_KEEPINTVL, TCP_KEEPCNT, TCP_USER_TIMEOUT}) {
    AllowIf(rules, SYS_setsockopt,
            {{.argument = 1, .value = IPPROTO_TCP, .mask = kInt}, {.argument = 2, .value = option, .mask = kInt}});
  }
  AllowValues(rules, SYS_fcntl, 1, {F_DUPFD_CLOEXEC, F_GETFD, F_SETFD, F_GETFL, F_SETFL});
}

// Files by paths: what is below the root.
void AllowFiles(Rules& rules) {
  Allow(rules, {SYS_openat, SYS_newfstatat, SYS_statx, SYS_getdents64, SYS_unlinkat, SYS_renameat, SYS_mkdirat,
                SYS_utimensat});
#if defined(__x86_64__)
  Allow(rules, {SYS_open, SYS_stat, SYS_lstat, SYS_unlink, SYS_rename, SYS_mkdir});
#endif
  // A lock of the open file, if it is this user's.
  AllowValues(rules, SYS_fcntl, 1, {F_OFD_SETLK});
  Allow(rules, {SYS_geteuid});
}

// What libraries try and do without: files of settings, whether standard error is a terminal. A path is never opened,
// and what is in a file that standard error is, is not written over.
void RefuseProbing(Rules& rules) {
  Refuse(rules, {SYS_openat, SYS_newfstatat, SYS_statx, SYS_faccessat, SYS_faccessat2, SYS_readlinkat, SYS_getdents64,
                 SYS_getcwd, SYS_lseek, SYS_ioctl, SYS_uname, SYS_sched_setaffinity, SYS_prctl, SYS_setpriority,
                 SYS_setsockopt, SYS_prlimit64, SYS_mbind, SYS_get_mempolicy});
#if defined(__x86_64__)
  Refuse(rules, {SYS_open, SYS_stat, SYS_lstat, SYS_access, SYS_readlink});
#endif
}

// It has its sockets and a few events.
constexpr uint64_t kWorkerDescriptors = 128;
// What a driver opens for one GPU: a program of its user's would have no more without asking (ulimit -Sn).
constexpr uint64_t kDriverDescriptors = 1024;

SandboxPolicy ProcessorWorkerPolicy(Code code) {
  if (kSanitized) return GpuWorkerPolicy();
  Rules rules;
  Allow(rules, {SYS_futex});
  AllowDescriptors(rules);
  AllowMemory(rules, code);
  AllowThreads(rules);
  AllowSignals(rules);
  AllowClocksAndRandomNumbers(rules);
  RefuseProbing(rules);
  return {.rules = std::move(rules),
          .others = Verdict::kKill,
          .foreign = Verdict::kKill,
          .descriptors = kWorkerDescriptors};
}

// What a server does besides (server/front): accept, wait for those that say nothing yet, and for the signal that ends
// it.
void AllowServing(Rules& rules) {
  Allow(rules, {SYS_accept, SYS_accept4, SYS_epoll_create1, SYS_epoll_ctl, SYS_epoll_pwait, SYS_rt_sigtimedwait});
#if defined(__x86_64__)
  Allow(rules, {SYS_epoll_wait});
#endif
  AllowValues(rules, SYS_ioctl, 1, {FIONREAD});  // whether they have said anything
}

// TCP, to whatever address: that is in memory, where a filter does not see it. No other sockets can be connected: those
// that there are, of a pair, are connected already.
void AllowTcp(Rules& rules) {
  for (const uint64_t family : {AF_INET, AF_INET6}) {
    for (const uint64_t protocol : {0, static_cast<int>(IPPROTO_TCP)}) {
      AllowIf(rules, SYS_socket,
              {{.argument = 0, .value = family, .mask = kInt},
               {.argument = 1, .value = SOCK_STREAM, .mask = kInt & ~uint64_t{SOCK_CLOEXEC | SOCK_NONBLOCK}},
               {.argument = 2, .value = protocol, .mask = kInt}});
    }
  }
  Allow(rules, {SYS_connect});
}

SandboxPolicy ServerPolicy(bool connects) {
  Rules rules;
  Allow(rules, {SYS_futex});
  AllowDescriptors(rules);
  AllowServing(rules);
  if (connects) AllowTcp(rules);
  AllowMemory(rules, Code::kAny);
  AllowThreads(rules);
  AllowSignals(rules);
  AllowClocksAndRandomNumbers(rules);
  RefuseProbing(rules);
  // What a listener does at its end, and libcurl to find out about IPv6.
  Refuse(rules, {SYS_unlinkat, SYS_socket});
#if defined(__x86_64__)
  Refuse(rules, {SYS_unlink});
#endif
  return {.rules = std::move(rules), .others = Verdict::kKill, .foreign = Verdict::kKill};
}

void RefusePrivileges(Rules& rules) {
  Refuse(rules, {SYS_ptrace,
                 SYS_process_vm_readv,
                 SYS_process_vm_writev,
                 SYS_process_madvise,
                 SYS_kcmp,
                 SYS_mount,
                 SYS_umount2,
                 SYS_pivot_root,
                 SYS_chroot,
                 SYS_open_tree,
                 SYS_move_mount,
                 SYS_fsopen,
                 SYS_fsconfig,
                 SYS_fsmount,
                 SYS_fspick,
                 SYS_mount_setattr,
                 SYS_setns,
                 SYS_unshare,
                 SYS_init_module,
                 SYS_finit_module,
                 SYS_delete_module,
                 SYS_kexec_load,
                 SYS_kexec_file_load,
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
                 SYS_clock_adjtime,
                 SYS_adjtimex,
                 SYS_syslog,
                 SYS_vhangup,
                 SYS_quotactl,
                 SYS_name_to_handle_at,
                 SYS_open_by_handle_at,
                 SYS_personality,
                 SYS_io_uring_setup,
                 SYS_io_uring_enter,
                 SYS_io_uring_register,
                 SYS_pidfd_open,
                 SYS_pidfd_getfd,
                 SYS_pidfd_send_signal});
#if defined(__x86_64__)
  Refuse(rules, {SYS_iopl, SYS_ioperm, SYS_modify_ldt});
#endif
}

void RefusePrograms(Rules& rules) { Refuse(rules, {SYS_execve, SYS_execveat}); }

// Whoever has a name space of users of its own has every capability in it. clone3 has its flags in memory: as
// AllowThreads.
void RefuseNamespaces(Rules& rules) {
  constexpr uint64_t kNew =
      CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;
  AllowIf(rules, SYS_clone, {{.argument = 0, .value = 0, .mask = kNew}});
  Refuse(rules, {SYS_clone});
  Add(rules, Verdict::kAbsent, {SYS_clone3});
}

// What types into a terminal: the shell that a server was started from would execute it.
void RefuseTyping(Rules& rules) {
  for (const uint64_t request : {TIOCSTI, TIOCLINUX}) {
    rules.push_back({SYS_ioctl, {{.argument = 1, .value = request, .mask = kInt}}, Verdict::kRefuse});
  }
}

// What a process is refused to which everything else is allowed.
void RefuseEscapes(Rules& rules) {
  RefusePrivileges(rules);
  RefusePrograms(rules);
  RefuseNamespaces(rules);
  RefuseTyping(rules);
}

// With a vendor's driver.
SandboxPolicy DriverPolicy(bool connects) {
  Rules rules;
  RefuseEscapes(rules);
  // The driver listens on a Unix socket of its own.
  for (const uint64_t type : {SOCK_STREAM, SOCK_SEQPACKET}) {
    AllowIf(rules, SYS_socket,
            {{.argument = 0, .value = AF_UNIX, .mask = kInt},
             {.argument = 1, .value = type, .mask = kInt & ~uint64_t{SOCK_CLOEXEC | SOCK_NONBLOCK}}});
  }
  if (connects) AllowTcp(rules);
  Refuse(rules, {SYS_socket, SYS_connect});
  return {.rules = std::move(rules), .others = Verdict::kAllow, .foreign = Verdict::kRefuse};
}

// For pictures of kMaxSide x kMaxSide, what a progressive JPEG of one takes besides, and the stacks of its threads.
constexpr uint64_t kRelayMemory = 768 << 20;
constexpr uint64_t kRelayDescriptors = 16;
// A kernel that takes more to compile ends its own compiler, not the machine.
constexpr uint64_t kCompilerMemory = uint64_t{4} << 30;

}  // namespace

SandboxPolicy SoftWorkerPolicy() {
  SandboxPolicy policy = ProcessorWorkerPolicy(Code::kWrittenThenExecuted);
  if (kSanitized) return policy;
  // To lower it: nobody raises a hard limit.
  policy.rules.insert(
      policy.rules.begin(),
      {SYS_prlimit64, {{.argument = 0, .value = 0}, {.argument = 1, .value = RLIMIT_NOFILE}}, Verdict::kAllow});
  return policy;
}
SandboxPolicy ModelWorkerPolicy() { return ProcessorWorkerPolicy(Code::kAny); }

SandboxPolicy CompilerPolicy() {
  SandboxPolicy policy = ProcessorWorkerPolicy(Code::kNone);
  if (!kSanitized) policy.address_space = kCompilerMemory;
  return policy;
}

SandboxPolicy KeeperPolicy() {
  if (kSanitized) return NetworkedPolicy();
  Rules rules;
  Allow(rules, {SYS_futex});
  AllowFiles(rules);
  AllowDescriptors(rules);
  AllowMemory(rules, Code::kNone);
  // Its own thread is the only one that does anything, but OpenBLAS started some when the program was loaded: they
  // yield for a while before they sleep, and end with it.
  Allow(rules, {SYS_gettid, SYS_getpid, SYS_exit, SYS_exit_group, SYS_sched_yield});
  AllowSignals(rules);
  AllowClocksAndRandomNumbers(rules);
  RefuseProbing(rules);
  return {.rules = std::move(rules), .others = Verdict::kKill, .foreign = Verdict::kKill};
}

SandboxPolicy GpuWorkerPolicy() {
  SandboxPolicy policy = GpuServerPolicy();
  policy.descriptors = kDriverDescriptors;
  return policy;
}
SandboxPolicy GpuServerPolicy() { return DriverPolicy(/*connects=*/false); }
SandboxPolicy GpuPeerPolicy() { return DriverPolicy(/*connects=*/true); }

SandboxPolicy NetworkedPolicy() {
  Rules rules;
  RefuseEscapes(rules);
  return {.rules = std::move(rules), .others = Verdict::kAllow, .foreign = Verdict::kRefuse};
}

SandboxPolicy AcceptingServerPolicy() {
  if (kSanitized) return GpuServerPolicy();  // whose reports are files
  return ServerPolicy(/*connects=*/false);
}

SandboxPolicy PeerServerPolicy() {
  if (kSanitized) return NetworkedPolicy();
  return ServerPolicy(/*connects=*/true);
}

SandboxPolicy RelayPolicy() {
  SandboxPolicy policy = ProcessorWorkerPolicy(Code::kNone);
  if (kSanitized) return policy;
  policy.address_space = kRelayMemory;
  policy.descriptors = kRelayDescriptors;
  policy.files_grow = false;
  return policy;
}

}  // namespace wharf
