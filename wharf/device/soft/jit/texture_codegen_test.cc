// Instructions of textures and surfaces, in every way a kernel is executed: one thread after the other, in lanes, on
// suspendable threads and as regions. What a fetch computes is tested with the runtime (runtime/texture_test.cc).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <string>
#include <vector>

#include "wharf/device/cuda_error.h"
#include "wharf/device/soft/testing/compiler_testing.h"

namespace wharf::device::soft::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr ChannelFormat kFloats{ChannelKind::kFloat, 32, 1};

// k(texture, out): thread i has texture in %rd1, the address of its 16 bytes in %rd2, i in %r1 and i as %f1.
std::string TextureKernel(const std::string& body) {
  return fmt::format(R"(.version 8.8
.target sm_90
.address_size 64
.visible .entry k(.param .u64 image, .param .u64 out)
{{
  .reg .pred %p<9>; .reg .b16 %rs<20>; .reg .b32 %r<30>; .reg .b64 %rd<20>; .reg .f32 %f<20>;
  ld.param.u64 %rd1, [image];
  ld.param.u64 %rd2, [out];
  mov.u32 %r1, %tid.x;
  cvt.rn.f32.u32 %f1, %r1;
  mul.wide.u32 %rd3, %r1, 16;
  add.u64 %rd2, %rd2, %rd3;
{}
  ret;
}}
)",
                     body);
}

class TextureCodegen : public ::testing::Test {
 protected:
  static constexpr uint32_t kThreads = 32;

  TextureCodegen() : out_(runner_.Allocate<uint32_t>(kThreads * 4)) {}

  // Texels 0, 1, 2, … of these extents.
  ImageDescription Texels(ChannelFormat format, uint32_t width, uint32_t height = 0, uint32_t depth = 0) {
    const size_t count = size_t{width} * std::max(height, 1U) * std::max(depth, 1U) * format.channels;
    ImageDescription image{.kind = ImageKind::kArray, .format = format};
    if (format.kind == ChannelKind::kFloat) {
      std::vector<float> values(count);
      for (size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i);
      image.base = reinterpret_cast<DeviceAddress>(memory_ = reinterpret_cast<uint32_t*>(runner_.Upload(values)));
    } else {
      std::vector<uint32_t> values(count);
      for (size_t i = 0; i < count; ++i) values[i] = static_cast<uint32_t>(i);
      image.base = reinterpret_cast<DeviceAddress>(memory_ = runner_.Upload(values));
    }
    image.width = width;
    image.height = height;
    image.depth = depth;
    image.row_pitch = uint64_t{width} * format.TexelBytes();
    image.slice_pitch = image.row_pitch * std::max(height, 1U);
    return image;
  }
  TextureHandle Texture(const ImageDescription& image, FilterMode filter = FilterMode::kPoint) {
    return runner_.services().images.Add(MakeImage(TextureDescription{.image = image, .filter = filter})).value();
  }
  TextureHandle Surface(const ImageDescription& image) {
    return runner_.services().images.Add(MakeImage(image)).value();
  }

