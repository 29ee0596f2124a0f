#include "wharf/pipeline/dataplane/gpu_packing.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

namespace wharf::pipeline {
namespace {

using Sizes = std::array<int, kMaxVgpus>;  // [v - 1]: how many parts of 1/v

// Parts that make up a GPU exactly. Without any of these left, what is left of one model is less than two GPUs and fits
// as tightly as its sum says when the largest go first (a test tries all).
constexpr std::array<Sizes, 4> kExact = {{{0, 2, 0, 0}, {0, 0, 3, 0}, {0, 0, 0, 4}, {0, 1, 0, 2}}};

int UnitsOf(int vgpus_per_gpu) { return kUnitsPerGpu / vgpus_per_gpu; }

// The parts of one model on GPUs of one class that do not fill GPUs of their own.
class Leftover {
 public:
  Leftover(int gpu_class, std::vector<PackedGpu>& gpus) : gpu_class_(gpu_class), gpus_(gpus) {}

  void Add(const GpuPart& part, int vgpus_per_gpu, int count) {
    parts_[vgpus_per_gpu - 1].insert(parts_[vgpus_per_gpu - 1].end(), count, part);
  }

  void Pack() {
    for (const Sizes& exact : kExact) {
      while (Has(exact)) Take(exact, gpus_.emplace_back(PackedGpu{gpu_class_, {}}));
    }
    const size_t first = gpus_.size();
    std::vector<int> free;  // units, of the GPUs from `first` on
    for (int vgpus = 1; vgpus <= kMaxVgpus; ++vgpus) {
      for (const GpuPart& part : std::exchange(parts_[vgpus - 1], {})) {
        auto place = std::ranges::find_if(free, [&](int units) { return units >= UnitsOf(vgpus); });
        if (place == free.end()) {
          gpus_.push_back({gpu_class_, {}});
          place = free.insert(free.end(), kUnitsPerGpu);
        }
        *place -= UnitsOf(vgpus);
        gpus_[first + static_cast<size_t>(place - free.begin())].parts.push_back(part);
      }
    }
  }

 private:
  bool Has(const Sizes& sizes) const {
    for (int i = 0; i < kMaxVgpus; ++i) {
      if (static_cast<int>(parts_[i].size()) < sizes[i]) return false;
    }
    return true;
  }
  void Take(const Sizes& sizes, PackedGpu& gpu) {
    for (int i = 0; i < kMaxVgpus; ++i) {
      gpu.parts.insert(gpu.parts.end(), parts_[i].end() - sizes[i], parts_[i].end());
      parts_[i].resize(parts_[i].size() - static_cast<size_t>(sizes[i]));
    }
  }

  const int gpu_class_;
  std::vector<PackedGpu>& gpus_;
  std::array<std::vector<GpuPart>, kMaxVgpus> parts_;  // by size
};

}  // namespace

std::vector<PackedGpu> PackGpus(const Plan& plan) {
  static_assert(kMaxVgpus == 4, "kExact knows halves, thirds and quarters");
  std::vector<PackedGpu> gpus;
  std::vector<PackedGpu> shared;
  std::map<std::pair<int, int>, Leftover> leftovers;  // by model and class
  for (int p = 0; p < static_cast<int>(plan.pipelines.size()); ++p) {
    const Pipeline& pipeline = plan.pipelines[p];
    for (int s = 0; s < static_cast<int>(pipeline.stages.size()); ++s) {
      const Stage& stage = pipeline.stages[s];
      const std::vector<GpuPart> whole(stage.vgpus_per_gpu, GpuPart{p, s});
      gpus.insert(gpus.end(), stage.vgpus / stage.vgpus_per_gpu, {stage.gpu_class, whole});
      const auto leftover = leftovers.try_emplace({pipeline.model, stage.gpu_class}, stage.gpu_class, shared).first;
      leftover->second.Add({p, s}, stage.vgpus_per_gpu, stage.vgpus % stage.vgpus_per_gpu);
    }
  }
  for (auto& [key, leftover] : leftovers) leftover.Pack();
  gpus.insert(gpus.end(), shared.begin(), shared.end());
  return gpus;
}

}  // namespace wharf::pipeline
