#include "wharf/device/soft/driver/gemm.h"

#include <cblas.h>

#include <algorithm>
#include <climits>
#include <cmath>
#include <complex>
#include <cstring>
#include <optional>
#include <type_traits>
#include <vector>

#include "wharf/device/element_type.h"
#include "wharf/device/soft/primitives/half.h"

namespace wharf::device::soft {
namespace {

using Wide = __int128;

// Some ten microseconds. Up to here OpenBLAS uses one thread.
constexpr int64_t kBriefProducts = 64 * 64 * 64, kBriefCalls = 64;

// Which code computes it: the type that BLAS is called with. Nothing if there is none.
std::optional<ElementType> KernelFor(const Gemm& gemm) {
  const auto is = [](ElementType type, std::initializer_list<ElementType> of) {
    return std::find(of.begin(), of.end(), type) != of.end();
  };
  using enum ElementType;
  const bool same = gemm.type_a == gemm.type_b && gemm.type_a == gemm.type_c;
  if (same && gemm.type_a == kF64 && gemm.compute == kF64) return kF64;
  if (same && gemm.type_a == kC32 && is(gemm.compute, {kC32, kF32})) return kC32;
  if (same && gemm.type_a == kC64 && is(gemm.compute, {kC64, kF64})) return kC64;
  if (gemm.compute == kI32) {
    return gemm.type_a == kI8 && gemm.type_b == kI8 && gemm.type_c == kI32 ? std::optional(kI32) : std::nullopt;
  }
  if (is(gemm.compute, {kF32, kF16}) && is(gemm.type_a, {kF32, kF16, kBF16, kI8}) &&
      is(gemm.type_b, {kF32, kF16, kBF16, kI8}) && is(gemm.type_c, {kF32, kF16, kBF16})) {
    return kF32;
  }
  return std::nullopt;
}

// One operand as it lies in memory: a column-major matrix.
struct Matrix {
  const char* name;
  DeviceAddress address;
  ElementType type;
  int64_t rows, columns, ld, stride;

