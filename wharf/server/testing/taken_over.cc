// A process that was taken over, inside a real server: a library that tests load by LD_PRELOAD into `wharf serve` and
// its workers, or into a server that serves all its clients itself. One that a connection tells "TAKEN OVER\n", as the
// first bytes or as the next when it reads again, does from then on, with all that the process can, what the lines that
// follow say (kAttacks), and answers each with a line: "0", or the errno.
#include <fcntl.h>
#include <linux/sched.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

namespace {

constexpr std::string_view kBeginning = "TAKEN OVER\n";
constexpr int kControl = 3, kKeeper = 4;
constexpr size_t kMiB = size_t{1} << 20;

bool in_worker = false;  // of `wharf serve`
bool in_server = false;  // of one process
void* shared_page = nullptr;
size_t shared_bytes = 0;

__attribute__((constructor)) void Begin(int argc, char** argv) {
  in_worker = argc > 1 && std::strcmp(argv[1], "worker") == 0;
  in_server = argc > 2 && (std::strcmp(argv[1], "pipeline") == 0 || std::strcmp(argv[1], "ar") == 0);
}

char* Map(size_t bytes, int flags = MAP_PRIVATE) {
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<char*>(memory);
}

int64_t OpenMemoryOf(int64_t pid) {
  char path[64];
  std::snprintf(path, sizeof(path), "/proc/%d/mem", static_cast<int>(pid));
  return open(path, O_RDWR);
}

int64_t ReadMemoryOf(int64_t pid) {
  char here = 0;
  const iovec ours{&here, 1}, theirs{reinterpret_cast<void*>(&in_worker), 1};
  return process_vm_readv(static_cast<pid_t>(pid), &ours, 1, &theirs, 1, 0);
}

int64_t ConnectTo(int64_t port) {
  const int end = socket(AF_INET, SOCK_STREAM, 0);
  if (end < 0) return -1;
  const sockaddr_in address{
      .sin_family = AF_INET, .sin_port = htons(static_cast<uint16_t>(port)), .sin_addr = {htonl(INADDR_LOOPBACK)}};
  return connect(end, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
}

// A name of this process's own, in the abstract name space of its network.
sockaddr_un OwnName() {
  sockaddr_un name{AF_UNIX, {}};
  std::snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "wharf-taken-over-%d", getpid());
  return name;
}

int64_t ConnectToUnix(int64_t) {
  const sockaddr_un name = OwnName();
  const int end = socket(AF_UNIX, SOCK_STREAM, 0);
  if (end < 0) return -1;
  return connect(end, reinterpret_cast<const sockaddr*>(&name), sizeof(name));
}

int64_t ListenOnTcp(int64_t) {
  const int end = socket(AF_INET, SOCK_STREAM, 0);
  if (end < 0) return -1;
  const sockaddr_in address{.sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  if (bind(end, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) return -1;
  return listen(end, 1);
}

int64_t ListenOnUnix(int64_t) {
  const sockaddr_un name = OwnName();
  const int end = socket(AF_UNIX, SOCK_STREAM, 0);
  if (end < 0) return -1;
  if (bind(end, reinterpret_cast<const sockaddr*>(&name), sizeof(name)) != 0) return -1;
  return listen(end, 1);
}

// Memory that counts, until there is none.
int64_t FillMemory(int64_t) {
  for (;;) {
    char* const memory = Map(16 * kMiB);
    if (memory == nullptr) return -1;
    std::memset(memory, 1, 16 * kMiB);
  }
}

// The same, turned into memory that does not count for RLIMIT_DATA when it is full.
int64_t HideMemory(int64_t) {
  for (;;) {
    char* const memory = Map(16 * kMiB);
    if (memory == nullptr) return -1;
    std::memset(memory, 1, 16 * kMiB);
    if (mprotect(memory, 16 * kMiB, PROT_READ) != 0) return -1;
  }
}

int64_t MakeThreads(int64_t count) {
  for (int64_t made = 0; made < count; ++made) {
    pthread_t thread;
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 256 << 10);
    const auto wait = [](void*) -> void* {
      for (;;) poll(nullptr, 0, -1);
    };
    if (const int error = pthread_create(&thread, &small, wait, nullptr); error != 0) return errno = error, -1;
  }
  // Whoever looks has time to.
  return poll(nullptr, 0, 30'000);
}

int64_t MakeDescriptors(int64_t) {
  while (eventfd(0, 0) >= 0) {
  }
  return -1;
}

// As many descriptors on their way as the kernel permits: to nobody, until this process ends.
int64_t HoldDescriptors(int64_t) {
  constexpr size_t kMostOfAMessage = 253;
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return -1;
  alignas(cmsghdr) char control[CMSG_SPACE(kMostOfAMessage * sizeof(int))] = {};
  char one = 0;
  iovec piece{&one, 1};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  cmsghdr* const part = CMSG_FIRSTHDR(&message);
  part->cmsg_level = SOL_SOCKET;
  part->cmsg_type = SCM_RIGHTS;
  part->cmsg_len = CMSG_LEN(kMostOfAMessage * sizeof(int));
  int copies[kMostOfAMessage];
  for (int& copy : copies) copy = STDERR_FILENO;
  std::memcpy(CMSG_DATA(part), copies, sizeof(copies));
  while (sendmsg(ends[0], &message, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) {
  }
  return errno == ETOOMANYREFS || errno == EAGAIN ? 0 : -1;  // root may have more than the socket takes
}

// A process of its own, with all descriptors that this one has, under a name by which others find it. Gone in a minute
// if nobody ends it.
int64_t ForkAndKeep(int64_t number) {
  const int64_t child = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
  if (child != 0) return child;
  char name[16];
  std::snprintf(name, sizeof(name), "kept-%d", static_cast<int>(number));
  prctl(PR_SET_NAME, name, 0, 0, 0);
  poll(nullptr, 0, 60'000);
  _exit(0);
}

// As a driver does.
int64_t OpenDevice(int64_t) {
  const int device = open("/dev/zero", O_RDWR);
  if (device < 0) return -1;
  return mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, device, 0) == MAP_FAILED ? -1 : 0;
}

// Packets of all kinds and sizes to whoever reads there, some with descriptors.
int64_t SayNonsense(int64_t socket_and_count) {
  const int socket = static_cast<int>(socket_and_count % 10);
  uint32_t random = 12345;
  for (int64_t i = 0; i < socket_and_count / 10; ++i) {
    static unsigned char packet[65536];
    random = random * 1664525 + 1013904223;
    const size_t bytes = 1 + random % (i % 16 == 0 ? sizeof(packet) : 64);
    for (size_t at = 0; at < bytes; ++at)
      packet[at] = static_cast<unsigned char>((random = random * 1664525 + 1013904223) >> 24);
    if (i % 2 == 0) packet[0] = static_cast<unsigned char>(random >> 16) % 17;  // a kind that there is
    iovec piece{packet, bytes};
    msghdr message{};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    alignas(cmsghdr) char control[CMSG_SPACE(4 * sizeof(int))] = {};
    if (i % 4 == 0) {
      const int copies[4] = {socket, socket, socket, socket};
      message.msg_control = control;
      message.msg_controllen = sizeof(control);
      cmsghdr* const part = CMSG_FIRSTHDR(&message);
      part->cmsg_level = SOL_SOCKET;
      part->cmsg_type = SCM_RIGHTS;
      part->cmsg_len = CMSG_LEN(sizeof(copies));
      std::memcpy(CMSG_DATA(part), copies, sizeof(copies));
    }
    if (sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) continue;
    if (errno == EAGAIN) {
      poll(nullptr, 0, 1);
    } else {
      return -1;
    }
  }
  return 0;
}

// The messages of a worker that is in order, more of them than any would send.
int64_t FloodControl(int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    const unsigned char ask[1] = {3};          // AskAdmission
    const unsigned char waiting[2] = {11, 1};  // Waiting
    if (send(kControl, i % 2 == 0 ? ask : waiting, i % 2 == 0 ? 1 : 2, MSG_NOSIGNAL) < 0) return -1;
  }
  return 0;
}

// That many clients were refused, for reasons that fill a terminal.
int64_t LieInLog(int64_t count) {
  constexpr size_t kText = 4000;
  std::string text;
  while (text.size() < kText) text += "\x1b[2J\n\r\xff\"\\";
  text.resize(kText);
  const std::string length("\xa0\x0f\0\0", 4);                                         // kText, as the codec writes it
  const std::string lie = std::string("\x10\x01", 2) + length + text + length + text;  // ClientRefused
  for (int64_t i = 0; i < count; ++i) {
    if (send(kControl, lie.data(), lie.size(), MSG_NOSIGNAL) < 0) return -1;
  }
  return 0;
}

// What all workers see of each other's accounts.
int64_t SpoilShares(int64_t) {
  if (shared_page == nullptr) return errno = ENODATA, -1;
  std::memset(shared_page, 0x7e, shared_bytes);
  return 0;
}

struct Attack {
  std::string_view name;
  int64_t (*run)(int64_t argument);
};
constexpr Attack kAttacks[] = {
    {"kill", [](int64_t pid) -> int64_t { return kill(static_cast<pid_t>(pid), SIGTERM); }},
    {"tgkill", [](int64_t pid) -> int64_t { return syscall(SYS_tgkill, pid, pid, SIGTERM); }},
    {"ptrace", [](int64_t pid) -> int64_t { return ptrace(PTRACE_ATTACH, static_cast<pid_t>(pid), nullptr, nullptr); }},
    {"memory-of", OpenMemoryOf},
    {"read-memory-of", ReadMemoryOf},
    {"pidfd", [](int64_t pid) -> int64_t { return syscall(SYS_pidfd_open, pid, 0); }},
    {"slow", [](int64_t pid) -> int64_t { return syscall(SYS_setpriority, 0, pid, 19); }},
    {"open", [](int64_t) -> int64_t { return open("/etc/passwd", O_RDONLY); }},
    {"create", [](int64_t) -> int64_t { return open("/tmp/wharf-taken-over", O_CREAT | O_WRONLY, 0600); }},
    {"connect", ConnectTo},
    {"connect-unix", ConnectToUnix},
    {"listen-tcp", ListenOnTcp},
    {"listen-unix", ListenOnUnix},
    {"send-by-name", [](int64_t) -> int64_t { return socket(AF_UNIX, SOCK_DGRAM, 0); }},
    {"new-names", [](int64_t) -> int64_t { return unshare(CLONE_NEWUSER); }},
    {"fork-with-new-names", [](int64_t) -> int64_t { return syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0); }},
    {"type", [](int64_t) -> int64_t { return ioctl(STDERR_FILENO, TIOCSTI, "x"); }},
    {"fork", [](int64_t) -> int64_t { return syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0); }},
    {"fork-and-keep", ForkAndKeep},
    {"open-device", OpenDevice},
    {"execute", [](int64_t) -> int64_t { return execl("/bin/true", "true", nullptr); }},
    {"write-and-execute", [](int64_t) -> int64_t { return mprotect(Map(4096), 4096, PROT_WRITE | PROT_EXEC); }},
    {"share-memory", [](int64_t) -> int64_t { return Map(4096, MAP_SHARED) == nullptr ? -1 : 0; }},
    {"fill-memory", FillMemory},
    {"hide-memory", HideMemory},
    {"make-threads", MakeThreads},
    {"end-log", [](int64_t) -> int64_t { return shutdown(STDERR_FILENO, SHUT_RDWR); }},
    {"rewind-log", [](int64_t) -> int64_t { return lseek(STDERR_FILENO, 0, SEEK_SET); }},
    {"environment", [](int64_t) -> int64_t { return getenv("USERS_SECRET") != nullptr ? 0 : (errno = ENOENT, -1); }},
    {"make-descriptors", MakeDescriptors},
    {"hold-descriptors", HoldDescriptors},
    {"say-nonsense", SayNonsense},
    {"flood-control", FloodControl},
    {"lie-in-log", LieInLog},
    {"spoil-shares", SpoilShares},
};

std::string ReadLine(int connection) {
  std::string line;
  for (char byte = 0; read(connection, &byte, 1) == 1 && byte != '\n';) line += byte;
  return line;
}

// "NAME ARGUMENT" until the client is gone.
[[noreturn]] void Obey(int connection) {
  ReadLine(connection);  // the beginning, which was only looked at
  for (std::string line; !(line = ReadLine(connection)).empty();) {
    const size_t space = line.find(' ');
    const int64_t argument = space == std::string::npos ? 0 : std::atoll(line.c_str() + space + 1);
    int outcome = ENOTSUP;
    for (const Attack& attack : kAttacks) {
      if (attack.name == line.substr(0, space)) outcome = attack.run(argument) < 0 ? errno : 0;
    }
    const std::string answer = std::to_string(outcome) + "\n";
    if (write(connection, answer.data(), answer.size()) < 0) break;
  }
  _exit(0);
}

}  // namespace

