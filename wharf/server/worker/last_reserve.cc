#include "wharf/server/worker/last_reserve.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <new>

namespace wharf::server {
namespace {

constexpr size_t kReserveBytes = size_t{64} << 20;  // the stacks of two threads, and what they say
constexpr int kPatienceMs = 5000;
constexpr int kOutOfMemory = 4;  // exit code

std::atomic<void*> reserve{nullptr};
std::atomic<int> event{-1};

void OnNoMemory() {
  if (void* const memory = reserve.exchange(nullptr); memory != nullptr) {
    munmap(memory, kReserveBytes);
    eventfd_write(event, 1);
    return;  // and the allocation is tried again
  }
  poll(nullptr, 0, kPatienceMs);
  _exit(kOutOfMemory);
}

}  // namespace

int ReserveMemoryForTheEnd() {
  void* const memory = mmap(nullptr, kReserveBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (memory == MAP_FAILED || event < 0) return -1;
  reserve = memory;
  std::set_new_handler(OnNoMemory);
  return event;
}

}  // namespace wharf::server