  bool Empty() const { return rows == 0 || columns == 0; }
  // Sizes and ld are below 2^31: of elements of 8 and 16 bytes that is more than 64 bits count.
  Wide WideBytes() const {
    return Empty() ? 0 : (static_cast<Wide>(ld) * (columns - 1) + rows) * static_cast<Wide>(ElementBytes(type));
  }
  // REQUIRES: CheckMatrix accepted it.
  uint64_t Bytes() const { return static_cast<uint64_t>(WideBytes()); }
};

std::vector<Matrix> OperandsOf(const Gemm& g) {
  const bool ta = g.transpose_a != Transpose::kNone, tb = g.transpose_b != Transpose::kNone;
  std::vector<Matrix> operands{
      {"A", g.a, g.type_a, ta ? g.k : g.m, ta ? g.m : g.k, g.lda, g.stride_a},
      {"B", g.b, g.type_b, tb ? g.n : g.k, tb ? g.k : g.n, g.ldb, g.stride_b},
      {"C", g.c, g.type_c, g.m, g.n, g.ldc, g.stride_c},
  };
  if (g.d != 0) operands.push_back({"D", g.d, g.type_c, g.m, g.n, g.ldd, g.stride_d});
  return operands;
}

absl::Status CheckMatrix(const Matrix& matrix, const Gemm& gemm, const Memory& memory) {
  if (matrix.ld < std::max<int64_t>(1, matrix.rows) || matrix.ld > INT_MAX) {
    return CudaStatus(CudaError::kInvalidValue, "gemm: leading dimension {} of {} with {} rows", matrix.ld, matrix.name,
                      matrix.rows);
  }
  if (matrix.Empty()) return absl::OkStatus();
  if (matrix.WideBytes() > LLONG_MAX) {
    return CudaStatus(CudaError::kInvalidValue, "gemm: {} is larger than memory can be", matrix.name);
  }
  if (matrix.address % std::min<uint64_t>(ElementBytes(matrix.type), 8) != 0 && !gemm.pointer_arrays) {
    return CudaStatus(CudaError::kInvalidValue, "gemm: {} at {:#x} is not aligned", matrix.name, matrix.address);
  }
  if (gemm.pointer_arrays) {
    if (memory.IsMapped(matrix.address, static_cast<uint64_t>(gemm.batch) * sizeof(DeviceAddress)))
      return absl::OkStatus();
    return CudaStatus(CudaError::kInvalidValue, "gemm: the pointers of {} are not in device memory", matrix.name);
  }
  // Sizes are below 2^31 and strides below 2^63: the product fits.
  const Wide span = static_cast<Wide>(gemm.batch - 1) * matrix.stride * static_cast<Wide>(ElementBytes(matrix.type)) +
                    matrix.WideBytes();
  if (matrix.stride < 0 || span > static_cast<Wide>(~uint64_t{0}) ||
      !memory.IsMapped(matrix.address, static_cast<uint64_t>(span))) {
    return CudaStatus(CudaError::kInvalidValue, "gemm: {} at {:#x} is not all in device memory", matrix.name,
                      matrix.address);
  }
  return absl::OkStatus();
}

CBLAS_TRANSPOSE Cblas(Transpose transpose) {
  return transpose == Transpose::kNone        ? CblasNoTrans
         : transpose == Transpose::kTranspose ? CblasTrans
                                              : CblasConjTrans;
}

template <typename T>
T* At(DeviceAddress address) {
  return reinterpret_cast<T*>(address);
}

// Column-major BLAS by element type.
template <typename T>
void Blas(const Gemm& g, const T* a, const T* b, T alpha, T beta, T* c, int64_t ldc) {
  const CBLAS_TRANSPOSE ta = Cblas(g.transpose_a), tb = Cblas(g.transpose_b);
  const auto m = static_cast<blasint>(g.m), n = static_cast<blasint>(g.n), k = static_cast<blasint>(g.k);
  const auto lda = static_cast<blasint>(g.lda), ldb = static_cast<blasint>(g.ldb), ld = static_cast<blasint>(ldc);
  if constexpr (std::is_same_v<T, float>) {
    cblas_sgemm(CblasColMajor, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ld);
  } else if constexpr (std::is_same_v<T, double>) {
    cblas_dgemm(CblasColMajor, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ld);
  } else if constexpr (std::is_same_v<T, std::complex<float>>) {
    cblas_cgemm(CblasColMajor, ta, tb, m, n, k, &alpha, a, lda, b, ldb, &beta, c, ld);
  } else {
    cblas_zgemm(CblasColMajor, ta, tb, m, n, k, &alpha, a, lda, b, ldb, &beta, c, ld);
  }
}

template <typename T>
void ToFloat(ElementType type, const void* from, T* to, size_t count) {
  switch (type) {
    case ElementType::kF16:
      return HalfToFloat(static_cast<const uint16_t*>(from), to, count);
    case ElementType::kBF16:
      return BrainToFloat(static_cast<const uint16_t*>(from), to, count);
    case ElementType::kI8:
      for (size_t i = 0; i < count; ++i) to[i] = static_cast<const int8_t*>(from)[i];
      return;
    default:
      std::memcpy(to, from, count * sizeof(float));
  }
}

void FromFloat(ElementType type, const float* from, void* to, size_t count) {
  switch (type) {
    case ElementType::kF16:
      return FloatToHalf(from, static_cast<uint16_t*>(to), count);
    case ElementType::kBF16:
      return FloatToBrain(from, static_cast<uint16_t*>(to), count);
    default:
      std::memcpy(to, from, count * sizeof(float));
  }
}

struct Scalars {
  std::complex<double> alpha, beta;
};

template <typename T>
T Scalar(std::complex<double> value) {
  if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
    return static_cast<T>(value.real());
  } else {
    return T(static_cast<typename T::value_type>(value.real()), static_cast<typename T::value_type>(value.imag()));
  }
}

// The operands of one multiplication of the batch.
struct Operands {
  DeviceAddress a, b, c, d;
  int64_t ldd;
};

constexpr float kGeluScale = 0.7978845608028654F;  // sqrt(2 / pi)

// The tanh form, as cublasLt's.
template <typename T>
T Gelu(T x) {
  return T{0.5} * x * (T{1} + std::tanh(T{kGeluScale} * (x + T{0.044715} * x * x * x)));
}

template <typename T>
void ApplyEpilogue(const Gemm& g, T* column, const T* bias) {
  if (bias != nullptr) {
    for (int64_t i = 0; i < g.m; ++i) column[i] += bias[i];
  }
  if constexpr (std::is_floating_point_v<T>) {
    if (g.epilogue == Epilogue::kRelu) {
      for (int64_t i = 0; i < g.m; ++i) column[i] = column[i] > T{0} ? column[i] : T{0};
    } else if (g.epilogue == Epilogue::kGelu) {
      for (int64_t i = 0; i < g.m; ++i) column[i] = Gelu(column[i]);
    }
  }
}

// All operands are of type T: BLAS works in place.
template <typename T>
void MultiplyDirect(const Gemm& g, const Operands& o, const Scalars& scalars) {
  const T beta = Scalar<T>(scalars.beta);
  if (o.d != o.c && beta != T{0}) {
    for (int64_t j = 0; j < g.n; ++j) std::memmove(At<T>(o.d) + j * o.ldd, At<T>(o.c) + j * g.ldc, g.m * sizeof(T));
  }
  Blas<T>(g, At<T>(o.a), At<T>(o.b), Scalar<T>(scalars.alpha), beta, At<T>(o.d), o.ldd);
  if (g.bias == 0 && g.epilogue == Epilogue::kNone) return;
  for (int64_t j = 0; j < g.n; ++j) ApplyEpilogue<T>(g, At<T>(o.d) + j * o.ldd, At<T>(g.bias));
}

constexpr int64_t kPanel = 1024;  // sums of this many int8 products are exact in float: 1024 * 128 * 128 = 2^24

// op(X)'s columns (for A) or rows (for B) [first, first + count) of the inner dimension as a dense float matrix. The
// stored layout is kept: with `inner_is_column` the inner dimension runs along the stored columns.
struct Panel {
  std::vector<float> data;
  int64_t ld = 0;
};

void LoadPanel(Panel& panel, const Matrix& matrix, bool inner_is_column, int64_t first, int64_t count) {
  const int64_t rows = inner_is_column ? matrix.rows : count, columns = inner_is_column ? count : matrix.columns;
  const int64_t row = inner_is_column ? 0 : first, column = inner_is_column ? first : 0;
  panel.ld = std::max<int64_t>(1, rows);
  panel.data.resize(static_cast<size_t>(panel.ld) * columns);
  for (int64_t j = 0; j < columns; ++j) {
    const DeviceAddress from = matrix.address + ((column + j) * matrix.ld + row) * ElementBytes(matrix.type);
    ToFloat(matrix.type, At<void>(from), panel.data.data() + j * panel.ld, static_cast<size_t>(rows));
  }
}

// The product op(A) op(B) summed panel by panel: `add` gets each panel's product, m x n with leading dimension m.
template <typename Add>
void MultiplyPanels(const Gemm& g, const Operands& o, Add add) {
  Gemm view = g;
  view.a = o.a;
  view.b = o.b;
  const std::vector<Matrix> operands = OperandsOf(view);
  Panel a, b;
  std::vector<float> product(static_cast<size_t>(g.m) * g.n);
  for (int64_t first = 0; first < g.k; first += kPanel) {
    const int64_t count = std::min(kPanel, g.k - first);
    LoadPanel(a, operands[0], g.transpose_a == Transpose::kNone, first, count);
    LoadPanel(b, operands[1], g.transpose_b != Transpose::kNone, first, count);
    Gemm part = g;
    part.k = count;
    part.lda = a.ld;
    part.ldb = b.ld;
    Blas<float>(part, a.data.data(), b.data.data(), 1.0F, 0.0F, product.data(), g.m);
    add(product);
  }
}

void MultiplyConverted(const Gemm& g, const Operands& o, const Scalars& scalars) {
  std::vector<float> sum(static_cast<size_t>(g.m) * g.n);
  MultiplyPanels(g, o, [&](const std::vector<float>& product) {
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += product[i];
  });
  const auto alpha = static_cast<float>(scalars.alpha.real()), beta = static_cast<float>(scalars.beta.real());
  const auto m = static_cast<size_t>(g.m);
  const uint64_t size = ElementBytes(g.type_c);
  std::vector<float> old(m), bias(g.bias != 0 ? m : 0);
  if (g.bias != 0) ToFloat(g.type_c, At<void>(g.bias), bias.data(), m);
  for (int64_t j = 0; j < g.n; ++j) {
    float* column = sum.data() + j * g.m;
    if (beta != 0) ToFloat(g.type_c, At<void>(o.c + j * g.ldc * size), old.data(), m);
    for (size_t i = 0; i < m; ++i) column[i] = alpha * column[i] + (beta != 0 ? beta * old[i] : 0);
    ApplyEpilogue<float>(g, column, g.bias != 0 ? bias.data() : nullptr);
    FromFloat(g.type_c, column, At<void>(o.d + j * o.ldd * size), m);
  }
}

void MultiplyInteger(const Gemm& g, const Operands& o, const Scalars& scalars) {
  std::vector<uint32_t> sum(static_cast<size_t>(g.m) * g.n);  // wraps as the device's int32 does
  MultiplyPanels(g, o, [&](const std::vector<float>& product) {
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += static_cast<uint32_t>(static_cast<int32_t>(product[i]));
  });
  const auto alpha = static_cast<uint32_t>(static_cast<int64_t>(scalars.alpha.real()));
  const auto beta = static_cast<uint32_t>(static_cast<int64_t>(scalars.beta.real()));
  for (int64_t j = 0; j < g.n; ++j) {
    const uint32_t* from = At<uint32_t>(o.c) + j * g.ldc;
    uint32_t* to = At<uint32_t>(o.d) + j * o.ldd;
    for (int64_t i = 0; i < g.m; ++i) {
      uint32_t value = alpha * sum[static_cast<size_t>(j * g.m + i)] + (beta != 0 ? beta * from[i] : 0);
      if (g.bias != 0) value += At<uint32_t>(g.bias)[i];
      if (g.epilogue == Epilogue::kRelu && static_cast<int32_t>(value) < 0) value = 0;
      to[i] = value;
    }
  }
}

std::complex<double> ReadScalar(ElementType type, DeviceAddress address) {
  const auto* bytes = At<const void>(address);
  const auto read = [&](auto value) {
    std::memcpy(&value, bytes, sizeof value);
    return value;
  };
  switch (type) {
    case ElementType::kF16:
      return HalfToFloat(read(uint16_t{}));
    case ElementType::kBF16:
      return BrainToFloat(read(uint16_t{}));
    case ElementType::kF32:
      return read(float{});
    case ElementType::kF64:
      return read(double{});
    case ElementType::kC32:
      return read(std::complex<float>{});
    case ElementType::kC64:
      return read(std::complex<double>{});
    case ElementType::kI8:
      return read(int8_t{});
    case ElementType::kI32:
      return read(int32_t{});
  }
  return 0;
}

void Multiply(ElementType kernel, const Gemm& g, const Operands& o, const Scalars& scalars) {
  switch (kernel) {
    case ElementType::kF64:
      return MultiplyDirect<double>(g, o, scalars);
    case ElementType::kC32:
      return MultiplyDirect<std::complex<float>>(g, o, scalars);
    case ElementType::kC64:
      return MultiplyDirect<std::complex<double>>(g, o, scalars);
    case ElementType::kI32:
      return MultiplyInteger(g, o, scalars);
    default:
      break;
  }
  const bool direct = g.type_a == ElementType::kF32 && g.type_b == ElementType::kF32 && g.type_c == ElementType::kF32;
  direct ? MultiplyDirect<float>(g, o, scalars) : MultiplyConverted(g, o, scalars);
}

// Addresses of the `index`th multiplication; through pointer arrays they have to be checked here.
absl::StatusOr<Operands> OperandsAt(const Gemm& g, int64_t index, const Memory& memory) {
  const bool has_d = g.d != 0;
  Operands o{g.a, g.b, g.c, has_d ? g.d : g.c, has_d ? g.ldd : g.ldc};
  if (g.pointer_arrays) {
    const std::vector<Matrix> matrices = OperandsOf(g);
    DeviceAddress* const fields[] = {&o.a, &o.b, &o.c, &o.d};
    for (size_t i = 0; i < matrices.size(); ++i) {
      if (matrices[i].Empty()) continue;  // neither it nor its pointers need be there
      *fields[i] = At<DeviceAddress>(matrices[i].address)[index];
      if (!memory.IsLive(*fields[i], matrices[i].Bytes())) {
        return CudaStatus(CudaError::kIllegalAddress, "gemm: pointer {} of {}, {:#x}, is not in device memory", index,
                          matrices[i].name, *fields[i]);
      }
    }
    if (!has_d) o.d = o.c;
    return o;
  }
  o.a += static_cast<uint64_t>(index * g.stride_a) * ElementBytes(g.type_a);
  o.b += static_cast<uint64_t>(index * g.stride_b) * ElementBytes(g.type_b);
  o.c += static_cast<uint64_t>(index * g.stride_c) * ElementBytes(g.type_c);
  o.d += static_cast<uint64_t>(index * (has_d ? g.stride_d : g.stride_c)) * ElementBytes(g.type_c);
  return o;
}

}  // namespace

