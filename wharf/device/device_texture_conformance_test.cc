// Textures and surfaces, on every driver; on a GPU those that it can have. The kernels are testing/texture_kernels.cu.
// What a fetch computes for every format, mode and filter: soft/runtime/texture_test.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "wharf/device/device_conformance.h"
#include "wharf/device/testing/generated/texture_kernels_ptx.h"
#include "wharf/device/texture.h"

namespace wharf::device {
namespace {

using ::testing::ElementsAre;

constexpr ModuleId kTextureModule = 1;
constexpr ChannelFormat kOneFloat{ChannelKind::kFloat, 32, 1};

class TextureKernelConformance : public DeviceConformance {
 protected:
  void SetUp() override {
    DeviceConformance::SetUp();
    if (device_ == nullptr) return;
    ASSERT_EQ(device_->LoadModule(kTextureModule, BytesOf(kTextureKernels)), absl::OkStatus());
  }
  // Arguments of 4 or 8 bytes, one after the other at multiples of their sizes.
  template <typename... Arguments>
  absl::Status Launch(const std::string& kernel, uint32_t threads, Arguments... arguments) {
    std::vector<std::byte> parameters;
    const auto add = [&](auto value) {
      static_assert(sizeof(value) == 4 || sizeof(value) == 8);
      const size_t at = (parameters.size() + sizeof value - 1) / sizeof value * sizeof value;
      parameters.resize(at + sizeof value);
      std::memcpy(parameters.data() + at, &value, sizeof value);
    };
    (add(arguments), ...);
    EXPECT_EQ(device_->DefineFunction(++last_function_, kTextureModule, kernel), absl::OkStatus());
    return device_->Launch(kDefaultStream, last_function_, {{1}, {threads}}, std::move(parameters));
  }
  // Four channels of floats: (x, y, 10 * x, 1). Pitched as GPUs want it.
  TextureDescription Ramp(DeviceAddress at, uint32_t width, uint32_t height) {
    const uint32_t pitch = (width * 16 + 511) / 512 * 512;
    std::vector<float> values(pitch / 4 * height);
    for (uint32_t y = 0; y < height; ++y) {
      for (uint32_t x = 0; x < width; ++x) {
        const std::array<float, 4> texel{static_cast<float>(x), static_cast<float>(y), 10 * static_cast<float>(x), 1};
        std::copy(texel.begin(), texel.end(), values.begin() + y * pitch / 4 + x * 4);
      }
    }
    EXPECT_EQ(Write(at, values), absl::OkStatus());
    ImageDescription image{.kind = ImageKind::kPitched, .format = {ChannelKind::kFloat, 32, 4}, .base = at};
    image.width = width;
    image.height = height;
    image.row_pitch = pitch;
    return {.image = image};
  }

