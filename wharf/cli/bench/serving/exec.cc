#include "wharf/cli/bench/serving/exec.h"

#include "wharf/ar/finders/task_finder.h"
#include "wharf/exec/torch_engine.h"
#include "wharf/split/costs/profile_cache.h"

namespace wharf::cli {

absl::StatusOr<std::unique_ptr<ServingExec>> ServingExec::Load(const std::string& task,
                                                               const std::vector<serving::DropTable>& tables,
                                                               const ExecOptions& options) {
  std::unique_ptr<ServingExec> exec(new ServingExec(task, options));
  exec->engine_ = exec::MakeTorchEngine({.threads = 1});
  if (task == "detection") {
    WHARF_ASSIGN_OR_RETURN(auto detector,
                           perception::Detector::Load(*exec->engine_, options.networks + "/detector.onnx",
                                                      {.largest_batch = options.largest_batch}));
    exec->detector_ = std::make_unique<perception::Detector>(std::move(detector));
    exec->finder_ = ar::MakeBoxBatches(*exec->detector_);
  } else {
    WHARF_ASSIGN_OR_RETURN(auto depth, perception::DepthNetwork::Load(*exec->engine_, options.networks + "/depth.onnx",
                                                                      {.largest_batch = options.largest_batch}));
    exec->depth_ = std::make_unique<perception::DepthNetwork>(std::move(depth));
    exec->finder_ = ar::MakeDepthBatches(*exec->depth_);
  }
  std::vector<std::string> videos;
  for (const serving::DropTable& table : tables) videos.push_back(table.data().video);
  WHARF_ASSIGN_OR_RETURN(TownPictures pictures, TownPictures::Render(videos, {.width = exec->finder_->Width(),
                                                                              .height = exec->finder_->Height()}));
  exec->pictures_ = std::make_unique<TownPictures>(std::move(pictures));
  exec->batches_ = serving::MakeThreadedEngine(ServingBatches(*exec->finder_, *exec->pictures_), Clock::Real());
  return exec;
}

absl::StatusOr<serving::InferenceProfile> ServingExec::Profile() {
  const auto frames = pictures_->Samples();
  WHARF_ASSIGN_OR_RETURN(const auto measured,
                         MeasureBatches(*batches_, frames, options_.largest_batch, options_.rounds));
  std::map<int, double> batch_ms;
  for (const auto& [batch, ms] : measured) batch_ms[batch] = ms;
  const split::Machine machine = split::ThisMachine(engine_->Name(), exec::TorchThreads());
  return serving::InferenceProfile::Make(
      fmt::format("{} on {}, {}, one thread, from JPEGs to coded results", task_, machine.cpu, machine.engine),
      batch_ms);
}

}  // namespace wharf::cli
