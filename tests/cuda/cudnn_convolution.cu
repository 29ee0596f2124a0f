// cuDNN's convolutions through descriptors, forward and with respect to the data, in all types and layouts, against
// sums computed here; what its descriptors keep, and what it refuses.
#include "tests/cuda/dnn.h"

struct Shape {
  Dims x, f;
  Window w;
};
static const Shape kShapes[] = {
    {{2, 4, 7, 9}, {6, 4, 3, 3}, {1, 1}},
    {{1, 4, 9, 8}, {8, 2, 3, 2}, {0, 1, 2, 3, 1, 2, 2}},
    {{2, 6, 5, 5}, {6, 1, 3, 3}, {1, 1, 1, 1, 1, 1, 6}},
    {{3, 5, 6, 6}, {4, 5, 1, 1}, {}},
    {{1, 3, 9, 9}, {4, 3, 3, 3}, {2, 2, 2, 2, 2, 2}},
    {{1, 2, 5, 6}, {3, 2, 2, 3}, {1, 0, 1, 1, 1, 1, 1, true}},
};

template <class T>
static void CheckForward(bool last) {
  Dnn dnn;
  int seed = 1;
  for (const Shape& s : kShapes) {
    const Dims y = OutputOf(s.x, s.f, s.w);
    const TensorDescriptor dx(s.x, TypeOf<T>::kType, last), dy(y, TypeOf<T>::kType, last);
    const FilterDescriptor df(s.f, TypeOf<T>::kType, last);
    const ConvolutionDescriptor dc(s.w, sizeof(T) == 8 ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT);
    int n = 0, c = 0, h = 0, w = 0;
    DNN_OK(cudnnGetConvolution2dForwardOutputDim(dc, dx, df, &n, &c, &h, &w));
    EXPECT(n == y.n && c == y.c && h == y.h && w == y.w);
    int count = 0;
    cudnnConvolutionFwdAlgoPerf_t perf;
    DNN_OK(cudnnGetConvolutionForwardAlgorithm_v7(dnn, dx, df, dc, dy, 1, &count, &perf));
    EXPECT_EQ(count, 1);
    DNN_OK(perf.status);
    size_t bytes = 0;
    DNN_OK(cudnnGetConvolutionForwardWorkspaceSize(dnn, dx, df, dc, dy, perf.algo, &bytes));
    Buffer<char> workspace(bytes);
    const std::vector<T> x = Quarters<T>(s.x.Count(), seed++), f = Quarters<T>(s.f.Count(), seed++),
                         old = Quarters<T>(y.Count(), seed++);
    Buffer<T> bx(x), bf(f), by(old);
    const std::conditional_t<sizeof(T) == 8, double, float> alpha = 2, beta = 0.5;
    DNN_OK(cudnnConvolutionForward(dnn, &alpha, dx, bx, df, bf, dc, perf.algo, workspace, bytes, &beta, dy, by));
    std::vector<double> want = ConvolutionSums(s.x, s.f, s.w, last, x, f, true);
    for (size_t i = 0; i < want.size(); ++i) want[i] = 2 * want[i] + 0.5 * double(float(old[i]));
    EXPECT_SAME(by.Get(), Cast<T>(want));
  }
}
CASE(forward_f32) { CheckForward<float>(false), CheckForward<float>(true); }
CASE(forward_f16) { CheckForward<__half>(false), CheckForward<__half>(true); }
CASE(forward_bf16) { CheckForward<__nv_bfloat16>(false), CheckForward<__nv_bfloat16>(true); }
CASE(forward_f64) { CheckForward<double>(false); }

