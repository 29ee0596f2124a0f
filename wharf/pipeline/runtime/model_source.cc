#include "wharf/pipeline/runtime/model_source.h"

#include <cstring>
#include <utility>

#include "wharf/base/read_file.h"
#include "wharf/pipeline/stages/batched_model.h"
#include "wharf/pipeline/stages/stage_runner.h"
#include "wharf/split/runtime/model.h"

namespace wharf::pipeline {

absl::StatusOr<ModelSource> MakeModelSource(const std::string& name, std::vector<std::byte> onnx,
                                            std::vector<int> first_node) {
  WHARF_ASSIGN_OR_RETURN(const graph::Graph graph, ImportBatch(onnx, 1));
  ModelSource source;
  source.name = name;
  source.hash = wire::HashOf(onnx);
  source.onnx = std::make_shared<const std::vector<std::byte>>(std::move(onnx));
  source.nodes = static_cast<int>(graph.nodes.size());
  if (first_node.empty() || first_node.back() >= source.nodes) {
    return InvalidArgument("model {} has no such blocks", name);
  }
  source.first_node = std::move(first_node);
  source.input_bytes = SampleFormat(graph, 0).Bytes();
  source.output_bytes = SampleFormat(graph, source.nodes).Bytes();
  return source;
}

absl::StatusOr<ModelSource> LoadModelSource(const std::string& folder, const std::string& model) {
  WHARF_ASSIGN_OR_RETURN(BlockMap map, LoadBlockMap(folder, model));
  WHARF_ASSIGN_OR_RETURN(std::vector<std::byte> onnx, ReadBytes(map.onnx));
  if (wire::HexOf(wire::HashOf(onnx)) != map.sha256) {
    return FailedPrecondition("{} is not the file that was measured: run wharf pipeline profile again", map.onnx);
  }
  return MakeModelSource(model, std::move(onnx), std::move(map.first_node));
}

}  // namespace wharf::pipeline
