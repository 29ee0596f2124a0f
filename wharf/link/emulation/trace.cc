#include <charconv>
#include <cmath>
#include <fstream>
#include <optional>
#include <string_view>

#include "wharf/link/emulation/emulator.h"

namespace wharf::link {
namespace {

// A constant trace has no steps to speak of; long ones keep the model from crossing any.
constexpr Nanoseconds kConstantStep = std::chrono::hours(1);
constexpr double kMaxMbps = 1e7;

struct Row {
  double time_s, mbps;
};

std::optional<double> ParseNumber(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\r')) text.remove_suffix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::optional<Row> ParseRow(std::string_view line) {
  const size_t comma = line.find(',');
  if (comma == std::string_view::npos) return std::nullopt;
  const auto time = ParseNumber(line.substr(0, comma));
  const auto mbps = ParseNumber(line.substr(comma + 1));
  if (!time.has_value() || !mbps.has_value()) return std::nullopt;
  return Row{*time, *mbps};
}

bool IsHeader(std::string_view line) { return line.rfind("time_s,mbps", 0) == 0; }

}  // namespace

BandwidthTrace BandwidthTrace::Constant(double bits_per_second) { return {kConstantStep, {bits_per_second}}; }

absl::StatusOr<BandwidthTrace> BandwidthTrace::Load(const std::string& path) {
  std::ifstream file(path);
  if (!file) return ErrnoStatus(errno, fmt::format("opening trace {}", path));
  BandwidthTrace trace;
  double first_time = 0, step = 0;
  bool any_bandwidth = false;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    if (line.empty() || line == "\r" || line[0] == '#') continue;
    if (trace.bits_per_second.empty() && IsHeader(line)) continue;
    const auto row = ParseRow(line);
    if (!row.has_value()) return InvalidArgument("{} line {}: not \"time_s,mbps\": {}", path, number, line);
    if (row->mbps < 0 || row->mbps > kMaxMbps) {
      return InvalidArgument("{} line {}: {} Mbit/s is not a bandwidth", path, number, row->mbps);
    }
    const auto samples = static_cast<double>(trace.bits_per_second.size());
    if (samples == 0) first_time = row->time_s;
    if (samples == 1) step = row->time_s - first_time;
    if (samples >= 1 && (step < 1e-6 || step > 1e6)) {
      return InvalidArgument("{} line {}: times must rise by 1 us or more a line", path, number);
    }
    if (samples >= 2 && std::abs(row->time_s - first_time - samples * step) > 0.01 * step) {
      return InvalidArgument("{} line {}: steps must be equal, {} s expected after {} s", path, number, step,
                             row->time_s);
    }
    any_bandwidth |= row->mbps > 0;
    trace.bits_per_second.push_back(row->mbps * 1e6);
  }
  if (!any_bandwidth) return InvalidArgument("{}: no line has any bandwidth", path);
  if (trace.bits_per_second.size() == 1) return Constant(trace.bits_per_second[0]);
  trace.step = FromSeconds(step);
  return trace;
}

}  // namespace wharf::link
