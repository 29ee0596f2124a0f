// Cluster: which GPUs there are to plan on, in which hosts, behind which links. Read from YAML, or one of the thesis's
// eight (ch. 4, Table 4.1).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "wharf/base/status.h"

namespace wharf::pipeline {

inline constexpr int kMaxVgpus = 4;      // virtual GPUs of one GPU: 1/1 to 1/4 (thesis 4.5.4)
inline constexpr int kUnitsPerGpu = 12;  // each of them is a whole number of these

struct GpuClass {
  std::string name;   // as profiles call it: "L4"
  int max_vgpus = 1;  // one GPU may be divided into 1 … max_vgpus equal virtual GPUs; at most kMaxVgpus
  double cost = 1;    // of one GPU, in any unit: what the objective of least cost adds up
  friend bool operator==(const GpuClass&, const GpuClass&) = default;
};

// Hosts that are alike.
struct HostGroup {
  int gpu_class = 0;  // index into Cluster::classes
  int hosts = 1;
  int gpus_per_host = 1;
  double link_bits_per_s = 0;  // of each host's link, each direction; all of the host's GPUs share it
  friend bool operator==(const HostGroup&, const HostGroup&) = default;
};

struct Cluster {
  std::string name;
  std::vector<GpuClass> classes;  // the fastest first
  std::vector<HostGroup> hosts;

  // Physical GPUs of a class.
  int Gpus(int gpu_class) const;
  // Of the slowest link among the class's hosts. REQUIRES: the class has a host, as Check sees to.
  double LinkBitsPerS(int gpu_class) const;
  // What a whole GPU of the class has of its host's link at least, if the host's GPUs share it evenly.
  double LinkShareBitsPerS(int gpu_class) const;
  // Of `bytes` from a host of class `from` to one of class `to`, alone on both links.
  double TransferUs(int from, int to, double bytes) const;
  // -1 if there is none.
  int FindClass(std::string_view class_name) const;

  friend bool operator==(const Cluster&, const Cluster&) = default;
};

// Hosts for `gpus` GPUs: full ones, and one for the rest. REQUIRES: gpus_per_host > 0.
void AddGpus(Cluster& cluster, int gpu_class, int gpus, int gpus_per_host, double link_bits_per_s);

// kInvalidArgument, one line: no class, a class without hosts or named twice, or a number out of range.
absl::Status Check(const Cluster& cluster);

//   name: lab
//   link_gbit_per_s: 10                       # of hosts that do not say
//   classes:
//     - {name: V100, vgpus: 4, cost: 2.5}     # vgpus and cost: 1 if not said
//     - {name: P4}
//   hosts:
//     - {class: V100, hosts: 2, gpus: 2}      # hosts and gpus: 1 if not said
//     - {class: P4, hosts: 12, link_gbit_per_s: 6}
// docs/pipeline.md has every key. kInvalidArgument: no such YAML (a key it does not know included), or Check fails.
absl::StatusOr<Cluster> ParseCluster(std::string_view yaml);

// "hc1-large" … "hc4-large" (25 fast and 75 slow GPUs), "hc1-small" … "hc4-small" (4 and 12). kNotFound names them all.
absl::StatusOr<Cluster> BuiltInCluster(std::string_view name);
std::vector<std::string> BuiltInClusterNames();

}  // namespace wharf::pipeline