  FunctionId last_function_ = 0;
};

TEST_P(TextureKernelConformance, PointsAreFetchedByModeOfAddress) {
  const DeviceAddress memory = MapSlot(0), out = MapSlot(1);
  TextureDescription description = Ramp(memory, 8, 4);
  description.border = {-1, -2, -3, -4};
  struct Case {
    AddressMode mode;
    bool normalized;
    std::vector<float> columns;  // of texels -2.5, -1.5, … 9.5
  };
  for (const Case& c : {Case{AddressMode::kClamp, false, {0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 7, 7}},
                        Case{AddressMode::kBorder, false, {-1, -1, -1, 0, 1, 2, 3, 4, 5, 6, 7, -1, -1}},
                        Case{AddressMode::kWrap, true, {5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7, 0, 1}},
                        Case{AddressMode::kMirror, true, {2, 1, 0, 0, 1, 2, 3, 4, 5, 6, 7, 7, 6}}}) {
    description.address.fill(c.mode);
    description.normalized_coordinates = c.normalized;
    const absl::StatusOr<TextureHandle> texture = device_->CreateTexture(description);
    ASSERT_TRUE(texture.ok()) << texture.status();
    EXPECT_NE(*texture, 0);
    const float x_unit = c.normalized ? 1.0F / 8 : 1, y_unit = c.normalized ? 1.0F / 4 : 1;
    ASSERT_EQ(Launch("fetch_2d", 32, out, *texture, -2.5F * x_unit, 2.5F * y_unit, x_unit, 0.F, 13U), absl::OkStatus());
    const std::vector<float> got = Read<float>(out, size_t{13} * 4);
    for (size_t i = 0; i < 13; ++i) {
      EXPECT_EQ(got[4 * i], c.columns[i]) << static_cast<int>(c.mode) << " at " << i;
      EXPECT_EQ(got[4 * i + 1], c.columns[i] < 0 ? -2 : 2);
    }
    EXPECT_EQ(device_->DestroyTexture(*texture), absl::OkStatus());
  }
}

TEST_P(TextureKernelConformance, LinearFilteringIsBetweenTexels) {
  const DeviceAddress memory = MapSlot(0), out = MapSlot(1);
  TextureDescription description = Ramp(memory, 8, 4);
  description.filter = FilterMode::kLinear;
  const absl::StatusOr<TextureHandle> texture = device_->CreateTexture(description);
  ASSERT_TRUE(texture.ok()) << texture.status();
  ASSERT_EQ(Launch("fetch_2d", 32, out, *texture, 1.F, 1.F, 0.25F, 0.125F, 16U), absl::OkStatus());
  const std::vector<float> got = Read<float>(out, size_t{16} * 4);
  for (size_t i = 0; i < 16; ++i) {
    const float x = 0.5F + 0.25F * static_cast<float>(i), y = 0.5F + 0.125F * static_cast<float>(i);
    EXPECT_NEAR(got[4 * i], x, 1e-3);
    EXPECT_NEAR(got[4 * i + 1], y, 1e-3);
    EXPECT_NEAR(got[4 * i + 2], 10 * x, 1e-2);
    EXPECT_NEAR(got[4 * i + 3], 1, 1e-3);
  }
}

TEST_P(TextureKernelConformance, LinearMemoryIsFetchedByIndex) {
  const DeviceAddress memory = MapSlot(0), out = MapSlot(1);
  ASSERT_EQ(Write(memory, Iota<float>(32, 100)), absl::OkStatus());
  const ImageDescription image{.format = kOneFloat, .base = memory, .width = 32};
  const absl::StatusOr<TextureHandle> texture = device_->CreateTexture({.image = image});
  ASSERT_TRUE(texture.ok()) << texture.status();
  ASSERT_EQ(Launch("fetch_linear", 64, out, *texture, -16, 64U), absl::OkStatus());
  const std::vector<float> got = Read<float>(out, 64);
  for (size_t i = 0; i < 64; ++i) EXPECT_EQ(got[i], i < 16 || i >= 48 ? 0 : 100 + static_cast<float>(i) - 16) << i;
  // What the memory holds later is what is fetched then.
  ASSERT_EQ(Write(memory, Iota<float>(32, 500)), absl::OkStatus());
  ASSERT_EQ(Launch("fetch_linear", 32, out, *texture, 0, 32U), absl::OkStatus());
  EXPECT_EQ(Read<float>(out, 32), Iota<float>(32, 500));
}

TEST_P(TextureKernelConformance, HandlesMayLieInMemory) {
  const DeviceAddress memory = MapSlot(0), handles = MapSlot(1), out = MapSlot(2);
  std::vector<TextureHandle> textures;
  for (uint32_t i = 0; i < 40; ++i) {
    ASSERT_EQ(Write(memory + uint64_t{512} * (i % 8), std::vector<float>{static_cast<float>(i % 8)}), absl::OkStatus());
    const ImageDescription image{.format = kOneFloat, .base = memory + uint64_t{512} * (i % 8), .width = 1};
    textures.push_back(device_->CreateTexture({.image = image}).value());
  }
  ASSERT_EQ(Write(handles, textures), absl::OkStatus());
  ASSERT_EQ(Launch("fetch_each", 64, out, handles, 40U), absl::OkStatus());
  const std::vector<float> got = Read<float>(out, 40);
  for (size_t i = 0; i < 40; ++i) EXPECT_EQ(got[i], i % 8);
  // In stream order: destroyed behind the launch, which finds all of them.
  ASSERT_EQ(Launch("fetch_each", 64, out, handles, 40U), absl::OkStatus());
  for (const TextureHandle texture : textures) EXPECT_EQ(device_->DestroyTexture(texture), absl::OkStatus());
  EXPECT_EQ(Wait(), absl::OkStatus());
  EXPECT_EQ(CudaErrorOf(device_->DestroyTexture(textures[0])), CudaError::kInvalidHandle);
}

TEST_P(TextureKernelConformance, WrongDescriptionsAreRefused) {
  const DeviceAddress memory = MapSlot(0);
  const auto expect = [&](const TextureDescription& description, CudaError error) {
    EXPECT_EQ(CudaErrorOf(device_->CreateTexture(description).status()), error);
  };
  const TextureDescription right = Ramp(memory, 8, 4);
  TextureDescription wrong = right;
  wrong.image.width = 0;
  expect(wrong, CudaError::kInvalidValue);
  wrong = right;
  wrong.image.format.channels = 3;
  expect(wrong, CudaError::kInvalidValue);
  wrong = right;
  wrong.image.row_pitch = 64;
  expect(wrong, CudaError::kInvalidValue);
  // Memory that is not mapped, and that would end beyond all addresses.
  wrong = right;
  wrong.image.base = Slot(9);
  expect(wrong, CudaError::kInvalidValue);
  wrong.image.base = memory + Granularity() - 512;
  expect(wrong, CudaError::kInvalidValue);
  wrong.image.base = ~uint64_t{0} - 511;
  expect(wrong, CudaError::kInvalidValue);
  wrong = right;
  wrong.image.format = {ChannelKind::kSigned, 32, 4};
  wrong.filter = FilterMode::kLinear;
  expect(wrong, CudaError::kInvalidValue);
  // Levels that go beyond what is mapped.
  wrong = Ramp(memory, 8, 4);
  wrong.normalized_coordinates = true;
  wrong.image.base = memory + Granularity() - 512;
  wrong.mipmap.levels = 2;
  const CudaError beyond = CudaErrorOf(device_->CreateTexture(wrong).status());
  EXPECT_TRUE(beyond == CudaError::kInvalidValue || beyond == CudaError::kNotSupported);
  EXPECT_EQ(CudaErrorOf(device_->DestroyTexture(12345678)), CudaError::kInvalidHandle);
  EXPECT_EQ(CudaErrorOf(device_->DestroyTexture(0)), CudaError::kInvalidHandle);
  EXPECT_EQ(device_->Fault(), absl::OkStatus());
}

TEST_P(TextureKernelConformance, SurfacesAreWrittenInPlace) {
  const DeviceAddress memory = MapSlot(0);
  ASSERT_EQ(Write(memory, Iota<uint32_t>(64)), absl::OkStatus());
  ImageDescription image{.kind = ImageKind::kArray, .format = {ChannelKind::kUnsigned, 32, 1}, .base = memory};
  image.width = 16;
  image.height = 1;
  image.row_pitch = 64;
  const absl::StatusOr<TextureHandle> from = device_->CreateSurface(image);
  if (absl::IsUnimplemented(from.status())) GTEST_SKIP() << from.status();
  ASSERT_TRUE(from.ok()) << from.status();
  image.base = memory + 128;
  const absl::StatusOr<TextureHandle> to = device_->CreateSurface(image);
  ASSERT_TRUE(to.ok()) << to.status();
  ASSERT_EQ(Launch("mirror_rows", 16, *to, *from, 16, 1), absl::OkStatus());
  const std::vector<uint32_t> got = Read<uint32_t>(memory, 64);
  for (uint32_t i = 0; i < 64; ++i) EXPECT_EQ(got[i], i >= 32 && i < 48 ? 47 - i : i);
  EXPECT_EQ(CudaErrorOf(device_->DestroyTexture(*to)), CudaError::kInvalidHandle);
  EXPECT_EQ(device_->DestroySurface(*to), absl::OkStatus());
  EXPECT_EQ(device_->DestroySurface(*from), absl::OkStatus());
  image.kind = ImageKind::kPitched;
  EXPECT_EQ(CudaErrorOf(device_->CreateSurface(image).status()), CudaError::kInvalidValue);
}

TEST_P(TextureKernelConformance, VolumesAreFetched) {
  const DeviceAddress memory = MapSlot(0), out = MapSlot(1);
  ASSERT_EQ(Write(memory, Iota<float>(4 * 3 * 5)), absl::OkStatus());
  ImageDescription image{.kind = ImageKind::kArray, .format = kOneFloat, .base = memory};
  image.width = 4;
  image.height = 3;
  image.depth = 5;
  image.row_pitch = 16;
  image.slice_pitch = 48;
  const absl::StatusOr<TextureHandle> texture = device_->CreateTexture({.image = image});
  if (absl::IsUnimplemented(texture.status())) GTEST_SKIP() << texture.status();
  ASSERT_TRUE(texture.ok()) << texture.status();
  ASSERT_EQ(Launch("fetch_3d", 32, out, *texture, 2.5F, 1.5F, 6U), absl::OkStatus());
  EXPECT_THAT(Read<float>(out, 6), ElementsAre(6, 18, 30, 42, 54, 54));
}

TEST_P(TextureKernelConformance, HandlesThatAreNoneFault) {
  const DeviceAddress memory = MapSlot(0), out = MapSlot(1);
  if (device_->Properties().driver != "soft") GTEST_SKIP() << "a GPU may fetch anything, within its context";
  ASSERT_EQ(Write(memory, Iota<float>(32)), absl::OkStatus());
  const ImageDescription image{.format = kOneFloat, .base = memory, .width = 32};
  const TextureHandle texture = device_->CreateTexture({.image = image}).value();
  ASSERT_EQ(device_->DestroyTexture(texture), absl::OkStatus());
  ASSERT_EQ(Launch("fetch_linear", 32, out, texture, 0, 32U), absl::OkStatus());
  EXPECT_EQ(CudaErrorOf(Wait()), CudaError::kIllegalAddress);
}

TEST_P(TextureKernelConformance, MemoryThatIsGoneFaults) {
  const DeviceAddress memory = MapSlot(0), out = MapSlot(1);
  const ImageDescription image{.format = kOneFloat, .base = memory, .width = 32};
  const TextureHandle texture = device_->CreateTexture({.image = image}).value();
  ASSERT_EQ(Launch("fetch_linear", 32, out, texture, 0, 32U), absl::OkStatus());
  EXPECT_EQ(device_->Unmap(memory), absl::OkStatus());
  EXPECT_EQ(Wait(), absl::OkStatus());
  ASSERT_EQ(Launch("fetch_linear", 32, out, texture, 0, 32U), absl::OkStatus());
  EXPECT_EQ(CudaErrorOf(Wait()), CudaError::kIllegalAddress);
  EXPECT_EQ(device_->DestroyTexture(texture), absl::OkStatus());
}

INSTANTIATE_TEST_SUITE_P(Drivers, TextureKernelConformance, ::testing::ValuesIn(AllDrivers()), DriverName);

// --- descriptions ---

ImageDescription Volume() {
  ImageDescription image{.kind = ImageKind::kArray, .format = kOneFloat, .base = 4096};
  image.width = 4;
  image.height = 3;
  image.depth = 2;
  image.row_pitch = 32;
  image.slice_pitch = 128;
  return image;
}

TEST(ImageDescription, ReachesFromItsFirstByteToItsLast) {
  ImageDescription image = Volume();
  EXPECT_EQ(CheckImage(image), absl::OkStatus());
  EXPECT_EQ(BytesOf(image), 128 + 2 * 32 + 16);
  image.depth = 0;
  EXPECT_EQ(BytesOf(image), 2 * 32 + 16);
  image.height = 0;
  image.row_pitch = 0;  // of one row it means nothing
  EXPECT_EQ(CheckImage(image), absl::OkStatus());
  EXPECT_EQ(BytesOf(image), 16);
}

TEST(ImageDescription, ThatMakesNoSenseIsRefused) {
  const std::vector<std::pair<const char*, void (*)(ImageDescription&)>> wrong{
      {"width", [](ImageDescription& i) { i.width = 0; }},
      {"large", [](ImageDescription& i) { i.width = 16385; }},
      {"depth without height", [](ImageDescription& i) { i.height = 0; }},
      {"row pitch", [](ImageDescription& i) { i.row_pitch = 15; }},
      {"row pitch of no texels", [](ImageDescription& i) { i.row_pitch = 33; }},
      {"slice pitch", [](ImageDescription& i) { i.slice_pitch = 76; }},
      {"slice pitch beyond all memory", [](ImageDescription& i) { i.slice_pitch = ~uint64_t{0} - 3; }},
      {"row pitch beyond all memory", [](ImageDescription& i) { i.row_pitch = uint64_t{1} << 62; }},
      {"base", [](ImageDescription& i) { i.base = 0; }},
      {"misaligned", [](ImageDescription& i) { i.base = 4098; }},
      {"end", [](ImageDescription& i) { i.base = ~uint64_t{0} - 3; }},
      {"cube", [](ImageDescription& i) { i.cubemap = true; }},
      {"gather", [](ImageDescription& i) { i.gather = true; }},
      {"channels", [](ImageDescription& i) { i.format.channels = 0; }},
      {"bits", [](ImageDescription& i) { i.format.bits = 64; }},
      {"float of 8 bits", [](ImageDescription& i) { i.format.bits = 8; }},
      {"kind of channel", [](ImageDescription& i) { i.format.kind = static_cast<ChannelKind>(9); }},
      {"kind", [](ImageDescription& i) { i.kind = static_cast<ImageKind>(7); }},
      {"linear with rows", [](ImageDescription& i) { i.kind = ImageKind::kLinear; }},
      {"pitched with slices", [](ImageDescription& i) { i.kind = ImageKind::kPitched; }}};
  for (const auto& [name, spoil] : wrong) {
    ImageDescription image = Volume();
    spoil(image);
    EXPECT_EQ(CudaErrorOf(CheckImage(image)), CudaError::kInvalidValue) << name;
    EXPECT_EQ(CudaErrorOf(CheckSurface(image)), CudaError::kInvalidValue) << name;
    EXPECT_EQ(CudaErrorOf(CheckTexture({.image = image})), CudaError::kInvalidValue) << name;
  }
}

TEST(ImageDescription, SamplersAreChecked) {
  TextureDescription texture{.image = Volume()};
  texture.image.format = {ChannelKind::kUnsigned, 16, 1};
  EXPECT_EQ(CheckTexture(texture), absl::OkStatus());
  texture.filter = FilterMode::kLinear;
  EXPECT_EQ(CudaErrorOf(CheckTexture(texture)), CudaError::kInvalidValue);
  texture.read = ReadMode::kNormalizedFloat;
  EXPECT_EQ(CheckTexture(texture), absl::OkStatus());
  texture.image.format.bits = 32;
  EXPECT_EQ(CudaErrorOf(CheckTexture(texture)), CudaError::kInvalidValue);
  texture = {.image = Volume()};
  texture.address[2] = static_cast<AddressMode>(4);
  EXPECT_EQ(CudaErrorOf(CheckTexture(texture)), CudaError::kInvalidValue);
  texture = {.image = Volume()};
  texture.filter = static_cast<FilterMode>(2);
  EXPECT_EQ(CudaErrorOf(CheckTexture(texture)), CudaError::kInvalidValue);
  texture = {.image = Volume()};
  texture.read = static_cast<ReadMode>(2);
  EXPECT_EQ(CudaErrorOf(CheckTexture(texture)), CudaError::kInvalidValue);
}

// --- levels ---

TEST(Mipmap, LevelsAreHalvedDownToOneTexel) {
  ImageDescription image = Volume();
  image.width = 13;
  image.height = 4;
  image.depth = 5;
  LayOutArray(&image);
  ASSERT_EQ(CheckImage(image), absl::OkStatus());
  EXPECT_EQ(MostLevels(image), 4u);
  const auto extents = [&](uint32_t level) {
    const ImageDescription at = LevelOf(image, level);
    return std::vector<uint32_t>{at.width, at.height, at.depth};
  };
  EXPECT_EQ(extents(0), (std::vector<uint32_t>{13, 4, 5}));
  EXPECT_EQ(extents(1), (std::vector<uint32_t>{6, 2, 2}));
  EXPECT_EQ(extents(2), (std::vector<uint32_t>{3, 1, 1}));
  EXPECT_EQ(extents(3), (std::vector<uint32_t>{1, 1, 1}));
  image.layered = true;  // layers stay, and count for no level
  image.depth = 100;
  LayOutArray(&image);
  EXPECT_EQ(MostLevels(image), 4u);
  EXPECT_EQ(extents(3), (std::vector<uint32_t>{1, 1, 100}));
  image.height = 0;
  image.depth = 0;
  image.layered = false;
  EXPECT_EQ(extents(3), (std::vector<uint32_t>{1, 0, 0}));
}

// Whatever the array: levels are images, aligned, one behind the other, and the bytes of all end with the last.
TEST(Mipmap, LevelsDoNotOverlap) {
  for (const uint8_t channels : {uint8_t{1}, uint8_t{4}}) {
    for (const uint32_t width : {1U, 2U, 31U, 64U, 1000U}) {
      for (const uint32_t height : {0U, 1U, 7U, 129U}) {
        for (const uint32_t depth : {0U, 1U, 6U}) {
          if (height == 0 && depth != 0) continue;
          ImageDescription image{.kind = ImageKind::kArray, .format = {ChannelKind::kUnsigned, 8, channels}};
          image.base = 7 * kTextureAlignment;
          image.width = width;
          image.height = height;
          image.depth = depth;
          LayOutArray(&image);
          uint64_t end = image.base;
          for (uint32_t level = 0; level < MostLevels(image); ++level) {
            const ImageDescription at = LevelOf(image, level);
            ASSERT_EQ(CheckImage(at), absl::OkStatus());
            ASSERT_EQ(at.base % kTextureAlignment, 0u);
            ASSERT_GE(at.base, end);
            ASSERT_LT(at.base, end + kTextureAlignment);
            end = at.base + BytesOf(at);
            ASSERT_EQ(BytesOf(image, level + 1), end - image.base);
            ASSERT_EQ(LevelOf(LevelOf(image, level / 2), level - level / 2), at);
          }
          const ImageDescription last = LevelOf(image, MostLevels(image) - 1);
          ASSERT_EQ(last.width, 1u);
          ASSERT_LE(last.height, 1u);
          ASSERT_LE(last.depth, 1u);
        }
      }
    }
  }
}

TEST(Mipmap, ThatMakesNoSenseIsRefused) {
  TextureDescription right{.image = Volume(), .mipmap = {.levels = 3, .filter = FilterMode::kLinear, .highest = 2}};
  right.normalized_coordinates = true;
  EXPECT_EQ(CheckTexture(right), absl::OkStatus());
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<std::pair<const char*, void (*)(TextureDescription&)>> wrong{
      {"none", [](TextureDescription& t) { t.mipmap.levels = 0; }},
      {"more than there are", [](TextureDescription& t) { t.mipmap.levels = 4; }},
      {"many more", [](TextureDescription& t) { t.mipmap.levels = ~0U; }},
      {"by texels", [](TextureDescription& t) { t.normalized_coordinates = false; }},
      {"filter", [](TextureDescription& t) { t.mipmap.filter = static_cast<FilterMode>(2); }},
      {"of integers",
       [](TextureDescription& t) {
         t.image.format = {ChannelKind::kUnsigned, 32, 1};
       }},
      {"of pitched memory",
       [](TextureDescription& t) {
         t.image.kind = ImageKind::kPitched;
         t.image.depth = 0;
       }},
      {"of gathers",
       [](TextureDescription& t) {
         t.image.gather = true;
         t.image.depth = 0;
       }},
      {"too wide",
       [](TextureDescription& t) {
         t.image.width = 32769;
         t.image.height = t.image.depth = 0;
       }},
      {"beyond all addresses", [](TextureDescription& t) { t.image.base = ~uint64_t{0} - 511; }},
      {"bias", [](TextureDescription& t) { t.mipmap.bias = kNan; }},
      {"lowest", [](TextureDescription& t) { t.mipmap.lowest = kNan; }},
      {"highest", [](TextureDescription& t) { t.mipmap.highest = kNan; }}};
  for (const auto& [name, spoil] : wrong) {
    TextureDescription texture = right;
    spoil(texture);
    EXPECT_EQ(CudaErrorOf(CheckTexture(texture)), CudaError::kInvalidValue) << name;
  }
}

}  // namespace
}  // namespace wharf::device
