// A CUDA driver for tests: libcuda.so.1 with the functions driver_api.h names, on host memory. Streams are threads, so
// work is truly asynchronous; the legacy default stream is the barrier it is in CUDA; copies from page-locked memory
// read it when they run, not when they are queued; graphs are chains that run as one operation. It "compiles" three
// kernels by name:
//   add_one(u32* data, u32 n)   adds one to each element; with a guard, to those in its range
//   fault()                     makes the context return cudaErrorIllegalAddress from then on
//   say()                       prints "kernel speaking"
#include "wharf/device/cuda/testing/fake_driver.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace wharf::device::cuda::fake {

constexpr Result kInvalidValue = 1, kOutOfMemory = 2, kInvalidImage = 200, kInvalidHandle = 400, kNotFound = 500,
                 kNotReady = 600, kIllegalAddress = 700;
constexpr size_t kGranularity = 2 << 20, kMemory = size_t{1} << 30;

struct Completion {
  bool done = false;
  std::chrono::steady_clock::time_point when;
};
using CompletionPointer = std::shared_ptr<Completion>;

struct Operation {
  std::vector<CompletionPointer> after;
  std::function<void()> run;
  CompletionPointer completion;
};

struct Stream {
  bool blocking = true;
  bool stop = false;
  std::deque<Operation> queue;
  CompletionPointer last;
  bool captured = false;
  std::vector<std::function<void()>> recorded;
  std::thread thread;
};

struct Event {
  CompletionPointer completion;
};

struct Machine {
  std::mutex mutex;
  std::condition_variable changed;
  std::atomic<Result> sticky{0};
  std::set<Stream*> streams;
  Stream* legacy = nullptr;
  int contexts = 0;
  std::map<AllocationHandle, size_t> allocations;
  AllocationHandle last_allocation = 0;
  size_t allocated = 0;
  std::map<DevicePointer, size_t> mapped;
  std::map<const std::byte*, size_t> pinned;
};

// Never destroyed: stream threads may outlive main's statics.
Machine& M() {
  static auto* machine = new Machine;
  return *machine;
}

void RunStream(Stream* stream) {
  Machine& m = M();
  std::unique_lock lock(m.mutex);
  for (;;) {
    m.changed.wait(lock, [&] { return stream->stop || !stream->queue.empty(); });
    if (stream->queue.empty()) return;
    Operation operation = std::move(stream->queue.front());
    stream->queue.pop_front();
    m.changed.wait(lock, [&] {
      return std::all_of(operation.after.begin(), operation.after.end(), [](const auto& t) { return t->done; });
    });
    lock.unlock();
    if (operation.run != nullptr && m.sticky == 0) operation.run();
    lock.lock();
    operation.completion->done = true;
    operation.completion->when = std::chrono::steady_clock::now();
    m.changed.notify_all();
  }
}

Stream* NewStream(bool blocking) {
  auto* stream = new Stream;
  stream->blocking = blocking;
  stream->thread = std::thread(RunStream, stream);
  std::lock_guard lock(M().mutex);
  M().streams.insert(stream);
  return stream;
}

void EndStream(Stream* stream) {
  {
    std::lock_guard lock(M().mutex);
    stream->stop = true;
    M().streams.erase(stream);
    M().changed.notify_all();
  }
  stream->thread.join();
  delete stream;
}

Stream* Find(StreamHandle handle) { return handle == nullptr ? M().legacy : reinterpret_cast<Stream*>(handle); }

CompletionPointer Enqueue(StreamHandle handle, std::function<void()> run, CompletionPointer also_after = nullptr) {
  Machine& m = M();
  std::lock_guard lock(m.mutex);
  Stream* stream = Find(handle);
  Operation operation{{}, std::move(run), std::make_shared<Completion>()};
  if (also_after != nullptr) operation.after.push_back(std::move(also_after));
  if (stream == m.legacy) {
    for (Stream* other : m.streams) {
      if (other != stream && other->blocking && other->last != nullptr) operation.after.push_back(other->last);
    }
  } else if (stream->blocking && m.legacy->last != nullptr) {
    operation.after.push_back(m.legacy->last);
  }
  CompletionPointer completion = stream->last = operation.completion;
  stream->queue.push_back(std::move(operation));
  m.changed.notify_all();
  return completion;
}

