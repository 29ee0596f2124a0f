// Work that is prepared for the CUDA device, and the CUDA graphs that come of it.
#include <dlfcn.h>
#include <gmock/gmock.h>

#include "wharf/device/cuda/testing/cuda_device_fixture.h"
#include "wharf/device/primitive_testing.h"

namespace wharf::device::cuda {
namespace {

using ::testing::ElementsAre;

struct Graphs {
  int instantiated = 0, launched = 0;
  friend bool operator==(const Graphs&, const Graphs&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Graphs& g) {
    return out << g.instantiated << " instantiated, " << g.launched << " launched";
  }
};

// The fake driver's work graphs since the last call; on a real one only results are looked at.
class PreparedWorkTest : public CudaDeviceTest {
 protected:
  void SetUp() override {
    CudaDeviceTest::SetUp();
    if (device_ == nullptr) return;
    LoadKernels();
    a_ = device_->Arena().base;
    ASSERT_EQ(device_->Map(a_, 2 * kMiB), absl::OkStatus());
    Since();
  }
  Graphs Since() {
    if (GetParam() != WHARF_FAKE_DRIVER) return {};
    void* library = dlopen(WHARF_FAKE_DRIVER, RTLD_NOW | RTLD_NOLOAD);
    auto* count = reinterpret_cast<void (*)(int*, int*)>(dlsym(library, "FakeDriverGraphs"));
    Graphs now;
    count(&now.instantiated, &now.launched);
    const Graphs since{now.instantiated - last_.instantiated, now.launched - last_.launched};
    last_ = now;
    return since;
  }
  void Submit(WorkList& list, Graphs expected) {
    const Submission submission = list.Submit(0, list.size());
    EXPECT_EQ(submission.status, absl::OkStatus());
    EXPECT_EQ(submission.queued, list.size());
    EXPECT_EQ(Since(), GetParam() == WHARF_FAKE_DRIVER ? expected : Graphs{});
  }
  static Work AddOne(DeviceAddress data, uint32_t count) {
    std::vector<std::byte> parameters(12);
    std::memcpy(parameters.data(), &data, 8);
    std::memcpy(parameters.data() + 8, &count, 4);
    return {kDefaultStream, LaunchWork{kAddOne, {}, std::move(parameters)}};
  }
  static Work Fill(DeviceAddress to, uint32_t value, Extent extent = {4}, uint64_t pitch = 0) {
    return {kDefaultStream, FillWork{{to, pitch}, extent, value, 4}};
  }
  static Work Copy(DeviceAddress to, DeviceAddress from, Extent extent = {4}, uint64_t pitch = 0) {
    return {kDefaultStream, CopyWork{{to, pitch}, {from, pitch}, extent}};
  }

