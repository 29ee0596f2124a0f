// An AR application's loop: depth, pose and boxes for every frame of a camera, within the frame. A folder of pictures
// with camera.json and imu.csv (wharf ar render makes one) stands in for camera and IMU.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "wharf/ar/client_kit/client_kit.h"
#include "wharf/scene/source/source.h"

namespace {

using wharf::Clock;

void Print(const wharf::scene::Frame& frame, const wharf::ar::Results& results) {
  float nearest = 0;
  if (results.depth != nullptr) {
    for (const float metres : results.depth->metres) {
      if (metres > 0 && (nearest == 0 || metres < nearest)) nearest = metres;
    }
  }
  const wharf::track::PoseEstimate& pose = *results.pose;  // there is one: odometry is among the tasks
  const Eigen::Vector3d& at = pose.pose.position;
  std::printf("frame %lld: at (%.1f, %.1f, %.1f) +- %.1f m, %s%s%s, nearest %.1f m, %zu boxes\n",
              static_cast<long long>(frame.index), at.x(), at.y(), at.z(), pose.PositionSd(),
              wharf::track::PoseStateName(pose.state), pose.why.empty() ? "" : ": ", std::string(pose.why).c_str(),
              nearest, results.boxes.size());
}

absl::Status Run(const std::string& networks, const std::string& server, const std::string& folder) {
  WHARF_ASSIGN_OR_RETURN(const wharf::scene::FileSource camera, wharf::scene::OpenPictures(folder, {}));
  wharf::scene::Source& frames = *camera.source;
  WHARF_ASSIGN_OR_RETURN(std::optional<wharf::scene::Frame> frame, frames.Next());
  if (!frame) return absl::NotFoundError("there are no pictures in " + folder);

  WHARF_ASSIGN_OR_RETURN(const auto kit, wharf::ar::ClientKit::Load(networks));
  wharf::ar::ClientConfig config = kit->Config(frames.Camera(), frames.FramesPerSecond());
  config.server = server;
  WHARF_RETURN_IF_ERROR(wharf::ar::LevelStart(frame->imu, config.odometry));
  WHARF_ASSIGN_OR_RETURN(const auto client, wharf::ar::Client::Open(std::move(config)));

  const wharf::TimePoint start = Clock::Real().Now();
  const double first_s = frame->time_s;
  int64_t count = 0;
  while (frame) {
    Clock::Real().SleepUntil(start + wharf::FromSeconds(frame->time_s - first_s));  // a camera would do the waiting
    const auto now = kit->Fitted(std::make_shared<const wharf::scene::Frame>(*std::move(frame)));
    const wharf::ar::Results results = client->OnFrame(now);
    if (++count % 30 == 0) Print(*now, results);
    WHARF_ASSIGN_OR_RETURN(frame, frames.Next());
  }
  std::printf("%lld frames\n", static_cast<long long>(count));
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "Usage: ar_app NETWORKS HOST:PORT PICTURES   (folders; NETWORKS: share/wharf/ar)\n");
    return EXIT_FAILURE;
  }
  const absl::Status done = Run(argv[1], argv[2], argv[3]);
  if (!done.ok()) std::fprintf(stderr, "ar_app: %s\n", std::string(done.message()).c_str());
  return done.ok() ? EXIT_SUCCESS : EXIT_FAILURE;
}
