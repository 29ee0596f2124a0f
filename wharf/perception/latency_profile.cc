#include "wharf/perception/latency_profile.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "wharf/base/json/parse_json.h"
#include "wharf/track/median.h"

namespace wharf::perception {
namespace {

using nlohmann::json;

constexpr const char* kFormat = "wharf-latency-profile/1";
constexpr JsonLimits kLimits{size_t{64} << 10, 3};  // as deep as a batch, in batches, in the profile
constexpr int64_t kMaxBatch = 1 << 16;

absl::StatusOr<std::string> Text(const json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_string()) return InvalidArgument("the profile has no text \"{}\"", name);
  return found->get<std::string>();
}

absl::StatusOr<BatchLatency> ParseBatch(const json& object, int previous) {
  const bool whole = object.is_object() && object.size() == 2 && object.contains("batch") && object.contains("ms");
  if (!whole || !object["batch"].is_number_integer() || !object["ms"].is_number()) {
    return InvalidArgument("a batch of the profile is not {{\"batch\": SIZE, \"ms\": TIME}}");
  }
  const auto size = object["batch"].get<int64_t>();
  const auto ms = object["ms"].get<double>();
  if (size <= previous || size > kMaxBatch) return InvalidArgument("batch {} follows batch {}", size, previous);
  if (!std::isfinite(ms) || ms <= 0) return InvalidArgument("batch {} takes {} ms", size, ms);
  return BatchLatency{static_cast<int>(size), ms};
}

}  // namespace

absl::StatusOr<std::vector<BatchLatency>> MeasureLatency(const std::function<absl::Status(int batch)>& run,
                                                         const LatencyOptions& options, const Clock& clock) {
  if (options.batches.empty() || options.rounds < 1) return InvalidArgument("nothing to measure");
  std::vector<std::vector<double>> times(options.batches.size());
  for (int round = 0; round <= options.rounds; ++round) {
    for (size_t i = 0; i < options.batches.size(); ++i) {
      const TimePoint begin = clock.Now();
      WHARF_RETURN_IF_ERROR(run(options.batches[i]));
      if (round > 0) times[i].push_back(Milliseconds(clock.Now() - begin));
    }
  }
  std::vector<BatchLatency> latencies;
  for (size_t i = 0; i < times.size(); ++i) {
    latencies.push_back({options.batches[i], track::Median(std::move(times[i]))});
  }
  return latencies;
}

std::string ToJson(const LatencyProfile& profile) {
  json batches = json::array();
  for (const BatchLatency& one : profile.batches) batches.push_back({{"batch", one.batch}, {"ms", one.ms}});
  const json object = {
      {"format", kFormat}, {"network", profile.network}, {"machine", profile.machine}, {"batches", batches}};
  return object.dump(1) + "\n";
}

absl::StatusOr<LatencyProfile> ParseLatencyProfile(std::string_view text) {
  WHARF_ASSIGN_OR_RETURN(const json object, ParseJson(text, "a latency profile", kLimits));
  if (!object.is_object()) return InvalidArgument("the latency profile is no JSON object");
  WHARF_ASSIGN_OR_RETURN(const std::string format, Text(object, "format"));
  if (format != kFormat) return InvalidArgument("the format is {}, not {}", format, kFormat);
  LatencyProfile profile;
  WHARF_ASSIGN_OR_RETURN(profile.network, Text(object, "network"));
  WHARF_ASSIGN_OR_RETURN(profile.machine, Text(object, "machine"));
  const auto batches = object.find("batches");
  if (batches == object.end() || !batches->is_array() || batches->empty()) {
    return InvalidArgument("the profile has no batches");
  }
  int previous = 0;
  for (const json& batch : *batches) {
    WHARF_ASSIGN_OR_RETURN(const BatchLatency one, ParseBatch(batch, previous));
    profile.batches.push_back(one);
    previous = one.batch;
  }
  return profile;
}

}  // namespace wharf::perception
