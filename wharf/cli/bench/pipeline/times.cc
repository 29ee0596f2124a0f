#include "wharf/cli/bench/pipeline/times.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace wharf::cli {
namespace {

using pipeline::ModelProfile;
using pipeline::VgpuProfile;
using report::Align;
using report::Table;

const VgpuProfile* Whole(const ModelProfile& profile, const std::string& gpu_class, int batch) {
  const VgpuProfile* found = profile.Find(gpu_class, 1);
  return found != nullptr && batch <= found->MaxBatch() ? found : nullptr;
}

// The fastest first, by all models together.
std::vector<std::string> ClassesBySpeed(std::span<const ModelProfile> profiles, int batch) {
  std::map<std::string, double> total_us;
  for (const ModelProfile& profile : profiles) {
    for (const VgpuProfile& vgpu : profile.vgpus) {
      if (vgpu.vgpus_per_gpu == 1 && batch <= vgpu.MaxBatch())
        total_us[vgpu.gpu_class] += vgpu.LatencyUs(batch, 0, profile.Blocks());
    }
  }
  std::vector<std::string> classes;
  for (const auto& [name, us] : total_us) classes.push_back(name);
  std::ranges::sort(classes, {}, [&](const std::string& name) { return total_us[name]; });
  return classes;
}

}  // namespace

Table ModelTimesAsTable(std::span<const ModelProfile> profiles, int batch) {
  const std::vector<std::string> classes = ClassesBySpeed(profiles, batch);
  std::vector<report::Column> columns = {{"model"}};
  for (const std::string& name : classes) columns.push_back({name + " ms", Align::kRight});
  for (size_t i = 0; i + 1 < classes.size(); ++i)
    columns.push_back({classes.back() + " / " + classes[i], Align::kRight});
  Table table(columns);
  for (const ModelProfile& profile : profiles) {
    std::vector<double> ms;  // by class; 0: not measured
    for (const std::string& name : classes) {
      const VgpuProfile* whole = Whole(profile, name, batch);
      ms.push_back(whole == nullptr ? 0 : whole->LatencyUs(batch, 0, profile.Blocks()) / 1e3);
    }
    std::vector<std::string> row = {profile.model};
    for (const double one : ms) row.push_back(one > 0 ? fmt::format("{:.1f}", one) : "");
    for (size_t i = 0; i + 1 < ms.size(); ++i)
      row.push_back(ms[i] > 0 && ms.back() > 0 ? fmt::format("{:.1f}", ms.back() / ms[i]) : "");
    table.AddRow(std::move(row));
  }
  return table;
}

Table BlockRatiosAsTable(std::span<const ModelProfile> profiles, int batch) {
  const std::vector<std::string> classes = ClassesBySpeed(profiles, batch);
  int blocks = 0;
  for (const ModelProfile& profile : profiles) blocks = std::max(blocks, profile.Blocks());
  std::vector<report::Column> columns = {{"model"}, {"classes"}};
  for (int block = 0; block < blocks; ++block) columns.push_back({fmt::format("block {}", block), Align::kRight});
  Table table(columns);
  for (const ModelProfile& profile : profiles) {
    for (size_t i = 0; i + 1 < classes.size(); ++i) {
      const VgpuProfile *slow = Whole(profile, classes.back(), batch), *other = Whole(profile, classes[i], batch);
      if (slow == nullptr || other == nullptr) continue;
      std::vector<std::string> row = {profile.model, classes.back() + " / " + classes[i]};
      for (int block = 0; block < profile.Blocks(); ++block) {
        const double ratio = slow->LatencyUs(batch, block, block + 1) / other->LatencyUs(batch, block, block + 1);
        row.push_back(fmt::format("{:.2f}", ratio));
      }
      table.AddRow(std::move(row));
    }
  }
  return table;
}

}  // namespace wharf::cli