// In place of libc's.
extern "C" __attribute__((visibility("default"))) ssize_t recv(int socket, void* into, size_t bytes, int flags) {
  const auto receive = [socket](void* to, size_t most, int how) {
    return static_cast<ssize_t>(syscall(SYS_recvfrom, socket, to, most, how, nullptr, nullptr));
  };
  char beginning[kBeginning.size()];
  if ((in_server || (in_worker && (flags & MSG_PEEK) == 0)) &&
      receive(beginning, sizeof(beginning), flags | MSG_PEEK) == sizeof(beginning) &&
      std::string_view(beginning, sizeof(beginning)) == kBeginning) {
    Obey(socket);
  }
  return receive(into, bytes, flags);
}

extern "C" __attribute__((visibility("default"))) int poll(pollfd* events, nfds_t count, int timeout) {
  const int ready = static_cast<int>(syscall(SYS_poll, events, count, timeout));
  for (nfds_t i = 0; in_worker && ready > 0 && i < count; ++i) {
    char beginning[kBeginning.size()];
    if ((events[i].revents & POLLIN) != 0 &&
        recv(events[i].fd, beginning, sizeof(beginning), MSG_PEEK | MSG_DONTWAIT) == sizeof(beginning) &&
        std::string_view(beginning, sizeof(beginning)) == kBeginning) {
      Obey(events[i].fd);
    }
  }
  return ready;
}

extern "C" __attribute__((visibility("default"))) void* mmap(void* address, size_t bytes, int protection, int flags,
                                                             int file, off_t offset) noexcept {
  void* const memory = reinterpret_cast<void*>(syscall(SYS_mmap, address, bytes, protection, flags, file, offset));
  if (in_worker && file >= 0 && (flags & MAP_TYPE) == MAP_SHARED && memory != MAP_FAILED) {
    shared_page = memory;
    shared_bytes = bytes;
  }
  return memory;
}
