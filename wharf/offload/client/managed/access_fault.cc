#include "wharf/offload/client/managed/access_fault.h"

#include <signal.h>
#include <ucontext.h>

#include <atomic>
#include <cerrno>
#include <cstring>

namespace wharf::offload {
namespace {

std::atomic<AccessServer> access_server{nullptr};
struct sigaction handler_before;

// What the processor says of the access. Where it does not say, a write looks like a read.
struct Access {
  bool write = false, execute = false;
};

Access AccessOf([[maybe_unused]] const void* context) {
#if defined(__x86_64__)
  const auto error = static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_ERR];
  return {.write = (error & 2) != 0, .execute = (error & 16) != 0};
#elif defined(__aarch64__)
  // Among the records behind the registers is the exception's syndrome; QEMU 7 leaves it out.
  const unsigned char* record = static_cast<const ucontext_t*>(context)->uc_mcontext.__reserved;
  const unsigned char* const end = record + sizeof(ucontext_t{}.uc_mcontext.__reserved);
  while (static_cast<size_t>(end - record) >= sizeof(esr_context)) {
    esr_context found;
    std::memcpy(&found, record, sizeof found);
    if (found.head.magic == ESR_MAGIC) {
      const uint64_t kind = found.esr >> 26 & 0x3f;
      constexpr uint64_t kInstructionAbort = 0x20, kDataAbort = 0x24;  // of a lower exception level
      return {.write = kind == kDataAbort && (found.esr >> 6 & 1) != 0, .execute = kind == kInstructionAbort};
    }
    if (found.head.magic == 0 || found.head.size == 0 || found.head.size > static_cast<size_t>(end - record)) break;
    record += found.head.size;
  }
  return {};
#else
  return {};
#endif
}

void PassOn(int signal, siginfo_t* info, void* context) {
  if ((handler_before.sa_flags & SA_SIGINFO) != 0) {
    handler_before.sa_sigaction(signal, info, context);
  } else if (handler_before.sa_handler == SIG_DFL || handler_before.sa_handler == SIG_IGN) {
    sigaction(SIGSEGV, &handler_before, nullptr);  // the access is made again, and ends the program
  } else {
    handler_before.sa_handler(signal);
  }
}

void OnSignal(int signal, siginfo_t* info, void* context) {
  const int kept = errno;
  const Access access = AccessOf(context);
  const bool may_be_ours = info->si_code == SEGV_ACCERR && !access.execute;
  const bool served = may_be_ours && access_server.load()(reinterpret_cast<uint64_t>(info->si_addr), access.write);
  errno = kept;
  if (!served) PassOn(signal, info, context);
}

}  // namespace

void ServeAccesses(AccessServer server) {
  AccessServer nobody = nullptr;
  if (!access_server.compare_exchange_strong(nobody, server)) return;
  // Not on a signal stack: what serves an access needs more than such a stack has.
  struct sigaction action {};
  action.sa_sigaction = OnSignal;
  action.sa_flags = SA_SIGINFO;
  sigemptyset(&action.sa_mask);
  sigaction(SIGSEGV, &action, &handler_before);
}

}  // namespace wharf::offload
