// Blas: matrix products through the vendor's cuBLAS, opened at the first use. Bias and activation are a kernel of our
// own behind the product.
#pragma once

#include "wharf/device/cuda/driver/gpu.h"

namespace wharf::device::cuda {

// Not thread-safe.
class Blas {
 public:
  // kNotSupported if no libcublas can be opened here. REQUIRES: the context is current, also for Run and destruction.
  static absl::StatusOr<std::unique_ptr<Blas>> Create(Gpu* gpu);
  ~Blas();
  // Queues the product. kNotSupported for combinations cuBLAS or the epilogue does not have. REQUIRES: CheckGemm
  // accepts it, and it is not empty.
  absl::Status Run(const Gemm& gemm, StreamHandle stream);
  // The same while `stream` is captured: in memory of ours, for cuBLAS may take its own, which a graph cannot.
  absl::Status RunCaptured(const Gemm& gemm, StreamHandle stream);

 private:
  struct Functions;
  struct Scalar {
    alignas(16) std::byte bytes[16] = {};
  };
  explicit Blas(Gpu* gpu);
  absl::Status Find(void* library);
  absl::Status Check(int status, const char* what) const;
  absl::StatusOr<Scalar> MakeScalar(const std::array<double, 2>& value, ElementType type) const;
  absl::Status Queue(const Gemm& gemm, StreamHandle stream);
  absl::Status Multiply(const Gemm& gemm);
  absl::Status CopyCToD(const Gemm& gemm, StreamHandle stream);
  absl::Status RunEpilogue(const Gemm& gemm, DeviceAddress d, int64_t ldd, int64_t stride_d, StreamHandle stream);
  absl::StatusOr<FunctionHandle> EpilogueKernel(ElementType type);

  Gpu* gpu_;
  std::unique_ptr<Functions> functions_;
  void* handle_ = nullptr;
  ModuleHandle epilogue_module_ = nullptr;
  Workspaces workspaces_;  // of streams that are captured
};

}  // namespace wharf::device::cuda
