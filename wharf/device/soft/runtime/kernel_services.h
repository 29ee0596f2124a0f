// What running kernels may ask of the session: memory checks, the device heap, printed text, textures.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "wharf/device/soft/check/findings.h"
#include "wharf/device/soft/runtime/device_heap.h"
#include "wharf/device/soft/runtime/memory.h"
#include "wharf/device/soft/runtime/texture.h"

namespace wharf::device::soft {

// Text that kernels print, handed on in order when a kernel ends or the buffer is full. Thread-safe.
class KernelOutput {
 public:
  using Sink = std::function<void(std::string)>;

  void SetSink(Sink sink) {
    absl::MutexLock lock(&sink_mutex_);
    sink_ = std::move(sink);
  }
  // One call's text stays together.
  void Append(std::string_view text) {
    bool full = false;
    {
      absl::MutexLock lock(&text_mutex_);
      text_ += text;
      empty_.store(text_.empty(), std::memory_order_relaxed);
      full = text_.size() >= kFlushBytes;
    }
    if (full) Flush();
  }
  // What a thread that happens before this call has appended is handed on when it returns.
  void Flush() {
    if (empty_.load(std::memory_order_relaxed)) return;
    absl::MutexLock sink_lock(&sink_mutex_);  // held over taking and handing on, so that order is kept
    std::string text;
    {
      absl::MutexLock lock(&text_mutex_);
      text.swap(text_);
      empty_.store(true, std::memory_order_relaxed);
    }
    if (!text.empty() && sink_) sink_(std::move(text));
  }

 private:
  static constexpr size_t kFlushBytes = size_t{1} << 20;
  absl::Mutex sink_mutex_ ABSL_ACQUIRED_BEFORE(text_mutex_);
  absl::Mutex text_mutex_;
  Sink sink_ ABSL_GUARDED_BY(sink_mutex_);
  std::string text_ ABSL_GUARDED_BY(text_mutex_);
  std::atomic<bool> empty_{true};  // text_ is
};

struct KernelServices {
  explicit KernelServices(Memory& memory) : memory(memory), heap(memory) {}
  ~KernelServices() {
    if (findings == nullptr) return;
    TellLeaks();
    findings->Summarize();
  }
  KernelServices(const KernelServices&) = delete;
  KernelServices& operator=(const KernelServices&) = delete;
  Memory& memory;
  DeviceHeap heap;
  KernelOutput output;
  ImageTable images;
  DeviceAddress grid_workspace = 0;           // of cooperative launches, made for the first
  std::shared_ptr<check::Findings> findings;  // of checked kernels; null if none are

 private:
  void TellLeaks() {
    if ((findings->checks() & check::kMemory) == 0) return;
    uint64_t bytes = 0;
    const std::vector<MemoryRange> left = memory.Mapped();
    for (const MemoryRange& range : left) bytes += range.size;
    findings->AddLeaks(left.size(), bytes);
  }
};

}  // namespace wharf::device::soft
