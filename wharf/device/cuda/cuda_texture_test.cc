// What the CUDA device asks its driver for when textures are made, on the fake driver.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <future>
#include <span>
#include <string>
#include <vector>

#include "wharf/device/cuda/cuda_device.h"
#include "wharf/device/cuda/texture/texture_object.h"
#include "wharf/device/tensor_map.h"

namespace wharf::device::cuda {
namespace {

constexpr uint64_t kGranule = 2 << 20;

class CudaTextureTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto device = CudaDevice::Create({.memory_quota = 16 * kGranule}, WHARF_FAKE_DRIVER);
    ASSERT_TRUE(device.ok()) << device.status();
    device_ = *std::move(device);
    base_ = device_->Arena().base;
    ASSERT_EQ(device_->Map(base_, kGranule), absl::OkStatus());
    void* library = dlopen(WHARF_FAKE_DRIVER, RTLD_NOW | RTLD_NOLOAD);
    find_ = reinterpret_cast<Find>(dlsym(library, "FakeDriverTexture"));
    ASSERT_NE(find_, nullptr);
    array_bytes_ = reinterpret_cast<ArrayBytes>(dlsym(library, "FakeDriverArray"));
    level_ = reinterpret_cast<LevelOfArray>(dlsym(library, "cuMipmappedArrayGetLevel"));
  }
  // A volume of 3 slices of 2 rows of 4 bytes; rows are 32 bytes apart.
  ImageDescription Volume() const {
    ImageDescription image{.kind = ImageKind::kArray, .format = {ChannelKind::kUnsigned, 8, 1}, .base = base_ + 512};
    image.width = 4;
    image.height = 2;
    image.depth = 3;
    LayOutArray(&image);
    return image;
  }
  // A line of 8 bytes.
  ImageDescription Line(DeviceAddress base) const {
    ImageDescription image{.kind = ImageKind::kArray, .format = {ChannelKind::kUnsigned, 8, 1}, .base = base};
    image.width = 8;
    LayOutArray(&image);
    return image;
  }
  void Write(DeviceAddress to, const std::string& text) {
    std::vector<std::byte> bytes(text.size());
    std::memcpy(bytes.data(), text.data(), text.size());
    ASSERT_EQ(device_->CopyToDevice(kDefaultStream, {to}, {text.size()}, std::move(bytes)), absl::OkStatus());
  }
  std::string Read(DeviceAddress from, size_t count) {
    std::promise<std::string> text;
    EXPECT_EQ(device_->CopyToHost(kDefaultStream, {from}, {count},
                                  [&](const absl::Status& status, const std::vector<std::byte>& data) {
                                    EXPECT_EQ(status, absl::OkStatus());
                                    text.set_value({reinterpret_cast<const char*>(data.data()), data.size()});
                                  }),
              absl::OkStatus());
    return text.get_future().get();
  }
  static std::vector<std::byte> Ptx() {
    const std::string_view text = ".version 7.0\n.target sm_75\n";
    const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
    return {bytes, bytes + text.size()};
  }
  void Finish() {
    std::promise<absl::Status> done;
    ASSERT_EQ(device_->NotifyAll([&](absl::Status status) { done.set_value(std::move(status)); }), absl::OkStatus());
    EXPECT_EQ(done.get_future().get(), absl::OkStatus());
  }
  // What the driver's array holds when all work is done.
  std::span<char> Holds(ArrayHandle array) {
    Finish();
    size_t bytes = 0;
    std::byte* const data = array_bytes_(array, &bytes);
    return {reinterpret_cast<char*>(data), bytes};
  }
  std::string Text(ArrayHandle array) {
    const std::span<char> bytes = Holds(array);
    return {bytes.data(), bytes.size()};
  }
  ArrayHandle ArrayOf(const absl::StatusOr<TextureHandle>& handle, unsigned level = 0) {
    EXPECT_TRUE(handle.ok()) << handle.status();
    EXPECT_TRUE(Exists(*handle));
    ArrayHandle array = resource_.array;
    if (resource_.type == ResourceType::kMipmapped) level_(&array, resource_.mipmapped, level);
    return array;
  }
  ImageDescription Plane() const {
    ImageDescription image{.kind = ImageKind::kPitched, .format = {ChannelKind::kUnsigned, 8, 4}, .base = base_ + 512};
    image.width = 30;
    image.height = 20;
    image.row_pitch = 128;
    return image;
  }
  bool Exists(TextureHandle handle) { return find_(handle, &resource_, &sampler_); }
  void ExpectRefused(const ImageDescription& image) {
    ASSERT_EQ(CheckImage(image), absl::OkStatus());
    EXPECT_EQ(CudaErrorOf(device_->CreateTexture({.image = image}).status()), CudaError::kNotSupported);
  }

