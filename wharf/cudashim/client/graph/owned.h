// Graphs and instances that the program owns. Internal to libwharf_client.so.
#pragma once

#include <memory>
#include <mutex>
#include <unordered_map>

#include "wharf/cudashim/graph/exec.h"

namespace wharf::client {

// Objects by their addresses, which are their handles. Thread-safe.
template <typename T>
class Owned {
 public:
  // Never destroyed: programs use their handles while they end.
  static Owned& Get() {
    static auto* const owned = new Owned;
    return *owned;
  }
  T* Add(std::shared_ptr<T> object) {
    T* const handle = object.get();
    const std::lock_guard lock(mutex_);
    objects_[handle] = std::move(object);
    return handle;
  }
  std::shared_ptr<T> Find(T* handle) {
    const std::lock_guard lock(mutex_);
    const auto found = objects_.find(handle);
    return found == objects_.end() ? nullptr : found->second;
  }
  // What was removed; nullptr if it is none.
  std::shared_ptr<T> Remove(T* handle) {
    const std::lock_guard lock(mutex_);
    const auto node = objects_.extract(handle);
    return node.empty() ? nullptr : node.mapped();
  }

 private:
  std::mutex mutex_;
  std::unordered_map<T*, std::shared_ptr<T>> objects_;
};
using OwnedGraphs = Owned<cudagraph::Graph>;
using OwnedExecs = Owned<cudagraph::Exec>;

// Checks and completes what a node is to do (graphs.cc).
device::CudaError CompleteParams(cudagraph::Params* params);

}  // namespace wharf::client
