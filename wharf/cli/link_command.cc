#include <signal.h>

#include <cstdio>
#include <memory>
#include <optional>

#include "wharf/cli/commands.h"
#include "wharf/cli/option_types.h"
#include "wharf/link/emulator.h"

namespace wharf::cli {
namespace {

struct LinkOptions {
  std::string listen = "127.0.0.1:7071", target = "127.0.0.1:7070", trace;
  std::optional<double> bits_per_second;
  Nanoseconds round_trip{0}, jitter{0};
  std::vector<std::string> outages;
  uint64_t seed = 1;
};

// "5s+1s": from second 5 on, for one second.
absl::StatusOr<link::Outage> ParseOutage(const std::string& text) {
  const size_t plus = text.find('+');
  if (plus == std::string::npos) return InvalidArgument("\"{}\" is no outage like 5s+1s (start+length)", text);
  link::Outage outage;
  WHARF_ASSIGN_OR_RETURN(outage.start, ParseDuration(text.substr(0, plus)));
  WHARF_ASSIGN_OR_RETURN(outage.length, ParseDuration(text.substr(plus + 1)));
  return outage;
}

absl::StatusOr<link::LinkProfile> MakeProfile(const LinkOptions& options) {
  link::LinkProfile profile;
  if (!options.trace.empty()) {
    WHARF_ASSIGN_OR_RETURN(profile.trace, link::BandwidthTrace::Load(options.trace));
  } else if (options.bits_per_second && *options.bits_per_second > 0) {
    profile.trace = link::BandwidthTrace::Constant(*options.bits_per_second);
  } else {
    return InvalidArgument("say how fast the link is: --trace FILE or --rate 93mbit");
  }
  profile.round_trip = options.round_trip;
  profile.jitter = options.jitter;
  profile.seed = options.seed;
  for (const std::string& text : options.outages) {
    WHARF_ASSIGN_OR_RETURN(const link::Outage outage, ParseOutage(text));
    profile.outages.push_back(outage);
  }
  return profile;
}

absl::Status RunLink(const LinkOptions& options) {
  WHARF_ASSIGN_OR_RETURN(link::LinkProfile profile, MakeProfile(options));
  // Blocked before the proxy's threads start, so that they inherit it.
  sigset_t ends;
  sigemptyset(&ends);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&ends, signal);
  sigprocmask(SIG_BLOCK, &ends, nullptr);
  WHARF_ASSIGN_OR_RETURN(const auto proxy, link::LinkProxy::Start(options.listen, options.target, std::move(profile)));
  std::printf("wharf: emulated link from %s to %s\n", proxy->Address().c_str(), options.target.c_str());
  std::fflush(stdout);
  int signal = 0;
  sigwait(&ends, &signal);
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
  command->add_option("--seed", options->seed, "Of the jitter")->capture_default_str();
  command->callback([options] {
    const absl::Status status = RunLink(*options);
    if (!status.ok()) Fail(status);
  });
}

}  // namespace wharf::cli
