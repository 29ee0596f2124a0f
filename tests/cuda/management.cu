// NVIDIA's management library as monitors and PyTorch use it: opened while the program runs, by its name. What it says
// of the device is what CUDA says.
#include <dlfcn.h>

#include "tests/cuda/harness.h"

namespace {

// Its header is no part of the toolkit everywhere.
using Device = void*;
struct Memory {
  unsigned long long total, free, used;
};
struct Memory2 {
  unsigned version = sizeof(Memory2) | 2U << 24;
  unsigned long long total, reserved, free, used;
};
struct Place {
  char legacy[16];
  unsigned domain, bus, device, pci_device, pci_subsystem;
  char text[32];
};
struct Process {
  unsigned pid;
  unsigned long long used;
  unsigned gpu_instance, compute_instance;
};
enum {
  kSuccess = 0,
  kUninitialized = 1,
  kInvalidArgument = 2,
  kNotFound = 6,
  kInsufficientSize = 7,
  kFunctionNotFound = 13
};

template <class... Arguments>
int Call(const char* name, Arguments... arguments) {
  static void* const library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
  auto* const function = library == nullptr ? nullptr : reinterpret_cast<int (*)(Arguments...)>(dlsym(library, name));
  return function == nullptr ? -1 : function(arguments...);
}

// The device, between the beginning and the end of the library.
class Session {
 public:
  Session() {
    EXPECT_EQ(Call("nvmlInit_v2"), kSuccess);
    EXPECT_EQ(Call("nvmlDeviceGetHandleByIndex_v2", 0U, &device_), kSuccess);
  }
  ~Session() { EXPECT_EQ(Call("nvmlShutdown"), kSuccess); }
  Device device() const { return device_; }

 private:
  Device device_ = nullptr;
};

cudaDeviceProp Properties() {
  cudaDeviceProp properties = {};
  CUDA_OK(cudaGetDeviceProperties(&properties, 0));
  return properties;
}

}  // namespace

CASE(begins_and_ends) {
  unsigned count = 0;
  EXPECT_EQ(Call("nvmlDeviceGetCount_v2", &count), kUninitialized);
  EXPECT_EQ(Call("nvmlShutdown"), kUninitialized);
  EXPECT_EQ(Call("nvmlInit_v2"), kSuccess);
  EXPECT_EQ(Call("nvmlInitWithFlags", 0U), kSuccess);
  EXPECT_EQ(Call("nvmlShutdown"), kSuccess);
  EXPECT_EQ(Call("nvmlDeviceGetCount_v2", &count), kSuccess);  // begun twice, ended once
  EXPECT_EQ(count >= 1, true);
  EXPECT_EQ(Call("nvmlShutdown"), kSuccess);
  EXPECT_EQ(Call("nvmlDeviceGetCount_v2", &count), kUninitialized);
}

CASE(says_what_cuda_says) {
  const Session session;
  const cudaDeviceProp properties = Properties();
  char name[96] = {};
  EXPECT_EQ(Call("nvmlDeviceGetName", session.device(), &name[0], unsigned(sizeof(name))), kSuccess);
  EXPECT_EQ(std::string(name), std::string(properties.name));
  EXPECT_EQ(Call("nvmlDeviceGetName", session.device(), &name[0], 2U), kInsufficientSize);
  int major = 0, minor = 0, release = 0, driver = 0;
  EXPECT_EQ(Call("nvmlDeviceGetCudaComputeCapability", session.device(), &major, &minor), kSuccess);
  EXPECT_EQ(major * 10 + minor, properties.major * 10 + properties.minor);
  EXPECT_EQ(Call("nvmlSystemGetCudaDriverVersion_v2", &release), kSuccess);
  CUDA_OK(cudaDriverGetVersion(&driver));
  EXPECT_EQ(release, driver);
}

