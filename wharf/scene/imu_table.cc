#include "wharf/scene/imu_table.h"

#include <array>
#include <charconv>
#include <cmath>

namespace wharf::scene {
namespace {

// Seven numbers between commas, or false.
bool ParseRow(std::string_view row, std::array<double, 7>& values) {
  const char* at = row.data();
  const char* const end = at + row.size();
  for (size_t i = 0; i < values.size(); ++i) {
    if (i > 0 && (at == end || *at++ != ',')) return false;
    while (at != end && *at == ' ') ++at;
    const auto [stopped, error] = std::from_chars(at, end, values[i]);
    if (error != std::errc() || !std::isfinite(values[i])) return false;
    at = stopped;
  }
  return at == end;
}

}  // namespace

absl::StatusOr<std::vector<ImuSample>> ParseImuTable(std::string_view text) {
  std::vector<ImuSample> samples;
  for (int line = 1; !text.empty(); ++line) {
    const size_t end = text.find('\n');
    std::string_view row = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (row.ends_with('\r')) row.remove_suffix(1);
    if (line == 1 || row.empty()) continue;
    std::array<double, 7> v;
    if (!ParseRow(row, v)) return InvalidArgument("line {} is not time_s,wx,wy,wz,ax,ay,az", line);
    if (!samples.empty() && v[0] <= samples.back().time_s) {
      return InvalidArgument("line {} is not later than the one before", line);
    }
    samples.push_back({v[0], {v[1], v[2], v[3]}, {v[4], v[5], v[6]}});
  }
  return samples;
}

}  // namespace wharf::scene
