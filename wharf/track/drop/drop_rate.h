// ARISE's accuracy estimator (thesis section 3.4.3): what a client loses by local tracking grows with the tracking
// stride; how fast is measured online, the strides follow from the offloading schedule in closed form.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "absl/status/statusor.h"
#include "wharf/scene/scene.h"

namespace wharf::track {

// Drop in accuracy per frame of stride, from two results for the same frame: the tracker's, from a result `stride`
// frames older, and the server's own. kInvalidArgument for stride < 1.
absl::StatusOr<double> BoxDropRate(std::span<const scene::Box> tracked, std::span<const scene::Box> server, int stride);

// What a result of the server shows of the tracker: how far it is from what was tracked to its frame from a result
// `stride` frames older.
struct SeenDrop {
  double stride = 0;
  double drop = 0;
  // Of a running mean: what was seen counts for `share`.
  void AddToMean(const SeenDrop& seen, double share);
};
// Whether both can be: drops are finite and not negative, strides rise from a frame or more.
bool AreSeenDrops(const SeenDrop& near, const SeenDrop& far);

// How seen drops grow: with this power of the stride. The thesis takes them to be proportional to it. But a network
// differs from itself from frame to frame, which is seen at the shortest stride already, and which the reference setup
// loses, too: drops then grow less than in proportion, and drop / stride is far more than a frame more of stride costs.
struct DropCurve {
  double exponent = 1;    // expected: calibrated, of a task's network and tracker (docs/serving.md)
  bool measured = false;  // that of what was seen counts as much as the one expected
  int recent = 0;         // not 0: the mean of so many last results counts where it is the higher one
  // In an account of what was lost (drop_account.h) the expected exponent counts as much as so many results. What they
  // show is of strides twice as long as those that matter: of boxes, whose drops end at 1, it is often less.
  double expected_results = 8;
};
inline constexpr DropCurve kPublishedCurve = {1, false};
inline constexpr DropCurve kDepthCurve = {0.5, true, 3}, kBoxCurve = {0.5, true, 3, 40};
// For servers that keep no account of what was lost (serving/budget.h), where too low an estimate is never made up for.
inline constexpr DropCurve kCautiousDepthCurve = {0.7, true}, kCautiousBoxCurve = {0.4, true};

// The drop rate of one client, from means over its last eight results or so: single ones differ by what is in the two
// pictures. Not thread-safe.
class DropRateEstimator {
 public:
  explicit DropRateEstimator(const DropCurve& curve) : curve_(curve) {}

  // A result of the server: what it shows of tracking from the newest result that there was, and from the one before
  // that. Nothing changes if a drop is not finite or negative, or the strides do not rise from 1.
  void Add(const SeenDrop& near, const SeenDrop& far);

  // Accuracy lost per frame of stride, between the reference setup's mean stride (> 0) and that of what was seen.
  // Finite, never negative; nullopt if nothing was seen. Of kPublishedCurve: drop / stride, whatever the reference.
  std::optional<double> Rate(double reference_stride) const;

 private:
  double Exponent() const;
  double RateBy(const SeenDrop& seen, double reference_stride) const;

  DropCurve curve_;
  int seen_ = 0;
  SeenDrop near_, far_, recent_;  // running means; the last of near ones
};

// Every interval-th frame is offloaded; its result is there `latency` frames later. Both in frames, interval >= 1,
// latency >= 0.
struct OffloadSchedule {
  int interval = 1;
  int latency = 0;
};

// Mean tracking stride over frames: strides run from latency to latency + interval - 1.
double MeanStride(const OffloadSchedule& schedule);

// The idealistic setup that SLAs are relative to: a server of one's own, batch size 1, so frames are offloaded as often
// as it gets done with them. `inference_s` is of a batch of one, `end_to_end_s` from the camera's frame to the result
// in the client, both without queueing.
OffloadSchedule ReferenceSchedule(double inference_s, double end_to_end_s, double frame_s);

// Mean drop against running the server's network on every frame offline.
inline double MeanDrop(double drop_rate, const OffloadSchedule& schedule) { return drop_rate * MeanStride(schedule); }

// Mean drop against the reference; negative if the schedule is better. SLAs bound this.
inline double DropFromReference(double drop_rate, const OffloadSchedule& schedule, const OffloadSchedule& reference) {
  return drop_rate * (MeanStride(schedule) - MeanStride(reference));
}

// A frame that is offloaded and the first frame that can use its result.
struct Offload {
  int64_t frame = 0;
  int64_t usable = 0;
};

// The same for any schedule: sum of the strides of the frames [first, last), each tracking from the newest result that
// it can use. kInvalidArgument if offloads are not in increasing order of `frame` and of `usable`, one is usable before
// its frame, or the first of them is not usable at `first`. O(offloads).
absl::StatusOr<int64_t> SumOfStrides(std::span<const Offload> offloads, int64_t first, int64_t last);

}  // namespace wharf::track
