#include "wharf/base/sandbox/namespaces.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <string_view>

#include "wharf/base/sandbox/limits.h"
#include "wharf/base/sandbox/sandbox.h"
#include "wharf/base/sandbox/system_calls.h"

namespace wharf {
namespace {

constexpr int kNamespaces = CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS;
// Where the empty root is mounted until it is the root: any directory that every machine has.
constexpr const char* kPlace = "/proc";

// glibc's fork runs handlers, which may wait for a lock that a thread held that is not here any more.
pid_t BareFork(int flags) { return static_cast<pid_t>(syscall(SYS_clone, flags | SIGCHLD, nullptr, nullptr, 0, 0)); }

// Whether the file has taken all of it; else errno says why.
bool WriteFile(const char* path, std::string_view text) {
  const int file = open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0) return false;
  const bool written = write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const int error = errno;
  close(file);
  errno = error;
  return written;
}

void CloseFrom(unsigned first) {
  if (syscall(SYS_close_range, first, ~0U, 0) == 0) return;
  rlimit limit{};  // Linux before 5.9
  getrlimit(RLIMIT_NOFILE, &limit);
  for (rlim_t descriptor = first; descriptor < limit.rlim_cur; ++descriptor) close(static_cast<int>(descriptor));
}

// Puts an empty directory, that cannot be written to, in the place of the root of all processes in this mount name
// space, and forgets everything else.
bool EmptyRoot() {
  return mount("none", kPlace, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RDONLY, "size=4k") == 0 &&
         chdir(kPlace) == 0 && syscall(SYS_pivot_root, ".", ".") == 0 && umount2(".", MNT_DETACH) == 0 &&
         chdir("/") == 0;
}

// The same with a directory as it is.
bool RootAt(const char* directory) {
  return mount(directory, directory, nullptr, MS_BIND | MS_REC, nullptr) == 0 && chdir(directory) == 0 &&
         syscall(SYS_pivot_root, ".", ".") == 0 && umount2(".", MNT_DETACH) == 0 && chdir("/") == 0;
}

// Waits until the other end says what is to be the root: a path, or "" if it stays as it is; closed: it is to be empty.
[[noreturn]] void Keep(int end) {
  dup2(end, 0);
  CloseFrom(1);
  char path[PATH_MAX] = {};
  ssize_t got = 0;
  while ((got = read(0, path, sizeof(path) - 1)) < 0 && errno == EINTR) {
  }
  const bool done = got == 0 ? EmptyRoot() : got > 0 && (path[0] == '\0' || RootAt(path));
  _exit(done ? 0 : errno);
}

bool DropCapabilities() {
  for (int capability = 0; prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; ++capability) {
    if (prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0) return false;
  }
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[2]{};
  return syscall(SYS_capset, &header, none) == 0;
}

// In a process of its own, as an errno.
int TryHere(Isolation isolation) {
  const NewNamespaces namespaces(isolation);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return errno;
  const pid_t child = namespaces.Fork();
  if (child < 0) return errno;
  if (child == 0) {
    close(ends[1]);
    if (const int error = namespaces.Settle(ends[0]); error != 0) _exit(error);
    int status = 0;
    if (chdir("/") != 0 || waitpid(-1, &status, __WALL) < 0) _exit(errno);
    // What no path leads to any more.
    _exit(WEXITSTATUS(status) == 0 && access(kPlace, F_OK) == 0 ? EEXIST : WEXITSTATUS(status));
  }
  close(ends[1]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : EPROTO;
}

absl::Status Try(Isolation isolation) {
  const pid_t child = fork();
  if (child == 0) _exit(TryHere(isolation));
  if (child < 0) return ErrnoStatus(errno, "fork");
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status)) return Internal("signal {}", WTERMSIG(status));
  return WEXITSTATUS(status) == 0 ? absl::OkStatus() : ErrnoStatus(WEXITSTATUS(status), "setting them up");
}

}  // namespace

NewNamespaces::NewNamespaces(Isolation isolation, Network network)
    : isolation_(isolation),
      network_(network),
      user_map_(fmt::format("{0} {0} 1\n", geteuid())),
      group_map_(fmt::format("{0} {0} 1\n", getegid())),
      most_threads_(network == Network::kNone ? MostThreads() : kMostServerThreads) {}

