// The server's half of `wharf bench serving --engine exec`: pictures of the town as emulated clients would send them,
// and what a server computes for a batch of them.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "wharf/ar/server/finder.h"
#include "wharf/perception/latency_profile.h"
#include "wharf/serving/batch_engine.h"

namespace wharf::cli {

// JPEGs of the frames of videos, of some frames each: the others are taken for the last of these before them. What a
// picture shows makes no difference to a convolution.
class TownPictures {
 public:
  struct Options {
    int width = 448, height = 128;
    int step = 60;          // frames from one that is rendered to the next
    int jpeg_quality = 90;  // as `wharf ar drop-table` has it
  };
  // Of evaluation videos, by the names that `wharf ar drop-table` gives them, "HL-07"; 0.8 s each. kInvalidArgument: no
  // such name, or a step below 1.
  static absl::StatusOr<TownPictures> Render(std::span<const std::string> videos, const Options& options);

  // Of frames beyond the video's, the first or the last; empty for other videos.
  std::span<const std::byte> Jpeg(const serving::VideoFrame& frame) const;
  // One of each video.
  std::vector<serving::VideoFrame> Samples() const;

 private:
  explicit TownPictures(int step) : step_(step) {}

  int step_;
  std::map<std::string, std::vector<std::vector<std::byte>>, std::less<>> videos_;
};

// A batch from bytes to bytes, in one call of the finder: pictures are decoded, results coded as JPEGs or boxes. Fails
// as these do, kNotFound: a frame of a video that `pictures` has not. Both must outlive it.
serving::RunBatch ServingBatches(ar::BatchFinder& finder, const TownPictures& pictures);

// What batches of sizes up to `largest_batch` take on the engine, from Start to the end of Wait. REQUIRES: a frame.
absl::StatusOr<std::vector<perception::BatchLatency>> MeasureBatches(serving::BatchEngine& engine,
                                                                     std::span<const serving::VideoFrame> frames,
                                                                     int largest_batch, int rounds);

}  // namespace wharf::cli