  DeviceAddress a_ = 0;
  Graphs last_;
};

TEST_P(PreparedWorkTest, ARunOfWorkIsOneGraph) {
  const auto list = device_->PrepareWork({Fill(a_, 5), AddOne(a_, 1), AddOne(a_, 2), Copy(a_ + 8, a_)});
  Submit(*list, {1, 1});
  EXPECT_THAT(*Read(a_, 3), ElementsAre(7, 1, 7));
  Submit(*list, {0, 1});
  EXPECT_THAT(*Read(a_, 3), ElementsAre(7, 2, 7));
}

TEST_P(PreparedWorkTest, NewArgumentsChangeTheGraphInPlace) {
  const auto list = device_->PrepareWork({Fill(a_, 5), AddOne(a_, 1), Copy(a_ + 8, a_)});
  Submit(*list, {1, 1});
  list->Update(0, Fill(a_ + 4, 9));
  list->Update(1, AddOne(a_, 2));
  list->Update(2, Copy(a_ + 12, a_ + 4, {4}));
  Submit(*list, {0, 1});
  EXPECT_THAT(*Read(a_, 4), ElementsAre(7, 10, 6, 10));
}

TEST_P(PreparedWorkTest, WhatCannotBeChangedInPlaceIsBuiltAnew) {
  const auto list = device_->PrepareWork({Fill(a_, 1), AddOne(a_, 1), Copy(a_ + 64, a_)});
  Submit(*list, {1, 1});
  list->Update(0, Fill(a_, 3, {8, 2}, 16));
  Submit(*list, {1, 1});
  list->Update(2, Copy(a_ + 64, a_, {8, 2}, 16));
  Submit(*list, {1, 1});
  EXPECT_THAT(*Read(a_ + 64, 6), ElementsAre(4, 3, 0, 0, 3, 3));
  list->Update(2, AddOne(a_, 2));  // another kind
  Submit(*list, {1, 1});
  Submit(*list, {0, 1});
  EXPECT_THAT(*Read(a_, 2), ElementsAre(5, 4));
}

TEST_P(PreparedWorkTest, PartsAndSingleElementsArePlainCalls) {
  const auto list = device_->PrepareWork({AddOne(a_, 1), AddOne(a_, 1), AddOne(a_, 1)});
  Submit(*list, {1, 1});
  EXPECT_EQ(list->Submit(0, 2).status, absl::OkStatus());
  EXPECT_EQ(list->Submit(1, 2).status, absl::OkStatus());
  EXPECT_EQ(Since(), Graphs{});
  EXPECT_THAT(*Read(a_, 1), ElementsAre(7));
  const auto single = device_->PrepareWork({AddOne(a_, 1)});
  Submit(*single, {0, 0});
  EXPECT_THAT(*Read(a_, 1), ElementsAre(8));
}

TEST_P(PreparedWorkTest, LongRunsAreSeveralGraphs) {
  const auto list = device_->PrepareWork(std::vector<Work>(40, AddOne(a_, 1)));
  Submit(*list, {3, 3});
  EXPECT_EQ(list->Submit(0, 20).queued, 20u);   // 16 and 4
  EXPECT_EQ(list->Submit(20, 20).queued, 20u);  // 12 and 8
  EXPECT_EQ(Since(), GetParam() == WHARF_FAKE_DRIVER ? (Graphs{0, 2}) : Graphs{});
  EXPECT_THAT(*Read(a_, 1), ElementsAre(80));
}

TEST_P(PreparedWorkTest, StreamsAndOddBoxesStandBetweenGraphs) {
  ASSERT_EQ(device_->CreateStream(5, 0, 0), absl::OkStatus());
  Work elsewhere = AddOne(a_, 1);
  elsewhere.stream = 5;
  // Slices that are no multiple of a row apart take a call each.
  const Work odd{kDefaultStream, CopyWork{{a_ + 256, 8, 20}, {a_, 8, 20}, {4, 2, 2}}};
  const auto list = device_->PrepareWork({AddOne(a_, 1), AddOne(a_, 1), odd, AddOne(a_, 1), AddOne(a_, 1), elsewhere,
                                          AddOne(a_, 1), Fill(a_ + 4, 0, {0}), AddOne(a_, 1), AddOne(a_, 1)});
  Submit(*list, {3, 3});
  EXPECT_THAT(*Read(a_, 1), ElementsAre(8));
  EXPECT_THAT(*Read(a_ + 256, 1), ElementsAre(2));
  Submit(*list, {0, 3});
}

TEST_P(PreparedWorkTest, MemoryThatWasMappedAnewIsLookedUpAnew) {
  const DeviceAddress b = a_ + 2 * kMiB;
  ASSERT_EQ(device_->Map(b, 2 * kMiB), absl::OkStatus());
  const auto copies = device_->PrepareWork({Fill(a_, 3), Copy(b, a_)});
  const auto kernels = device_->PrepareWork({AddOne(b, 1), AddOne(b, 1)});
  Submit(*copies, {1, 1});
  Submit(*kernels, {1, 1});
  EXPECT_THAT(*Read(b, 1), ElementsAre(5));
  ASSERT_EQ(device_->Unmap(b), absl::OkStatus());
  EXPECT_EQ(ErrorOf(copies->Submit(0, 2).status), CudaError::kInvalidValue);
  ASSERT_EQ(device_->Map(b, 2 * kMiB), absl::OkStatus());
  Submit(*copies, {1, 1});
  Submit(*kernels, {0, 1});
  EXPECT_THAT(*Read(b, 1), ElementsAre(5));
}

TEST_P(PreparedWorkTest, AFaultInAGraphIsLatched) {
  if (GetParam() != WHARF_FAKE_DRIVER) GTEST_SKIP() << "a real fault ends the process's use of CUDA";
  const auto list = device_->PrepareWork({AddOne(a_, 1), {kDefaultStream, LaunchWork{kFault, {}, {}}}, AddOne(a_, 1)});
  Submit(*list, {1, 1});
  EXPECT_EQ(ErrorOf(Synchronize()), CudaError::kIllegalAddress);
  const Submission after = list->Submit(0, 3);
  EXPECT_EQ(after.queued, 0u);
  EXPECT_EQ(ErrorOf(after.status), CudaError::kIllegalAddress);
}

TEST_P(PreparedWorkTest, CooperativeLaunchesStandBetweenGraphs) {
  Work together = AddOne(a_, 1);
  std::get<LaunchWork>(together.what).config.cooperative = true;
  const auto list = device_->PrepareWork({AddOne(a_, 1), AddOne(a_, 1), together, AddOne(a_, 1), AddOne(a_, 1)});
  Submit(*list, {2, 2});
  EXPECT_THAT(*Read(a_, 1), ElementsAre(5));
}

// --- what libraries do ---

// Adds one to four numbers by a kernel, and doubles them by cuDNN.
class LibraryWorkTest : public PreparedWorkTest {
 protected:
  void SetUp() override {
    PreparedWorkTest::SetUp();
    if (device_ == nullptr) return;
    b_ = a_ + 256;
    WriteFloats(b_, {1, 2, 3, 4});
    Since();
  }
  void TearDown() override { CaptureAs(GraphNodeType::kKernel); }
  void WriteFloats(DeviceAddress to, const std::vector<float>& values) {
    ASSERT_EQ(device_->CopyToDevice(kDefaultStream, {to}, {values.size() * 4}, Bytes(values.data(), 4 * values.size())),
              absl::OkStatus());
  }
  std::vector<float> ReadFloats(DeviceAddress from) {
    const std::vector<uint32_t> words = *Read(from, 4);
    std::vector<float> values(words.size());
    std::memcpy(values.data(), words.data(), 4 * words.size());
    return values;
  }
  // to = factor * from
  static Work Scale(DeviceAddress to, DeviceAddress from, double factor) {
    Pointwise scale;
    scale.kind = PointwiseKind::kFirst;
    scale.a = Packed({1, 1, 1, 1, 4}, from);
    scale.y = Packed({1, 1, 1, 1, 4}, to);
    scale.alpha = factor;
    return {kDefaultStream, Primitive(scale)};
  }
  // What nodes of captured graphs seem to be.
  void CaptureAs(GraphNodeType type) {
    if (device_ == nullptr || GetParam() != WHARF_FAKE_DRIVER) return;
    void* library = dlopen(WHARF_FAKE_DRIVER, RTLD_NOW | RTLD_NOLOAD);
    reinterpret_cast<void (*)(GraphNodeType)>(dlsym(library, "FakeDriverCaptureAs"))(type);
  }

