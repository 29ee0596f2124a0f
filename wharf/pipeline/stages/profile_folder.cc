#include "wharf/pipeline/stages/profile_folder.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

namespace wharf::pipeline {
namespace {

using nlohmann::json;

bool IsFileName(const std::string& name) {
  return !name.empty() && name.front() != '.' && name.find_first_of("/,\"\n\r") == std::string::npos;
}

std::string PathOf(const std::string& folder, const std::string& model) {
  return fmt::format("{}/{}.blocks.json", folder, model);
}

absl::Status Write(const std::string& path, const std::string& text) {
  errno = 0;
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  return file ? absl::OkStatus() : ErrnoStatus(errno, path);
}

// Of the first blocks of each model: all, or all but the last.
std::string TimesTable(const std::vector<ModelProfile>& models, const char* what, bool last,
                       std::vector<std::vector<double>> VgpuProfile::*times) {
  std::string text = fmt::format("dnn,gpu,vgpu_per_gpu,block,batch,{}\n", what);
  for (const ModelProfile& model : models) {
    const int blocks = last ? model.Blocks() : model.Blocks() - 1;
    for (const VgpuProfile& one : model.vgpus) {
      const auto& batches = one.*times;
      for (int block = 0; block < blocks; ++block) {
        for (size_t batch = 1; batch <= batches.size(); ++batch) {
          text += fmt::format("{},{},{},{},{},{:.1f}\n", model.model, one.gpu_class, one.vgpus_per_gpu, block, batch,
                              batches[batch - 1][block]);
        }
      }
    }
  }
  return text;
}

std::string BytesTable(const std::vector<ModelProfile>& models) {
  std::string text = "dnn,block,bytes_at_batch_1\n";
  for (const ModelProfile& model : models) {
    for (int block = 0; block + 1 < model.Blocks(); ++block) {
      text += fmt::format("{},{},{}\n", model.model, block, model.output_bytes[block]);
    }
  }
  return text;
}

absl::StatusOr<BlockMap> Parse(const std::string& text) {
  const json parsed = json::parse(text, nullptr, false);
  BlockMap map;
  try {
    parsed.at("model").get_to(map.model);
    parsed.at("onnx").get_to(map.onnx);
    parsed.at("sha256").get_to(map.sha256);
    parsed.at("first_node").get_to(map.first_node);
    parsed.at("classes").get_to(map.classes);
  } catch (const json::exception& error) {
    return InvalidArgument("no description of a model's blocks: {}", error.what());
  }
  const bool rises = std::ranges::is_sorted(map.first_node, std::less_equal<>());
  if (map.first_node.empty() || map.first_node.front() != 0 || !rises) {
    return InvalidArgument("blocks that do not follow each other");
  }
  return map;
}

}  // namespace

absl::Status SaveProfile(const std::string& folder, const BlockProfile& profile, const BlockMap& map) {
  if (!IsFileName(map.model)) return InvalidArgument("a model cannot be called \"{}\"", map.model);
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  std::vector<ModelProfile> models;
  auto known = LoadModelProfiles(folder);
  if (known.ok()) {
    models = *std::move(known);
    std::erase_if(models, [&](const ModelProfile& model) { return model.model == map.model; });
  } else if (known.status().code() != absl::StatusCode::kNotFound) {
    return known.status();
  }
  models.push_back(profile.profile);
  WHARF_RETURN_IF_ERROR(
      Write(folder + "/block_latency.csv", TimesTable(models, "latency_us", /*last=*/true, &VgpuProfile::latency_us)));
  WHARF_RETURN_IF_ERROR(
      Write(folder + "/block_saved.csv", TimesTable(models, "saved_us", /*last=*/false, &VgpuProfile::saved_us)));
  WHARF_RETURN_IF_ERROR(Write(folder + "/block_output_bytes.csv", BytesTable(models)));
  const json blocks = {{"model", map.model},
                       {"onnx", map.onnx},
                       {"sha256", map.sha256},
                       {"first_node", map.first_node},
                       {"classes", map.classes}};
  return Write(PathOf(folder, map.model), blocks.dump(1) + "\n");
}

absl::StatusOr<BlockMap> LoadBlockMap(const std::string& folder, const std::string& model) {
  if (!IsFileName(model)) return InvalidArgument("no model is called \"{}\"", model);
  const std::string path = PathOf(folder, model);
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf())) return NotFound("{}: no such file; wharf pipeline profile makes it", path);
  auto map = Parse(text.str());
  if (!map.ok()) return InvalidArgument("{}: {}", path, Message(map.status()));
  return map;
}

}  // namespace wharf::pipeline
