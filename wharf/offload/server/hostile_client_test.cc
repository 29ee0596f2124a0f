// A whole hostile client: operations in any order with any numbers in them, modules that are broken or cut short,
// records of replay about what never was, frames of no kind. Whatever it sends, the server answers every request or
// ends the session and says why, and takes no more memory than the session may have.
//
// WHARF_HOSTILE_SESSIONS: how many (default 3,000); WHARF_HOSTILE_SEED: of the first, to repeat one.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "wharf/base/random.h"
#include "wharf/base/test_environment.h"
#include "wharf/device/device.h"
#include "wharf/device/dnn_graph_testing.h"
#include "wharf/device/dnn_norm.h"
#include "wharf/link/emulation/emulator.h"
#include "wharf/offload/bulk/compression.h"
#include "wharf/offload/replay/progress.h"
#include "wharf/offload/server/executor.h"
#include "wharf/offload/testing/generated/random_cuda_kernels_ptx.h"
#include "wharf/offload/testing/random_cuda_interpreter.h"
#include "wharf/offload/testing/raw_client.h"

namespace wharf::offload {
namespace {

using Random = BasicRandom<SplitMix64>;

constexpr uint64_t kQuota = 16 << 20;
constexpr int kFirstStream = 3;  // that a client may create
constexpr const char* kKernels[] = {"accumulate", "axpy",     "copy_words",    "count",          "histogram",
                                    "gather",     "write_at", "bump_variable", "read_variable",  "reverse",
                                    "iterate",    "toss",     "say",           "no_such_kernel", ""};

// Numbers for fields: mostly such as get somewhere, and those at which programs break.
class Numbers {
 public:
  Numbers(Random& random, const device::Arena& arena) : random_(random), arena_(arena) {}

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
  uint64_t Stream() { return random_.Chance(0.95) ? static_cast<uint64_t>(random_.Between(kFirstStream, 7)) : Wild(); }
  uint64_t Size() {
    constexpr uint64_t kSizes[] = {0, 1, 3, 4, 64, 4096, 8192, 65536, 1 << 20, kQuota, kQuota + 4096};
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

  Random& random_;
  const device::Arena arena_;
  std::vector<MapMemory> mapped_;
};

class HostileClient {
 public:
  HostileClient(RawClient& client, const device::Arena& arena, bool replays, uint64_t seed)
      : client_(client), replays_(replays), random_(seed), numbers_(random_, arena) {}

  void Run() {
    if (random_.Chance(0.9)) SetUp();
    for (int left = random_.Between(5, 120); left > 0; --left) Step();
    if (random_.Chance(0.3)) SendGarbage();
  }
  // So that what follows has something to go wrong with.
  void SetUp() {
    const std::span<const char> image(kRandomCudaKernels.data(), kRandomCudaKernels.size());
    Load(1, {reinterpret_cast<const std::byte*>(image.data()), image.size()});
    for (uint64_t i = 0; i < 8; ++i) {
      DefineFunction define;
      define.function = i;
      define.module = 1;
      define.name = kKernels[random_.Below(std::size(kKernels))];
      Send(define);
    }
    for (uint64_t id = kFirstStream; id < 8; ++id) {
      Send(CreateStream{id});
      Send(CreateEvent{id});
    }
    for (int i = 0; i < 8; ++i) {
      const MapMemory map{numbers_.Granule(8 * i), static_cast<uint64_t>(random_.Between(2, 8)) * 4096};
      Send(map);
      numbers_.Remember(map);
    }
  }
  // The tag by which it asks whether that is done.
  template <typename Op>
  uint64_t SendOne() {
    Op op = Any<Op>();
    op.stream = numbers_.Stream();
    Send(op);
    Send(SynchronizeDevice{});
    return asked_.back();
  }
  const std::vector<uint64_t>& Asked() const { return asked_; }
  bool HoldsAStream() const { return holds_; }
  // Then it is not told any more why the session is over.
  bool SaidGoodbye() const { return said_goodbye_; }

