// cuDNN's normalization for inference, pooling, softmax, activations and element-wise operations, against values
// computed here.
#include "tests/cuda/dnn.h"

static const float kOne = 1, kZero = 0;

CASE(batch_norm_inference) {
  Dnn dnn;
  const Dims d{2, 3, 4, 5};
  for (const bool last : {false, true}) {
    const TensorDescriptor dx(d, CUDNN_DATA_HALF, last);
    cudnnTensorDescriptor_t derived;
    DNN_OK(cudnnCreateTensorDescriptor(&derived));
    DNN_OK(cudnnDeriveBNTensorDescriptor(derived, dx, CUDNN_BATCHNORM_SPATIAL));
    const std::vector<__half> x = Quarters<__half>(d.Count(), 1);
    const std::vector<float> scale{1, -0.5f, 2}, shift{0.25f, 0, -1}, mean{0.5f, -0.25f, 0}, variance{3, 3, 3};
    Buffer<__half> bx(x), by(d.Count());
    Buffer<float> bs(scale), bb(shift), bm(mean), bv(variance);
    DNN_OK(cudnnBatchNormalizationForwardInference(dnn, CUDNN_BATCHNORM_SPATIAL, &kOne, &kZero, dx, bx, dx, by, derived,
                                                   bs, bb, bm, bv, 1.0));
    std::vector<double> want(d.Count());
    for (int n = 0; n < d.n; ++n)
      for (int c = 0; c < d.c; ++c)
        for (int h = 0; h < d.h; ++h)
          for (int w = 0; w < d.w; ++w) {
            const size_t at = At(d, last, n, c, h, w);
            want[at] = double(scale[c]) * (double(float(x[at])) - double(mean[c])) / 2 + double(shift[c]);
          }
    EXPECT_SAME(by.Get(), Cast<__half>(want));
    DNN_OK(cudnnDestroyTensorDescriptor(derived));
  }
}

CASE(pooling) {
  Dnn dnn;
  const Dims d{2, 3, 7, 8};
  for (const cudnnPoolingMode_t mode :
       {CUDNN_POOLING_MAX, CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING, CUDNN_POOLING_AVERAGE_COUNT_EXCLUDE_PADDING}) {
    cudnnPoolingDescriptor_t pooling;
    DNN_OK(cudnnCreatePoolingDescriptor(&pooling));
    DNN_OK(cudnnSetPooling2dDescriptor(pooling, mode, CUDNN_PROPAGATE_NAN, 2, 2, 1, 0, 2, 2));
    const TensorDescriptor dx(d, CUDNN_DATA_FLOAT);
    Dims out{};
    DNN_OK(cudnnGetPooling2dForwardOutputDim(pooling, dx, &out.n, &out.c, &out.h, &out.w));
    EXPECT(out.n == 2 && out.c == 3 && out.h == 4 && out.w == 4);
    const TensorDescriptor dy(out, CUDNN_DATA_FLOAT);
    const std::vector<float> x = Quarters<float>(d.Count(), 2);
    Buffer<float> bx(x), by(out.Count());
    DNN_OK(cudnnPoolingForward(dnn, pooling, &kOne, dx, bx, &kZero, dy, by));
    std::vector<float> want;
    for (int plane = 0; plane < 6; ++plane)
      for (int oh = 0; oh < 4; ++oh)
        for (int ow = 0; ow < 4; ++ow) {
          float most = -INFINITY, sum = 0;
          int inside = 0;
          for (int t = 0; t < 4; ++t) {
            const int h = oh * 2 - 1 + t / 2, w = ow * 2 + t % 2;
            if (h < 0 || h >= d.h) continue;
            const float value = x[size_t(plane) * 56 + h * 8 + w];
            most = std::max(most, value), sum += value, ++inside;
          }
          want.push_back(mode == CUDNN_POOLING_MAX                             ? most
                         : mode == CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING ? sum / 4
                                                                               : sum / float(inside));
        }
    EXPECT_SAME(by.Get(), want);
    DNN_OK(cudnnDestroyPoolingDescriptor(pooling));
  }
}

CASE(softmax) {
  Dnn dnn;
  const Dims d{2, 4, 2, 3};
  const TensorDescriptor descriptor(d, CUDNN_DATA_FLOAT);
  const std::vector<float> x = Quarters<float>(d.Count(), 3);
  Buffer<float> bx(x), by(d.Count());
  for (const cudnnSoftmaxAlgorithm_t algorithm : {CUDNN_SOFTMAX_ACCURATE, CUDNN_SOFTMAX_LOG})
    for (const cudnnSoftmaxMode_t mode : {CUDNN_SOFTMAX_MODE_INSTANCE, CUDNN_SOFTMAX_MODE_CHANNEL}) {
      DNN_OK(cudnnSoftmaxForward(dnn, algorithm, mode, &kOne, descriptor, bx, &kZero, descriptor, by));
      const std::vector<float> got = by.Get();
      for (size_t i = 0; i < x.size(); ++i) {
        double sum = 0;
        for (size_t j = 0; j < x.size(); ++j)
          if (i / 24 == j / 24 && (mode == CUDNN_SOFTMAX_MODE_INSTANCE || i % 6 == j % 6))
            sum += std::exp(double(x[j]));
        const double want =
            algorithm == CUDNN_SOFTMAX_LOG ? double(x[i]) - std::log(sum) : std::exp(double(x[i])) / sum;
        EXPECT(std::abs(double(got[i]) - want) < 1e-5);
      }
    }
}

