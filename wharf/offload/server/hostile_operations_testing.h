// HostileOperations: operations with any numbers in them, for tests. Most get somewhere, so that there is something to
// go wrong with: what is refused at its first number tests nothing behind that.
#pragma once

#include <algorithm>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "wharf/base/random.h"
#include "wharf/device/device.h"
#include "wharf/device/dnn_graph_testing.h"
#include "wharf/device/dnn_norm.h"
#include "wharf/offload/wire.h"

namespace wharf::offload {

using HostileRandom = BasicRandom<SplitMix64>;

inline constexpr uint64_t kHostileQuota = 16 << 20;
// Of random_cuda_kernels.cu, and others.
inline constexpr const char* kHostileKernels[] = {
    "accumulate",    "axpy",    "copy_words", "count", "histogram", "gather",         "write_at", "bump_variable",
    "read_variable", "reverse", "iterate",    "toss",  "say",       "no_such_kernel", ""};

// Numbers for fields: mostly such as get somewhere, and those at which programs break.
class HostileNumbers {
 public:
  static constexpr int kFirstStream = 3, kStreams = 8;  // that a client may create, and the first that it does not

  HostileNumbers(HostileRandom& random, const device::Arena& arena) : random_(random), arena_(arena) {}

  uint64_t Id() { return random_.Chance(0.95) ? static_cast<uint64_t>(random_.Below(8)) : Wild(); }
  uint64_t Address() {
    if (random_.Chance(0.04)) return Wild();
    if (!mapped_.empty() && random_.Chance(0.9)) return Inside(mapped_[random_.Next() % mapped_.size()]);
    const uint64_t granule = Granule(random_.Below(64));
    return random_.Chance(0.7) ? granule : granule + static_cast<uint64_t>(random_.Below(5000)) - 64;
  }
  // Where memory may be mapped: the i-th such place.
  uint64_t Granule(int i) const { return arena_.base + static_cast<uint64_t>(i) * arena_.granularity; }
  // Memory that the client asks for: addresses are mostly there from now on.
  void Remember(const MapMemory& map) { mapped_.push_back(map); }
  uint64_t Stream() {
    return random_.Chance(0.95) ? static_cast<uint64_t>(random_.Between(kFirstStream, kStreams - 1)) : Wild();
  }
  uint64_t Size() {
    constexpr uint64_t kSizes[] = {0, 1, 3, 4, 64, 4096, 8192, 65536, 1 << 20, kHostileQuota, kHostileQuota + 4096};
    return random_.Chance(0.95) ? kSizes[random_.Below(std::size(kSizes))] : Wild();
  }
  uint64_t Wild() {
    constexpr uint64_t kEdges[] = {0,
                                   1,
                                   uint64_t{1} << 31,
                                   uint64_t{1} << 32,
                                   uint64_t{1} << 47,
                                   INT64_MAX,
                                   uint64_t{1} << 63,
                                   UINT64_MAX,
                                   UINT64_MAX - 4095,
                                   0x7fff'ffff,
                                   0xffff'ffff};
    if (random_.Chance(0.3)) return random_.Next();
    if (random_.Chance(0.3)) return arena_.base + arena_.size - static_cast<uint64_t>(random_.Below(3)) * 4096;
    return kEdges[random_.Below(std::size(kEdges))];
  }

 private:
  // Aligned but for some, at or near the beginning so that what is there has room.
  uint64_t Inside(const MapMemory& map) {
    if (random_.Chance(0.05)) return map.address + static_cast<uint64_t>(random_.Below(5000)) - 64;
    return map.address + static_cast<uint64_t>(random_.Below(32)) * 64;
  }

  HostileRandom& random_;
  const device::Arena arena_;
  std::vector<MapMemory> mapped_;
};

class HostileOperations {
 public:
  // Both must outlive it.
  HostileOperations(HostileRandom& random, HostileNumbers& numbers) : random_(random), numbers_(numbers) {}

  template <typename Op>
  Op Any() {
    Op op;
    std::apply([this](auto&... fields) { (Choose(fields), ...); }, op.Fields());
    return op;
  }

