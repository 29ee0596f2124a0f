// cuDNN's graph API, call by call as PyTorch makes them: a convolution, one with respect to the data, one with what
// follows it fused; and graphs that are refused.
#include "tests/cuda/dnn.h"

// One descriptor.
struct Descriptor {
  cudnnBackendDescriptor_t descriptor = nullptr;
  explicit Descriptor(cudnnBackendDescriptorType_t type) { DNN_OK(cudnnBackendCreateDescriptor(type, &descriptor)); }
  ~Descriptor() { DNN_OK(cudnnBackendDestroyDescriptor(descriptor)); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  template <class T>
  Descriptor& Set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, const std::vector<T>& values) {
    DNN_OK(cudnnBackendSetAttribute(descriptor, name, type, int64_t(values.size()), values.data()));
    return *this;
  }
  Descriptor& Link(cudnnBackendAttributeName_t name, const Descriptor& other) {
    DNN_OK(cudnnBackendSetAttribute(descriptor, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &other.descriptor));
    return *this;
  }
  Descriptor& Finalize() {
    DNN_OK(cudnnBackendFinalize(descriptor));
    return *this;
  }
};

struct Tensor : Descriptor {
  Tensor(const Dims& d, cudnnDataType_t type, bool last, int64_t id, bool is_virtual = false)
      : Descriptor(CUDNN_BACKEND_TENSOR_DESCRIPTOR) {
    const std::vector<int64_t> dims{d.n, d.c, d.h, d.w};
    const std::vector<int64_t> strides =
        last ? std::vector<int64_t>{int64_t{d.c} * d.h * d.w, 1, int64_t{d.c} * d.w, d.c}
             : std::vector<int64_t>{int64_t{d.c} * d.h * d.w, int64_t{d.h} * d.w, d.w, 1};
    Set<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, {type});
    Set(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, dims);
    Set(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, strides);
    Set<int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, {id});
    Set<int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, {16});
    if (is_virtual) {
      const bool yes = true;
      DNN_OK(cudnnBackendSetAttribute(descriptor, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &yes));
    }
    Finalize();
  }
};

struct Convolution : Descriptor {
  explicit Convolution(const Window& w) : Descriptor(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR) {
    Set<cudnnDataType_t>(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, {CUDNN_DATA_FLOAT});
    Set<cudnnConvolutionMode_t>(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE,
                                {CUDNN_CROSS_CORRELATION});
    Set<int64_t>(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, {2});
    Set<int64_t>(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, {w.pad_h, w.pad_w});
    Set<int64_t>(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, {w.pad_h, w.pad_w});
    Set<int64_t>(CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, {w.dilation_h, w.dilation_w});
    Set<int64_t>(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, {w.stride_h, w.stride_w});
    Finalize();
  }
};

struct Forward : Descriptor {
  Forward(const Tensor& x, const Tensor& f, const Tensor& y, const Convolution& convolution)
      : Descriptor(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR) {
    Link(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, x);
    Link(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, f);
    Link(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, y);
    Link(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, convolution);
    Set<float>(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_TYPE_FLOAT, {1});
    Set<float>(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, CUDNN_TYPE_FLOAT, {0});
    Finalize();
  }
};

struct BackwardData : Descriptor {
  BackwardData(const Tensor& dx, const Tensor& f, const Tensor& dy, const Convolution& convolution)
      : Descriptor(CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR) {
    Link(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, dx);
    Link(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W, f);
    Link(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY, dy);
    Link(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC, convolution);
    Set<float>(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA, CUDNN_TYPE_FLOAT, {1});
    Set<float>(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA, CUDNN_TYPE_FLOAT, {0});
    Finalize();
  }
};

struct Mode : Descriptor {
  explicit Mode(cudnnPointwiseMode_t mode) : Descriptor(CUDNN_BACKEND_POINTWISE_DESCRIPTOR) {
    Set<cudnnPointwiseMode_t>(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, {mode});
    Set<cudnnDataType_t>(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, {CUDNN_DATA_FLOAT});
    Finalize();
  }
};

