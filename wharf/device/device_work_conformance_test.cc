// Prepared work (WorkList) does what plain calls do, on every driver.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "wharf/device/device_conformance.h"
#include "wharf/device/testing/generated/conformance_kernels_ptx.h"

namespace wharf::device {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

constexpr StreamId kSecondStream = 7;

class WorkConformance : public DeviceConformance {
 protected:
  void SetUp() override {
    DeviceConformance::SetUp();
    if (device_ == nullptr) return;
    for (uint64_t i = 0; i < 3; ++i) MapSlot(i);
    ASSERT_EQ(device_->CreateStream(kSecondStream, 0, 0), absl::OkStatus());
  }

  static Work FillOf(DeviceAddress to, uint32_t value, uint64_t words = 1, StreamId stream = kDefaultStream) {
    return {stream, FillWork{{to}, {words * 4}, value, 4}};
  }
  static Work CopyOf(DeviceAddress to, DeviceAddress from, uint64_t words = 1, StreamId stream = kDefaultStream) {
    return {stream, CopyWork{{to}, {from}, {words * 4}}};
  }
  static void ExpectAll(WorkList& list) {
    const Submission submission = list.Submit(0, list.size());
    EXPECT_EQ(submission.status, absl::OkStatus());
    EXPECT_EQ(submission.queued, list.size());
  }
  std::vector<uint32_t> Words(DeviceAddress from, size_t count) { return Read<uint32_t>(from, count); }
};

TEST_P(WorkConformance, RunsInOrder) {
  const DeviceAddress a = Slot(0), b = Slot(1);
  const auto list = device_->PrepareWork({FillOf(a, 1, 4), CopyOf(b, a, 2), FillOf(a, 2, 4), CopyOf(b + 12, a)});
  EXPECT_EQ(list->size(), 4u);
  EXPECT_THAT(Words(b, 4), Each(0));  // nothing has been queued yet
  ExpectAll(*list);
  EXPECT_THAT(Words(b, 4), ElementsAre(1, 1, 0, 2));
  EXPECT_THAT(Words(a, 4), Each(2));
}

TEST_P(WorkConformance, PartsCanBeSubmitted) {
  const DeviceAddress a = Slot(0);
  const auto list = device_->PrepareWork({FillOf(a, 1), FillOf(a + 4, 2), FillOf(a + 8, 3)});
  EXPECT_EQ(list->Submit(1, 1).status, absl::OkStatus());
  EXPECT_THAT(Words(a, 3), ElementsAre(0, 2, 0));
  EXPECT_EQ(list->Submit(3, 0).status, absl::OkStatus());
  EXPECT_EQ(list->Submit(0, 0).queued, 0u);
  EXPECT_EQ(list->Submit(2, 1).queued, 1u);
  EXPECT_THAT(Words(a, 3), ElementsAre(0, 2, 3));
}

TEST_P(WorkConformance, StreamsAreKept) {
  const DeviceAddress a = Slot(0);
  const auto list = device_->PrepareWork({FillOf(a, 1, 1, kSecondStream), CopyOf(a + 4, a, 1, kSecondStream),
                                          FillOf(a + 8, 5), CopyOf(a + 12, a + 4, 1, kSecondStream)});
  ExpectAll(*list);
  EXPECT_EQ(Wait(kSecondStream), absl::OkStatus());
  EXPECT_THAT(Read<uint32_t>(a, 4, kSecondStream), ElementsAre(1, 1, 5, 1));
}

TEST_P(WorkConformance, EmptyListsAndBoxesDoNothing) {
  ExpectAll(*device_->PrepareWork({}));
  ExpectAll(*device_->PrepareWork({{kDefaultStream, FillWork{{0}, {0}, 1, 1}}, {kDefaultStream, CopyWork{}}}));
  EXPECT_EQ(Wait(), absl::OkStatus());
}

TEST_P(WorkConformance, AnErrorLeavesWhatIsBeforeItQueued) {
  const DeviceAddress a = Slot(0);
  const auto list = device_->PrepareWork({FillOf(a, 1), FillOf(Slot(9), 2), FillOf(a + 8, 3)});
  const Submission submission = list->Submit(0, 3);
  EXPECT_EQ(submission.queued, 1u);
  EXPECT_EQ(CudaErrorOf(submission.status), CudaError::kInvalidValue);
  EXPECT_THAT(Words(a, 3), ElementsAre(1, 0, 0));
  EXPECT_EQ(list->Submit(2, 1).status, absl::OkStatus());
  list->Update(1, {99, FillWork{{a + 4}, {4}, 2, 4}});
  EXPECT_EQ(CudaErrorOf(list->Submit(1, 2).status), CudaError::kInvalidHandle);
  list->Update(1, FillOf(a + 4, 2));
  ExpectAll(*list);
  EXPECT_THAT(Words(a, 3), ElementsAre(1, 2, 3));
  EXPECT_EQ(device_->Fault(), absl::OkStatus());
}

TEST_P(WorkConformance, NamesMeanWhatTheyMeanWhenSubmitted) {
  const DeviceAddress a = Slot(0), b = Slot(1);
  const auto list = device_->PrepareWork({FillOf(a, 1), CopyOf(b, a), FillOf(b + 4, 9, 1, kSecondStream)});
  ExpectAll(*list);
  EXPECT_EQ(Wait(kSecondStream), absl::OkStatus());
  ASSERT_EQ(device_->Unmap(b), absl::OkStatus());
  EXPECT_EQ(list->Submit(0, 3).queued, 1u);
  EXPECT_EQ(CudaErrorOf(list->Submit(1, 1).status), CudaError::kInvalidValue);
  MapSlot(1);
  ExpectAll(*list);
  EXPECT_EQ(Wait(kSecondStream), absl::OkStatus());
  EXPECT_THAT(Words(b, 2), ElementsAre(1, 9));
  ASSERT_EQ(device_->DestroyStream(kSecondStream), absl::OkStatus());
  EXPECT_EQ(CudaErrorOf(list->Submit(2, 1).status), CudaError::kInvalidHandle);
  ASSERT_EQ(device_->CreateStream(kSecondStream, 0, 0), absl::OkStatus());
  EXPECT_EQ(list->Submit(2, 1).status, absl::OkStatus());
}

TEST_P(WorkConformance, UpdatesLeaveWhatWasSubmittedAlone) {
  const DeviceAddress a = Slot(0);
  const auto list = device_->PrepareWork({FillOf(a, 1), CopyOf(a + 4, a)});
  ExpectAll(*list);  // so that whatever is built, is built
  std::promise<void> gate;
  std::shared_future<void> opened = gate.get_future().share();
  ASSERT_EQ(device_->HostCall(0, [opened] { opened.wait(); }), absl::OkStatus());
  ExpectAll(*list);
  for (uint32_t i = 2; i < 5; ++i) {
    list->Update(0, FillOf(a, i));
    list->Update(1, CopyOf(a + 4 * i, a));
    ExpectAll(*list);
  }
  gate.set_value();
  EXPECT_THAT(Words(a, 6), ElementsAre(4, 1, 2, 3, 4, 0));
}

TEST_P(WorkConformance, AListMayGoWhileItsWorkIsQueued) {
  const DeviceAddress a = Slot(0);
  std::promise<void> gate;
  std::shared_future<void> opened = gate.get_future().share();
  ASSERT_EQ(device_->HostCall(0, [opened] { opened.wait(); }), absl::OkStatus());
  {
    const auto list = device_->PrepareWork({FillOf(a, 1), CopyOf(a + 4, a)});
    ExpectAll(*list);
  }
  gate.set_value();
  EXPECT_THAT(Words(a, 2), ElementsAre(1, 1));
}

TEST_P(WorkConformance, CallbacksComeAfterTheWork) {
  const DeviceAddress a = Slot(0);
  const auto list = device_->PrepareWork({FillOf(a, 1), FillOf(a, 2), CopyOf(a + 4, a)});
  ASSERT_EQ(device_->CreateEvent(1, 0), absl::OkStatus());
  ExpectAll(*list);
  ASSERT_EQ(device_->RecordEvent(1, 0), absl::OkStatus());
  EXPECT_EQ(WaitEvent(1), absl::OkStatus());
  EXPECT_THAT(Words(a, 2), ElementsAre(2, 2));
  EXPECT_EQ(Wait(), absl::OkStatus());
  EXPECT_EQ(*device_->StreamDone(0), true);
  EXPECT_GT(device_->BusyTime().count(), 0);
}

// The same random work by plain calls on one memory and by a list, in parts and with updates, on another.
struct Step {
  uint32_t kind, to, from, words, value;
  bool second_stream;
};

TEST_P(WorkConformance, RandomWorkIsWhatPlainCallsDo) {
  const auto work_of = [&](const Step& s, DeviceAddress base) {
    const uint64_t words = 1 + s.words % 8;
    const DeviceAddress to = base + 4 * (s.to % 24);
    const StreamId stream = s.second_stream ? kSecondStream : kDefaultStream;
    switch (s.kind % 4) {
      case 0:
        return CopyOf(to, base + 4 * (32 + s.from % 24), words, stream);
      case 1:
        return CopyOf(to + 128, base + 4 * (s.from % 24), words, stream);
      case 2:
        return Work{stream, FillWork{{to, 16}, {4, 1 + s.words % 3}, s.value, 1 + s.value % 2}};
      default:
        return FillOf(to, s.value, words, stream);
    }
  };
  const auto bounded = rc::gen::inRange<uint32_t>(0, 1000);
  const auto step = rc::gen::construct<Step>(bounded, bounded, bounded, bounded, bounded,
                                             rc::gen::weightedElement<bool>({{5, false}, {1, true}}));
  const auto start = Iota<uint32_t>(64);
  EXPECT_TRUE(rc::check([&] {
    const auto steps = *rc::gen::container<std::vector<Step>>(step);
    const auto updates = *rc::gen::container<std::vector<std::pair<uint32_t, Step>>>(rc::gen::pair(bounded, step));
    const size_t cut = *rc::gen::inRange<size_t>(0, steps.size() + 1);
    std::vector<Work> work;
    for (const Step& s : steps) work.push_back(work_of(s, Slot(1)));
    const auto list = device_->PrepareWork(work);
    for (const DeviceAddress base : {Slot(0), Slot(1)}) RC_ASSERT(Write(base, start) == absl::OkStatus());
    auto plain = steps;
    for (int round = 0; round < 3; ++round) {
      for (const Step& s : plain) RC_ASSERT(device_->Run(work_of(s, Slot(0))) == absl::OkStatus());
      if (round == 1) {
        RC_ASSERT(list->Submit(0, cut).status == absl::OkStatus());
        RC_ASSERT(list->Submit(cut, steps.size() - cut).status == absl::OkStatus());
      } else {
        RC_ASSERT(list->Submit(0, steps.size()).status == absl::OkStatus());
      }
      RC_ASSERT(Words(Slot(1), 64) == Words(Slot(0), 64));
      for (const auto& [at, s] : updates) {
        if (plain.empty()) break;
        plain[at % plain.size()] = s;
        list->Update(at % plain.size(), work_of(s, Slot(1)));
      }
    }
  }));
}

TEST_P(WorkConformance, PreparedGemm) {
  const DeviceAddress a = Slot(0), b = Slot(1), c = Slot(2);
  ASSERT_EQ(Write(a, std::vector<float>{1, 2, 3, 4}), absl::OkStatus());
  Gemm g{.m = 2, .n = 2, .k = 2, .a = a, .b = b, .c = c, .lda = 2, .ldb = 2, .ldc = 2};
  const auto list = device_->PrepareWork({CopyOf(b, a, 4), {kDefaultStream, g}, CopyOf(c + 16, c, 4)});
  ExpectAll(*list);
  EXPECT_THAT(Read<float>(c + 16, 4), ElementsAre(7, 10, 15, 22));
  g.alpha = {2, 0};
  list->Update(1, {kDefaultStream, g});
  ExpectAll(*list);
  EXPECT_THAT(Read<float>(c + 16, 4), ElementsAre(14, 20, 30, 44));
  g.lda = 1;
  list->Update(1, {kDefaultStream, g});
  EXPECT_EQ(list->Submit(0, 3).queued, 1u);
}

class KernelWorkConformance : public WorkConformance {
 protected:
  static constexpr FunctionId kSaxpy = 1;
  void SetUp() override {
    WorkConformance::SetUp();
    if (device_ == nullptr) return;
    ASSERT_EQ(device_->LoadModule(1, BytesOf(kConformanceKernels)), absl::OkStatus());
    ASSERT_EQ(device_->DefineFunction(kSaxpy, 1, "saxpy"), absl::OkStatus());
  }
  // y += factor * x
  static Work SaxpyOf(DeviceAddress y, DeviceAddress x, float factor, uint32_t count) {
    std::vector<std::byte> parameters(24);
    std::memcpy(parameters.data(), &y, 8);
    std::memcpy(parameters.data() + 8, &x, 8);
    std::memcpy(parameters.data() + 16, &factor, 4);
    std::memcpy(parameters.data() + 20, &count, 4);
    return {kDefaultStream, LaunchWork{kSaxpy, {{1}, {64}}, std::move(parameters)}};
  }
};

TEST_P(KernelWorkConformance, LaunchesWithNewArguments) {
  const DeviceAddress x = Slot(0), y = Slot(1);
  ASSERT_EQ(Write(x, std::vector<float>{1, 2, 3}), absl::OkStatus());
  const auto list = device_->PrepareWork(
      {SaxpyOf(y, x, 1, 3), SaxpyOf(y, x, 10, 2), CopyOf(y + 12, y, 1), SaxpyOf(y + 12, x, 100, 1)});
  ExpectAll(*list);
  EXPECT_THAT(Read<float>(y, 4), ElementsAre(11, 22, 3, 111));
  list->Update(1, SaxpyOf(y, x, 0, 2));
  list->Update(2, FillOf(y + 12, 0));
  ExpectAll(*list);
  EXPECT_THAT(Read<float>(y, 4), ElementsAre(12, 24, 6, 100));
}

TEST_P(KernelWorkConformance, LaunchesAreCheckedWhenSubmitted) {
  const DeviceAddress x = Slot(0), y = Slot(1);
  Work wide = SaxpyOf(y, x, 1, 3);
  std::get<LaunchWork>(wide.what).config.block.x = 4096;
  const auto list = device_->PrepareWork({SaxpyOf(y, x, 1, 3), wide});
  Submission submission = list->Submit(0, 2);
  EXPECT_EQ(submission.queued, 1u);
  EXPECT_EQ(CudaErrorOf(submission.status), CudaError::kInvalidConfiguration);
  list->Update(1, SaxpyOf(y, x, 1, 3));
  ExpectAll(*list);
  ASSERT_EQ(device_->UnloadModule(1), absl::OkStatus());
  submission = list->Submit(0, 2);
  EXPECT_EQ(submission.queued, 0u);
  EXPECT_EQ(CudaErrorOf(submission.status), CudaError::kInvalidHandle);
  ASSERT_EQ(device_->LoadModule(1, BytesOf(kConformanceKernels)), absl::OkStatus());
  ASSERT_EQ(device_->DefineFunction(kSaxpy, 1, "saxpy"), absl::OkStatus());
  ExpectAll(*list);
  EXPECT_EQ(Wait(), absl::OkStatus());
}

TEST_P(KernelWorkConformance, AFaultIsLatchedAndEndsTheWork) {
  const DeviceAddress x = Slot(0), y = Slot(1);
  const auto list = device_->PrepareWork({SaxpyOf(64, x, 1, 3), SaxpyOf(y, x, 1, 3)});
  ExpectAll(*list);
  EXPECT_EQ(CudaErrorOf(Wait()), CudaError::kIllegalAddress);
  EXPECT_EQ(CudaErrorOf(device_->Fault()), CudaError::kIllegalAddress);
}

INSTANTIATE_TEST_SUITE_P(Drivers, WorkConformance, ::testing::ValuesIn(AllDrivers()), DriverName);
INSTANTIATE_TEST_SUITE_P(Drivers, KernelWorkConformance, ::testing::ValuesIn(AllDrivers()), DriverName);

}  // namespace
}  // namespace wharf::device
