#include "wharf/pipeline/planner/candidates.h"

#include <algorithm>
#include <map>

namespace wharf::pipeline {
namespace {

constexpr double kBitsPerByte = 8;

// Depth first over batch sizes, then stage after stage over classes, virtual GPUs and cuts; over each stage's batch
// sizes, too, up to the first one, if they are not unified.
class Search {
 public:
  Search(const Cluster& cluster, const ModelProfile& profile, const CandidateRules& rules)
      : cluster_(cluster), profile_(profile), rules_(rules) {
    const bool whole_only = rules.mode != Mode::kOurs || !rules.divide_gpus;
    for (size_t i = 0; i < cluster.classes.size(); ++i) {
      const GpuClass& one = cluster.classes[i];
      for (int vgpus = 1; vgpus <= (whole_only ? 1 : one.max_vgpus); ++vgpus) {
        const VgpuProfile* measured = profile.Find(one.name, vgpus);
        if (measured != nullptr) kinds_.push_back({static_cast<int>(i), measured});
      }
    }
  }

  int MaxBatch() const {
    int most = 0;
    for (const Kind& kind : kinds_) most = std::max(most, kind.measured->MaxBatch());
    return most;
  }

  void Find(int batch, double budget_us) {
    current_.batch = batch;
    Extend(0, budget_us);
  }

  std::vector<Candidate> Take() { return std::move(found_); }

 private:
  struct Kind {
    int gpu_class;
    const VgpuProfile* measured;
  };

  int MaxStages() const {
    switch (rules_.mode) {
      case Mode::kNoPartitioning:
        return 1;
      case Mode::kDartR:
        return std::min(2, rules_.max_partitions);
      case Mode::kOurs:
        break;
    }
    return rules_.max_partitions;
  }

  void Extend(int first, double budget_us) {
    if (static_cast<int>(current_.stages.size()) == MaxStages()) return;
    for (const Kind& kind : kinds_) {
      double left_us = budget_us;
      if (!current_.stages.empty()) {
        CandidateStage& before = current_.stages.back();
        if (rules_.mode == Mode::kDartR && before.gpu_class == kind.gpu_class) continue;
        const double bytes = static_cast<double>(profile_.output_bytes[first - 1]) * before.batch;
        before.transfer_us = cluster_.TransferUs(before.gpu_class, kind.gpu_class, bytes);
        left_us -= before.transfer_us;
      }
      const int most = std::min(current_.batch, kind.measured->MaxBatch());
      for (int batch = rules_.unify_batches ? current_.batch : 1; batch <= most; ++batch) {
        ExtendOn(kind, batch, first, left_us);
      }
    }
  }

  void ExtendOn(const Kind& kind, int batch, int first, double budget_us) {
    for (int end = first + 1; end <= profile_.Blocks(); ++end) {
      const double latency_us = kind.measured->LatencyUs(batch, first, end);
      if (latency_us > budget_us) continue;  // more blocks may take less
      const int vgpus = kind.measured->vgpus_per_gpu;
      const double rate = vgpus * VgpuRate(kind, batch, first, end, latency_us);
      current_.stages.push_back({first, end, kind.gpu_class, vgpus, latency_us, 0, rate, batch});
      if (end == profile_.Blocks()) {
        Keep();
      } else {
        Extend(end, budget_us - latency_us);
      }
      current_.stages.pop_back();
    }
  }

  // What has no batch as large as might be was found when smaller ones had more time.
  void Keep() {
    const auto is_largest = [this](const CandidateStage& stage) { return stage.batch == current_.batch; };
    if (std::ranges::any_of(current_.stages, is_largest)) found_.push_back(current_);
  }

  double VgpuRate(const Kind& kind, int batch, int first, int end, double latency_us) const {
    const double share = cluster_.LinkShareBitsPerS(kind.gpu_class) / kind.measured->vgpus_per_gpu / kBitsPerByte;
    double rate = batch * 1e6 / latency_us;
    const double in = first > 0 ? static_cast<double>(profile_.output_bytes[first - 1]) : 0;
    const double out = end < profile_.Blocks() ? static_cast<double>(profile_.output_bytes[end - 1]) : 0;
    if (in > 0) rate = std::min(rate, share / in);
    if (out > 0) rate = std::min(rate, share / out);
    return rate;
  }

  const Cluster& cluster_;
  const ModelProfile& profile_;
  const CandidateRules rules_;
  std::vector<Kind> kinds_;
  Candidate current_;
  std::vector<Candidate> found_;
};

std::vector<int> Classes(const Candidate& candidate) {
  std::vector<int> classes;
  for (const CandidateStage& stage : candidate.stages) classes.push_back(stage.gpu_class);
  return classes;
}

std::vector<double> Rates(const Candidate& candidate) {
  std::vector<double> rates;
  for (const CandidateStage& stage : candidate.stages) rates.push_back(stage.gpu_rate);
  return rates;
}

std::vector<int> Divisions(const Candidate& candidate) {
  std::vector<int> divisions;
  for (const CandidateStage& stage : candidate.stages) divisions.push_back(stage.vgpus_per_gpu);
  return divisions;
}

// Whether the GPUs of each of b's stages, or its virtual GPUs if these may be shared, serve no less of a's. REQUIRES:
// the same number of stages.
bool Dominates(const Candidate& a, const Candidate& b, bool share_gpus) {
  return std::ranges::equal(a.stages, b.stages, [share_gpus](const CandidateStage& one, const CandidateStage& other) {
    return one.gpu_rate >= other.gpu_rate && (!share_gpus || one.vgpus_per_gpu % other.vgpus_per_gpu == 0);
  });
}

// Of those that dominate each other, the one with the least latency.
std::vector<Candidate> Undominated(std::vector<Candidate> all, bool share_gpus) {
  std::map<std::vector<int>, std::vector<Candidate>> by_classes;
  for (Candidate& one : all) by_classes[Classes(one)].push_back(std::move(one));
  std::vector<Candidate> kept;
  for (auto& [classes, group] : by_classes) {
    std::ranges::stable_sort(group, [share_gpus](const Candidate& a, const Candidate& b) {
      const auto rates_a = Rates(a), rates_b = Rates(b);
      if (rates_a != rates_b) return rates_a > rates_b;
      const auto divisions_a = Divisions(a), divisions_b = Divisions(b);
      return share_gpus && divisions_a != divisions_b ? divisions_a > divisions_b : a.LatencyUs() < b.LatencyUs();
    });
    const size_t begin = kept.size();
    for (Candidate& one : group) {  // whatever dominates it has come before it
      const auto dominates = [&](const Candidate& other) { return Dominates(other, one, share_gpus); };
      if (std::none_of(kept.begin() + static_cast<int64_t>(begin), kept.end(), dominates)) {
        kept.push_back(std::move(one));
      }
    }
  }
  return kept;
}

}  // namespace

double Candidate::LatencyUs() const {
  double us = 0;
  for (const CandidateStage& stage : stages) us += stage.latency_us + stage.transfer_us;
  return us;
}

std::vector<Candidate> FindCandidates(const Cluster& cluster, const ModelProfile& profile, const ServedModel& model,
                                      const CandidateRules& rules) {
  Search search(cluster, profile, rules);
  for (int batch = 1; batch <= search.MaxBatch() && model.BudgetUs(batch) > 0; ++batch) {
    search.Find(batch, model.BudgetUs(batch));
  }
  return Undominated(search.Take(), rules.share_gpus);
}

}  // namespace wharf::pipeline
