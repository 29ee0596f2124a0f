#include "wharf/cudashim/client/texture/tensor_map.h"

#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "wharf/cudashim/client/process.h"

namespace wharf::client {
namespace {

class KnownMaps {
 public:
  std::optional<device::TensorMap> Find(uint64_t generation, const device::TensorMapDescription& description) {
    std::lock_guard lock(mutex_);
    const auto found = maps_.find({generation, description});
    return found == maps_.end() ? std::nullopt : std::optional(found->second);
  }
  void Add(uint64_t generation, const device::TensorMapDescription& description, const device::TensorMap& map) {
    constexpr size_t kMost = 4096;
    std::lock_guard lock(mutex_);
    if (maps_.size() >= kMost) maps_.clear();
    maps_[{generation, description}] = map;
  }

 private:
  std::mutex mutex_;
  std::map<std::pair<uint64_t, device::TensorMapDescription>, device::TensorMap> maps_;
};
// Never destroyed: threads may encode while the process ends.
KnownMaps& Maps() {
  static auto* maps = new KnownMaps;
  return *maps;
}

}  // namespace

CudaError EncodeTensorMap(const device::TensorMapDescription& description, device::TensorMap* map) {
  CudaError error = CudaError::kSuccess;
  Connection* const connection = Process::Get().Connect(&error);
  if (connection == nullptr) return error;
  if (const std::optional<device::TensorMap> known = Maps().Find(connection->generation, description)) {
    *map = *known;
    return CudaError::kSuccess;
  }
  offload::EncodeTensorMap::Reply reply;
  error = connection->session->Ask(offload::EncodeTensorMap{description}, &reply);
  if (error != CudaError::kSuccess) return error;
  Maps().Add(connection->generation, description, reply.map);
  *map = reply.map;
  return CudaError::kSuccess;
}

}  // namespace wharf::client
