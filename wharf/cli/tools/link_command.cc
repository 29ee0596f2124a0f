#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "wharf/cli/common/commands.h"
#include "wharf/cli/common/files.h"
#include "wharf/cli/common/option_types.h"
#include "wharf/link/emulation/emulator.h"
#include "wharf/report/line_chart.h"
#include "wharf/report/statistics.h"

namespace wharf::cli {
namespace {

constexpr Nanoseconds kRandomUntil = std::chrono::hours(24);

struct LinkOptions {
  std::string listen = "127.0.0.1:7071", target = "127.0.0.1:7070", trace, svg;
  std::optional<double> bits_per_second;
  Nanoseconds round_trip{0}, jitter{0};
  std::vector<std::string> outages;
  std::string random_outages;
  std::optional<Nanoseconds> cuts;
  uint64_t seed = 1;
};

// "5s+1s": from second 5 on, for one second; or one second every five.
absl::StatusOr<std::pair<Nanoseconds, Nanoseconds>> ParseOutage(const std::string& text) {
  const size_t plus = text.find('+');
  if (plus == std::string::npos) return InvalidArgument("\"{}\" is no outage like 5s+1s", text);
  WHARF_ASSIGN_OR_RETURN(const Nanoseconds first, ParseDuration(text.substr(0, plus)));
  WHARF_ASSIGN_OR_RETURN(const Nanoseconds length, ParseDuration(text.substr(plus + 1)));
  return std::pair{first, length};
}

absl::StatusOr<std::vector<link::Outage>> OutagesOf(const LinkOptions& options) {
  std::vector<link::Outage> outages;
  if (!options.random_outages.empty()) {
    WHARF_ASSIGN_OR_RETURN(const auto means, ParseOutage(options.random_outages));
    if (means.first <= Nanoseconds{0}) return InvalidArgument("--random-outages needs time between two of them");
    outages = link::RandomOutages(means.first, means.second, kRandomUntil, options.seed);
  }
  for (const std::string& text : options.outages) {
    WHARF_ASSIGN_OR_RETURN(const auto outage, ParseOutage(text));
    outages.push_back({outage.first, outage.second});
  }
  return outages;
}

absl::StatusOr<link::LinkProfile> MakeProfile(const LinkOptions& options) {
  link::LinkProfile profile;
  if (!options.trace.empty()) {
    WHARF_ASSIGN_OR_RETURN(profile.trace, link::BandwidthTrace::Load(options.trace));
  } else if (options.bits_per_second && *options.bits_per_second > 0) {
    profile.trace = link::BandwidthTrace::Constant(*options.bits_per_second);
  } else {
    throw CLI::ValidationError("link", "say how fast the link is: --trace FILE or --rate 93mbit");
  }
  profile.round_trip = options.round_trip;
  profile.jitter = options.jitter;
  profile.seed = options.seed;
  WHARF_ASSIGN_OR_RETURN(profile.outages, OutagesOf(options));
  return profile;
}

// Until one of `ends` comes. Meanwhile connections are cut at random, if that is asked for.
void CutUntilTheEnd(const LinkOptions& options, link::LinkProxy& proxy, const sigset_t& ends) {
  int signal = 0;
  if (!options.cuts) {
    sigwait(&ends, &signal);
    return;
  }
  const Clock& clock = Clock::Real();
  const TimePoint start = clock.Now();
  for (const link::Outage& cut : link::RandomOutages(*options.cuts, Nanoseconds{0}, kRandomUntil, options.seed + 1)) {
    const Nanoseconds left = std::max(start + cut.start - clock.Now(), Nanoseconds{0});
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
    const timespec wait{seconds.count(), (left - seconds).count()};
    if (sigtimedwait(&ends, nullptr, &wait) > 0) return;
    proxy.Cut();
  }
  sigwait(&ends, &signal);
}

// The trace as a picture, and in one line what its bandwidth is.
absl::Status DrawTrace(const LinkOptions& options) {
  if (options.trace.empty()) throw CLI::ValidationError("link", "--svg draws a --trace: say which");
  WHARF_ASSIGN_OR_RETURN(const link::BandwidthTrace trace, link::BandwidthTrace::Load(options.trace));
  const std::string name = std::filesystem::path(options.trace).stem().string();
  report::LineChart chart{name + ": bandwidth of the link over time", "s", "Mbit/s"};
  report::Line& line = chart.lines.emplace_back(report::Line{name, {}});
  for (const double bits : trace.bits_per_second) {
    chart.x.push_back(Seconds(trace.step) * static_cast<double>(line.values.size()));
    line.values.push_back(bits / 1e6);
  }
  const report::MeanAndSpread all = report::Summarize(line.values);
  const auto [least, most] = std::minmax_element(line.values.begin(), line.values.end());
  std::printf(
      "%s: %.1f s, mean %.1f Mbit/s, standard deviation %.1f, least %.1f, 5 %% of the time below %.1f, most %.1f\n",
      name.c_str(), Seconds(trace.step) * static_cast<double>(line.values.size()), all.mean, all.spread, *least,
      report::Percentile(line.values, 0.05), *most);
  return WriteFile(options.svg, chart.Svg());
}

absl::Status RunLink(const LinkOptions& options) {
  if (!options.svg.empty()) return DrawTrace(options);
  if (options.cuts && *options.cuts <= Nanoseconds{0}) {
    throw CLI::ValidationError("link", "--cuts needs a time above 0");
  }
  WHARF_ASSIGN_OR_RETURN(link::LinkProfile profile, MakeProfile(options));
  // Blocked before the proxy's threads start, so that they inherit it.
  sigset_t ends;
  sigemptyset(&ends);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&ends, signal);
  sigprocmask(SIG_BLOCK, &ends, nullptr);
  WHARF_ASSIGN_OR_RETURN(const auto proxy, link::LinkProxy::Start(options.listen, options.target, std::move(profile)));
  std::printf("wharf: emulated link from %s to %s\n", proxy->Address().c_str(), options.target.c_str());
  std::fflush(stdout);
  CutUntilTheEnd(options, *proxy, ends);
  const link::LinkProxy::Stats traffic = proxy->Traffic();
  std::printf("wharf: %s up, %s down, %llu connections\n", FormatBytes(traffic.bytes_up).c_str(),
              FormatBytes(traffic.bytes_down).c_str(), static_cast<unsigned long long>(traffic.connections));
  return absl::OkStatus();
}

}  // namespace