 private:
  void Step() {
    if (replays_ && random_.Chance(0.02)) return SendProgress();
    if (random_.Chance(0.01)) return LoadSomething();
    if (random_.Chance(0.4)) return Send(Any<Launch>());
    SendAny(AllOps());
  }

  template <typename... Ops>
  void SendAny(OpList<Ops...>) {
    int left = random_.Below(sizeof...(Ops));
    ((left-- == 0 ? Send(Any<Ops>()) : void()), ...);
  }

  template <typename Op>
  void Send(const Op& op) {
    if constexpr (std::is_same_v<Op, RequestHostCall>) {
      if (!calls_host_) return;
      holds_ = true;
    }
    std::vector<std::byte> bulk;
    if constexpr (std::is_same_v<Op, CopyToDevice>) bulk = BulkOf(op.extent);
    if constexpr (std::is_same_v<Op, LoadModule>) bulk.resize(static_cast<size_t>(random_.Below(256)));
    if (Op::kAnswer == Answer::kBlocking) {
      asked_.push_back(asked_.size() + 1);
      client_.SendFrame(Op::kNumber, asked_.back(), Encode(op)).IgnoreError();
    } else {
      const uint16_t flags = bulk.empty() ? uint16_t{0} : Code(bulk);
      client_.channel()
          .Send(Op::kNumber, 0, Encode(op), bulk, link::BulkOwnership::kCopy, link::Urgency::kNow, flags)
          .IgnoreError();
    }
  }

  // Makes coded data of it, mostly such as it says; at times of any flags. The flags.
  uint16_t Code(std::vector<std::byte>& bulk) {
    if (random_.Chance(0.01)) return static_cast<uint16_t>(random_.Next());
    BulkCoding coding;
    coding.remember = random_.Chance(0.3);
    if (bulk.size() < 64 || random_.Chance(0.5)) return coding.Flags();
    coding.codec = random_.Chance(0.5) ? Codec::kLz4 : Codec::kZstd;
    coding.difference = random_.Chance(0.05);
    std::vector<std::byte> coded(bulk.size());
    const auto declared = static_cast<uint32_t>(bulk.size() - (random_.Chance(0.02) ? 1 : 0));
    std::memcpy(coded.data(), &declared, kCodedPrefixBytes);
    const size_t size = compressor_.Compress(coding.codec, bulk, std::span(coded).subspan(kCodedPrefixBytes));
    coded.resize(kCodedPrefixBytes + size);
    if (random_.Chance(0.02)) coded.back() ^= std::byte{0x11};
    bulk = std::move(coded);
    return coding.Flags();
  }

  // As long as the extent says, if that can be; at times not.
  std::vector<std::byte> BulkOf(const device::Extent& extent) {
    constexpr uint64_t kMost = 1 << 20;
    uint64_t bytes = 0;
    const bool fits = !__builtin_mul_overflow(extent.width, extent.height, &bytes) &&
                      !__builtin_mul_overflow(bytes, extent.depth, &bytes) && bytes <= kMost;
    if (!fits || random_.Chance(0.05)) bytes = static_cast<uint64_t>(random_.Below(5000));
    return std::vector<std::byte>(bytes, std::byte{7});
  }

  // --- fields ---

  template <typename Op>
  Op Any() {
    Op op;
    std::apply([this](auto&... fields) { (Choose(fields), ...); }, op.Fields());
    return op;
  }
  void Choose(bool& field) { field = random_.Chance(0.5); }
  void Choose(std::string& field) { field = kKernels[random_.Below(std::size(kKernels))]; }
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

  // --- what no client sends ---