  // Runs `body` in all four ways, or the first of them; what thread i wrote to its 16 bytes must be the same in all.
  std::vector<std::vector<uint32_t>> RunAll(const std::string& body, uint64_t handle, int ways = 4) {
    std::vector<std::vector<uint32_t>> first;
    for (int way = 0; way < ways; ++way) {
      SCOPED_TRACE(fmt::format("way {}", way));
      std::fill(out_, out_ + kThreads * 4, 0);
      const absl::Status status = RunOnce(body, handle, way);
      EXPECT_TRUE(status.ok()) << status;
      std::vector<std::vector<uint32_t>> results;
      for (uint32_t i = 0; i < kThreads; ++i) results.emplace_back(out_ + 4 * i, out_ + 4 * i + 4);
      if (way == 0) first = results;
      EXPECT_EQ(results, first);
    }
    return first;
  }
  // 0: in lanes; 1: in blocks too narrow for them; 2: on suspendable threads; 3: in regions.
  absl::Status RunOnce(const std::string& body, uint64_t handle, int way) {
    const Parameters parameters = Parameters().Add(handle).Add(out_);
    if (way == 1) {
      std::string narrow = TextureKernel(body);
      const std::string thread = "mov.u32 %r1, %tid.x;";
      narrow.replace(narrow.find(thread), thread.size(), "mov.u32 %r1, %ctaid.x;");
      return runner_.RunByShape(narrow, "k", {kThreads}, {1}, parameters);
    }
    const std::string text = TextureKernel((way >= 2 ? "  bar.sync 0;\n" : "") + body);
    if (way == 3) return runner_.RunByShape(text, "k", {1}, {kThreads}, parameters);
    return runner_.Run(text, "k", {1}, {kThreads}, parameters);
  }
  CudaError FaultOf(const std::string& body, uint64_t handle) {
    CudaError error = CudaError::kSuccess;
    for (int way = 0; way < 4; ++way) {
      const CudaError now = CudaErrorOf(RunOnce(body, handle, way));
      EXPECT_TRUE(way == 0 || now == error) << "way " << way;
      error = now;
    }
    return error;
  }
  std::string RefusalOf(const std::string& body) {
    const auto kernel = runner_.Compile(TextureKernel(body), "k");
    EXPECT_EQ(kernel.status().code(), absl::StatusCode::kUnimplemented) << kernel.status();
    EXPECT_EQ(CudaErrorOf(kernel.status()), CudaError::kUnsupportedPtx);
    return std::string(Message(kernel.status()));
  }

  KernelRunner runner_;
  uint32_t* out_;
  uint32_t* memory_ = nullptr;
};

constexpr char kStore[] = "  st.global.v4.f32 [%rd2], {%f2, %f3, %f4, %f5};\n";

uint32_t FloatOf(double value) { return std::bit_cast<uint32_t>(static_cast<float>(value)); }

TEST_F(TextureCodegen, FetchesByIntegersAndFloats) {
  const TextureHandle texture = Texture(Texels(kFloats, 40));
  auto got = RunAll(std::string("  tex.1d.v4.f32.s32 {%f2, %f3, %f4, %f5}, [%rd1, {%r1}];\n") + kStore, texture);
  for (uint32_t i = 0; i < kThreads; ++i) EXPECT_THAT(got[i], ElementsAre(FloatOf(i), 0, 0, 0));
  got = RunAll(std::string("  tex.1d.v4.f32.f32 {%f2, %f3, %f4, %f5}, [%rd1, {%f1}];\n") + kStore, texture);
  for (uint32_t i = 0; i < kThreads; ++i) EXPECT_THAT(got[i], ElementsAre(FloatOf(i), 0, 0, 0));
}

TEST_F(TextureCodegen, FiltersInTwoAndThreeDimensions) {
  const std::string half = "  add.f32 %f6, %f1, 0f3F800000; mov.f32 %f7, 0f3F800000;\n";  // 1.0
  auto got = RunAll(half + "  tex.2d.v4.f32.f32 {%f2, %f3, %f4, %f5}, [%rd1, {%f6, %f7}];\n" + kStore,
                    Texture(Texels({ChannelKind::kFloat, 32, 2}, 40, 2), FilterMode::kLinear));
  // Between texels i and i + 1 of both rows: channel c of texel (x, y) is 2 * (40 * y + x) + c.
  for (uint32_t i = 0; i < kThreads; ++i) {
    EXPECT_THAT(got[i], ElementsAre(FloatOf(2 * (20 + i + 0.5)), FloatOf(2 * (20 + i + 0.5) + 1), 0, 0));
  }
  got = RunAll(half + "  tex.3d.v4.f32.f32 {%f2, %f3, %f4, %f5}, [%rd1, {%f6, %f7, %f7, %f7}];\n" + kStore,
               Texture(Texels(kFloats, 40, 2, 2), FilterMode::kLinear));
  for (uint32_t i = 0; i < kThreads; ++i) EXPECT_EQ(got[i][0], FloatOf(i + 0.5 + 20 + 40));
}

