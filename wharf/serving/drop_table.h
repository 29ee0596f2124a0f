// DropTable: what local tracking costs in one video: for a frame that is offloaded and a later one that is tracked from
// its result, how much less accurate that is than running the network on the later frame itself. What emulated clients
// look up instead of tracking (thesis 3.5).
//
// As bytes, little-endian: u32 magic "WHDT", u16 version 1, u16 length of the name and the name; f64 fps; u32 frames,
// u32 step, u16 number of strides; f64 frame bytes, f64 result bytes, f64 client seconds; u16 each stride,
// rising; then for each frame 0, step, 2 step … below `frames`, for each stride: f32 drop, f32 seen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "wharf/base/status.h"
#include "wharf/serving/types.h"

namespace wharf::serving {

struct DropSample {
  float drop = 0;  // accuracy of the network's result less that of the tracker's, both against the truth
  float seen = 0;  // how far the tracker's result is from the network's: what a client can measure
};

struct DropTableData {
  std::string video;
  double fps = 60;
  int frames = 0;  // of the video
  int step = 1;    // of the frames, every such one is a row
  // Rising from 1 or more; what is between is interpolated. Shorter ones, but for 0, lie on the line through the first
  // two: a network differs from itself in the next frame already.
  std::vector<int> strides;
  // Of an offloaded frame, as a JPEG, and of a result, means.
  double frame_bytes = 0, result_bytes = 0;
  double client_s = 0;              // encoding a frame and decoding a result
  std::vector<DropSample> samples;  // [row][stride]; of frames beyond the video's end anything finite
  int Rows() const { return step < 1 ? 0 : (frames + step - 1) / step; }
};

class DropTable {
 public:
  // kInvalidArgument, one line: sizes that do not fit, strides that do not rise, values not finite or beyond
  // sense.
  static absl::StatusOr<DropTable> Make(DropTableData data);
  // kInvalidArgument: not such bytes, all checked before memory is taken; otherwise as Make.
  static absl::StatusOr<DropTable> Parse(std::span<const std::byte> bytes);
  std::vector<std::byte> Bytes() const;

  const DropTableData& data() const { return data_; }
  // By interpolation between strides, of the nearest row before; beyond the last stride in proportion. REQUIRES: a
  // frame of the video, stride >= 0.
  DropSample At(FrameId source, int64_t stride) const;

 private:
  explicit DropTable(DropTableData data);
  DropTableData data_;
  std::vector<DropSample> dense_;  // [row][stride 0 .. last]
};

}  // namespace wharf::serving
