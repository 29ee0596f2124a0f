// WaitingList: connections that have said nothing yet: how many there may be, and which of them goes when there are
// more or when it has waited too long. It holds numbers of descriptors and does nothing to them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "wharf/base/clock.h"

namespace wharf::server {

struct WaitingLimits {
  size_t in_all = 4096;
  size_t per_address = 512;
  Nanoseconds time = std::chrono::seconds(10);  // that one may wait
};

// Half of the descriptors that the process may have, of which it takes as many as it can get (RLIMIT_NOFILE's soft
// limit becomes the hard one), but no more than anybody needs: the others are for those who were let in.
WaitingLimits WaitingLimitsOfProcess(Nanoseconds time);

// Not thread-safe.
class WaitingList {
 public:
  explicit WaitingList(const WaitingLimits& limits) : limits_(limits) {}

  struct Place {
    int socket = -1;
    std::string address;  // "": this machine's own, which has no limit of its own
    TimePoint until;
  };
  struct Entered {
    uint64_t number = 0;  // of the place; never used again
    std::vector<int> left_out;
  };
  // At a limit the oldest one makes room: of the address, or of all. `now` never goes back.
  Entered Enter(int socket, const std::string& address, TimePoint now);
  // Nothing: it is not there any more.
  std::optional<Place> Leave(uint64_t number);
  // Those that have waited for too long.
  std::vector<int> TakeLate(TimePoint now);
  std::vector<int> TakeAll();
  // When the next one will have waited for too long.
  std::optional<TimePoint> NextDeadline() const;
  size_t Size() const { return places_.size(); }

 private:
  const WaitingLimits limits_;
  uint64_t last_number_ = 0;
  std::map<uint64_t, Place> places_;                      // the oldest first
  std::map<std::string, std::set<uint64_t>> of_address_;  // the same; none is not there
};

}  // namespace wharf::server
