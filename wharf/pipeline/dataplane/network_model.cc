#include "wharf/pipeline/dataplane/network_model.h"

#include <algorithm>
#include <cmath>

#include "wharf/pipeline/dataplane/scheduler.h"

namespace wharf::pipeline {

NetworkModel::NetworkModel(const Deployment& deployment)
    : deployment_(deployment), links_(2 * deployment.hosts.size()) {}

double NetworkModel::Share(int link) const {
  const size_t host = static_cast<size_t>(link) % deployment_.hosts.size();
  return deployment_.hosts[host].link_bits_per_s / 8e9 / static_cast<double>(links_[link].size());
}

// The link's flows have changed in number.
void NetworkModel::Reshare(int link, TimePoint now) {
  for (const int index : links_[link]) {
    Flow& flow = flows_[index];
    const double bytes_per_ns = std::min(Share(flow.up), Share(flow.down));
    if (bytes_per_ns == flow.bytes_per_ns) continue;
    flow.bytes = std::max(0.0, flow.bytes - flow.bytes_per_ns * static_cast<double>((now - flow.since).count()));
    flow.since = now;
    flow.bytes_per_ns = bytes_per_ns;
    flow.version = ++version_;
    const auto left = static_cast<int64_t>(std::ceil(flow.bytes / bytes_per_ns));
    ends_.push({now + Nanoseconds(std::max<int64_t>(1, left)), flow.version, index});
  }
}

void NetworkModel::Start(uint64_t id, int from_host, int to_host, double bytes, TimePoint now) {
  if (free_.empty()) {
    free_.push_back(static_cast<int>(flows_.size()));
    flows_.emplace_back();
  }
  const int index = free_.back();
  free_.pop_back();
  const int down = to_host + static_cast<int>(deployment_.hosts.size());
  flows_[index] = {id, 0, from_host, down, bytes, 0, now, now};
  links_[from_host].push_back(index);
  links_[down].push_back(index);
  Reshare(from_host, now);
  Reshare(down, now);
}

TimePoint NetworkModel::NextEnd() {
  while (!ends_.empty() && flows_[ends_.top().flow].version != ends_.top().version) ends_.pop();
  return ends_.empty() ? kNever : ends_.top().at;
}

NetworkModel::Transfer NetworkModel::TakeNext() {
  const TimePoint end = NextEnd();
  const int index = ends_.top().flow;
  ends_.pop();
  Flow& flow = flows_[index];
  const Transfer done{flow.id, flow.start, end};
  flow.version = 0;
  free_.push_back(index);
  for (const int link : {flow.up, flow.down}) {
    std::vector<int>& flows = links_[link];
    flows.erase(std::find(flows.begin(), flows.end(), index));
    Reshare(link, end);
  }
  return done;
}

}  // namespace wharf::pipeline
