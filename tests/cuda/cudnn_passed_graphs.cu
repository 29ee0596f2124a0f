// Graphs of cuDNN that only the vendor's library computes: attention as the vendor's frontend takes it apart, and the
// gradient of a convolution's filter. Where the device is Wharf's software GPU they are refused, by name, and that is
// what is looked at. What attention gives is compared by hand: a result is part of what the program prints.
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