  using Find = bool (*)(uint64_t, ResourceDescription*, SamplerDescription*);
  using ArrayBytes = std::byte* (*)(ArrayHandle, size_t*);
  using LevelOfArray = Result (*)(ArrayHandle*, MipmappedArrayHandle, unsigned);
  std::unique_ptr<Device> device_;
  DeviceAddress base_ = 0;
  Find find_ = nullptr;
  ArrayBytes array_bytes_ = nullptr;
  LevelOfArray level_ = nullptr;
  ResourceDescription resource_;
  SamplerDescription sampler_;
};

TEST_F(CudaTextureTest, PlanesArePitchedMemory) {
  TextureDescription texture{.image = Plane(), .filter = FilterMode::kLinear, .read = ReadMode::kNormalizedFloat};
  texture.address = {AddressMode::kMirror, AddressMode::kBorder, AddressMode::kWrap};
  texture.normalized_coordinates = true;
  texture.border = {1, 2, 3, 4};
  const absl::StatusOr<TextureHandle> handle = device_->CreateTexture(texture);
  ASSERT_TRUE(handle.ok()) << handle.status();
  ASSERT_TRUE(Exists(*handle));
  EXPECT_EQ(resource_.type, ResourceType::kPitched);
  EXPECT_EQ(resource_.pitched.address, base_ + 512);
  EXPECT_EQ(resource_.pitched.format, ArrayFormat::kUnsigned8);
  EXPECT_EQ(resource_.pitched.channels, 4);
  EXPECT_EQ(resource_.pitched.width, 30);
  EXPECT_EQ(resource_.pitched.height, 20);
  EXPECT_EQ(resource_.pitched.pitch, 128);
  EXPECT_EQ(sampler_.address[0], 2);
  EXPECT_EQ(sampler_.address[1], 3);
  EXPECT_EQ(sampler_.address[2], 0);
  EXPECT_EQ(sampler_.filter, 1);
  EXPECT_EQ(sampler_.flags, 2);  // normalised coordinates, and no integers
  EXPECT_EQ(sampler_.border[3], 4);
}

TEST_F(CudaTextureTest, LinearMemoryIsRawElements) {
  const ImageDescription image{.format = {ChannelKind::kFloat, 16, 2}, .base = base_, .width = 100};
  const absl::StatusOr<TextureHandle> handle = device_->CreateTexture({.image = image});
  ASSERT_TRUE(handle.ok()) << handle.status();
  ASSERT_TRUE(Exists(*handle));
  EXPECT_EQ(resource_.type, ResourceType::kLinear);
  EXPECT_EQ(resource_.linear.address, base_);
  EXPECT_EQ(resource_.linear.format, ArrayFormat::kHalf);
  EXPECT_EQ(resource_.linear.channels, 2);
  EXPECT_EQ(resource_.linear.bytes, 400);
  EXPECT_EQ(sampler_.flags, 1);
}

TEST_F(CudaTextureTest, FormatsHaveTheDriversNumbers) {
  const auto format = [](ChannelKind kind, uint8_t bits) { return FormatOf({kind, bits, 1}); };
  EXPECT_EQ(format(ChannelKind::kSigned, 8), ArrayFormat::kSigned8);
  EXPECT_EQ(format(ChannelKind::kSigned, 16), ArrayFormat::kSigned16);
  EXPECT_EQ(format(ChannelKind::kSigned, 32), ArrayFormat::kSigned32);
  EXPECT_EQ(format(ChannelKind::kUnsigned, 16), ArrayFormat::kUnsigned16);
  EXPECT_EQ(format(ChannelKind::kUnsigned, 32), ArrayFormat::kUnsigned32);
  EXPECT_EQ(format(ChannelKind::kFloat, 32), ArrayFormat::kFloat);
}

TEST_F(CudaTextureTest, PitchedMemoryMustLieAsGpusWantIt) {
  ImageDescription image = Plane();
  image.base += 256;
  ExpectRefused(image);
  image = Plane();
  image.row_pitch = 132;
  ExpectRefused(image);
}

