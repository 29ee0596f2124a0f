// wharf ar view: what a client sees and does, as a video or a picture, with a server in this process.
#include <memory>

#include "wharf/ar/finders/task_finder.h"
#include "wharf/ar/relay/relay.h"
#include "wharf/ar/server/server.h"
#include "wharf/cli/ar/client.h"
#include "wharf/cli/ar/networks.h"
#include "wharf/cli/common/ar_command.h"
#include "wharf/cli/common/commands.h"
#include "wharf/exec/torch_engine.h"
#include "wharf/link/emulation/emulator.h"

namespace wharf::cli {
namespace {

constexpr const char* kArViewFooter = R"(
Runs a client (wharf ar client) and a server (wharf ar serve) in this process, in real time, and shows for every second
frame, above: what the camera sees with the boxes, and depth in colours, near is red and far is blue. Below: the way from
above, blue as the client thinks it is and green as it is, with the pose's state and how well it is known, and the
schedule, a band a task, bright where a frame was offloaded. A page (.html) is to move through frame by frame.

To see a client of a server elsewhere: wharf ar client --server HOST:PORT --view FILE.

Examples: wharf ar view --synthetic H/H:3 --duration 10s --out drive.mp4
          wharf ar view --synthetic H/H:3 --duration 10s --out drive.html
          wharf ar view --synthetic L/L:0 --duration 3s --policy rr --out last-frame.png)";

// With all networks, for one client.
class LocalServer {
 public:
  static absl::StatusOr<std::unique_ptr<LocalServer>> Start(const std::string& networks) {
    std::unique_ptr<LocalServer> local(new LocalServer);
    local->engine_ = exec::MakeTorchEngine({.threads = 1});
    WHARF_ASSIGN_OR_RETURN(local->depth_,
                           perception::DepthNetwork::Load(*local->engine_, networks + "/depth.onnx", {}));
    WHARF_ASSIGN_OR_RETURN(local->detector_,
                           perception::Detector::Load(*local->engine_, networks + "/detector.onnx", {}));
    local->networks_ = {&*local->depth_, &*local->detector_};
    local->server_.emplace(ar::ServerConfig{
        .make_solo = [raw = local.get()](const ar::Hello& hello) { return ar::MakeTaskFinder(hello, raw->networks_); },
        .solo = &local->queue_});
    return local;
  }
  absl::StatusOr<std::unique_ptr<link::ByteStream>> Connect() {
    auto [theirs, ours] = link::MemoryPair();
    WHARF_ASSIGN_OR_RETURN(auto relay, ar::RelayInProcess(std::move(theirs)));
    server_->Accept(std::move(relay));
    return std::move(ours);
  }

 private:
  LocalServer() = default;
  std::unique_ptr<exec::Engine> engine_;
  std::optional<perception::DepthNetwork> depth_;
  std::optional<perception::Detector> detector_;
  ar::Networks networks_;
  ar::TurnQueue queue_;
  std::optional<ar::Server> server_;  // first to go
};

absl::Status RunArView(ArClientOptions options) {
  WHARF_ASSIGN_OR_RETURN(const auto server, LocalServer::Start(options.networks));
  options.dial = [&server](const std::string&) { return server->Connect(); };
  return RunOwnClient(options);
}

}  // namespace

void AddArViewCommand(CLI::App& app) {
  CLI::App* command = ArCommand(app).add_subcommand("view", "Show what an AR client sees and does, as a video file.");
  command->footer(kArViewFooter);
  auto options = std::make_shared<ArClientOptions>();
  options->duration = std::chrono::seconds(10);
  command->add_option("--out", options->view, "Write this: .mp4, .avi, .html, or .png of the last frame")
      ->type_name("FILE")
      ->required();
  AddNetworksOption(command, options->networks);
  AddSightOptions(command, *options);
  AddTasksOption(command, *options)->default_str("depth,odometry,boxes");
  command->add_option("--policy", options->policy, "accumo, rr, \"wrr X:Y\", aao, la")->capture_default_str();
  command->callback([options] {
    if (options->tasks.empty()) options->tasks = {ar::Task::kDepth, ar::Task::kOdometry, ar::Task::kBoxes};
    if (const absl::Status done = RunArView(*options); !done.ok()) Fail(done);
  });
}

}  // namespace wharf::cli
