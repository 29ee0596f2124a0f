#include "wharf/multitask/experiment/experiment.h"

#include <memory>

#include "wharf/base/status.h"
#include "wharf/multitask/experiment/contender.h"

namespace wharf::multitask {

const std::vector<ScoreField>& ScoreFields() {
  static const std::vector<ScoreField> fields = {{"abs_rel", &Score::abs_rel},
                                                 {"t_err", &Score::t_err},
                                                 {"box_error", &Score::box_error},
                                                 {"depth_stride", &Score::depth_stride},
                                                 {"odometry_stride", &Score::odometry_stride},
                                                 {"depth_share", &Score::depth_share},
                                                 {"odometry_share", &Score::odometry_share},
                                                 {"lite_share", &Score::lite_share},
                                                 {"tracker_estimate_error", &Score::tracker_estimate_error},
                                                 {"tracker_drop", &Score::tracker_drop},
                                                 {"tracker_correlation", &Score::tracker_correlation},
                                                 {"lite_estimate_error", &Score::lite_estimate_error},
                                                 {"lite_drop", &Score::lite_drop},
                                                 {"lite_correlation", &Score::lite_correlation},
                                                 {"decision_us", &Score::decision_us},
                                                 {"decision_us_most", &Score::decision_us_most},
                                                 {"lost", &Score::lost},
                                                 {"refused", &Score::refused},
                                                 {"failed_results", &Score::failed_results}};
  return fields;
}

absl::StatusOr<SystemPolicy> ParseSystemPolicy(std::string_view name, int tasks) {
  const auto take = [&name](std::string_view suffix) {
    const bool has = name.ends_with(suffix);
    if (has) name.remove_suffix(suffix.size());
    return has;
  };
  SystemPolicy system;
  system.depth_fused = take("+fusion");
  system.depth_known = take("+known");
  system.uncorrected = !system.depth_known && take("-published");
  WHARF_ASSIGN_OR_RETURN(system.policy, ParsePolicy(name, tasks));
  if (system.uncorrected && !system.policy.UsesEstimates()) return InvalidArgument("\"{}\" uses no estimates", name);
  return system;
}

absl::StatusOr<std::vector<SystemResult>> RunVideo(const scene::World& world, const std::vector<System>& systems,
                                                   const Networks& networks, const Calibration& calibration,
                                                   const ExperimentOptions& options) {
  FramePointer frame;
  scene::Truth truth;
  Sight sight(options.oracle ? OracleNetworks(frame, truth) : networks,
              FeatureMotion(scene::World::Camera(options.width, options.height)));
  VirtualClock clock;
  const Contender::Stage stage{world, calibration, options, sight, truth, clock};
  std::vector<std::unique_ptr<Contender>> contenders;
  for (const System& system : systems) {
    WHARF_ASSIGN_OR_RETURN(std::unique_ptr<Contender> contender, Contender::Make(system, stage));
    contenders.push_back(std::move(contender));
  }
  std::vector<scene::Pose> truths;
  for (int64_t index = 0; index < options.frames; ++index) {
    const double time_s = static_cast<double>(index) / scene::World::kFramesPerSecond;
    clock.Advance(FromSeconds(time_s) - clock.Now().since_epoch);
    frame = std::make_shared<scene::Frame>(world.FrameAt(index, options.width, options.height));
    truth = world.TruthAt(index, options.width, options.height);
    truths.push_back(truth.pose);
    sight.Look(frame);
    for (const std::unique_ptr<Contender>& contender : contenders) WHARF_RETURN_IF_ERROR(contender->OnFrame(frame));
  }
  std::vector<SystemResult> results;
  for (const std::unique_ptr<Contender>& contender : contenders) {
    WHARF_ASSIGN_OR_RETURN(SystemResult result, contender->Finish(truths));
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace wharf::multitask