pid_t NewNamespaces::Fork() const {
  const int network = network_ == Network::kNone ? CLONE_NEWNET : 0;
  return BareFork(kNamespaces | network | (isolation_ == Isolation::kByUser ? CLONE_NEWUSER : 0));
}

bool NewNamespaces::MapUser() const {
  // The files of a process that is not dumpable, as a daemon's child is not, are root's.
  const int dumpable = prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 1 ? 1 : 0;
  return prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0 && WriteFile("/proc/self/setgroups", "deny") &&
         WriteFile("/proc/self/uid_map", user_map_) && WriteFile("/proc/self/gid_map", group_map_) &&
         prctl(PR_SET_DUMPABLE, dumpable, 0, 0, 0) == 0;
}

// The kernel counts them for the user in this name space, which is this process alone. Root's are never too many.
bool NewNamespaces::LimitThreads() const {
  const rlimit threads{static_cast<rlim_t>(most_threads_), static_cast<rlim_t>(most_threads_)};
  return setrlimit(RLIMIT_NPROC, &threads) == 0;
}

int NewNamespaces::Settle(int keeper_end) const {
  if (isolation_ == Isolation::kByUser && !MapUser()) return errno;
  // What is mounted in here stays in here.
  if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return errno;
  // What shows the processes of this name space: CUDA's driver looks for its own there and fails without (CUDA error
  // 304). Containers that hide parts of theirs permit no other, and who keeps no files needs none.
  (void)mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr);
  const pid_t keeper = BareFork(0);
  if (keeper == 0) Keep(keeper_end);
  if (keeper < 0 || !DropCapabilities()) return errno;
  return isolation_ != Isolation::kByUser || LimitThreads() ? 0 : errno;
}

absl::StatusOr<Isolation> FindIsolation() {
  const absl::Status by_user = Try(Isolation::kByUser);
  if (by_user.ok()) return Isolation::kByUser;
  const absl::Status by_root = Try(Isolation::kByRoot);
  if (by_root.ok()) return Isolation::kByRoot;
  return Unavailable(
      "no name spaces can be had: with a user name space {}; without one {}. Ordinary users need "
      "kernel.unprivileged_userns_clone=1, user.max_user_namespaces above 0 and no rule of AppArmor against it; a "
      "container must permit the calls clone and pivot_root (Docker: a seccomp profile that does, or CAP_SYS_ADMIN)",
      Message(by_user), Message(by_root));
}

absl::StatusOr<Isolation> IsolationFor(const std::string& sandbox) {
  WHARF_RETURN_IF_ERROR(TrySandbox());
  if (sandbox == "weak") return Isolation::kNone;
  absl::StatusOr<Isolation> found = FindIsolation();
  if (found.ok()) return found;
  return FailedPrecondition(
      "processes for clients cannot be isolated here: {}. With --sandbox=weak the filter of system calls alone keeps "
      "them: the command's --help says what that means",
      Message(found.status()));
}

absl::Status LeaveFileSystem(int descriptor, FileSystem becomes, const std::string& directory) {
  // A working directory elsewhere would stay a way back.
  if (becomes != FileSystem::kKept && chdir("/") != 0) return ErrnoStatus(errno, "chdir /");
  if (becomes != FileSystem::kEmpty) {
    const std::string root = becomes == FileSystem::kOneDirectory ? directory : "";
    const ssize_t size = static_cast<ssize_t>(root.size() + 1);
    if (size > PATH_MAX || write(descriptor, root.c_str(), static_cast<size_t>(size)) != size) {
      return ErrnoStatus(errno, "asking the keeper of the file system");
    }
  }
  close(descriptor);
  int status = 0;
  pid_t keeper = 0;
  while ((keeper = waitpid(-1, &status, __WALL)) < 0 && errno == EINTR) {
  }
  if (keeper < 0) return ErrnoStatus(errno, "waiting for the keeper of the file system");
  if (!WIFEXITED(status)) return Internal("the keeper of the file system has died");
  return WEXITSTATUS(status) == 0 ? absl::OkStatus() : ErrnoStatus(WEXITSTATUS(status), "changing the root");
}

}  // namespace wharf
