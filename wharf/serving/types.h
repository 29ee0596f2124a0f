// The words of the room: clients, frames, what a client tells the server about itself, and what it is told.
#pragma once

#include <cstdint>
#include <vector>

#include "wharf/base/clock.h"

namespace wharf::serving {

using ClientId = uint64_t;
using FrameId = int64_t;  // of one client's camera, counted from 0

// What a client's accuracy and latency are worked out from.
struct ClientModel {
  double fps = 60;       // of its camera
  double sla = 0;        // most that its mean accuracy may be below the reference setup's (thesis 3.4.3)
  double drop_rate = 0;  // accuracy lost per frame of tracking stride (track::DropRateEstimator)
  double network_s = 0;  // both ways and the client's own work on frame and result: all but the server's part
  // In how many frames it was served so far, and what they lost from the reference setup in all (track::DropAccount).
  double frames = 0, lost = 0;
};

// How often a client offloads, and the largest batch that its requests may be in.
struct OffloadSettings {
  int interval = 1;  // frames
  int batch = 1;
  friend bool operator==(const OffloadSettings&, const OffloadSettings&) = default;
};

// A frame that came in to be inferred.
struct Request {
  ClientId client = 0;
  FrameId frame = 0;
  TimePoint arrived;
};

// Which frames a client is to offload from now on: those of `frames`, in order; after the last of them, or after the
// last that it has offloaded if there are none, every `interval`-th, none if that is 0.
struct ClientPlan {
  std::vector<FrameId> frames;
  int interval = 0;
};

// A client's own measurements, untrusted: see ClientRegistry::Report.
struct ClientReport {
  double drop_rate = 0;
  double network_s = 0;
  double frames = 0, lost = 0;
};

}  // namespace wharf::serving