void Await(const CompletionPointer& completion) {
  std::unique_lock lock(M().mutex);
  M().changed.wait(lock, [&] { return completion == nullptr || completion->done; });
}

bool IsPinned(const void* pointer) {
  std::lock_guard lock(M().mutex);
  auto it = M().pinned.upper_bound(static_cast<const std::byte*>(pointer));
  if (it == M().pinned.begin()) return false;
  --it;
  return static_cast<const std::byte*>(pointer) < it->first + it->second;
}

bool IsMapped(DevicePointer address, size_t bytes) {
  std::lock_guard lock(M().mutex);
  while (bytes > 0) {
    auto it = M().mapped.upper_bound(address);
    if (it == M().mapped.begin()) return false;
    --it;
    if (address >= it->first + it->second) return false;
    const size_t here = std::min<size_t>(bytes, it->first + it->second - address);
    address += here;
    bytes -= here;
  }
  return true;
}

// Whether the stream is captured, and so takes `run` for later.
bool Record(StreamHandle handle, const std::function<void()>& run) {
  std::lock_guard lock(M().mutex);
  Stream* stream = Find(handle);
  if (stream->captured) stream->recorded.push_back(run);
  return stream->captured;
}

bool BeginRecording(StreamHandle handle) {
  std::lock_guard lock(M().mutex);
  Stream* stream = Find(handle);
  return stream != M().legacy && !std::exchange(stream->captured, true);
}

bool EndRecording(StreamHandle handle, std::vector<std::function<void()>>* recorded) {
  std::lock_guard lock(M().mutex);
  Stream* stream = Find(handle);
  *recorded = std::exchange(stream->recorded, {});
  return std::exchange(stream->captured, false);
}

Result Queue(StreamHandle stream, bool asynchronous, std::function<void()> run) {
  if (M().sticky != 0) return M().sticky;
  if (Record(stream, run)) return 0;
  CompletionPointer completion = Enqueue(stream, std::move(run));
  if (!asynchronous) Await(completion);
  return 0;
}

template <typename T>
Result FillRows(DevicePointer to, size_t pitch, T value, size_t width, size_t height, StreamHandle stream) {
  if (width == 0 || height == 0) return 0;
  const size_t span = (height - 1) * (height > 1 ? pitch : 0) + width * sizeof(T);
  if (to % sizeof(T) != 0 || !IsMapped(to, span)) return kInvalidValue;
  return Queue(stream, true, [=] {
    for (size_t y = 0; y < height; ++y) {
      std::fill_n(reinterpret_cast<T*>(to + y * pitch), width, value);
    }
  });
}

struct Module {
  uint32_t symbol[16] = {7};
};
const char* const kKernels[] = {"add_one", "fault", "say"};

// add_one's parameters; the guarded kernel's begin with `begin`.
struct AddOne {
  uint64_t data = 0;
  uint64_t n = 0;  // 32 bits and padding
  uint64_t begin = 0, size = ~uint64_t{0};
  uint64_t fuel = 0, violation = 0;
};
constexpr size_t kPlainBytes = 12;

void Run(const AddOne& kernel) {
  for (uint64_t i = 0; i < kernel.n; ++i) {
    const uint64_t at = kernel.data + 4 * i;
    const bool inside = at - kernel.begin < kernel.size;
    ++*reinterpret_cast<uint32_t*>(inside ? at : kernel.violation);
  }
}

