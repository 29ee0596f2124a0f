#include "wharf/perception/image_network.h"

#include <utility>

namespace wharf::perception {
namespace {

using graph::ElementType;

constexpr int kColours = 3;

struct Interface {
  MapShape image;
  std::vector<MapShape> outputs;
};

bool IsMaps(const graph::TensorType& type, int batch) {
  return type.Rank() == 4 && type.shape[0] == batch && type.Elements() > 0;
}

MapShape ShapeOf(const graph::TensorType& type) {
  return {static_cast<int>(type.shape[1]), static_cast<int>(type.shape[2]), static_cast<int>(type.shape[3])};
}

absl::StatusOr<Interface> InterfaceOf(const graph::Graph& graph, int batch) {
  if (graph.inputs.size() != 1) return InvalidArgument("the model has {} inputs, not one image", graph.inputs.size());
  const graph::TensorType& input = graph.Type(graph.inputs[0]);
  if (input.element != ElementType::kUint8 || !IsMaps(input, batch) || input.shape[1] != kColours) {
    return InvalidArgument("the model takes {}, not uint8[{},{},height,width]", input.Text(), batch, kColours);
  }
  Interface interface {
    ShapeOf(input), {}
  };
  for (const int value : graph.outputs) {
    const graph::TensorType& output = graph.Type(value);
    if (output.element != ElementType::kFloat || !IsMaps(output, batch)) {
      return InvalidArgument("the model makes {}, not float32[{},channels,rows,columns]", output.Text(), batch);
    }
    interface.outputs.push_back(ShapeOf(output));
  }
  return interface;
}

// Networks have the colours one after the other, cameras side by side.
void AppendPlanes(const scene::Image& image, std::vector<std::byte>& planes) {
  const size_t pixels = image.rgb.size() / kColours, begin = planes.size();
  planes.resize(begin + image.rgb.size());
  for (size_t i = 0; i < pixels; ++i) {
    for (size_t colour = 0; colour < kColours; ++colour) {
      planes[begin + colour * pixels + i] = static_cast<std::byte>(image.rgb[kColours * i + colour]);
    }
  }
}

std::vector<float> Floats(const exec::Tensor& tensor) {
  std::vector<float> values(tensor.Type().Elements());
  tensor.Read(std::as_writable_bytes(std::span(values)));
  return values;
}

}  // namespace

ImageNetwork::Import ImageNetwork::FromFile(std::string path) {
  return [path = std::move(path)](const graph::ImportOptions& options) { return graph::LoadOnnx(path, options); };
}

ImageNetwork::Import ImageNetwork::FromBytes(std::span<const std::byte> onnx) {
  return [onnx](const graph::ImportOptions& options) { return graph::ImportOnnx(onnx, options); };
}

absl::StatusOr<ImageNetwork> ImageNetwork::Load(const exec::Engine& engine, const Import& import, int largest_batch) {
  if (largest_batch < 1 || largest_batch > kLargestBatch) {
    return InvalidArgument("batches of up to {} images; they can be 1 to {}", largest_batch, kLargestBatch);
  }
  ImageNetwork network(engine);
  for (int batch = 1; batch <= largest_batch; ++batch) {
    graph::ImportOptions options;
    options.dimensions = {{"batch", batch}};
    WHARF_ASSIGN_OR_RETURN(graph::Graph graph, import(options));
    WHARF_ASSIGN_OR_RETURN(const Interface interface, InterfaceOf(graph, batch));
    network.width_ = interface.image.width;
    network.height_ = interface.image.height;
    network.outputs_ = interface.outputs;
    WHARF_ASSIGN_OR_RETURN(auto program, engine.Prepare(std::move(graph)));
    network.programs_.push_back(std::move(program));
  }
  return network;
}

absl::Status ImageNetwork::Check(const scene::Image& image) const {
  if (image.width != width_ || image.height != height_) {
    return InvalidArgument("an image of {}x{} for a network of {}x{}", image.width, image.height, width_, height_);
  }
  if (image.rgb.size() != size_t{kColours} * width_ * height_) {
    return InvalidArgument("{} bytes for an image of {}x{}", image.rgb.size(), width_, height_);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::vector<float>>> ImageNetwork::Run(std::span<const scene::Image> images) const {
  if (images.empty() || images.size() > programs_.size()) {
    return InvalidArgument("{} images at once; this network takes 1 to {}", images.size(), programs_.size());
  }
  std::vector<std::byte> planes;
  for (const scene::Image& image : images) {
    WHARF_RETURN_IF_ERROR(Check(image));
    AppendPlanes(image, planes);
  }
  const exec::Program& program = *programs_[images.size() - 1];
  const graph::TensorType& type = program.Graph().Type(program.Graph().inputs[0]);
  WHARF_ASSIGN_OR_RETURN(const exec::TensorPtr input, engine_->MakeTensor(type, planes));
  WHARF_ASSIGN_OR_RETURN(const auto results, exec::RunWhole(program, {{input}}));
  std::vector<std::vector<float>> maps;
  for (const exec::TensorPtr& result : results) maps.push_back(Floats(*result));
  return maps;
}

}  // namespace wharf::perception
