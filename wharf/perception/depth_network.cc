#include "wharf/perception/depth_network.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace wharf::perception {

absl::StatusOr<DepthNetwork> DepthNetwork::Load(const exec::Engine& engine, const std::string& path,
                                                const DepthOptions& options) {
  return Make(engine, ImageNetwork::FromFile(path), options);
}

absl::StatusOr<DepthNetwork> DepthNetwork::Load(const exec::Engine& engine, std::span<const std::byte> onnx,
                                                const DepthOptions& options) {
  return Make(engine, ImageNetwork::FromBytes(onnx), options);
}

absl::StatusOr<DepthNetwork> DepthNetwork::Make(const exec::Engine& engine, const ImageNetwork::Import& import,
                                                const DepthOptions& options) {
  WHARF_ASSIGN_OR_RETURN(ImageNetwork network, ImageNetwork::Load(engine, import, options.largest_batch));
  const std::vector<MapShape> expected = {{1, network.Height(), network.Width()}};
  if (network.Outputs() != expected) {
    return InvalidArgument("the model makes no depth map: it needs one output, [batch,1,{},{}]", network.Height(),
                           network.Width());
  }
  return DepthNetwork(std::move(network));
}

absl::StatusOr<scene::DepthMap> DepthNetwork::Estimate(const scene::Image& image) const {
  WHARF_ASSIGN_OR_RETURN(std::vector<scene::DepthMap> maps, Estimate(std::span(&image, 1)));
  return std::move(maps.front());
}

absl::StatusOr<std::vector<scene::DepthMap>> DepthNetwork::Estimate(std::span<const scene::Image> images) const {
  WHARF_ASSIGN_OR_RETURN(const std::vector<std::vector<float>> outputs, network_.Run(images));
  const int64_t pixels = network_.Outputs()[0].Elements();
  std::vector<scene::DepthMap> maps;
  for (size_t i = 0; i < images.size(); ++i) {
    const auto begin = outputs[0].begin() + static_cast<int64_t>(i) * pixels;
    scene::DepthMap& map = maps.emplace_back(scene::DepthMap{Width(), Height(), {begin, begin + pixels}});
    for (float& metres : map.metres) {
      if (!(metres > 0) || !std::isfinite(metres)) metres = 0;
    }
  }
  return maps;
}

}  // namespace wharf::perception