struct Pointwise : Descriptor {
  Pointwise(const Mode& mode, const Tensor& x, const Tensor* b, const Tensor& y, float alpha1 = 1, float alpha2 = 1)
      : Descriptor(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR) {
    Link(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, mode);
    Link(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x);
    if (b != nullptr) Link(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, *b);
    Link(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y);
    Set<float>(CUDNN_ATTR_OPERATION_POINTWISE_ALPHA1, CUDNN_TYPE_FLOAT, {alpha1});
    if (b != nullptr) Set<float>(CUDNN_ATTR_OPERATION_POINTWISE_ALPHA2, CUDNN_TYPE_FLOAT, {alpha2});
    Finalize();
  }
};

struct Graph : Descriptor {
  Graph(cudnnHandle_t handle, const std::vector<const Descriptor*>& operations)
      : Descriptor(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR) {
    std::vector<cudnnBackendDescriptor_t> all;
    for (const Descriptor* operation : operations) all.push_back(operation->descriptor);
    Set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, all);
    Set<cudnnHandle_t>(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, {handle});
  }
};

// The heuristics' first configuration, looked at as PyTorch does, and its plan.
struct Plan {
  Descriptor heuristics{CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR}, configuration{CUDNN_BACKEND_ENGINECFG_DESCRIPTOR},
      engine{CUDNN_BACKEND_ENGINE_DESCRIPTOR}, plan{CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR};
  int64_t workspace = -1;  // none: there is no plan
  explicit Plan(Graph& graph) {
    graph.Finalize();
    heuristics.Link(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
    heuristics.Set<cudnnBackendHeurMode_t>(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, {CUDNN_HEUR_MODE_INSTANT});
    heuristics.Finalize();
    int64_t count = 0;
    DNN_OK(cudnnBackendGetAttribute(heuristics.descriptor, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                                    0, &count, nullptr));
    EXPECT(count >= 1);
    DNN_OK(cudnnBackendGetAttribute(heuristics.descriptor, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                                    1, &count, &configuration.descriptor));
    if (count == 0) return;  // the heuristics count what they then do not give
    DNN_OK(cudnnBackendGetAttribute(configuration.descriptor, CUDNN_ATTR_ENGINECFG_ENGINE,
                                    CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, &engine.descriptor));
    cudnnBackendNumericalNote_t notes[CUDNN_NUMERICAL_NOTE_TYPE_COUNT];
    DNN_OK(cudnnBackendGetAttribute(engine.descriptor, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
                                    CUDNN_NUMERICAL_NOTE_TYPE_COUNT, &count, notes));
    cudnnBackendBehaviorNote_t behaviour[CUDNN_BEHAVIOR_NOTE_TYPE_COUNT];
    DNN_OK(cudnnBackendGetAttribute(engine.descriptor, CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, CUDNN_TYPE_BEHAVIOR_NOTE,
                                    CUDNN_BEHAVIOR_NOTE_TYPE_COUNT, &count, behaviour));
    int64_t index = -1;
    DNN_OK(cudnnBackendGetAttribute(engine.descriptor, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, &count,
                                    &index));
    EXPECT(index >= 0);
    plan.Link(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration);
    plan.Finalize();
    DNN_OK(cudnnBackendGetAttribute(plan.descriptor, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1,
                                    &count, &workspace));
    EXPECT(workspace >= 0);
  }
  void Execute(cudnnHandle_t handle, const std::vector<int64_t>& ids, const std::vector<void*>& pointers) {
    Buffer<char> scratch(static_cast<size_t>(workspace));
    Descriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    pack.Set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, pointers);
    pack.Set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, ids);
    pack.Set<void*>(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, {scratch.get()});
    pack.Finalize();
    DNN_OK(cudnnBackendExecute(handle, plan.descriptor, pack.descriptor));
    CUDA_OK(cudaDeviceSynchronize());
  }
};

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
