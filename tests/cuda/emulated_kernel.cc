// Preloaded into servers that qemu runs: two things that a kernel does and qemu, which is none, does not.
// - Programs of the emulated processor start programs of that processor: by qemu, too.
// - It says that system calls are filtered from here on. They are not: what runs like this shows that a server works,
//   and nothing of what keeps a worker that was taken over. Without it a server does not start.
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdarg>
#include <cstring>

#if !defined(__aarch64__)
#error "for AArch64 only"
#endif

namespace {

using Execute = int (*)(const char*, char* const*, char* const*);
Execute g_execute = nullptr;
char g_preload[PATH_MAX + 16] = "LD_PRELOAD=";

// Between fork and execve there may be no call that takes a lock.
__attribute__((constructor)) void Prepare() {
  g_execute = reinterpret_cast<Execute>(dlsym(RTLD_NEXT, "execve"));
  Dl_info here;
  if (dladdr(reinterpret_cast<void*>(&Prepare), &here) != 0) strncat(g_preload, here.dli_fname, PATH_MAX);
}

bool IsOfThisProcessor(const char* path) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  Elf64_Ehdr header;
  const bool read_all = read(file, &header, sizeof(header)) == sizeof(header);
  close(file);
  return read_all && memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_machine == EM_AARCH64;
}

int64_t Call(int64_t number, const int64_t (&arguments)[6]) {
  register int64_t x8 asm("x8") = number;
  register int64_t x0 asm("x0") = arguments[0];
  register int64_t x1 asm("x1") = arguments[1];
  register int64_t x2 asm("x2") = arguments[2];
  register int64_t x3 asm("x3") = arguments[3];
  register int64_t x4 asm("x4") = arguments[4];
  register int64_t x5 asm("x5") = arguments[5];
  asm volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
  return x0;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int execve(const char* path, char* const arguments[],
                                                             char* const environment[]) {
  char self[PATH_MAX] = "";
  if (strcmp(path, "/proc/self/exe") == 0) {
    if (readlink(path, self, sizeof(self) - 1) < 0) return -1;
    path = self;
  }
  if (!IsOfThisProcessor(path)) return g_execute(path, arguments, environment);
  constexpr size_t kMost = 256;
  const char* words[kMost] = {WHARF_QEMU, "-L", WHARF_SYSROOT, "-E", g_preload, "-0", arguments[0], path};
  size_t count = 8;
  for (size_t i = 1; arguments[0] != nullptr && arguments[i] != nullptr; ++i) {
    if (count + 1 == kMost) return errno = E2BIG, -1;
    words[count++] = arguments[i];
  }
  return g_execute(WHARF_QEMU, const_cast<char* const*>(words), environment);
}

extern "C" __attribute__((visibility("default"))) long syscall(long number, ...) noexcept {
  if (number == SYS_seccomp) return 0;
  int64_t arguments[6];
  va_list list;
  va_start(list, number);
  for (int64_t& argument : arguments) argument = va_arg(list, int64_t);
  va_end(list);
  const int64_t result = Call(number, arguments);
  if (result >= 0 || result < -4095) return result;
  errno = static_cast<int>(-result);
  return -1;
}
