// What the two kinds of `wharf ar client` share: options, what the client sees, how good its results are.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "wharf/ar/client/uplink.h"
#include "wharf/cli/common/server_access.h"
#include "wharf/multitask/tasks/depth_task.h"
#include "wharf/multitask/tasks/odometry_task.h"
#include "wharf/scene/source/source.h"
#include "wharf/scene/world/world.h"

namespace wharf::cli {

struct ArClientOptions {
  ServerAccess access;
  std::string networks, video, synthetic = "H/H:0", policy = "accumo", weights, depth_coding = "half", json, view;
  std::vector<ar::Task> tasks;
  double sla = 0;  // 0: a plan of its own
  int jpeg_quality = 90;
  bool only_warp_depth = false;
  Nanoseconds duration = std::chrono::seconds(scene::World::kSeconds);

  ar::DepthCoding Coding() const { return depth_coding == "jpeg" ? ar::DepthCoding::kJpeg : ar::DepthCoding::kHalf; }
  bool Has(ar::Task task) const;
  // To a server; as it is, by --server and what belongs to it.
  ar::Dial dial;
  ar::Dial Dialling() const;
};
std::string TaskName(ar::Task task);
std::vector<std::string> TaskNames(const std::vector<ar::Task>& tasks);

// One line: at which server it is, and how it came there.
std::string Whereabouts(const ar::UplinkState& link);

// --video, --synthetic and --duration; `options` must outlive the command.
void AddSightOptions(CLI::App* command, ArClientOptions& options);
// --tasks; returns it.
CLI::Option* AddTasksOption(CLI::App* command, ArClientOptions& options);

// Runs a client on what it sees to the end, and says how it went: with a plan of its own (ar_client_own.cc), with an
// agreed accuracy (ar_client_agreed.cc).
absl::Status RunOwnClient(const ArClientOptions& options);
absl::Status RunAgreedClient(const ArClientOptions& options);

// What the client sees, and in the synthetic world what is true of it.
struct Sight {
  std::unique_ptr<scene::World> world;  // null: a video
  std::unique_ptr<scene::Source> source;
  multitask::OdometryTaskOptions odometry;  // where it starts
};
// --video or --synthetic, in pictures of this size. kInvalidArgument, kNotFound: there is no such thing.
absl::StatusOr<Sight> MakeSight(const ArClientOptions& options, int width, int height,
                                const track::OdometryAccuracyModel& accuracy);
// Of the first frame: a camera whose start is not known stands level, as far as the IMU can tell, and still.
// kFailedPrecondition: it has no IMU samples, which depth and odometry need.
absl::Status BeginAt(const scene::Frame& first, const ArClientOptions& options, Sight& sight);

// Results, held against the truth afterwards.
class ResultErrors {
 public:
  // Of the next frame. Depth and boxes are kept of every twelfth.
  void Add(int64_t frame, const multitask::DepthPointer& depth, const std::vector<scene::Box>& boxes,
           const std::optional<scene::Pose>& pose);
  struct Errors {
    std::optional<double> abs_rel, t_err, iou;  // what there is
  };
  Errors Compare(const scene::World& world, bool boxes) const;

 private:
  struct Kept {
    int64_t frame = 0;
    multitask::DepthPointer depth;
    std::vector<scene::Box> boxes;
  };
  std::vector<Kept> kept_;
  std::vector<scene::Pose> poses_;
};

}  // namespace wharf::cli
