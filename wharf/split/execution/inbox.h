// Inbox: the rows that one side expects in the course of one inference, from the thread that reads them off the link to
// the one that computes.
#pragma once

#include <optional>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "wharf/base/clock.h"
#include "wharf/exec/engine.h"
#include "wharf/split/execution/steps.h"

namespace wharf::split {

// Thread-safe.
class Inbox {
 public:
  // `expected`: in the order in which they will come. `clock` must outlive it.
  Inbox(std::vector<RowsMessage> expected, Clock& clock) : clock_(clock), expected_(std::move(expected)) {}

  // What comes next. kFailedPrecondition: everything has come.
  absl::StatusOr<RowsMessage> Next() const;
  // The next one has come. REQUIRES: Next().ok() and the tensor is of its type.
  void Put(exec::TensorPtr tensor);
  // Nothing more will come: whoever waits, now or later, gets `why`. The first reason stays.
  void Close(const absl::Status& why);
  // Waits until all of these are there, and gives them away. kDeadlineExceeded; or why nothing more comes.
  absl::StatusOr<std::vector<exec::Part>> Take(const std::vector<RowsMessage>& messages,
                                               std::optional<TimePoint> deadline);

 private:
  bool AllThere(const std::vector<RowsMessage>& messages) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool Await(const std::vector<RowsMessage>& messages, std::optional<TimePoint> deadline)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Clock& clock_;
  const std::vector<RowsMessage> expected_;
  mutable absl::Mutex mutex_;
  std::vector<exec::TensorPtr> arrived_ ABSL_GUARDED_BY(mutex_);  // of the first expected; null when taken
  absl::Status closed_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace wharf::split
