#include "wharf/device/soft/runtime/fiber.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>

namespace wharf::device::soft {

void InitialiseThreadContext(Context& context) {
  (void)context;
#ifdef WHARF_ASAN
  pthread_attr_t attributes;
  void* bottom = nullptr;
  size_t size = 0;
  if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
    pthread_attr_getstack(&attributes, &bottom, &size);
    pthread_attr_destroy(&attributes);
  }
  context.bottom = bottom;
  context.size = size;
#endif
#ifdef WHARF_TSAN
  context.fiber = __tsan_get_current_fiber();
#endif
}

void InitialiseContext(Context& context, std::byte* bottom, std::byte* top, void (*entry)(void*), void* argument) {
  (void)bottom;
  context.stack_pointer = FirstFrame(top, entry, argument);
#ifdef WHARF_ASAN
  context.fake_stack = nullptr;
  context.bottom = bottom;
  context.size = static_cast<size_t>(top - bottom);
#endif
#ifdef WHARF_TSAN
  // A stack that was left for ever keeps what it was in the middle of on its shadow call stack; a new one is dear, so
  // it comes before that can overflow.
  if (context.fiber != nullptr && ++context.uses < 4096) return;
  if (context.fiber != nullptr) __tsan_destroy_fiber(context.fiber);
  context.uses = 0;
  context.fiber = __tsan_create_fiber(0);
#endif
}

void ResetContext(Context& context, std::byte* bottom, std::byte* top) {
  (void)bottom;
  (void)top;
  context.stack_pointer = nullptr;
#ifdef WHARF_ASAN
  __asan_unpoison_memory_region(bottom, static_cast<size_t>(top - bottom));
#endif
#ifdef WHARF_TSAN
  if (context.fiber != nullptr) __tsan_destroy_fiber(context.fiber);
  context.fiber = nullptr;
#endif
}

#ifdef WHARF_TSAN
__attribute__((no_sanitize("thread")))  // entry and exit would be seen on different shadow stacks
#endif
void AfterRestore(Context& restored) {
  (void)restored;
#ifdef WHARF_TSAN
  if (__tsan_get_current_fiber() != restored.fiber) __tsan_switch_to_fiber(restored.fiber, 0);
#endif
}

void BeforeRestore(Context& restored) {
  (void)restored;
#ifdef WHARF_ASAN
  __sanitizer_start_switch_fiber(nullptr, restored.bottom, restored.size);
#endif
}

StackPool::~StackPool() { Release(); }

void StackPool::Release() {
  for (size_t i = 0; i < contexts_.size(); ++i) ResetContext(contexts_[i], Bottom(i), Bottom(i) + stack_bytes_);
  contexts_.clear();
  if (base_ != nullptr) munmap(base_, reserved_);
  base_ = nullptr;
  reserved_ = count_ = stack_bytes_ = 0;
}

absl::Status StackPool::Prepare(size_t count, size_t bytes) {
  static const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  bytes = (bytes + kStaggerBytes + page - 1) / page * page;
  if (count <= count_ && bytes <= stack_bytes_) return absl::OkStatus();
  count = std::max(count, count_);
  bytes = std::max(bytes, stack_bytes_);
  Release();
  const size_t slot = bytes + kGuardBytes;
  void* base = mmap(nullptr, count * slot, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) return ErrnoStatus(errno, fmt::format("{} thread stacks of {} bytes", count, bytes));
  base_ = static_cast<std::byte*>(base);
  reserved_ = count * slot;
  stack_bytes_ = bytes;
  for (size_t i = 0; i < count; ++i) {
    if (mprotect(Bottom(i), bytes, PROT_READ | PROT_WRITE) != 0) {
      const absl::Status status = ErrnoStatus(errno, fmt::format("{} thread stacks of {} bytes", count, bytes));
      Release();
      return status;
    }
  }
  count_ = count;
  contexts_.resize(count);
  return absl::OkStatus();
}

bool StackPool::InGuard(uintptr_t address) const {
  const auto base = reinterpret_cast<uintptr_t>(base_);
  if (base_ == nullptr || address < base || address >= base + reserved_) return false;
  return (address - base) % (stack_bytes_ + kGuardBytes) < kGuardBytes;
}

size_t MaxStacks() {
  static const size_t limit = [] {
    size_t mappings = 65530;
    std::ifstream("/proc/sys/vm/max_map_count") >> mappings;
    return std::max<size_t>(1024, mappings / 4);
  }();
  return limit;
}

}  // namespace wharf::device::soft