  void Load(uint64_t module, std::span<const std::byte> image) {
    client_.SendFrame(LoadModule::kNumber, 0, Encode(LoadModule{module, true}), {image.begin(), image.end()})
        .IgnoreError();
  }
  // A module that is cut short, or has some bytes changed. Nothing of it is launched: its loops need not end.
  void LoadSomething() {
    const auto* begin = reinterpret_cast<const std::byte*>(kRandomCudaKernels.data());
    std::vector<std::byte> image(begin, begin + kRandomCudaKernels.size());
    if (random_.Chance(0.3)) image.resize(static_cast<size_t>(random_.Below(static_cast<int>(image.size()))));
    for (int changes = random_.Below(6); changes > 0 && !image.empty(); --changes) {
      const auto at = static_cast<size_t>(random_.Below(static_cast<int>(image.size())));
      image[at] = random_.Chance(0.5) ? static_cast<std::byte>(random_.Next())
                                      : image[static_cast<size_t>(random_.Below(static_cast<int>(image.size())))];
    }
    constexpr uint64_t kBroken = 1'000;  // no id that Launch could meet
    const uint64_t module = kBroken + numbers_.Id() % 4;
    Load(module, image);
    DefineFunction define;
    define.function = module;
    define.module = module;
    define.name = kKernels[random_.Below(std::size(kKernels))];
    Send(define);
    GetAttributes attributes;
    attributes.function = module;
    Send(attributes);
    if (random_.Chance(0.5)) Send(UnloadModule{module});
  }
  // What a client would send that goes on as predicted, at a place where perhaps nothing is; at times any bytes.
  void SendProgress() {
    ProgressWriter writer;
    for (int records = random_.Below(4); records > 0; --records) {
      const auto operation = static_cast<OperationId>(random_.Below(20));
      switch (random_.Below(6)) {
        case 0:
          writer.Known(operation, static_cast<uint64_t>(random_.Below(40)));
          break;
        case 1:
          writer.Forget();
          break;
        case 2:
          writer.Wait();
          break;
        case 3:
          writer.Lane(static_cast<uint64_t>(random_.Below(3)));
          break;
        default:
          writer.Advance();
      }
    }
    std::vector<std::byte> records = writer.Bytes();
    if (random_.Chance(0.1)) records.push_back(static_cast<std::byte>(random_.Next()));
    client_.SendFrame(static_cast<uint16_t>(FrameKind::kProgress), static_cast<uint64_t>(random_.Below(100)), records)
        .IgnoreError();
  }
  void SendGarbage() {
    std::vector<std::byte> head(static_cast<size_t>(random_.Below(100))), bulk(static_cast<size_t>(random_.Below(50)));
    for (std::byte& byte : head) byte = static_cast<std::byte>(random_.Next());
    const auto kind = static_cast<uint16_t>(random_.Below(90));
    said_goodbye_ = kind == static_cast<uint16_t>(FrameKind::kGoodbye);
    client_.SendFrame(kind, random_.Next(), head, bulk).IgnoreError();
  }

  RawClient& client_;
  const bool replays_;
  Random random_;
  Numbers numbers_;
  Compressor compressor_;
  std::vector<uint64_t> asked_;
  const bool calls_host_ = random_.Chance(0.1);
  bool said_goodbye_ = false;
  bool holds_ = false;  // perhaps: a stream, until a host function has run
};

// A server with a software device, and the client's end of the link to it.
class Session {
 public:
  Session(bool replays, bool codes) {
    auto [ours, theirs] = link::MemoryPair();
    auto device = MakeRandomProgramDevice(kQuota);
    arena_ = device->Arena();
    link::ChannelOptions options;
    options.limits = ExecutorFrameLimits();
    channel_ = link::Channel::Create(std::move(theirs), options);
    executor_ = std::make_unique<Executor>(std::move(device), channel_.get());
    if (replays) executor_->EnableReplay({});
    if (codes) executor_->EnableCodedBulk();
    channel_->Start(executor_.get());
    client_ = std::make_unique<RawClient>(std::move(ours));
  }
  ~Session() {
    executor_->Release();
    executor_->Stop();
    channel_->Stop();
  }
  RawClient& client() { return *client_; }
  const device::Arena& arena() const { return arena_; }
  const Executor& executor() const { return *executor_; }