TEST_F(TextureCodegen, LayersLevelsAndGradients) {
  ImageDescription image = Texels(kFloats, 40, 2, 3);
  image.layered = true;
  const TextureHandle texture = Texture(image);
  const std::string before = "  mov.u32 %r3, 2; mov.f32 %f6, 0f3FC00000;\n";  // 1.5
  for (const char* fetch :
       {"tex.a2d.v4.f32.f32 {%f2, %f3, %f4, %f5}, [%rd1, {%r3, %f1, %f6, %f6}];",
        "tex.level.a2d.v4.f32.f32 {%f2, %f3, %f4, %f5}, [%rd1, {%r3, %f1, %f6, %f6}], %f6;",
        "tex.grad.a2d.v4.f32.f32 {%f2, %f3, %f4, %f5}, [%rd1, {%r3, %f1, %f6, %f6}], {%f6, %f6}, {%f6, %f6};",
        "tex.base.a2d.v4.f32.f32 {%f2, %f3, %f4, %f5}|%p1, [%rd1, {%r3, %f1, %f6, %f6}];\n  @!%p1 trap;"}) {
    const auto got = RunAll(before + "  " + fetch + "\n" + kStore, texture);
    for (uint32_t i = 0; i < kThreads; ++i) EXPECT_EQ(got[i][0], FloatOf(2 * 80 + 40 + i)) << fetch;
  }
  ImageDescription row = Texels(kFloats, 40, 0, 3);
  row.layered = true;
  const auto got = RunAll(
      "  mov.u32 %r3, 1;\n  tex.a1d.v4.f32.f32 {%f2, %f3, %f4, %f5}, [%rd1, {%r3, %f1}];\n" + std::string(kStore),
      Texture(row));
  for (uint32_t i = 0; i < kThreads; ++i) EXPECT_EQ(got[i][0], FloatOf(40 + i));
}

// Thread i asks for level i / 8 of an array of 32 x 8 texels, each of which is its level.
TEST_F(TextureCodegen, LevelsByNumberAndByGradients) {
  TextureDescription described{.image = Texels(kFloats, 40 * 40)};
  described.image.base = (described.image.base + kTextureAlignment - 1) / kTextureAlignment * kTextureAlignment;
  described.image.width = 32;
  described.image.height = 8;
  LayOutArray(&described.image);
  described.normalized_coordinates = true;
  described.mipmap = {.levels = 4, .highest = 3};
  for (uint32_t level = 0; level < 4; ++level) {
    const ImageDescription at = LevelOf(described.image, level);
    for (uint64_t byte = 0; byte < BytesOf(at); byte += 4) *reinterpret_cast<float*>(at.base + byte) = float(level);
  }
  const TextureHandle texture = runner_.services().images.Add(MakeImage(described)).value();
  const std::string before =
      "  shr.u32 %r3, %r1, 3; cvt.rn.f32.u32 %f6, %r3; ex2.approx.f32 %f7, %f6; mul.f32 %f7, %f7, 0f3D000000;\n"
      "  mov.f32 %f8, 0f3F000000; mov.f32 %f9, 0f00000000;\n";  // 2^level / 32, 0.5 and 0
  for (const char* fetch :
       {"tex.level.2d.v4.f32.f32 {%f2, %f3, %f4, %f5}, [%rd1, {%f8, %f8}], %f6;",
        "tex.grad.2d.v4.f32.f32 {%f2, %f3, %f4, %f5}, [%rd1, {%f8, %f8}], {%f7, %f9}, {%f9, %f9};",
        "tex.grad.2d.v4.f32.f32 {%f2, %f3, %f4, %f5}, [%rd1, {%f8, %f8}], {%f9, %f9}, {%f7, %f9};"}) {
    const auto got = RunAll(before + "  " + fetch + "\n" + kStore, texture);
    for (uint32_t i = 0; i < kThreads; ++i) EXPECT_EQ(got[i][0], FloatOf(i / 8)) << fetch;
  }
  // Without a level it is the first.
  const auto got = RunAll(before + "  tex.2d.v4.f32.f32 {%f2, %f3, %f4, %f5}, [%rd1, {%f8, %f8}];\n" + kStore, texture);
  for (uint32_t i = 0; i < kThreads; ++i) EXPECT_EQ(got[i][0], 0u);
  const auto levels = RunAll("  txq.num_mipmap_levels.b32 %r4, [%rd1];\n  st.global.u32 [%rd2], %r4;\n", texture);
  EXPECT_EQ(levels[0][0], 4u);
}

