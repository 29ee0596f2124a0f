#include "examples/cuda_pose/tensor.h"

namespace pose {
namespace {

constexpr size_t kGranule = 512;

}  // namespace

void Check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  throw std::runtime_error(std::string(what) + ": " + cudaGetErrorName(status) + " (" + cudaGetErrorString(status) +
                           ")");
}

void Check(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw std::runtime_error(std::string(what) + ": " + cublasGetStatusString(status));
}

DeviceGuard::DeviceGuard(Runtime& runtime) : runtime_(runtime), previous_(runtime.CurrentDevice()) {
  if (previous_ == runtime_.device()) return;
  ++runtime_.counts().other;
  Check(cudaSetDevice(runtime_.device()), "cudaSetDevice");
}

DeviceGuard::~DeviceGuard() {
  int current = 0;
  ++runtime_.counts().get_device;
  if (cudaGetDevice(&current) != cudaSuccess || current == previous_) return;
  ++runtime_.counts().other;
  cudaSetDevice(previous_);
}

CachingAllocator::~CachingAllocator() {
  for (auto& size : free_)
    for (void* block : size.second) cudaFree(block);
}

void* CachingAllocator::Allocate(size_t bytes) {
  runtime_.CurrentDevice();
  const size_t size = (bytes + kGranule - 1) / kGranule * kGranule;
  std::set<void*>& blocks = free_[size];
  if (!blocks.empty()) return blocks.extract(blocks.begin()).value();
  void* block = nullptr;
  ++runtime_.counts().allocations;
  Check(cudaMalloc(&block, size), "cudaMalloc");
  size_[block] = size;
  return block;
}

void CachingAllocator::Free(void* block) {
  if (block) free_[size_[block]].insert(block);
}

Runtime::Runtime() {
  int devices = 0;
  Check(cudaGetDeviceCount(&devices), "cudaGetDeviceCount");
  if (devices == 0) throw std::runtime_error("no CUDA device");
  Check(cudaGetDevice(&device_), "cudaGetDevice");
  Check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  Check(cublasCreate(&blas_), "cublasCreate");
  Check(cublasSetStream(blas_, stream_), "cublasSetStream");
  thread_limits_.resize(size_t(devices));
  for (int i = 0; i < devices; ++i)
    Check(cudaDeviceGetAttribute(&thread_limits_[size_t(i)], cudaDevAttrMaxThreadsPerBlock, i),
          "cudaDeviceGetAttribute");
}

Runtime::~Runtime() {
  cublasDestroy(blas_);
  cudaStreamDestroy(stream_);
}

int Runtime::CurrentDevice() {
  int device = 0;
  ++counts_.get_device;
  Check(cudaGetDevice(&device), "cudaGetDevice");
  return device;
}

int Runtime::ThreadLimit() { return thread_limits_[size_t(CurrentDevice())]; }

cudaStream_t Runtime::CurrentStream() {
  // Streams belong to a device: a framework looks up the current one's before every launch.
  if (CurrentDevice() != device_) throw std::runtime_error("the current device changed");
  return stream_;
}

void Runtime::CheckLaunch(const char* what) {
  ++counts_.get_last_error;
  Check(cudaGetLastError(), what);
}

void Runtime::Synchronise() {
  ++counts_.synchronise;
  Check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
}

void Runtime::Gemm(int m, int n, int k, const float* a, const float* b, float* c) {
  DeviceGuard guard(*this);
  CurrentStream();
  ++counts_.gemms;
  const float one = 1, zero = 0;
  // cuBLAS is column-major: it computes the transposed product of the transposed matrices.
  Check(cublasSgemm(blas_, CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, &one, b, n, a, k, &zero, c, n), "cublasSgemm");
}

void Runtime::CopyToDevice(void* device, const void* host, size_t bytes) {
  DeviceGuard guard(*this);
  ++counts_.host_to_device;
  Check(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, CurrentStream()), "copy to the device");
  Synchronise();
}

void Runtime::CopyToHost(void* host, const void* device, size_t bytes) {
  DeviceGuard guard(*this);
  ++counts_.device_to_host;
  Check(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, CurrentStream()), "copy to the host");
  Synchronise();
}

void Runtime::CopyOnDevice(void* to, const void* from, size_t bytes) {
  DeviceGuard guard(*this);
  ++counts_.device_to_device;
  Check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, CurrentStream()), "copy on the device");
}

}  // namespace pose
