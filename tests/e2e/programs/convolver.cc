// A small network on cuDNN, over and over: `convolver INFERENCES`. Each has a picture of its own and is compared with
// what the first gave for it. Exit codes: 0 all right, 3 an error (named on stderr), 4 a wrong result.
#include <cmath>
#include <cstdlib>
#include <vector>

#include "dnn_inferences.h"

constexpr int kChannels = 8, kSide = 24, kLayers = 6;
constexpr size_t kCount = size_t{kChannels} * kSide * kSide;

struct Network {
  cudnnHandle_t handle;
  cudnnTensorDescriptor_t tensor, parameters;
  cudnnFilterDescriptor_t filter;
  cudnnConvolutionDescriptor_t convolution;
  cudnnActivationDescriptor_t relu;
  float *a, *b, *weights, *norm;

  Network() {
    DNN(cudnnCreate(&handle));
    DNN(cudnnCreateTensorDescriptor(&tensor));
    DNN(cudnnCreateTensorDescriptor(&parameters));
    DNN(cudnnCreateFilterDescriptor(&filter));
    DNN(cudnnCreateConvolutionDescriptor(&convolution));
    DNN(cudnnCreateActivationDescriptor(&relu));
    DNN(cudnnSetTensor4dDescriptor(tensor, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 1, kChannels, kSide, kSide));
    DNN(cudnnDeriveBNTensorDescriptor(parameters, tensor, CUDNN_BATCHNORM_SPATIAL));
    DNN(cudnnSetFilter4dDescriptor(filter, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, kChannels, kChannels, 3, 3));
    DNN(cudnnSetConvolution2dDescriptor(convolution, 1, 1, 1, 1, 1, 1, CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT));
    DNN(cudnnSetActivationDescriptor(relu, CUDNN_ACTIVATION_RELU, CUDNN_NOT_PROPAGATE_NAN, 0));
    CUDA(cudaMalloc(&a, kCount * sizeof(float)));
    CUDA(cudaMalloc(&b, kCount * sizeof(float)));
    std::vector<float> numbers(kLayers * kChannels * kChannels * 9);
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = std::sin(static_cast<float>(i)) * 0.15f;
    CUDA(cudaMalloc(&weights, numbers.size() * sizeof(float)));
    CUDA(cudaMemcpy(weights, numbers.data(), numbers.size() * sizeof(float), cudaMemcpyHostToDevice));
    const std::vector<float> plain(kChannels, 1.0f);  // scale, shift, mean and variance
    CUDA(cudaMalloc(&norm, kChannels * sizeof(float)));
    CUDA(cudaMemcpy(norm, plain.data(), kChannels * sizeof(float), cudaMemcpyHostToDevice));
  }

  std::vector<float> Infer(const std::vector<float>& picture) {
    const float one = 1, zero = 0;
    CUDA(cudaMemcpy(a, picture.data(), kCount * sizeof(float), cudaMemcpyHostToDevice));
    for (int layer = 0; layer < kLayers; ++layer) {
      DNN(cudnnConvolutionForward(handle, &one, tensor, a, filter, weights + layer * kChannels * kChannels * 9,
                                  convolution, CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM, nullptr, 0, &zero, tensor, b));
      DNN(cudnnBatchNormalizationForwardInference(handle, CUDNN_BATCHNORM_SPATIAL, &one, &zero, tensor, b, tensor, b,
                                                  parameters, norm, norm, norm, norm, 1e-5));
      DNN(cudnnActivationForward(handle, relu, &one, tensor, b, &zero, tensor, a));
    }
    std::vector<float> result(kCount);
    CUDA(cudaMemcpy(result.data(), a, kCount * sizeof(float), cudaMemcpyDeviceToHost));
    return result;
  }
};

int main(int argc, char** argv) {
  const int inferences = argc > 1 ? std::atoi(argv[1]) : 10;
  Network network;
  return RunInferences(inferences, kCount, [&](const std::vector<float>& picture) { return network.Infer(picture); });
}
