#include "wharf/scene/source/source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "wharf/scene/source/recording.h"

namespace wharf::scene {
namespace {

using testing::HasSubstr;

constexpr int kWidth = 96, kHeight = 32;

class Folder {
 public:
  Folder() : path_(testing::TempDir() + "wharf_source_XXXXXX") {
    if (mkdtemp(path_.data()) == nullptr) std::abort();
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  const std::string& Path() const { return path_; }
  std::string Write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ + "/" + name) << text;
    return path_ + "/" + name;
  }

 private:
  std::string path_;
};

const World& TheWorld() {
  static const World world(3, {.much_traffic = true, .many_turns = false, .imu = {}});
  return world;
}

// Frames 10 to 14.
void Record(const std::string& folder) {
  auto recording = Recording::Create(folder, World::Camera(kWidth, kHeight), 60, 10 / 60.0);
  ASSERT_TRUE(recording.ok()) << recording.status();
  for (int64_t i = 10; i < 15; ++i) {
    const absl::Status added =
        recording->Add(TheWorld().FrameAt(i, kWidth, kHeight), TheWorld().TruthAt(i, kWidth, kHeight));
    ASSERT_TRUE(added.ok()) << added;
  }
  ASSERT_TRUE(recording->Finish().ok());
}

void WriteVideo(const std::string& path, int frames) {
  auto writer = VideoWriter::Create(path, kWidth, kHeight, 60);
  ASSERT_TRUE(writer.ok()) << writer.status();
  for (int64_t i = 0; i < frames; ++i) writer->Add(TheWorld().FrameAt(i, kWidth, kHeight).image);
}

double Difference(const Image& a, const Image& b) {
  double sum = 0;
  for (size_t i = 0; i < a.rgb.size(); ++i) sum += std::abs(a.rgb[i] - b.rgb[i]);
  return sum / static_cast<double>(a.rgb.size());
}

TEST(WorldSource, HandsOutTheWorldsFrames) {
  const auto source = MakeWorldSource(TheWorld(), kWidth, kHeight);
  EXPECT_EQ(source->FramesPerSecond(), 60);
  EXPECT_EQ(source->Camera().fx, World::Camera(kWidth, kHeight).fx);
  for (int64_t i = 0; i < 3; ++i) {
    const auto frame = source->Next();
    ASSERT_TRUE(frame.ok() && frame->has_value());
    EXPECT_EQ((*frame)->index, i);
    EXPECT_EQ((*frame)->image.rgb, TheWorld().FrameAt(i, kWidth, kHeight).image.rgb);
  }
}

TEST(Pictures, OfARecordingAreItsFramesAgain) {
  const Folder folder;
  Record(folder.Path());
  auto opened = OpenFiles(folder.Path(), {});
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_EQ(opened->assumption, "");
  EXPECT_DOUBLE_EQ(opened->source->Camera().fy, World::Camera(kWidth, kHeight).fy);
  for (int64_t i = 10; i < 15; ++i) {
    const auto frame = opened->source->Next();
    ASSERT_TRUE(frame.ok() && frame->has_value());
    const Frame made = TheWorld().FrameAt(i, kWidth, kHeight);
    EXPECT_EQ((*frame)->index, i - 10);
    EXPECT_NEAR((*frame)->time_s, made.time_s, 1e-6);
    EXPECT_EQ((*frame)->image.rgb, made.image.rgb);
    ASSERT_EQ((*frame)->imu.size(), made.imu.size());
    EXPECT_NEAR((*frame)->imu.back().specific_force.y(), made.imu.back().specific_force.y(), 1e-6);
  }
  const auto end = opened->source->Next();
  ASSERT_TRUE(end.ok());
  EXPECT_FALSE(end->has_value());
}

TEST(Pictures, AreResizedAndTheirCameraToo) {
  const Folder folder;
  Record(folder.Path());
  auto opened = OpenFiles(folder.Path(), {.width = 48, .height = 24});
  ASSERT_TRUE(opened.ok()) << opened.status();
  const Intrinsics camera = Resized(World::Camera(kWidth, kHeight), 48, 24);
  EXPECT_DOUBLE_EQ(opened->source->Camera().fx, camera.fx);
  EXPECT_DOUBLE_EQ(opened->source->Camera().cy, camera.cy);
  const auto frame = opened->source->Next();
  ASSERT_TRUE(frame.ok() && frame->has_value());
  EXPECT_EQ((*frame)->image.width, 48);
  EXPECT_EQ((*frame)->image.rgb.size(), 48u * 24 * 3);
}

TEST(Pictures, WithoutACameraSayWhatIsAssumed) {
  const Folder folder;
  Record(folder.Path());
  std::filesystem::remove(folder.Path() + "/camera.json");
  std::filesystem::remove(folder.Path() + "/imu.csv");
  auto opened = OpenFiles(folder.Path(), {.assumed_field_of_view_degrees = 90});
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_THAT(opened->assumption, HasSubstr("90 degrees is assumed"));
  EXPECT_NEAR(opened->source->Camera().fx, kWidth / 2.0, 1e-9);
  EXPECT_TRUE(opened->source->Next()->value().imu.empty());
}

TEST(Pictures, WhatCannotBeReadIsSaidInALine) {
  const Folder folder;
  EXPECT_EQ(OpenFiles(folder.Path() + "/none", {}).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(OpenFiles(folder.Path(), {}).status().code(), absl::StatusCode::kNotFound);
  folder.Write("1.png", "not a picture");
  EXPECT_EQ(OpenFiles(folder.Path(), {}).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(Pictures, ACameraFileThatIsNoneIsRefused) {
  const Folder folder;
  Record(folder.Path());
  for (const char* text :
       {"", "[]", R"({"width": 96})", R"({"width": 1e99, "height": 32, "fx": 1, "fy": 1, "cx": 1, "cy": 1})",
        R"({"width": 96, "height": 32, "fx": 0, "fy": 1, "cx": 1, "cy": 1})",
        R"({"width": 96, "height": 32, "fx": "x", "fy": 1, "cx": 1, "cy": 1})",
        R"({"width": 96, "height": 33, "fx": 1, "fy": 1, "cx": 1, "cy": 1})",
        R"({"width": 96, "height": 32, "fx": 1, "fy": 1, "cx": 1, "cy": 1, "frames_per_second": 0})"}) {
    folder.Write("camera.json", text);
    const auto opened = OpenFiles(folder.Path(), {});
    EXPECT_EQ(opened.status().code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(Message(opened.status())), HasSubstr("camera.json")) << text;
  }
}

TEST(Pictures, ABadPictureAmongThemIsDataLossAndNotTheEnd) {
  const Folder folder;
  Record(folder.Path());
  folder.Write("000012.png", "not a picture");
  auto opened = OpenFiles(folder.Path(), {});
  ASSERT_TRUE(opened.ok());
  EXPECT_TRUE(opened->source->Next().ok());
  EXPECT_TRUE(opened->source->Next().ok());
  const auto bad = opened->source->Next();
  EXPECT_EQ(bad.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(Message(bad.status())), HasSubstr("000012.png"));
}

TEST(Videos, AreReadAsTheyWereWritten) {
  const Folder folder;
  const std::string path = folder.Path() + "/video.avi";
  WriteVideo(path, 5);
  auto opened = OpenFiles(path, {});
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_THAT(opened->assumption, HasSubstr("75 degrees is assumed"));
  EXPECT_DOUBLE_EQ(opened->source->FramesPerSecond(), 60);
  int count = 0;
  for (auto frame = opened->source->Next(); frame.ok() && frame->has_value(); frame = opened->source->Next()) {
    EXPECT_EQ((*frame)->index, count);
    EXPECT_LT(Difference((*frame)->image, TheWorld().FrameAt(count, kWidth, kHeight).image), 12);  // JPEG's share
    ++count;
  }
  EXPECT_EQ(count, 5);
}

TEST(Videos, AreResized) {
  const Folder folder;
  WriteVideo(folder.Path() + "/video.avi", 2);
  auto opened = OpenFiles(folder.Path() + "/video.avi", {.width = 64, .height = 64});
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_EQ(opened->source->Camera().width, 64);
  EXPECT_EQ(opened->source->Next()->value().image.rgb.size(), 64u * 64 * 3);
}

TEST(Videos, WhatIsNoneIsRefused) {
  const Folder folder;
  const std::string path = folder.Write("video.mp4", "no video");
  EXPECT_EQ(OpenFiles(path, {}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(OpenFiles(path, {.width = 10}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(OpenFiles(path, {.width = -1, .height = -1}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(OpenFiles(path, {.assumed_field_of_view_degrees = 180}).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(VideoWriter::Create(folder.Path() + "/none/video.avi", 64, 64, 30).status().code(),
            absl::StatusCode::kUnimplemented);
}

}  // namespace
}  // namespace wharf::scene
