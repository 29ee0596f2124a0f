// Device: one GPU-like interface with two drivers, device/soft (PTX compiled to this CPU) and device/cuda (a real GPU).
// One Device object serves one client session and owns everything that session made; destroying it frees all of it.
//
// Names and addresses are the caller's. Streams, events, modules and functions are numbers the caller picks; device
// memory is one reserved address range (Arena) inside which the caller places its allocations with Map. So a remote
// client needs no answer to go on. Handles of textures and surfaces are the exception: kernels use them, and a GPU's
// driver chooses them.
//
// Threading: methods are called from one thread at a time. Nothing here waits for the device: work is queued in stream
// order and completion is reported through callbacks, which run on a thread of the device, or on the caller's before
// the call returns if there is nothing to wait for; they must not block or call back in.
//
// Failure: a returned status is about the call itself (bad handle, bad configuration) and carries a CudaError. A fault
// of work that was queued before is latched: Fault() returns it from then on, and callbacks receive it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "wharf/base/clock.h"
#include "wharf/base/status.h"
#include "wharf/device/cuda_error.h"
#include "wharf/device/element_type.h"
#include "wharf/device/primitive.h"

namespace wharf::device {

class Share;
struct ImageDescription;    // texture.h
struct TextureDescription;  // texture.h

using StreamId = uint64_t;
using EventId = uint64_t;
using ModuleId = uint64_t;
using FunctionId = uint64_t;
struct TensorMapDescription;  // tensor_map.h
using TensorMap = std::array<uint8_t, 128>;

using TextureHandle = uint64_t;  // of a texture or a surface; no texture and surface have the same

// The legacy default stream: exists from the start. Others are made with CreateStream, ids > 2.
inline constexpr StreamId kDefaultStream = 0;

struct Dim3 {
  uint32_t x = 1, y = 1, z = 1;
  uint64_t Count() const { return uint64_t{x} * y * z; }
  friend bool operator==(const Dim3&, const Dim3&) = default;
};

// What device queries answer from; sent to the client once, at the handshake.
struct DeviceProperties {
  std::string name;
  std::string driver;  // "soft" or "cuda"
  int32_t compute_major = 0, compute_minor = 0;
  uint64_t total_memory = 0;  // bytes, after quota
  int32_t multiprocessors = 0;
  int32_t clock_khz = 0, memory_clock_khz = 0, memory_bus_bits = 0;
  int32_t warp_size = 32;
  int32_t max_threads_per_block = 1024;
  int32_t max_threads_per_multiprocessor = 1024;
  int32_t max_blocks_per_multiprocessor = 16;
  int32_t registers_per_block = 65536, registers_per_multiprocessor = 65536;
  uint32_t shared_per_block = 48 << 10, shared_per_block_optin = 64 << 10, shared_per_multiprocessor = 64 << 10;
  uint32_t constant_memory = 64 << 10;
  int32_t l2_bytes = 0;
  std::array<uint32_t, 3> max_block{1024, 1024, 64};
  std::array<uint32_t, 3> max_grid{0x7fffffff, 65535, 65535};
  std::array<uint8_t, 16> uuid{};
};

// The reserved virtual range. Allocations start and end on multiples of `granularity` as far as Map is concerned.
// `guarded`: the driver wants unmapped space between allocations so that overruns fault (soft); otherwise small
// allocations may share a granule (cuda: 2 MiB).
struct Arena {
  DeviceAddress base = 0;
  uint64_t size = 0;
  uint64_t granularity = 0;
  bool guarded = false;
};

struct LaunchConfig {
  Dim3 grid, block;
  uint32_t shared_bytes = 0;  // dynamic shared memory
  // All blocks are on the device at once and may wait for each other (%envreg1 and 2 hold the address of CUDA's grid
  // barrier); kCooperativeLaunchTooLarge if they do not fit (occupancy.h).
  bool cooperative = false;
};

// One kernel parameter: offset and size in the parameter buffer, bytes.
struct ParameterLayout {
  uint32_t offset = 0, size = 0;
  friend bool operator==(const ParameterLayout&, const ParameterLayout&) = default;
};

struct FunctionAttributes {
  uint32_t static_shared_bytes = 0, const_bytes = 0, local_bytes = 0;
  uint32_t max_threads_per_block = 1024, registers = 32;
  uint32_t max_dynamic_shared_bytes = 48 << 10;
  int32_t ptx_version = 75, binary_version = 75;
  std::vector<ParameterLayout> parameters;
};

struct Symbol {
  DeviceAddress address = 0;
  uint64_t size = 0;
};

// What a kernel may do to memory, known before it runs (ptx/footprint.h says how).
struct Footprint {
  // Which addresses it touches, how often it loops and whether it ends depend only on its parameters and the launch's
  // shape (LaunchConfig). Once a launch has ended without a fault, any other with the same parameters and shape will
  // too, and touch the same addresses, while the memory mapped then stays mapped.
  bool oblivious = false;
  std::string reason;  // why not, for people; "" if it is
  // Only if not oblivious: Device::LaunchGuarded launches it.
  bool guardable = false;
  // Only if oblivious or guardable. Where in the parameter buffer the 64-bit words stand that take part in the
  // addresses it writes and reads; atomic operations do both. Integers that are added to addresses are among them: a
  // word whose value lies in no allocation is no pointer. A pointer stands for its allocation: CUDA leaves undefined
  // what an access beyond that does.
  std::vector<uint32_t> written_parameters, read_parameters;
  // Variables of its module that it names, constants included.
  std::vector<Symbol> written_variables, read_variables;
};

// What a guarded launch may touch, and for how long (ptx/guard.h says how). Each access is checked against the ranges
// of all the parameters that take part in its address (Footprint's): if it is misaligned or in none of them, it is left
// out, a load or an atomic operation giving zero. So a guarded launch writes nowhere but to the ranges of
// Footprint::written_parameters and to `violation`, it does not fault while the ranges are mapped, and it ends if only
// data could keep it from ending.
struct Guard {
  struct Range {
    uint32_t parameter = 0;  // offset in the parameter buffer
    DeviceAddress begin = 0;
    uint64_t size = 0;  // bytes
  };
  // One for a parameter at most. A parameter without one points nowhere; ranges of others mean nothing.
  std::vector<Range> ranges;
  // Four aligned bytes in mapped memory, which become 1 if an access was left out or a thread ended for want of fuel;
  // otherwise they are not touched, and the launch has done what Device::Launch would have done.
  DeviceAddress violation = 0;
  // How often each thread may jump back before it is ended. Counted only in kernels with branches that may depend on
  // data.
  uint64_t fuel = 0;
};

// A box of bytes at `address`: `height` rows of `width` bytes, `row_pitch` apart; `depth` slices, `slice_pitch` apart.
struct Region {
  DeviceAddress address = 0;
  uint64_t row_pitch = 0, slice_pitch = 0;
};
struct Extent {
  uint64_t width = 0, height = 1, depth = 1;  // width in bytes
};

enum class Transpose : uint8_t { kNone, kTranspose, kConjugate };
enum class Epilogue : uint8_t { kNone, kRelu, kGelu };

// C = alpha * op(A) * op(B) + beta * C, column major as in BLAS, `batch` times. D (cublasLt) differs from C only if `d`
// does.
struct Gemm {
  Transpose transpose_a = Transpose::kNone, transpose_b = Transpose::kNone;
  int64_t m = 0, n = 0, k = 0;
  ElementType type_a = ElementType::kF32, type_b = ElementType::kF32, type_c = ElementType::kF32;
  ElementType compute = ElementType::kF32;  // also the type of alpha and beta
  DeviceAddress a = 0, b = 0, c = 0, d = 0;
  int64_t lda = 0, ldb = 0, ldc = 0, ldd = 0;
  int64_t stride_a = 0, stride_b = 0, stride_c = 0, stride_d = 0;  // elements, for batch > 1
  int64_t batch = 1;
  bool pointer_arrays = false;     // a, b, c are device arrays of `batch` pointers (…gemmBatched)
  bool scalars_on_device = false;  // alpha and beta below are device addresses (CUBLAS_POINTER_MODE_DEVICE)
  std::array<double, 2> alpha{1, 0}, beta{0, 0};  // real, imaginary
  DeviceAddress alpha_address = 0, beta_address = 0;
  Epilogue epilogue = Epilogue::kNone;
  DeviceAddress bias = 0;  // 0: none; otherwise m elements of type_c added to every column before the epilogue
};

// Stream-ordered work that needs no data from outside and gives none back.
struct LaunchWork {
  FunctionId function = 0;
  LaunchConfig config;
  std::vector<std::byte> parameters;
};
struct CopyWork {
  Region to, from;
  Extent extent;
};
struct FillWork {
  Region to;
  Extent extent;
  uint32_t value = 0, element_bytes = 1;
};
struct Work {
  StreamId stream = kDefaultStream;
  std::variant<LaunchWork, CopyWork, FillWork, Gemm, Primitive> what;
};

// How far a submission came: its first `queued` elements are queued as if each had been called; `status` is that of the
// one behind them, which is not, like all that follow. OK: all are queued.
struct Submission {
  size_t queued = 0;
  absl::Status status;
};

// A sequence of work made ready once and submitted often: on a GPU, neighbours on one stream that are submitted
// together become one CUDA graph (matrix products stand between two); on the software device names are looked up and
// arguments checked once, and a submission is one entry of its queue. Made by Device::PrepareWork. A call of the device
// like any other as to threads. May be destroyed while its work is queued, but before the device.
class WorkList {
 public:
  virtual ~WorkList() = default;
  virtual size_t size() const = 0;
  // Queues elements [first, first + count), in order, each on its stream. What the elements name is looked up as a
  // call made now would find it. REQUIRES: first + count <= size().
  virtual Submission Submit(size_t first, size_t count) = 0;
  // Replaces an element; what was submitted before keeps the old one. Cheap if only arguments differ. REQUIRES:
  // index < size().
  virtual void Update(size_t index, Work work) = 0;
};

using Done = std::function<void(absl::Status)>;
// Data is owned by the callback; empty on failure.
using DataDone = std::function<void(absl::Status, std::vector<std::byte>)>;

class Device {
 public:
  virtual ~Device() = default;

