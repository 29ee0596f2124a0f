// Carries out one side's steps of a plan (Intra-DP, algorithms 1 and 2). Computing happens on the calling thread; rows
// come and go on threads of others, so that all three overlap.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "wharf/base/clock.h"
#include "wharf/split/execution/inbox.h"
#include "wharf/split/execution/row_store.h"
#include "wharf/split/timeline.h"

namespace wharf::split {

// What really took time, to be compared with what was planned. Thread-safe.
class Recorder {
 public:
  // Times are since now. `clock` must outlive it.
  explicit Recorder(Clock& clock) : clock_(clock), start_(clock.Now()) {}

  TimePoint Now() const { return clock_.Now(); }
  TimePoint Start() const { return start_; }
  void Add(Resource resource, int op, RowRange rows, TimePoint start, TimePoint end, double bytes);
  std::vector<Event> Events() const;

  // What messages of a value's rows became when they were encoded, in bytes, in both directions.
  struct Coded {
    int64_t plain = 0, coded = 0;
  };
  void AddCoded(int value, int64_t plain, int64_t coded);
  std::map<int, Coded> CodedSoFar() const;

 private:
  Clock& clock_;
  const TimePoint start_;
  mutable absl::Mutex mutex_;
  std::vector<Event> events_ ABSL_GUARDED_BY(mutex_);
  std::map<int, Coded> coded_ ABSL_GUARDED_BY(mutex_);  // by value
};

// Where rows go that the other side needs.
class Outbox {
 public:
  virtual ~Outbox() = default;
  // Never waits for the link. The part's rows are the message's.
  virtual void Send(const RowsMessage& message, exec::Part part) = 0;
};

struct SideRun {
  const exec::Program& program;
  const SideSteps& steps;
  Side side;
  Inbox& inbox;
  Outbox& outbox;
  Recorder& recorder;
  std::optional<Nanoseconds> patience;  // for all waiting for rows together; computing takes what it takes
};
// `store`: by value; on the device the model's input. Holds what is left at the end, or when it fails: as
// Program::Run, or why rows did not come (Inbox::Take).
absl::Status RunSteps(const SideRun& run, RowStore& store);

// The graph's outputs from whatever is held, computing what is missing; nothing is computed again that can be read.
// REQUIRES: the graph's inputs are held whole. Fails as Program::Run does. `computed`, unless it is null, becomes how
// many rows of each value that was.
absl::StatusOr<std::vector<exec::TensorPtr>> Finish(const exec::Program& program, RowStore store,
                                                    std::vector<int>* computed = nullptr);

}  // namespace wharf::split
