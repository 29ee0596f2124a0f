// What only the vendor's library computes: graphs, attention as the vendor's frontend takes it apart and the gradient
// of a convolution's filter; and batch normalization that trains. Where the device is Wharf's software GPU they are
// refused, by name, and that is what is looked at. What attention gives is compared by hand: a result is part of what
// the program prints.
#include "tests/cuda/dnn_graph.h"

static bool IsSoftware() {
  cudaDeviceProp properties;
  CUDA_OK(cudaGetDeviceProperties(&properties, 0));
  return std::strstr(properties.name, "software") != nullptr;
}

// True if the graph is refused, as it must be here.
static bool IsRefused(Graph& graph, const char* why) {
  if (!IsSoftware()) return false;
  std::fprintf(stderr, "the software GPU has no cuDNN: this only looks at how it refuses\n");
  EXPECT(cudnnBackendFinalize(graph.descriptor) != CUDNN_STATUS_SUCCESS);
  char text[256] = "";
  cudnnGetLastErrorString(text, sizeof(text));
  EXPECT(std::strstr(text, why) != nullptr);
  return true;
}

struct Place {
  int64_t id;
  std::vector<int64_t> dims, strides;
};
struct AnyTensor : Descriptor {
  enum Kind { kPlain, kVirtual, kByValue };
  AnyTensor(const Place& place, cudnnDataType_t type, Kind kind = kPlain)
      : Descriptor(CUDNN_BACKEND_TENSOR_DESCRIPTOR) {
    Set<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, {type});
    Set(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, place.dims);
    Set(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, place.strides);
    Set<int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, {place.id});
    Set<int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, {16});
    const bool is_virtual = kind == kVirtual, by_value = kind == kByValue;
    DNN_OK(cudnnBackendSetAttribute(descriptor, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &is_virtual));
    DNN_OK(cudnnBackendSetAttribute(descriptor, CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, 1, &by_value));
    Finalize();
  }
};

struct Product : Descriptor {
  Descriptor form{CUDNN_BACKEND_MATMUL_DESCRIPTOR};
  Product(const Descriptor& a, const Descriptor& b, const Descriptor& c)
      : Descriptor(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR) {
    form.Set<cudnnDataType_t>(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, {CUDNN_DATA_FLOAT}).Finalize();
    Link(CUDNN_ATTR_OPERATION_MATMUL_ADESC, a).Link(CUDNN_ATTR_OPERATION_MATMUL_BDESC, b);
    Link(CUDNN_ATTR_OPERATION_MATMUL_CDESC, c).Link(CUDNN_ATTR_OPERATION_MATMUL_DESC, form).Finalize();
  }
};

struct Reduction : Descriptor {
  Descriptor form{CUDNN_BACKEND_REDUCTION_DESCRIPTOR};
  Reduction(cudnnReduceTensorOp_t how, const Descriptor& x, const Descriptor& y)
      : Descriptor(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR) {
    form.Set<cudnnDataType_t>(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, {CUDNN_DATA_FLOAT});
    form.Set<cudnnReduceTensorOp_t>(CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, {how})
        .Finalize();
    Link(CUDNN_ATTR_OPERATION_REDUCTION_XDESC, x).Link(CUDNN_ATTR_OPERATION_REDUCTION_YDESC, y);
    Link(CUDNN_ATTR_OPERATION_REDUCTION_DESC, form).Finalize();
  }
};

struct Elementwise : Descriptor {
  Mode mode;
  Elementwise(cudnnPointwiseMode_t how, const Descriptor& x, const Descriptor* b, const Descriptor& y)
      : Descriptor(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR), mode(how) {
    Link(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, mode).Link(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x);
    if (b != nullptr) Link(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, *b);
    Link(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y).Finalize();
  }
};