 private:
  void Choose(bool& field) { field = random_.Chance(0.5); }
  void Choose(std::string& field) { field = kHostileKernels[random_.Below(std::size(kHostileKernels))]; }
  void Choose(device::Region& region) {
    region.address = numbers_.Address();
    if (random_.Chance(0.3)) region.row_pitch = numbers_.Size();
    if (random_.Chance(0.2)) region.slice_pitch = numbers_.Size();
  }
  void Choose(device::Extent& extent) {
    extent.width = random_.Chance(0.8) ? static_cast<uint64_t>(random_.Below(5000)) : numbers_.Size();
    if (random_.Chance(0.2)) extent.height = numbers_.Id();
    if (random_.Chance(0.1)) extent.depth = numbers_.Id();
  }
  // Of a size that comes to an end, or beyond what is allowed.
  void Choose(device::LaunchConfig& config) {
    config.grid = {static_cast<uint32_t>(random_.Between(random_.Chance(0.1) ? 0 : 1, 64)), 1, 1};
    config.block = {static_cast<uint32_t>(random_.Between(random_.Chance(0.1) ? 0 : 1, 130)), 1, 1};
    if (random_.Chance(0.1)) config.grid.y = 70'000;
    if (random_.Chance(0.1)) config.block.z = static_cast<uint32_t>(random_.Between(0, 2000));
    if (random_.Chance(0.1)) config.shared_bytes = static_cast<uint32_t>(numbers_.Wild());
    config.cooperative = random_.Chance(0.1);
  }
  // Mostly of the arena's memory and of a shape that is one; at times any numbers.
  void Choose(device::ImageDescription& image) {
    if (random_.Chance(0.2)) {
      Choose(image.format.kind);
      image.format.bits = static_cast<uint8_t>(random_.Next());
      image.format.channels = static_cast<uint8_t>(random_.Below(6));
      for (uint32_t* extent : {&image.width, &image.height, &image.depth}) {
        *extent = static_cast<uint32_t>(numbers_.Wild());
      }
    } else {
      image.width = static_cast<uint32_t>(random_.Between(1, 64));
      if (random_.Chance(0.7)) image.height = static_cast<uint32_t>(random_.Between(1, 64));
      if (image.height != 0 && random_.Chance(0.3)) image.depth = static_cast<uint32_t>(random_.Between(1, 12));
    }
    Choose(image.kind);
    if (image.height != 0 && random_.Chance(0.7)) image.kind = device::ImageKind::kArray;
    image.base = numbers_.Address();
    image.row_pitch = random_.Chance(0.8) ? 1024 : numbers_.Wild();
    image.slice_pitch = random_.Chance(0.8) ? 65536 : numbers_.Wild();
    for (bool* flag : {&image.layered, &image.cubemap, &image.gather}) *flag = random_.Chance(0.1);
  }
  void Choose(device::TextureDescription& texture) {
    Choose(texture.image);
    for (device::AddressMode& mode : texture.address) Choose(mode);
    Choose(texture.filter);
    Choose(texture.read);
    Choose(texture.normalized_coordinates);
  }
  void Choose(device::TensorMapDescription& map) {
    Choose(map.kind);
    for (uint8_t* small : {&map.data_type, &map.rank, &map.interleave, &map.swizzle, &map.l2_promotion, &map.fill}) {
      *small = static_cast<uint8_t>(random_.Below(8));
    }
    map.address = numbers_.Address();
    for (uint64_t& extent : map.extents) extent = numbers_.Wild();
    for (uint64_t& stride : map.strides) stride = numbers_.Wild();
    for (uint32_t& length : map.box) length = static_cast<uint32_t>(random_.Below(300));
  }
  // The kernels' (a, b, c, n, k), or not.
  void Choose(std::vector<std::byte>& parameters) {
    struct Parameters {
      uint64_t a, b, c;
      uint32_t n, k;
    } values{numbers_.Address(), numbers_.Address(), numbers_.Address(), static_cast<uint32_t>(random_.Below(2000)),
             static_cast<uint32_t>(random_.Next())};
    parameters.resize(random_.Chance(0.95) ? sizeof(values) : static_cast<size_t>(random_.Below(200)));
    const size_t size = std::min(parameters.size(), sizeof(values));
    std::copy_n(reinterpret_cast<const std::byte*>(&values), size, parameters.begin());
  }
  void Choose(device::Gemm& gemm) {
    for (int64_t* size : {&gemm.m, &gemm.n, &gemm.k, &gemm.batch}) *size = random_.Below(20);
    for (int64_t* pitch : {&gemm.lda, &gemm.ldb, &gemm.ldc, &gemm.ldd}) *pitch = random_.Below(40);
    for (int64_t* stride : {&gemm.stride_a, &gemm.stride_b, &gemm.stride_c, &gemm.stride_d}) {
      *stride = random_.Chance(0.9) ? random_.Below(500) : static_cast<int64_t>(numbers_.Wild());
    }
    for (device::DeviceAddress* address :
         {&gemm.a, &gemm.b, &gemm.c, &gemm.d, &gemm.alpha_address, &gemm.beta_address, &gemm.bias}) {
      *address = random_.Chance(0.8) ? numbers_.Address() : 0;
    }
    for (device::ElementType* type : {&gemm.type_a, &gemm.type_b, &gemm.type_c, &gemm.compute}) Choose(*type);
    for (device::Transpose* transpose : {&gemm.transpose_a, &gemm.transpose_b}) Choose(*transpose);
    gemm.pointer_arrays = random_.Chance(0.3);
    gemm.scalars_on_device = random_.Chance(0.3);
    if (random_.Chance(0.1)) gemm.m = static_cast<int64_t>(numbers_.Wild());
  }
  // Mostly small, packed and of float, at an address of the arena; at times any numbers.
  void Choose(device::Tensor& tensor) {
    tensor.address = random_.Chance(0.9) ? numbers_.Address() : numbers_.Wild();
    if (random_.Chance(0.2)) Choose(tensor.type);
    int32_t stride = 1;
    for (int i = device::kTensorDims - 1; i >= 0; --i) {
      tensor.dims[i] = random_.Chance(0.97) ? random_.Between(1, 4) : static_cast<int32_t>(numbers_.Wild());
      tensor.strides[i] = random_.Chance(0.97) ? stride : static_cast<int32_t>(numbers_.Wild());
      stride *= 4;
    }
  }
  void Choose(device::ActivationForm& activation) { Choose(activation.kind); }
  void ChooseWindow(device::Spatial& window, device::Spatial& padding, device::Spatial& stride) {
    for (device::Spatial* const values : {&window, &stride}) {
      for (int32_t& value : *values) value = random_.Chance(0.97) ? 1 : static_cast<int32_t>(numbers_.Wild());
    }
    for (int32_t& value : padding) value = random_.Chance(0.97) ? 0 : static_cast<int32_t>(numbers_.Wild());
  }
  void Choose(device::Convolution& c) {
    for (device::Tensor* const tensor : {&c.x, &c.filter, &c.y}) Choose(*tensor);
    ChooseWindow(c.dilation, c.padding, c.stride);
    if (random_.Chance(0.9)) {
      c.filter.dims = {c.y.dims[1], c.x.dims[1], 1, 1, 1};
      c.y.dims = {c.x.dims[0], c.y.dims[1], c.x.dims[2], c.x.dims[3], c.x.dims[4]};
    }
    if (random_.Chance(0.1)) c.groups = static_cast<int32_t>(numbers_.Wild());
    if (random_.Chance(0.3)) c.bias = numbers_.Address();
    if (random_.Chance(0.3)) c.added = c.y;
    c.transposed = random_.Chance(0.3);
    Choose(c.activation);
  }
  void Choose(device::Pooling& p) {
    for (device::Tensor* const tensor : {&p.x, &p.y}) Choose(*tensor);
    ChooseWindow(p.window, p.padding, p.stride);
    if (random_.Chance(0.9)) p.y.dims = p.x.dims;
    Choose(p.kind);
  }
  void Choose(device::BatchNorm& n) {
    for (device::Tensor* const tensor : {&n.x, &n.y, &n.scale}) Choose(*tensor);
    if (random_.Chance(0.9)) n.y.dims = n.x.dims, n.scale.dims = {1, n.x.dims[1], 1, 1, 1};
    for (device::DeviceAddress* const address : {&n.shift, &n.mean, &n.variance}) *address = numbers_.Address();
  }
  void Choose(device::Softmax& s) {
    for (device::Tensor* const tensor : {&s.x, &s.y}) Choose(*tensor);
    if (random_.Chance(0.9)) s.y.dims = s.x.dims;
    s.over_all = random_.Chance(0.5);
  }
  void Choose(device::Pointwise& p) {
    for (device::Tensor* const tensor : {&p.a, &p.b, &p.y}) Choose(*tensor);
    if (random_.Chance(0.9)) p.a.dims = p.b.dims = p.y.dims;
    p.kind = static_cast<device::PointwiseKind>(random_.Below(11));
    Choose(p.activation);
  }
  void Choose(device::Recurrent& r) {
    for (int32_t* const size : {&r.inputs, &r.hidden, &r.layers, &r.steps, &r.batch}) {
      *size = random_.Chance(0.97) ? random_.Between(1, 4) : static_cast<int32_t>(numbers_.Wild());
    }
    r.outputs = random_.Chance(0.9) ? r.hidden : random_.Between(1, 4);
    for (device::DeviceAddress* const address : {&r.x, &r.y, &r.weights, &r.hx, &r.hy, &r.cx, &r.cy}) {
      *address = random_.Chance(0.9) ? numbers_.Address() : 0;
    }
    if (random_.Chance(0.2)) Choose(r.type);
    if (random_.Chance(0.5)) r.lengths.resize(static_cast<size_t>(random_.Below(6)));
    for (int32_t& length : r.lengths) length = random_.Chance(0.97) ? random_.Between(0, 4) : -random_.Below(99);
    for (bool* const flag : {&r.both_directions, &r.skips_input, &r.fills}) *flag = random_.Chance(0.3);
    r.cell = static_cast<device::RecurrentCell>(random_.Below(5));
    Choose(r.bias);
    Choose(r.layout);
  }
  void Choose(device::Fourier& f) {
    for (int64_t& size : f.sizes)
      size = random_.Chance(0.97) ? random_.Between(1, 9) : static_cast<int64_t>(numbers_.Wild());
    f.batch = random_.Chance(0.97) ? random_.Between(1, 4) : static_cast<int64_t>(numbers_.Wild());
    for (device::FourierSide* const side : {&f.in, &f.out}) {
      *side = {numbers_.Address(), 9, 9, 1, 9 * 9 * 9};
      for (int64_t* const place : {&side->rows, &side->columns, &side->stride, &side->distance}) {
        if (random_.Chance(0.03)) *place = static_cast<int64_t>(numbers_.Wild());
      }
    }
    if (random_.Chance(0.3)) f.out = f.in;
    f.inverse = random_.Chance(0.5);
    f.type = random_.Chance(0.7) ? device::ElementType::kF32 : device::ElementType::kF64;
    if (random_.Chance(0.1)) Choose(f.type);
    Choose(f.kind);
  }
  void Choose(device::Lapack& l) {
    for (int64_t* const size : {&l.m, &l.n, &l.k, &l.batch}) {
      *size = random_.Chance(0.97) ? random_.Between(1, 4) : static_cast<int64_t>(numbers_.Wild());
    }
    for (device::LapackOperand& operand : l.operands) {
      operand = {numbers_.Address(), 4, 16};
      for (int64_t* const place : {&operand.leading, &operand.stride}) {
        if (random_.Chance(0.03)) *place = static_cast<int64_t>(numbers_.Wild());
      }
    }
    l.info = random_.Chance(0.9) ? numbers_.Address() : 0;
    l.routine = static_cast<device::LapackRoutine>(random_.Below(17));
    constexpr device::ElementType kTypes[] = {device::ElementType::kF32, device::ElementType::kF64,
                                              device::ElementType::kC32, device::ElementType::kC64};
    l.type = kTypes[random_.Below(4)];
    if (random_.Chance(0.1)) Choose(l.type);
    for (bool* const flag : {&l.wide_pivots, &l.upper, &l.right, &l.sorted}) *flag = random_.Chance(0.5);
    Choose(l.transpose);
    Choose(l.left);
    l.right_vectors = l.left;
    if (random_.Chance(0.2)) Choose(l.right_vectors);
  }
  void Choose(device::DnnGraph& g) {
    g = device::ScaledProduct(numbers_.Address(), numbers_.Address(), numbers_.Address(), 2);
    if (random_.Chance(0.5)) {
      device::DnnNorm norm;
      for (device::Tensor* const tensor : {&norm.x, &norm.y, &norm.scale}) tensor->address = numbers_.Address();
      norm.shift = numbers_.Address();
      g = GraphOf(norm);
    }
    for (int changes = random_.Below(4); changes > 0; --changes) {
      g.description[random_.Next() % g.description.size()] = static_cast<std::byte>(random_.Next());
    }
    if (random_.Chance(0.1)) g.description.resize(static_cast<size_t>(random_.Below(99)));
    if (random_.Chance(0.1)) g.tensors.resize(static_cast<size_t>(random_.Below(5)));
  }
  template <typename Number>
  requires std::is_arithmetic_v<Number>
  void Choose(Number& field) {
    field = static_cast<Number>(random_.Chance(0.75)  ? numbers_.Id()
                                : random_.Chance(0.5) ? numbers_.Address()
                                                      : numbers_.Size());
  }
  template <typename Enumeration>
  requires std::is_enum_v<Enumeration>
  void Choose(Enumeration& field) {
    field = static_cast<Enumeration>(random_.Chance(0.9) ? random_.Below(3) : random_.Below(256));
  }

  HostileRandom& random_;
  HostileNumbers& numbers_;
};

}  // namespace wharf::offload
