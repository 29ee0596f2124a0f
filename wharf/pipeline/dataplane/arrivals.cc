#include "wharf/pipeline/dataplane/arrivals.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numbers>
#include <numeric>

#include "wharf/base/mersenne_random.h"

namespace wharf::pipeline {
namespace {

void SortByTime(std::vector<Arrival>& arrivals) {
  std::stable_sort(arrivals.begin(), arrivals.end(), [](const Arrival& a, const Arrival& b) { return a.at < b.at; });
}

uint64_t SeedOf(uint64_t seed, size_t stream) { return seed * kGoldenRatio + stream + 1; }

// Poisson arrivals of `rate` in [from, to).
void AddPoisson(double rate, double from, double to, int model, MersenneRandom& random,
                std::vector<Arrival>& arrivals) {
  if (rate <= 0) return;
  for (double at = from + random.Exponential(1 / rate); at < to; at += random.Exponential(1 / rate)) {
    arrivals.push_back({{FromSeconds(at)}, model});
  }
}

std::string_view TakeLine(std::string_view& text) {
  const size_t end = std::min(text.find('\n'), text.size());
  std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return line;
}

}  // namespace

absl::StatusOr<ArrivalTrace> ParseArrivalTrace(std::string_view csv, const std::vector<std::string>& models) {
  const std::string_view header = TakeLine(csv);
  const bool names = header == "time_s,model";
  if (!names && header != "time_s") {
    return InvalidArgument("a trace of arrivals begins with the line time_s or time_s,model");
  }
  ArrivalTrace trace;
  for (int number = 2; !csv.empty(); ++number) {
    const std::string_view line = TakeLine(csv);
    const size_t comma = line.find(',');
    const std::string_view time = line.substr(0, comma);
    double seconds = 0;
    const auto [end, error] = std::from_chars(time.data(), time.data() + time.size(), seconds);
    if (error != std::errc() || end != time.data() + time.size() || !(seconds >= 0 && seconds < 1e9)) {
      return InvalidArgument("line {}: \"{}\" is no time in seconds", number, time);
    }
    if (!trace.seconds.empty() && seconds < trace.seconds.back()) {
      return InvalidArgument("line {}: {} comes after {}: arrivals are to be in order", number, seconds,
                             trace.seconds.back());
    }
    if (names != (comma != std::string_view::npos)) return InvalidArgument("line {}: not as the header says", number);
    trace.seconds.push_back(seconds);
    if (!names) continue;
    const auto found = std::find(models.begin(), models.end(), line.substr(comma + 1));
    if (found == models.end()) {
      return InvalidArgument("line {}: the plan has no model \"{}\"", number, line.substr(comma + 1));
    }
    trace.models.push_back(static_cast<int>(found - models.begin()));
  }
  if (trace.seconds.empty() || trace.seconds.back() <= 0) return InvalidArgument("the trace holds no time above 0");
  return trace;
}

std::vector<Arrival> PoissonArrivals(const std::vector<double>& rates, double seconds, uint64_t seed) {
  std::vector<Arrival> arrivals;
  for (size_t model = 0; model < rates.size(); ++model) {
    MersenneRandom random(SeedOf(seed, model));
    AddPoisson(rates[model], 0, seconds, static_cast<int>(model), random, arrivals);
  }
  SortByTime(arrivals);
  return arrivals;
}

absl::StatusOr<std::vector<Arrival>> BurstyArrivals(const std::vector<double>& rates, const Burstiness& bursts,
                                                    double seconds, uint64_t seed) {
  if (!(bursts.peak >= 1 && bursts.share > 0 && bursts.share < 1 && bursts.peak * bursts.share <= 1 &&
        bursts.mean_seconds > 0)) {
    return InvalidArgument("bursts of {:g} times the mean rate cannot take {:g} of the time", bursts.peak,
                           bursts.share);
  }
  const double calm = (1 - bursts.peak * bursts.share) / (1 - bursts.share);
  const double calm_seconds = bursts.mean_seconds * (1 - bursts.share) / bursts.share;
  std::vector<Arrival> arrivals;
  MersenneRandom random(SeedOf(seed, rates.size()));
  bool burst = random.Uniform() < bursts.share;
  for (double from = 0; from < seconds; burst = !burst) {
    const double to = std::min(seconds, from + random.Exponential(burst ? bursts.mean_seconds : calm_seconds));
    for (size_t model = 0; model < rates.size(); ++model) {
      AddPoisson(rates[model] * (burst ? bursts.peak : calm), from, to, static_cast<int>(model), random, arrivals);
    }
    from = to;
  }
  SortByTime(arrivals);
  return arrivals;
}

std::vector<Arrival> TraceArrivals(const ArrivalTrace& trace, const std::vector<double>& rates, double seconds,
                                   uint64_t seed) {
  const double total = std::accumulate(rates.begin(), rates.end(), 0.0);
  std::vector<Arrival> arrivals;
  if (total <= 0) return arrivals;
  const double period = static_cast<double>(trace.seconds.size()) / total;
  const double scale = period / trace.seconds.back();
  MersenneRandom random(SeedOf(seed, 0));
  for (double begin = 0; begin < seconds; begin += period) {
    for (size_t i = 0; i < trace.seconds.size(); ++i) {
      const double at = begin + trace.seconds[i] * scale;
      if (at >= seconds) break;
      int model = trace.models.empty() ? 0 : trace.models[i];
      if (trace.models.empty()) {
        for (double draw = random.Uniform() * total; model + 1 < static_cast<int>(rates.size()); ++model) {
          draw -= rates[model];
          if (draw < 0) break;
        }
      }
      arrivals.push_back({{FromSeconds(at)}, model});
    }
  }
  return arrivals;
}

}  // namespace wharf::pipeline
