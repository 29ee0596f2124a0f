// Options that `wharf plan` and `wharf bench split` share.
#pragma once

#include <CLI/CLI.hpp>
#include <array>
#include <optional>
#include <string>

#include "wharf/cli/common/option_types.h"
#include "wharf/split/costs/coding_costs.h"
#include "wharf/split/planners/planner.h"

namespace wharf::cli {

// As ParseBitRate: "10MB/s", "93mbit". Bytes per millisecond.
inline absl::StatusOr<double> ParseByteRate(const std::string& text) {
  WHARF_ASSIGN_OR_RETURN(const double bits, ParseBitRate(text));
  return bits / 8e3;
}

// "50us", or the device's and the server's: "60us,10us". Milliseconds by side.
inline absl::StatusOr<std::array<double, 2>> ParseSliceOverhead(const std::string& text) {
  const size_t comma = text.find(',');
  WHARF_ASSIGN_OR_RETURN(const Nanoseconds device, ParseDuration(text.substr(0, comma)));
  Nanoseconds server = device;
  if (comma != std::string::npos) {
    WHARF_ASSIGN_OR_RETURN(server, ParseDuration(text.substr(comma + 1)));
  }
  return std::array<double, 2>{Milliseconds(device), Milliseconds(server)};
}

// The model and the link.
struct SplitOptions {
  Nanoseconds round_trip = std::chrono::microseconds(2600), message_overhead = std::chrono::microseconds(50);
  std::optional<std::array<double, 2>> slice_overhead_ms;  // by Side; instead of what the profile says
  std::string encoding = "f32";
  split::PlannerOptions planner;

  split::Link Link() const {
    split::Link link;
    link.round_trip_ms = Milliseconds(round_trip);
    link.message_overhead_ms = Milliseconds(message_overhead);
    return link;
  }
  absl::StatusOr<split::Profile> LoadProfile(const std::string& path) const {
    WHARF_ASSIGN_OR_RETURN(const split::Profile profile, split::Profile::Load(path));
    return Adapted(profile);
  }
  split::Profile Adapted(split::Profile profile) const {
    if (slice_overhead_ms) profile.slice_cost.fixed_ms = *slice_overhead_ms;
    return split::InNamedEncoding(profile, encoding);
  }
};

constexpr const char* kEncodingHelp =
    "How rows travel. f32: float32, as in the papers; u8: the model's input as bytes; f16: that, and the rest as "
    "halves";

inline void AddSplitOptions(CLI::App* command, SplitOptions& options) {
  AddDuration(command, "--rtt", options.round_trip, "The link's round trip; half each way");
  AddDuration(command, "--message-overhead", options.message_overhead, "Link time of each message besides its bytes");
  AddQuantity(command, "--slice-overhead", options.slice_overhead_ms, ParseSliceOverhead,
              "The part of an operator's time that does not shrink with its rows, where that is not measured: on both "
              "sides, or device,server. Default: what the profile's smallest operators take")
      ->type_name("TIME[,TIME]");
  command->add_option("--seed", options.planner.seed, "Of the searching planners")->capture_default_str();
  command->add_option("--budget", options.planner.budget, "Of the searching planners: operators walked for each plan")
      ->check(CLI::Range(int64_t{1}, int64_t{1'000'000'000'000}))
      ->capture_default_str();
}

}  // namespace wharf::cli
