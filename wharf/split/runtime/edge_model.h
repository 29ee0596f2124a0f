// EdgeModel: a model that this machine and a server compute together, in three lines.
//
//   WHARF_ASSIGN_OR_RETURN(const auto model, EdgeModel::Connect("net.onnx", "edge:7070", {.token = token}));
//   WHARF_ASSIGN_OR_RETURN(const auto outputs, model->Run(std::as_bytes(std::span(input))));
//   for (const float score : outputs[0].As<float>()) …
//
// All else happens by itself: both machines are measured once, there are plans for every rate of the link, one of them
// is chosen before each inference, and when the server is gone this machine finishes alone. Session is what is under
// it, for those who want to choose engines, profiles or streams themselves.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "wharf/base/cache_directory.h"
#include "wharf/exec/engine.h"
#include "wharf/graph/onnx/byte_input.h"
#include "wharf/split/codec/jpeg.h"
#include "wharf/split/runtime/client.h"

namespace wharf::split {

struct EdgeModelOptions {
  std::string token = {};                // what is in the file of `wharf serve --token-file`
  link::ConnectOptions connecting = {};  // TLS, patience
  // Run gets pictures. They travel as bytes, and the model normalises them itself. Otherwise the input travels as the
  // tensor that it is.
  bool pictures = false;
  graph::NormalizationOf normalization = graph::Normalization::Default;  // of pictures
  // What may be lost on the way where that is faster: float32 rounded to 16 bits; pictures as JPEGs of this quality (1
  // to 100).
  bool allow_half = false;
  std::optional<int> jpeg_quality = {};
  std::string planner = "intra-dp";  // a PlannerKind's name; device-only needs no server
  Nanoseconds slack = SplitClientOptions().slack;
  int threads = 0;                                 // of this machine; 0: as LibTorch chooses
  std::string cache_directory = CacheDirectory();  // where profiles and plans are kept; "": nowhere
  std::string input_shape = {};  // where the model leaves it open: "input=1,3,480,640", as graph::WithInputShape
  // Connect returns when there are plans that are made at once; better ones follow (SplitClientOptions).
  bool plan_in_background = true;
  std::function<void(const std::string& what, double share)> progress = {};  // as SplitClientOptions has it
  // Hears one line if a machine was busy while it was measured, which makes plans worse.
  std::function<void(const std::string&)> caution = {};
};

// Not thread-safe. Outputs are in the order of the model's.
class EdgeModel {
 public:
  // Takes seconds where the model is new to a machine. Fails as SplitClient::Open does; kNotFound: no such file.
  static absl::StatusOr<std::unique_ptr<EdgeModel>> Connect(const std::string& model_path,
                                                            const std::string& server_address,
                                                            const EdgeModelOptions& options = {});
  // The same of a model whose file's bytes the caller has; `name`: what messages call it.
  static absl::StatusOr<std::unique_ptr<EdgeModel>> Connect(const std::string& name, std::vector<std::byte> onnx,
                                                            const std::string& server_address,
                                                            const EdgeModelOptions& options);

  // Row-major, little-endian, of InputType(). Fails as SplitClient::Run does.
  absl::StatusOr<std::vector<graph::Constant>> Run(std::span<const std::byte> input);
  // Of any size: stretched to the model's. kInvalidArgument: the model's input is no image.
  absl::StatusOr<std::vector<graph::Constant>> Run(const Image& picture);
  // The same, into the caller's memory: one span for each output, of as many bytes as its type has.
  using Outputs = std::span<const std::span<std::byte>>;
  absl::Status RunInto(std::span<const std::byte> input, Outputs outputs);
  absl::Status RunInto(const Image& picture, Outputs outputs);

  const graph::TensorType& InputType() const;
  // Names and types of inputs and outputs.
  const graph::Graph& Graph() const { return session_->GetModel().Graph(); }
  // Of the last Run: how long it took, by which plan, whether this machine did it alone and why.
  const InferenceReport& Report() const { return session_->Report(); }
  // Whether a server is there at the moment.
  bool Connected() const { return session_->Connected(); }
  // What it consists of: plans, and what took time in the last Run.
  SplitClient& Session() { return *session_; }

 private:
  EdgeModel(std::unique_ptr<exec::Engine> engine, graph::NormalizationOf normalization)
      : engine_(std::move(engine)), normalization_(std::move(normalization)) {}
  absl::Status Open(const std::string& name, std::vector<std::byte> onnx, const std::string& server_address,
                    const EdgeModelOptions& options);
  absl::StatusOr<exec::TensorPtr> Tensor(std::span<const std::byte> input) const;
  absl::StatusOr<exec::TensorPtr> Tensor(const Image& picture) const;
  absl::StatusOr<std::vector<graph::Constant>> Run(const exec::TensorPtr& input);
  absl::Status RunInto(const exec::TensorPtr& input, Outputs outputs);

  const std::unique_ptr<exec::Engine> engine_;
  const graph::NormalizationOf normalization_;
  std::unique_ptr<SplitClient> session_;
};

// The picture as a model's input of this type, stretched; normalised unless the input is bytes. kInvalidArgument: the
// type is no image's, or the normalisation not one for its channels.
absl::StatusOr<exec::TensorPtr> PictureTensor(const exec::Engine& engine, const graph::TensorType& type,
                                              const Image& picture, const graph::NormalizationOf& normalization);

}  // namespace wharf::split