// softmax(scale q k') v of every head, in double.
static constexpr int kBatch = 2, kHeads = 3, kRows = 128, kWidth = 64;
static std::vector<double> Attention(double scale, const std::vector<__nv_bfloat16>& q,
                                     const std::vector<__nv_bfloat16>& k, const std::vector<__nv_bfloat16>& v) {
  std::vector<double> o(q.size());
  for (int head = 0; head < kBatch * kHeads; ++head) {
    const size_t base = size_t(head) * kRows * kWidth;
    for (int row = 0; row < kRows; ++row) {
      std::vector<double> weights(kRows);
      double sum = 0;
      for (int other = 0; other < kRows; ++other) {
        double product = 0;
        for (int i = 0; i < kWidth; ++i) {
          product += double(float(q[base + row * kWidth + i])) * double(float(k[base + other * kWidth + i]));
        }
        sum += weights[other] = std::exp(scale * product);
      }
      for (int other = 0; other < kRows; ++other) {
        for (int i = 0; i < kWidth; ++i) {
          o[base + row * kWidth + i] += weights[other] / sum * double(float(v[base + other * kWidth + i]));
        }
      }
    }
  }
  return o;
}

CASE(attention) {
  Dnn dnn;
  const int64_t b = kBatch, h = kHeads, s = kRows, d = kWidth;
  const std::vector<int64_t> dims{b, h, s, d}, strides{h * s * d, s * d, d, 1};
  const std::vector<int64_t> square{b, h, s, s}, square_strides{h * s * s, s * s, s, 1};
  const std::vector<int64_t> rows{b, h, s, 1}, rows_strides{h * s, s, 1, 1}, one{1, 1, 1, 1};
  const auto inside = AnyTensor::kVirtual;
  const AnyTensor q({1, dims, strides}, CUDNN_DATA_BFLOAT16), v({3, dims, strides}, CUDNN_DATA_BFLOAT16),
      o({4, dims, strides}, CUDNN_DATA_BFLOAT16), k({2, {b, h, d, s}, {h * s * d, s * d, 1, d}}, CUDNN_DATA_BFLOAT16),
      factor({5, one, one}, CUDNN_DATA_FLOAT, AnyTensor::kByValue);
  const AnyTensor product({10, square, square_strides}, CUDNN_DATA_FLOAT, inside),
      scaled({11, square, square_strides}, CUDNN_DATA_FLOAT, inside),
      most({12, rows, rows_strides}, CUDNN_DATA_FLOAT, inside),
      less({13, square, square_strides}, CUDNN_DATA_FLOAT, inside),
      powers({14, square, square_strides}, CUDNN_DATA_FLOAT, inside),
      sum({15, rows, rows_strides}, CUDNN_DATA_FLOAT, inside),
      weights({16, square, square_strides}, CUDNN_DATA_BFLOAT16, inside);
  const Product first(q, k, product), second(weights, v, o);
  const Elementwise scale(CUDNN_POINTWISE_MUL, product, &factor, scaled),
      subtract(CUDNN_POINTWISE_SUB, scaled, &most, less), power(CUDNN_POINTWISE_EXP, less, nullptr, powers),
      divide(CUDNN_POINTWISE_DIV, powers, &sum, weights);
  const Reduction largest(CUDNN_REDUCE_TENSOR_MAX, scaled, most), add(CUDNN_REDUCE_TENSOR_ADD, powers, sum);
  Graph graph(dnn, {&first, &scale, &largest, &subtract, &power, &add, &divide, &second});
  if (IsRefused(graph, "a matrix product")) return;
  Plan plan(graph);
  if (plan.workspace < 0) {
    EXPECT_EQ(plan.why, std::string("nothing"));
    return;
  }
  const size_t count = size_t(b * h * s * d);
  const auto bq = Quarters<__nv_bfloat16>(count, 1), bk = Quarters<__nv_bfloat16>(count, 2),
             bv = Quarters<__nv_bfloat16>(count, 3);
  Buffer<__nv_bfloat16> dq(bq), dk(bk), dv(bv), result(count);
  for (float value : {0.125f, 0.25f}) {  // read when it is executed
    plan.Execute(dnn, {1, 2, 3, 4, 5}, {dq.get(), dk.get(), dv.get(), result.get(), &value});
    const std::vector<double> want = Attention(value, bq, bk, bv);
    std::vector<__nv_bfloat16> got(count);
    CUDA_OK(cudaMemcpy(got.data(), result, count * sizeof(got[0]), cudaMemcpyDeviceToHost));
    double worst = 0;
    for (size_t i = 0; i < count; ++i) worst = std::max(worst, std::abs(double(float(got[i])) - want[i]));
    EXPECT(worst < 0.01);
  }
}