  virtual const DeviceProperties& Properties() const = 0;
  virtual const device::Arena& Arena() const = 0;

  // --- memory ---
  // Backs [address, address + size) with zeroed memory. Both are multiples of the granularity, inside the arena and not
  // mapped; kOutOfMemory beyond the session's quota.
  virtual absl::Status Map(DeviceAddress address, uint64_t size) = 0;
  // Releases a range that one Map made. Waits, in stream order, for all work queued before.
  virtual absl::Status Unmap(DeviceAddress address) = 0;

  // --- code ---
  // `image`: a fat binary container, PTX text or (cuda only) a cubin. Kernels are compiled at first use.
  virtual absl::Status LoadModule(ModuleId id, std::vector<std::byte> image) = 0;
  virtual absl::Status UnloadModule(ModuleId id) = 0;
  // kNotFound if the module has no such kernel.
  virtual absl::Status DefineFunction(FunctionId id, ModuleId module, const std::string& name) = 0;
  virtual absl::StatusOr<FunctionAttributes> Attributes(FunctionId id) = 0;
  // Opt in to more dynamic shared memory (cudaFuncAttributeMaxDynamicSharedMemorySize).
  virtual absl::Status SetMaxDynamicShared(FunctionId id, uint32_t bytes) = 0;
  // Found at the first call and kept. kInvalidHandle if there is no such function.
  virtual absl::StatusOr<Footprint> FootprintOf(FunctionId id) = 0;
  virtual absl::StatusOr<Symbol> FindSymbol(ModuleId module, const std::string& name) = 0;

