// A request of the program that is under way, or answered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "wharf/base/clock.h"
#include "wharf/offload/client/prediction/predictor.h"
#include "wharf/offload/wire.h"

namespace wharf::offload {

// Filled in by the request table under its lock; once `done` was seen there, nobody writes to it any more.
struct Request {
  // Marks the tag of a predicted operation; the rest is its position.
  static constexpr uint64_t kPredicted = uint64_t{1} << 63;

  std::span<std::byte> into;  // takes the reply's bulk part; valid until the request is done
  uint64_t tag = 0;           // the reply's; of a predicted operation: its position, and kPredicted
  uint64_t index = 0;         // operations made so far, this one included
  uint64_t path = 0;          // predicted: what the program had done then, this included
  uint64_t known = 0;         // predicted: what the server knew when it answered
  bool detached = false;      // nobody waits: an error is kept for the next call that does
  Predictor::Place place;     // predicted: of the operation
  device::StreamId stream = device::kDefaultStream;
  bool certain = false;  // a wait for nothing but completion, and none of what is waited for can fail
  bool elided = false;   // detached, and without data: stands for a wait that was answered on this side
  bool done = false;
  ReplyHeader header;
  std::vector<std::byte> head;  // the operation's own Reply, encoded
  size_t received = 0;          // bytes of bulk
  TimePoint sent;

  bool IsPredicted() const { return (tag & kPredicted) != 0; }
};
using RequestPtr = std::shared_ptr<Request>;

}  // namespace wharf::offload