CASE(activations) {
  Dnn dnn;
  const Dims d{1, 3, 4, 4};
  const TensorDescriptor descriptor(d, CUDNN_DATA_FLOAT);
  const std::vector<float> x = Quarters<float>(d.Count(), 4);
  Buffer<float> bx(x), by(d.Count());
  const auto check = [&](cudnnActivationMode_t mode, double coefficient, auto activation) {
    cudnnActivationDescriptor_t form;
    DNN_OK(cudnnCreateActivationDescriptor(&form));
    DNN_OK(cudnnSetActivationDescriptor(form, mode, CUDNN_PROPAGATE_NAN, coefficient));
    DNN_OK(cudnnActivationForward(dnn, form, &kOne, descriptor, bx, &kZero, descriptor, by));
    const std::vector<float> got = by.Get();
    for (size_t i = 0; i < x.size(); ++i) EXPECT(std::abs(double(got[i]) - activation(double(x[i]))) < 1e-5);
    DNN_OK(cudnnDestroyActivationDescriptor(form));
  };
  check(CUDNN_ACTIVATION_RELU, 0, [](double v) { return std::max(v, 0.0); });
  check(CUDNN_ACTIVATION_CLIPPED_RELU, 0.5, [](double v) { return std::min(std::max(v, 0.0), 0.5); });
  check(CUDNN_ACTIVATION_SIGMOID, 0, [](double v) { return 1 / (1 + std::exp(-v)); });
  check(CUDNN_ACTIVATION_TANH, 0, [](double v) { return std::tanh(v); });
  check(CUDNN_ACTIVATION_ELU, 1.5, [](double v) { return v < 0 ? 1.5 * std::expm1(v) : v; });
}

CASE(element_by_element) {
  Dnn dnn;
  const Dims d{2, 3, 4, 5};
  const TensorDescriptor first(d, CUDNN_DATA_FLOAT), last(d, CUDNN_DATA_FLOAT, true),
      bias({1, 3, 1, 1}, CUDNN_DATA_FLOAT);
  const std::vector<float> x = Quarters<float>(d.Count(), 5), y = Quarters<float>(d.Count(), 6), b{1, 2, 3};
  Buffer<float> bx(x), by(y), bb(b);
  const float two = 2, half = 0.5f;
  std::vector<float> want = y;
  for (size_t i = 0; i < want.size(); ++i) want[i] = 2 * b[i / 20 % 3] + 0.5f * want[i];
  DNN_OK(cudnnAddTensor(dnn, &two, bias, bb, &half, first, by));
  EXPECT_SAME(by.Get(), want);
  for (float& value : want) value *= 2;
  DNN_OK(cudnnScaleTensor(dnn, first, by, &two));
  EXPECT_SAME(by.Get(), want);
  DNN_OK(cudnnSetTensor(dnn, first, by, &half));
  EXPECT_SAME(by.Get(), std::vector<float>(d.Count(), half));
  DNN_OK(cudnnTransformTensor(dnn, &kOne, first, bx, &kZero, last, by));
  for (int n = 0; n < d.n; ++n)
    for (int c = 0; c < d.c; ++c)
      for (int h = 0; h < d.h; ++h)
        for (int w = 0; w < d.w; ++w) want[At(d, true, n, c, h, w)] = x[At(d, false, n, c, h, w)];
  EXPECT_SAME(by.Get(), want);
  cudnnOpTensorDescriptor_t product;
  DNN_OK(cudnnCreateOpTensorDescriptor(&product));
  DNN_OK(cudnnSetOpTensorDescriptor(product, CUDNN_OP_TENSOR_MUL, CUDNN_DATA_FLOAT, CUDNN_PROPAGATE_NAN));
  DNN_OK(cudnnOpTensor(dnn, product, &two, first, bx, &kOne, bias, bb, &kZero, first, by));
  for (size_t i = 0; i < want.size(); ++i) want[i] = 2 * x[i] * b[i / 20 % 3];
  EXPECT_SAME(by.Get(), want);
  DNN_OK(cudnnDestroyOpTensorDescriptor(product));
}

// As scales are: a double for doubles, a float for all else.
CASE(a_value_is_a_float_for_halves) {
  Dnn dnn;
  const TensorDescriptor descriptor({1, 2, 3, 4}, CUDNN_DATA_HALF), doubles({1, 2, 3, 4}, CUDNN_DATA_DOUBLE);
  Buffer<__half> values(24);
  const float value = 1.5f;
  DNN_OK(cudnnSetTensor(dnn, descriptor, values, &value));
  EXPECT_SAME(values.Get(), std::vector<__half>(24, __float2half(value)));
  Buffer<double> wide(24);
  const double third = 1.0 / 3;
  DNN_OK(cudnnSetTensor(dnn, doubles, wide, &third));
  EXPECT_SAME(wide.Get(), std::vector<double>(24, third));
}
