#include "wharf/base/log_limit.h"

#include <utility>

namespace wharf {

LogLimit::Verdict LogLimit::Ask(std::string_view event, TimePoint now) {
  std::lock_guard lock(mutex_);
  auto found = events_.find(event);
  if (found == events_.end()) found = events_.emplace(std::string(event), Event{now}).first;
  Event& one = found->second;
  if (now - one.since >= std::chrono::seconds(1)) {
    one.since = now;
    one.lines = 0;
  }
  if (one.lines >= kLinesPerSecond) {
    ++one.left_out;
    return {};
  }
  ++one.lines;
  return {true, std::exchange(one.left_out, 0)};
}

}  // namespace wharf