CASE(gradient_of_a_filter) {
  Dnn dnn;
  const Dims dx{4, 8, 9, 11}, df{16, 8, 3, 3};
  const Window window{1, 1, 1, 1};
  const Dims dy = OutputOf(dx, df, window);
  const Tensor x(dx, CUDNN_DATA_HALF, true, 1), gradient(dy, CUDNN_DATA_HALF, true, 2), f(df, CUDNN_DATA_HALF, true, 3);
  const Convolution convolution(window);
  Descriptor operation(CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR);
  operation.Link(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X, x);
  operation.Link(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW, f);
  operation.Link(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY, gradient);
  operation.Link(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC, convolution);
  operation.Set<float>(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA, CUDNN_TYPE_FLOAT, {1});
  operation.Set<float>(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA, CUDNN_TYPE_FLOAT, {0});
  operation.Finalize();
  Graph graph(dnn, {&operation});
  if (IsRefused(graph, "the gradient of a convolution's filter")) return;
  Plan plan(graph);
  const auto hx = Quarters<__half>(dx.Count(), 1), hy = Quarters<__half>(dy.Count(), 2);
  Buffer<__half> bx(hx), by(hy), bf(df.Count());
  plan.Execute(dnn, {1, 2, 3}, {bx.get(), by.get(), bf.get()});
  std::vector<double> want(df.Count());
  for (int n = 0; n < dy.n; ++n) {
    for (int out = 0; out < dy.c; ++out) {
      for (int row = 0; row < dy.h; ++row) {
        for (int column = 0; column < dy.w; ++column) {
          const double g = double(float(hy[At(dy, true, n, out, row, column)]));
          for (int in = 0; in < df.c; ++in) {
            for (int i = 0; i < df.h; ++i) {
              for (int j = 0; j < df.w; ++j) {
                const int r = row + i - window.pad_h, c = column + j - window.pad_w;
                if (r < 0 || r >= dx.h || c < 0 || c >= dx.w) continue;
                want[At(df, true, out, in, i, j)] += g * double(float(hx[At(dx, true, n, in, r, c)]));
              }
            }
          }
        }
      }
    }
  }
  std::vector<__half> got(df.Count());
  CUDA_OK(cudaMemcpy(got.data(), bf, got.size() * sizeof(got[0]), cudaMemcpyDeviceToHost));
  double worst = 0;
  for (size_t i = 0; i < want.size(); ++i) worst = std::max(worst, std::abs(double(float(got[i])) - want[i]));
  EXPECT(worst < 0.05);  // sums of sixteenths up to some tens, rounded to half
}

// Batch normalization that trains, with the sizes that cuDNN asks for, against its definition in double.
struct Normalization {
  Dims d;
  cudnnBatchNormMode_t mode;
  bool last;
  double epsilon = 1e-3, factor = 0.25;
  // Which channel an element is of.
  size_t ChannelOf(size_t i) const { return last ? i % size_t(d.c) : i / size_t(d.h * d.w) % size_t(d.c); }
};

template <class T>
struct Copy {
  Buffer<T> there;
  explicit Copy(const std::vector<T>& values) : there(values) {}
  double Worst(const std::vector<double>& want) const {
    std::vector<T> got(want.size());
    CUDA_OK(cudaMemcpy(got.data(), there, got.size() * sizeof(T), cudaMemcpyDeviceToHost));
    double worst = 0;
    for (size_t i = 0; i < want.size(); ++i) worst = std::max(worst, std::abs(double(float(got[i])) - want[i]));
    return worst;
  }
};

