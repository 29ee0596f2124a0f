#include "wharf/perception/picture_model.h"

#include <utility>

#include "wharf/base/read_file.h"
#include "wharf/graph/onnx/import.h"
#include "wharf/split/codec/image_file.h"

namespace wharf::perception {
namespace {

// The importer names an option by which others give sizes that a model leaves open.
absl::Status OfOpenSides(const absl::Status& status) {
  const std::string message(Message(status));
  const size_t option = message.find(" (--shape");
  if (option == std::string::npos) return status;
  return InvalidArgument("{}: export it for pictures of a size", message.substr(0, option));
}

}  // namespace

absl::StatusOr<PictureModel> PictureModel::Load(const exec::Engine& engine, std::span<const std::byte> onnx) {
  PictureModel model(engine);
  WHARF_ASSIGN_OR_RETURN(const std::vector<std::byte> of_bytes,
                         graph::WithByteInput(onnx, graph::Normalization::Default));
  absl::StatusOr<graph::Graph> graph = graph::ImportOnnx(of_bytes, {});
  if (!graph.ok()) return OfOpenSides(graph.status());
  if (graph->inputs.size() != 1)
    return InvalidArgument("the model has {} inputs, not one picture", graph->inputs.size());
  WHARF_ASSIGN_OR_RETURN(model.input_, graph::ImageInputOf(graph->Type(graph->inputs[0])));
  WHARF_ASSIGN_OR_RETURN(model.program_, engine.Prepare(*std::move(graph)));
  return model;
}

absl::StatusOr<PictureModel> PictureModel::LoadFile(const exec::Engine& engine, const std::string& path) {
  WHARF_ASSIGN_OR_RETURN(const std::vector<std::byte> onnx, ReadBytes(path));
  auto model = Load(engine, onnx);
  if (!model.ok()) return absl::Status(model.status().code(), path + ": " + std::string(Message(model.status())));
  return model;
}

std::vector<graph::TensorType> PictureModel::Outputs() const {
  std::vector<graph::TensorType> types;
  for (const int value : program_->Graph().outputs) types.push_back(program_->Graph().Type(value));
  return types;
}

absl::StatusOr<std::vector<graph::Constant>> PictureModel::Run(const scene::Image& image) const {
  split::Image picture =
      split::WithChannels({image.width, image.height, 3, image.rgb}, static_cast<int>(input_.channels));
  if (image.width != Width() || image.height != Height()) picture = split::Resized(picture, Width(), Height());
  const graph::TensorType& type = program_->Graph().Type(program_->Graph().inputs[0]);
  WHARF_ASSIGN_OR_RETURN(const exec::TensorPtr input,
                         engine_->MakeTensor(type, split::PixelBytes(picture, input_.planar)));
  WHARF_ASSIGN_OR_RETURN(const auto results, exec::RunWhole(*program_, {{input}}));
  std::vector<graph::Constant> outputs;
  for (const exec::TensorPtr& result : results) {
    auto bytes = std::make_shared<std::vector<std::byte>>(result->Type().Bytes());
    result->Read(*bytes);
    outputs.push_back({result->Type(), std::move(bytes)});
  }
  return outputs;
}

}  // namespace wharf::perception
