// What a program sees of frames and outputs. Its functions: caller_test.cc, tests/e2e/python_ar_task_test.py.
#include "wharf/cli/host/own_task.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

namespace wharf::cli {
namespace {

constexpr int kWidth = 8, kHeight = 4;

scene::Frame FrameOf(int64_t index, uint8_t grey) {
  scene::Frame frame;
  frame.index = index;
  frame.time_s = static_cast<double>(index) / 60;
  frame.image = {kWidth, kHeight, std::vector<uint8_t>(size_t{3} * kWidth * kHeight, grey)};
  return frame;
}

class SharedFramesTest : public ::testing::Test {
 protected:
  SharedFramesTest() {
    auto memory = SharedTensors::Make(16, SharedFrames::TypesOf(kWidth, kHeight), SharedFrames::kSlots);
    EXPECT_TRUE(memory.ok()) << memory.status();
    memory_ = *std::move(memory);
    frames_.emplace(*memory_, 0);
  }

  const std::byte* Place(const nlohmann::json& shown, const char* what) {
    const nlohmann::json layout = frames_->Layout();
    const size_t slot =
        layout["first_slot"].get<size_t>() + shown["slot"].get<size_t>() * layout["slot_bytes"].get<size_t>();
    return memory_->Input().data() + slot + layout[what].get<size_t>();
  }
  nlohmann::json Shown(const scene::Frame& frame) {
    const auto shown = frames_->Show(frame);
    EXPECT_TRUE(shown.ok()) << shown.status();
    return shown.ok() ? *shown : nlohmann::json();
  }

  std::unique_ptr<SharedTensors> memory_;
  std::optional<SharedFrames> frames_;
};

TEST_F(SharedFramesTest, AFrameIsWhereItIsSaidToBe) {
  scene::Frame frame = FrameOf(5, 200);
  frame.imu = {{1, {2, 3, 4}, {5, 6, 7}}, {8, {9, 10, 11}, {12, 13, 14}}};
  const nlohmann::json shown = Shown(frame);
  EXPECT_EQ(shown["index"], 5);
  EXPECT_EQ(shown["time_s"], frame.time_s);
  ASSERT_EQ(shown["samples"], 2);
  EXPECT_EQ(std::memcmp(Place(shown, "picture"), frame.image.rgb.data(), frame.image.rgb.size()), 0);
  const auto* const numbers = reinterpret_cast<const double*>(Place(shown, "imu"));
  for (int i = 0; i < 14; ++i) EXPECT_EQ(numbers[i], i + 1);
}

TEST_F(SharedFramesTest, OfManySamplesTheNewestAreShown) {
  scene::Frame frame = FrameOf(0, 0);
  for (int i = 0; i < SharedFrames::kMostSamples + 3; ++i) frame.imu.push_back({1.0 * i, {}, {}});
  const nlohmann::json shown = Shown(frame);
  EXPECT_EQ(shown["samples"], SharedFrames::kMostSamples);
  EXPECT_EQ(reinterpret_cast<const double*>(Place(shown, "imu"))[0], 3);
}

TEST_F(SharedFramesTest, TheFrameShownBeforeStays) {
  const nlohmann::json first = Shown(FrameOf(0, 10));
  EXPECT_EQ(Shown(FrameOf(0, 10)), first) << "it is there already";
  nlohmann::json before = first;
  for (int64_t index = 1; index < 20; ++index) {
    const nlohmann::json shown = Shown(FrameOf(index, static_cast<uint8_t>(10 + index)));
    EXPECT_NE(shown["slot"], before["slot"]);
    EXPECT_GT(shown["serial"], before["serial"]);
    EXPECT_EQ(static_cast<int>(*Place(before, "picture")), 9 + index);
    before = shown;
  }
  // What is still used stays: a frame that is tracked from again and again.
  for (int64_t index = 20; index < 30; ++index) {
    EXPECT_EQ(Shown(FrameOf(19, 29)), before);
    Shown(FrameOf(index, static_cast<uint8_t>(10 + index)));
  }
  EXPECT_EQ(Shown(FrameOf(0, 10))["index"], 0) << "one that is gone comes back";
}

TEST_F(SharedFramesTest, InAnotherVideoIndicesBeginAgain) {
  const nlohmann::json first = Shown(FrameOf(0, 10));
  frames_->Forget();
  const nlohmann::json second = Shown(FrameOf(0, 20));
  EXPECT_NE(second["serial"], first["serial"]);
  EXPECT_EQ(static_cast<int>(*Place(second, "picture")), 20);
}

TEST_F(SharedFramesTest, OutputsLieOneBehindTheOther) {
  const std::vector<float> numbers = {1, 2, 3};
  const std::vector<uint8_t> labels = {4, 5};
  const ar::Outputs outputs = {
      graph::Constant::Of<float>(graph::ElementType::kFloat, {1, 3}, numbers),
      graph::Constant::Of<uint8_t>(graph::ElementType::kUint8, {2}, labels),
  };
  const auto shown = frames_->Show(outputs);
  ASSERT_TRUE(shown.ok()) << shown.status();
  ASSERT_EQ(shown->size(), 2u);
  EXPECT_EQ((*shown)[0]["element"], "float32");
  EXPECT_EQ((*shown)[0]["shape"], (nlohmann::json{1, 3}));
  EXPECT_EQ((*shown)[1]["element"], "uint8");
  for (size_t i = 0; i < outputs.size(); ++i) {
    const auto offset = (*shown)[i]["offset"].get<size_t>();
    EXPECT_EQ(offset % 64, 0u);
    EXPECT_EQ(std::memcmp(memory_->Input().data() + offset, outputs[i].bytes->data(), outputs[i].bytes->size()), 0);
  }
}

TEST_F(SharedFramesTest, WhatHasNoRoomIsRefused) {
  scene::Frame large = FrameOf(0, 0);
  large.image.rgb.push_back(0);
  EXPECT_EQ(frames_->Show(large).status().code(), absl::StatusCode::kInternal);
  const std::vector<uint8_t> half(size_t{9} << 20);
  const auto output = graph::Constant::Of<uint8_t>(graph::ElementType::kUint8, {9 << 20}, half);
  EXPECT_TRUE(frames_->Show(ar::Outputs{output}).ok());
  EXPECT_EQ(frames_->Show(ar::Outputs{output, output}).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace wharf::cli
