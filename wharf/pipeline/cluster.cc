#include "wharf/pipeline/cluster.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "wharf/pipeline/yaml_map.h"

namespace wharf::pipeline {
namespace {

constexpr int kMaxClasses = 16, kMaxGroups = 1024, kMaxHosts = 1 << 16, kMaxGpusPerHost = 64;
constexpr double kMaxLink = 1e13, kMaxCost = 1e9, kBitsPerByte = 8;

struct BuiltIn {
  const char* name;
  const char *fast, *slow;
  int fast_per_host, slow_per_host;
  double link_gbit_per_s;  // a fifth of what the cloud claims (thesis 4.7.1)
};

// The rates are those of the published plans: 6 Gbit/s with P4, 10 with T4.
constexpr BuiltIn kBuiltIns[] = {{"hc1", "L4", "P4", 1, 1, 6},
                                 {"hc2", "L4", "T4", 4, 2, 10},
                                 {"hc3", "V100", "P4", 2, 1, 6},
                                 {"hc4", "V100", "T4", 4, 2, 10}};

// Before Volta, GPUs do not give the clients of their multi-process service fixed shares; profiles have P4 whole only.
int MaxVgpus(std::string_view gpu) { return gpu == "P4" ? 1 : kMaxVgpus; }

Cluster Make(const BuiltIn& built_in, std::string_view name, int fast_gpus, int slow_gpus) {
  Cluster cluster;
  cluster.name = name;
  cluster.classes = {{built_in.fast, MaxVgpus(built_in.fast)}, {built_in.slow, MaxVgpus(built_in.slow)}};
  AddGpus(cluster, 0, fast_gpus, built_in.fast_per_host, built_in.link_gbit_per_s * 1e9);
  AddGpus(cluster, 1, slow_gpus, built_in.slow_per_host, built_in.link_gbit_per_s * 1e9);
  return cluster;
}

absl::StatusOr<GpuClass> ReadClass(const YamlMap& map) {
  WHARF_RETURN_IF_ERROR(map.Only({"name", "vgpus", "cost"}));
  GpuClass one;
  WHARF_ASSIGN_OR_RETURN(one.name, map.Text("name"));
  WHARF_ASSIGN_OR_RETURN(one.max_vgpus, map.Count("vgpus", 1));
  WHARF_ASSIGN_OR_RETURN(one.cost, map.Number("cost", 1.0));
  return one;
}

absl::StatusOr<HostGroup> ReadHosts(const YamlMap& map, const Cluster& cluster, double default_gbit) {
  WHARF_RETURN_IF_ERROR(map.Only({"class", "hosts", "gpus", "link_gbit_per_s"}));
  HostGroup group;
  WHARF_ASSIGN_OR_RETURN(const std::string name, map.Text("class"));
  group.gpu_class = cluster.FindClass(name);
  if (group.gpu_class < 0) return InvalidArgument("{}: there is no class \"{}\"", map.Where(), name);
  WHARF_ASSIGN_OR_RETURN(group.hosts, map.Count("hosts", 1));
  WHARF_ASSIGN_OR_RETURN(group.gpus_per_host, map.Count("gpus", 1));
  WHARF_ASSIGN_OR_RETURN(const double gbit, map.Number("link_gbit_per_s", default_gbit));
  group.link_bits_per_s = gbit * 1e9;
  return group;
}

absl::StatusOr<Cluster> ReadCluster(const YamlMap& map) {
  WHARF_RETURN_IF_ERROR(map.Only({"name", "link_gbit_per_s", "classes", "hosts"}));
  Cluster cluster;
  WHARF_ASSIGN_OR_RETURN(cluster.name, map.Text("name", "cluster"));
  WHARF_ASSIGN_OR_RETURN(const double gbit, map.Number("link_gbit_per_s", 0.0));
  WHARF_ASSIGN_OR_RETURN(const std::vector<YamlMap> classes, map.Maps("classes"));
  for (const YamlMap& one : classes) {
    WHARF_ASSIGN_OR_RETURN(GpuClass read, ReadClass(one));
    cluster.classes.push_back(std::move(read));
  }
  WHARF_ASSIGN_OR_RETURN(const std::vector<YamlMap> hosts, map.Maps("hosts"));
  for (const YamlMap& one : hosts) {
    WHARF_ASSIGN_OR_RETURN(const HostGroup read, ReadHosts(one, cluster, gbit));
    cluster.hosts.push_back(read);
  }
  WHARF_RETURN_IF_ERROR(Check(cluster));
  return cluster;
}

bool InRange(double value, double most) { return value > 0 && value <= most; }  // false of NaN

absl::Status CheckClass(const Cluster& cluster, int index) {
  const GpuClass& one = cluster.classes[index];
  if (one.name.empty()) return InvalidArgument("a GPU class has no name");
  if (cluster.FindClass(one.name) != index) return InvalidArgument("GPU class {} is there twice", one.name);
  if (one.max_vgpus < 1 || one.max_vgpus > kMaxVgpus) {
    return InvalidArgument("vgpus of {} is {}, not 1 to {}", one.name, one.max_vgpus, kMaxVgpus);
  }
  if (!InRange(one.cost, kMaxCost)) return InvalidArgument("cost of {} is {}, not above 0", one.name, one.cost);
  if (cluster.Gpus(index) == 0) return InvalidArgument("no host has GPUs of class {}", one.name);
  return absl::OkStatus();
}

absl::Status CheckHosts(const Cluster& cluster, const HostGroup& group) {
  if (group.gpu_class < 0 || group.gpu_class >= static_cast<int>(cluster.classes.size())) {
    return InvalidArgument("hosts of a GPU class that is not there");
  }
  const std::string& name = cluster.classes[group.gpu_class].name;
  if (group.hosts < 1 || group.hosts > kMaxHosts) {
    return InvalidArgument("{} hosts of {}, not 1 to {}", group.hosts, name, kMaxHosts);
  }
  if (group.gpus_per_host < 1 || group.gpus_per_host > kMaxGpusPerHost) {
    return InvalidArgument("{} GPUs in a host of {}, not 1 to {}", group.gpus_per_host, name, kMaxGpusPerHost);
  }
  if (!InRange(group.link_bits_per_s, kMaxLink)) {
    return InvalidArgument("link_gbit_per_s of the hosts of {} is {:g}, not above 0 and at most {:g}", name,
                           group.link_bits_per_s / 1e9, kMaxLink / 1e9);
  }
  return absl::OkStatus();
}

template <typename Value>
double Least(const Cluster& cluster, int gpu_class, Value value) {
  double least = std::numeric_limits<double>::infinity();
  for (const HostGroup& group : cluster.hosts) {
    if (group.gpu_class == gpu_class) least = std::min(least, value(group));
  }
  return least;
}

}  // namespace

void AddGpus(Cluster& cluster, int gpu_class, int gpus, int gpus_per_host, double link_bits_per_s) {
  const int full = gpus / gpus_per_host, rest = gpus % gpus_per_host;
  if (full > 0) cluster.hosts.push_back({gpu_class, full, gpus_per_host, link_bits_per_s});
  if (rest > 0) cluster.hosts.push_back({gpu_class, 1, rest, link_bits_per_s});
}

int Cluster::Gpus(int gpu_class) const {
  int gpus = 0;
  for (const HostGroup& group : hosts) gpus += group.gpu_class == gpu_class ? group.hosts * group.gpus_per_host : 0;
  return gpus;
}

double Cluster::LinkBitsPerS(int gpu_class) const {
  return Least(*this, gpu_class, [](const HostGroup& group) { return group.link_bits_per_s; });
}

double Cluster::LinkShareBitsPerS(int gpu_class) const {
  return Least(*this, gpu_class, [](const HostGroup& group) { return group.link_bits_per_s / group.gpus_per_host; });
}

double Cluster::TransferUs(int from, int to, double bytes) const {
  return bytes * kBitsPerByte * 1e6 / std::min(LinkBitsPerS(from), LinkBitsPerS(to));
}

int Cluster::FindClass(std::string_view class_name) const {
  const auto found = std::ranges::find(classes, class_name, &GpuClass::name);
  return found == classes.end() ? -1 : static_cast<int>(found - classes.begin());
}

absl::Status Check(const Cluster& cluster) {
  if (cluster.classes.empty() || cluster.classes.size() > kMaxClasses) {
    return InvalidArgument("{} GPU classes, not 1 to {}", cluster.classes.size(), kMaxClasses);
  }
  if (cluster.hosts.size() > kMaxGroups) return InvalidArgument("more than {} groups of hosts", kMaxGroups);
  for (const HostGroup& group : cluster.hosts) WHARF_RETURN_IF_ERROR(CheckHosts(cluster, group));
  for (size_t i = 0; i < cluster.classes.size(); ++i) WHARF_RETURN_IF_ERROR(CheckClass(cluster, static_cast<int>(i)));
  return absl::OkStatus();
}

absl::StatusOr<Cluster> ParseCluster(std::string_view yaml) {
  WHARF_ASSIGN_OR_RETURN(const YamlMap map, YamlMap::Parse(yaml, "the cluster"));
  return ReadCluster(map);
}

absl::StatusOr<Cluster> BuiltInCluster(std::string_view name) {
  for (const BuiltIn& built_in : kBuiltIns) {
    if (name == fmt::format("{}-large", built_in.name)) return Make(built_in, name, 25, 75);
    if (name == fmt::format("{}-small", built_in.name)) return Make(built_in, name, 4, 12);
  }
  return NotFound("there is no built-in cluster \"{}\"; there are: {}", name, fmt::join(BuiltInClusterNames(), ", "));
}

std::vector<std::string> BuiltInClusterNames() {
  std::vector<std::string> names;
  for (const char* size : {"large", "small"}) {
    for (const BuiltIn& built_in : kBuiltIns) names.push_back(fmt::format("{}-{}", built_in.name, size));
  }
  return names;
}

}  // namespace wharf::pipeline
