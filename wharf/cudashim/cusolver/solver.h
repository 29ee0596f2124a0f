// What every body in libcusolver.so.12 starts from.
#pragma once

#include <cusolverDn.h>

#include <initializer_list>

#include "wharf/cudashim/client/library/answer.h"
#include "wharf/device/lapack.h"

// The program's handles point to these. One thread uses a handle at a time, as the vendor asks.
struct cusolverDnContext {
  static constexpr uint64_t kMagic = 0x7768726673766472;
  uint64_t magic = kMagic;
  cudaStream_t stream = nullptr;
  cusolverDeterministicMode_t deterministic = CUSOLVER_DETERMINISTIC_RESULTS;
};
struct cusolverDnParams {
  static constexpr uint64_t kMagic = 0x7768726673767072;
  uint64_t magic = kMagic;
};
// What Jacobi's method is told; 0: the library's own.
struct syevjInfo {
  double tolerance = 0;
  int sweeps = 0;
  bool sorted = true;
};
struct gesvdjInfo : syevjInfo {};

namespace wharf::cudashim {

using client::Call;
using device::CudaError;
using device::ElementType;
using device::Lapack;
using device::LapackOperand;
using device::LapackRoutine;
using device::LapackTranspose;
using device::LapackVectors;

cusolverStatus_t SolverStatusOf(CudaError error);

// A call that `body`, which returns a status, answers; it needs the device if `on_device`.
template <typename Body>
cusolverStatus_t AnswerSolver(Call call, bool on_device, Body&& body) {
  return client::Answer(call, on_device, SolverStatusOf, body);
}
template <typename Body>
cusolverStatus_t WithSolver(Call call, cusolverDnHandle_t handle, bool on_device, Body&& body) {
  if (handle == nullptr || handle->magic != cusolverDnContext::kMagic) return CUSOLVER_STATUS_NOT_INITIALIZED;
  return AnswerSolver(call, on_device, body);
}
#define WHARF_SOLVER(function, ...) wharf::cudashim::WithSolver(wharf::client::Call::k_##function, __VA_ARGS__)

template <typename T>
cusolverStatus_t StoreTo(T* place, T value) {
  return client::StoreOr(CUSOLVER_STATUS_INVALID_VALUE, place, value);
}

// The library on the server has working memory of its own. Programs allocate what they are told, so it is not nothing.
inline constexpr int kWorkElements = 1;
inline constexpr size_t kWorkBytes = 16;

template <typename T>
struct SolverType;
template <>
struct SolverType<float> {
  static constexpr ElementType kType = ElementType::kF32;
};
template <>
struct SolverType<double> {
  static constexpr ElementType kType = ElementType::kF64;
};
template <>
struct SolverType<cuComplex> {
  static constexpr ElementType kType = ElementType::kC32;
};
template <>
struct SolverType<cuDoubleComplex> {
  static constexpr ElementType kType = ElementType::kC64;
};

inline LapackOperand MatrixOf(const void* address, int64_t leading, int64_t stride = 0) {
  return {reinterpret_cast<device::DeviceAddress>(address), leading, stride};
}
inline LapackOperand VectorOf(const void* address, int64_t stride = 0) { return MatrixOf(address, 1, stride); }

// As programs say how, and what of: false if there is no such thing.
bool SetFill(cublasFillMode_t fill, Lapack* lapack);
bool SetTranspose(cublasOperation_t operation, Lapack* lapack);
bool SetVectors(cusolverEigMode_t mode, bool thin, Lapack* lapack);
// 'A', 'S', 'O' or 'N'.
bool SetJob(signed char job, LapackVectors* vectors);

// A routine on the handle's stream. `fits`: what can be seen of the arguments is right, down to sizes, of which those
// in `sizes` may be 0: then there is nothing to do but to say so in info.
cusolverStatus_t RunSolver(cusolverDnHandle_t handle, bool fits, std::initializer_list<int64_t> sizes,
                           const Lapack& lapack);

inline Lapack LapackOf(LapackRoutine routine, ElementType type, int64_t m, int64_t n, int64_t k, const int* info) {
  Lapack lapack;
  lapack.routine = routine;
  lapack.type = type;
  lapack.m = m;
  lapack.n = n;
  lapack.k = k;
  lapack.info = reinterpret_cast<device::DeviceAddress>(info);
  return lapack;
}

}  // namespace wharf::cudashim
