#include "wharf/device/cuda/gemm_check.h"
#include "wharf/device/element_type.h"

#include <algorithm>
#include <climits>

namespace wharf::device::cuda {
namespace {

struct Operand {
  const char* name;
  DeviceAddress address;
  ElementType type;
  int64_t rows, columns, leading, stride;
};

absl::Status CheckOperand(const Operand& o, const Gemm& gemm,
                          const std::function<bool(DeviceAddress, uint64_t)>& mapped) {
  if (o.leading < std::max<int64_t>(1, o.rows) || o.leading > INT_MAX) {
    return CudaStatus(CudaError::kInvalidValue, "gemm: leading dimension {} of {}, which has {} rows", o.leading,
                      o.name, o.rows);
  }
  if (o.rows == 0 || o.columns == 0) return absl::OkStatus();
  if (gemm.pointer_arrays) {
    if (mapped(o.address, static_cast<uint64_t>(gemm.batch) * sizeof(DeviceAddress))) return absl::OkStatus();
    return CudaStatus(CudaError::kInvalidValue, "gemm: the pointers of {} are not in device memory", o.name);
  }
  // Sizes are below 2^31 and the stride below 2^63, so that 128 bits hold the product.
  const auto elements =
      static_cast<__int128>(gemm.batch - 1) * o.stride + static_cast<__int128>(o.columns - 1) * o.leading + o.rows;
  const __int128 bytes = elements * static_cast<__int128>(ElementBytes(o.type));
  if (o.stride < 0 || bytes > INT64_MAX || !mapped(o.address, static_cast<uint64_t>(bytes))) {
    return CudaStatus(CudaError::kInvalidValue, "gemm: {} at {:#x} is not all in device memory", o.name, o.address);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckGemm(const Gemm& g, const std::function<bool(DeviceAddress, uint64_t)>& mapped) {
  for (int64_t size : {g.m, g.n, g.k, g.batch}) {
    if (size < 0 || size > INT_MAX) return CudaStatus(CudaError::kInvalidValue, "gemm: a size of {}", size);
  }
  if (g.batch == 0) return absl::OkStatus();
  const bool ta = g.transpose_a != Transpose::kNone, tb = g.transpose_b != Transpose::kNone;
  const Operand operands[] = {{"A", g.a, g.type_a, ta ? g.k : g.m, ta ? g.m : g.k, g.lda, g.stride_a},
                              {"B", g.b, g.type_b, tb ? g.n : g.k, tb ? g.k : g.n, g.ldb, g.stride_b},
                              {"C", g.c, g.type_c, g.m, g.n, g.ldc, g.stride_c}};
  for (const Operand& operand : operands) WHARF_RETURN_IF_ERROR(CheckOperand(operand, g, mapped));
  if (g.d != 0) {
    WHARF_RETURN_IF_ERROR(CheckOperand({"D", g.d, g.type_c, g.m, g.n, g.ldd, g.stride_d}, g, mapped));
  }
  if (g.bias != 0 && !mapped(g.bias, static_cast<uint64_t>(g.m) * ElementBytes(g.type_c))) {
    return CudaStatus(CudaError::kInvalidValue, "gemm: the bias at {:#x} is not all in device memory", g.bias);
  }
  if (g.scalars_on_device) {
    const uint64_t bytes = ElementBytes(g.compute);
    if (!mapped(g.alpha_address, bytes) || !mapped(g.beta_address, bytes)) {
      return CudaStatus(CudaError::kInvalidValue, "gemm: alpha or beta is not in device memory");
    }
  }
  return absl::OkStatus();
}

}  // namespace wharf::device::cuda
