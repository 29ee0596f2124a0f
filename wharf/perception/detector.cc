#include "wharf/perception/detector.h"

#include <utility>

namespace wharf::perception {
namespace {

constexpr int kSides = 4;

bool AreCells(const std::vector<MapShape>& outputs) {
  return outputs.size() == 2 && outputs[0].channels == scene::kObjectClasses && outputs[1].channels == kSides &&
         outputs[0].height == outputs[1].height && outputs[0].width == outputs[1].width;
}

}  // namespace

absl::StatusOr<Detector> Detector::Load(const exec::Engine& engine, const std::string& path,
                                        const DetectorOptions& options) {
  return Make(engine, ImageNetwork::FromFile(path), options);
}

absl::StatusOr<Detector> Detector::Load(const exec::Engine& engine, std::span<const std::byte> onnx,
                                        const DetectorOptions& options) {
  return Make(engine, ImageNetwork::FromBytes(onnx), options);
}

absl::StatusOr<Detector> Detector::Make(const exec::Engine& engine, const ImageNetwork::Import& import,
                                        const DetectorOptions& options) {
  WHARF_ASSIGN_OR_RETURN(ImageNetwork network, ImageNetwork::Load(engine, import, options.largest_batch));
  if (!AreCells(network.Outputs())) {
    return InvalidArgument(
        "the model is no detector: it needs two outputs, [batch,{},rows,columns] and [batch,{},rows,columns]",
        scene::kObjectClasses, kSides);
  }
  return Detector(std::move(network), options.decode);
}

absl::StatusOr<std::vector<scene::Box>> Detector::Detect(const scene::Image& image) const {
  WHARF_ASSIGN_OR_RETURN(std::vector<std::vector<scene::Box>> boxes, Detect(std::span(&image, 1)));
  return std::move(boxes.front());
}

absl::StatusOr<std::vector<std::vector<scene::Box>>> Detector::Detect(std::span<const scene::Image> images) const {
  WHARF_ASSIGN_OR_RETURN(const std::vector<std::vector<float>> outputs, network_.Run(images));
  const size_t scores = network_.Outputs()[0].Elements(), boxes = network_.Outputs()[1].Elements();
  std::vector<std::vector<scene::Box>> found;
  for (size_t i = 0; i < images.size(); ++i) {
    const CellMaps maps{.rows = network_.Outputs()[0].height,
                        .columns = network_.Outputs()[0].width,
                        .scores = std::span(outputs[0]).subspan(i * scores, scores),
                        .boxes = std::span(outputs[1]).subspan(i * boxes, boxes)};
    found.push_back(DecodeBoxes(maps, Width(), Height(), decode_));
  }
  return found;
}

}  // namespace wharf::perception
