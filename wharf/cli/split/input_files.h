// What `--input` names, one input after the other: a file, a folder, a video, or standard input.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "wharf/base/status.h"
#include "wharf/split/codec/jpeg.h"

namespace wharf::cli {

struct InputPiece {
  std::string name;                   // "photos/cat.jpg", "street.mp4 #3", "- #3"
  std::string bytes;                  // of a file or a piece of a stream; "" of a video's frame
  std::optional<split::Image> image;  // what `bytes` or the frame show, if they are a picture
};

class InputFiles {
 public:
  // Whatever `path` is: "-" is standard input, pictures (binary PNM, JPEG) one after the other, or else arrays of raw
  // bytes. kNotFound, kPermissionDenied: it cannot be read; kInvalidArgument: an empty folder, pictures
  // among other files, or no video.
  static absl::StatusOr<std::unique_ptr<InputFiles>> Open(const std::string& path);
  virtual ~InputFiles() = default;

  // Whether it holds pictures, judging by the first.
  virtual bool Pictures() const = 0;
  // Whether there may be more than one.
  virtual bool Many() const = 0;
  // Nothing: it is at its end, or a signal came while it waited. `raw_bytes`: how many bytes are one input where
  // nothing else tells. kInvalidArgument: a damaged picture, or something else among pictures; names it. kDataLoss: a
  // stream that ends within an input.
  virtual absl::StatusOr<std::optional<InputPiece>> Next(size_t raw_bytes) = 0;
};

}  // namespace wharf::cli