TEST_F(TextureCodegen, Cubes) {
  ImageDescription image = Texels(kFloats, 2, 2, 12);
  image.cubemap = image.layered = true;
  const std::string before = "  neg.f32 %f6, %f1; sub.f32 %f6, %f6, 0f3F800000; mov.f32 %f7, 0f00000000;\n";
  auto got = RunAll(before + "  tex.cube.v4.f32.f32 {%f2, %f3, %f4, %f5}, [%rd1, {%f6, %f7, %f7, %f7}];\n" + kStore,
                    Texture(image));
  for (uint32_t i = 0; i < kThreads; ++i) EXPECT_EQ(got[i][0], FloatOf(4 + 3));  // face 1, its middle
  got = RunAll(before + "  mov.u32 %r3, 1;\n" +
                   "  tex.acube.v4.f32.f32 {%f2, %f3, %f4, %f5}, [%rd1, {%r3, %f6, %f7, %f7}];\n" + kStore,
               Texture(image));
  for (uint32_t i = 0; i < kThreads; ++i) EXPECT_EQ(got[i][0], FloatOf(24 + 4 + 3));
}

TEST_F(TextureCodegen, IntegersGathersAndQueries) {
  const TextureHandle texture = Texture(Texels({ChannelKind::kUnsigned, 32, 4}, 40, 3));
  const std::string store = "  st.global.v4.u32 [%rd2], {%r4, %r5, %r6, %r7};\n";
  auto got = RunAll("  tex.2d.v4.u32.f32 {%r4, %r5, %r6, %r7}, [%rd1, {%f1, %f1}];\n" + store, texture);
  EXPECT_THAT(got[1], ElementsAre(4 * 41, 4 * 41 + 1, 4 * 41 + 2, 4 * 41 + 3));
  got = RunAll(
      "  add.f32 %f6, %f1, 0f3F800000; mov.f32 %f7, 0f3F800000;\n"
      "  tld4.b.2d.v4.s32.f32 {%r4, %r5, %r6, %r7}, [%rd1, {%f6, %f7}];\n" +
          store,
      texture);
  for (uint32_t i = 0; i < kThreads; ++i) {
    EXPECT_THAT(got[i], ElementsAre(4 * (40 + i) + 2, 4 * (41 + i) + 2, 4 * (i + 1) + 2, 4 * i + 2));
  }
  got = RunAll(
      "  txq.width.b32 %r4, [%rd1]; txq.height.b32 %r5, [%rd1]; txq.depth.b32 %r6, [%rd1];\n"
      "  txq.normalized_coords.b32 %r7, [%rd1];\n" +
          store,
      texture);
  EXPECT_THAT(got[5], ElementsAre(40, 3, 0, 0));
  ImageDescription layers = Texels(kFloats, 8, 4, 5);
  layers.layered = true;
  got = RunAll(
      "  suq.width.b32 %r4, [%rd1]; suq.height.b32 %r5, [%rd1]; suq.array_size.b32 %r6, [%rd1];\n"
      "  suq.depth.b32 %r7, [%rd1];\n" +
          store,
      Surface(layers));
  EXPECT_THAT(got[5], ElementsAre(8, 4, 5, 0));
}

