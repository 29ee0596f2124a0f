// What the tests of cuSPARSE share: a handle, and values of each type by those that are computed with here.
#pragma once

#include <cusparse.h>

#include <complex>

#include "tests/cuda/harness.h"

#define SPARSE_OK(call) EXPECT_EQ(call, CUSPARSE_STATUS_SUCCESS)

using Value = std::complex<double>;

inline cusparseHandle_t handle;
// It is there while it lives.
struct Session {
  Session() { SPARSE_OK(cusparseCreate(&handle)); }
  ~Session() { SPARSE_OK(cusparseDestroy(handle)); }
};

template <typename T>
struct Traits;
template <>
struct Traits<float> {
  static constexpr cudaDataType kType = CUDA_R_32F;
  static float Make(Value v) { return float(v.real()); }
  static Value Get(float v) { return v; }
};
template <>
struct Traits<double> {
  static constexpr cudaDataType kType = CUDA_R_64F;
  static double Make(Value v) { return v.real(); }
  static Value Get(double v) { return v; }
};
template <>
struct Traits<float2> {
  static constexpr cudaDataType kType = CUDA_C_32F;
  static float2 Make(Value v) { return {float(v.real()), float(v.imag())}; }
  static Value Get(float2 v) { return {v.x, v.y}; }
};
template <>
struct Traits<double2> {
  static constexpr cudaDataType kType = CUDA_C_64F;
  static double2 Make(Value v) { return {v.real(), v.imag()}; }
  static Value Get(double2 v) { return {v.x, v.y}; }
};
