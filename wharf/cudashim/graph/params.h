// What a node of a CUDA graph does, in the terms of neither API. All of it is copied when the node is made.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <variant>
#include <vector>

#include "wharf/device/device.h"

namespace wharf::cudagraph {

class Graph;

using StreamId = device::StreamId;
using EventId = device::EventId;

// The numbers of both APIs.
enum class NodeType : uint8_t {
  kKernel = 0,
  kCopy = 1,
  kFill = 2,
  kHost = 3,
  kChild = 4,
  kEmpty = 5,
  kWait = 6,
  kRecord = 7,
  kAllocation = 10,
  kFree = 11,
  kConditional = 13
};

// An attribute's value as the API gives it: a union of this size.
using AttributeValue = std::array<std::byte, 64>;

struct KernelParams {
  void* function = nullptr;  // the client's
  device::LaunchConfig config;
  std::vector<std::byte> parameters;  // packed
  std::vector<uint32_t> offsets;      // where each begins
  std::map<int, AttributeValue> attributes;

  // Parameters that are set anew leave a node its attributes.
  void KeepAttributesOf(const KernelParams& before) {
    attributes = before.attributes;
    config.cooperative = before.config.cooperative;
  }
};

// A call of cuBLAS that was captured. To programs it is a kernel whose function is not theirs.
struct GemmParams {
  device::Gemm gemm;
};

// Likewise one of cuDNN, or of cuFFT.
struct PrimitiveParams {
  device::Primitive primitive;
};

// One side of a copy: the box, and how the API described it, which is what queries of the node return.
struct CopySide {
  device::Region box;
  void* array = nullptr;
  uint64_t address = 0, pitch = 0, height = 0;  // not of an array
  uint64_t x = 0, y = 0, z = 0;                 // where the box begins; x in bytes
  bool on_host = false;                         // it may lie in the program's memory
};
struct CopyParams {
  CopySide to, from;
  device::Extent extent;
  int kind = 4;  // cudaMemcpyKind
};

struct FillParams {
  device::Region to;
  device::Extent extent;
  uint32_t value = 0, element_bytes = 1;
};

struct HostParams {
  void (*function)(void* user) = nullptr;
  void* user = nullptr;
};

struct ChildParams {
  std::shared_ptr<Graph> graph;  // the node's own
};

// What conditional nodes look at: a word of device memory, whose address is the handle. Kernels store to it.
struct Condition {
  std::shared_ptr<struct GraphMemory> word;
  uint32_t initial = 0;
  bool assigns = false;  // a launch begins with `initial`
};
// The numbers of both APIs.
enum class Branching : int { kIf = 0, kWhile = 1, kSwitch = 2 };
struct ConditionalParams {
  std::shared_ptr<const Condition> condition;
  Branching branching = Branching::kIf;
  std::vector<std::shared_ptr<Graph>> bodies;  // the node's own; at least one
  std::vector<Graph*> handles;                 // the same, as programs get them

  // The body that comes next, by the condition's value; bodies.size() or more if none does.
  size_t Choose(uint32_t value) const { return branching == Branching::kSwitch ? value : value != 0 ? 0 : 1; }
};

struct EmptyParams {};
struct RecordParams {
  EventId event = 0;
};
struct WaitParams {
  EventId event = 0;
};

// Memory of a graph. Its address is there as long as the graph or an instance of it is, and beyond that as long as a
// launch has allocated it and nothing has freed it.
struct GraphMemory {
  uint64_t address = 0, size = 0;
  std::atomic<bool> allocated{false};  // by a launch, in the order of launches
};
struct AllocationParams {
  std::shared_ptr<GraphMemory> memory;
};
struct FreeParams {
  uint64_t address = 0;
};

using Params = std::variant<KernelParams, GemmParams, CopyParams, FillParams, HostParams, ChildParams, EmptyParams,
                            RecordParams, WaitParams, AllocationParams, FreeParams, PrimitiveParams, ConditionalParams>;

NodeType TypeOf(const Params& params);

}  // namespace wharf::cudagraph