struct Moments {
  std::vector<double> mean, variance, inverse;
};
template <class T>
static Moments MomentsOf(const Normalization& n, const std::vector<T>& x) {
  const auto channels = size_t(n.d.c);
  const double count = double(x.size() / channels);
  Moments m{std::vector<double>(channels), std::vector<double>(channels), std::vector<double>(channels)};
  for (size_t i = 0; i < x.size(); ++i) m.mean[n.ChannelOf(i)] += double(float(x[i])) / count;
  for (size_t i = 0; i < x.size(); ++i) {
    const double off = double(float(x[i])) - m.mean[n.ChannelOf(i)];
    m.variance[n.ChannelOf(i)] += off * off / count;
  }
  for (size_t c = 0; c < channels; ++c) m.inverse[c] = 1 / std::sqrt(m.variance[c] + n.epsilon);
  return m;
}

// False if it was refused, as it must be on the software GPU.
template <class T>
static bool GoForward(Dnn& dnn, const Normalization& n, const std::vector<T>& x, const Copy<T>& on_device,
                      const Copy<float>& scale, Copy<float>& mean, Copy<float>& inverse, const Buffer<char>& reserve,
                      size_t reserve_bytes) {
  const TensorDescriptor data(n.d, TypeOf<T>::kType, n.last), parameters({1, n.d.c, 1, 1}, CUDNN_DATA_FLOAT);
  const auto channels = size_t(n.d.c);
  size_t bytes = 0;
  DNN_OK(cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(dnn, n.mode, CUDNN_BATCHNORM_OPS_BN, data, nullptr,
                                                                  data, parameters, nullptr, &bytes));
  Buffer<char> workspace(bytes);
  Copy<T> y(std::vector<T>(x.size(), T(0.0f)));
  const Copy<float> shift(std::vector<float>(channels, 0.5f));
  Copy<float> running_mean(std::vector<float>(channels, 2)), running_variance(std::vector<float>(channels, 4));
  const float one = 1, zero = 0;
  const cudnnStatus_t status = cudnnBatchNormalizationForwardTrainingEx(
      dnn, n.mode, CUDNN_BATCHNORM_OPS_BN, &one, &zero, data, on_device.there, nullptr, nullptr, data, y.there,
      parameters, scale.there, shift.there, n.factor, running_mean.there, running_variance.there, n.epsilon, mean.there,
      inverse.there, nullptr, workspace, bytes, reserve, reserve_bytes);
  if (IsSoftware()) {
    char text[256] = "";
    cudnnGetLastErrorString(text, sizeof(text));
    EXPECT(status == CUDNN_STATUS_NOT_SUPPORTED && std::strstr(text, "batch normalization in training") != nullptr);
    return false;
  }
  DNN_OK(status);
  const Moments m = MomentsOf(n, x);
  const double count = double(x.size() / channels);
  std::vector<double> want(x.size()), want_mean, want_variance;
  for (size_t i = 0; i < x.size(); ++i) {
    const size_t c = n.ChannelOf(i);
    want[i] = double(c + 1) * (double(float(x[i])) - m.mean[c]) * m.inverse[c] + 0.5;
  }
  for (size_t c = 0; c < channels; ++c) {
    want_mean.push_back(n.factor * m.mean[c] + (1 - n.factor) * 2);
    want_variance.push_back(n.factor * m.variance[c] * count / (count - 1) + (1 - n.factor) * 4);
  }
  EXPECT(y.Worst(want) < (sizeof(T) == 2 ? 0.05 : 1e-4));
  EXPECT(running_mean.Worst(want_mean) < 1e-4);
  EXPECT(running_variance.Worst(want_variance) < 1e-4);
  EXPECT(mean.Worst(m.mean) < 1e-4);
  EXPECT(inverse.Worst(m.inverse) < 1e-3);
  return true;
}

