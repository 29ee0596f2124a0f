#include "wharf/cli/split/output.h"

#include <memory>
#include <utility>

#include "wharf/cli/common/files.h"
#include "wharf/cli/split/results.h"
#include "wharf/graph/npy.h"

namespace wharf::cli {
namespace {

std::string Text(const std::vector<std::byte>& bytes) {
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

}  // namespace

absl::Status SplitOutput::CheckEnding(const std::string& path) {
  if (path.ends_with(".npy") || path.ends_with(".npz") || path.ends_with(".json")) return absl::OkStatus();
  return InvalidArgument("{}: say FILE.npy, FILE.npz or FILE.json", path);
}

absl::StatusOr<SplitOutput> SplitOutput::Open(const std::string& path, int top) {
  SplitOutput output;
  output.path_ = path;
  output.top_ = top;
  if (path.empty()) return output;
  WHARF_RETURN_IF_ERROR(CheckEnding(path));
  output.kind_ = path.ends_with(".npy") ? Kind::kNpy : path.ends_with(".npz") ? Kind::kNpz : Kind::kJson;
  WHARF_RETURN_IF_ERROR(CheckWritable(path));
  return output;
}

absl::Status SplitOutput::Check(const graph::Graph& graph) {
  for (const int value : graph.outputs) names_.push_back(graph.values[value].name);
  if (kind_ == Kind::kNpy && names_.size() > 1) {
    return InvalidArgument("the model has {} outputs, a .npy file one array: say --output FILE.npz", names_.size());
  }
  return absl::OkStatus();
}

absl::Status SplitOutput::Add(const std::string& input, const std::vector<exec::TensorPtr>& outputs) {
  constexpr size_t kMost = size_t{3} << 30;
  if (kind_ == Kind::kNone) return absl::OkStatus();
  ++inputs_;
  if (kind_ == Kind::kJson) {
    nlohmann::ordered_json row{{"input", input}, {"outputs", nlohmann::ordered_json::array()}};
    for (size_t i = 0; i < outputs.size(); ++i) row["outputs"].push_back(OutputAsJson(names_[i], *outputs[i], top_));
    rows_.push_back(std::move(row));
    return absl::OkStatus();
  }
  arrays_.resize(outputs.size());
  types_.clear();
  for (size_t i = 0; i < outputs.size(); ++i) {
    const size_t size = outputs[i]->Type().Bytes(), before = arrays_[i].size();
    types_.push_back(outputs[i]->Type());
    bytes_ += size;
    if (bytes_ > kMost) return ResourceExhausted("outputs of more than 3 GiB: say --output FILE.json, or fewer inputs");
    arrays_[i].resize(before + size);
    outputs[i]->Read(std::span(arrays_[i]).subspan(before));
  }
  return absl::OkStatus();
}

absl::Status SplitOutput::Write(bool many) const {
  if (inputs_ == 0) return absl::OkStatus();
  if (kind_ == Kind::kJson) return WriteFile(path_, rows_.dump(1) + "\n");
  std::vector<std::pair<std::string, graph::Constant>> arrays;
  for (size_t i = 0; i < arrays_.size(); ++i) {
    graph::TensorType type = types_[i];
    if (many) type.shape.insert(type.shape.begin(), inputs_);
    arrays.emplace_back(names_[i],
                        graph::Constant{std::move(type), std::make_shared<const std::vector<std::byte>>(arrays_[i])});
  }
  if (kind_ == Kind::kNpy) return WriteFile(path_, Text(graph::ToNpy(arrays.front().second)));
  WHARF_ASSIGN_OR_RETURN(const std::vector<std::byte> archive, graph::ToNpz(arrays));
  return WriteFile(path_, Text(archive));
}

}  // namespace wharf::cli