std::function<void()> KernelAction(FunctionHandle function, void** extra) {
  std::vector<std::byte> parameters;
  if (extra != nullptr) {
    if (extra[0] != kLaunchBufferPointer || extra[2] != kLaunchBufferSize || extra[4] != kLaunchEnd) return nullptr;
    const auto* bytes = static_cast<const std::byte*>(extra[1]);
    parameters.assign(bytes, bytes + *static_cast<size_t*>(extra[3]));
  }
  const auto kernel = reinterpret_cast<const char* const*>(function) - kKernels;
  if (kernel == 0) {
    AddOne add_one;
    if (parameters.size() != kPlainBytes && parameters.size() != sizeof(add_one)) return nullptr;
    std::memcpy(&add_one, parameters.data(), parameters.size());
    return [add_one] { Run(add_one); };
  }
  if (kernel == 1) return [] { M().sticky = kIllegalAddress; };
  return [] { std::printf("kernel speaking\n"); };
}

std::function<void()> CopyAction(const Copy3D& given) {
  Copy3D c = given;
  if (c.src_type == kMemoryTypeArray) {
    c.src_device = reinterpret_cast<DevicePointer>(ArrayBytes(c.src_array, c.src_z, &c.src_pitch, &c.src_height));
  }
  if (c.dst_type == kMemoryTypeArray) {
    c.dst_device = reinterpret_cast<DevicePointer>(ArrayBytes(c.dst_array, c.dst_z, &c.dst_pitch, &c.dst_height));
  }
  if (c.width > c.src_pitch || c.width > c.dst_pitch || c.src_height < c.height || c.dst_height < c.height) {
    return nullptr;
  }
  const bool from_host = c.src_type == kMemoryTypeHost, to_host = c.dst_type == kMemoryTypeHost;
  auto* from = from_host ? static_cast<const std::byte*>(c.src_host) : reinterpret_cast<const std::byte*>(c.src_device);
  auto* to = to_host ? static_cast<std::byte*>(c.dst_host) : reinterpret_cast<std::byte*>(c.dst_device);
  return [=] {
    for (size_t z = 0; z < c.depth; ++z) {
      for (size_t y = 0; y < c.height; ++y) {
        std::memcpy(to + (z * c.dst_height + y) * c.dst_pitch, from + (z * c.src_height + y) * c.src_pitch, c.width);
      }
    }
  };
}

Result Sticky() { return M().sticky; }

}  // namespace wharf::device::cuda::fake

using namespace wharf::device::cuda::fake;
using namespace wharf::device::cuda;

FAKE cuGetExportTable(const void**, const void*) { return kNotFound; }
FAKE cuInit(unsigned) { return 0; }
FAKE cuDriverGetVersion(int* version) { return *version = 13000, 0; }
FAKE cuDeviceGetCount(int* count) { return *count = 1, 0; }
FAKE cuDeviceGet(int* device, int ordinal) { return *device = ordinal, ordinal == 0 ? 0 : kInvalidValue; }
FAKE cuDeviceGetName(char* name, int size, int) { return std::snprintf(name, size, "Fake GPU"), 0; }
FAKE cuDeviceTotalMem_v2(size_t* bytes, int) { return *bytes = kMemory, 0; }
FAKE cuDeviceGetAttribute(int* value, DeviceAttribute attribute, int) {
  switch (attribute) {
    case DeviceAttribute::kVirtualMemory:
      *value = 1;
      return 0;
    case DeviceAttribute::kComputeMajor:
      *value = 9;
      return 0;
    case DeviceAttribute::kMaxThreadsPerBlock:
      *value = 1024;
      return 0;
    case DeviceAttribute::kMultiprocessors:
      *value = 4;
      return 0;
    default:
      return kInvalidValue;
  }
}
FAKE cuDeviceGetUuid_v2(Uuid* uuid, int) { return uuid->bytes[0] = 42, 0; }
FAKE cuCtxCreate_v2(ContextHandle* context, unsigned, int) {
  M().sticky = 0;
  if (M().contexts++ == 0) M().legacy = NewStream(true);
  *context = reinterpret_cast<ContextHandle>(&M());
  return 0;
}
FAKE cuCtxDestroy_v2(ContextHandle) {
  if (--M().contexts > 0) return 0;
  EndStream(std::exchange(M().legacy, nullptr));
  return 0;
}
FAKE cuCtxSetCurrent(ContextHandle) { return 0; }
FAKE cuCtxSynchronize() {
  std::vector<CompletionPointer> completions;
  {
    std::lock_guard lock(M().mutex);
    for (Stream* stream : M().streams) completions.push_back(stream->last);
  }
  for (const CompletionPointer& completion : completions) Await(completion);
  return M().sticky;
}
FAKE cuGetErrorName(Result, const char** name) { return *name = "CUDA_ERROR_FAKE", 0; }
FAKE cuGetErrorString(Result, const char** words) { return *words = "as the fake driver says", 0; }

