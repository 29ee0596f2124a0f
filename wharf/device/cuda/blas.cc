#include "wharf/device/cuda/blas.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstring>

#include "wharf/device/cuda/box.h"
#include "wharf/device/cuda/gemm_check.h"
#include "wharf/device/cuda/generated/epilogue_ptx.h"
#include "wharf/device/cuda/library/half_bits.h"
#include "wharf/device/cuda/library/library.h"
#include "wharf/device/element_type.h"

namespace wharf::device::cuda {
namespace {

constexpr const char* kLibraries[] = {"libcublas.so.13", "libcublas.so.12"};
constexpr int kPointersOnHost = 0, kPointersOnDevice = 1, kDefaultAlgorithm = -1, kNotSupportedStatus = 15;

// cudaDataType
int DataType(ElementType type) {
  switch (type) {
    case ElementType::kF16:
      return 2;
    case ElementType::kBF16:
      return 14;
    case ElementType::kF32:
      return 0;
    case ElementType::kF64:
      return 1;
    case ElementType::kC32:
      return 4;
    case ElementType::kC64:
      return 5;
    case ElementType::kI8:
      return 3;
    case ElementType::kI32:
      return 10;
  }
  return -1;
}

// cublasComputeType_t; -1 where there is none.
int ComputeType(ElementType type) {
  switch (type) {
    case ElementType::kF16:
      return 64;
    case ElementType::kF32:
    case ElementType::kC32:
      return 68;
    case ElementType::kF64:
    case ElementType::kC64:
      return 70;
    case ElementType::kI32:
      return 72;
    default:
      return -1;
  }
}

}  // namespace

struct Blas::Functions {
  int (*create)(void**) = nullptr;
  int (*destroy)(void*) = nullptr;
  int (*set_stream)(void*, StreamHandle) = nullptr;
  int (*set_workspace)(void*, void*, size_t) = nullptr;
  int (*set_pointer_mode)(void*, int) = nullptr;
  int (*gemm)(void*, int, int, int, int, int, const void*, const void*, int, int, const void*, int, int, const void*,
              void*, int, int, int, int) = nullptr;
  int (*gemm_strided)(void*, int, int, int, int, int, const void*, const void*, int, int, long long, const void*, int,
                      int, long long, const void*, void*, int, int, long long, int, int, int) = nullptr;
  int (*gemm_batched)(void*, int, int, int, int, int, const void*, const void* const*, int, int, const void* const*,
                      int, int, const void*, void* const*, int, int, int, int, int) = nullptr;
  // Those of a type: of complex numbers and of wide ones, which the above do not multiply in every shape (a number and
  // a row, for one).
  struct OfType {
    int (*gemm)(void*, int, int, int, int, int, const void*, const void*, int, const void*, int, const void*, void*,
                int) = nullptr;
    int (*strided)(void*, int, int, int, int, int, const void*, const void*, int, long long, const void*, int,
                   long long, const void*, void*, int, long long, int) = nullptr;
    int (*batched)(void*, int, int, int, int, int, const void*, const void*, int, const void*, int, const void*, void*,
                   int, int) = nullptr;
  } complex, wide;
};

absl::StatusOr<std::unique_ptr<Blas>> Blas::Create(Gpu* gpu) {
  std::unique_ptr<Blas> blas(new Blas(gpu));
  std::string reasons;
  for (const char* name : kLibraries) {
    absl::StatusOr<void*> library = OpenLibrary(name);
    if (!library.ok()) {
      reasons += fmt::format("{}{}", reasons.empty() ? "" : "; ", Message(library.status()));
      continue;
    }
    if (dlsym(*library, "wharf_shim_marker") != nullptr) {
      reasons += fmt::format("{}{} is Wharf's own drop-in library", reasons.empty() ? "" : "; ", name);
      continue;
    }
    WHARF_RETURN_IF_ERROR(blas->Find(*library));
    WHARF_RETURN_IF_ERROR(blas->Check(blas->functions_->create(&blas->handle_), "cublasCreate"));
    return blas;
  }
  return CudaStatus(CudaError::kNotSupported, "matrix products need cuBLAS on the server: {}", reasons);
}

Blas::Blas(Gpu* gpu) : gpu_(gpu), workspaces_(gpu) {}

Blas::~Blas() {
  if (handle_ != nullptr) functions_->destroy(handle_);
  if (epilogue_module_ != nullptr) (*gpu_)->ModuleUnload(epilogue_module_);
}

absl::Status Blas::Find(void* library) {
  functions_ = std::make_unique<Functions>();
  FunctionFinder find(library);
  find(functions_->create, "cublasCreate_v2");
  find(functions_->destroy, "cublasDestroy_v2");
  find(functions_->set_stream, "cublasSetStream_v2");
  find(functions_->set_workspace, "cublasSetWorkspace_v2");
  find(functions_->set_pointer_mode, "cublasSetPointerMode_v2");
  find(functions_->gemm, "cublasGemmEx");
  find(functions_->gemm_strided, "cublasGemmStridedBatchedEx");
  find(functions_->gemm_batched, "cublasGemmBatchedEx");
  find(functions_->complex.gemm, "cublasCgemm_v2");
  find(functions_->complex.strided, "cublasCgemmStridedBatched");
  find(functions_->complex.batched, "cublasCgemmBatched");
  find(functions_->wide.gemm, "cublasZgemm_v2");
  find(functions_->wide.strided, "cublasZgemmStridedBatched");
  find(functions_->wide.batched, "cublasZgemmBatched");
  if (find.missing() != nullptr) {
    return CudaStatus(CudaError::kNotSupported, "this cuBLAS has no {}", find.missing());
  }
  return absl::OkStatus();
}

absl::Status Blas::Check(int status, const char* what) const {
  switch (status) {
    case 0:
      return absl::OkStatus();
    case 3:
      return CudaStatus(CudaError::kOutOfMemory, "{}: cuBLAS is out of GPU memory", what);
    case 7:
      return CudaStatus(CudaError::kInvalidValue, "{}: cuBLAS refuses an argument", what);
    case kNotSupportedStatus:
      return CudaStatus(CudaError::kNotSupported, "{}: cuBLAS has no such product", what);
    default:
      return CudaStatus(CudaError::kLaunchFailure, "{}: cuBLAS status {}", what, status);
  }
}

absl::StatusOr<Blas::Scalar> Blas::MakeScalar(const std::array<double, 2>& value, ElementType type) const {
  Scalar scalar;
  auto store = [&](auto real, auto imaginary) {
    std::memcpy(scalar.bytes, &real, sizeof(real));
    std::memcpy(scalar.bytes + sizeof(real), &imaginary, sizeof(imaginary));
  };
  switch (type) {
    case ElementType::kF16:
      store(HalfBits(value[0]), uint16_t{0});
      break;
    case ElementType::kF32:
    case ElementType::kC32:
      store(static_cast<float>(value[0]), static_cast<float>(value[1]));
      break;
    case ElementType::kF64:
    case ElementType::kC64:
      store(value[0], value[1]);
      break;
    case ElementType::kI32:
      store(static_cast<int32_t>(value[0]), int32_t{0});
      break;
    default:
      return CudaStatus(CudaError::kNotSupported, "no product computes in this type");
  }
  return scalar;
}

absl::Status Blas::Run(const Gemm& gemm, StreamHandle stream) {
  WHARF_RETURN_IF_ERROR(Check(functions_->set_stream(handle_, stream), "cublasSetStream"));  // and its own workspace
  return Queue(gemm, stream);
}

absl::Status Blas::RunCaptured(const Gemm& gemm, StreamHandle stream) {
  // As much as cuBLAS takes itself, so that it chooses the same kernels.
  const uint64_t bytes = uint64_t{gpu_->Properties().compute_major >= 9 ? 32u : 4u} << 20;
  WHARF_ASSIGN_OR_RETURN(const DevicePointer workspace, workspaces_.Of(stream, bytes));
  WHARF_RETURN_IF_ERROR(Check(functions_->set_stream(handle_, stream), "cublasSetStream"));
  WHARF_RETURN_IF_ERROR(
      Check(functions_->set_workspace(handle_, reinterpret_cast<void*>(workspace), bytes), "cublasSetWorkspace"));
  return Queue(gemm, stream);
}

absl::Status Blas::Queue(const Gemm& gemm, StreamHandle stream) {
  Gemm in_place = gemm;
  if (gemm.d != 0 && gemm.d != gemm.c) {
    if (gemm.pointer_arrays) {
      return CudaStatus(CudaError::kNotSupported, "a batch by pointers with a result apart from C");
    }
    WHARF_RETURN_IF_ERROR(CopyCToD(gemm, stream));
    in_place.c = gemm.d;
    in_place.ldc = gemm.ldd;
    in_place.stride_c = gemm.stride_d;
  }
  WHARF_RETURN_IF_ERROR(Multiply(in_place));
  if (gemm.epilogue == Epilogue::kNone && gemm.bias == 0) return absl::OkStatus();
  return RunEpilogue(gemm, in_place.c, in_place.ldc, in_place.stride_c, stream);
}

absl::Status Blas::Multiply(const Gemm& g) {
  const int compute = ComputeType(g.compute);
  if (compute < 0) return CudaStatus(CudaError::kNotSupported, "no product computes in this type");
  const void* alpha = reinterpret_cast<const void*>(g.alpha_address);
  const void* beta = reinterpret_cast<const void*>(g.beta_address);
  Scalar host_alpha, host_beta;
  if (!g.scalars_on_device) {
    WHARF_ASSIGN_OR_RETURN(host_alpha, MakeScalar(g.alpha, g.compute));
    WHARF_ASSIGN_OR_RETURN(host_beta, MakeScalar(g.beta, g.compute));
    alpha = host_alpha.bytes;
    beta = host_beta.bytes;
  }
  WHARF_RETURN_IF_ERROR(
      Check(functions_->set_pointer_mode(handle_, g.scalars_on_device ? kPointersOnDevice : kPointersOnHost),
            "cublasSetPointerMode"));
  const int ta = static_cast<int>(g.transpose_a), tb = static_cast<int>(g.transpose_b);
  const int m = static_cast<int>(g.m), n = static_cast<int>(g.n), k = static_cast<int>(g.k);
  const int lda = static_cast<int>(g.lda), ldb = static_cast<int>(g.ldb), ldc = static_cast<int>(g.ldc);
  const int type_a = DataType(g.type_a), type_b = DataType(g.type_b), type_c = DataType(g.type_c);
  const int batch = static_cast<int>(g.batch);
  auto* a = reinterpret_cast<const void*>(g.a);
  auto* b = reinterpret_cast<const void*>(g.b);
  auto* c = reinterpret_cast<void*>(g.c);
  int status = 0;
  if (g.pointer_arrays) {
    status = functions_->gemm_batched(handle_, ta, tb, m, n, k, alpha, static_cast<const void* const*>(a), type_a, lda,
                                      static_cast<const void* const*>(b), type_b, ldb, beta,
                                      static_cast<void* const*>(c), type_c, ldc, batch, compute, kDefaultAlgorithm);
  } else if (g.batch == 1) {
    status = functions_->gemm(handle_, ta, tb, m, n, k, alpha, a, type_a, lda, b, type_b, ldb, beta, c, type_c, ldc,
                              compute, kDefaultAlgorithm);
  } else {
    status = functions_->gemm_strided(handle_, ta, tb, m, n, k, alpha, a, type_a, lda, g.stride_a, b, type_b, ldb,
                                      g.stride_b, beta, c, type_c, ldc, g.stride_c, batch, compute, kDefaultAlgorithm);
  }
  const bool complex = g.compute == ElementType::kC32, wide = g.compute == ElementType::kC64;
  const bool of_one_type = g.type_a == g.compute && g.type_b == g.compute && g.type_c == g.compute;
  if (status == kNotSupportedStatus && of_one_type && (complex || wide)) {
    const Functions::OfType& of = complex ? functions_->complex : functions_->wide;
    status = g.pointer_arrays ? of.batched(handle_, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, batch)
             : g.batch == 1   ? of.gemm(handle_, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
                            : of.strided(handle_, ta, tb, m, n, k, alpha, a, lda, g.stride_a, b, ldb, g.stride_b, beta,
                                         c, ldc, g.stride_c, batch);
  }
  return Check(status, "a product of cuBLAS's");
}

absl::Status Blas::CopyCToD(const Gemm& g, StreamHandle stream) {
  const uint64_t element = ElementBytes(g.type_c);
  const Extent columns{static_cast<uint64_t>(g.m) * element, static_cast<uint64_t>(g.n), 1};
  for (int64_t i = 0; i < g.batch; ++i) {
    const Region from{g.c + static_cast<uint64_t>(i * g.stride_c) * element, static_cast<uint64_t>(g.ldc) * element, 0};
    const Region to{g.d + static_cast<uint64_t>(i * g.stride_d) * element, static_cast<uint64_t>(g.ldd) * element, 0};
    WHARF_RETURN_IF_ERROR(SpanBytes(from, columns).status());
    WHARF_RETURN_IF_ERROR(SpanBytes(to, columns).status());
    WHARF_RETURN_IF_ERROR(CopyBox(gpu_, {to, nullptr}, {from, nullptr}, columns, stream));
  }
  return absl::OkStatus();
}

absl::StatusOr<FunctionHandle> Blas::EpilogueKernel(ElementType type) {
  if (epilogue_module_ == nullptr) {
    WHARF_RETURN_IF_ERROR(gpu_->Check((*gpu_)->ModuleLoadData(&epilogue_module_, kEpiloguePtx), "epilogue kernels"));
  }
  const char* name = type == ElementType::kF32    ? "wharf_epilogue_f32"
                     : type == ElementType::kF64  ? "wharf_epilogue_f64"
                     : type == ElementType::kF16  ? "wharf_epilogue_f16"
                     : type == ElementType::kBF16 ? "wharf_epilogue_bf16"
                                                  : nullptr;
  if (name == nullptr) return CudaStatus(CudaError::kNotSupported, "no bias or activation for this type");
  FunctionHandle kernel = nullptr;
  WHARF_RETURN_IF_ERROR(gpu_->Check((*gpu_)->ModuleGetFunction(&kernel, epilogue_module_, name), name));
  return kernel;
}

absl::Status Blas::RunEpilogue(const Gemm& g, DeviceAddress d, int64_t ldd, int64_t stride_d, StreamHandle stream) {
  if (g.pointer_arrays) return CudaStatus(CudaError::kNotSupported, "bias or activation on a batch by pointers");
  WHARF_ASSIGN_OR_RETURN(const FunctionHandle kernel, EpilogueKernel(g.type_c));
  struct {
    uint64_t d, bias;
    int64_t m, n, batch, ldd, stride;
    int32_t activation;
  } parameters{d, g.bias, g.m, g.n, g.batch, ldd, stride_d, static_cast<int32_t>(g.epilogue)};
  if (g.m == 0 || g.n == 0 || g.batch == 0) return absl::OkStatus();
  size_t bytes = offsetof(decltype(parameters), activation) + sizeof(parameters.activation);
  void* extra[] = {kLaunchBufferPointer, &parameters, kLaunchBufferSize, &bytes, kLaunchEnd};
  constexpr int64_t kBlock = 128, kMostRowBlocks = 1024, kMostColumns = 32768;
  const auto rows = static_cast<unsigned>(std::min((g.m + kBlock - 1) / kBlock, kMostRowBlocks));
  const auto columns = static_cast<unsigned>(std::min(g.n * g.batch, kMostColumns));
  return gpu_->Check((*gpu_)->LaunchKernel(kernel, rows, columns, 1, kBlock, 1, 1, 0, stream, nullptr, extra),
                     "epilogue kernel");
}

}  // namespace wharf::device::cuda
