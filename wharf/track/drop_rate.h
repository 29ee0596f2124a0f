// ARISE's accuracy estimator (thesis section 3.4.3): what a client loses by local tracking grows linearly with the
// tracking stride; the slope is measured online, the strides follow from the offloading schedule in closed form.
#pragma once

#include <cstdint>
#include <span>

#include "absl/status/statusor.h"
#include "wharf/scene/scene.h"

namespace wharf::track {

// Drop in accuracy per frame of stride, from two results for the same frame: the tracker's, from a result `stride`
// frames older, and the server's own. kInvalidArgument for stride < 1; depth fails as AbsRel.
absl::StatusOr<double> DepthDropRate(const scene::DepthMap& tracked, const scene::DepthMap& server, int stride);
absl::StatusOr<double> BoxDropRate(std::span<const scene::Box> tracked, std::span<const scene::Box> server, int stride);

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