FAKE cuMemAddressReserve(DevicePointer* address, size_t size, size_t alignment, DevicePointer, unsigned long long) {
  void* memory = mmap(nullptr, size + alignment, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return kOutOfMemory;
  *address = (reinterpret_cast<DevicePointer>(memory) + alignment - 1) / alignment * alignment;
  return 0;
}
FAKE cuMemAddressFree(DevicePointer address, size_t size) {
  munmap(reinterpret_cast<void*>(address), size);
  return 0;
}
FAKE cuMemGetAllocationGranularity(size_t* bytes, const AllocationProperties*, int) { return *bytes = kGranularity, 0; }
FAKE cuMemCreate(AllocationHandle* handle, size_t size, const AllocationProperties*, unsigned long long) {
  std::lock_guard lock(M().mutex);
  if (size % kGranularity != 0) return kInvalidValue;
  if (M().allocated + size > kMemory) return kOutOfMemory;
  M().allocated += size;
  M().allocations[*handle = ++M().last_allocation] = size;
  return 0;
}
FAKE cuMemRelease(AllocationHandle handle) {
  std::lock_guard lock(M().mutex);
  const auto it = M().allocations.find(handle);
  if (it == M().allocations.end()) return kInvalidHandle;
  M().allocated -= it->second;
  M().allocations.erase(it);
  return 0;
}
FAKE cuMemMap(DevicePointer address, size_t size, size_t, AllocationHandle, unsigned long long) {
  std::lock_guard lock(M().mutex);
  return M().mapped.emplace(address, size).second ? 0 : kInvalidValue;
}
FAKE cuMemSetAccess(DevicePointer address, size_t size, const AccessDescriptor*, size_t) {
  return mprotect(reinterpret_cast<void*>(address), size, PROT_READ | PROT_WRITE) == 0 ? 0 : kInvalidValue;
}
FAKE cuMemUnmap(DevicePointer address, size_t size) {
  std::lock_guard lock(M().mutex);
  if (M().mapped.erase(address) == 0) return kInvalidValue;
  mmap(reinterpret_cast<void*>(address), size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
       0);
  return 0;
}
FAKE cuMemHostAlloc(void** pointer, size_t size, unsigned) {
  std::lock_guard lock(M().mutex);
  auto* bytes = new std::byte[size];
  M().pinned[bytes] = size;
  *pointer = bytes;
  return 0;
}
FAKE cuMemFreeHost(void* pointer) {
  std::lock_guard lock(M().mutex);
  auto* bytes = static_cast<std::byte*>(pointer);
  if (M().pinned.erase(bytes) == 0) return kInvalidValue;
  delete[] bytes;
  return 0;
}

FAKE cuMemcpyHtoDAsync_v2(DevicePointer to, const void* from, size_t size, StreamHandle stream) {
  if (!IsMapped(to, size)) return kInvalidValue;
  return Queue(stream, IsPinned(from), [=] { std::memcpy(reinterpret_cast<void*>(to), from, size); });
}
FAKE cuMemcpyDtoHAsync_v2(void* to, DevicePointer from, size_t size, StreamHandle stream) {
  if (!IsMapped(from, size)) return kInvalidValue;
  return Queue(stream, IsPinned(to), [=] { std::memcpy(to, reinterpret_cast<void*>(from), size); });
}
FAKE cuMemcpyDtoDAsync_v2(DevicePointer to, DevicePointer from, size_t size, StreamHandle stream) {
  if (!IsMapped(to, size) || !IsMapped(from, size)) return kInvalidValue;
  return Queue(stream, true, [=] { std::memmove(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), size); });
}
FAKE cuMemcpy3DAsync_v2(const Copy3D* copy, StreamHandle stream) {
  std::function<void()> action = CopyAction(*copy);
  if (action == nullptr) return kInvalidValue;
  const bool asynchronous = (copy->src_type != kMemoryTypeHost || IsPinned(copy->src_host)) &&
                            (copy->dst_type != kMemoryTypeHost || IsPinned(copy->dst_host));
  return Queue(stream, asynchronous, std::move(action));
}
FAKE cuMemsetD8Async(DevicePointer to, unsigned char v, size_t n, StreamHandle s) {
  return FillRows(to, 0, v, n, 1, s);
}
FAKE cuMemsetD16Async(DevicePointer to, unsigned short v, size_t n, StreamHandle s) {
  return FillRows(to, 0, v, n, 1, s);
}
FAKE cuMemsetD32Async(DevicePointer to, unsigned v, size_t n, StreamHandle s) { return FillRows(to, 0, v, n, 1, s); }
FAKE cuMemsetD2D8Async(DevicePointer to, size_t pitch, unsigned char v, size_t w, size_t h, StreamHandle s) {
  return FillRows(to, pitch, v, w, h, s);
}
FAKE cuMemsetD2D16Async(DevicePointer to, size_t pitch, unsigned short v, size_t w, size_t h, StreamHandle s) {
  return FillRows(to, pitch, v, w, h, s);
}
FAKE cuMemsetD2D32Async(DevicePointer to, size_t pitch, unsigned v, size_t w, size_t h, StreamHandle s) {
  return FillRows(to, pitch, v, w, h, s);
}