  // --- textures and surfaces ---
  // The handle, never 0, is what kernels name it by: a 64-bit value in a parameter, a struct or memory. It is there for
  // all that is launched after the call. The image need not hold anything yet: what a kernel fetches is what the memory
  // has then. It must be mapped when the call is made; if part of it is no more when a kernel gets there, or the handle
  // is none, the kernel faults (kIllegalAddress). kInvalidValue if the description is wrong (CheckTexture) or names
  // memory that is not mapped, kOutOfMemory if there are too many, kNotSupported (kUnimplemented) if this device has no
  // such images: the default, and on a GPU memory that is no array and does not lie as it wants it.
  virtual absl::StatusOr<TextureHandle> CreateTexture(const TextureDescription& texture);
  virtual absl::StatusOr<TextureHandle> CreateSurface(const ImageDescription& image);
  // Waits, as Unmap does, for all work queued before. kInvalidHandle if there is no such texture (surface). Their
  // memory may be unmapped before them.
  virtual absl::Status DestroyTexture(TextureHandle handle);
  virtual absl::Status DestroySurface(TextureHandle handle);

  // As the device's kernels read it; depends on nothing but the description. kInvalidValue if the driver refuses it,
  // kNotSupported if this device has no tensor maps: the default, and GPUs before compute capability 9.0.
  virtual absl::StatusOr<TensorMap> EncodeTensorMap(const TensorMapDescription& description);

  // --- streams and events ---
  virtual absl::Status CreateStream(StreamId id, uint32_t flags, int32_t priority) = 0;
  virtual absl::Status DestroyStream(StreamId id) = 0;
  virtual absl::Status CreateEvent(EventId id, uint32_t flags) = 0;
  virtual absl::Status DestroyEvent(EventId id) = 0;
  virtual absl::Status RecordEvent(EventId event, StreamId stream) = 0;
  virtual absl::Status WaitEvent(StreamId stream, EventId event) = 0;
  // True when all work up to its last record is done; an event never recorded is done.
  virtual absl::StatusOr<bool> EventDone(EventId event) = 0;
  virtual absl::StatusOr<bool> StreamDone(StreamId stream) = 0;
  // Milliseconds between two records; kNotReady if either is not done, kInvalidHandle if either was never recorded.
  virtual absl::StatusOr<float> ElapsedMs(EventId start, EventId end) = 0;