template <class T>
static void CheckBackwardData(bool last) {
  Dnn dnn;
  int seed = 100;
  for (const Shape& s : kShapes) {
    const Dims y = OutputOf(s.x, s.f, s.w);
    const TensorDescriptor dx(s.x, TypeOf<T>::kType, last), dy(y, TypeOf<T>::kType, last);
    const FilterDescriptor df(s.f, TypeOf<T>::kType, last);
    const ConvolutionDescriptor dc(s.w);
    int count = 0;
    cudnnConvolutionBwdDataAlgoPerf_t perf;
    DNN_OK(cudnnGetConvolutionBackwardDataAlgorithm_v7(dnn, df, dy, dc, dx, 1, &count, &perf));
    EXPECT_EQ(count, 1);
    size_t bytes = 0;
    DNN_OK(cudnnGetConvolutionBackwardDataWorkspaceSize(dnn, df, dy, dc, dx, perf.algo, &bytes));
    Buffer<char> workspace(bytes);
    const std::vector<T> gradient = Quarters<T>(y.Count(), seed++), f = Quarters<T>(s.f.Count(), seed++);
    Buffer<T> by(gradient), bf(f), bx(s.x.Count());
    const float one = 1, zero = 0;
    DNN_OK(cudnnConvolutionBackwardData(dnn, &one, df, bf, dy, by, dc, perf.algo, workspace, bytes, &zero, dx, bx));
    EXPECT_SAME(bx.Get(), Cast<T>(ConvolutionSums(s.x, s.f, s.w, last, gradient, f, false)));
  }
}
CASE(backward_data_f32) { CheckBackwardData<float>(false), CheckBackwardData<float>(true); }
CASE(backward_data_f16) { CheckBackwardData<__half>(false), CheckBackwardData<__half>(true); }

CASE(bias_and_activation) {
  Dnn dnn;
  const Shape& s = kShapes[0];
  const Dims y = OutputOf(s.x, s.f, s.w);
  const TensorDescriptor dx(s.x, CUDNN_DATA_FLOAT), dy(y, CUDNN_DATA_FLOAT), db({1, y.c, 1, 1}, CUDNN_DATA_FLOAT);
  const FilterDescriptor df(s.f, CUDNN_DATA_FLOAT);
  const ConvolutionDescriptor dc(s.w);
  cudnnActivationDescriptor_t relu;
  DNN_OK(cudnnCreateActivationDescriptor(&relu));
  DNN_OK(cudnnSetActivationDescriptor(relu, CUDNN_ACTIVATION_RELU, CUDNN_NOT_PROPAGATE_NAN, 0));
  const std::vector<float> x = Quarters<float>(s.x.Count(), 1), f = Quarters<float>(s.f.Count(), 2),
                           z = Quarters<float>(y.Count(), 3), b = Quarters<float>(size_t(y.c), 4);
  Buffer<float> bx(x), bf(f), bz(z), bb(b), by(y.Count());
  const float alpha1 = 0.5f, alpha2 = 2;
  DNN_OK(cudnnConvolutionBiasActivationForward(dnn, &alpha1, dx, bx, df, bf, dc,
                                               CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, nullptr, 0, &alpha2,
                                               dy, bz, db, bb, relu, dy, by));
  std::vector<double> want = ConvolutionSums(s.x, s.f, s.w, false, x, f, true);
  for (size_t i = 0; i < want.size(); ++i) {
    const size_t channel = i / (size_t(y.h) * y.w) % size_t(y.c);
    want[i] = std::max(0.0, 0.5 * want[i] + 2 * double(z[i]) + double(b[channel]));
  }
  EXPECT_SAME(by.Get(), Cast<float>(want));
  DNN_OK(cudnnDestroyActivationDescriptor(relu));
}

