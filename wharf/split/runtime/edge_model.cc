#include "wharf/split/runtime/edge_model.h"

#include "wharf/base/read_file.h"
#include "wharf/exec/torch_engine.h"
#include "wharf/graph/onnx/import.h"
#include "wharf/link/address.h"
#include "wharf/split/codec/image_file.h"
#include "wharf/split/runtime/own_profile.h"

namespace wharf::split {

absl::StatusOr<exec::TensorPtr> PictureTensor(const exec::Engine& engine, const graph::TensorType& type,
                                              const Image& picture, const graph::NormalizationOf& normalization) {
  WHARF_ASSIGN_OR_RETURN(const graph::ImageInput input, graph::ImageInputOf(type));
  const Image image = Resized(WithChannels(picture, static_cast<int>(input.channels)), static_cast<int>(input.width),
                              static_cast<int>(input.height));
  if (type.element == graph::ElementType::kUint8) return engine.MakeTensor(type, PixelBytes(image, input.planar));
  if (type.element != graph::ElementType::kFloat) return InvalidArgument("{} for an image", type.Text());
  WHARF_ASSIGN_OR_RETURN(const graph::PixelMap map, graph::PixelMapOf(normalization(input.channels), input.channels));
  return engine.MakeTensor(type, PixelFloats(image, input.planar, map));
}

absl::StatusOr<std::unique_ptr<EdgeModel>> EdgeModel::Connect(const std::string& model_path,
                                                              const std::string& server_address,
                                                              const EdgeModelOptions& options) {
  WHARF_ASSIGN_OR_RETURN(std::vector<std::byte> onnx, ReadBytes(model_path));
  return Connect(model_path, std::move(onnx), server_address, options);
}

absl::StatusOr<std::unique_ptr<EdgeModel>> EdgeModel::Connect(const std::string& name, std::vector<std::byte> onnx,
                                                              const std::string& server_address,
                                                              const EdgeModelOptions& options) {
  if (!server_address.empty()) WHARF_RETURN_IF_ERROR(link::ParseAddress(server_address).status());
  std::unique_ptr<EdgeModel> model(
      new EdgeModel(exec::MakeTorchEngine({.threads = options.threads}), options.normalization));
  const absl::Status opened = model->Open(name, std::move(onnx), server_address, options);
  if (opened.code() == absl::StatusCode::kInvalidArgument) return InvalidArgument("{}: {}", name, Message(opened));
  WHARF_RETURN_IF_ERROR(opened);
  return model;
}

absl::Status EdgeModel::Open(const std::string& name, std::vector<std::byte> onnx, const std::string& server_address,
                             const EdgeModelOptions& options) {
  WHARF_ASSIGN_OR_RETURN(onnx, graph::WithInputShape(onnx, options.input_shape));
  if (options.pictures) {
    WHARF_ASSIGN_OR_RETURN(onnx, graph::WithByteInput(onnx, options.normalization));
  }
  SplitClientOptions session;
  session.load = OnnxLoader(*engine_);
  session.planner = options.planner;
  session.encodings = AllowedEncodings(options.allow_half, options.pictures ? options.jpeg_quality : std::nullopt);
  session.token = options.token;
  session.profile = MeasuredProfile(name, wire::HashOf(onnx), options.cache_directory, options.caution);
  session.slack = options.slack;
  session.cache_directory = options.cache_directory;
  session.plan_in_background = options.plan_in_background;
  session.progress = options.progress;
  WHARF_ASSIGN_OR_RETURN(session_, SplitClient::Open(
                                       std::move(onnx),
                                       [server_address, connecting = options.connecting] {
                                         return link::Connect(server_address, connecting);
                                       },
                                       session));
  return absl::OkStatus();
}

const graph::TensorType& EdgeModel::InputType() const { return Graph().Type(Graph().inputs[0]); }

absl::StatusOr<exec::TensorPtr> EdgeModel::Tensor(std::span<const std::byte> input) const {
  return engine_->MakeTensor(InputType(), input);
}

absl::StatusOr<exec::TensorPtr> EdgeModel::Tensor(const Image& picture) const {
  return PictureTensor(*engine_, InputType(), picture, normalization_);
}

absl::StatusOr<std::vector<graph::Constant>> EdgeModel::Run(std::span<const std::byte> input) {
  WHARF_ASSIGN_OR_RETURN(const exec::TensorPtr tensor, Tensor(input));
  return Run(tensor);
}

absl::StatusOr<std::vector<graph::Constant>> EdgeModel::Run(const Image& picture) {
  WHARF_ASSIGN_OR_RETURN(const exec::TensorPtr tensor, Tensor(picture));
  return Run(tensor);
}

absl::StatusOr<std::vector<graph::Constant>> EdgeModel::Run(const exec::TensorPtr& input) {
  WHARF_ASSIGN_OR_RETURN(const std::vector<exec::TensorPtr> tensors, session_->Run(input));
  std::vector<graph::Constant> outputs;
  for (const exec::TensorPtr& tensor : tensors) {
    auto bytes = std::make_shared<std::vector<std::byte>>(tensor->Type().Bytes());
    tensor->Read(*bytes);
    outputs.push_back({tensor->Type(), std::move(bytes)});
  }
  return outputs;
}

absl::Status EdgeModel::RunInto(std::span<const std::byte> input, Outputs outputs) {
  WHARF_ASSIGN_OR_RETURN(const exec::TensorPtr tensor, Tensor(input));
  return RunInto(tensor, outputs);
}

absl::Status EdgeModel::RunInto(const Image& picture, Outputs outputs) {
  WHARF_ASSIGN_OR_RETURN(const exec::TensorPtr tensor, Tensor(picture));
  return RunInto(tensor, outputs);
}

absl::Status EdgeModel::RunInto(const exec::TensorPtr& input, Outputs outputs) {
  const std::vector<int>& values = Graph().outputs;
  if (outputs.size() != values.size()) return InvalidArgument("{} outputs, not {}", values.size(), outputs.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const graph::TensorType& type = Graph().Type(values[i]);
    if (static_cast<int64_t>(outputs[i].size()) != type.Bytes()) {
      return InvalidArgument("{} bytes for {}", outputs[i].size(), type.Text());
    }
  }
  WHARF_ASSIGN_OR_RETURN(const std::vector<exec::TensorPtr> tensors, session_->Run(input));
  for (size_t i = 0; i < values.size(); ++i) tensors[i]->Read(outputs[i]);
  return absl::OkStatus();
}

}  // namespace wharf::split
