// What the CUDA device asks its driver for when textures are made, on the fake driver.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <future>

#include "wharf/device/cuda/cuda_device.h"
#include "wharf/device/cuda/texture_object.h"

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
  std::unique_ptr<Device> device_;
  DeviceAddress base_ = 0;
  Find find_ = nullptr;
  ResourceDescription resource_;
  SamplerDescription sampler_;
};

TEST_F(CudaTextureTest, PlanesArePitchedMemory) {
  TextureDescription texture{.image = Plane(), .filter = FilterMode::kLinear, .read = ReadMode::kNormalizedFloat};
  texture.address = {AddressMode::kMirror, AddressMode::kBorder, AddressMode::kWrap};
  texture.normalized_coordinates = true;
  texture.border = {1, 2, 3, 4};
  for (const ImageKind kind : {ImageKind::kPitched, ImageKind::kArray}) {
    texture.image.kind = kind;
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
  const auto format = [&](ChannelKind kind, uint8_t bits) {
    TextureDescription texture{.image = {.format = {kind, bits, 1}, .base = base_, .width = 1}};
    return DescribeTexture(texture)->resource.linear.format;
  };
  EXPECT_EQ(format(ChannelKind::kSigned, 8), ArrayFormat::kSigned8);
  EXPECT_EQ(format(ChannelKind::kSigned, 16), ArrayFormat::kSigned16);
  EXPECT_EQ(format(ChannelKind::kSigned, 32), ArrayFormat::kSigned32);
  EXPECT_EQ(format(ChannelKind::kUnsigned, 16), ArrayFormat::kUnsigned16);
  EXPECT_EQ(format(ChannelKind::kUnsigned, 32), ArrayFormat::kUnsigned32);
  EXPECT_EQ(format(ChannelKind::kFloat, 32), ArrayFormat::kFloat);
}

TEST_F(CudaTextureTest, WhatNeedsAnArrayOfTheDriversIsRefused) {
  ImageDescription image = Plane();
  image.base += 256;
  ExpectRefused(image);
  image = Plane();
  image.row_pitch = 132;
  ExpectRefused(image);
  image = Plane();
  image.kind = ImageKind::kArray;
  image.gather = true;
  ExpectRefused(image);
  image.gather = false;
  image.depth = 2;
  image.slice_pitch = 128 * 20;
  ExpectRefused(image);
  image.layered = true;
  ExpectRefused(image);
  image.layered = false;
  image.height = image.depth = 0;
  ExpectRefused(image);  // of one dimension
  image = Plane();
  image.kind = ImageKind::kArray;
  EXPECT_EQ(CudaErrorOf(device_->CreateSurface(image).status()), CudaError::kNotSupported);
  EXPECT_EQ(CudaErrorOf(device_->DestroySurface(1)), CudaError::kInvalidHandle);
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

TEST_F(CudaTextureTest, TheyGoBehindTheWorkThatIsQueued) {
  const TextureHandle texture = device_->CreateTexture({.image = Plane()}).value();
  std::promise<void> go_on;
  ASSERT_EQ(device_->HostCall(kDefaultStream, [&] { go_on.get_future().wait(); }), absl::OkStatus());
  ASSERT_EQ(device_->DestroyTexture(texture), absl::OkStatus());
  EXPECT_EQ(CudaErrorOf(device_->DestroyTexture(texture)), CudaError::kInvalidHandle);
  EXPECT_TRUE(Exists(texture));
  go_on.set_value();
  std::promise<absl::Status> done;
  ASSERT_EQ(device_->NotifyAll([&](absl::Status status) { done.set_value(std::move(status)); }), absl::OkStatus());
  EXPECT_EQ(done.get_future().get(), absl::OkStatus());
  EXPECT_FALSE(Exists(texture));
  const TextureHandle left = device_->CreateTexture({.image = Plane()}).value();
  device_.reset();
  EXPECT_FALSE(Exists(left));
}

}  // namespace
}  // namespace wharf::device::cuda