TEST_F(TextureCodegen, SurfacesAreReadAndWrittenInEveryWidth) {
  const std::string address = "  shl.b32 %r3, %r1, 4; mov.u32 %r4, 1; mov.u32 %r5, 2;\n";
  for (const auto& [type, list] :
       std::vector<std::pair<std::string, std::string>>{{"b8", "{%rs1}"},
                                                        {"v2.b8", "{%rs1, %rs2}"},
                                                        {"v4.b8", "{%rs1, %rs2, %rs3, %rs4}"},
                                                        {"b16", "{%rs1}"},
                                                        {"v2.b16", "{%rs1, %rs2}"},
                                                        {"v4.b16", "{%rs1, %rs2, %rs3, %rs4}"},
                                                        {"b32", "{%r10}"},
                                                        {"v2.b32", "{%r10, %r11}"},
                                                        {"v4.b32", "{%r10, %r11, %r12, %r13}"},
                                                        {"b64", "{%rd10}"},
                                                        {"v2.b64", "{%rd10, %rd11}"}}) {
    SCOPED_TRACE(type);
    const size_t dot = type.find('.');
    const uint32_t elements = dot == std::string::npos ? 1 : static_cast<uint32_t>(type[1] - '0');
    const uint32_t bytes = static_cast<uint32_t>(std::stoul(type.substr(type.find('b') + 1))) / 8 * elements;
    // Row 1 of layer 2 to row 0 of layer 0, at the place of the thread.
    ImageDescription image = Texels({ChannelKind::kUnsigned, 32, 4}, kThreads, 2, 3);
    image.layered = true;
    const TextureHandle surface = Surface(image);
    RunAll(address + fmt::format("  suld.b.a2d.{}.trap {}, [%rd1, {{%r5, %r3, %r4, %r4}}];\n", type, list) +
               "  mov.u32 %r4, 0;\n" +
               fmt::format("  sust.b.a2d.{}.trap [%rd1, {{%r4, %r3, %r4, %r4}}], {};\n", type, list),
           surface, type == "v4.b32" ? 4 : 1);
    for (uint32_t i = 0; i < kThreads; ++i) {
      for (uint32_t byte = 0; byte < 16; ++byte) {
        const auto at = [&](uint32_t texel) { return reinterpret_cast<uint8_t*>(memory_)[16 * texel + byte]; };
        const uint32_t word = byte < bytes ? 4 * (2 * 64 + 32 + i) + byte / 4 : 4 * i + byte / 4;
        ASSERT_EQ(at(i), reinterpret_cast<const uint8_t*>(&word)[byte % 4]) << "thread " << i << ", byte " << byte;
      }
    }
  }
}

TEST_F(TextureCodegen, SurfacesInOneAndThreeDimensions) {
  const std::string load = "  st.global.u32 [%rd2], %r6;\n";
  auto got = RunAll("  shl.b32 %r3, %r1, 2;\n  suld.b.1d.b32.clamp {%r6}, [%rd1, {%r3}];\n" + load,
                    Surface(Texels({ChannelKind::kUnsigned, 32, 1}, 8)));
  for (uint32_t i = 0; i < kThreads; ++i) EXPECT_EQ(got[i][0], std::min(i, 7U));
  got = RunAll(
      "  mov.u32 %r3, 4; shr.u32 %r4, %r1, 2;\n"
      "  suld.b.3d.b32.zero {%r6}, [%rd1, {%r3, %r4, %r4, %r4}];\n" +
          load,
      Surface(Texels({ChannelKind::kUnsigned, 32, 1}, 2, 3, 3)));
  for (uint32_t i = 0; i < kThreads; ++i) EXPECT_EQ(got[i][0], i / 4 < 3 ? i / 4 * (2 + 6) + 1 : 0);
}

