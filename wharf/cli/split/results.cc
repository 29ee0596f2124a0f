#include "wharf/cli/split/results.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>

namespace wharf::cli {
namespace {

constexpr size_t kTop = 5, kLeastClasses = 10;

std::vector<double> Numbers(const exec::Tensor& tensor) {
  auto bytes = std::make_shared<std::vector<std::byte>>(tensor.Type().Bytes());
  tensor.Read(*bytes);
  return graph::Numbers({tensor.Type(), std::move(bytes)});
}

bool AreScores(const graph::TensorType& type) {
  return type.Rank() == 2 && type.shape[0] == 1 && type.shape[1] >= static_cast<int64_t>(kLeastClasses);
}

size_t Largest(const std::vector<double>& numbers) {
  return std::max_element(numbers.begin(), numbers.end()) - numbers.begin();
}

// The places of the largest, the largest first.
std::vector<size_t> Best(const std::vector<double>& scores, size_t top) {
  std::vector<size_t> order(scores.size());
  std::iota(order.begin(), order.end(), size_t{0});
  top = std::min(top, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(top), order.end(),
                    [&](size_t a, size_t b) { return scores[a] > scores[b]; });
  order.resize(top);
  return order;
}

std::string TopAsText(const std::vector<double>& scores) {
  const std::vector<size_t> order = Best(scores, kTop);
  std::string text;
  for (size_t i = 0; i < kTop; ++i)
    text += fmt::format("{} {} ({:.4g})", i == 0 ? "" : ",", order[i], scores[order[i]]);
  return text;
}

bool OnServer(const split::Plan& plan) {
  return std::all_of(plan.rows[split::kDevice].begin() + 1, plan.rows[split::kDevice].end() - 1,
                     [](split::RowRange rows) { return rows.Empty(); });
}

}  // namespace

double RelativeError(const std::vector<exec::TensorPtr>& ours, const std::vector<exec::TensorPtr>& whole) {
  double worst = 0;
  for (size_t i = 0; i < whole.size(); ++i) {
    const std::vector<double> a = Numbers(*ours[i]), b = Numbers(*whole[i]);
    double largest = 0, difference = 0;
    for (size_t j = 0; j < b.size(); ++j) {
      largest = std::max(largest, std::abs(b[j]));
      difference = std::max(difference, std::abs(a[j] - b[j]));
    }
    if (difference > 0) worst = std::max(worst, difference / largest);
  }
  return worst;
}

std::string ResultsAsText(const graph::Graph& graph, const std::vector<exec::TensorPtr>& outputs) {
  std::string text;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::string& name = graph.values[graph.outputs[i]].name;
    const graph::TensorType type = outputs[i]->Type();
    const std::vector<double> numbers = Numbers(*outputs[i]);
    if (AreScores(type)) {
      text += fmt::format("{}: the largest of {}:{}\n", name, numbers.size(), TopAsText(numbers));
    } else if (numbers.empty()) {
      text += fmt::format("{}: {}\n", name, type.Text());
    } else {
      const auto [low, high] = std::minmax_element(numbers.begin(), numbers.end());
      text += fmt::format("{}: {}, from {:.4g} to {:.4g}\n", name, type.Text(), *low, *high);
    }
  }
  return text;
}

nlohmann::ordered_json OutputAsJson(const std::string& name, const exec::Tensor& output, int top) {
  nlohmann::ordered_json json{{"name", name}, {"type", output.Type().Text()}};
  const std::vector<double> numbers = Numbers(output);
  if (AreScores(output.Type())) {
    json["top"] = nlohmann::ordered_json::array();
    for (const size_t place : Best(numbers, static_cast<size_t>(top))) {
      json["top"].push_back({{"index", place}, {"score", numbers[place]}});
    }
  } else if (!numbers.empty()) {
    const auto [low, high] = std::minmax_element(numbers.begin(), numbers.end());
    json["least"] = *low;
    json["largest"] = *high;
  }
  return json;
}

std::string AlternativesAsText(split::SplitClient& session) {
  const split::InferenceReport& report = session.Report();
  const std::vector<split::Plan>& plans = session.Plans();
  const auto chosen = fmt::format("rows travelled {}\n", plans[report.plan].encoding.Text());
  double server_ms = std::numeric_limits<double>::infinity();
  std::string server_encoding;
  for (uint32_t plan = 0; plan < plans.size(); ++plan) {
    if (!OnServer(plans[plan])) continue;
    const double ms = session.PlannedMs(plan);
    if (ms < server_ms) server_ms = ms, server_encoding = plans[plan].encoding.Text();
  }
  const double device_ms = session.PlannedMs(static_cast<uint32_t>(plans.size() - 1));
  if (!std::isfinite(server_ms) || device_ms <= 0) return chosen;
  return fmt::format(
      "planned at {:.2f} MB/s: this machine alone {:.1f} ms, the server alone {:.1f} ({}), as chosen {:.1f}; {}",
      report.bytes_per_ms / 1e3, device_ms, server_ms, server_encoding, report.planned_ms, chosen);
}

std::string AccuracyAsText(const split::SplitClient& session, const std::vector<exec::TensorPtr>& outputs,
                           const std::vector<exec::TensorPtr>& whole) {
  const split::InferenceReport& report = session.Report();
  const split::Encoding& encoding = session.Plans()[report.plan].encoding;
  if (report.alone || encoding.Exact()) return "";
  if (whole.empty()) return fmt::format("{} is not exact: --check says what it costs\n", encoding.Text());
  int same = 0, scores = 0;
  for (size_t i = 0; i < whole.size(); ++i) {
    if (!AreScores(whole[i]->Type())) continue;
    ++scores;
    same += Largest(Numbers(*outputs[i])) == Largest(Numbers(*whole[i])) ? 1 : 0;
  }
  const std::string top =
      scores == 0 ? "" : (same == scores ? "; the best class is the same" : "; THE BEST CLASS IS ANOTHER");
  return fmt::format("accuracy cost of {}: results differ by up to {:.2g} of the largest{}\n", encoding.Text(),
                     RelativeError(outputs, whole), top);
}

}  // namespace wharf::cli
