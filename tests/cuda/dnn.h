// What the cuDNN programs share: small tensors in all layouts and types, and values that make every sum exact.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cudnn.h>

#include <array>

#include "tests/cuda/harness.h"

#define DNN_OK(call) EXPECT_EQ((call), CUDNN_STATUS_SUCCESS)

struct Dnn {
  cudnnHandle_t handle = nullptr;
  Dnn() { DNN_OK(cudnnCreate(&handle)); }
  ~Dnn() { DNN_OK(cudnnDestroy(handle)); }
  operator cudnnHandle_t() const { return handle; }
};

template <class T>
struct TypeOf;
template <>
struct TypeOf<float> {
  static constexpr cudnnDataType_t kType = CUDNN_DATA_FLOAT;
};
template <>
struct TypeOf<double> {
  static constexpr cudnnDataType_t kType = CUDNN_DATA_DOUBLE;
};
template <>
struct TypeOf<__half> {
  static constexpr cudnnDataType_t kType = CUDNN_DATA_HALF;
};
template <>
struct TypeOf<__nv_bfloat16> {
  static constexpr cudnnDataType_t kType = CUDNN_DATA_BFLOAT16;
};

// Quarters from -1 to 1.
template <class T>
std::vector<T> Quarters(size_t count, int seed) {
  harness::Random random(static_cast<uint64_t>(seed));
  std::vector<T> values;
  for (size_t i = 0; i < count; ++i) values.push_back(T(float(random.Below(9) - 4) * 0.25f));
  return values;
}

struct Dims {
  int n, c, h, w;
  size_t Count() const { return size_t(n) * c * h * w; }
};

// Where element (n, c, h, w) lies: channels first, or last.
inline size_t At(const Dims& d, bool last, int n, int c, int h, int w) {
  return last ? ((size_t(n) * d.h + h) * d.w + w) * d.c + c : ((size_t(n) * d.c + c) * d.h + h) * d.w + w;
}

struct TensorDescriptor {
  cudnnTensorDescriptor_t descriptor = nullptr;
  TensorDescriptor(const Dims& d, cudnnDataType_t type, bool last = false) {
    DNN_OK(cudnnCreateTensorDescriptor(&descriptor));
    DNN_OK(
        cudnnSetTensor4dDescriptor(descriptor, last ? CUDNN_TENSOR_NHWC : CUDNN_TENSOR_NCHW, type, d.n, d.c, d.h, d.w));
  }
  ~TensorDescriptor() { DNN_OK(cudnnDestroyTensorDescriptor(descriptor)); }
  operator cudnnTensorDescriptor_t() const { return descriptor; }
};

struct FilterDescriptor {
  cudnnFilterDescriptor_t descriptor = nullptr;
  FilterDescriptor(const Dims& d, cudnnDataType_t type, bool last = false) {
    DNN_OK(cudnnCreateFilterDescriptor(&descriptor));
    DNN_OK(
        cudnnSetFilter4dDescriptor(descriptor, type, last ? CUDNN_TENSOR_NHWC : CUDNN_TENSOR_NCHW, d.n, d.c, d.h, d.w));
  }
  ~FilterDescriptor() { DNN_OK(cudnnDestroyFilterDescriptor(descriptor)); }
  operator cudnnFilterDescriptor_t() const { return descriptor; }
};

struct Window {
  int pad_h = 0, pad_w = 0, stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1, groups = 1;
  bool flipped = false;
};

struct ConvolutionDescriptor {
  cudnnConvolutionDescriptor_t descriptor = nullptr;
  explicit ConvolutionDescriptor(const Window& w, cudnnDataType_t compute = CUDNN_DATA_FLOAT) {
    DNN_OK(cudnnCreateConvolutionDescriptor(&descriptor));
    DNN_OK(cudnnSetConvolution2dDescriptor(descriptor, w.pad_h, w.pad_w, w.stride_h, w.stride_w, w.dilation_h,
                                           w.dilation_w, w.flipped ? CUDNN_CONVOLUTION : CUDNN_CROSS_CORRELATION,
                                           compute));
    DNN_OK(cudnnSetConvolutionGroupCount(descriptor, w.groups));
    DNN_OK(cudnnSetConvolutionMathType(descriptor, CUDNN_FMA_MATH));
  }
  ~ConvolutionDescriptor() { DNN_OK(cudnnDestroyConvolutionDescriptor(descriptor)); }
  operator cudnnConvolutionDescriptor_t() const { return descriptor; }
};

inline Dims OutputOf(const Dims& x, const Dims& f, const Window& w) {
  return {x.n, f.n, (x.h + 2 * w.pad_h - (f.h - 1) * w.dilation_h - 1) / w.stride_h + 1,
          (x.w + 2 * w.pad_w - (f.w - 1) * w.dilation_w - 1) / w.stride_w + 1};
}

// By the definition. forward: sums for y from x; otherwise sums for x from y.
template <class T>
std::vector<double> ConvolutionSums(const Dims& x, const Dims& f, const Window& w, bool last,
                                    const std::vector<T>& data, const std::vector<T>& filter, bool forward) {
  const Dims y = OutputOf(x, f, w);
  std::vector<double> sums((forward ? y : x).Count());
  for (int n = 0; n < y.n; ++n)
    for (int k = 0; k < y.c; ++k)
      for (int oh = 0; oh < y.h; ++oh)
        for (int ow = 0; ow < y.w; ++ow)
          for (int c = 0; c < f.c; ++c)
            for (int r = 0; r < f.h; ++r)
              for (int s = 0; s < f.w; ++s) {
                const int h = oh * w.stride_h - w.pad_h + r * w.dilation_h;
                const int v = ow * w.stride_w - w.pad_w + s * w.dilation_w;
                if (h < 0 || h >= x.h || v < 0 || v >= x.w) continue;
                const size_t at_x = At(x, last, n, k / (f.n / w.groups) * f.c + c, h, v),
                             at_y = At(y, last, n, k, oh, ow);
                const size_t at_f = At(f, last, k, c, w.flipped ? f.h - 1 - r : r, w.flipped ? f.w - 1 - s : s);
                const double factor = double(float(filter[at_f]));
                if (forward)
                  sums[at_y] += factor * double(float(data[at_x]));
                else
                  sums[at_x] += factor * double(float(data[at_y]));
              }
  return sums;
}

// To the tensor's type; exact for what sums are here.
template <class T>
std::vector<T> Cast(const std::vector<double>& values) {
  std::vector<T> cast;
  for (const double value : values) cast.push_back(T(float(value)));
  return cast;
}