  // --- stream-ordered work ---
  virtual absl::Status CopyToDevice(StreamId stream, Region to, Extent extent, std::vector<std::byte> packed) = 0;
  // `done` gets extent.width * height * depth bytes, packed.
  virtual absl::Status CopyToHost(StreamId stream, Region from, Extent extent, DataDone done) = 0;
  virtual absl::Status CopyOnDevice(StreamId stream, Region to, Region from, Extent extent) = 0;
  // Sets every element of `element_bytes` (1, 2 or 4) in the box to `value`.
  virtual absl::Status Fill(StreamId stream, Region to, Extent extent, uint32_t value, uint32_t element_bytes) = 0;
  virtual absl::Status Launch(StreamId stream, FunctionId function, const LaunchConfig& config,
                              std::vector<std::byte> parameters) = 0;
  // Begins to make a guarded kernel ready, where that takes long. True once LaunchGuarded will not wait for it.
  virtual bool PrepareGuarded(FunctionId) { return true; }
  // The kernel with every access and every loop checked: what Footprint::guardable says can be done. kUnimplemented if
  // it cannot. Compiled at first use.
  virtual absl::Status LaunchGuarded(StreamId stream, FunctionId function, const LaunchConfig& config,
                                     std::vector<std::byte> parameters, const Guard& guard);
  virtual absl::Status RunGemm(StreamId stream, const Gemm& gemm) = 0;
  // What CheckPrimitive says, or kNotSupported, also for what a device's library does not have.
  virtual absl::Status RunPrimitive(StreamId stream, const Primitive& primitive) = 0;
  // The call that `work` stands for.
  absl::Status Run(const Work& work);
  // Nothing is queued yet, and errors in the work show when it is submitted. The default makes plain calls.
  virtual std::unique_ptr<WorkList> PrepareWork(std::vector<Work> work);
  // Runs `done` when all work queued on `stream` so far has finished (or failed).
  virtual absl::Status Notify(StreamId stream, Done done) = 0;
  // The same over all streams.
  virtual absl::Status NotifyAll(Done done) = 0;
  virtual absl::Status NotifyEvent(EventId event, Done done) = 0;
  // Runs `call` on a device thread in stream order (cudaLaunchHostFunc); later work on the stream waits until it
  // returns. Unlike the callbacks above it may block.
  virtual absl::Status HostCall(StreamId stream, std::function<void()> call) = 0;

  // --- observation ---
  // The latched fault, OK if none. Thread-safe.
  virtual absl::Status Fault() const = 0;
  // The first error, since the last time, of calls that returned before it was known; OK if none. Thread-safe.
  virtual absl::Status TakeDeferredError() { return absl::OkStatus(); }
  // Text printed by kernels (printf), in order of completion; called from a device thread.
  virtual void SetOutput(std::function<void(std::string)> output) = 0;
  // Total time spent executing kernels, copies and library calls. Thread-safe.
  virtual Nanoseconds BusyTime() const = 0;
  // Kernels this device compiled itself (not found in a cache). Thread-safe.
  virtual uint64_t KernelsCompiled() const { return 0; }
  // What there is to say of its work beside this, as a JSON object; "" if nothing. May wait.
  virtual std::string Report() { return {}; }
};

struct DeviceOptions {
  uint64_t memory_quota = uint64_t{2} << 30;  // bytes one session may map
  DeviceAddress arena_base = 0;               // where the arena should begin if it can, 0: no matter
  int threads = 0;                            // soft: CPU threads that run blocks, 0 = all cores
  int compute_capability = 75;                // soft: what it says it has, major * 10 + minor; 75, 80, 86, 89
  std::string cache_directory;                // soft: compiled kernels, "" = no disk cache
  Nanoseconds kernel_timeout{0};              // soft: how long a kernel may run, 0 = any
  Share* share = nullptr;                     // soft: asked before work, if set; outlives the device (share.h)
};

// The software device; always available.
absl::StatusOr<std::unique_ptr<Device>> MakeSoftDevice(const DeviceOptions& options);
// Reads what software devices want to know of the machine. Afterwards none opens a file but in its cache: for processes
// that soon cannot.
void ReadMachineForSoftDevices();
// A real GPU. kUnavailable, with the reason, if libcuda.so.1 or a GPU is missing.
absl::StatusOr<std::unique_ptr<Device>> MakeCudaDevice(const DeviceOptions& options);

}  // namespace wharf::device
