// What a command is doing, for people who wait.
#pragma once

#include <string>
#include <thread>

#include "absl/synchronization/mutex.h"
#include "wharf/base/clock.h"

namespace wharf::cli {

// Says on standard error what takes longer than a second: on a terminal with a bar, in one line that is overwritten and
// gone at the end; else a line when it takes so long, and then one every ten seconds. Thread-safe.
class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine();
  // From now on this is what goes on; `share` of it is done, if that is not less than 0.
  void Set(const std::string& what, double share);
  // Nothing that takes long goes on.
  void Clear() { Set("", -1); }

 private:
  void Loop();
  void Show() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const bool terminal_;
  absl::Mutex mutex_;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  bool shown_ ABSL_GUARDED_BY(mutex_) = false;  // on the terminal's line
  std::string what_ ABSL_GUARDED_BY(mutex_);
  double share_ ABSL_GUARDED_BY(mutex_) = -1;
  TimePoint begun_ ABSL_GUARDED_BY(mutex_), last_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace wharf::cli
