// DepthNetwork: the distance of everything in an image, from that image alone.
//
//   WHARF_ASSIGN_OR_RETURN(const auto depth, DepthNetwork::Load(engine, "data/ar/depth.onnx", {.largest_batch = 8}));
//   WHARF_ASSIGN_OR_RETURN(const scene::DepthMap map, depth.Estimate(frame.image));
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "wharf/perception/image_network.h"

namespace wharf::perception {

struct DepthOptions {
  int largest_batch = 1;
};

// Thread-safe: many may estimate at once.
class DepthNetwork {
 public:
  // The model: uint8 [batch, 3, height, width] in, float32 [batch, 1, height, width] out, in metres. kInvalidArgument:
  // another one; otherwise as ImageNetwork::Load fails. `engine` must outlive the network.
  static absl::StatusOr<DepthNetwork> Load(const exec::Engine& engine, const std::string& path,
                                           const DepthOptions& options);
  static absl::StatusOr<DepthNetwork> Load(const exec::Engine& engine, std::span<const std::byte> onnx,
                                           const DepthOptions& options);

  int Width() const { return network_.Width(); }
  int Height() const { return network_.Height(); }
  int LargestBatch() const { return network_.LargestBatch(); }

  // Of the image's size; where the network says nothing finite and positive, depth is unknown. kInvalidArgument: the
  // image is not Width() by Height().
  absl::StatusOr<scene::DepthMap> Estimate(const scene::Image& image) const;
  // In one run of the network. kInvalidArgument also: no images, or more than LargestBatch().
  absl::StatusOr<std::vector<scene::DepthMap>> Estimate(std::span<const scene::Image> images) const;

 private:
  explicit DepthNetwork(ImageNetwork network) : network_(std::move(network)) {}
  static absl::StatusOr<DepthNetwork> Make(const exec::Engine& engine, const ImageNetwork::Import& import,
                                           const DepthOptions& options);

  ImageNetwork network_;
};

}  // namespace wharf::perception
