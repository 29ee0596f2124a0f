// What the planner's tests are written in: small clusters and models, fixed or arbitrary, and the best plan by trying
// all.
#pragma once

#include <rapidcheck.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "wharf/pipeline/planner/planner.h"

namespace wharf::pipeline {

// One host a GPU, links of 8 Gbit/s: 1000 bytes take 1 µs.
inline Cluster MakeCluster(std::vector<GpuClass> classes, const std::vector<int>& gpus, double link_bits_per_s = 8e9) {
  Cluster cluster{"test", std::move(classes), {}};
  for (size_t i = 0; i < gpus.size(); ++i) cluster.hosts.push_back({static_cast<int>(i), gpus[i], 1, link_bits_per_s});
  return cluster;
}

// Measured whole at batch size 1 only: latency_us[class][block].
inline ModelProfile MakeProfile(const Cluster& cluster, const std::vector<std::vector<double>>& latency_us,
                                std::vector<int64_t> output_bytes) {
  ModelProfile profile{"net", std::move(output_bytes), {}};
  for (size_t i = 0; i < latency_us.size(); ++i) profile.vgpus.push_back({cluster.classes[i].name, 1, {latency_us[i]}});
  return profile;
}

// One or two classes, at most `most_gpus` GPUs in all.
inline Cluster ArbitraryCluster(int most_gpus) {
  const int classes = *rc::gen::inRange(1, 3);
  std::vector<GpuClass> list;
  std::vector<int> gpus;
  for (int i = 0; i < classes; ++i) {
    list.push_back({std::string(1, static_cast<char>('A' + i)), *rc::gen::inRange(1, kMaxVgpus + 1),
                    static_cast<double>(*rc::gen::inRange(1, 5))});
    gpus.push_back(*rc::gen::inRange(1, most_gpus / classes + 1));
  }
  return MakeCluster(std::move(list), gpus, *rc::gen::element(8e8, 8e9, 8e10));
}

// Two or three blocks, which save something if they are joined, batch sizes 1 and 2, all kinds of virtual GPUs of the
// cluster.
inline ModelProfile ArbitraryProfile(const Cluster& cluster, std::string name) {
  ModelProfile profile{std::move(name), {}, {}};
  const int blocks = *rc::gen::inRange(2, 4);
  for (int i = 0; i < blocks; ++i) profile.output_bytes.push_back(i + 1 == blocks ? 0 : *rc::gen::inRange(0, 200'000));
  for (const GpuClass& one : cluster.classes) {
    for (int vgpus = 1; vgpus <= one.max_vgpus; ++vgpus) {
      std::vector<double> single, two;
      for (int i = 0; i < blocks; ++i) {
        single.push_back(*rc::gen::inRange(50, 1000) * (0.5 + 0.5 * vgpus));
        two.push_back(single.back() * *rc::gen::inRange(11, 20) / 10);
      }
      std::vector<double> saved;
      for (int i = 0; i + 1 < blocks; ++i) {
        saved.push_back(std::min(single[i], single[i + 1]) * *rc::gen::inRange(0, 5) / 10);
      }
      saved.push_back(0);
      profile.vgpus.push_back({one.name, vgpus, {single, two}, {saved, saved}});
    }
  }
  return profile;
}

inline Demand ArbitraryDemand(const ModelProfile& profile) {
  const double slo_us = *rc::gen::inRange(1000, 8000);
  return {&profile, slo_us, slo_us * 0.2, static_cast<double>(*rc::gen::inRange(1, 4)),
          static_cast<double>(*rc::gen::element(0, 2000))};
}

// The best a plan can do, by trying every pipeline on every number of GPUs, or of virtual ones if they are shared, and
// adding up all that fit. For at most 4 or so GPUs.
class BruteForce {
 public:
  BruteForce(const Cluster& cluster, const std::vector<Demand>& demands, const CandidateRules& rules)
      : cluster_(cluster), demands_(demands), rules_(rules), units_(rules.share_gpus ? kUnitsPerGpu : 1) {
    for (size_t i = 0; i < cluster.classes.size(); ++i) gpus_.push_back(cluster.Gpus(static_cast<int>(i)));
    for (const Demand& demand : demands) best_.push_back(BestOf(demand));
  }

  double Throughput() const {
    double best = 0;
    Divide(0, gpus_, 1e300, [&](const std::vector<int>&, double least) { best = std::max(best, least); });
    return best;
  }
  // Infinity if the rates cannot be had.
  double Cost() const {
    double best = std::numeric_limits<double>::infinity();
    Divide(0, gpus_, 1e300, [&](const std::vector<int>& left, double least) {
      if (least < 1 - 1e-9) return;
      double cost = 0;
      for (size_t i = 0; i < left.size(); ++i) cost += (gpus_[i] - left[i]) * cluster_.classes[i].cost;
      best = std::min(best, cost);
    });
    return best;
  }

 private:
  struct Way {  // a pipeline with numbers of units
    std::vector<int> used;
    double rate;
  };

  // Requests/s by at most the GPUs given.
  std::map<std::vector<int>, double> BestOf(const Demand& demand) const {
    std::vector<Way> ways;
    for (int batch = 1; batch <= 2; ++batch) {
      const double building_us = *demand.expected_rate > 0 ? 1.3e6 * (batch - 1) / *demand.expected_rate : 0;
      AddWays(demand, batch, 0, demand.slo_us - demand.margin_us - building_us, 0, 1e300,
              std::vector<int>(gpus_.size()), 0, ways);
    }
    std::map<std::vector<int>, double> by_units, by_gpus;
    ForEachUpTo(gpus_, units_, [&](const std::vector<int>& units) {
      double best = 0;
      for (const Way& way : ways) {
        std::vector<int> rest = units;
        bool fits = true;
        for (size_t k = 0; k < rest.size(); ++k) {
          rest[k] -= way.used[k];
          fits = fits && rest[k] >= 0;
        }
        if (fits) best = std::max(best, by_units.at(rest) + way.rate);
      }
      by_units[units] = best;
    });
    ForEachUpTo(gpus_, 1, [&](std::vector<int> gpus) {
      std::vector<int> units = gpus;
      for (int& one : units) one *= units_;
      by_gpus[std::move(gpus)] = by_units.at(units);
    });
    return by_gpus;
  }

  // From nothing to all of `most` times `units`, none before what it has no fewer of.
  static void ForEachUpTo(const std::vector<int>& most, int units,
                          const std::function<void(const std::vector<int>&)>& visit) {
    std::vector<int> counts(most.size());
    while (true) {
      visit(counts);
      size_t next = 0;
      while (next < counts.size() && counts[next] == most[next] * units) counts[next++] = 0;
      if (next == counts.size()) return;
      ++counts[next];
    }
  }

  // `batch`: of every stage, or the most a stage has; `sent`: the batch of the stage before, 0 if there is none.
  void AddWays(const Demand& demand, int batch, int first, double left_us, int sent, double rate,
               const std::vector<int>& used, int stages, std::vector<Way>& ways) const {
    const ModelProfile& profile = *demand.profile;
    if (first == profile.Blocks()) {
      ways.push_back({used, rate});
      return;
    }
    if (stages == rules_.max_partitions) return;
    for (const VgpuProfile& kind : profile.vgpus) {
      if (!rules_.divide_gpus && kind.vgpus_per_gpu > 1) continue;
      for (int own = rules_.unify_batches ? batch : 1; own <= batch; ++own) {
        AddStage(demand, kind, batch, own, first, left_us, sent, rate, used, stages, ways);
      }
    }
  }

  void AddStage(const Demand& demand, const VgpuProfile& kind, int batch, int own, int first, double left_us, int sent,
                double rate, const std::vector<int>& used, int stages, std::vector<Way>& ways) const {
    const ModelProfile& profile = *demand.profile;
    const int gpu_class = cluster_.FindClass(kind.gpu_class);
    for (int end = first + 1; end <= profile.Blocks(); ++end) {
      double us = 0, bytes = 0;
      for (int block = first; block < end; ++block) us += kind.latency_us[own - 1][block];
      for (int block = first; block + 1 < end && !kind.saved_us.empty(); ++block) us -= kind.saved_us[own - 1][block];
      double vgpu_rate = own * 1e6 / us;
      for (const int cut : {first, end}) {
        if (cut == 0 || cut == profile.Blocks()) continue;
        bytes = static_cast<double>(profile.output_bytes[cut - 1]);
        const double link = cluster_.hosts[gpu_class].link_bits_per_s / kind.vgpus_per_gpu;
        if (bytes > 0) vgpu_rate = std::min(vgpu_rate, link / (8 * bytes));
      }
      if (sent > 0) {
        us += static_cast<double>(profile.output_bytes[first - 1]) * sent * 8e6 / cluster_.hosts[0].link_bits_per_s;
      }
      if (us > left_us) continue;
      // What is given at once: a virtual GPU, or a GPU of them.
      const int vgpus = units_ == 1 ? kind.vgpus_per_gpu : 1, units = units_ == 1 ? 1 : units_ / kind.vgpus_per_gpu;
      for (int count = 1; used[gpu_class] + count * units <= gpus_[gpu_class] * units_; ++count) {
        std::vector<int> more = used;
        more[gpu_class] += count * units;
        AddWays(demand, batch, end, left_us - us, own, std::min(rate, vgpu_rate * vgpus * count), more, stages + 1,
                ways);
      }
    }
  }

  void Divide(size_t model, const std::vector<int>& left, double least,
              const std::function<void(const std::vector<int>&, double)>& visit) const {
    if (model == best_.size()) return visit(left, least);
    for (const auto& [used, rate] : best_[model]) {
      std::vector<int> rest = left;
      bool fits = true;
      for (size_t k = 0; k < rest.size(); ++k) {
        rest[k] -= used[k];
        fits = fits && rest[k] >= 0;
      }
      if (fits) Divide(model + 1, rest, std::min(least, rate / demands_[model].weight), visit);
    }
  }

  const Cluster& cluster_;
  const std::vector<Demand>& demands_;
  const CandidateRules rules_;
  const int units_;  // of a GPU
  std::vector<int> gpus_;
  std::vector<std::map<std::vector<int>, double>> best_;  // [model]
};

}  // namespace wharf::pipeline
