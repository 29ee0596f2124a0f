// A folder of what a camera saw and what was true of it, as tools/ and other programs read it. docs/world.md describes
// it.
#pragma once

#include <memory>
#include <string>

#include "wharf/base/status.h"
#include "wharf/scene/scene.h"

namespace wharf::scene {

class Recording {
 public:
  // Makes the folder, or writes over what an earlier recording left there. kPermissionDenied and others by errno: it
  // cannot be written. `first_time_s`: of frame 0 of the recording.
  static absl::StatusOr<Recording> Create(const std::string& folder, const Intrinsics& camera, double frames_per_second,
                                          double first_time_s);
  ~Recording();
  Recording(Recording&&) noexcept;
  Recording& operator=(Recording&&) noexcept;

  // NUMBER.png and NUMBER.depth.png, in the order of time. Its IMU samples are written as they are.
  // kPermissionDenied or kResourceExhausted: it could not be written.
  absl::Status Add(const Frame& frame, const Truth& truth);
  // Whether everything was written.
  absl::Status Finish();

 private:
  struct Files;
  explicit Recording(std::unique_ptr<Files> files);
  std::unique_ptr<Files> files_;
};

// A picture file, its format by the name's ending. kUnimplemented: OpenCV cannot write such a file here.
absl::Status SavePicture(const std::string& path, const Image& image);

// A video file, its format by the name's ending (.mp4, .avi).
class VideoWriter {
 public:
  // kUnimplemented: OpenCV cannot write such a file here.
  static absl::StatusOr<VideoWriter> Create(const std::string& path, int width, int height, double frames_per_second);
  ~VideoWriter();
  VideoWriter(VideoWriter&&) noexcept;
  VideoWriter& operator=(VideoWriter&&) noexcept;
  void Add(const Image& image);

 private:
  struct File;
  explicit VideoWriter(std::unique_ptr<File> file);
  std::unique_ptr<File> file_;
};

}  // namespace wharf::scene
