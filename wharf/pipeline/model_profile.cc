#include "wharf/pipeline/model_profile.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "wharf/base/read_file.h"
#include "wharf/pipeline/cluster.h"
#include "wharf/pipeline/csv.h"

namespace wharf::pipeline {
namespace {

constexpr double kMaxLatencyUs = 1e9, kMaxStageBytes = 1e12;
constexpr double kMissing = -1;
constexpr const char* kLatencyTable = "block latencies";
constexpr const char* kBytesTable = "block output bytes";
constexpr const char* kSavedTable = "what joined blocks save";

using ModelIndex = std::map<std::string, size_t, std::less<>>;

absl::Status ReadBytes(const CsvTable& table, std::vector<ModelProfile>& models, ModelIndex& index) {
  for (size_t row = 0; row < table.Rows(); ++row) {
    const auto [found, is_new] = index.try_emplace(std::string(table.Text(row, 0)), models.size());
    if (is_new) models.push_back({found->first, {}, {}});
    std::vector<int64_t>& bytes = models[found->second].output_bytes;
    WHARF_ASSIGN_OR_RETURN(const int block, table.Integer(row, 1, 0, kMaxBlocks - 2));
    WHARF_ASSIGN_OR_RETURN(const double size, table.Number(row, 2));
    if (size < 0 || size > kMaxStageBytes) return InvalidArgument("{}: {} bytes", table.Where(row), size);
    if (bytes.size() <= static_cast<size_t>(block)) bytes.resize(block + 1, static_cast<int64_t>(kMissing));
    if (bytes[block] >= 0) return InvalidArgument("{}: the block is there twice", table.Where(row));
    bytes[block] = static_cast<int64_t>(size);
  }
  for (ModelProfile& model : models) {
    if (std::ranges::count(model.output_bytes, static_cast<int64_t>(kMissing)) > 0) {
      return InvalidArgument("{}: a block of {} is missing", kBytesTable, model.model);
    }
    model.output_bytes.push_back(0);  // nothing is cut behind the last block
  }
  return absl::OkStatus();
}

VgpuProfile& FindOrAdd(ModelProfile& model, std::string_view gpu_class, int vgpus_per_gpu) {
  const auto found = std::ranges::find_if(model.vgpus, [&](const VgpuProfile& one) {
    return one.gpu_class == gpu_class && one.vgpus_per_gpu == vgpus_per_gpu;
  });
  if (found != model.vgpus.end()) return *found;
  return model.vgpus.emplace_back(VgpuProfile{std::string(gpu_class), vgpus_per_gpu, {}});
}

absl::Status ReadLatency(const CsvTable& table, size_t row, ModelProfile& model) {
  WHARF_ASSIGN_OR_RETURN(const int vgpus, table.Integer(row, 2, 1, kMaxVgpus));
  WHARF_ASSIGN_OR_RETURN(const int block, table.Integer(row, 3, 0, model.Blocks() - 1));
  WHARF_ASSIGN_OR_RETURN(const int batch, table.Integer(row, 4, 1, kMaxBatch));
  WHARF_ASSIGN_OR_RETURN(const double latency, table.Number(row, 5));
  if (!(latency > 0 && latency <= kMaxLatencyUs)) {
    return InvalidArgument("{}: a latency of {} µs", table.Where(row), latency);
  }
  auto& batches = FindOrAdd(model, table.Text(row, 1), vgpus).latency_us;
  if (batches.size() < static_cast<size_t>(batch)) {
    batches.resize(batch, std::vector<double>(model.output_bytes.size(), kMissing));
  }
  double& cell = batches[batch - 1][block];
  if (cell != kMissing) return InvalidArgument("{}: the latency is there twice", table.Where(row));
  cell = latency;
  return absl::OkStatus();
}

absl::Status ReadSaved(const CsvTable& table, size_t row, ModelProfile& model) {
  WHARF_ASSIGN_OR_RETURN(const int vgpus, table.Integer(row, 2, 1, kMaxVgpus));
  WHARF_ASSIGN_OR_RETURN(const int block, table.Integer(row, 3, 0, model.Blocks() - 2));
  const auto one = std::ranges::find_if(model.vgpus, [&](const VgpuProfile& kind) {
    return kind.gpu_class == table.Text(row, 1) && kind.vgpus_per_gpu == vgpus;
  });
  if (one == model.vgpus.end()) return InvalidArgument("{}: no latencies are known of that", table.Where(row));
  WHARF_ASSIGN_OR_RETURN(const int batch, table.Integer(row, 4, 1, one->MaxBatch()));
  WHARF_ASSIGN_OR_RETURN(const double saved, table.Number(row, 5));
  if (saved < 0) return InvalidArgument("{}: {} µs", table.Where(row), saved);
  one->saved_us.resize(one->latency_us.size(), std::vector<double>(model.output_bytes.size(), 0));
  double& cell = one->saved_us[batch - 1][block];
  if (cell != 0) return InvalidArgument("{}: the block is there twice", table.Where(row));
  cell = saved;
  return absl::OkStatus();
}

// Joined blocks take some time all the same.
absl::Status CheckSaved(const ModelProfile& model) {
  for (const VgpuProfile& one : model.vgpus) {
    for (size_t batch = 0; batch < one.saved_us.size(); ++batch) {
      for (int first = 0; first < model.Blocks(); ++first) {
        double us = 0;
        for (int block = first; block < model.Blocks(); ++block) {
          us += one.latency_us[batch][block];
          if (us <= 0) {
            return InvalidArgument("{}: {} on {}/{} saves all the time of blocks {} to {} at batch size {}",
                                   kSavedTable, model.model, one.gpu_class, one.vgpus_per_gpu, first, block, batch + 1);
          }
          us -= one.saved_us[batch][block];
        }
      }
    }
  }
  return absl::OkStatus();
}

absl::Status CheckComplete(const ModelProfile& model) {
  if (model.vgpus.empty()) return InvalidArgument("{}: none of {}", kLatencyTable, model.model);
  for (const VgpuProfile& one : model.vgpus) {
    for (int batch = 1; batch <= one.MaxBatch(); ++batch) {
      const auto& blocks = one.latency_us[batch - 1];
      const auto hole = std::ranges::find(blocks, kMissing);
      if (hole == blocks.end()) continue;
      return InvalidArgument("{}: {} on {}/{} has no block {} at batch size {}", kLatencyTable, model.model,
                             one.gpu_class, one.vgpus_per_gpu, hole - blocks.begin(), batch);
    }
  }
  return absl::OkStatus();
}

// Each by `read`, into its model.
absl::Status ReadRows(const CsvTable& table, const ModelIndex& index, std::vector<ModelProfile>& models,
                      absl::Status (*read)(const CsvTable&, size_t, ModelProfile&)) {
  for (size_t row = 0; row < table.Rows(); ++row) {
    const auto found = index.find(table.Text(row, 0));
    if (found == index.end()) {
      return InvalidArgument("{}: no bytes are known of {}", table.Where(row), table.Text(row, 0));
    }
    WHARF_RETURN_IF_ERROR(read(table, row, models[found->second]));
  }
  return absl::OkStatus();
}

}  // namespace

double VgpuProfile::LatencyUs(int batch, int first, int end) const {
  const std::vector<double>& blocks = latency_us[batch - 1];
  const double apart = std::accumulate(blocks.begin() + first, blocks.begin() + end, 0.0);
  if (saved_us.empty()) return apart;
  const std::vector<double>& saved = saved_us[batch - 1];
  return apart - std::accumulate(saved.begin() + first, saved.begin() + end - 1, 0.0);
}

const VgpuProfile* ModelProfile::Find(std::string_view gpu_class, int vgpus_per_gpu) const {
  for (const VgpuProfile& one : vgpus) {
    if (one.gpu_class == gpu_class && one.vgpus_per_gpu == vgpus_per_gpu) return &one;
  }
  return nullptr;
}

absl::StatusOr<std::vector<ModelProfile>> ParseModelProfiles(std::string_view latency_csv, std::string_view bytes_csv,
                                                             std::string_view saved_csv) {
  WHARF_ASSIGN_OR_RETURN(const CsvTable bytes,
                         CsvTable::Parse(bytes_csv, kBytesTable, {"dnn", "block", "bytes_at_batch_1"}));
  WHARF_ASSIGN_OR_RETURN(
      const CsvTable latency,
      CsvTable::Parse(latency_csv, kLatencyTable, {"dnn", "gpu", "vgpu_per_gpu", "block", "batch", "latency_us"}));
  std::vector<ModelProfile> models;
  ModelIndex index;
  WHARF_RETURN_IF_ERROR(ReadBytes(bytes, models, index));
  WHARF_RETURN_IF_ERROR(ReadRows(latency, index, models, ReadLatency));
  for (const ModelProfile& model : models) WHARF_RETURN_IF_ERROR(CheckComplete(model));
  if (saved_csv.empty()) return models;
  WHARF_ASSIGN_OR_RETURN(
      const CsvTable saved,
      CsvTable::Parse(saved_csv, kSavedTable, {"dnn", "gpu", "vgpu_per_gpu", "block", "batch", "saved_us"}));
  WHARF_RETURN_IF_ERROR(ReadRows(saved, index, models, ReadSaved));
  for (const ModelProfile& model : models) WHARF_RETURN_IF_ERROR(CheckSaved(model));
  return models;
}

absl::StatusOr<std::vector<ModelProfile>> LoadModelProfiles(const std::string& folder) {
  WHARF_ASSIGN_OR_RETURN(const std::string latency, ReadFile(folder + "/block_latency.csv"));
  WHARF_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(folder + "/block_output_bytes.csv"));
  auto saved = ReadFile(folder + "/block_saved.csv");
  if (absl::IsNotFound(saved.status())) saved = "";
  WHARF_RETURN_IF_ERROR(saved.status());
  return ParseModelProfiles(latency, bytes, *saved);
}

}  // namespace wharf::pipeline