CASE(volumes) {
  Dnn dnn;
  const int dims_x[] = {1, 2, 3, 4, 5}, dims_f[] = {2, 2, 2, 2, 2}, ones[] = {1, 1, 1}, zeros[] = {0, 0, 0};
  cudnnTensorDescriptor_t dx, dy;
  cudnnFilterDescriptor_t df;
  cudnnConvolutionDescriptor_t dc;
  DNN_OK(cudnnCreateTensorDescriptor(&dx));
  DNN_OK(cudnnCreateTensorDescriptor(&dy));
  DNN_OK(cudnnCreateFilterDescriptor(&df));
  DNN_OK(cudnnCreateConvolutionDescriptor(&dc));
  DNN_OK(cudnnSetTensorNdDescriptorEx(dx, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 5, dims_x));
  DNN_OK(cudnnSetFilterNdDescriptor(df, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, 5, dims_f));
  DNN_OK(cudnnSetConvolutionNdDescriptor(dc, 3, zeros, ones, ones, CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT));
  int dims_y[5] = {};
  DNN_OK(cudnnGetConvolutionNdForwardOutputDim(dc, dx, df, 5, dims_y));
  EXPECT(dims_y[0] == 1 && dims_y[1] == 2 && dims_y[2] == 2 && dims_y[3] == 3 && dims_y[4] == 4);
  DNN_OK(cudnnSetTensorNdDescriptorEx(dy, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 5, dims_y));
  const std::vector<float> x = Quarters<float>(120, 1), f = Quarters<float>(32, 2);
  Buffer<float> bx(x), bf(f), by(48);
  const float one = 1, zero = 0;
  DNN_OK(cudnnConvolutionForward(dnn, &one, dx, bx, df, bf, dc, CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM, nullptr, 0,
                                 &zero, dy, by));
  std::vector<float> want(48);
  for (int k = 0; k < 2; ++k)
    for (int z = 0; z < 2; ++z)
      for (int h = 0; h < 3; ++h)
        for (int w = 0; w < 4; ++w)
          for (int c = 0; c < 2; ++c)
            for (int t = 0; t < 8; ++t)
              want[((k * 2 + z) * 3 + h) * 4 + w] +=
                  x[((c * 3 + z + t / 4) * 4 + h + t / 2 % 2) * 5 + w + t % 2] * f[(k * 2 + c) * 8 + t];
  EXPECT_SAME(by.Get(), want);
  DNN_OK(cudnnDestroyTensorDescriptor(dx));
  DNN_OK(cudnnDestroyTensorDescriptor(dy));
  DNN_OK(cudnnDestroyFilterDescriptor(df));
  DNN_OK(cudnnDestroyConvolutionDescriptor(dc));
}

CASE(on_the_handles_stream) {
  Dnn dnn;
  cudaStream_t stream, kept;
  CUDA_OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  DNN_OK(cudnnSetStream(dnn, stream));
  DNN_OK(cudnnGetStream(dnn, &kept));
  EXPECT_EQ(kept, stream);
  const Shape& s = kShapes[3];
  const Dims y = OutputOf(s.x, s.f, s.w);
  const TensorDescriptor dx(s.x, CUDNN_DATA_FLOAT), dy(y, CUDNN_DATA_FLOAT);
  const FilterDescriptor df(s.f, CUDNN_DATA_FLOAT);
  const ConvolutionDescriptor dc(s.w);
  const std::vector<float> x = Quarters<float>(s.x.Count(), 1), f = Quarters<float>(s.f.Count(), 2);
  Buffer<float> bx(x), bf(f), by(y.Count());
  const float one = 1, zero = 0;
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  CUDA_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  DNN_OK(cudnnConvolutionForward(dnn, &one, dx, bx, df, bf, dc, CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM, nullptr, 0,
                                 &zero, dy, by));
  CUDA_OK(cudaStreamEndCapture(stream, &graph));
  CUDA_OK(cudaGraphInstantiate(&exec, graph, 0));
  EXPECT_SAME(by.Get(), std::vector<float>(y.Count()));
  CUDA_OK(cudaGraphLaunch(exec, stream));
  CUDA_OK(cudaStreamSynchronize(stream));
  EXPECT_SAME(by.Get(), Cast<float>(ConvolutionSums(s.x, s.f, s.w, false, x, f, true)));
  CUDA_OK(cudaGraphExecDestroy(exec));
  CUDA_OK(cudaGraphDestroy(graph));
  CUDA_OK(cudaStreamDestroy(stream));
}

