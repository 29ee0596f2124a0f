// The engine of `wharf bench serving --engine exec`: a network of data/ar on one thread of this machine.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "wharf/cli/bench/serving/engine.h"
#include "wharf/exec/engine.h"
#include "wharf/perception/depth_network.h"
#include "wharf/perception/detector.h"
#include "wharf/serving/drop_table.h"
#include "wharf/serving/inference_profile.h"

namespace wharf::cli {

struct ExecOptions {
  std::string networks;  // folder
  int largest_batch = 8;
  int rounds = 15;  // of the measurement of its profile
};

class ServingExec {
 public:
  // For the tables' videos; task: "depth" or "detection". Renders pictures of them, 0.8 s a video.
  static absl::StatusOr<std::unique_ptr<ServingExec>> Load(const std::string& task,
                                                           const std::vector<serving::DropTable>& tables,
                                                           const ExecOptions& options);
  serving::BatchEngine& engine() { return *batches_; }
  // How long batches take on it now, measured.
  absl::StatusOr<serving::InferenceProfile> Profile();

 private:
  ServingExec(std::string task, const ExecOptions& options) : task_(std::move(task)), options_(options) {}

  const std::string task_;
  const ExecOptions options_;
  // Each is used by those below.
  std::unique_ptr<exec::Engine> engine_;
  std::unique_ptr<perception::DepthNetwork> depth_;
  std::unique_ptr<perception::Detector> detector_;
  std::unique_ptr<ar::BatchFinder> finder_;
  std::unique_ptr<TownPictures> pictures_;
  std::unique_ptr<serving::BatchEngine> batches_;
};

}  // namespace wharf::cli
