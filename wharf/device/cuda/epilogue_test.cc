// The bias-and-activation kernels, run on the software device: they need no GPU to be right.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <future>

#include "wharf/device/cuda/generated/epilogue_ptx.h"
#include "wharf/device/device.h"

namespace wharf::device::cuda {
namespace {

constexpr int64_t kRows = 5, kColumns = 3, kBatch = 2, kLeading = 7, kStride = 32;

struct Parameters {
  uint64_t d, bias;
  int64_t m, n, batch, ldd, stride;
  int32_t activation;
};

double Expected(double x, Epilogue epilogue) {
  if (epilogue == Epilogue::kRelu) return std::max(x, 0.0);
  if (epilogue == Epilogue::kGelu) return 0.5 * x * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
  return x;
}

template <typename T>
std::vector<std::byte> Bytes(const std::vector<T>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

// bfloat16 is the upper half of a float.
uint16_t ToBf16(float x) {
  uint32_t bits = 0;
  std::memcpy(&bits, &x, 4);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
float FromBf16(uint16_t x) {
  const uint32_t bits = uint32_t{x} << 16;
  float value = 0;
  std::memcpy(&value, &bits, 4);
  return value;
}

class EpilogueTest : public ::testing::TestWithParam<Epilogue> {
 protected:
  void SetUp() override {
    auto device = MakeSoftDevice({.memory_quota = 64 << 20, .threads = 1});
    ASSERT_TRUE(device.ok()) << device.status();
    device_ = *std::move(device);
    base_ = device_->Arena().base;
    ASSERT_EQ(device_->Map(base_, device_->Arena().granularity), absl::OkStatus());
    const auto* ptx = reinterpret_cast<const std::byte*>(kEpiloguePtx);
    ASSERT_EQ(device_->LoadModule(1, {ptx, ptx + sizeof(kEpiloguePtx) - 1}), absl::OkStatus());
  }

  // Runs `kernel` over values -4, -3.5, … and checks each against `convert`ed expectations.
  template <typename T, typename Store, typename Load>
  void Check(const char* kernel, Store store, Load load, double tolerance) {
    constexpr size_t kElements = kStride * kBatch;
    std::vector<T> values(kElements), bias(kRows);
    for (size_t i = 0; i < kElements; ++i) values[i] = store(static_cast<float>(i % 17) * 0.5f - 4);
    for (size_t i = 0; i < kRows; ++i) bias[i] = store(static_cast<float>(i) * 0.25f);
    const DeviceAddress bias_at = base_ + 2048;
    ASSERT_EQ(device_->CopyToDevice(0, {base_}, {kElements * sizeof(T)}, Bytes(values)), absl::OkStatus());
    ASSERT_EQ(device_->CopyToDevice(0, {bias_at}, {kRows * sizeof(T)}, Bytes(bias)), absl::OkStatus());
    ASSERT_EQ(device_->DefineFunction(1, 1, kernel), absl::OkStatus());
    const Parameters parameters{base_,  bias_at,  kRows,   kColumns,
                                kBatch, kLeading, kStride, static_cast<int32_t>(GetParam())};
    std::vector<std::byte> packed(offsetof(Parameters, activation) + sizeof(int32_t));
    std::memcpy(packed.data(), &parameters, packed.size());
    ASSERT_EQ(device_->Launch(0, 1, {.grid = {1, 2, 1}, .block = {4, 1, 1}}, packed), absl::OkStatus());
    std::promise<std::vector<std::byte>> back;
    ASSERT_EQ(device_->CopyToHost(0, {base_}, {kElements * sizeof(T)},
                                  [&](absl::Status status, std::vector<std::byte> data) {
                                    EXPECT_EQ(status, absl::OkStatus());
                                    back.set_value(std::move(data));
                                  }),
              absl::OkStatus());
    const std::vector<std::byte> bytes = back.get_future().get();
    ASSERT_EQ(bytes.size(), kElements * sizeof(T));
    std::vector<T> got(kElements);
    std::memcpy(got.data(), bytes.data(), bytes.size());
    for (int64_t i = 0; i < static_cast<int64_t>(kElements); ++i) {
      const int64_t row = i % kStride % kLeading, column = i % kStride / kLeading;
      const bool inside = row < kRows && column < kColumns;
      const double before = load(values[i]);
      const double want = inside ? Expected(before + load(bias[row]), GetParam()) : before;
      EXPECT_NEAR(load(got[i]), want, inside ? tolerance : 0) << i;
    }
  }

  std::unique_ptr<Device> device_;
  DeviceAddress base_ = 0;
};

TEST_P(EpilogueTest, F32) {
  auto same = [](float x) { return x; };
  Check<float>("wharf_epilogue_f32", same, same, 1e-5);
}
TEST_P(EpilogueTest, F64) {
  auto same = [](double x) { return x; };
  Check<double>("wharf_epilogue_f64", same, same, 1e-12);
}
TEST_P(EpilogueTest, F16) {
  Check<_Float16>(
      "wharf_epilogue_f16", [](float x) { return static_cast<_Float16>(x); },
      [](_Float16 x) { return static_cast<double>(x); }, 4e-3);
}
TEST_P(EpilogueTest, Bf16) { Check<uint16_t>("wharf_epilogue_bf16", ToBf16, FromBf16, 3e-2); }

INSTANTIATE_TEST_SUITE_P(Activations, EpilogueTest,
                         ::testing::Values(Epilogue::kNone, Epilogue::kRelu, Epilogue::kGelu));

}  // namespace
}  // namespace wharf::device::cuda