void AddLinkCommand(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("link", "Emulate a wireless link in front of a server, from a measured trace.");
  command->footer(
      "\nExample: wharf link --trace data/traces/outdoors_a.csv --rtt 2.6ms, and in another terminal\n"
      "         wharf run --server 127.0.0.1:7071 -- ./program. Ctrl-C ends it and prints the traffic.");
  auto options = std::make_shared<LinkOptions>();
  command->add_option("--listen", options->listen, "HOST:PORT for clients")->capture_default_str();
  command->add_option("--target", options->target, "HOST:PORT of the server")->capture_default_str();
  CLI::Option* trace = command->add_option("--trace", options->trace, "Bandwidth over time: CSV of time_s,mbps");
  trace->type_name("FILE");
  AddQuantity(command, "--rate", options->bits_per_second, ParseBitRate, "Constant bandwidth, like 93mbit")
      ->type_name("RATE")
      ->excludes(trace);
  AddDuration(command, "--rtt", options->round_trip, "Round-trip time, like 2.6ms");
  AddDuration(command, "--jitter", options->jitter, "Up to this much more, each way");
  command->add_option("--outage", options->outages, "START+LENGTH, like 5s+1s; may be given more than once")
      ->type_name("TIME+TIME");
  command
      ->add_option("--random-outages", options->random_outages,
                   "Outages at random, for a day: BETWEEN+LENGTH, both on average, like 20s+1s")
      ->type_name("TIME+TIME");
  AddQuantity(command, "--cuts", options->cuts, ParseDuration,
              "Close all connections at random, so often on average, for a day")
      ->type_name("TIME");
  command->add_option("--seed", options->seed, "Of what is random")->capture_default_str();
  command->add_option("--svg", options->svg, "Emulate nothing: draw the trace here, and say what its bandwidth is")
      ->type_name("FILE");
  command->callback([options] {
    const absl::Status status = RunLink(*options);
    if (!status.ok()) Fail(status);
  });
}

}  // namespace wharf::cli
