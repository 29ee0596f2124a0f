// CoordinatedClient: an AR application's side with an agreed accuracy (ARISE): one task, offloaded when the server's
// schedule says, tracked in between. It measures what tracking costs and how long the network takes, tells the server,
// and keeps account of whether it gets what it agreed on.
//
//   WHARF_ASSIGN_OR_RETURN(const auto client, ar::CoordinatedClient::Open(std::move(config)));
//   for (each frame) {
//     const ar::TrackedResult result = client->OnFrame(frame);   // result.depth or result.boxes; of a task of the
//                                                                // application's own, what this has by then
//   }
//   const ar::AgreedSummary summary = client->Summary();         // summary.Within()
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "wharf/ar/client/offload_plan.h"
#include "wharf/ar/client/result_tracker.h"
#include "wharf/ar/client/uplink.h"
#include "wharf/track/drop/drop_account.h"
#include "wharf/track/drop/drop_rate.h"

namespace wharf::ar {

// A task that is not built in: ar/model_task/agreed_task.h makes it.
struct CoordinatedTask {
  std::string name;  // under which servers have its model
  track::DropCurve curve;
  std::shared_ptr<ResultTracker> tracker;
};

struct CoordinatedClientConfig {
  scene::Intrinsics camera;
  double frames_per_s = 60;
  Task task = Task::kDepth;               // or kBoxes
  std::optional<CoordinatedTask> own;     // in their place
  double sla = 0.05;                      // most that its mean accuracy may be below that with a server of its own
  multitask::OdometryTaskOptions motion;  // for depth
  double first_drop_rate = 0.01;          // per frame of stride, until it is measured
  Dial dial;
  std::string server;  // HOST:PORT
  std::string token;
  DepthCoding depth_coding = DepthCoding::kHalf;
  int jpeg_quality = 90;
  Nanoseconds opening = link::kFirstWay;  // how long the first connection is tried
};

// What such a client says to a server.
Hello HelloOf(const CoordinatedClientConfig& config);

enum class Standing {
  kAway,     // no server listens
  kWaiting,  // for room on a server
  kServed,   // by a server's schedule
};

struct TrackedResult {
  multitask::DepthPointer depth;  // null: another task, or nothing yet
  std::vector<scene::Box> boxes;
  int stride = -1;  // frames since the one that a server answered; -1: none yet
  bool offloaded = false;
  Standing standing = Standing::kAway;
  absl::Status status;  // of this frame's tracking
};

struct AgreedSummary {
  double sla = 0;
  int64_t frames = 0, waiting = 0, away = 0;  // frames in all, and in two of the standings
  int64_t served = 0;                         // in the third, with a result: of these are
  double mean_stride = 0, reference_stride = 0;
  double mean_drop = 0;                 // from the reference, by what results showed (track::DropAccount)
  double drop_rate = 0, network_s = 0;  // as reported last
  int64_t offloads = 0, answered = 0, refused = 0, lost = 0;
  std::string why_waiting;  // as a server said last while it did; ""
  UplinkState link;
  bool Within() const { return mean_drop <= sla; }
};

// Not thread-safe.
class CoordinatedClient final : private ConnectionListener {
 public:
  // Connects to the server. kInvalidArgument: a task that has no accuracy, or an accuracy that is none; else as
  // Uplink::Open.
  static absl::StatusOr<std::unique_ptr<CoordinatedClient>> Open(CoordinatedClientConfig config);

  // In the order of their indices, which begin at 0 or later. Waits for no server.
  TrackedResult OnFrame(const FramePointer& frame);
  AgreedSummary Summary() const;

 private:
  struct Answer {
    int64_t frame = 0;
    TimePoint came;
    Nanoseconds server{0};
    absl::StatusOr<std::vector<std::byte>> found;
  };
  // What was heard since the last frame.
  struct News {
    std::vector<Answer> answers;
    std::optional<serving::ClientPlan> plan;
    std::optional<bool> served;
    std::string why_waiting;  // if it was said
    bool lost = false;
    std::optional<double> inference_s;
  };

  static track::DropCurve CurveOf(const CoordinatedClientConfig& config) {
    if (config.own) return config.own->curve;
    return config.task == Task::kDepth ? track::kDepthCurve : track::kBoxCurve;
  }

  explicit CoordinatedClient(CoordinatedClientConfig config)
      : config_(std::move(config)),
        drop_rate_(CurveOf(config_)),
        lost_(CurveOf(config_)),
        report_{.drop_rate = config_.first_drop_rate} {}
  void OnWelcome(const Welcome& welcome) override;
  void OnResult(const Result& result, int64_t frame, std::vector<std::byte> found) override;
  void OnFailed(Task task, int64_t frame, const absl::Status& why) override;
  void OnSchedule(serving::ClientPlan plan, bool served, const std::string& why) override;
  void OnClosed(const absl::Status& why) override;

  absl::Status Start();
  void Take(News news);
  void TakeAnswer(Answer answer);
  void Offload(const FramePointer& frame, TrackedResult& result);
  void Count(int64_t shown, const TrackedResult& result);
  track::OffloadSchedule Reference() const;

  const CoordinatedClientConfig config_;
  TrackedDepth* depth_ = nullptr;  // tracker_, where it is of one of these kinds
  TrackedBoxes* boxes_ = nullptr;
  std::shared_ptr<ResultTracker> tracker_;
  OffloadPlan plan_;
  Standing standing_ = Standing::kAway;
  std::map<int64_t, TimePoint> in_flight_;  // when they were captured
  track::DropRateEstimator drop_rate_;
  track::DropAccount lost_;  // of the frames in which it was served
  Report report_;            // network_s 0: not measured yet
  double inference_s_ = 0;
  int served_in_a_row_ = 0;  // frames
  AgreedSummary counts_;     // means as sums
  absl::Mutex mutex_;
  News news_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<Uplink> uplink_;  // first to go
};

}  // namespace wharf::ar