FAKE cuStreamCreateWithPriority(StreamHandle* stream, unsigned flags, int) {
  *stream = reinterpret_cast<StreamHandle>(NewStream((flags & kStreamNonBlocking) == 0));
  return 0;
}
FAKE cuStreamDestroy_v2(StreamHandle stream) {
  EndStream(Find(stream));
  return 0;
}
// For fakes of the vendor's libraries: true if the stream is captured and has recorded what they would do.
extern "C" __attribute__((visibility("default"))) bool FakeDriverRecord(StreamHandle stream,
                                                                        const std::function<void()>& run) {
  return Record(stream, run);
}
FAKE cuStreamQuery(StreamHandle handle) {
  if (M().sticky != 0) return M().sticky;
  std::lock_guard lock(M().mutex);
  const Stream* stream = Find(handle);
  return stream->last == nullptr || stream->last->done ? 0 : kNotReady;
}
FAKE cuStreamWaitEvent(StreamHandle stream, EventHandle event, unsigned) {
  if (M().sticky != 0) return M().sticky;
  if (CompletionPointer completion = reinterpret_cast<Event*>(event)->completion; completion != nullptr) {
    Enqueue(stream, nullptr, completion);
  }
  return 0;
}
FAKE cuEventCreate(EventHandle* event, unsigned) {
  *event = reinterpret_cast<EventHandle>(new Event);
  return 0;
}
FAKE cuEventDestroy_v2(EventHandle event) {
  delete reinterpret_cast<Event*>(event);
  return 0;
}
FAKE cuEventRecord(EventHandle event, StreamHandle stream) {
  if (M().sticky != 0) return M().sticky;
  reinterpret_cast<Event*>(event)->completion = Enqueue(stream, nullptr);
  return 0;
}
FAKE cuEventQuery(EventHandle event) {
  if (M().sticky != 0) return M().sticky;
  std::lock_guard lock(M().mutex);
  const CompletionPointer& completion = reinterpret_cast<Event*>(event)->completion;
  return completion == nullptr || completion->done ? 0 : kNotReady;
}
FAKE cuEventSynchronize(EventHandle event) {
  Await(reinterpret_cast<Event*>(event)->completion);
  return M().sticky;
}
FAKE cuEventElapsedTime(float* milliseconds, EventHandle begin, EventHandle end) {
  std::lock_guard lock(M().mutex);
  const CompletionPointer& b = reinterpret_cast<Event*>(begin)->completion;
  const CompletionPointer& e = reinterpret_cast<Event*>(end)->completion;
  if (b == nullptr || e == nullptr) return kInvalidHandle;
  if (!b->done || !e->done) return kNotReady;
  *milliseconds = std::chrono::duration<float, std::milli>(e->when - b->when).count();
  return 0;
}

