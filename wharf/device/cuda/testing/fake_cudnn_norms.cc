// Batch normalization of the fake cuDNN when a network trains: by its definition, in double.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "wharf/device/cuda/testing/fake_cudnn.h"

double LoadElement(cudnnDataType_t type, const void* data, int64_t at) {
  switch (type) {
    case CUDNN_DATA_DOUBLE:
      return static_cast<const double*>(data)[at];
    case CUDNN_DATA_HALF:
      return static_cast<double>(__half2float(static_cast<const __half*>(data)[at]));
    case CUDNN_DATA_BFLOAT16:
      return static_cast<double>(__bfloat162float(static_cast<const __nv_bfloat16*>(data)[at]));
    default:
      return static_cast<double>(static_cast<const float*>(data)[at]);
  }
}
void StoreElement(cudnnDataType_t type, double value, void* data, int64_t at) {
  switch (type) {
    case CUDNN_DATA_DOUBLE:
      static_cast<double*>(data)[at] = value;
      return;
    case CUDNN_DATA_HALF:
      static_cast<__half*>(data)[at] = __float2half(static_cast<float>(value));
      return;
    case CUDNN_DATA_BFLOAT16:
      static_cast<__nv_bfloat16*>(data)[at] = __float2bfloat16(static_cast<float>(value));
      return;
    default:
      static_cast<float*>(data)[at] = static_cast<float>(value);
  }
}

namespace {

double Scalar(const cudnnTensorStruct& of, const void* scalar) {
  return LoadElement(of.type == CUDNN_DATA_DOUBLE ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT, scalar, 0);
}

struct View {
  cudnnTensorStruct form;
  void* data;

  // Where an element is; dimensions of one element are repeated.
  int64_t At(const std::vector<int>& place) const {
    int64_t at = 0;
    for (size_t i = 0; i < place.size(); ++i) at += form.dims[i] == 1 ? 0 : int64_t{place[i]} * form.strides[i];
    return at;
  }
  double Get(int64_t at) const { return LoadElement(form.type, data, at); }
  // alpha value + beta what was there
  void Blend(int64_t at, double alpha, double value, double beta) const {
    StoreElement(form.type, alpha * value + (beta == 0 ? 0 : beta * Get(at)), data, at);
  }
};
View ViewOf(cudnnTensorDescriptor_t form, const void* data) { return {*form, const_cast<void*>(data)}; }

template <typename Body>
void ForEach(const std::vector<int>& dims, Body&& body) {
  std::vector<int> place(dims.size());
  bool more = true;
  while (more) {
    body(place);
    more = false;
    for (size_t i = dims.size(); i-- > 0 && !more;) {
      more = ++place[i] < dims[i];
      if (!more) place[i] = 0;
    }
  }
}

struct Moments {
  double count = 0, mean = 0, variance = 0;
};
// By where the parameter is.
std::map<int64_t, Moments> MomentsOf(const View& x, const View& parameters) {
  std::map<int64_t, Moments> all;
  ForEach(x.form.dims, [&](const std::vector<int>& place) {
    Moments& m = all[parameters.At(place)];
    ++m.count;
    m.mean += x.Get(x.At(place));
  });
  for (auto& [at, m] : all) m.mean /= m.count;
  ForEach(x.form.dims, [&](const std::vector<int>& place) {
    Moments& m = all[parameters.At(place)];
    const double off = x.Get(x.At(place)) - m.mean;
    m.variance += off * off / m.count;
  });
  return all;
}

bool Fit(cudnnBatchNormMode_t mode, const cudnnTensorStruct& x, const cudnnTensorStruct& y,
         const cudnnTensorStruct& parameters) {
  if (x.dims.size() < 4 || x.dims != y.dims || x.type != y.type || parameters.dims.size() != x.dims.size()) {
    return false;
  }
  for (size_t i = 0; i < x.dims.size(); ++i) {
    const bool counts = i == 1 || (i > 1 && mode == CUDNN_BATCHNORM_PER_ACTIVATION);
    if (parameters.dims[i] != (counts ? x.dims[i] : 1)) return false;
  }
  return parameters.type == (x.type == CUDNN_DATA_DOUBLE ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT);
}

}  // namespace