 private:
  device::Arena arena_;
  std::unique_ptr<link::Channel> channel_;
  std::unique_ptr<Executor> executor_;
  std::unique_ptr<RawClient> client_;
};

TEST(HostileClientTest, IsAnsweredOrEndedWhateverItSends) {
  const uint64_t sessions = FromEnvironment("WHARF_HOSTILE_SESSIONS", 3000);
  const uint64_t first = FromEnvironment("WHARF_HOSTILE_SEED", 1);
  uint64_t answered = 0, ended = 0, launches = 0;
  for (uint64_t seed = first; seed < first + sessions && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    const bool replays = seed % 2 == 0;
    Session session(replays, /*codes=*/seed % 4 < 2);
    HostileClient hostile(session.client(), session.arena(), replays, seed);
    hostile.Run();
    if (hostile.HoldsAStream()) continue;  // what comes behind waits, and may
    for (const uint64_t tag : hostile.Asked()) {
      // Whatever was asked: only the header is looked at, or that the session is over.
      const auto reply = session.client().Await<SynchronizeDevice>(tag);
      if (absl::IsUnavailable(reply.status())) {
        EXPECT_TRUE(hostile.SaidGoodbye() || session.client().Has(FrameKind::kGoodbye)) << "it ends without a word";
        ++ended;
        break;
      }
      EXPECT_FALSE(absl::IsDeadlineExceeded(reply.status())) << "request " << tag << " has no answer";
      ++answered;
    }
    EXPECT_LE(session.executor().Counters().peak_mapped_bytes, kQuota);
    launches += session.executor().Counters().launches;
  }
  const std::string sum = fmt::format("{} sessions: {} requests answered, {} launches, {} sessions ended\n", sessions,
                                      answered, launches, ended);
  std::fputs(sum.c_str(), stdout);
  if (sessions >= 100) {  // or it tests nothing
    EXPECT_GT(answered, 2 * sessions);
    EXPECT_GT(launches, 5 * sessions);
    EXPECT_GT(ended, sessions / 20);
  }
}

// Hostile numbers for a library's functions, among such that most calls are carried out: what is refused at its first
// operand tests nothing behind that.
template <typename Op>
class HostileLibraryCallsTest : public ::testing::Test {};
using LibraryCalls = ::testing::Types<RunGemm, RunConvolution, RunPooling, RunBatchNorm, RunSoftmax, RunPointwise,
                                      RunRecurrent, RunFourier, RunLapack, RunDnnGraph>;
struct LibraryCallNames {
  template <typename Op>
  static std::string GetName(int) {
    return Op::kName;
  }
};
TYPED_TEST_SUITE(HostileLibraryCallsTest, LibraryCalls, LibraryCallNames);

TYPED_TEST(HostileLibraryCallsTest, AreRefusedOrCarriedOut) {
  const uint64_t sessions = FromEnvironment("WHARF_HOSTILE_SESSIONS", 3000) / 60;
  const uint64_t first = FromEnvironment("WHARF_HOSTILE_SEED", 1);
  constexpr int kCalls = 40;
  // What has passed all checks: the software device computes none of the graphs that a client may describe.
  constexpr auto kPassed =
      std::is_same_v<TypeParam, RunDnnGraph> ? device::CudaError::kNotSupported : device::CudaError::kSuccess;
  uint64_t passed = 0;
  for (uint64_t seed = first; seed < first + sessions; ++seed) {
    Session session(/*replays=*/false, /*codes=*/false);
    HostileClient hostile(session.client(), session.arena(), /*replays=*/false, seed);
    hostile.SetUp();
    for (int i = 0; i < kCalls; ++i) {
      const auto answer = session.client().template Await<SynchronizeDevice>(hostile.template SendOne<TypeParam>());
      ASSERT_TRUE(answer.ok()) << "seed " << seed << ": " << answer.status();
      if (answer->header.posted_error == kPassed) ++passed;
      fprintf(stderr, "T%s %d %s\n", TypeParam::kName, (int)answer->header.posted_error,
              answer->header.message.c_str());
    }
  }
  std::fputs(fmt::format("{} of {} calls pass\n", passed, sessions * kCalls).c_str(), stdout);
  if (sessions >= 10) {  // or it tests nothing
    EXPECT_GT(passed, sessions * kCalls / 20);
  }
}

}  // namespace
}  // namespace wharf::offload
