// barrier_benchmark's OpenCL process: runs the works of barrier_works.h on the machine's first OpenCL device, such as
// PoCL's. Descriptor 3 is memory for two arrays, of inputs and results. Once it is ready it writes a double; for each
// work whose number (a byte) it reads it writes the milliseconds it took.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "wharf/device/soft/driver/barrier_works.h"

namespace wharf::device::soft {
namespace {

constexpr const char* kWords = R"(
#define KERNEL kernel
#define GLOBAL global
#define SHARED local
#define BARRIER() barrier(CLK_LOCAL_MEM_FENCE)
#define THREAD_X ((int)get_local_id(0))
#define THREAD_Y ((int)get_local_id(1))
#define BLOCK_X ((int)get_group_id(0))
#define BLOCK_Y ((int)get_group_id(1))
#define BLOCKS_X ((int)get_num_groups(0))
#define EXPONENTIAL(x) native_exp(x)
#define RSQRT(x) rsqrt(x)
#define MAXIMUM(a, b) fmax(a, b)
#define ADD_SHARED(at, by) atomic_add(at, by)
#define ADD_GLOBAL(at, by) atomic_add(at, by)
)";

[[noreturn]] void Give(const std::string& up) {
  std::cerr << "OpenCL: " << up << "\n";
  std::exit(1);
}
void Check(cl_int error, const std::string& what) {
  if (error != CL_SUCCESS) Give(what + ": error " + std::to_string(error));
}

class Device {
 public:
  explicit Device(float* arrays) {
    cl_platform_id platform = nullptr;
    cl_device_id device = nullptr;
    cl_uint found = 0;
    if (clGetPlatformIDs(1, &platform, &found) != CL_SUCCESS || found == 0 ||
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr) != CL_SUCCESS) {
      Give("no device (Debian: pocl-opencl-icd)");
    }
    char version[256] = {};
    clGetPlatformInfo(platform, CL_PLATFORM_VERSION, sizeof version - 1, version, nullptr);
    std::cerr << version << "\n";
    cl_int error = 0;
    context_ = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &error);
    Check(error, "making a context");
    queue_ = clCreateCommandQueue(context_, device, 0, &error);
    Check(error, "making a queue");
    program_ = Build(device);
    in_ = Share(arrays);
    out_ = Share(arrays + kArray);
  }

  std::function<void()> Prepare(const BarrierWork& work) {
    cl_int error = 0;
    cl_kernel kernel = clCreateKernel(program_, work.kernel, &error);
    Check(error, work.kernel);
    cl_uint argument = 0;
    const auto set = [&](const auto& value) {
      Check(clSetKernelArg(kernel, argument++, sizeof value, &value), "an argument");
    };
    set(in_);
    if (work.second != 0) {
      const cl_buffer_region region{static_cast<size_t>(work.second) * 4, static_cast<size_t>(work.second) * 4};
      cl_mem second = clCreateSubBuffer(in_, CL_MEM_READ_ONLY, CL_BUFFER_CREATE_TYPE_REGION, &region, &error);
      Check(error, "a part of an array");
      set(second);
    }
    set(out_);
    for (const float factor : work.factors) set(factor);
    for (const int count : work.counts) set(count);
    const std::array<size_t, 2> block{work.block[0], work.block[1]};
    const std::array<size_t, 2> all{work.grid[0] * block[0], work.grid[1] * block[1]};
    return [this, kernel, block, all] {
      Check(clEnqueueNDRangeKernel(queue_, kernel, 2, nullptr, all.data(), block.data(), 0, nullptr, nullptr),
            "launching");
      Check(clFinish(queue_), "running");
    };
  }

 private:
  cl_program Build(cl_device_id device) {
    std::ostringstream text;
    text << kWords << std::ifstream(WHARF_OPENCL_KERNELS).rdbuf();
    const std::string source = text.str();
    const char* pointer = source.c_str();
    cl_int error = 0;
    cl_program program = clCreateProgramWithSource(context_, 1, &pointer, nullptr, &error);
    Check(error, "loading " WHARF_OPENCL_KERNELS);
    Check(clBuildProgram(program, 1, &device, "-cl-std=CL1.2 -cl-mad-enable", nullptr, nullptr), "compiling");
    return program;
  }

  cl_mem Share(float* array) {
    cl_int error = 0;
    cl_mem buffer =
        clCreateBuffer(context_, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, size_t{kArray} * 4, array, &error);
    Check(error, "sharing memory");
    return buffer;
  }

  cl_context context_ = nullptr;
  cl_command_queue queue_ = nullptr;
  cl_program program_ = nullptr;
  cl_mem in_ = nullptr, out_ = nullptr;
};

void Serve() {
  void* arrays = mmap(nullptr, size_t{kArray} * 8, PROT_READ | PROT_WRITE, MAP_SHARED, 3, 0);
  if (arrays == MAP_FAILED) Give("no arrays; barrier_benchmark starts this program");
  Device device(static_cast<float*>(arrays));
  std::vector<std::function<void()>> works;
  for (const BarrierWork& work : BarrierWorks()) works.push_back(device.Prepare(work));
  const auto tell = [](double value) {
    if (write(1, &value, sizeof value) != sizeof value) std::exit(1);
  };
  tell(0);
  uint8_t number = 0;
  while (read(0, &number, 1) == 1 && number < works.size()) {
    const auto start = std::chrono::steady_clock::now();
    works[number]();
    tell(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  }
}

}  // namespace
}  // namespace wharf::device::soft

int main() {
  wharf::device::soft::Serve();
  std::_Exit(0);  // PoCL's threads are not waited for
}
