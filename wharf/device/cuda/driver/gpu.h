// Gpu: one driver context and the fault it has latched; what the parts of the CUDA device share.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "wharf/device/cuda/driver/driver_api.h"
#include "wharf/device/device.h"

namespace wharf::device::cuda {

// Thread-safe.
class Gpu {
 public:
  // Makes a context on the machine's first GPU. kUnavailable with the reason.
  static absl::StatusOr<std::unique_ptr<Gpu>> Create(const Driver* driver);
  ~Gpu();
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  const Driver* operator->() const { return driver_; }
  int Ordinal() const { return device_; }
  ContextHandle Context() const { return context_; }
  const DeviceProperties& Properties() const { return properties_; }

  // Makes the context current in the calling thread.
  absl::Status Enter() const;
  // The status of a driver call; latches those that leave the context unusable.
  absl::Status Check(Result result, const char* what);
  // The latched fault.
  absl::Status Fault() const;

 private:
  Gpu(const Driver* driver, int device, ContextHandle context) : driver_(driver), device_(device), context_(context) {}
  absl::Status ReadProperties();

  const Driver* driver_;
  int device_;
  ContextHandle context_;
  DeviceProperties properties_;
  std::atomic<bool> faulted_{false};
  mutable absl::Mutex mutex_;
  absl::Status fault_ ABSL_GUARDED_BY(mutex_);
};

// Events for use and reuse: making one is far dearer than recording one. Thread-safe.
class EventPool {
 public:
  EventPool(Gpu* gpu, unsigned flags) : gpu_(gpu), flags_(flags) {}
  // REQUIRES: all events were put back or are no longer pending; the context is current.
  ~EventPool();
  // REQUIRES: the context is current in this thread.
  absl::StatusOr<EventHandle> Get();
  void Put(EventHandle event);

 private:
  Gpu* gpu_;
  unsigned flags_;
  absl::Mutex mutex_;
  std::vector<EventHandle> idle_ ABSL_GUARDED_BY(mutex_);
};

// Memory that the vendor's libraries work in, one for each stream: what runs on several at the same time shares none.
// Not thread-safe.
class Workspaces {
 public:
  explicit Workspaces(Gpu* gpu) : gpu_(gpu) {}
  // REQUIRES: the context is current.
  ~Workspaces();
  // At least so much; what was there before stays until the end, as kernels may still use it. 0 for none.
  absl::StatusOr<DevicePointer> Of(StreamHandle stream, uint64_t bytes);

 private:
  struct Workspace {
    DevicePointer address = 0;
    uint64_t bytes = 0;
    AllocationHandle handle = 0;
  };
  void Free(const Workspace& workspace);

  Gpu* const gpu_;
  std::map<StreamHandle, Workspace> workspaces_;
  std::vector<Workspace> outgrown_;
};

}  // namespace wharf::device::cuda
