// ImageNetwork: a network that takes a camera's images as bytes, several in one run, and makes maps of numbers of them.
// What DepthNetwork and Detector have in common.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "wharf/base/status.h"
#include "wharf/exec/engine.h"
#include "wharf/graph/onnx/import.h"
#include "wharf/scene/scene.h"

namespace wharf::perception {

// Batches of 1 to this many images can be run. Each size is prepared when the network is loaded, so that no request
// pays for it, and keeps the weights once more.
inline constexpr int kLargestBatch = 64;

// Of one image: row-major, channel by channel.
struct MapShape {
  int channels = 0, height = 0, width = 0;
  int64_t Elements() const { return int64_t{channels} * height * width; }
  friend bool operator==(const MapShape&, const MapShape&) = default;
};

// Thread-safe: many may run it at once.
class ImageNetwork {
 public:
  // Makes the graph for one size of batch.
  using Import = std::function<absl::StatusOr<graph::Graph>(const graph::ImportOptions&)>;

  // kInvalidArgument: the model's one input is not uint8 [batch, 3, height, width] with "batch" free, its outputs are
  // not float32 [batch, channels, rows, columns], or largest_batch is not 1 to kLargestBatch; otherwise as `import` and
  // exec::Engine::Prepare fail. `engine` must outlive the network.
  static absl::StatusOr<ImageNetwork> Load(const exec::Engine& engine, const Import& import, int largest_batch);
  static Import FromFile(std::string path);
  // The bytes must live until the network is loaded.
  static Import FromBytes(std::span<const std::byte> onnx);

  int Width() const { return width_; }
  int Height() const { return height_; }
  int LargestBatch() const { return static_cast<int>(programs_.size()); }
  const std::vector<MapShape>& Outputs() const { return outputs_; }

  // Of each output, the maps of all images one after the other. kInvalidArgument: no images, more than LargestBatch(),
  // or one that is not Width() by Height(). kInternal: LibTorch refused.
  absl::StatusOr<std::vector<std::vector<float>>> Run(std::span<const scene::Image> images) const;

 private:
  explicit ImageNetwork(const exec::Engine& engine) : engine_(&engine) {}
  absl::Status Check(const scene::Image& image) const;

  const exec::Engine* engine_;
  int width_ = 0, height_ = 0;
  std::vector<MapShape> outputs_;
  std::vector<std::unique_ptr<exec::Program>> programs_;  // of batch 1, 2 ...
};

}  // namespace wharf::perception
