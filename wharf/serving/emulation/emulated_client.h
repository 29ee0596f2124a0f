// EmulatedClient: an AR client whose camera, network and schedule are real in time, and whose tracker's accuracy comes
// from a table (thesis 3.5). It offloads what the server tells it to, measures as the product's client does, and keeps
// account of what its frames lost.
#pragma once

#include <deque>
#include <memory>
#include <optional>

#include "wharf/serving/drop_table.h"
#include "wharf/serving/emulation/emulated_link.h"
#include "wharf/serving/inference_profile.h"
#include "wharf/serving/scheduler.h"
#include "wharf/track/drop/drop_account.h"
#include "wharf/track/drop/drop_rate.h"

namespace wharf::serving {

// What a client does to the others' cost, or tries to.
enum class Behaviour {
  kHonest,
  kExaggerating,  // reports four times its drop rate and that every frame is lost
  kFlooding,      // sends every frame, scheduled or not, and frames that never were
  kVanishing,     // after a while says nothing more, and does not close either
  kBabbling,      // reports what is no number, offloads frames of the future and the past
};

// What a drop in accuracy is: how far what is shown is from what the network finds in the same frame (thesis, Figure
// 3.8), or how much farther it is from the truth than that is. A client can measure the former only.
enum class Measure { kNetwork, kTruth };

// Of the frames that were shown while the measured server served it.
struct Account {
  int64_t frames = 0;
  double drop = 0;       // sum, by the measure that SLAs are held by
  double reference = 0;  // sum, of the reference setup on the same frames
  double true_drop = 0;  // sum, from the reference setup, against the truth
  double estimate = 0;   // sum, of what the client's own drop rates say, less the reference's
  double stride = 0;     // sum
  // Mean, from the reference.
  double MeanDrop() const { return frames == 0 ? 0 : (drop - reference) / static_cast<double>(frames); }
  double MeanEstimate() const { return frames == 0 ? 0 : estimate / static_cast<double>(frames); }
};

class EmulatedClient {
 public:
  struct Options {
    ClientId id = 0;
    const DropTable* table = nullptr;  // outlives the client
    LinkKind link = kMmWave;
    double sla = 0;
    TimePoint start;  // of frame 0
    uint64_t seed = 1;
    Behaviour behaviour = Behaviour::kHonest;
    Measure measure = Measure::kNetwork;
    track::DropCurve curve = track::kDepthCurve;  // what it takes drops to grow like
  };
  EmulatedClient(const Options& options, const InferenceProfile& profile);

  const Options& options() const { return options_; }
  TimePoint Captured(FrameId frame) const { return options_.start + FromSeconds(static_cast<double>(frame) / fps_); }
  FrameId FrameAt(TimePoint time) const;  // the last captured by then
  TimePoint End() const { return Captured(options_.table->data().frames); }
  EmulatedLink& link() { return link_; }

  // As it is on a server of its own that has served it since it began: at the reference's latency, at `interval`.
  // REQUIRES: it has been there for a second.
  ClientState OnOtherServer(TimePoint now);
  // The measured server serves it from now on; no longer.
  void Enter(TimePoint now);
  void Leave(TimePoint now);
  bool served() const { return served_; }

  void SetPlan(const ClientPlan& plan, TimePoint now);
  // The next to offload, captured at `now` or later; nullopt if none, or the video ends before.
  std::optional<FrameId> NextOffload() const;
  // It has been captured and sent: the plan goes on behind it.
  void OnOffloaded(FrameId frame);
  // Its result came at `now`; the server had it for `server`. What the client reports then.
  ClientReport OnResult(FrameId frame, TimePoint now, Nanoseconds server);

  const Account& account() const { return account_; }
  double drop_rate() const { return report_.drop_rate; }
  // By its own measurements, which it may not report as they are.
  ClientModel Model() const {
    return {fps_, options_.sla, report_.drop_rate, report_.network_s, report_.frames, report_.lost};
  }

 private:
  ClientReport Reported() const;
  void AccountUntil(FrameId end);
  void Compare(FrameId frame);
  track::SeenDrop SeenAt(FrameId source, FrameId frame) const;
  double DropOf(const DropSample& sample) const;
  size_t SourceAt(FrameId frame) const;
  FrameId ReferenceSource(FrameId frame) const;

  const Options options_;
  const double fps_;
  const track::OffloadSchedule reference_;
  EmulatedLink link_;
  bool served_ = false;
  ClientPlan plan_;
  size_t next_in_plan_ = 0;
  FrameId last_offloaded_ = -1, first_allowed_ = 0;
  std::deque<track::Offload> results_;  // in order of use; the last few
  FrameId accounted_ = 0;               // frames before
  track::DropRateEstimator drop_rate_;
  track::DropAccount lost_;  // by its own measurements
  ClientReport report_;
  Account account_;
};

}  // namespace wharf::serving
