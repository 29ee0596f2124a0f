// What both APIs give with a launch. Attributes: those that change no result are ignored; what a kernel would notice is
// refused. Parameters in one buffer.
#pragma once

#include <cuda.h>

#include "wharf/cudashim/client/call.h"

namespace wharf::client {

// Both APIs' attributes share numbers and what their values hold. Value: CUlaunchAttributeValue or
// cudaLaunchAttributeValue.
template <typename Value>
CudaError CheckLaunchAttribute(int id, const Value& value) {
  switch (id) {
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
    case CU_LAUNCH_ATTRIBUTE_IGNORE:
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
    case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:  // full serialisation is a legal execution
      return CudaError::kSuccess;
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION: {
      const auto& cluster = value.clusterDim;
      if (cluster.x * cluster.y * cluster.z == 1) return CudaError::kSuccess;
      ReportUnsupported("a launch (clusters of more than one block)");
      return CudaError::kNotSupported;
    }
    default:
      ReportUnsupported("a launch (an attribute that its kernel may notice)");
      return CudaError::kNotSupported;
  }
}

// Of a launch's or a node's attributes the one that says how the grid is executed.
template <typename Value>
void ApplyLaunchAttribute(int id, const Value& value, bool* cooperative) {
  if (id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE) *cooperative = value.cooperative != 0;
}

struct PackedParameters {
  const void* data = nullptr;
  size_t size = 0;
};

// The buffer of a launch's `extra` (CU_LAUNCH_PARAM_BUFFER_POINTER).
inline CudaError ReadExtra(void** extra, PackedParameters* packed) {
  const size_t* size = nullptr;
  for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
    if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER) {
      packed->data = extra[1];
    } else if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE) {
      size = static_cast<const size_t*>(extra[1]);
    } else {
      return CudaError::kInvalidValue;
    }
  }
  if (packed->data == nullptr || size == nullptr) return CudaError::kInvalidValue;
  packed->size = *size;
  return CudaError::kSuccess;
}

}  // namespace wharf::client
