// BlockProfiler: cuts a model into blocks of about equal time and measures them: at every batch size, on every device
// class of this machine. A class is its processor, with a number of threads, or a GPU of it, and a factor by which
// everything is slowed down: one machine plays several kinds.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "wharf/base/clock.h"
#include "wharf/pipeline/model_profile.h"
#include "wharf/pipeline/pre_partition.h"
#include "wharf/pipeline/stages/batched_model.h"

namespace wharf::pipeline {

struct DeviceClass {
  std::string name;
  int threads = 1;             // of one operator; on a GPU, of what the processor does for it
  double slowdown = 1;         // times as long as it takes by itself
  int vgpus = 1;               // equal parts at most that one may be divided into: each has its share of the time
  std::string device = "cpu";  // or "cuda", "cuda:N": as exec::FindTorchDevice takes it
  std::string Text() const;    // "slow=threads:1,slowdown:3", and ",vgpus:2" if above 1, ",device:cuda" if not cpu
};
// "fast=device:cuda,slow=threads:1,slowdown:3": what is not said is 1, and the CPU. kInvalidArgument: anything else.
absl::StatusOr<std::vector<DeviceClass>> ParseClasses(std::string_view text);
// An engine of that class on this machine; a part of one that is divided takes so many times as long.
// kFailedPrecondition: its GPU is not there, or does not start. REQUIRES: 1 <= parts.
absl::StatusOr<std::unique_ptr<exec::Engine>> MakeEngine(const DeviceClass& device, int parts = 1);

enum class CutRule { kEqualTime, kSmallestCuts };  // pre_partition.h

struct BlockProfilerOptions {
  int blocks = kDefaultBlocks, max_batch = 4;
  CutRule cuts = CutRule::kEqualTime;
  // Every time is the median of as many; one more comes first and is not counted. Where others on the machine disturb,
  // the lower quartile of three times as many (split/profiler/noise.h).
  int rounds = 5;
  std::vector<DeviceClass> classes;
};

struct BlockProfile {
  ModelProfile profile;
  std::vector<int> first_node;  // of each block
  double noise = 0;             // of the noisiest times: how far they are above the shortest
  bool together = true;         // false: the model takes one sample at a time (BatchedModel)
};

// Times are those of StageRunner::Run on one block: values in and out of the engine, and to and from halves, included.
// Of two that follow each other these are saved if they are in one stage: on a GPU most of the time may be that. Of a
// part of a GPU they are measured while all its parts do the same. Blocks are cut by the times for which the first
// class computes. Fewer blocks than asked for if the model cannot be cut into more; cuts have as few values as so many
// blocks allow. kInvalidArgument: no classes, or a model that cannot be cut; kFailedPrecondition: the GPU of a class is
// not there, which is found out before anything is measured; otherwise as BatchedModel does.
absl::StatusOr<BlockProfile> ProfileBlocks(const std::string& name, std::span<const std::byte> onnx,
                                           const BlockProfilerOptions& options, const Clock& clock);

}  // namespace wharf::pipeline