// A branch of only some threads: the others' coordinates and handles are not used.
TEST_F(TextureCodegen, ThreadsThatAreNotThereDoNotFetch) {
  const auto got = RunAll(
      "  and.b32 %r3, %r1, 1; setp.eq.u32 %p1, %r3, 0; selp.b64 %rd4, %rd1, 12345, %p1;\n"
      "  mov.f32 %f2, 0fBF800000;\n"
      "  @%p1 tex.1d.v4.f32.f32 {%f2, %f3, %f4, %f5}, [%rd4, {%f1}];\n  st.global.f32 [%rd2], %f2;\n",
      Texture(Texels(kFloats, 40)));
  for (uint32_t i = 0; i < kThreads; ++i) EXPECT_EQ(got[i][0], FloatOf(i % 2 == 0 ? i : -1.0));
}

TEST_F(TextureCodegen, RunsInLanes) {
  const std::string body = std::string("  tex.2d.v4.f32.f32 {%f2, %f3, %f4, %f5}, [%rd1, {%f1, %f1}];\n") + kStore;
  const auto module = ptx::Parse(TextureKernel(body));
  ASSERT_TRUE(module.ok());
  EXPECT_EQ(Explain(**module, "k", {32}).value().way, KernelForm::kLanes);
  const auto waiting = ptx::Parse(TextureKernel("  bar.sync 0;\n" + body));
  ASSERT_TRUE(waiting.ok());
  EXPECT_EQ(Explain(**waiting, "k", {32}).value().way, KernelForm::kRegions);
}

// --- what cannot be reached ---

constexpr char kFetch[] = "  tex.1d.v4.f32.s32 {%f2, %f3, %f4, %f5}, [%rd1, {%r1}];\n  st.global.f32 [%rd2], %f2;\n";
constexpr char kPut[] = "  shl.b32 %r3, %r1, 2;\n  sust.b.1d.b32.trap [%rd1, {%r3}], {%r1};\n";
constexpr char kGet[] =
    "  shl.b32 %r3, %r1, 2;\n  suld.b.1d.b32.trap {%r4}, [%rd1, {%r3}];\n"
    "  st.global.u32 [%rd2], %r4;\n";

TEST_F(TextureCodegen, HandlesThatAreNoneFault) {
  const ImageDescription image = Texels(kFloats, 40);
  const TextureHandle texture = Texture(image), surface = Surface(image);
  const Image on_heap = MakeImage(TextureDescription{.image = image});
  for (const uint64_t forged :
       {uint64_t{0}, surface + 1, texture + ImageTable::kMost, ~uint64_t{0}, image.base,
        reinterpret_cast<uint64_t>(&on_heap), reinterpret_cast<uint64_t>(&runner_.services().images)}) {
    for (const char* body : {kFetch, kPut, kGet}) EXPECT_EQ(FaultOf(body, forged), CudaError::kIllegalAddress);
    EXPECT_EQ(FaultOf("  txq.width.b32 %r4, [%rd1];\n  st.global.u32 [%rd2], %r4;\n", forged),
              CudaError::kIllegalAddress);
  }
  // Nor is a texture a surface.
  EXPECT_EQ(FaultOf(kFetch, surface), CudaError::kIllegalAddress);
  EXPECT_EQ(FaultOf(kPut, texture), CudaError::kIllegalAddress);
  EXPECT_EQ(FaultOf(kFetch, texture), CudaError::kSuccess);
  EXPECT_EQ(FaultOf(kPut, surface), CudaError::kSuccess);
  ASSERT_TRUE(runner_.services().images.Retire(texture, false));
  runner_.services().images.Release(texture);
  EXPECT_EQ(FaultOf(kFetch, texture), CudaError::kIllegalAddress);
}

