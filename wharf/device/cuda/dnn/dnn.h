// Dnn: primitives of neural networks through the vendor's cuDNN 9, opened at the first use. A convolution is a kept
// plan (dnn_convolution.h), or else a call of an older function; what it has beside it, a bias, another tensor, an
// activation, are calls of their own. Graphs are made again as they are (dnn_graph.h).
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "wharf/device/cuda/dnn/dnn_convolution.h"
#include "wharf/device/cuda/dnn/dnn_graph.h"
#include "wharf/device/cuda/dnn/dnn_recurrent.h"
#include "wharf/device/cuda/dnn/dnn_types.h"
#include "wharf/device/cuda/driver/gpu.h"
#include "wharf/device/dnn_norm.h"

namespace wharf::device::cuda {

// Not thread-safe.
class Dnn {
 public:
  // kNotSupported if there is no cuDNN 9 here. REQUIRES: the context is current, also for Run and destruction.
  static absl::StatusOr<std::unique_ptr<Dnn>> Create(Gpu* gpu, const std::string& library = kLibrary);
  ~Dnn();
  // Queues it. kNotSupported for what cuDNN does not have. REQUIRES: CheckPrimitive accepts it.
  absl::Status Run(const Primitive& primitive, StreamHandle stream);

  static constexpr const char* kLibrary = "libcudnn.so.9";

 private:
  struct Functions;
  explicit Dnn(Gpu* gpu);
  absl::Status Find(void* library);
  absl::StatusOr<DnnDescriptor> TensorOf(const Tensor& tensor, bool volume) const;
  absl::StatusOr<DnnDescriptor> FilterOf(const Tensor& filter, const Tensor& x, bool volume) const;
  absl::StatusOr<DnnDescriptor> ConvolutionOf(const Convolution& convolution, bool volume) const;
  absl::StatusOr<DnnDescriptor> PoolingOf(const Pooling& pooling, bool volume) const;
  absl::StatusOr<DnnDescriptor> ActivationOf(const ActivationForm& activation) const;

  absl::Status Run(const Convolution& convolution);
  absl::Status Run(const Pooling& pooling);
  absl::Status Run(const BatchNorm& norm);
  absl::Status Run(const Softmax& softmax);
  absl::Status Run(const Pointwise& pointwise);
  absl::Status Run(const Recurrent& network);
  absl::Status Run(const Fourier&);  // cuFFT's (fft.h)
  absl::Status Run(const Lapack&);   // cuSOLVER's (solver/solver.h)
  absl::Status Run(const DnnGraph& graph);
  absl::Status Run(const DnnNorm& norm);  // which a graph may be
  absl::Status Multiply(const Convolution& convolution);
  // cuDNN's choice for convolutions of this form, which takes as long as a small one itself.
  struct Algorithm {
    int number = 0, math = 0;
    size_t memory = 0;
  };
  struct ConvolutionDescriptors {
    void *x, *filter, *convolution, *y;
  };
  absl::StatusOr<Algorithm> ChooseAlgorithm(const Convolution& c, const ConvolutionDescriptors& descriptors);
  absl::StatusOr<Algorithm> AlgorithmFor(const Convolution& c, const ConvolutionDescriptors& descriptors);
  absl::Status Fill(double value, const Tensor& to);
  absl::Status Transform(double alpha, const Tensor& from, double beta, const Tensor& to);
  absl::Status Activate(const ActivationForm& activation, double alpha, const Tensor& from, double beta,
                        const Tensor& to);
  absl::Status Add(double alpha, const Tensor& from, double beta, const Tensor& to);
  absl::StatusOr<DevicePointer> WorkspaceOf(uint64_t bytes) { return workspaces_.Of(stream_, bytes); }

  Gpu* gpu_;
  std::unique_ptr<Functions> functions_;
  std::unique_ptr<DnnRecurrent> recurrent_;  // from its first use on
  std::unique_ptr<DnnGraphs> graphs_;
  std::optional<DnnConvolutions> convolutions_;
  void* library_ = nullptr;
  void* handle_ = nullptr;
  StreamHandle stream_ = nullptr;
  Workspaces workspaces_;
  std::map<std::vector<int32_t>, Algorithm> algorithms_;  // by what a choice depends on
};

}  // namespace wharf::device::cuda