CASE(descriptors_keep_what_they_are_given) {
  cudnnTensorDescriptor_t tensor;
  DNN_OK(cudnnCreateTensorDescriptor(&tensor));
  DNN_OK(cudnnSetTensor4dDescriptorEx(tensor, CUDNN_DATA_HALF, 2, 3, 4, 5, 100, 30, 7, 1));
  cudnnDataType_t type;
  int rank = 0, dims[4] = {}, strides[4] = {};
  DNN_OK(cudnnGetTensorNdDescriptor(tensor, 4, &type, &rank, dims, strides));
  EXPECT(type == CUDNN_DATA_HALF && rank == 4);
  EXPECT(dims[0] == 2 && dims[1] == 3 && dims[2] == 4 && dims[3] == 5);
  EXPECT(strides[0] == 100 && strides[1] == 30 && strides[2] == 7 && strides[3] == 1);
  DNN_OK(cudnnDestroyTensorDescriptor(tensor));
  const FilterDescriptor filter({6, 3, 2, 5}, CUDNN_DATA_BFLOAT16, true);
  cudnnTensorFormat_t format;
  DNN_OK(cudnnGetFilterNdDescriptor(filter, 4, &type, &format, &rank, dims));
  EXPECT(type == CUDNN_DATA_BFLOAT16 && format == CUDNN_TENSOR_NHWC && rank == 4 && dims[0] == 6 && dims[3] == 5);
  Window w{1, 2, 3, 4, 5, 6, 7};
  const ConvolutionDescriptor convolution(w);
  int pads[2], filter_strides[2], dilations[2], groups = 0;
  cudnnConvolutionMode_t mode;
  DNN_OK(cudnnGetConvolutionNdDescriptor(convolution, 2, &rank, pads, filter_strides, dilations, &mode, &type));
  EXPECT(rank == 2 && pads[1] == 2 && filter_strides[0] == 3 && dilations[1] == 6);
  EXPECT(mode == CUDNN_CROSS_CORRELATION && type == CUDNN_DATA_FLOAT);
  DNN_OK(cudnnGetConvolutionGroupCount(convolution, &groups));
  EXPECT_EQ(groups, 7);
}

CASE(versions_and_names) {
  int major = 0;
  DNN_OK(cudnnGetProperty(MAJOR_VERSION, &major));
  EXPECT_EQ(major, 9);
  EXPECT(cudnnGetVersion() / 10000 == 9);
  EXPECT_EQ(std::string(cudnnGetErrorString(CUDNN_STATUS_SUCCESS)), std::string("CUDNN_STATUS_SUCCESS"));
  EXPECT_EQ(std::string(cudnnGetErrorString(CUDNN_STATUS_BAD_PARAM)), std::string("CUDNN_STATUS_BAD_PARAM"));
}

CASE(what_is_wrong_is_refused) {
  Dnn dnn;
  const Shape& s = kShapes[0];
  const Dims y = OutputOf(s.x, s.f, s.w);
  const TensorDescriptor dx(s.x, CUDNN_DATA_FLOAT), wrong({y.n, y.c, y.h + 1, y.w}, CUDNN_DATA_FLOAT);
  const FilterDescriptor df(s.f, CUDNN_DATA_FLOAT);
  const ConvolutionDescriptor dc(s.w);
  const float one = 1, zero = 0;
  Buffer<float> room(4096);
  EXPECT_EQ(cudnnConvolutionBackwardData(dnn, &one, df, room, wrong, room, dc, CUDNN_CONVOLUTION_BWD_DATA_ALGO_0,
                                         nullptr, 0, &zero, dx, room),
            CUDNN_STATUS_BAD_PARAM);
  cudnnTensorDescriptor_t tensor;
  DNN_OK(cudnnCreateTensorDescriptor(&tensor));
  EXPECT_EQ(cudnnSetTensor4dDescriptor(tensor, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 1, 0, 2, 2),
            CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(cudnnSetTensor4dDescriptorEx(tensor, CUDNN_DATA_FLOAT, 1, 2, 2, 2, 8, 0, 2, 1), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(cudnnSetTensor4dDescriptor(tensor, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 65536, 65536, 1, 1),
            CUDNN_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(cudnnSetTensor4dDescriptor(nullptr, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 1, 1, 2, 2),
            CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(cudnnSetConvolutionGroupCount(dc, 0), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(cudnnSetStream(nullptr, nullptr), CUDNN_STATUS_BAD_PARAM);
  DNN_OK(cudnnDestroyTensorDescriptor(tensor));
}