void SetGemmThreads(int threads) { openblas_set_num_threads(threads); }

absl::Status CheckGemm(const Gemm& gemm, const Memory& memory) {
  const auto in_range = [](int64_t value) { return value >= 0 && value <= INT_MAX; };
  if (!in_range(gemm.m) || !in_range(gemm.n) || !in_range(gemm.k) || !in_range(gemm.batch)) {
    return CudaStatus(CudaError::kInvalidValue, "gemm: {} x {} x {}, {} times, is out of range", gemm.m, gemm.n, gemm.k,
                      gemm.batch);
  }
  const std::optional<ElementType> kernel = KernelFor(gemm);
  const bool is_complex = kernel == ElementType::kC32 || kernel == ElementType::kC64;
  if (!kernel || (gemm.epilogue == Epilogue::kGelu && kernel == ElementType::kI32) ||
      (gemm.epilogue != Epilogue::kNone && is_complex)) {
    return CudaStatus(CudaError::kNotSupported, "gemm: the combination of types or epilogue is not supported");
  }
  if (gemm.m == 0 || gemm.n == 0 || gemm.batch == 0) return absl::OkStatus();
  for (const Matrix& matrix : OperandsOf(gemm)) WHARF_RETURN_IF_ERROR(CheckMatrix(matrix, gemm, memory));
  if (gemm.bias != 0 && !memory.IsMapped(gemm.bias, static_cast<uint64_t>(gemm.m) * ElementBytes(gemm.type_c))) {
    return CudaStatus(CudaError::kInvalidValue, "gemm: the bias is not in device memory");
  }
  const uint64_t scalar = ElementBytes(gemm.compute);
  if (gemm.scalars_on_device &&
      (!memory.IsMapped(gemm.alpha_address, scalar) || !memory.IsMapped(gemm.beta_address, scalar))) {
    return CudaStatus(CudaError::kInvalidValue, "gemm: the scalars are not in device memory");
  }
  return absl::OkStatus();
}

bool IsBrief(const Gemm& gemm) {
  const Wide products = static_cast<Wide>(gemm.m) * gemm.n * std::max<int64_t>(gemm.k, 1) * gemm.batch;
  return products <= kBriefProducts && gemm.batch <= kBriefCalls;
}

absl::Status RunGemm(const Gemm& gemm, const Memory& memory) {
  if (gemm.m == 0 || gemm.n == 0 || gemm.batch == 0) return absl::OkStatus();
  const ElementType kernel = *KernelFor(gemm);
  Scalars scalars{{gemm.alpha[0], gemm.alpha[1]}, {gemm.beta[0], gemm.beta[1]}};
  if (gemm.scalars_on_device) {
    scalars = {ReadScalar(gemm.compute, gemm.alpha_address), ReadScalar(gemm.compute, gemm.beta_address)};
  }
  for (int64_t i = 0; i < gemm.batch; ++i) {
    WHARF_ASSIGN_OR_RETURN(const Operands operands, OperandsAt(gemm, i, memory));
    Multiply(kernel, gemm, operands, scalars);
    if (memory.written() != nullptr) memory.written()->Write(operands.d, OperandsOf(gemm).back().Bytes());
  }
  return absl::OkStatus();
}

}  // namespace wharf::device::soft
