#include "wharf/cli/split/profile_source.h"

#include <filesystem>
#include <span>
#include <utility>

#include "wharf/cli/common/files.h"
#include "wharf/graph/onnx/import.h"
#include "wharf/graph/split_attention.h"
#include "wharf/split/costs/machine_profile.h"

namespace wharf::cli {
namespace {

absl::StatusOr<split::MachineProfile> LoadMachineProfile(const std::string& path) {
  WHARF_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  auto profile = split::ParseMachineProfile(text);
  if (!profile.ok()) return InvalidArgument("{}: {}", path, Message(profile.status()));
  return profile;
}

absl::StatusOr<split::Profile> LoadMeasured(const split::PlanSource& source) {
  WHARF_ASSIGN_OR_RETURN(const std::string file, ReadFile(source.model));
  const auto onnx = graph::WithInputShape(std::as_bytes(std::span(file)), source.shape);
  if (!onnx.ok()) return InvalidArgument("{}: {}", source.model, Message(onnx.status()));
  auto imported = graph::ImportOnnx(*onnx, {});
  if (!imported.ok()) return MakeStatus(imported.status().code(), "{}: {}", source.model, Message(imported.status()));
  graph::Graph graph = *std::move(imported);
  if (source.split_attention > 0) graph = graph::SplitAttention(std::move(graph), source.split_attention);
  WHARF_ASSIGN_OR_RETURN(const graph::RowRules rules, graph::RowRulesOf(graph));
  WHARF_ASSIGN_OR_RETURN(const split::ModelOperators operators, split::OperatorsOf(graph, rules));
  WHARF_ASSIGN_OR_RETURN(const split::MachineProfile device, LoadMachineProfile(source.device_profile));
  WHARF_ASSIGN_OR_RETURN(const split::MachineProfile server, LoadMachineProfile(source.server_profile));
  return split::MakeProfile(operators, device, server);
}

}  // namespace

absl::Status CheckRegularFiles(const split::PlanSource& source) {
  for (const std::string& path : {source.csv, source.model, source.device_profile, source.server_profile}) {
    std::error_code error;
    const auto type = std::filesystem::status(path, error).type();  // of what is not there, whoever reads it says so
    if (type == std::filesystem::file_type::regular || type == std::filesystem::file_type::not_found) continue;
    return InvalidArgument("the plan says that it was made of {}, which is no regular file", path);
  }
  return absl::OkStatus();
}

absl::StatusOr<split::Profile> LoadProfile(const split::PlanSource& source) {
  const bool measured = !source.model.empty() && !source.device_profile.empty() && !source.server_profile.empty();
  const bool partly = !source.model.empty() || !source.device_profile.empty() || !source.server_profile.empty();
  if (source.csv.empty() != partly || partly != measured) {
    return InvalidArgument("say --profile CSV, or all of --model, --device-profile and --server-profile");
  }
  if (!measured && source.split_attention > 0) return InvalidArgument("--split-attention is for --model");
  if (!measured && !source.shape.empty()) return InvalidArgument("--shape is for --model");
  return measured ? LoadMeasured(source) : split::Profile::Load(source.csv);
}

}  // namespace wharf::cli
