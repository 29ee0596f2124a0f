// An LSTM and a GRU on it, over and over: `listener INFERENCES`, or `listener train` to ask for what is refused. Each
// inference hears sequences of its own and is compared with what the first gave for them. Exit codes: 0 all right, 3 an
// error (named on stderr), 4 a wrong result.
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "dnn_inferences.h"

constexpr int kSteps = 12, kBatch = 2, kInputs = 16, kHidden = 24;
constexpr int kLengths[kBatch] = {12, 9};

struct Layer {
  cudnnRNNDescriptor_t network;
  cudnnRNNDataDescriptor_t x, y;
  float* weights;
  size_t bytes;

  Layer(cudnnHandle_t handle, cudnnDropoutDescriptor_t dropout, cudnnRNNMode_t cell, int inputs) {
    DNN(cudnnCreateRNNDescriptor(&network));
    DNN(cudnnSetRNNDescriptor_v8(network, CUDNN_RNN_ALGO_STANDARD, cell, CUDNN_RNN_DOUBLE_BIAS, CUDNN_UNIDIRECTIONAL,
                                 CUDNN_LINEAR_INPUT, CUDNN_DATA_FLOAT, CUDNN_DATA_FLOAT, CUDNN_FMA_MATH, inputs,
                                 kHidden, kHidden, 1, dropout, CUDNN_RNN_PADDED_IO_ENABLED));
    float zero = 0;
    for (auto [sequences, width] : {std::pair{&x, inputs}, std::pair{&y, kHidden}}) {
      DNN(cudnnCreateRNNDataDescriptor(sequences));
      DNN(cudnnSetRNNDataDescriptor(*sequences, CUDNN_DATA_FLOAT, CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED, kSteps,
                                    kBatch, width, kLengths, &zero));
    }
    DNN(cudnnGetRNNWeightSpaceSize(handle, network, &bytes));
    std::vector<float> numbers(bytes / sizeof(float));
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = std::sin(static_cast<float>(i)) * 0.2f;
    CUDA(cudaMalloc(&weights, bytes));
    CUDA(cudaMemcpy(weights, numbers.data(), bytes, cudaMemcpyHostToDevice));
  }
  void Run(cudnnHandle_t handle, cudnnForwardMode_t mode, const float* in, float* out) {
    DNN(cudnnRNNForward(handle, network, mode, nullptr, x, in, y, out, nullptr, nullptr, nullptr, nullptr, nullptr,
                        nullptr, bytes, weights, 0, nullptr, 0, nullptr));
  }
};

int main(int argc, char** argv) {
  const char* const what = argc > 1 ? argv[1] : "10";
  const cudnnForwardMode_t mode = std::strcmp(what, "train") == 0 ? CUDNN_FWD_MODE_TRAINING : CUDNN_FWD_MODE_INFERENCE;
  const int inferences = mode == CUDNN_FWD_MODE_TRAINING ? 1 : std::atoi(what);
  cudnnHandle_t handle;
  cudnnDropoutDescriptor_t dropout;
  DNN(cudnnCreate(&handle));
  DNN(cudnnCreateDropoutDescriptor(&dropout));
  DNN(cudnnSetDropoutDescriptor(dropout, handle, 0, nullptr, 0, 0));
  Layer lstm(handle, dropout, CUDNN_LSTM, kInputs), gru(handle, dropout, CUDNN_GRU, kHidden);
  constexpr size_t kIn = size_t{kSteps} * kBatch * kInputs, kOut = size_t{kSteps} * kBatch * kHidden;
  float *in, *between, *out;
  CUDA(cudaMalloc(&in, kIn * sizeof(float)));
  CUDA(cudaMalloc(&between, kOut * sizeof(float)));
  CUDA(cudaMalloc(&out, kOut * sizeof(float)));
  return RunInferences(inferences, kIn, [&](const std::vector<float>& sound) {
    std::vector<float> result(kOut);
    CUDA(cudaMemcpy(in, sound.data(), kIn * sizeof(float), cudaMemcpyHostToDevice));
    lstm.Run(handle, mode, in, between);
    gru.Run(handle, mode, between, out);
    CUDA(cudaMemcpy(result.data(), out, kOut * sizeof(float), cudaMemcpyDeviceToHost));
    return result;
  });
}
