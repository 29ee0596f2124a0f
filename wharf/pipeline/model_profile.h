// ModelProfile: what a planner knows of a model: how long each of its blocks takes on each kind of (virtual) GPU at
// each batch size, and how large a feature map leaves each block.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "wharf/base/status.h"

namespace wharf::pipeline {

inline constexpr int kMaxBlocks = 64, kMaxBatch = 256;

// One kind of virtual GPU: 1/vgpus_per_gpu of a GPU of a class, measured while the others of that GPU are busy alike.
struct VgpuProfile {
  std::string gpu_class;
  int vgpus_per_gpu = 1;
  std::vector<std::vector<double>> latency_us;  // [batch - 1][block]: of the whole batch
  // [batch - 1][block], or nothing: what a block and the next take less in one stage, where no values leave the device
  // between them.
  std::vector<std::vector<double>> saved_us = {};
  int MaxBatch() const { return static_cast<int>(latency_us.size()); }
  // Of blocks [first, end) in one stage: not always more than of fewer blocks, if less leaves the device behind them.
  // REQUIRES: 1 <= batch <= MaxBatch(), a range of blocks.
  double LatencyUs(int batch, int first, int end) const;
};

struct ModelProfile {
  std::string model;
  std::vector<int64_t> output_bytes;  // [block]: sent of one sample if the model is cut behind that block (fp16)
  std::vector<VgpuProfile> vgpus;

  int Blocks() const { return static_cast<int>(output_bytes.size()); }
  // Null if it was not measured.
  const VgpuProfile* Find(std::string_view gpu_class, int vgpus_per_gpu) const;
};

// CSV tables with the headers
//   dnn,gpu,vgpu_per_gpu,block,batch,latency_us
//   dnn,block,bytes_at_batch_1
//   dnn,gpu,vgpu_per_gpu,block,batch,saved_us
// rows in any order; models come in the order of the second. The third may be "", and what has no row there saves
// nothing. kInvalidArgument, one line: what is no such table, a value given twice or out of range, or a hole: every
// kind measured must have every block at batch sizes 1 to its largest.
absl::StatusOr<std::vector<ModelProfile>> ParseModelProfiles(std::string_view latency_csv, std::string_view bytes_csv,
                                                             std::string_view saved_csv = {});

// block_latency.csv, block_output_bytes.csv and, if it is there, block_saved.csv in `folder`. kNotFound: no such files.
absl::StatusOr<std::vector<ModelProfile>> LoadModelProfiles(const std::string& folder);

}  // namespace wharf::pipeline
