// RowsReceiver: takes kRows frames off a channel, on its reader thread, and puts their tensors in an inference's inbox.
// Whatever is not exactly the rows that the plan says will come next is refused before memory is taken for it.
#pragma once

#include <memory>
#include <vector>

#include "wharf/split/execution/inbox.h"
#include "wharf/split/execution/side_runner.h"
#include "wharf/split/execution/slow_down.h"
#include "wharf/split/messages/messages.h"
#include "wharf/split/runtime/model.h"

namespace wharf::split {

// Not thread-safe: the channel's reader thread's.
class RowsReceiver {
 public:
  // `model` must outlive it. `resource`: what its events are called. Rows are decoded inside `slow_down`.
  RowsReceiver(const Model& model, Clock& clock, Resource resource, const SlowDown& slow_down = SlowDown())
      : model_(model), clock_(clock), resource_(resource), slow_down_(slow_down) {}

  // The rows that come from now on belong to this inference, and no other's may come.
  void Open(uint64_t inference, std::shared_ptr<Inbox> inbox, std::shared_ptr<Recorder> recorder);
  // Where the bulk of a kRows frame goes. kInvalidArgument: not the rows that come next, or not of their size.
  absl::StatusOr<std::span<std::byte>> BulkDestination(const link::FrameHeader& header,
                                                       std::span<const std::byte> head);
  // A whole kRows frame, its bulk where BulkDestination said. kInvalidArgument: as above, or not encoded as the plan
  // says. Nobody gets the rows before Deliver: by then all that is to be known of their way can be written down.
  absl::StatusOr<Arrival> OnRows(const link::FrameHeader& header, std::span<const std::byte> head);
  // REQUIRES: OnRows has just returned without failure.
  void Deliver();

 private:
  absl::StatusOr<exec::TensorPtr> Decode();
  absl::Status Expect(const link::FrameHeader& header, std::span<const std::byte> head);

  const Model& model_;
  Clock& clock_;
  const Resource resource_;
  const SlowDown slow_down_;
  uint64_t inference_ = 0;
  std::shared_ptr<Inbox> inbox_;
  std::shared_ptr<Recorder> recorder_;
  RowsMessage expected_;
  graph::TensorType type_;
  TimePoint began_;
  std::vector<std::byte> bytes_;  // of the tensor that is arriving
  exec::TensorPtr arrived_;
};

}  // namespace wharf::split
