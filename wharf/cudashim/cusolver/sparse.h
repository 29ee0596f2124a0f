// What every body of cuSOLVER's sparse half starts from: handles, and values and matrices as programs give them.
#pragma once

#include <cusolverSp.h>
#include <cusolverSp_LOWLEVEL_PREVIEW.h>

#include "wharf/cudashim/client/library/matrix_description.h"
#include "wharf/cudashim/client/memory.h"
#include "wharf/cudashim/client/sparse/sparse_systems.h"
#include "wharf/cudashim/cusolver/solver.h"

// The program's handles point to these. One thread uses a handle at a time, as the vendor asks.
struct cusolverSpContext {
  static constexpr uint64_t kMagic = 0x7768726673767370;
  uint64_t magic = kMagic;
  cudaStream_t stream = nullptr;
};

namespace wharf::cudashim {

using client::SparseFactor;
using client::SparseMethod;
using client::SparseOrder;
using client::SparsePattern;

template <typename Body>
cusolverStatus_t WithSparse(Call call, cusolverSpHandle_t handle, bool on_device, Body&& body) {
  if (handle == nullptr || handle->magic != cusolverSpContext::kMagic) return CUSOLVER_STATUS_NOT_INITIALIZED;
  return AnswerSolver(call, on_device, body);
}
#define WHARF_SPARSE_SOLVER(function, ...) wharf::cudashim::WithSparse(wharf::client::Call::k_##function, __VA_ARGS__)
#define WHARF_SOLVER_RETURN_IF_ERROR(call) \
  if (const cusolverStatus_t status_ = (call); status_ != CUSOLVER_STATUS_SUCCESS) return status_

// What values of a type are computed in.
template <typename T>
struct Computed {
  using Type = double;
  static double Of(T value) { return value; }
  static void Put(double value, T* place) { *place = static_cast<T>(value); }
};
template <typename Complex, typename Real>
struct ComputedComplex {
  using Type = std::complex<double>;
  static Type Of(Complex value) { return {value.x, value.y}; }
  static void Put(Type value, Complex* place) {
    *place = {static_cast<Real>(value.real()), static_cast<Real>(value.imag())};
  }
};
template <>
struct Computed<cuComplex> : ComputedComplex<cuComplex, float> {};
template <>
struct Computed<cuDoubleComplex> : ComputedComplex<cuDoubleComplex, double> {};

// Copies between the program's memory, which is the device's if `on_device`, and ours.
cusolverStatus_t CopySparse(cusolverSpHandle_t handle, const void* from, void* to, size_t bytes, client::CopyKind kind);
template <typename T>
cusolverStatus_t Fetch(cusolverSpHandle_t handle, bool on_device, const T* from, size_t count, std::vector<T>* to) {
  to->resize(count);
  const auto kind = on_device ? client::CopyKind::kDeviceToHost : client::CopyKind::kHostToHost;
  return CopySparse(handle, from, to->data(), count * sizeof(T), kind);
}
template <typename T>
cusolverStatus_t FetchNumbers(cusolverSpHandle_t handle, bool on_device, const T* from, size_t count,
                              std::vector<typename Computed<T>::Type>* to) {
  std::vector<T> fetched;
  WHARF_SOLVER_RETURN_IF_ERROR(Fetch(handle, on_device, from, count, &fetched));
  to->clear();
  for (const T value : fetched) to->push_back(Computed<T>::Of(value));
  return CUSOLVER_STATUS_SUCCESS;
}
template <typename T>
cusolverStatus_t StoreNumbers(cusolverSpHandle_t handle, bool on_device,
                              std::span<const typename Computed<T>::Type> numbers, T* to) {
  std::vector<T> made(numbers.size());
  for (size_t i = 0; i < made.size(); ++i) Computed<T>::Put(numbers[i], &made[i]);
  const auto kind = on_device ? client::CopyKind::kHostToDevice : client::CopyKind::kHostToHost;
  return CopySparse(handle, made.data(), to, made.size() * sizeof(T), kind);
}

// A square matrix, as programs give it.
struct SparseArgument {
  int rows, entries;
  cusparseMatDescr_t descriptor;
  const int *offsets, *columns;
};
cusolverStatus_t CheckSparse(const SparseArgument& a);
// Checks it, and reads its pattern.
cusolverStatus_t FetchPattern(cusolverSpHandle_t handle, bool on_device, const SparseArgument& a,
                              SparsePattern* pattern);

}  // namespace wharf::cudashim
