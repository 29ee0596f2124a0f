// ReplayPerformer: carries out operations for the server's half of replay. The executor is one.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "wharf/base/status.h"
#include "wharf/device/device.h"
#include "wharf/offload/replay/step_op.h"
#include "wharf/offload/replay/write_set.h"
#include "wharf/offload/reply_queue.h"
#include "wharf/offload/small_answer.h"

namespace wharf::offload {

// Not thread-safe.
class ReplayPerformer {
 public:
  virtual ~ReplayPerformer() = default;
  // What the operation was refused with, if it was; an answered one has then been answered so, as the ticket says.
  virtual absl::Status Perform(const StepOp& op, std::vector<std::byte> bulk, const ReplyTicket& ticket) = 0;
  // Elements of a prepared list, `launches` of them kernels; the first is on `stream`.
  virtual device::Submission Submit(device::WorkList& list, size_t first, size_t count, size_t launches,
                                    device::StreamId stream) = 0;
  virtual absl::Status LaunchGuarded(const Launch& op, const device::Guard& guard) = 0;
  // Keeps a posted operation's error for the next reply.
  virtual void Latch(const absl::Status& status) = 0;
  // Once this answer is there, ReplayFollower::Resume is to be called, where the follower's other methods are.
  virtual void ResumeWhenHere(const std::shared_ptr<const SmallAnswer>& answer) = 0;
  // Whether work that nobody asked for yet may be queued.
  virtual bool HasIdleRoom() = 0;
  virtual const Mappings& Allocations() const = 0;
  // True while the session has no streams but the default one.
  virtual bool HasOneStream() const = 0;
  // True if no stream but this one has work under way.
  virtual bool OthersAreIdle(device::StreamId stream) = 0;
};

}  // namespace wharf::offload