TEST_F(TextureCodegen, MemoryThatIsGoneFaults) {
  Memory& memory = runner_.memory();
  const DeviceAddress base = memory.Allocate(4096).value();
  ImageDescription image{.kind = ImageKind::kArray, .format = kFloats, .base = base, .width = 40};
  const TextureHandle texture = Texture(image), surface = Surface(image);
  EXPECT_EQ(FaultOf(kFetch, texture), CudaError::kSuccess);
  EXPECT_EQ(FaultOf(kGet, surface), CudaError::kSuccess);
  memory.Decommit(base, memory.Unmap(base).value());
  EXPECT_EQ(FaultOf(kFetch, texture), CudaError::kIllegalAddress);
  EXPECT_EQ(FaultOf(kGet, surface), CudaError::kIllegalAddress);
  EXPECT_EQ(FaultOf(kPut, surface), CudaError::kIllegalAddress);
  // The next kernel runs as ever.
  EXPECT_EQ(FaultOf(kFetch, Texture(Texels(kFloats, 40))), CudaError::kSuccess);
}

TEST_F(TextureCodegen, SurfacesDoNotReachBeyondThemselves) {
  std::vector<uint32_t> guarded(96, 7);
  uint32_t* memory = runner_.Upload(guarded);
  const ImageDescription image{.kind = ImageKind::kArray,
                               .format = {ChannelKind::kUnsigned, 32, 1},
                               .base = reinterpret_cast<DeviceAddress>(memory + 32),
                               .width = 32};
  const TextureHandle surface = Surface(image);
  for (const char* bounds : {"clamp", "zero", "trap"}) {
    const std::string load = "  ld.global.u32 %r3, [%rd2]; mov.u32 %r4, 9; mov.u64 %rd4, 9;\n";
    for (const std::string& body :
         {load + fmt::format("  sust.b.1d.b32.{} [%rd1, {{%r3}}], {{%r4}};\n", bounds),
          load + fmt::format("  sust.b.1d.v2.b64.{} [%rd1, {{%r3}}], {{%rd4, %rd4}};\n", bounds)}) {
      for (const uint32_t offset : {0x7ffffffcU, 0x80000000U, 0xfffffffcU, 0x80000010U, 124U, 125U, 128U, 256U}) {
        std::fill(out_, out_ + kThreads * 4, offset);
        RunOnce(body, surface, 0).IgnoreError();
      }
    }
  }
  EXPECT_EQ(memory[63], 9U);
  for (size_t i = 0; i < 32; ++i) {
    ASSERT_EQ(memory[i], 7U);
    ASSERT_EQ(memory[64 + i], 7U);
  }
}

TEST_F(TextureCodegen, WhatIsNotKnownIsRefused) {
  EXPECT_THAT(RefusalOf("  tex.2dms.v4.f32.s32 {%f2, %f3, %f4, %f5}, [%rd1, {%r1, %r1, %r1, %r1}];\n"),
              HasSubstr("geometry"));
  EXPECT_THAT(RefusalOf("  tex.1d.v2.f16x2.f32 {%r2, %r3}, [%rd1, {%f1}];\n"), HasSubstr("four channels"));
  EXPECT_THAT(RefusalOf("  tex.2d.v4.f32.f32 {%f2, %f3, %f4, %f5}, [%rd1, {%f1, %f1}], {%r1, %r1};\n"),
              HasSubstr("operands"));
  EXPECT_THAT(RefusalOf("  tex.3d.v4.f32.f32 {%f2, %f3, %f4, %f5}, [%rd1, {%f1, %f1, %f1, %f1}], %f1;\n"),
              HasSubstr("operands"));
  EXPECT_THAT(RefusalOf("  txq.channel_order.b32 %r2, [%rd1];\n"), HasSubstr("query"));
  EXPECT_THAT(RefusalOf("  sust.p.1d.b32.trap [%rd1, {%r1}], {%r1};\n"), HasSubstr("formatted"));
  EXPECT_THAT(RefusalOf("  sured.b.add.1d.u32.trap [%rd1, {%r1}], %r1;\n"), HasSubstr("sured"));
}

}  // namespace
}  // namespace wharf::device::soft::testing
