// Detector: boxes of the vehicles and people in an image.
//
//   WHARF_ASSIGN_OR_RETURN(const auto detector, Detector::Load(engine, "data/ar/detector.onnx", {}));
//   WHARF_ASSIGN_OR_RETURN(const std::vector<scene::Box> boxes, detector.Detect(frame.image));
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "wharf/perception/box_decoder.h"
#include "wharf/perception/image_network.h"

namespace wharf::perception {

struct DetectorOptions {
  int largest_batch = 1;
  DecodeOptions decode;
};

// Thread-safe: many may detect at once.
class Detector {
 public:
  // The model: uint8 [batch, 3, height, width] in; out, over a grid of cells, float32 [batch, kObjectClasses, rows,
  // columns], the scores, and [batch, 4, rows, columns], the boxes (CellMaps). kInvalidArgument: another one; otherwise
  // as ImageNetwork::Load fails. `engine` must outlive the detector.
  static absl::StatusOr<Detector> Load(const exec::Engine& engine, const std::string& path,
                                       const DetectorOptions& options);
  static absl::StatusOr<Detector> Load(const exec::Engine& engine, std::span<const std::byte> onnx,
                                       const DetectorOptions& options);

  int Width() const { return network_.Width(); }
  int Height() const { return network_.Height(); }
  int LargestBatch() const { return network_.LargestBatch(); }

  // Best first. kInvalidArgument: the image is not Width() by Height().
  absl::StatusOr<std::vector<scene::Box>> Detect(const scene::Image& image) const;
  // Of each image, in one run of the network. kInvalidArgument also: no images, or more than LargestBatch().
  absl::StatusOr<std::vector<std::vector<scene::Box>>> Detect(std::span<const scene::Image> images) const;

 private:
  Detector(ImageNetwork network, const DecodeOptions& decode) : network_(std::move(network)), decode_(decode) {}
  static absl::StatusOr<Detector> Make(const exec::Engine& engine, const ImageNetwork::Import& import,
                                       const DetectorOptions& options);

  ImageNetwork network_;
  DecodeOptions decode_;
};

}  // namespace wharf::perception
