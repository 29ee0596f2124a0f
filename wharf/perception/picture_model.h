// PictureModel: any ONNX model that looks at one picture and says anything: an AR task of a user's own. What it makes
// is not interpreted here.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "wharf/base/status.h"
#include "wharf/exec/engine.h"
#include "wharf/graph/onnx/byte_input.h"
#include "wharf/scene/scene.h"

namespace wharf::perception {

// Thread-safe: many may run it at once.
class PictureModel {
 public:
  // One input, a picture of bytes or float32, [1, 1 or 3, height, width] or [1, height, width, 1 or 3]. Its sides
  // must be fixed. Floats are what torchvision's models take: pixels of 0 to 1, less the mean of
  // ImageNet and over its deviation. kInvalidArgument: another model; otherwise as graph::ImportOnnx and
  // exec::Engine::Prepare fail. `engine` must outlive the model.
  static absl::StatusOr<PictureModel> Load(const exec::Engine& engine, std::span<const std::byte> onnx);
  // kNotFound and others by errno; else as above, naming the file.
  static absl::StatusOr<PictureModel> LoadFile(const exec::Engine& engine, const std::string& path);

  int Width() const { return static_cast<int>(input_.width); }
  int Height() const { return static_cast<int>(input_.height); }
  std::vector<graph::TensorType> Outputs() const;

  // Every output, in the model's order. The picture, of any size, is stretched to what the model takes. kInternal,
  // kResourceExhausted: as exec::Program::Run.
  absl::StatusOr<std::vector<graph::Constant>> Run(const scene::Image& image) const;

 private:
  explicit PictureModel(const exec::Engine& engine) : engine_(&engine) {}

  const exec::Engine* engine_;
  graph::ImageInput input_;
  std::unique_ptr<exec::Program> program_;
};

}  // namespace wharf::perception
