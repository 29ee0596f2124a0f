// What every driver of the Device interface must do, run on each of them: the software device, and a real GPU where
// there is one. Kernels are PTX text, which both take.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <complex>
#include <cstring>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "wharf/device/device_conformance.h"

namespace wharf::device {
namespace {

// --- memory ---

TEST_P(DeviceConformance, PropertiesMakeSense) {
  const DeviceProperties& properties = device_->Properties();
  EXPECT_EQ(properties.driver, GetParam().name);
  EXPECT_FALSE(properties.name.empty());
  EXPECT_GE(properties.compute_major * 10 + properties.compute_minor, 75);
  EXPECT_EQ(properties.warp_size, 32);
  EXPECT_GE(properties.multiprocessors, 1);
  EXPECT_GT(properties.total_memory, 0u);
  EXPECT_GE(device_->Arena().size, kQuota);
  EXPECT_EQ(device_->Arena().base % device_->Arena().granularity, 0u);
}

TEST_P(DeviceConformance, MappedMemoryIsZeroAndKeepsWhatIsWritten) {
  const DeviceAddress at = MapSlot(0);
  EXPECT_EQ(Read<uint32_t>(at, 256), std::vector<uint32_t>(256, 0));
  const auto values = Iota<uint32_t>(256, 7);
  ASSERT_EQ(Write(at, values), absl::OkStatus());
  EXPECT_EQ(Read<uint32_t>(at, 256), values);
}

TEST_P(DeviceConformance, MemoryMappedAgainIsZero) {
  for (int round = 0; round < 3; ++round) {
    const DeviceAddress at = MapSlot(1);
    EXPECT_EQ(Read<uint32_t>(at, 16), std::vector<uint32_t>(16, 0)) << round;
    ASSERT_EQ(Write(at, Iota<uint32_t>(16, 1)), absl::OkStatus());
    ASSERT_EQ(device_->Unmap(at), absl::OkStatus());
  }
}

TEST_P(DeviceConformance, MapRefusesWhatDoesNotFit) {
  const uint64_t g = Granularity();
  const Arena arena = device_->Arena();
  const auto code = [&](DeviceAddress address, uint64_t size) { return CudaErrorOf(device_->Map(address, size)); };
  MapSlot(2);
  EXPECT_EQ(code(Slot(2), g), CudaError::kInvalidValue);          // mapped already
  EXPECT_EQ(code(Slot(2) - g, 2 * g), CudaError::kInvalidValue);  // overlaps
  EXPECT_EQ(code(Slot(3) + 1, g), CudaError::kInvalidValue);      // not on the granularity
  EXPECT_EQ(code(Slot(3), g / 2), CudaError::kInvalidValue);
  EXPECT_EQ(code(Slot(3), 0), CudaError::kInvalidValue);
  EXPECT_EQ(code(arena.base - g, g), CudaError::kInvalidValue);  // outside the arena
  EXPECT_EQ(code(arena.base + arena.size, g), CudaError::kInvalidValue);
  EXPECT_EQ(code(arena.base + arena.size - g, 2 * g), CudaError::kInvalidValue);
  EXPECT_EQ(code(Slot(3), ~uint64_t{0} / g * g), CudaError::kInvalidValue);  // wraps
  EXPECT_EQ(code(Slot(3), kQuota + g), CudaError::kOutOfMemory);             // more than the quota
  EXPECT_EQ(CudaErrorOf(device_->Unmap(Slot(3))), CudaError::kInvalidValue);
  EXPECT_EQ(CudaErrorOf(device_->Unmap(Slot(2) + g)), CudaError::kInvalidValue);
  EXPECT_EQ(device_->Unmap(Slot(2)), absl::OkStatus());
  EXPECT_EQ(CudaErrorOf(device_->Unmap(Slot(2))), CudaError::kInvalidValue);
  EXPECT_EQ(device_->Fault(), absl::OkStatus());
}

TEST_P(DeviceConformance, QuotaIsGivenBackByUnmap) {
  const DeviceAddress base = device_->Arena().base;
  const uint64_t half = kQuota / 2 / Granularity() * Granularity();
  for (int round = 0; round < 4; ++round) {
    ASSERT_EQ(device_->Map(base, half), absl::OkStatus());
    ASSERT_EQ(device_->Map(base + 2 * half, half), absl::OkStatus());
    EXPECT_EQ(CudaErrorOf(device_->Map(base + 4 * half, half)), CudaError::kOutOfMemory);
    ASSERT_EQ(device_->Unmap(base), absl::OkStatus());
    ASSERT_EQ(device_->Unmap(base + 2 * half), absl::OkStatus());
  }
}

// --- copies ---

TEST_P(DeviceConformance, CopiesRefuseMemoryThatIsNotMapped) {
  const DeviceAddress at = MapSlot(0);
  const uint64_t g = Granularity();
  const auto ignore = [](absl::Status, std::vector<std::byte>) {};
  const auto code = [](const absl::Status& status) { return CudaErrorOf(status); };
  const Extent small{16};
  const std::vector<std::byte> data(16);
  EXPECT_EQ(code(device_->CopyToDevice(0, {Slot(5)}, small, data)), CudaError::kInvalidValue);
  EXPECT_EQ(code(device_->CopyToDevice(0, {at + g - 8}, small, data)), CudaError::kInvalidValue);
  EXPECT_EQ(code(device_->CopyToDevice(0, {~uint64_t{0} - 8}, small, data)), CudaError::kInvalidValue);
  EXPECT_EQ(code(device_->CopyToDevice(0, {at}, {17}, data)), CudaError::kInvalidValue);  // too little data
  EXPECT_EQ(code(device_->CopyToHost(0, {0}, small, ignore)), CudaError::kInvalidValue);
  EXPECT_EQ(code(device_->CopyToHost(0, {at}, {~uint64_t{0}}, ignore)), CudaError::kInvalidValue);
  EXPECT_EQ(code(device_->CopyOnDevice(0, {at}, {Slot(6)}, small)), CudaError::kInvalidValue);
  EXPECT_EQ(code(device_->CopyOnDevice(0, {Slot(6)}, {at}, small)), CudaError::kInvalidValue);
  EXPECT_EQ(code(device_->Fill(0, {Slot(6)}, small, 0, 1)), CudaError::kInvalidValue);
  EXPECT_EQ(code(device_->Fill(0, {at}, small, 0, 3)), CudaError::kInvalidValue);
  EXPECT_EQ(code(device_->Fill(0, {at}, {10}, 0, 4)), CudaError::kInvalidValue);
  // Rows or slices that lie in each other, and boxes whose size overflows.
  EXPECT_EQ(code(device_->CopyToHost(0, {at, 8}, {16, 2}, ignore)), CudaError::kInvalidPitchValue);
  EXPECT_EQ(code(device_->CopyToHost(0, {at, 16, 16}, {16, 2, 2}, ignore)), CudaError::kInvalidPitchValue);
  const uint64_t huge = uint64_t{1} << 63;
  EXPECT_EQ(code(device_->CopyToHost(0, {at, huge, huge}, {16, huge, 1}, ignore)), CudaError::kInvalidValue);
  EXPECT_EQ(code(device_->CopyToHost(0, {at, 16, huge}, {16, 1, huge}, ignore)), CudaError::kInvalidValue);
  EXPECT_EQ(Wait(), absl::OkStatus());
  EXPECT_EQ(device_->Fault(), absl::OkStatus());
}

TEST_P(DeviceConformance, EmptyCopiesDoNothing) {
  EXPECT_EQ(device_->CopyToDevice(0, {0}, {0}, {}), absl::OkStatus());
  EXPECT_EQ(device_->CopyOnDevice(0, {0}, {0}, {16, 0}), absl::OkStatus());
  EXPECT_EQ(device_->Fill(0, {0}, {16, 1, 0}, 1, 1), absl::OkStatus());
  EXPECT_TRUE(ReadBox({0}, {0, 3, 2}).empty());
}

TEST_P(DeviceConformance, TwoAndThreeDimensionalCopies) {
  const DeviceAddress from = MapSlot(0), to = MapSlot(1);
  ASSERT_EQ(Write(from, Iota<uint8_t>(200)), absl::OkStatus());
  // 3 slices of 4 rows of 5 bytes, out of rows of 8 and slices of 40.
  const Extent extent{5, 4, 3};
  std::vector<uint8_t> expected;
  for (int z = 0; z < 3; ++z) {
    for (int y = 0; y < 4; ++y) {
      for (int x = 0; x < 5; ++x) expected.push_back(static_cast<uint8_t>(2 + z * 40 + y * 8 + x));
    }
  }
  EXPECT_EQ(Unpack<uint8_t>(ReadBox({from + 2, 8, 40}, extent)), expected);
  ASSERT_EQ(device_->CopyOnDevice(0, {to + 1, 6, 30}, {from + 2, 8, 40}, extent), absl::OkStatus());
  EXPECT_EQ(Unpack<uint8_t>(ReadBox({to + 1, 6, 30}, extent)), expected);
  EXPECT_EQ(Read<uint8_t>(to + 6, 1)[0], 0);  // between two rows
  ASSERT_EQ(device_->CopyToDevice(0, {to + 512, 16, 64}, extent, BytesOf(expected)), absl::OkStatus());
  EXPECT_EQ(Unpack<uint8_t>(ReadBox({to + 512, 16, 64}, extent)), expected);
}

TEST_P(DeviceConformance, FillsElementsOfEachSize) {
  const DeviceAddress at = MapSlot(0);
  ASSERT_EQ(device_->Fill(0, {at}, {8}, 0xab, 1), absl::OkStatus());
  ASSERT_EQ(device_->Fill(0, {at + 8}, {8}, 0xbeef, 2), absl::OkStatus());
  ASSERT_EQ(device_->Fill(0, {at + 16, 8}, {4, 3}, 0x12345678, 4), absl::OkStatus());
  EXPECT_EQ(Read<uint32_t>(at, 10), (std::vector<uint32_t>{0xabababab, 0xabababab, 0xbeefbeef, 0xbeefbeef, 0x12345678,
                                                           0, 0x12345678, 0, 0x12345678, 0}));
}

// --- streams and events ---

TEST_P(DeviceConformance, HandlesAreChecked) {
  EXPECT_EQ(CudaErrorOf(device_->Notify(9, [](absl::Status) {})), CudaError::kInvalidHandle);
  EXPECT_EQ(CudaErrorOf(device_->CreateStream(0, 0, 0)), CudaError::kInvalidValue);
  ASSERT_EQ(device_->CreateStream(9, 1, 0), absl::OkStatus());
  EXPECT_EQ(CudaErrorOf(device_->CreateStream(9, 0, 0)), CudaError::kInvalidValue);
  EXPECT_EQ(Wait(9), absl::OkStatus());
  EXPECT_EQ(CudaErrorOf(device_->RecordEvent(4, 9)), CudaError::kInvalidHandle);
  ASSERT_EQ(device_->CreateEvent(4, 0), absl::OkStatus());
  EXPECT_EQ(CudaErrorOf(device_->CreateEvent(4, 0)), CudaError::kInvalidValue);
  EXPECT_EQ(device_->RecordEvent(4, 9), absl::OkStatus());
  EXPECT_EQ(device_->WaitEvent(0, 4), absl::OkStatus());
  EXPECT_EQ(device_->DestroyStream(9), absl::OkStatus());
  EXPECT_EQ(CudaErrorOf(device_->DestroyStream(9)), CudaError::kInvalidHandle);
  EXPECT_EQ(CudaErrorOf(device_->DestroyStream(kDefaultStream)), CudaError::kInvalidHandle);
  EXPECT_EQ(device_->DestroyEvent(4), absl::OkStatus());
  EXPECT_EQ(CudaErrorOf(device_->DestroyEvent(4)), CudaError::kInvalidHandle);
  EXPECT_EQ(CudaErrorOf(device_->EventDone(4).status()), CudaError::kInvalidHandle);
  EXPECT_EQ(CudaErrorOf(device_->DefineFunction(1, 1, "f")), CudaError::kInvalidHandle);
  EXPECT_EQ(CudaErrorOf(device_->Launch(0, 1, {}, {})), CudaError::kInvalidHandle);
  EXPECT_EQ(CudaErrorOf(device_->UnloadModule(1)), CudaError::kInvalidHandle);
  EXPECT_EQ(device_->Fault(), absl::OkStatus());
}

TEST_P(DeviceConformance, EventsAndStreamsTellWhenTheyAreDone) {
  ASSERT_EQ(device_->CreateEvent(1, 0), absl::OkStatus());
  ASSERT_EQ(device_->CreateEvent(2, 0), absl::OkStatus());
  ASSERT_EQ(device_->CreateStream(7, 0, 0), absl::OkStatus());
  EXPECT_EQ(*device_->EventDone(1), true);  // never recorded
  EXPECT_EQ(CudaErrorOf(device_->ElapsedMs(1, 2).status()), CudaError::kInvalidHandle);

  std::promise<void> gate, entered;
  std::shared_future<void> opened = gate.get_future().share();
  ASSERT_EQ(device_->RecordEvent(1, 7), absl::OkStatus());
  ASSERT_EQ(device_->HostCall(7,
                              [&, opened] {
                                entered.set_value();
                                opened.wait();
                              }),
            absl::OkStatus());
  ASSERT_EQ(device_->RecordEvent(2, 7), absl::OkStatus());
  entered.get_future().wait();
  EXPECT_EQ(*device_->EventDone(1), true);
  EXPECT_EQ(*device_->EventDone(2), false);
  EXPECT_EQ(*device_->StreamDone(7), false);
  EXPECT_EQ(CudaErrorOf(device_->ElapsedMs(1, 2).status()), CudaError::kNotReady);
  gate.set_value();
  EXPECT_EQ(WaitEvent(2), absl::OkStatus());
  EXPECT_EQ(*device_->EventDone(2), true);
  EXPECT_GE(*device_->ElapsedMs(1, 2), 0.0F);
  EXPECT_EQ(Wait(7), absl::OkStatus());
  EXPECT_EQ(*device_->StreamDone(7), true);
}

TEST_P(DeviceConformance, CallbacksComeInStreamOrder) {
  const DeviceAddress at = MapSlot(0);
  std::vector<int> order;
  std::promise<void> last;
  for (int i = 0; i < 50; ++i) {
    ASSERT_EQ(Write(at, std::vector<int32_t>{i}), absl::OkStatus());
    ASSERT_EQ(device_->HostCall(0, [&order, i] { order.push_back(2 * i); }), absl::OkStatus());
    ASSERT_EQ(device_->CopyToHost(0, {at}, {4},
                                  [&order, i](absl::Status, const std::vector<std::byte>& data) {
                                    int32_t value = 0;
                                    std::memcpy(&value, data.data(), 4);
                                    order.push_back(value == i ? 2 * i + 1 : -1);
                                  }),
              absl::OkStatus());
  }
  ASSERT_EQ(device_->NotifyAll([&](absl::Status) { last.set_value(); }), absl::OkStatus());
  last.get_future().wait();
  EXPECT_EQ(order, Iota<int>(100));
}

TEST_P(DeviceConformance, EveryCallbackComesOnceWhenTheDeviceGoes) {
  std::atomic<int> calls{0};
  const DeviceAddress at = MapSlot(0);
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(device_->CopyToHost(0, {at}, {4096}, [&](absl::Status, const std::vector<std::byte>&) { ++calls; }),
              absl::OkStatus());
    ASSERT_EQ(device_->Notify(0, [&](absl::Status) { ++calls; }), absl::OkStatus());
  }
  device_.reset();
  EXPECT_EQ(calls, 40);
}

// --- library calls ---

std::vector<float> ReferenceGemm(const Gemm& g, const std::vector<float>& a, const std::vector<float>& b,
                                 std::vector<float> c) {
  for (int64_t i = 0; i < g.m; ++i) {
    for (int64_t j = 0; j < g.n; ++j) {
      double sum = 0;
      for (int64_t l = 0; l < g.k; ++l) {
        const float x = g.transpose_a == Transpose::kNone ? a[l * g.lda + i] : a[i * g.lda + l];
        const float y = g.transpose_b == Transpose::kNone ? b[j * g.ldb + l] : b[l * g.ldb + j];
        sum += static_cast<double>(x) * y;
      }
      float& out = c[j * g.ldc + i];
      out = static_cast<float>(g.alpha[0] * sum + (g.beta[0] == 0 ? 0 : g.beta[0] * out));
    }
  }
  return c;
}

TEST_P(DeviceConformance, SingleGemm) {
  const DeviceAddress a = MapSlot(0), b = MapSlot(1), c = MapSlot(2);
  for (const Transpose ta : {Transpose::kNone, Transpose::kTranspose}) {
    for (const Transpose tb : {Transpose::kNone, Transpose::kTranspose}) {
      Gemm g{.transpose_a = ta,
             .transpose_b = tb,
             .m = 5,
             .n = 7,
             .k = 9,
             .a = a,
             .b = b,
             .c = c,
             .lda = 11,
             .ldb = 12,
             .ldc = 8,
             .alpha = {0.5, 0},
             .beta = {2, 0}};
      std::vector<float> va(11 * 11), vb(12 * 12), vc(8 * 8);
      for (size_t i = 0; i < va.size(); ++i) va[i] = static_cast<float>(i % 7) - 3;
      for (size_t i = 0; i < vb.size(); ++i) vb[i] = static_cast<float>(i % 5) - 2;
      for (size_t i = 0; i < vc.size(); ++i) vc[i] = static_cast<float>(i % 3);
      ASSERT_EQ(Write(a, va), absl::OkStatus());
      ASSERT_EQ(Write(b, vb), absl::OkStatus());
      ASSERT_EQ(Write(c, vc), absl::OkStatus());
      ASSERT_EQ(device_->RunGemm(0, g), absl::OkStatus());
      EXPECT_EQ(Read<float>(c, vc.size()), ReferenceGemm(g, va, vb, vc));
    }
  }
}

// One row, one column, one of each: of real numbers and of complex ones.
template <typename T>
std::vector<T> SlenderProduct(const Gemm& g, T alpha, T beta, const std::vector<T>& a, const std::vector<T>& b,
                              std::vector<T> c) {
  for (int64_t i = 0; i < g.m; ++i) {
    for (int64_t j = 0; j < g.n; ++j) {
      T sum{};
      for (int64_t l = 0; l < g.k; ++l) {
        sum += a[static_cast<size_t>(l * g.lda + i)] * b[static_cast<size_t>(j * g.ldb + l)];
      }
      T& out = c[static_cast<size_t>(j * g.ldc + i)];
      out = alpha * sum + beta * out;
    }
  }
  return c;
}

TEST_P(DeviceConformance, GemmOfRowsAndColumns) {
  const DeviceAddress a = MapSlot(0), b = MapSlot(1), c = MapSlot(2);
  const auto check = [&]<typename T>(ElementType type, T alpha, T beta, std::array<int64_t, 3> size) {
    const auto numbers = [](size_t count, int64_t seed) {
      std::vector<T> all(count);
      for (size_t i = 0; i < count; ++i) {
        all[i] = T(static_cast<double>((static_cast<int64_t>(i) * 3 + seed) % 7 - 3));
        if constexpr (!std::is_floating_point_v<T>) all[i] *= T(1, 2);
      }
      return all;
    };
    Gemm g{.m = size[0],
           .n = size[1],
           .k = size[2],
           .type_a = type,
           .type_b = type,
           .type_c = type,
           .compute = type,
           .a = a,
           .b = b,
           .c = c,
           .lda = size[0] + 1,
           .ldb = size[2] + 2,
           .ldc = size[0] + 3};
    g.alpha = {std::real(alpha), std::imag(alpha)};
    g.beta = {std::real(beta), std::imag(beta)};
    const auto va = numbers(200, 1), vb = numbers(200, 2), vc = numbers(200, 3);
    ASSERT_EQ(Write(a, va), absl::OkStatus());
    ASSERT_EQ(Write(b, vb), absl::OkStatus());
    ASSERT_EQ(Write(c, vc), absl::OkStatus());
    ASSERT_EQ(device_->RunGemm(0, g), absl::OkStatus());
    EXPECT_EQ(Read<T>(c, vc.size()), SlenderProduct(g, alpha, beta, va, vb, vc)) << g.m << " " << g.n << " " << g.k;
  };
  const std::array<int64_t, 3> kSizes[] = {{1, 9, 1}, {9, 1, 1}, {1, 1, 9}, {1, 7, 5}, {7, 1, 5}, {1, 1, 1}};
  for (const auto& size : kSizes) {
    check(ElementType::kF32, 2.0f, -1.0f, size);
    check(ElementType::kF64, 2.0, -1.0, size);
    check(ElementType::kC32, std::complex<float>(2, -1), std::complex<float>(1, 3), size);
    check(ElementType::kC64, std::complex<double>(2, -1), std::complex<double>(1, 3), size);
  }
}

TEST_P(DeviceConformance, GemmRefusesWhatIsNotMapped) {
  const DeviceAddress a = MapSlot(0);
  Gemm g{.m = 4, .n = 4, .k = 4, .a = a, .b = a + 256, .c = a + 512, .lda = 4, .ldb = 4, .ldc = 4};
  EXPECT_EQ(device_->RunGemm(0, g), absl::OkStatus());
  const auto with = [&](auto change) {
    Gemm changed = g;
    change(changed);
    return CudaErrorOf(device_->RunGemm(0, changed));
  };
  EXPECT_EQ(with([&](Gemm& x) { x.a = Slot(4); }), CudaError::kInvalidValue);
  EXPECT_EQ(with([&](Gemm& x) { x.c = a + Granularity() - 32; }), CudaError::kInvalidValue);
  EXPECT_EQ(with([](Gemm& x) { x.lda = 3; }), CudaError::kInvalidValue);
  EXPECT_EQ(with([](Gemm& x) { x.m = -1; }), CudaError::kInvalidValue);
  EXPECT_EQ(with([](Gemm& x) { x.batch = 1000, x.stride_c = 1 << 20; }), CudaError::kInvalidValue);
  EXPECT_EQ(with([](Gemm& x) { x.ldc = int64_t{1} << 62; }), CudaError::kInvalidValue);
  EXPECT_EQ(with([](Gemm& x) { x.m = 0; }), CudaError::kSuccess);
  EXPECT_EQ(Wait(), absl::OkStatus());
}

INSTANTIATE_TEST_SUITE_P(Drivers, DeviceConformance, ::testing::ValuesIn(AllDrivers()), DriverName);

}  // namespace
}  // namespace wharf::device
