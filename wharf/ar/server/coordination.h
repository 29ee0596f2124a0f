// Coordination: the clients whose accuracy the server answers for. One scheduler of the room serving decides when each
// offloads and what is a batch; this gives it the real clock, clients with connections, and an engine that runs
// batches.
//
// Clients that there is no room for wait: they are told to offload now and then, so that the server knows when their
// frames come, and get an answer if the engine has nothing to do just then. After a while they are told to try another
// server.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "wharf/ar/server/finder.h"
#include "wharf/base/event_loop.h"
#include "wharf/serving/coordinated_scheduler.h"

namespace wharf::ar {

// A client's session, as it is told things. Calls come from any thread and must not wait.
class CoordinatedPeer {
 public:
  virtual ~CoordinatedPeer() = default;
  // `served`: or it waits; `why`, if that is known: a line for people.
  virtual void Tell(const serving::ClientPlan& plan, bool served, std::string why) = 0;
  // Another server may have room.
  virtual void Redirect() = 0;
  // `waited`, `computed`: since the picture was there.
  virtual void Deliver(int64_t frame, Finding finding, Nanoseconds waited, Nanoseconds computed) = 0;
};

struct CoordinationConfig {
  BatchFinder* finder = nullptr;  // must outlive it
  serving::InferenceProfile profile;
  serving::CoordinatorOptions options{.charge_growth = true};
  // What is assumed of a client until it has measured it.
  double first_drop_rate = 0.01;
  Nanoseconds first_network = std::chrono::milliseconds(30);
  int waiting_interval = 60;                       // frames between those that a client offloads that waits for room
  Nanoseconds patience = std::chrono::seconds(2);  // of a client that waits, before it is handed over
  const Clock* clock = &Clock::Real();             // must outlive it
};

struct CoordinationCounts {
  size_t served = 0, waiting = 0;
  // Those in whose place their client had sent a newer one before they were looked at are superseded.
  uint64_t reports_taken = 0, reports_superseded = 0;
  uint64_t steps = 0;  // of its thread: what was said two steps ago has been heard
  serving::SchedulerStats scheduler;
};

// Thread-safe.
class Coordination final : private serving::Engine, private serving::ClientPort, private serving::Balancer {
 public:
  explicit Coordination(CoordinationConfig config);
  ~Coordination() override;

  // A client's number. It waits until there is room; the peer hears of it.
  uint64_t Join(double frames_per_s, double sla, DepthCoding coding, std::shared_ptr<CoordinatedPeer> peer);
  void Leave(uint64_t client);
  // A picture that the finder takes has come. One that was not asked for, comes too late or has the number of one that
  // waits is answered with a failure; every one is answered within some seconds.
  void OnPicture(uint64_t client, int64_t frame, scene::Image picture);
  // Only the newest of a client is kept until the next plan is made.
  void OnReport(uint64_t client, const serving::ClientReport& report);
  // Of one picture alone, as the profile has it.
  Nanoseconds Inference() const { return FromSeconds(config_.profile.Seconds(1)); }
  // Of a moment ago.
  CoordinationCounts Counts() const;

 private:
  struct Picture {
    scene::Image image;
    TimePoint arrived;
  };
  struct Client {
    DepthCoding coding = DepthCoding::kHalf;
    std::shared_ptr<CoordinatedPeer> peer;
    std::map<int64_t, Picture> pictures;  // no result yet; the newest few
    std::optional<TimePoint> redirect;    // it waits, until then
    TimePoint admitted, not_before;       // the last time; it may be admitted again
    int vanished = 0;                     // soon after it was admitted, in a row
  };
  struct Job {
    std::shared_ptr<CoordinatedPeer> peer;
    int64_t frame = 0;
    TimePoint arrived;
  };
  struct Batch {
    std::vector<Job> jobs;
    std::vector<scene::Image> pictures;
    std::vector<DepthCoding> codings;
  };

  // serving::Engine, ClientPort, Balancer: called by the scheduler, on the loop.
  void Start(const std::vector<serving::Request>& batch, std::optional<TimePoint> due) override;
  void Send(serving::ClientId client, const serving::ClientPlan& plan) override;
  std::optional<serving::ClientState> NextWaiting() override;
  void Admit(serving::ClientId client) override;
  void Redirect(serving::ClientState client) override { Wait(std::move(client)); }
  void Vanished(serving::ClientState client) override;

  TimePoint Step();
  void TakeReports();
  void RedirectLate();
  void RefuseLate();
  void Wait(serving::ClientState state);
  void TakeFromLine(serving::ClientId client);
  bool MayComeNext(const serving::ClientState& state) const;
  std::string WhyItWaits(const serving::ClientState& state) const;
  void Take(uint64_t client, int64_t frame, Picture picture);
  bool Learn(serving::ClientState& state, int64_t frame, TimePoint arrived);
  void KeepNewest(Client& client);
  void Refuse(Client& client, int64_t frame, const char* why);
  bool HasTime() const;
  void RunAlone(Client& client, int64_t frame);
  void Add(Client& client, int64_t frame, Batch& batch);
  void Compute(Batch batch, bool planned);
  serving::ClientState* FindWaiting(uint64_t client);

  const CoordinationConfig config_;
  const Clock& clock_ = *config_.clock;
  std::atomic<uint64_t> next_client_ = 1;
  // Of the loop's thread.
  std::map<uint64_t, Client> clients_;
  std::list<serving::ClientState> waiting_;
  serving::CoordinatedScheduler scheduler_;
  TimePoint refused_late_;  // the last time that it was looked
  int computing_ = 0;       // batches and pictures that the engine has
  mutable absl::Mutex mutex_;
  std::map<uint64_t, serving::ClientReport> reports_ ABSL_GUARDED_BY(mutex_);  // the newest, not taken yet
  CoordinationCounts counts_ ABSL_GUARDED_BY(mutex_);
  EventLoop loop_, engine_;
  std::thread engine_thread_, loop_thread_;
};

}  // namespace wharf::ar
