#include "wharf/pipeline/planner/reference.h"

#include <algorithm>

#include "wharf/pipeline/csv.h"

namespace wharf::pipeline {
namespace {

enum Column {
  kSet,
  kAlgorithm,
  kDnns,
  kWeights,
  kGpuHigh,
  kGpuLow,
  kHigh,
  kLow,
  kGbps,
  kSloMultiplier,
  kSlo,
  kMargin,
  kEstimate,
  kBuildFactor,
  kMaxPartitions,
  kXput,
  kMinXput,
  kVgpuLevels,
  kGpusPerServer
};
constexpr int kMaxGpus = 100'000, kMaxGpusPerServer = 64, kMaxPartitionsOfCase = 8;

// One row, read column by column; the first mistake is kept.
class RowReader {
 public:
  RowReader(const CsvTable& table, size_t row) : table_(table), row_(row) {}

  const absl::Status& Status() const { return status_; }
  std::string Text(Column column) const { return std::string(table_.Text(row_, column)); }
  double Number(Column column) { return Keep(table_.Number(row_, column), 0.0); }
  int Integer(Column column, int most) { return Keep(table_.Integer(row_, column, 1, most), 1); }
  // "a|b|c"
  std::vector<double> Numbers(Column column, char separator) {
    std::vector<double> numbers;
    for (const std::string_view part : SplitText(table_.Text(row_, column), separator)) {
      numbers.push_back(Keep(ParseFinite(part, table_.Where(row_)), 0.0));
    }
    return numbers;
  }
  // "[fast, slow]"
  std::pair<int, int> Pair(Column column, int most) {
    std::string_view text = table_.Text(row_, column);
    const bool bracketed = text.starts_with('[') && text.ends_with(']') && text.size() >= 2;
    const auto parts = SplitText(bracketed ? text.substr(1, text.size() - 2) : text, ',');
    if (!bracketed || parts.size() != 2) {
      Fail("\"{}\" is no pair of numbers", text);
      return {1, 1};
    }
    const auto number = [&](std::string_view part) {
      if (part.starts_with(' ')) part.remove_prefix(1);
      const double value = Keep(ParseFinite(part, table_.Where(row_)), 1.0);
      if (!(value >= 1 && value <= most)) Fail("{} is not a number from 1 to {}", value, most);
      return static_cast<int>(std::clamp(value, 1.0, static_cast<double>(most)));
    };
    return {number(parts[0]), number(parts[1])};
  }
  template <typename... Args>
  void Fail(fmt::format_string<Args...> format, Args&&... args) {
    const std::string what = fmt::format(format, std::forward<Args>(args)...);
    status_.Update(InvalidArgument("{}: {}", table_.Where(row_), what));
  }

 private:
  template <typename T>
  T Keep(const absl::StatusOr<T>& value, T otherwise) {
    if (!value.ok()) status_.Update(value.status());
    return value.ok() ? *value : otherwise;
  }

  const CsvTable& table_;
  const size_t row_;
  absl::Status status_;
};

void ReadCluster(RowReader& row, Cluster& cluster) {
  const auto [fast_vgpus, slow_vgpus] = row.Pair(kVgpuLevels, kMaxVgpus);
  const auto [fast_per_host, slow_per_host] = row.Pair(kGpusPerServer, kMaxGpusPerServer);
  const double link = row.Number(kGbps) * 1e9;
  cluster.name = row.Text(kGpuHigh) + "-" + row.Text(kGpuLow);
  cluster.classes = {{row.Text(kGpuHigh), fast_vgpus}, {row.Text(kGpuLow), slow_vgpus}};
  AddGpus(cluster, 0, row.Integer(kHigh, kMaxGpus), fast_per_host, link);
  AddGpus(cluster, 1, row.Integer(kLow, kMaxGpus), slow_per_host, link);
}

void ReadDemands(RowReader& row, std::span<const ModelProfile> profiles, std::vector<Demand>& demands) {
  const std::vector<double> weights = row.Numbers(kWeights, '-'), slo = row.Numbers(kSlo, '|'),
                            margin = row.Numbers(kMargin, '|'), estimate = row.Numbers(kEstimate, '|');
  const std::string dnns = row.Text(kDnns);
  const auto names = SplitText(dnns, '|');
  for (const auto* numbers : {&weights, &slo, &margin, &estimate}) {
    if (numbers->size() != names.size()) return row.Fail("{} numbers for {} models", numbers->size(), names.size());
  }
  for (size_t i = 0; i < names.size(); ++i) {
    const auto profile = std::ranges::find(profiles, names[i], &ModelProfile::model);
    if (profile == profiles.end()) return row.Fail("there is no profile of {}", names[i]);
    demands.push_back({&*profile, slo[i], margin[i], weights[i], estimate[i]});
  }
}

CandidateRules ReadRules(RowReader& row, const std::string& algorithm) {
  CandidateRules rules;
  rules.max_partitions = row.Integer(kMaxPartitions, kMaxPartitionsOfCase);
  if (algorithm == "bl") {
    rules.mode = Mode::kNoPartitioning;
  } else if (algorithm == "dart-r") {
    rules.mode = Mode::kDartR;
  } else if (algorithm != "v4") {
    row.Fail("the algorithm is \"{}\", none of bl, dart-r, v4", algorithm);
  }
  if (row.Number(kBuildFactor) != kBatchBuildingFactor) {
    row.Fail("batch_build_factor is not {}", kBatchBuildingFactor);
  }
  return rules;
}

}  // namespace

absl::StatusOr<std::vector<ReferenceCase>> ParseReferenceCases(std::string_view csv,
                                                               std::span<const ModelProfile> profiles) {
  WHARF_ASSIGN_OR_RETURN(
      const CsvTable table,
      CsvTable::Parse(csv, "reference plans",
                      {"set", "algorithm", "dnns", "weights", "gpu_high", "gpu_low", "n_high", "n_low", "bw_gbps",
                       "slo_multiplier", "slo_us", "slo_margin_us", "est_xput", "batch_build_factor", "max_partitions",
                       "xput_per_dnn", "normalised_min_xput", "vgpu_levels", "gpus_per_server"}));
  std::vector<ReferenceCase> cases;
  for (size_t i = 0; i < table.Rows(); ++i) {
    RowReader row(table, i);
    ReferenceCase one;
    one.algorithm = row.Text(kAlgorithm);
    one.rules = ReadRules(row, one.algorithm);
    one.published = row.Number(kMinXput);
    ReadCluster(row, one.cluster);
    ReadDemands(row, profiles, one.demands);
    WHARF_RETURN_IF_ERROR(row.Status());
    if (const absl::Status fine = Check(one.cluster); !fine.ok()) row.Fail("{}", Message(fine));
    WHARF_RETURN_IF_ERROR(row.Status());
    cases.push_back(std::move(one));
  }
  return cases;
}

}  // namespace wharf::pipeline