TEST_F(CudaTextureTest, TensorMapsAreTheDrivers) {
  TensorMapDescription description{.rank = 2, .address = base_};
  const auto words = [](const TensorMap& map) {
    std::array<uint64_t, 2> two;
    std::memcpy(two.data(), map.data(), sizeof two);
    return two;
  };
  EXPECT_EQ(words(device_->EncodeTensorMap(description).value()), (std::array<uint64_t, 2>{1, base_}));
  description.kind = TensorMapKind::kIm2col;
  EXPECT_EQ(CudaErrorOf(device_->EncodeTensorMap(description).status()), CudaError::kInvalidValue);
  description.rank = 4;
  EXPECT_EQ(words(device_->EncodeTensorMap(description).value()), (std::array<uint64_t, 2>{2, base_}));
  description.rank = 6;
  EXPECT_EQ(CudaErrorOf(device_->EncodeTensorMap(description).status()), CudaError::kInvalidValue);
}

TEST_F(CudaTextureTest, MemoryMustBeMapped) {
  ImageDescription image = Plane();
  image.base = base_ + kGranule - 512;
  EXPECT_EQ(CudaErrorOf(device_->CreateTexture({.image = image}).status()), CudaError::kInvalidValue);
  image.base = base_ + 8 * kGranule;
  EXPECT_EQ(CudaErrorOf(device_->CreateTexture({.image = image}).status()), CudaError::kInvalidValue);
  image.base = 512;
  EXPECT_EQ(CudaErrorOf(device_->CreateTexture({.image = image}).status()), CudaError::kInvalidValue);
}

TEST_F(CudaTextureTest, AnArrayHoldsWhatIsWrittenBeforeAndAfter) {
  const ImageDescription image = Volume();
  const auto at = [&](int x, int y, int z) { return image.base + x + y * image.row_pitch + z * image.slice_pitch; };
  Write(at(0, 0, 0), "abcd");
  Write(at(0, 1, 2), "wxyz");
  const ArrayHandle array = ArrayOf(device_->CreateTexture({.image = image}));
  EXPECT_EQ(resource_.type, ResourceType::kArray);
  EXPECT_EQ(Text(array), std::string("abcd") + std::string(16, '\0') + "wxyz");
  Write(at(1, 0, 1), "12");
  ASSERT_EQ(device_->Fill(kDefaultStream, {at(0, 1, 0)}, {4}, 'f', 1), absl::OkStatus());
  ASSERT_EQ(device_->CopyOnDevice(kDefaultStream, {at(0, 0, 2)}, {at(0, 0, 0)}, {4}), absl::OkStatus());
  EXPECT_EQ(Text(array), std::string("abcdffff\0"
                                     "12\0\0\0\0\0abcdwxyz",
                                     24));
}

TEST_F(CudaTextureTest, TexturesAndSurfacesOfOneImageShareAnArray) {
  const absl::StatusOr<TextureHandle> texture = device_->CreateTexture({.image = Volume()});
  const ArrayHandle array = ArrayOf(texture);
  TextureDescription other{.image = Volume(), .filter = FilterMode::kPoint};
  other.address.fill(AddressMode::kBorder);
  EXPECT_EQ(ArrayOf(device_->CreateTexture(other)), array);
  const absl::StatusOr<TextureHandle> surface = device_->CreateSurface(Volume());
  EXPECT_EQ(ArrayOf(surface), array);
  ASSERT_EQ(device_->DestroyTexture(*texture), absl::OkStatus());
  ASSERT_EQ(device_->DestroySurface(*surface), absl::OkStatus());
  EXPECT_EQ(CudaErrorOf(device_->DestroySurface(*surface)), CudaError::kInvalidHandle);
}

TEST_F(CudaTextureTest, WhatASurfaceWroteIsRead) {
  const ImageDescription line = Line(base_ + 512);
  Write(line.base, "abcdefgh");
  const absl::StatusOr<TextureHandle> surface = device_->CreateSurface(line);
  const ArrayHandle array = ArrayOf(surface);
  Holds(array)[1] = 'X';
  EXPECT_EQ(Read(line.base, 8), "aXcdefgh");
  Holds(array)[2] = 'Y';
  Write(line.base + 6, "12");  // beside what the surface wrote
  EXPECT_EQ(Read(line.base, 8), "aXYdef12");
  EXPECT_EQ(Text(array), "aXYdef12");
  Holds(array)[3] = 'Z';
  ASSERT_EQ(device_->DestroySurface(*surface), absl::OkStatus());
  EXPECT_EQ(Read(line.base, 8), "aXYZef12");
}