CASE(finds_the_device) {
  const Session session;
  char uuid[96] = {}, wanted[96] = "GPU-";
  EXPECT_EQ(Call("nvmlDeviceGetUUID", session.device(), &uuid[0], unsigned(sizeof(uuid))), kSuccess);
  const cudaDeviceProp properties = Properties();
  for (int i = 0; i < 16; ++i) {
    std::snprintf(wanted + std::strlen(wanted), 4, i == 3 || i == 5 || i == 7 || i == 9 ? "%02x-" : "%02x",
                  static_cast<unsigned char>(properties.uuid.bytes[i]));
  }
  EXPECT_EQ(std::string(uuid), std::string(wanted));
  Device found = nullptr;
  EXPECT_EQ(Call("nvmlDeviceGetHandleByUUID", static_cast<const char*>(uuid), &found), kSuccess);
  EXPECT_EQ(found, session.device());
  EXPECT_EQ(Call("nvmlDeviceGetHandleByUUID", "GPU-00000000-0000-0000-0000-000000000001", &found), kNotFound);

  char place[32] = {};
  CUDA_OK(cudaDeviceGetPCIBusId(place, sizeof(place), 0));
  found = nullptr;
  EXPECT_EQ(Call("nvmlDeviceGetHandleByPciBusId_v2", static_cast<const char*>(place), &found), kSuccess);
  EXPECT_EQ(found, session.device());
  Place info = {};
  EXPECT_EQ(Call("nvmlDeviceGetPciInfo_v3", session.device(), &info), kSuccess);
  EXPECT_EQ(strcasecmp(info.legacy, place), 0);
  EXPECT_EQ(std::string(info.text).size(), size_t{16});
  EXPECT_EQ(Call("nvmlDeviceGetHandleByIndex_v2", 4096U, &found), kInvalidArgument);
  EXPECT_EQ(Call("nvmlDeviceGetName", Device{}, place, unsigned(sizeof(place))), kInvalidArgument);
}

CASE(knows_the_link_to_its_host) {
  const Session session;
  unsigned generation = 0, best = 0, lanes = 0, most = 0;
  EXPECT_EQ(Call("nvmlDeviceGetCurrPcieLinkGeneration", session.device(), &generation), kSuccess);
  EXPECT_EQ(Call("nvmlDeviceGetMaxPcieLinkGeneration", session.device(), &best), kSuccess);
  EXPECT_EQ(Call("nvmlDeviceGetCurrPcieLinkWidth", session.device(), &lanes), kSuccess);
  EXPECT_EQ(Call("nvmlDeviceGetMaxPcieLinkWidth", session.device(), &most), kSuccess);
  EXPECT_EQ(generation >= 1 && generation <= best, true);
  EXPECT_EQ(lanes >= 1 && lanes <= most, true);
}

CASE(counts_memory) {
  const Session session;
  constexpr size_t kBytes = 64 << 20;
  Memory before = {}, after = {};
  EXPECT_EQ(Call("nvmlDeviceGetMemoryInfo", session.device(), &before), kSuccess);
  {
    const harness::Buffer<char> buffer(kBytes);
    EXPECT_EQ(Call("nvmlDeviceGetMemoryInfo", session.device(), &after), kSuccess);
  }
  EXPECT_EQ(after.used >= before.used + kBytes, true);
  EXPECT_EQ(after.total, before.total);
  Memory2 second;
  EXPECT_EQ(Call("nvmlDeviceGetMemoryInfo_v2", session.device(), &second), kSuccess);
  EXPECT_EQ(second.total, before.total);
  second.version = 1;  // of another struct
  EXPECT_EQ(Call("nvmlDeviceGetMemoryInfo_v2", session.device(), &second), kFunctionNotFound);
}

CASE(knows_this_process) {
  const Session session;
  const harness::Buffer<char> buffer(1 << 20);
  Process processes[64];
  unsigned count = 0;
  EXPECT_EQ(Call("nvmlDeviceGetComputeRunningProcesses_v3", session.device(), &count, &processes[0]),
            kInsufficientSize);
  count = 64;
  EXPECT_EQ(Call("nvmlDeviceGetComputeRunningProcesses_v3", session.device(), &count, &processes[0]), kSuccess);
  EXPECT_EQ(std::any_of(processes, processes + count, [](const Process& one) { return one.pid == unsigned(getpid()); }),
            true);
}
