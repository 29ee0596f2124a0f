// Every message of the protocol survives its encoding, and nothing else decodes.
#include "wharf/offload/wire_codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <fstream>
#include <iterator>
#include <set>

#include "wharf/offload/testing/wire_samples.h"

namespace wharf::offload {
namespace {

// --- a random value of each kind of field ---

template <typename T>
requires(std::is_integral_v<T>) void Randomize(T& value) { value = *rc::gen::arbitrary<T>(); }
template <typename T>
requires(std::is_floating_point_v<T>) void Randomize(T& value) {
  value = static_cast<T>(*rc::gen::arbitrary<int32_t>()) / 8;
}
template <typename T>
requires(std::is_enum_v<T>) void Randomize(T& value) {
  value = static_cast<T>(*rc::gen::arbitrary<std::underlying_type_t<T>>());
}
void Randomize(std::string& value) { value = *rc::gen::arbitrary<std::string>(); }
void Randomize(std::vector<std::byte>& value) {
  value.clear();
  for (const uint8_t byte : *rc::gen::arbitrary<std::vector<uint8_t>>()) value.push_back(std::byte{byte});
}
template <typename T, size_t n>
void Randomize(std::array<T, n>& values) {
  for (T& value : values) Randomize(value);
}
template <typename... T>
void RandomizeAll(T&... values) {
  (Randomize(values), ...);
}
void Randomize(device::Dim3& v) { RandomizeAll(v.x, v.y, v.z); }
void Randomize(device::LaunchConfig& v) {
  Randomize(v.grid);
  Randomize(v.block);
  Randomize(v.shared_bytes);
  Randomize(v.cooperative);
}
void Randomize(device::Region& v) { RandomizeAll(v.address, v.row_pitch, v.slice_pitch); }
void Randomize(device::Extent& v) { RandomizeAll(v.width, v.height, v.depth); }
void Randomize(device::Symbol& v) { RandomizeAll(v.address, v.size); }
void Randomize(device::Arena& v) { RandomizeAll(v.base, v.size, v.granularity, v.guarded); }
void Randomize(device::DeviceProperties& v) {
  RandomizeAll(v.name, v.driver, v.compute_major, v.compute_minor, v.total_memory, v.multiprocessors, v.clock_khz,
               v.memory_clock_khz, v.memory_bus_bits, v.warp_size, v.max_threads_per_block,
               v.max_threads_per_multiprocessor, v.max_blocks_per_multiprocessor, v.registers_per_block,
               v.registers_per_multiprocessor, v.shared_per_block, v.shared_per_block_optin,
               v.shared_per_multiprocessor, v.constant_memory, v.l2_bytes, v.max_block, v.max_grid, v.uuid);
}
void Randomize(device::Gemm& v) {
  RandomizeAll(v.transpose_a, v.transpose_b, v.m, v.n, v.k, v.type_a, v.type_b, v.type_c, v.compute, v.a, v.b, v.c, v.d,
               v.lda, v.ldb, v.ldc, v.ldd, v.stride_a, v.stride_b, v.stride_c, v.stride_d, v.batch, v.pointer_arrays,
               v.scalars_on_device, v.alpha, v.beta, v.alpha_address, v.beta_address, v.epilogue, v.bias);
}
void Randomize(device::Tensor& v) { RandomizeAll(v.address, v.type, v.dims, v.strides); }
void RandomizeTensors(std::initializer_list<device::Tensor*> tensors) {
  for (device::Tensor* const tensor : tensors) Randomize(*tensor);
}
void Randomize(device::Convolution& v) {
  RandomizeTensors({&v.x, &v.filter, &v.y, &v.added});
  RandomizeAll(v.transposed, v.flipped, v.tf32, v.padding, v.stride, v.dilation, v.groups, v.alpha, v.beta, v.bias,
               v.bias_type, v.activation.kind, v.activation.coefficient);
}
void Randomize(device::Pooling& v) {
  RandomizeTensors({&v.x, &v.y});
  RandomizeAll(v.kind, v.propagates_nan, v.window, v.padding, v.stride, v.alpha, v.beta);
}
void Randomize(device::BatchNorm& v) {
  RandomizeTensors({&v.x, &v.y, &v.scale});
  RandomizeAll(v.shift, v.mean, v.variance, v.epsilon, v.alpha, v.beta);
}
void Randomize(device::Softmax& v) {
  RandomizeTensors({&v.x, &v.y});
  RandomizeAll(v.log, v.over_all, v.alpha, v.beta);
}
void Randomize(device::Pointwise& v) {
  RandomizeTensors({&v.a, &v.b, &v.y});
  RandomizeAll(v.kind, v.alpha_a, v.alpha_b, v.alpha, v.beta, v.activation.kind, v.activation.coefficient);
}
void Randomize(device::Recurrent& v) {
  RandomizeAll(v.cell, v.bias, v.layout, v.both_directions, v.skips_input, v.tf32, v.fills, v.filling, v.type, v.inputs,
               v.hidden, v.outputs, v.layers, v.steps, v.batch, v.x, v.y, v.weights, v.hx, v.hy, v.cx, v.cy);
  v.lengths.resize(*rc::gen::inRange(0, 20));
  for (int32_t& length : v.lengths) Randomize(length);
}
void Randomize(device::Fourier& v) {
  RandomizeAll(v.kind, v.inverse, v.type, v.sizes[0], v.sizes[1], v.sizes[2], v.batch);
  for (device::FourierSide* const side : {&v.in, &v.out}) {
    RandomizeAll(side->address, side->rows, side->columns, side->stride, side->distance);
  }
}
void Randomize(device::Lapack& v) {
  for (device::LapackOperand& operand : v.operands) RandomizeAll(operand.address, operand.leading, operand.stride);
  RandomizeAll(v.info, v.m, v.n, v.k, v.batch, v.tolerance, v.sweeps, v.routine, v.type, v.wide_pivots, v.upper,
               v.right, v.sorted, v.transpose, v.left, v.right_vectors);
}
void Randomize(device::DnnGraph& v) {
  for (std::vector<device::DnnBinding>* const bindings : {&v.tensors, &v.scalars}) {
    bindings->resize(*rc::gen::inRange(0, 20));
    for (device::DnnBinding& binding : *bindings) RandomizeAll(binding.tensor, binding.value);
  }
  RandomizeAll(v.deterministic, v.tensor_cores, v.description);
}
void Randomize(device::ChannelFormat& v) { RandomizeAll(v.kind, v.bits, v.channels); }
void Randomize(device::ImageDescription& v) {
  Randomize(v.format);
  RandomizeAll(v.kind, v.base, v.width, v.height, v.depth, v.row_pitch, v.slice_pitch, v.layered, v.cubemap, v.gather);
}
void Randomize(device::TensorMapDescription& v) {
  RandomizeAll(v.kind, v.data_type, v.rank, v.interleave, v.swizzle, v.l2_promotion, v.fill, v.address, v.extents,
               v.strides, v.box, v.element_strides, v.lower_corner, v.upper_corner, v.channels_per_pixel,
               v.pixels_per_column);
}
void Randomize(device::TextureDescription& v) {
  Randomize(v.image);
  RandomizeAll(v.mipmap.levels, v.mipmap.filter, v.mipmap.bias, v.mipmap.lowest, v.mipmap.highest);
  RandomizeAll(v.address, v.filter, v.read, v.normalized_coordinates, v.border);
}
void Randomize(device::FunctionAttributes& v) {
  RandomizeAll(v.static_shared_bytes, v.const_bytes, v.local_bytes, v.max_threads_per_block, v.registers,
               v.max_dynamic_shared_bytes, v.ptx_version, v.binary_version);
  v.parameters.resize(*rc::gen::inRange(0, 20));
  for (device::ParameterLayout& p : v.parameters) RandomizeAll(p.offset, p.size);
}

template <HasFields Message>
Message Random() {
  Message message;
  std::apply([](auto&... fields) { (Randomize(fields), ...); }, message.Fields());
  return message;
}

// --- properties ---

RC_GTEST_PROP(WireCodecProperty, EveryMessageComesBackAsItWas, ()) {
  ForEachMessage([]<typename Message>(Message) {
    const auto sent = Random<Message>();
    const auto bytes = Encode(sent);
    const auto received = Decode<Message>(bytes);
    RC_ASSERT(received.ok());
    RC_ASSERT(Encode(*received) == bytes);
  });
}

RC_GTEST_PROP(WireCodecProperty, NoShorterAndNoLongerMessageDecodes, ()) {
  ForEachMessage([]<typename Message>(Message) {
    auto bytes = Encode(Random<Message>());
    for (const size_t cut : {size_t{1}, bytes.size() / 2, bytes.size()}) {
      if (cut == 0 || cut > bytes.size()) continue;
      const std::span<const std::byte> shorter = std::span(bytes).first(bytes.size() - cut);
      RC_ASSERT(Decode<Message>(shorter).status().code() == absl::StatusCode::kDataLoss);
    }
    bytes.push_back(std::byte{0});
    RC_ASSERT(Decode<Message>(bytes).status().code() == absl::StatusCode::kDataLoss);
  });
}

TEST(WireCodecTest, FieldsKeepTheirValues) {
  RunGemm sent;
  sent.stream = 5;
  sent.gemm.transpose_b = device::Transpose::kConjugate;
  sent.gemm.m = -1;
  sent.gemm.type_c = device::ElementType::kI32;
  sent.gemm.alpha = {0.5, -2};
  sent.gemm.scalars_on_device = true;
  sent.gemm.bias = 0x123456789abcdef0;
  const auto received = Decode<RunGemm>(Encode(sent)).value();
  EXPECT_EQ(received.stream, 5u);
  EXPECT_EQ(received.gemm.transpose_b, device::Transpose::kConjugate);
  EXPECT_EQ(received.gemm.m, -1);
  EXPECT_EQ(received.gemm.type_c, device::ElementType::kI32);
  EXPECT_EQ(received.gemm.alpha, (std::array<double, 2>{0.5, -2}));
  EXPECT_TRUE(received.gemm.scalars_on_device);
  EXPECT_EQ(received.gemm.bias, 0x123456789abcdef0u);

  RunConvolution convolution;
  convolution.stream = 6;
  convolution.primitive.x.dims = {1, 2, 3, 4, 5};
  convolution.primitive.filter.strides[3] = -7;
  convolution.primitive.transposed = true;
  convolution.primitive.dilation = {1, 2, 3};
  convolution.primitive.activation = {device::Activation::kElu, 0.25};
  const auto convolved = Decode<RunConvolution>(Encode(convolution)).value();
  EXPECT_EQ(convolved.stream, 6u);
  EXPECT_EQ(convolved.primitive.x.dims, (std::array<int32_t, 5>{1, 2, 3, 4, 5}));
  EXPECT_EQ(convolved.primitive.filter.strides[3], -7);
  EXPECT_TRUE(convolved.primitive.transposed);
  EXPECT_EQ(convolved.primitive.dilation, (device::Spatial{1, 2, 3}));
  EXPECT_EQ(convolved.primitive.activation.kind, device::Activation::kElu);
  EXPECT_EQ(convolved.primitive.activation.coefficient, 0.25);

  CreateTexture create;
  create.texture.image = {device::ImageKind::kArray, {device::ChannelKind::kUnsigned, 8, 4}, 0x1000, 7, 5, 3, 32, 160};
  create.texture.image.layered = true;
  create.texture.mipmap = {.levels = 3, .filter = device::FilterMode::kLinear, .bias = 0.5F, .lowest = 1, .highest = 2};
  create.texture.address = {device::AddressMode::kWrap, device::AddressMode::kMirror, device::AddressMode::kBorder};
  create.texture.filter = device::FilterMode::kLinear;
  create.texture.read = device::ReadMode::kNormalizedFloat;
  create.texture.normalized_coordinates = true;
  create.texture.border = {1, 2, 3, -4};
  EXPECT_EQ(Decode<CreateTexture>(Encode(create)).value().texture, create.texture);

  Hello hello;
  hello.nonce[31] = 9;
  hello.program = "pose";
  const auto greeted = Decode<Hello>(Encode(hello)).value();
  EXPECT_EQ(greeted.magic, kProtocolMagic);
  EXPECT_EQ(greeted.nonce, hello.nonce);
  EXPECT_EQ(greeted.program, "pose");
}

TEST(WireCodecTest, TheEncodingIsTheOneThatIsDocumented) {
  DefineFunction define;
  define.function = 0x0102030405060708;
  define.module = 9;
  define.name = "k";
  const uint8_t expected[] = {8, 7, 6, 5, 4, 3, 2, 1, 9, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 'k'};
  const auto bytes = Encode(define);
  ASSERT_EQ(bytes.size(), sizeof(expected));
  for (size_t i = 0; i < bytes.size(); ++i) EXPECT_EQ(bytes[i], std::byte{expected[i]}) << i;
}

TEST(WireCodecTest, ALengthBeyondTheMessageTakesNoMemory) {
  // A string that claims 4 GiB.
  std::vector<std::byte> bytes(8 + 8 + 4, std::byte{0xff});
  EXPECT_EQ(Decode<DefineFunction>(bytes).status().code(), absl::StatusCode::kDataLoss);
  // Attributes that claim 2^32 - 1 parameters.
  auto attributes = Encode(GetAttributes::Reply{});
  for (size_t i = attributes.size() - 4; i < attributes.size(); ++i) attributes[i] = std::byte{0xff};
  EXPECT_EQ(Decode<GetAttributes::Reply>(attributes).status().code(), absl::StatusCode::kDataLoss);
}

TEST(WireTest, EveryOperationHasANumberOfItsOwn) {
  std::set<uint16_t> numbers;
  std::set<std::string> names;
  const auto check = [&]<typename Op>(Op) {
    EXPECT_GE(Op::kNumber, static_cast<uint16_t>(FrameKind::kFirstOp)) << Op::kName;
    EXPECT_TRUE(numbers.insert(Op::kNumber).second) << Op::kName;
    EXPECT_TRUE(names.insert(Op::kName).second) << Op::kName;
  };
  [&]<typename... Op>(OpList<Op...>) { (check(Op{}), ...); }(AllOps{});
}

TEST(WireTest, TheDocumentationListsEveryOperation) {
  std::ifstream file(WHARF_PROTOCOL_PAGE);
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  const auto check = [&]<typename Op>(Op) {
    const char* answer = Op::kAnswer == Answer::kPosted ? "posted" : "blocking";
    EXPECT_THAT(page, testing::HasSubstr(fmt::format("| {} | {} | {} |", Op::kNumber, Op::kName, answer)));
  };
  [&]<typename... Op>(OpList<Op...>) { (check(Op{}), ...); }(AllOps{});
}

}  // namespace
}  // namespace wharf::offload
