// NetworkModel: transfers that share their hosts' links. Each has, at any time, the smaller of its even shares of the
// sender's uplink and of the receiver's downlink; what one end cannot use is not given to others.
#pragma once

#include <cstdint>
#include <queue>
#include <vector>

#include "wharf/pipeline/dataplane/deployment.h"

namespace wharf::pipeline {

class NetworkModel {
 public:
  struct Transfer {
    uint64_t id = 0;
    TimePoint start, end;
  };

  // `deployment` must outlive it.
  explicit NetworkModel(const Deployment& deployment);
  // Alone on both links it takes deployment.TransferTime. REQUIRES: two hosts, bytes > 0, `now` not before any other
  // call's.
  void Start(uint64_t id, int from_host, int to_host, double bytes, TimePoint now);
  // Of the transfer that ends next if none is started before; kNever if there is none.
  TimePoint NextEnd();
  // REQUIRES: NextEnd() is a time.
  Transfer TakeNext();

 private:
  struct Flow {
    uint64_t id = 0, version = 0;  // 0: free; each change of its end is a new version
    int up = 0, down = 0;
    double bytes = 0, bytes_per_ns = 0;  // left at `since`, and how fast they go from then on
    TimePoint start, since;
  };
  struct End {
    TimePoint at;
    uint64_t version;
    int flow;
    bool operator>(const End& other) const { return at != other.at ? at > other.at : version > other.version; }
  };

  void Reshare(int link, TimePoint now);
  double Share(int link) const;

  const Deployment& deployment_;
  std::vector<std::vector<int>> links_;  // flows on each uplink, then on each downlink
  std::vector<Flow> flows_;
  std::vector<int> free_;
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;  // some are of old versions
  uint64_t version_ = 0;
};

}  // namespace wharf::pipeline
