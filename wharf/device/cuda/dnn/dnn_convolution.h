// DnnConvolutions: convolutions as graphs of cuDNN's graph API (dnn_graph.h). A plan is made for each form and kept: a
// call of cuDNN's older functions takes many times as long as the execution of one.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <unordered_map>

#include "wharf/device/cuda/dnn/dnn_graph.h"
#include "wharf/device/primitive.h"

namespace wharf::device::cuda {

// Whether there is depth, so that cuDNN is told of five dimensions rather than four.
inline bool IsVolume(const Convolution& c) {
  return c.x.dims[2] > 1 || c.y.dims[2] > 1 || c.filter.dims[2] > 1 || c.padding[0] > 0;
}

// Not thread-safe.
class DnnConvolutions {
 public:
  // None is given up: its kernels may be part of captured graphs. Forms beyond are not for plans.
  static constexpr size_t kMostPlans = 1024;

  explicit DnnConvolutions(const DnnGraphs* graphs) : graphs_(graphs) {}
  // Queues result = alpha * product + beta * result on the stream that is `handle`'s. False if there is no plan for
  // such as this one, and nothing is queued. REQUIRES: CheckPrimitive accepts it.
  absl::StatusOr<bool> Run(const Convolution& c, void* handle, const DnnGraphs::WorkspaceOf& workspace_of);

 private:
  // What plans differ by: flags, and the types, sizes, strides and windows.
  using Form = std::array<int32_t, 2 + 3 * 2 * kTensorDims + 3 * kSpatialDims>;
  struct Hash {
    size_t operator()(const Form& form) const;
  };
  using Plan = DnnGraphs::Plan;
  static Form FormOf(const Convolution& c);
  absl::Status Execute(const Plan& plan, const Convolution& c, void* handle,
                       const DnnGraphs::WorkspaceOf& workspace_of) const;

  const DnnGraphs* const graphs_;
  std::unordered_map<Form, std::optional<Plan>, Hash> plans_;  // nothing where cuDNN has none
};

}  // namespace wharf::device::cuda