FAKE cuModuleLoadData(ModuleHandle* module, const void* image) {
  if (std::strncmp(static_cast<const char*>(image), ".version", 8) != 0) return kInvalidImage;
  *module = reinterpret_cast<ModuleHandle>(new Module);
  return 0;
}
FAKE cuModuleUnload(ModuleHandle module) {
  {
    std::lock_guard lock(M().mutex);
    M().mapped.erase(reinterpret_cast<DevicePointer>(reinterpret_cast<Module*>(module)->symbol));
  }
  delete reinterpret_cast<Module*>(module);
  return 0;
}
FAKE cuModuleGetFunction(FunctionHandle* function, ModuleHandle, const char* name) {
  for (const char* const& kernel : kKernels) {
    if (std::strcmp(kernel, name) == 0) {
      *function = reinterpret_cast<FunctionHandle>(const_cast<const char**>(&kernel));
      return 0;
    }
  }
  return kNotFound;
}
FAKE cuModuleGetGlobal_v2(DevicePointer* address, size_t* size, ModuleHandle handle, const char* name) {
  if (std::strcmp(name, "answer") != 0) return kNotFound;
  auto* module = reinterpret_cast<Module*>(handle);
  *address = reinterpret_cast<DevicePointer>(module->symbol);
  *size = sizeof(module->symbol);
  std::lock_guard lock(M().mutex);
  M().mapped[*address] = *size;
  return 0;
}
FAKE cuFuncGetAttribute(int* value, FunctionAttribute attribute, FunctionHandle) {
  *value = attribute == FunctionAttribute::kMaxThreadsPerBlock ? 512
           : attribute == FunctionAttribute::kMaxDynamicShared ? 48 << 10
                                                               : 0;
  return 0;
}
FAKE cuFuncSetAttribute(FunctionHandle, FunctionAttribute, int) { return 0; }
FAKE cuFuncGetParamInfo(FunctionHandle function, size_t index, size_t* offset, size_t* size) {
  if (reinterpret_cast<const char* const*>(function) != &kKernels[0] || index > 1) return kInvalidValue;
  *offset = index == 0 ? 0 : 8;
  *size = index == 0 ? 8 : 4;
  return 0;
}
FAKE cuLaunchKernel(FunctionHandle function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                    StreamHandle stream, void**, void** extra) {
  std::function<void()> action = KernelAction(function, extra);
  return action == nullptr ? kInvalidValue : Queue(stream, true, std::move(action));
}
// Cooperative launches only; this GPU holds eight blocks at once.
FAKE cuLaunchKernelEx(const LaunchConfiguration* config, FunctionHandle function, void**, void** extra) {
  constexpr unsigned kBlocksAtOnce = 8;
  constexpr Result kTooLarge = 720;
  if (config->attribute_count != 1 || config->attributes->id != LaunchAttribute::kCooperative ||
      config->attributes->cooperative != 1) {
    return kInvalidValue;
  }
  if (config->grid_x * config->grid_y * config->grid_z > kBlocksAtOnce) return kTooLarge;
  std::function<void()> action = KernelAction(function, extra);
  return action == nullptr ? kInvalidValue : Queue(config->stream, true, std::move(action));
}
FAKE cuLaunchHostFunc(StreamHandle stream, void (*function)(void*), void* argument) {
  return Queue(stream, true, [=] { function(argument); });
}
