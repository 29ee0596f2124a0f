// Primitives of a hostile client: what CheckPrimitive accepts touches the memory that OperandsOf names and nothing
// else, and computing it on the software device harms nobody.
//
// The first byte picks the operation. The rest changes the bytes of a good one on the wire, by exclusive or; what is
// longer is appended.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

#include "wharf/device/dnn_graph_testing.h"
#include "wharf/device/dnn_norm.h"
#include "wharf/device/primitive_testing.h"
#include "wharf/device/soft/primitives/primitives.h"
#include "wharf/offload/wire_codec.h"

namespace wharf::offload {
namespace {

using device::DeviceAddress;
using device::Packed;

constexpr size_t kMemory = 1 << 16;
constexpr int64_t kMostWork = 1 << 16;

void Require(bool condition) {
  if (!condition) std::abort();
}

// The device's memory: at a multiple of its size, so that an input means the same in every process.
std::byte* Memory() {
  static std::byte* const memory = static_cast<std::byte*>(std::aligned_alloc(kMemory, kMemory));
  return memory;
}
DeviceAddress At(size_t offset) { return reinterpret_cast<DeviceAddress>(Memory()) + offset; }
bool InMemory(DeviceAddress address, uint64_t bytes) {
  return address >= At(0) && bytes <= kMemory && address - At(0) <= kMemory - bytes;
}

void Run(const device::Primitive& primitive) {
  if (!device::CheckPrimitive(primitive, InMemory).ok()) return;
  // Of ragged tensors of graphs only the beginning need be there.
  const bool is_graph = std::holds_alternative<device::DnnGraph>(primitive);
  bool behind_first_result = false;
  for (const device::PrimitiveOperand& operand : device::OperandsOf(primitive)) {
    Require(InMemory(operand.address, is_graph ? 1 : operand.bytes));
    Require(operand.read || operand.written);
    Require(operand.written || !behind_first_result);
    behind_first_result = operand.written;
  }
  Require(device::NameOf(primitive) != nullptr);
  const int64_t work = device::WorkOf(primitive);
  Require(work >= 0);
  if (work > kMostWork || !device::soft::CheckLimits(primitive).ok()) return;
  std::memset(Memory(), 0x3f, kMemory);  // floats of 0.75
  device::soft::RunPrimitive(primitive);
}

template <RunsPrimitive Op>
void RunChanged(const Op& good, std::span<const std::byte> changes) {
  std::vector<std::byte> bytes = Encode(good);
  const size_t both = std::min(bytes.size(), changes.size());
  for (size_t i = 0; i < both; ++i) bytes[i] ^= changes[i];
  bytes.insert(bytes.end(), changes.begin() + static_cast<ptrdiff_t>(both), changes.end());
  if (const auto op = Decode<Op>(bytes); op.ok()) Run(op->primitive);
}

device::Convolution GoodConvolution() {
  device::Convolution c;
  c.x = Packed({2, 4, 1, 5, 5}, At(0));
  c.filter = Packed({6, 2, 1, 3, 3}, At(0x2000));
  c.y = c.added = Packed({2, 6, 1, 5, 5}, At(0x4000));
  c.padding = {0, 1, 1};
  c.groups = 2;
  c.bias = At(0x8000);
  return c;
}
device::Pooling GoodPooling() {
  device::Pooling p;
  p.x = Packed({2, 3, 1, 6, 6}, At(0)), p.y = Packed({2, 3, 1, 3, 3}, At(0x4000));
  p.window = p.stride = {1, 2, 2};
  return p;
}
device::BatchNorm GoodNorm() {
  device::BatchNorm n;
  n.x = Packed({2, 3, 1, 4, 4}, At(0)), n.y = Packed({2, 3, 1, 4, 4}, At(0x2000));
  n.scale = Packed({1, 3, 1, 1, 1}, At(0x4000));
  n.shift = At(0x5000), n.mean = At(0x6000), n.variance = At(0x7000), n.epsilon = 1e-5;
  return n;
}
device::Softmax GoodSoftmax() {
  device::Softmax s;
  s.x = Packed({2, 5, 1, 1, 3}, At(0)), s.y = Packed({2, 5, 1, 1, 3}, At(0x1000));
  return s;
}
device::Pointwise GoodPointwise() {
  device::Pointwise p;
  p.kind = device::PointwiseKind::kAdd;
  p.a = Packed({2, 3, 1, 4, 4}, At(0)), p.b = Packed({1, 3, 1, 1, 1}, At(0x1000));
  p.y = Packed({2, 3, 1, 4, 4}, At(0x2000));
  return p;
}
device::Recurrent GoodRecurrent() {
  device::Recurrent r;
  r.cell = device::RecurrentCell::kLstm;
  r.inputs = 3, r.hidden = r.outputs = 4, r.layers = 2, r.steps = 3, r.batch = 2;
  r.lengths = {3, 2};
  r.x = At(0), r.y = At(0x1000), r.weights = At(0x2000);
  r.hx = At(0x8000), r.hy = At(0x9000), r.cx = At(0xa000), r.cy = At(0xb000);
  return r;
}
device::Fourier GoodFourier() {
  device::Fourier f;
  f.sizes = {2, 3, 4};
  f.batch = 2;
  f.in = {At(0), 3, 4, 1, 24}, f.out = {At(0x4000), 3, 4, 1, 24};
  return f;
}
device::Lapack GoodLapack() {
  device::Lapack l;
  l.routine = device::LapackRoutine::kGetrs;
  l.m = l.n = l.k = 3, l.batch = 2;
  for (size_t i = 0; i < l.operands.size(); ++i) l.operands[i] = {At(i * 0x1000), 3, 9};
  l.info = At(0x8000);
  return l;
}
device::DnnGraph GoodNormGraph() {
  device::DnnNorm n;
  n.x = Packed({2, 3, 1, 4, 5}, At(0)), n.y = Packed({2, 3, 1, 4, 5}, At(0x1000));
  n.scale = Packed({1, 3, 1, 1, 1}, At(0x2000));
  n.shift = At(0x3000), n.mean = At(0x4000), n.variance = At(0x5000);
  n.saved_mean = At(0x6000), n.saved_inverse = At(0x7000);
  return device::GraphOf(n);
}

void RunOne(uint8_t which, std::span<const std::byte> changes) {
  switch (which % 10) {
    case 0:
      return RunChanged(RunOf(0, GoodConvolution()), changes);
    case 1:
      return RunChanged(RunOf(0, GoodPooling()), changes);
    case 2:
      return RunChanged(RunOf(0, GoodNorm()), changes);
    case 3:
      return RunChanged(RunOf(0, GoodSoftmax()), changes);
    case 4:
      return RunChanged(RunOf(0, GoodPointwise()), changes);
    case 5:
      return RunChanged(RunOf(0, GoodRecurrent()), changes);
    case 6:
      return RunChanged(RunOf(0, GoodFourier()), changes);
    case 7:
      return RunChanged(RunOf(0, GoodLapack()), changes);
    case 8:
      return RunChanged(RunOf(0, device::ScaledProduct(At(0), At(0x1000), At(0x2000), 2)), changes);
    default:
      return RunChanged(RunOf(0, GoodNormGraph()), changes);
  }
}

}  // namespace
}  // namespace wharf::offload

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 0) wharf::offload::RunOne(data[0], std::as_bytes(std::span(data, size)).subspan(1));
  return 0;
}