TEST_F(CudaTextureTest, LevelsAreMadeBySurfacesOverThem) {
  TextureDescription texture{.image = Line(base_ + 512), .mipmap = {.levels = 3}, .normalized_coordinates = true};
  Write(texture.image.base, "abcdefgh");
  const ImageDescription second = LevelOf(texture.image, 1);
  const absl::StatusOr<TextureHandle> surface = device_->CreateSurface(second);
  const ArrayHandle array = ArrayOf(surface);
  std::ranges::copy(std::string("ace."), Holds(array).begin());
  const absl::StatusOr<TextureHandle> handle = device_->CreateTexture(texture);
  ArrayOf(handle);
  EXPECT_EQ(resource_.type, ResourceType::kMipmapped);
  EXPECT_EQ(Text(ArrayOf(handle, 0)), "abcdefgh");
  EXPECT_EQ(Text(ArrayOf(handle, 1)), "ace.");
  EXPECT_EQ(Text(ArrayOf(handle, 2)), std::string(2, '\0'));
  // While both are there, each launch may have changed the level.
  Holds(array)[3] = 'g';
  ASSERT_EQ(device_->LoadModule(1, Ptx()), absl::OkStatus());
  ASSERT_EQ(device_->DefineFunction(1, 1, "say"), absl::OkStatus());
  ASSERT_EQ(device_->Launch(kDefaultStream, 1, {}, {}), absl::OkStatus());
  EXPECT_EQ(Text(ArrayOf(handle, 1)), "aceg");
  const auto list = device_->PrepareWork(std::vector<Work>(2, {kDefaultStream, LaunchWork{1, {}, {}}}));
  Holds(array)[0] = 'A';
  EXPECT_EQ(list->Submit(0, 2).status, absl::OkStatus());
  EXPECT_EQ(Text(ArrayOf(handle, 1)), "Aceg");
}

TEST_F(CudaTextureTest, MemoryThatIsGoneIsLeftAlone) {
  const DeviceAddress there = base_ + kGranule;
  ASSERT_EQ(device_->Map(there, kGranule), absl::OkStatus());
  const absl::StatusOr<TextureHandle> surface = device_->CreateSurface(Line(there));
  const ArrayHandle array = ArrayOf(surface);
  ASSERT_EQ(device_->Unmap(there), absl::OkStatus());
  ASSERT_EQ(device_->Map(there, kGranule), absl::OkStatus());
  Write(there, "12345678");
  Holds(array)[0] = 'X';
  EXPECT_EQ(Read(there, 8), "12345678");
  EXPECT_EQ(device_->DestroySurface(*surface), absl::OkStatus());
  EXPECT_EQ(Read(there, 8), "12345678");
}

TEST_F(CudaTextureTest, ArraysCountAgainstTheSessionsMemory) {
  ImageDescription image{.kind = ImageKind::kArray, .format = {ChannelKind::kUnsigned, 8, 1}, .base = base_};
  image.width = 1024;
  image.height = 2000;
  LayOutArray(&image);
  std::vector<TextureHandle> handles;
  absl::Status status;
  while (status.ok() && handles.size() < 100) {
    const absl::StatusOr<TextureHandle> handle = device_->CreateTexture({.image = image});
    status = handle.status();
    if (handle.ok()) handles.push_back(*handle);
    --image.height;  // another one
  }
  EXPECT_EQ(CudaErrorOf(status), CudaError::kOutOfMemory);
  EXPECT_EQ(handles.size(), 16u);  // of some 2 MB in 32 MiB
  for (const TextureHandle handle : handles) ASSERT_EQ(device_->DestroyTexture(handle), absl::OkStatus());
  EXPECT_TRUE(device_->CreateTexture({.image = image}).ok());
}

TEST_F(CudaTextureTest, TheyGoBehindTheWorkThatIsQueued) {
  const TextureHandle texture = device_->CreateTexture({.image = Plane()}).value();
  std::promise<void> go_on;
  ASSERT_EQ(device_->HostCall(kDefaultStream, [&] { go_on.get_future().wait(); }), absl::OkStatus());
  ASSERT_EQ(device_->DestroyTexture(texture), absl::OkStatus());
  EXPECT_EQ(CudaErrorOf(device_->DestroyTexture(texture)), CudaError::kInvalidHandle);
  EXPECT_TRUE(Exists(texture));
  go_on.set_value();
  Finish();
  EXPECT_FALSE(Exists(texture));
  const TextureHandle left = device_->CreateTexture({.image = Plane()}).value();
  device_.reset();
  EXPECT_FALSE(Exists(left));
}

}  // namespace
}  // namespace wharf::device::cuda
