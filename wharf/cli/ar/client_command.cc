// wharf ar client: an AR application's side in real time, on a video or on a drive through the synthetic world.
#include <memory>

#include "wharf/cli/ar/client.h"
#include "wharf/cli/ar/networks.h"
#include "wharf/cli/common/ar_command.h"
#include "wharf/cli/common/commands.h"

namespace wharf::cli {
namespace {

constexpr const char* kArClientFooter = R"(
For every frame, within that frame, the client has depth (warped from the server's last map and, where something has come
nearer, by the lite network), pose (a Kalman filter over the IMU and what the server measures) and boxes (tracked by
optical flow). What is offloaded when is AccuMO's decision, or a baseline's (--policy rr, "wrr 3:1", aao, la).

With --sla it is the server's: one task is offloaded when the server's schedule for all its clients says, and tracked in
between, so that the mean accuracy (AbsRel of depth, IoU of boxes) stays within --sla of what a server of its own would
give. A server without room hands the client over to another (wharf ar serve --next); until one has room it tracks on.

A video needs imu.csv beside its pictures for depth and pose (wharf ar render writes such folders); without it, say
--tasks boxes. On the synthetic world results are held against the truth.

Examples: wharf ar client --server 10.0.0.2:7072 --synthetic H/H:3 --duration 20s
          wharf ar client --server 10.0.0.2:7072 --synthetic H/L:0 --tasks depth --sla 0.05)";

}  // namespace

void AddArClientCommand(CLI::App& app) {
  CLI::App* command = ArCommand(app).add_subcommand("client", "Have depth, pose and boxes of every frame of a camera.");
  command->footer(kArClientFooter);
  auto options = std::make_shared<ArClientOptions>();
  AddServerAccess(command, options->access)
      ->description(
          "HOST:PORT of `wharf ar serve` (127.0.0.1:7072, or WHARF_SERVER), or auto: the best that announces itself on "
          "this network and does the tasks");
  AddNetworksOption(command, options->networks);
  AddSightOptions(command, *options);
  AddTasksOption(command, *options)->default_str("depth,odometry,boxes; depth with --sla");
  auto* sla = command->add_option("--sla", options->sla, "Have the server keep this accuracy drop, such as 0.05")
                  ->check(CLI::Range(1e-6, 10.0));
  command->add_option("--policy", options->policy, "accumo, rr, \"wrr X:Y\", aao, la")
      ->excludes(sla)
      ->capture_default_str();
  command->add_option("--weights", options->weights, "Of the tasks' errors, such as 2:1; as it is, all alike")
      ->excludes(sla);
  command
      ->add_flag("--no-depth-fusion", options->only_warp_depth,
                 "Between answers only warp depth, as AccuMO does, instead of fusing it with the lite network's")
      ->excludes(sla);
  command->add_option("--depth-coding", options->depth_coding, "How depth maps travel")
      ->check(CLI::IsMember({"half", "jpeg"}))
      ->capture_default_str();
  command->add_option("--quality", options->jpeg_quality, "Of the pictures' JPEGs")
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
  command
      ->add_option("--view", options->view,
                   "Write what it sees and does here: .mp4, .avi, .html, or .png of the last frame")
      ->type_name("FILE");
  command->add_option("--json", options->json, "Write what came out here")->type_name("FILE");
  command->callback([options] {
    FinishServerAccess("ar client", options->access);
    if (options->access.server.empty()) options->access.server = "127.0.0.1:7072";
    const bool agreed = options->sla > 0;
    if (options->tasks.empty()) {
      options->tasks = {ar::Task::kDepth};
      if (!agreed) options->tasks = {ar::Task::kDepth, ar::Task::kOdometry, ar::Task::kBoxes};
    }
    if (!agreed && options->tasks.size() == 1 && options->Has(ar::Task::kDepth))
      options->tasks.push_back(ar::Task::kOdometry);  // depth is warped by the motion
    const absl::Status done = agreed ? RunAgreedClient(*options) : RunOwnClient(*options);
    if (!done.ok()) Fail(done);
  });
}

}  // namespace wharf::cli
