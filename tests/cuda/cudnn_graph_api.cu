// cuDNN's graph API, call by call as PyTorch makes them: a convolution, one with respect to the data, one with what
// follows it fused; and graphs that are refused.
#include "tests/cuda/dnn_graph.h"

static const Dims kX{2, 4, 7, 9}, kF{6, 4, 3, 3};
static const Window kWindow{1, 1, 2, 1};

template <class T>
static void CheckForward(bool last) {
  Dnn dnn;
  const cudnnDataType_t type = TypeOf<T>::kType;
  const Dims y = OutputOf(kX, kF, kWindow);
  const Tensor tx(kX, type, last, 'x'), tf(kF, type, last, 'w'), ty(y, type, last, 'y');
  const Convolution convolution(kWindow);
  const Forward forward(tx, tf, ty, convolution);
  Graph graph(dnn, {&forward});
  Plan plan(graph);
  const std::vector<T> f = Quarters<T>(kF.Count(), 2);
  Buffer<T> bf(f), by(y.Count());
  for (const int seed : {1, 3}) {  // a known plan, with other tensors
    const std::vector<T> x = Quarters<T>(kX.Count(), seed);
    Buffer<T> bx(x);
    plan.Execute(dnn, {'x', 'w', 'y'}, {bx.get(), bf.get(), by.get()});
    EXPECT_SAME(by.Get(), Cast<T>(ConvolutionSums(kX, kF, kWindow, last, x, f, true)));
  }
}
CASE(convolution) { CheckForward<float>(false); }
CASE(convolution_channels_last) { CheckForward<float>(true); }
CASE(convolution_f16) { CheckForward<__half>(true); }
CASE(convolution_bf16) { CheckForward<__nv_bfloat16>(true); }

CASE(convolution_of_one_dimension_and_groups) {
  Dnn dnn;
  const Dims dx{1, 4, 1, 20}, df{4, 2, 1, 5};
  const Window w{0, 2, 1, 2, 1, 1, 2};
  const Dims y = OutputOf(dx, df, w);
  const Tensor tx(dx, CUDNN_DATA_FLOAT, false, 1), tf(df, CUDNN_DATA_FLOAT, false, 2),
      ty(y, CUDNN_DATA_FLOAT, false, 3);
  const Convolution convolution(w);
  const Forward forward(tx, tf, ty, convolution);
  Graph graph(dnn, {&forward});
  Plan plan(graph);
  const std::vector<float> x = Quarters<float>(dx.Count(), 1), f = Quarters<float>(df.Count(), 2);
  Buffer<float> bx(x), bf(f), by(y.Count());
  plan.Execute(dnn, {1, 2, 3}, {bx.get(), bf.get(), by.get()});
  EXPECT_SAME(by.Get(), Cast<float>(ConvolutionSums(dx, df, w, false, x, f, true)));
}

CASE(backward_data) {
  Dnn dnn;
  const Dims y = OutputOf(kX, kF, kWindow);
  const Tensor tx(kX, CUDNN_DATA_FLOAT, false, 'x'), tf(kF, CUDNN_DATA_FLOAT, false, 'w'),
      ty(y, CUDNN_DATA_FLOAT, false, 'y');
  const Convolution convolution(kWindow);
  const BackwardData backward(tx, tf, ty, convolution);
  Graph graph(dnn, {&backward});
  Plan plan(graph);
  const std::vector<float> gradient = Quarters<float>(y.Count(), 1), f = Quarters<float>(kF.Count(), 2);
  Buffer<float> bx(kX.Count()), bf(f), by(gradient);
  plan.Execute(dnn, {'x', 'w', 'y'}, {bx.get(), bf.get(), by.get()});
  EXPECT_SAME(bx.Get(), Cast<float>(ConvolutionSums(kX, kF, kWindow, false, gradient, f, false)));
}

