// Where frames come from: the synthetic world, a video file, or a folder of pictures.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "wharf/base/status.h"
#include "wharf/scene/scene.h"
#include "wharf/scene/world/world.h"

namespace wharf::scene {

// Frames in order, from the first. One thread at a time.
class Source {
 public:
  virtual ~Source() = default;
  virtual Intrinsics Camera() const = 0;
  virtual double FramesPerSecond() const = 0;
  // Nothing: it has ended. kDataLoss: a frame is there that cannot be read.
  virtual absl::StatusOr<std::optional<Frame>> Next() = 0;
};

// REQUIRES: `world` outlives it.
std::unique_ptr<Source> MakeWorldSource(const World& world, int width, int height);

// How frames of files are handed out.
struct FileOptions {
  int width = 0, height = 0;  // 0: as they are
  // Of the whole picture, where no camera.json says better. Most phones' and action cameras' is between 60 and 100.
  double assumed_field_of_view_degrees = 75;
};

// A source of which it may have to be said what it was taken for.
struct FileSource {
  std::unique_ptr<Source> source;
  std::string assumption;  // "" or a line such as "VIDEO says nothing of its camera; a field of view of ... is assumed"
};

// Whatever OpenCV's videoio reads here. kNotFound: there is no such file. kInvalidArgument: it is no video that can be
// read, or `options` ask for what cannot be.
absl::StatusOr<FileSource> OpenVideo(const std::string& path, const FileOptions& options);

// The pictures (.png, .jpg, .jpeg, not .depth.png) of a folder, sorted by name, of one size, and if there are:
// - camera.json: width, height, fx, fy, cx, cy of the pictures as they are; frames_per_second (60 if absent);
//   first_time_s, of the first picture (0 if absent).
// - imu.csv: a header, then time_s, wx, wy, wz (rad/s), ax, ay, az (m/s^2, specific force) in the camera's axes (x
// right,
//   y down, z ahead), by time.
// A folder that `wharf ar render` wrote is one. kNotFound: there is no such folder, or no picture in it.
// kInvalidArgument: camera.json or imu.csv is not as described.
absl::StatusOr<FileSource> OpenPictures(const std::string& folder, const FileOptions& options);

// OpenPictures of a folder, OpenVideo of anything else.
absl::StatusOr<FileSource> OpenFiles(const std::string& path, const FileOptions& options);

}  // namespace wharf::scene
