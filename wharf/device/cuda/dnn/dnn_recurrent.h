// Recurrent networks through the vendor's cuDNN 9. Where its library keeps each matrix is its own affair, asked for at
// every run: the program's weights lie in our order (device/recurrent.h). If that is the library's too, it takes them
// where they are; else they are copied into its order first.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "wharf/device/cuda/dnn/dnn_types.h"
#include "wharf/device/cuda/driver/gpu.h"
#include "wharf/device/recurrent.h"

namespace wharf::device::cuda {

class DnnRecurrent {
 public:
  // Memory of a stream's own, at least so much.
  using WorkspaceOf = std::function<absl::StatusOr<DevicePointer>(uint64_t bytes)>;
  // kNotSupported if `library` has no recurrent networks.
  static absl::StatusOr<std::unique_ptr<DnnRecurrent>> Create(Gpu* gpu, void* library);
  ~DnnRecurrent();
  // Queues it on the stream, which is `handle`'s.
  absl::Status Run(const Recurrent& network, void* handle, StreamHandle stream, const WorkspaceOf& workspace_of) const;

 private:
  struct Functions;
  struct Move {
    uint64_t from = 0, to = 0, bytes = 0;
  };
  // Where cuDNN wants the weights.
  struct Placement {
    uint64_t bytes = 0;
    bool as_they_are = true;
    std::vector<Move> moves;
  };
  explicit DnnRecurrent(Gpu* gpu);
  absl::StatusOr<DnnDescriptor> NetworkOf(const Recurrent& network, const DnnDescriptor& dropout) const;
  absl::StatusOr<DnnDescriptor> NoDropout(void* handle) const;
  absl::StatusOr<DnnDescriptor> SequencesOf(const Recurrent& network, int32_t width) const;
  absl::StatusOr<DnnDescriptor> StatesOf(const Recurrent& network, int32_t width) const;
  absl::Status Add(const Recurrent& network, const RecurrentWeights::Part& ours, const DnnDescriptor& theirs,
                   void* address, uint64_t most, std::vector<Move>& moves) const;
  absl::StatusOr<Placement> Place(const Recurrent& network, void* handle, void* descriptor) const;

  Gpu* gpu_;
  std::unique_ptr<Functions> functions_;
};

}  // namespace wharf::device::cuda