// relu(conv(x) + 2 z + b), as PyTorch fuses it.
CASE(convolution_addition_bias_and_relu) {
  Dnn dnn;
  const Dims y = OutputOf(kX, kF, kWindow);
  const Tensor tx(kX, CUDNN_DATA_HALF, true, 'x'), tf(kF, CUDNN_DATA_HALF, true, 'w'),
      tz(y, CUDNN_DATA_HALF, true, 'z'), tb({1, y.c, 1, 1}, CUDNN_DATA_HALF, true, 'b'),
      ty(y, CUDNN_DATA_HALF, true, 'y');
  const Tensor convolved(y, CUDNN_DATA_FLOAT, true, 'C', true), added(y, CUDNN_DATA_FLOAT, true, 'A', true),
      biased(y, CUDNN_DATA_FLOAT, true, 'B', true);
  const Convolution convolution(kWindow);
  const Forward forward(tx, tf, convolved, convolution);
  const Mode add(CUDNN_POINTWISE_ADD), relu(CUDNN_POINTWISE_RELU_FWD);
  const Pointwise add_z(add, convolved, &tz, added, 1, 2), add_b(add, added, &tb, biased),
      last(relu, biased, nullptr, ty);
  Graph graph(dnn, {&forward, &add_z, &add_b, &last});
  Plan plan(graph);
  const std::vector<__half> x = Quarters<__half>(kX.Count(), 1), f = Quarters<__half>(kF.Count(), 2),
                            z = Quarters<__half>(y.Count(), 3), b = Quarters<__half>(size_t(y.c), 4);
  Buffer<__half> bx(x), bf(f), bz(z), bb(b), by(y.Count());
  plan.Execute(dnn, {'x', 'y', 'w', 'z', 'b'}, {bx.get(), by.get(), bf.get(), bz.get(), bb.get()});
  std::vector<double> want = ConvolutionSums(kX, kF, kWindow, true, x, f, true);
  for (size_t i = 0; i < want.size(); ++i) {
    want[i] = std::max(0.0, want[i] + 2 * double(float(z[i])) + double(float(b[i % size_t(y.c)])));
  }
  EXPECT_SAME(by.Get(), Cast<__half>(want));
}

// NVIDIA's cuDNN 9 has no engine for so little on every machine.
CASE(one_addition_alone) {
  Dnn dnn;
  const Dims d{2, 3, 4, 5};
  const Tensor ta(d, CUDNN_DATA_FLOAT, false, 1), tb({1, 3, 1, 1}, CUDNN_DATA_FLOAT, false, 2),
      ty(d, CUDNN_DATA_FLOAT, false, 3);
  const Mode add(CUDNN_POINTWISE_ADD);
  const Pointwise sum(add, ta, &tb, ty);
  Graph graph(dnn, {&sum});
  Plan plan(graph);
  if (plan.workspace < 0) return;
  const std::vector<float> a = Quarters<float>(d.Count(), 1), b{1, 2, 3};
  Buffer<float> ba(a), bb(b), by(d.Count());
  plan.Execute(dnn, {1, 2, 3}, {ba.get(), bb.get(), by.get()});
  std::vector<float> want = a, got(want.size());
  for (size_t i = 0; i < want.size(); ++i) want[i] += b[i / 20 % 3];
  // By hand: a result is part of what the program prints, which is the same wherever it runs.
  CUDA_OK(cudaMemcpy(got.data(), by, got.size() * sizeof(float), cudaMemcpyDeviceToHost));
  EXPECT(got == want);
}

CASE(what_is_wrong_is_refused) {
  Descriptor tensor(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  const int64_t one = 1;
  EXPECT_EQ(cudnnBackendFinalize(tensor.descriptor), CUDNN_STATUS_BAD_PARAM);  // nothing is set
  EXPECT_EQ(cudnnBackendSetAttribute(tensor.descriptor, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_FLOAT, 1, &one),
            CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE);
  int64_t count = 0, value = 0;
  EXPECT_EQ(
      cudnnBackendGetAttribute(tensor.descriptor, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &count, &value),
      CUDNN_STATUS_NOT_INITIALIZED);
  EXPECT_EQ(cudnnBackendDestroyDescriptor(nullptr), CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
}
