#include "wharf/cli/pipeline/example_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <map>

#include "wharf/pipeline/cluster.h"

namespace wharf::cli {
namespace {

constexpr size_t kExampleModels = 2;
constexpr int kFewGpus = 4, kManyGpus = 12;

struct MeasuredClass {
  std::string name;
  int max_vgpus = 1;
  double mean_us = 0;  // one request of a model, whole, over the models measured on it
};

// The fastest first.
std::vector<MeasuredClass> ClassesOf(std::span<const pipeline::ModelProfile> profiles) {
  struct Sum {
    double us = 0;
    int models = 0, max_vgpus = 1;
  };
  std::map<std::string, Sum> sums;
  for (const pipeline::ModelProfile& profile : profiles) {
    for (const pipeline::VgpuProfile& one : profile.vgpus) {
      if (one.MaxBatch() == 0) continue;
      Sum& sum = sums[one.gpu_class];
      sum.max_vgpus = std::max(sum.max_vgpus, one.vgpus_per_gpu);
      if (one.vgpus_per_gpu > 1) continue;
      sum.us += one.LatencyUs(1, 0, profile.Blocks());
      ++sum.models;
    }
  }
  std::vector<MeasuredClass> classes;
  for (const auto& [name, sum] : sums) {
    if (sum.models > 0) classes.push_back({name, sum.max_vgpus, sum.us / sum.models});
  }
  std::ranges::stable_sort(classes, {}, &MeasuredClass::mean_us);
  return classes;
}

// A name as a YAML scalar.
std::string Scalar(const std::string& text) {
  const auto plain = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-'; };
  if (!text.empty() && std::isalpha(static_cast<unsigned char>(text[0])) && std::ranges::all_of(text, plain)) {
    return text;
  }
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("''") : std::string(1, c);
  return quoted + "'";
}

std::string ClusterFile(const std::vector<MeasuredClass>& classes) {
  std::vector<std::string> names;
  for (const MeasuredClass& one : classes) names.push_back(one.name);
  const MeasuredClass &fast = classes.front(), &slow = classes.back();
  std::string text =
      fmt::format(R"(# The machines that are planned for:
#   wharf pipeline plan --cluster cluster.yaml --models models.yaml

name: example            # in tables and plans; "cluster" if left out
link_gbit_per_s: 10      # each host's link, in each direction, shared by its GPUs; of hosts that do not say

# Kinds of GPU, the fastest first, called as the profiles call them. Measured: {}.
classes:
  - name: {}
    vgpus: {}             # equal parts that one GPU may be divided into, 1 to 4, as far as measured; 1 if left out
    cost: 2.5            # of one GPU, in any unit: what --objective cost adds up; 1 if left out
)",
                  fmt::join(names, ", "), Scalar(fast.name), std::min(fast.max_vgpus, pipeline::kMaxVgpus));
  if (classes.size() > 1) text += fmt::format("  - name: {}\n", Scalar(slow.name));
  text += fmt::format(R"(
# An entry for hosts that are alike.
hosts:
  - class: {}
    hosts: {}             # how many; 1 if left out
    gpus: 1              # in each of them; 1 if left out
)",
                      Scalar(fast.name), kFewGpus);
  if (classes.size() > 1) {
    text += fmt::format("  - class: {}\n    hosts: {}\n    link_gbit_per_s: 6   # of these\n", Scalar(slow.name),
                        kManyGpus);
  }
  return text;
}

std::string ModelsFile(std::span<const pipeline::ModelProfile> profiles, const std::string& folder) {
  std::string text = fmt::format(R"(# What is served, how fast, and how much of each.

# block_latency.csv and block_output_bytes.csv, as `wharf pipeline profile` writes them; from where this file is.
profiles: {}
slo_scale: 5             # of models without slo_ms: the SLO is so many times one request, uncut, on the fastest GPU
                         # measured; 5 if left out
margin: 0.4              # share of the SLO that planning leaves for waiting, from 0 to below 1; 0.4 if left out

models:
)",
                                 Scalar(folder));
  for (size_t i = 0; i < std::min(kExampleModels, profiles.size()); ++i) {
    text += fmt::format("  - name: {}\n", Scalar(profiles[i].model));
    text += i > 0 ? "    weight: 2\n"
                  : "    weight: 1            # share of the load, or requests/s with --objective cost; 1 if left out\n"
                    "    # slo_ms: 80         # in place of slo_scale\n"
                    "    # expected_rate: 500 # requests/s that fill its batches; if left out, what is planned "
                    "without cutting\n";
  }
  if (profiles.size() > kExampleModels) text += "\n# Measured as well:\n";
  for (size_t i = kExampleModels; i < profiles.size(); ++i) {
    text += fmt::format("#  - name: {}\n", Scalar(profiles[i].model));
  }
  return text;
}

}  // namespace

absl::StatusOr<ExampleFiles> MakeExampleFiles(std::span<const pipeline::ModelProfile> profiles,
                                              const std::string& folder) {
  if (profiles.empty()) return InvalidArgument("no model was measured");
  const std::vector<MeasuredClass> classes = ClassesOf(profiles.first(std::min(kExampleModels, profiles.size())));
  if (classes.empty()) return InvalidArgument("{} was measured on no whole GPU", profiles.front().model);
  return ExampleFiles{ClusterFile(classes), ModelsFile(profiles, folder)};
}

}  // namespace wharf::cli