extern "C" {

cudnnStatus_t cudnnBatchNormalizationForwardTraining(cudnnHandle_t handle, cudnnBatchNormMode_t mode, const void* alpha,
                                                     const void* beta, const cudnnTensorDescriptor_t x_of,
                                                     const void* x_data, const cudnnTensorDescriptor_t y_of,
                                                     void* y_data, const cudnnTensorDescriptor_t parameters,
                                                     const void* scale_data, const void* shift_data, double factor,
                                                     void* mean_data, void* variance_data, double epsilon,
                                                     void* saved_mean_data, void* saved_inverse_data) {
  if (!Fit(mode, *x_of, *y_of, *parameters)) return CUDNN_STATUS_BAD_PARAM;
  const double scale_by = Scalar(*x_of, alpha), keep = Scalar(*x_of, beta);
  const View x = ViewOf(x_of, x_data), y = ViewOf(y_of, y_data);
  const auto parameter = [&](const void* data) { return ViewOf(parameters, data); };
  const View scale = parameter(scale_data), shift = parameter(shift_data);
  const View mean = parameter(mean_data), variance = parameter(variance_data);
  const View saved_mean = parameter(saved_mean_data), saved_inverse = parameter(saved_inverse_data);
  return QueueFakeDnn(handle, [=] {
    const auto moments = MomentsOf(x, scale);
    ForEach(x.form.dims, [&](const std::vector<int>& place) {
      const int64_t at = scale.At(place);
      const Moments& m = moments.at(at);
      const double normal = (x.Get(x.At(place)) - m.mean) / std::sqrt(m.variance + epsilon);
      y.Blend(y.At(place), scale_by, scale.Get(at) * normal + shift.Get(at), keep);
    });
    for (const auto& [at, m] : moments) {
      if (mean.data != nullptr) {
        mean.Blend(at, factor, m.mean, 1 - factor);
        variance.Blend(at, factor, m.variance * m.count / std::max(m.count - 1, 1.0), 1 - factor);
      }
      if (saved_mean.data == nullptr) continue;
      saved_mean.Blend(at, 1, m.mean, 0);
      saved_inverse.Blend(at, 1, 1 / std::sqrt(m.variance + epsilon), 0);
    }
  });
}

cudnnStatus_t cudnnBatchNormalizationBackward(cudnnHandle_t handle, cudnnBatchNormMode_t mode, const void* alpha,
                                              const void* beta, const void* parameter_alpha, const void* parameter_beta,
                                              const cudnnTensorDescriptor_t x_of, const void* x_data,
                                              const cudnnTensorDescriptor_t dy_of, const void* dy_data,
                                              const cudnnTensorDescriptor_t dx_of, void* dx_data,
                                              const cudnnTensorDescriptor_t parameters, const void* scale_data,
                                              void* dscale_data, void* dshift_data, double epsilon,
                                              const void* mean_data, const void* inverse_data) {
  if (!Fit(mode, *x_of, *dy_of, *parameters) || !Fit(mode, *x_of, *dx_of, *parameters)) return CUDNN_STATUS_BAD_PARAM;
  const double scale_by = Scalar(*x_of, alpha), keep = Scalar(*x_of, beta);
  const double scale_parameters = Scalar(*x_of, parameter_alpha), keep_parameters = Scalar(*x_of, parameter_beta);
  const View x = ViewOf(x_of, x_data), dy = ViewOf(dy_of, dy_data), dx = ViewOf(dx_of, dx_data);
  const auto parameter = [&](const void* data) { return ViewOf(parameters, data); };
  const View scale = parameter(scale_data), dscale = parameter(dscale_data), dshift = parameter(dshift_data);
  const View mean = parameter(mean_data), inverse = parameter(inverse_data);
  return QueueFakeDnn(handle, [=] {
    struct Sums {
      double count, mean, inverse, dscale, dshift;
    };
    std::map<int64_t, Sums> sums;
    for (const auto& [at, m] : MomentsOf(x, scale)) {
      sums[at] = {m.count, m.mean, 1 / std::sqrt(m.variance + epsilon), 0, 0};
      if (mean.data != nullptr) sums[at].mean = mean.Get(at), sums[at].inverse = inverse.Get(at);
    }
    const auto normal = [&](const std::vector<int>& place, const Sums& s) {
      return (x.Get(x.At(place)) - s.mean) * s.inverse;
    };
    ForEach(x.form.dims, [&](const std::vector<int>& place) {
      Sums& s = sums[scale.At(place)];
      s.dshift += dy.Get(dy.At(place));
      s.dscale += dy.Get(dy.At(place)) * normal(place, s);
    });
    ForEach(x.form.dims, [&](const std::vector<int>& place) {
      const int64_t at = scale.At(place);
      const Sums& s = sums[at];
      const double own = dy.Get(dy.At(place)) - (s.dshift + normal(place, s) * s.dscale) / s.count;
      dx.Blend(dx.At(place), scale_by, scale.Get(at) * s.inverse * own, keep);
    });
    for (const auto& [at, s] : sums) {
      dscale.Blend(at, scale_parameters, s.dscale, keep_parameters);
      dshift.Blend(at, scale_parameters, s.dshift, keep_parameters);
    }
  });
}

}  // extern "C"
