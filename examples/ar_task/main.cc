// A task of one's own beside Wharf's: free space (free_space.h), by a model that the server was given.
//   ar_task calibrate HOST:PORT CALIBRATION.json VIDEO...      learns what its tracker loses
//   ar_task run HOST:PORT CALIBRATION.json NETWORKS VIDEO      has depth, pose, boxes and free space of every frame
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "free_space.h"
#include "wharf/ar/client_kit/client_kit.h"
#include "wharf/ar/model_task/calibrate.h"
#include "wharf/ar/model_task/model_task.h"
#include "wharf/scene/source/source.h"

namespace {

using wharf::Clock;
namespace ar = wharf::ar;
namespace scene = wharf::scene;

constexpr const char* kTask = "free_space";  // the server's --task free_space=free_space.onnx
// What a client of Wharf's networks sends; the server stretches it to what free_space.onnx takes.
constexpr scene::FileOptions kPictures = {.width = 448, .height = 128};

absl::Status Calibrate(const std::string& server, const std::string& file, std::span<char* const> folders) {
  std::vector<std::unique_ptr<scene::Source>> videos;
  ar::CalibrateOptions options;
  options.task = kTask;
  options.server = server;
  for (const char* const folder : folders) {
    WHARF_ASSIGN_OR_RETURN(scene::FileSource video, scene::OpenFiles(folder, kPictures));
    videos.push_back(std::move(video.source));
    options.source += (options.source.empty() ? "" : ", ") + std::string(folder);
  }
  FreeSpaceTracker tracker;
  WHARF_ASSIGN_OR_RETURN(const ar::CalibrationReport report, ar::Calibrate(tracker, videos, options));
  std::fputs(report.Text().c_str(), stdout);
  std::ofstream out(file);
  out << report.calibration.Json();
  return out.flush() ? absl::OkStatus() : absl::PermissionDeniedError(file + " cannot be written");
}

// A bar for each strip.
std::string Bars(const FreeSpace& free) {
  static constexpr const char* kBars[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  std::string text;
  for (const float share : free) text += kBars[std::min(8, static_cast<int>(share * 2 * 8))];  // half the height: all
  return text;
}

std::string Text(const ar::ModelTask<FreeSpace>& free_space) {
  if (free_space.result() == nullptr) return "no answer yet";
  return "free |" + Bars(*free_space.result()) + "| of " + std::to_string(free_space.Stride()) + " frames ago";
}

absl::Status Run(const std::string& server, const std::string& file, const std::string& networks,
                 const std::string& folder) {
  WHARF_ASSIGN_OR_RETURN(const scene::FileSource camera, scene::OpenFiles(folder, kPictures));
  scene::Source& frames = *camera.source;
  WHARF_ASSIGN_OR_RETURN(std::optional<scene::Frame> frame, frames.Next());
  if (!frame) return absl::NotFoundError("there are no pictures in " + folder);

  WHARF_ASSIGN_OR_RETURN(const auto kit, ar::ClientKit::Load(networks));
  ar::ClientConfig config = kit->Config(frames.Camera(), frames.FramesPerSecond());  // depth, odometry, boxes
  config.server = server;
  WHARF_RETURN_IF_ERROR(ar::LevelStart(frame->imu, config.odometry));

  WHARF_ASSIGN_OR_RETURN(ar::TaskCalibration calibration, ar::TaskCalibration::Load(file));
  FreeSpaceTracker tracker;
  ar::ModelTask<FreeSpace> free_space(std::move(calibration), tracker);
  ar::AddTask(free_space, config);
  WHARF_ASSIGN_OR_RETURN(const auto client, ar::Client::Open(std::move(config)));

  const wharf::TimePoint start = Clock::Real().Now();
  const double first_s = frame->time_s;
  int64_t count = 0;
  while (frame) {
    Clock::Real().SleepUntil(start + wharf::FromSeconds(frame->time_s - first_s));  // a camera would do the waiting
    const ar::Results results = client->OnFrame(std::make_shared<const scene::Frame>(*std::move(frame)));
    if (++count % 30 == 0) {
      std::printf("frame %lld: %zu boxes, pose %s, %s\n", static_cast<long long>(results.report.frame),
                  results.boxes.size(), wharf::track::PoseStateName(results.pose->state), Text(free_space).c_str());
    }
    WHARF_ASSIGN_OR_RETURN(frame, frames.Next());
  }
  std::printf("%lld frames; offloads:", static_cast<long long>(count));
  const std::vector<int64_t>& offloads = client->Counts().offloads;
  const char* const names[] = {"depth", "odometry", "boxes", kTask};
  for (size_t i = 0; i < offloads.size(); ++i) std::printf(" %s %lld", names[i], static_cast<long long>(offloads[i]));
  std::printf("\n");
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  const std::span<char* const> words(argv, static_cast<size_t>(argc));
  const std::string command = argc > 1 ? argv[1] : "";
  absl::Status done = absl::InvalidArgumentError(
      "say calibrate HOST:PORT CALIBRATION.json VIDEO... or run HOST:PORT CALIBRATION.json NETWORKS VIDEO");
  if (command == "calibrate" && argc >= 5) done = Calibrate(argv[2], argv[3], words.subspan(4));
  if (command == "run" && argc == 6) done = Run(argv[2], argv[3], argv[4], argv[5]);
  if (!done.ok()) std::fprintf(stderr, "ar_task: %s\n", std::string(done.message()).c_str());
  return done.ok() ? EXIT_SUCCESS : EXIT_FAILURE;
}
