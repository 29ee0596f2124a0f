// Plans of cuFFT on the fake one: when they are made, and how many are kept.
#include "wharf/device/cuda/fft/fft.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include "wharf/device/cuda_error.h"

namespace wharf::device::cuda {
namespace {

int PlansOfLibrary() {
  static const auto count =
      reinterpret_cast<int (*)()>(dlsym(dlopen(WHARF_FAKE_CUFFT, RTLD_NOW | RTLD_LOCAL), "fakeCufftPlans"));
  return count();
}

class FftTest : public ::testing::Test {
 protected:
  FftTest() {
    absl::StatusOr<std::unique_ptr<Fft>> fft = Fft::Create({"libcufft.so.of-no-release", WHARF_FAKE_CUFFT});
    if (fft.ok()) fft_ = *std::move(fft);
  }
  void SetUp() override { ASSERT_NE(fft_, nullptr); }
  Fourier Of(int64_t size) {
    Fourier f;
    f.sizes[2] = size;
    f.in.address = reinterpret_cast<DeviceAddress>(memory_);
    f.out.address = f.in.address;
    return f;
  }
  absl::Status Run(const Fourier& f, uintptr_t stream = 0) { return fft_->Run(f, reinterpret_cast<void*>(stream)); }

  std::unique_ptr<Fft> fft_;
  float memory_[2 * 256] = {};
};

TEST_F(FftTest, APlanIsMadeOncePerFormAndStream) {
  memory_[2] = 1;  // the second of two
  EXPECT_EQ(Run(Of(2)), absl::OkStatus());
  EXPECT_EQ(memory_[0], 1);
  EXPECT_EQ(memory_[2], -1);
  Fourier other = Of(2);
  other.inverse = true;  // of the same plan
  EXPECT_EQ(Run(other), absl::OkStatus());
  EXPECT_EQ(memory_[0], 0);
  EXPECT_EQ(memory_[2], 2);
  other.in.address += 16;  // likewise
  EXPECT_EQ(Run(other), absl::OkStatus());
  EXPECT_EQ(fft_->plans(), 1u);
  EXPECT_EQ(Run(Of(2), 8), absl::OkStatus());  // may work at the same time
  EXPECT_EQ(Run(Of(3)), absl::OkStatus());
  EXPECT_EQ(fft_->plans(), 3u);
}

TEST_F(FftTest, TheLongestUnusedGoesFirst) {
  const int before = PlansOfLibrary();
  for (int64_t size = 20; size < 20 + static_cast<int64_t>(Fft::kMostPlans); ++size) {
    EXPECT_EQ(Run(Of(size)), absl::OkStatus());
  }
  EXPECT_EQ(Run(Of(20)), absl::OkStatus());
  EXPECT_EQ(Run(Of(100)), absl::OkStatus());  // in the place of 21
  EXPECT_EQ(Run(Of(20)), absl::OkStatus());
  EXPECT_EQ(fft_->plans(), Fft::kMostPlans);
  EXPECT_EQ(PlansOfLibrary() - before, static_cast<int>(Fft::kMostPlans));
  fft_.reset();
  EXPECT_EQ(PlansOfLibrary(), before);
}

TEST_F(FftTest, WhatCufftRefusesIsRefused) {
  const int before = PlansOfLibrary();
  EXPECT_EQ(CudaErrorOf(Run(Of(13))), CudaError::kNotSupported);
  EXPECT_EQ(PlansOfLibrary(), before);
  EXPECT_EQ(CudaErrorOf(Fft::Create({"libcufft.so.of-no-release"}).status()), CudaError::kNotSupported);
}

}  // namespace
}  // namespace wharf::device::cuda
