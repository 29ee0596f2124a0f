#include "wharf/graph/onnx/import.h"

#define ONNX_ML 1  // as Debian builds libonnx
#define ONNX_NAMESPACE onnx
#include <onnx/checker.h>
#include <onnx/onnx_pb.h>
#include <onnx/version_converter/convert.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <limits>
#include <utility>

#include "wharf/graph/fuse.h"
#include "wharf/graph/onnx/caught.h"
#include "wharf/graph/onnx/importer.h"
#include "wharf/graph/onnx/tensors.h"
#include "wharf/graph/onnx/validation.h"
#include "wharf/graph/operators.h"
#include "wharf/graph/simplify.h"
#include "wharf/graph/split_attention.h"
#include "wharf/graph/unread_rows.h"

namespace wharf::graph {
namespace {

constexpr size_t kMaxModelBytes = std::numeric_limits<int32_t>::max();  // protobuf's own limit

// --- older operator sets ---

// Some conversions need shapes. libonnx's own inference over a whole graph crashes on hostile ones.
absl::Status AddTypes(const ImportOptions& options, onnx::ModelProto& model) {
  const Imported imported = WalkNodes(model, options, Folding::kNo);
  if (!imported.walked.ok() && !absl::IsUnimplemented(imported.walked)) return imported.walked;
  for (const Value& value : imported.graph.values) {
    onnx::ValueInfoProto* const info = model.mutable_graph()->add_value_info();
    info->set_name(value.name);
    *info->mutable_type() = FromType(value.type);
  }
  return absl::OkStatus();
}

absl::Status CheckAndConvert(const ImportOptions& options, onnx::ModelProto& model) {
  WHARF_RETURN_IF_ERROR(CheckFeatures(model));
  WHARF_RETURN_IF_ERROR(CheckNames(model.graph()));
  const int set = OperatorSet(model);
  if (set >= kNativeOperatorSet) WHARF_RETURN_IF_ERROR(CheckOperators(model, set));
  // Versions of the file's format add fields, which are not read: libonnx refuses those it does not know.
  model.set_ir_version(std::min<int64_t>(model.ir_version(), onnx::IR_VERSION));
  if (set > kSchemaOperatorSet) return absl::OkStatus();  // node by node, when they are walked
  WHARF_RETURN_IF_ERROR(Caught("the model is not valid", [&] { onnx::checker::check_model(model); }));
  if (set >= kNativeOperatorSet) return absl::OkStatus();
  WHARF_RETURN_IF_ERROR(AddTypes(options, model));
  const absl::Status converted = Caught(fmt::format("converting operator set {} to {}", set, kNativeOperatorSet), [&] {
    model = onnx::version_conversion::ConvertVersion(model, kNativeOperatorSet);
  });
  WHARF_RETURN_IF_ERROR(CheckOperators(model, set));  // says more than the converter
  WHARF_RETURN_IF_ERROR(converted);
  WHARF_RETURN_IF_ERROR(CheckFeatures(model));
  return CheckNames(model.graph());
}

template <typename Message>
bool Parse(std::span<const std::byte> bytes, Message& message) {
  return bytes.size() <= kMaxModelBytes && message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

// Where the model wants attention split; 0: nowhere.
absl::StatusOr<int> SplitRow(const onnx::ModelProto& model) {
  int row = 0;
  for (const auto& property : model.metadata_props()) {
    if (property.key() != kSplitAttentionProperty) continue;
    const std::string& text = property.value();
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), row);
    if (error != std::errc() || end != text.data() + text.size() || row < 1) {
      return InvalidArgument("property {}: \"{}\" is no number of keys", kSplitAttentionProperty, text);
    }
  }
  return row;
}

}  // namespace

absl::StatusOr<Graph> ImportOnnx(std::span<const std::byte> bytes, const ImportOptions& options) {
  onnx::ModelProto model;
  if (!Parse(bytes, model)) return InvalidArgument("this is no ONNX model");
  WHARF_ASSIGN_OR_RETURN(const int key_row, SplitRow(model));
  WHARF_RETURN_IF_ERROR(CheckAndConvert(options, model));
  Imported imported = WalkNodes(model, options, Folding::kYes);
  WHARF_RETURN_IF_ERROR(imported.walked);
  Graph graph = std::move(imported.graph);
  WHARF_RETURN_IF_ERROR(Validate(graph));
  if (options.simplify) {
    RemoveCopies(graph);
    FoldBatchNorms(graph);
    graph = DropUnreadRows(FuseOperators(std::move(graph)));
    if (key_row > 0) graph = SplitAttention(std::move(graph), key_row);
  }
  return WithoutUnused(graph);
}

absl::StatusOr<Graph> LoadOnnx(const std::string& path, const ImportOptions& options) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return ErrnoStatus(errno, fmt::format("opening {}", path));
  const std::streamoff size = file.tellg();
  if (size < 0 || static_cast<size_t>(size) > kMaxModelBytes) return InvalidArgument("{}: more than 2 GiB", path);
  std::vector<std::byte> bytes(size);
  file.seekg(0);
  if (!file.read(reinterpret_cast<char*>(bytes.data()), size)) return DataLoss("{} cannot be read", path);
  auto graph = ImportOnnx(bytes, options);
  if (!graph.ok()) return In(path, graph.status());
  return graph;
}

absl::StatusOr<Constant> ParseTensor(std::span<const std::byte> bytes) {
  onnx::TensorProto tensor;
  if (!Parse(bytes, tensor)) return InvalidArgument("this is no ONNX tensor");
  return ToConstant(tensor);
}

}  // namespace wharf::graph
