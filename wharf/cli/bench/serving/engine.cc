#include "wharf/cli/bench/serving/engine.h"

#include <algorithm>
#include <charconv>

#include "wharf/ar/relay/picture.h"
#include "wharf/scene/world/videos.h"
#include "wharf/split/codec/jpeg.h"

namespace wharf::cli {
namespace {

constexpr int kMeasuredSizes[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64};

// "HL-07"
absl::StatusOr<scene::Video> VideoOf(const std::string& name) {
  int number = -1;
  const bool formed = name.size() == 5 && name[2] == '-' &&
                      std::from_chars(name.data() + 3, name.data() + 5, number).ptr == name.data() + 5;
  if (!formed) return InvalidArgument("the video of a drop table is called {}, not one of the town's", name);
  WHARF_ASSIGN_OR_RETURN(const scene::Category category, scene::ParseCategory(std::string{name[0], '/', name[1]}));
  return scene::FindVideo(category, number, scene::Split::kEvaluation);
}

absl::StatusOr<std::vector<std::vector<std::byte>>> JpegsOf(const std::string& name,
                                                            const TownPictures::Options& options) {
  WHARF_ASSIGN_OR_RETURN(const scene::Video video, VideoOf(name));
  const scene::World world(video.seed, video.Options());
  std::vector<std::vector<std::byte>> jpegs;
  for (int64_t frame = 0; frame < scene::World::kFrames; frame += options.step) {
    const scene::Image image = world.FrameAt(frame, options.width, options.height).image;
    WHARF_ASSIGN_OR_RETURN(auto jpeg,
                           split::EncodeJpeg({image.width, image.height, 3, image.rgb}, options.jpeg_quality));
    jpegs.push_back(std::move(jpeg));
  }
  return jpegs;
}

}  // namespace

absl::StatusOr<TownPictures> TownPictures::Render(std::span<const std::string> videos, const Options& options) {
  if (options.step < 1) return InvalidArgument("a picture every {} frames", options.step);
  TownPictures pictures(options.step);
  for (const std::string& video : videos) {
    WHARF_ASSIGN_OR_RETURN(pictures.videos_[video], JpegsOf(video, options));
  }
  return pictures;
}

std::span<const std::byte> TownPictures::Jpeg(const serving::VideoFrame& frame) const {
  const auto video = videos_.find(frame.video);
  if (video == videos_.end()) return {};
  const auto last = static_cast<int64_t>(video->second.size()) - 1;
  return video->second[std::clamp<int64_t>(frame.frame / step_, 0, last)];
}

std::vector<serving::VideoFrame> TownPictures::Samples() const {
  std::vector<serving::VideoFrame> samples;
  for (const auto& [name, jpegs] : videos_) samples.push_back({name, 0});
  return samples;
}

serving::RunBatch ServingBatches(ar::BatchFinder& finder, const TownPictures& pictures) {
  return [&](std::span<const serving::VideoFrame> batch) -> absl::Status {
    std::vector<scene::Image> images;
    for (const serving::VideoFrame& frame : batch) {
      const std::span<const std::byte> jpeg = pictures.Jpeg(frame);
      if (jpeg.empty()) return NotFound("no pictures of video {}", frame.video);
      WHARF_ASSIGN_OR_RETURN(images.emplace_back(), ar::DecodePicture(jpeg, finder.Width(), finder.Height()));
    }
    const std::vector<ar::DepthCoding> codings(images.size(), ar::DepthCoding::kJpeg);
    for (const ar::Finding& found : finder.Find(images, codings)) WHARF_RETURN_IF_ERROR(found.status());
    return absl::OkStatus();
  };
}

absl::StatusOr<std::vector<perception::BatchLatency>> MeasureBatches(serving::BatchEngine& engine,
                                                                     std::span<const serving::VideoFrame> frames,
                                                                     int largest_batch, int rounds) {
  perception::LatencyOptions measuring{.batches = {}, .rounds = rounds};
  for (const int size : kMeasuredSizes) {
    if (size <= largest_batch) measuring.batches.push_back(size);
  }
  if (!measuring.batches.empty() && measuring.batches.back() < largest_batch)
    measuring.batches.push_back(largest_batch);
  const auto run = [&](int size) {
    std::vector<serving::VideoFrame> batch;
    for (int i = 0; i < size; ++i) batch.push_back(frames[i % frames.size()]);
    engine.Start(std::move(batch));
    return engine.Wait(TimePoint{Nanoseconds::max()}).status();
  };
  return perception::MeasureLatency(run, measuring, Clock::Real());
}

}  // namespace wharf::cli