template <class T>
static void GoBackward(Dnn& dnn, const Normalization& n, const std::vector<T>& x, const Copy<T>& on_device,
                       const Copy<float>& scale, const Copy<float>& mean, const Copy<float>& inverse,
                       const Buffer<char>& reserve, size_t reserve_bytes) {
  const TensorDescriptor data(n.d, TypeOf<T>::kType, n.last), parameters({1, n.d.c, 1, 1}, CUDNN_DATA_FLOAT);
  const auto channels = size_t(n.d.c);
  size_t bytes = 0;
  DNN_OK(cudnnGetBatchNormalizationBackwardExWorkspaceSize(dnn, n.mode, CUDNN_BATCHNORM_OPS_BN, data, nullptr, data,
                                                           nullptr, data, parameters, nullptr, &bytes));
  Buffer<char> workspace(bytes);
  const std::vector<T> gradient = Quarters<T>(x.size(), 2);
  const Copy<T> dy(gradient), dx(std::vector<T>(x.size(), T(0.0f)));
  const Copy<float> dscale(std::vector<float>(channels, 0)), dshift(std::vector<float>(channels, 0));
  const float one = 1, zero = 0;
  DNN_OK(cudnnBatchNormalizationBackwardEx(
      dnn, n.mode, CUDNN_BATCHNORM_OPS_BN, &one, &zero, &one, &zero, data, on_device.there, nullptr, nullptr, data,
      dy.there, nullptr, nullptr, data, dx.there, parameters, scale.there, nullptr, dscale.there, dshift.there,
      n.epsilon, mean.there, inverse.there, nullptr, workspace, bytes, reserve, reserve_bytes));
  const Moments m = MomentsOf(n, x);
  const double count = double(x.size() / channels);
  const auto normal = [&](size_t i) {
    return (double(float(x[i])) - m.mean[n.ChannelOf(i)]) * m.inverse[n.ChannelOf(i)];
  };
  std::vector<double> want(x.size()), want_scale(channels), want_shift(channels);
  for (size_t i = 0; i < x.size(); ++i) {
    want_scale[n.ChannelOf(i)] += double(float(gradient[i])) * normal(i);
    want_shift[n.ChannelOf(i)] += double(float(gradient[i]));
  }
  for (size_t i = 0; i < x.size(); ++i) {
    const size_t c = n.ChannelOf(i);
    const double rest = double(float(gradient[i])) - (want_shift[c] + normal(i) * want_scale[c]) / count;
    want[i] = double(c + 1) * m.inverse[c] * rest;
  }
  EXPECT(dx.Worst(want) < (sizeof(T) == 2 ? 0.1 : 1e-3));
  EXPECT(dscale.Worst(want_scale) < (sizeof(T) == 2 ? 0.1 : 1e-3));
  EXPECT(dshift.Worst(want_shift) < 1e-3);
}

template <class T>
static void Normalize(cudnnBatchNormMode_t mode, bool last) {
  Dnn dnn;
  const Normalization n{{4, 8, 9, 11}, mode, last};
  const TensorDescriptor data(n.d, TypeOf<T>::kType, n.last);
  size_t bytes = 0;
  DNN_OK(
      cudnnGetBatchNormalizationTrainingExReserveSpaceSize(dnn, mode, CUDNN_BATCHNORM_OPS_BN, nullptr, data, &bytes));
  const Buffer<char> reserve(bytes);
  std::vector<float> factors;
  for (int c = 0; c < n.d.c; ++c) factors.push_back(float(c + 1));
  const std::vector<T> x = Quarters<T>(n.d.Count(), 1);
  const Copy<T> on_device(x);
  const Copy<float> scale(factors);
  Copy<float> mean(std::vector<float>(factors.size(), 0)), inverse(std::vector<float>(factors.size(), 0));
  if (!GoForward(dnn, n, x, on_device, scale, mean, inverse, reserve, bytes)) return;
  GoBackward(dnn, n, x, on_device, scale, mean, inverse, reserve, bytes);
}

CASE(batch_norm_training) { Normalize<float>(CUDNN_BATCHNORM_SPATIAL, false); }
CASE(batch_norm_training_channels_last) { Normalize<float>(CUDNN_BATCHNORM_SPATIAL_PERSISTENT, true); }
CASE(batch_norm_training_half) { Normalize<__half>(CUDNN_BATCHNORM_SPATIAL_PERSISTENT, true); }
CASE(batch_norm_training_bfloat16) { Normalize<__nv_bfloat16>(CUDNN_BATCHNORM_SPATIAL_PERSISTENT, true); }
