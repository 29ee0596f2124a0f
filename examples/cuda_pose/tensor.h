// A small eager tensor library in the manner of the deep-learning frameworks: a caching allocator, device guards round
// every operator, one stream, errors checked after every launch. It asks the CUDA runtime for the current device and
// the last error as often as a framework does.
#pragma once

#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace pose {

// Throw std::runtime_error with CUDA's or cuBLAS's own words.
void Check(cudaError_t status, const char* what);
void Check(cublasStatus_t status, const char* what);

// What the program asked of CUDA, for --profile.
struct CallCounts {
  int64_t launches = 0, gemms = 0, get_device = 0, get_last_error = 0, host_to_device = 0, device_to_host = 0;
  int64_t device_to_device = 0, synchronise = 0, allocations = 0, other = 0;
  int64_t Total() const {
    return launches + gemms + get_device + get_last_error + host_to_device + device_to_host + device_to_device +
           synchronise + allocations + other;
  }
};

class Runtime;

// Restores the device that was current.
class DeviceGuard {
 public:
  explicit DeviceGuard(Runtime& runtime);
  ~DeviceGuard();
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;

 private:
  Runtime& runtime_;
  int previous_ = 0;
};

// Freed blocks are kept by size for the next tensor of that size; on one stream this is safe without waiting. As in
// PyTorch's allocator the one with the lowest address goes first, so every inference gets the blocks of the one before.
class CachingAllocator {
 public:
  explicit CachingAllocator(Runtime& runtime) : runtime_(runtime) {}
  ~CachingAllocator();
  void* Allocate(size_t bytes);  // at least `bytes`, aligned to 256
  void Free(void* block);

 private:
  Runtime& runtime_;
  std::map<size_t, std::set<void*>> free_;
  std::map<void*, size_t> size_;
};

// The device, its stream, its cuBLAS handle. Not thread-safe.
class Runtime {
 public:
  Runtime();
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  int device() const { return device_; }
  int CurrentDevice();
  int ThreadLimit();  // of a block on the current device
  cudaStream_t CurrentStream();
  void CheckLaunch(const char* what);
  void Synchronise();
  CachingAllocator& allocator() { return allocator_; }
  CallCounts& counts() { return counts_; }

  // c(m, n) = a(m, k) * b(k, n), all row-major.
  void Gemm(int m, int n, int k, const float* a, const float* b, float* c);

  // Copies of pageable memory wait for their end, as a framework's do.
  void CopyToDevice(void* device, const void* host, size_t bytes);
  void CopyToHost(void* host, const void* device, size_t bytes);
  void CopyOnDevice(void* to, const void* from, size_t bytes);

  // One thread per element of `n`, as every operator of this library launches.
  template <class... Parameters, class... Arguments>
  void Launch(const char* what, void (*kernel)(Parameters...), int64_t n, Arguments... arguments) {
    LaunchBlocks(what, kernel, dim3(unsigned((n + kThreads - 1) / kThreads)), kThreads, arguments...);
  }
  // One thread per element of a plane, a row of blocks for each channel: kernels find their channel without dividing.
  template <class... Parameters, class... Arguments>
  void LaunchPlanes(const char* what, void (*kernel)(Parameters...), int channels, int plane, Arguments... arguments) {
    const int threads = plane >= kThreads ? kThreads : (plane + 31) / 32 * 32;
    LaunchBlocks(what, kernel, dim3(unsigned((plane + threads - 1) / threads), unsigned(channels)), threads,
                 arguments...);
  }
  template <class... Parameters, class... Arguments>
  void LaunchBlocks(const char* what, void (*kernel)(Parameters...), dim3 blocks, int threads, Arguments... arguments) {
    DeviceGuard guard(*this);
    if (threads > ThreadLimit()) throw std::runtime_error(std::string(what) + ": too many threads in a block");
    cudaStream_t stream = CurrentStream();
    ++counts_.launches;
    kernel<<<blocks, unsigned(threads), 0, stream>>>(static_cast<Parameters>(arguments)...);
    CheckLaunch(what);
  }

 private:
  static constexpr int kThreads = 256;
  int device_ = 0;
  std::vector<int> thread_limits_;  // by device
  cudaStream_t stream_ = nullptr;
  cublasHandle_t blas_ = nullptr;
  CallCounts counts_;
  CachingAllocator allocator_{*this};
};

// Elements of type T in device memory: channels x height x width. Copies share the memory.
template <class T>
class Array {
 public:
  Array() = default;
  Array(Runtime& runtime, int channels, int height = 1, int width = 1)
      : channels_(channels), height_(height), width_(width) {
    DeviceGuard guard(runtime);
    void* block = runtime.allocator().Allocate(size_t(Size()) * sizeof(T));
    block_ = std::shared_ptr<void>(block, [&runtime](void* p) { runtime.allocator().Free(p); });
  }
  T* data() const { return static_cast<T*>(block_.get()); }
  int channels() const { return channels_; }
  int height() const { return height_; }
  int width() const { return width_; }
  int Plane() const { return height_ * width_; }
  int Size() const { return channels_ * Plane(); }
  T* Channel(int c) const { return data() + int64_t(c) * Plane(); }
  explicit operator bool() const { return block_ != nullptr; }

 private:
  int channels_ = 0, height_ = 0, width_ = 0;
  std::shared_ptr<void> block_;
};

using DeviceTensor = Array<float>;

template <class T>
Array<T> ToDevice(Runtime& runtime, const std::vector<T>& host) {
  Array<T> out(runtime, int(host.size()));
  runtime.CopyToDevice(out.data(), host.data(), host.size() * sizeof(T));
  return out;
}

template <class T>
std::vector<T> ToHost(Runtime& runtime, const Array<T>& array, int count) {
  std::vector<T> host(static_cast<size_t>(count));
  runtime.CopyToHost(host.data(), array.data(), host.size() * sizeof(T));
  return host;
}

}  // namespace pose
