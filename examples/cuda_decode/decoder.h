// One inference on the GPU: a prompt in, an answer out. Every inference makes other calls: how many tokens it decodes,
// which experts it launches and how many proposals it handles follow from what it copies back on its way.
#pragma once

#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "examples/cuda_decode/model.h"

namespace decode {

// What the program asked of CUDA.
struct CallCounts {
  int64_t launches = 0, gemms = 0, get_last_error = 0, host_to_device = 0, device_to_host = 0, synchronise = 0;
  int64_t Total() const { return launches + gemms + get_last_error + host_to_device + device_to_host + synchronise; }
};

// Device memory of `count` elements; throws std::runtime_error with CUDA's words.
template <class T>
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(size_t count);
  T* data() const { return memory_.get(); }

 private:
  struct Free {
    void operator()(T* memory) const { cudaFree(memory); }
  };
  std::unique_ptr<T, Free> memory_;
};

// Not thread-safe. Everything throws std::runtime_error with CUDA's or cuBLAS's own words.
class Decoder {
 public:
  // Uploads the weights.
  explicit Decoder(const Model& model);
  ~Decoder();
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  Answer Infer(const std::vector<int>& prompt);
  const CallCounts& counts() const { return counts_; }

 private:
  struct DeviceExpert {
    Buffer<float> up, down;
  };
  struct DeviceLayer {
    Buffer<float> attention_norm, qkv, projection, feed_norm, up, down, gate;
    DeviceExpert experts[kExperts];
    Buffer<float> keys, values;  // kContext x kWidth, filled row by row
    bool is_mixture = false;
  };

  Buffer<float> Upload(const std::vector<float>& values);
  template <class... Parameters, class... Arguments>
  void Launch(void (*kernel)(Parameters...), int threads, Arguments... arguments);
  // out(1, n) = x(1, k) * matrix(k, n).
  void Multiply(const float* x, const float* matrix, float* out, int k, int n);
  void CopyToHost(void* host, const void* device, size_t bytes);

  void Forward(int position, std::vector<int>* experts);
  void Attend(const DeviceLayer& layer, int position);
  int FeedForward(const DeviceLayer& layer);  // the expert chosen, or -1 in a layer without
  int NextToken(int position);
  std::vector<float> Propose(int first, int count);

  cudaStream_t stream_ = nullptr;
  cublasHandle_t blas_ = nullptr;
  CallCounts counts_;
  DeviceLayer layers_[kLayers];
  Buffer<float> embedding_, positions_, final_norm_, logits_matrix_, proposal_matrix_;
  Buffer<float> x_, normed_, qkv_, scores_, mixed_, hidden_, projected_, gate_, logits_;
  Buffer<float> history_;  // kContext x kWidth: every token's last state
  Buffer<float> proposals_;
  Buffer<int> tokens_, expert_, starts_, start_count_;
};

}  // namespace decode