  DeviceAddress b_ = 0;
};

TEST_P(LibraryWorkTest, IsPartOfAGraphFromTheSecondTimeOn) {
  const auto list = device_->PrepareWork({AddOne(a_, 1), Scale(b_, b_, 2), Scale(b_ + 16, b_, 3), AddOne(a_, 1)});
  Submit(*list, {0, 0});
  EXPECT_THAT(ReadFloats(b_ + 16), ElementsAre(6, 12, 18, 24));
  Submit(*list, {1, 1});
  Submit(*list, {0, 1});
  EXPECT_THAT(ReadFloats(b_), ElementsAre(8, 16, 24, 32));
  EXPECT_THAT(ReadFloats(b_ + 16), ElementsAre(24, 48, 72, 96));
  EXPECT_THAT(*Read(a_, 1), ElementsAre(6));
}

TEST_P(LibraryWorkTest, NewOperandsChangeTheGraphInPlace) {
  const auto list = device_->PrepareWork({AddOne(a_, 1), Scale(b_ + 16, b_, 3)});
  Submit(*list, {0, 0});
  Submit(*list, {1, 1});
  list->Update(1, Scale(b_ + 32, b_, 5));
  Submit(*list, {0, 1});
  EXPECT_THAT(ReadFloats(b_ + 32), ElementsAre(5, 10, 15, 20));
  EXPECT_THAT(ReadFloats(b_ + 16), ElementsAre(3, 6, 9, 12));
}

TEST_P(LibraryWorkTest, WhatMayNotBeRepeatedStandsBetweenGraphs) {
  constexpr int kHost = 3, kTakesMemory = 10;
  for (const int type : {kHost, kTakesMemory}) {
    CaptureAs(static_cast<GraphNodeType>(type));
    const auto list =
        device_->PrepareWork({AddOne(a_, 1), AddOne(a_, 1), Scale(b_, b_, 2), AddOne(a_, 1), AddOne(a_, 1)});
    WriteFloats(b_, {1, 2, 3, 4});
    const bool fake = GetParam() == WHARF_FAKE_DRIVER;
    Submit(*list, {0, 0});
    Submit(*list, fake ? Graphs{0, 0} : Graphs{1, 1});  // where it turns out
    Submit(*list, fake ? Graphs{2, 2} : Graphs{0, 1});
    Submit(*list, fake ? Graphs{0, 2} : Graphs{0, 1});
    EXPECT_THAT(ReadFloats(b_), ElementsAre(16, 32, 48, 64));
  }
  EXPECT_THAT(*Read(a_, 1), ElementsAre(32));
}

TEST_P(LibraryWorkTest, StreamsCaptureForThemselves) {
  ASSERT_EQ(device_->CreateStream(5, 0, 0), absl::OkStatus());
  Work elsewhere = Scale(b_ + 16, b_, 3), more = Scale(b_ + 32, b_ + 16, 2);
  elsewhere.stream = more.stream = 5;
  const auto list = device_->PrepareWork({AddOne(a_, 1), Scale(b_, b_, 2), elsewhere, more});
  Submit(*list, {0, 0});
  Submit(*list, {2, 2});
  ASSERT_EQ(Synchronize(5), absl::OkStatus());
  EXPECT_THAT(ReadFloats(b_ + 32), ElementsAre(24, 48, 72, 96));
  ASSERT_EQ(device_->DestroyStream(5), absl::OkStatus());
  EXPECT_EQ(ErrorOf(list->Submit(2, 2).status), CudaError::kInvalidHandle);
}

INSTANTIATE_TEST_SUITE_P(Drivers, PreparedWorkTest, ::testing::Values(WHARF_FAKE_DRIVER, "libcuda.so.1"), DriverName);
#ifdef WHARF_HAS_CUDNN
INSTANTIATE_TEST_SUITE_P(Drivers, LibraryWorkTest, ::testing::Values(WHARF_FAKE_DRIVER, "libcuda.so.1"), DriverName);
#else
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(LibraryWorkTest);
#endif

}  // namespace
}  // namespace wharf::device::cuda
