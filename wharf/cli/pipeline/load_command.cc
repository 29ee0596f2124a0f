// wharf pipeline load: Poisson requests to `wharf pipeline serve`, and how they were answered.
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "wharf/cli/common/commands.h"
#include "wharf/cli/common/files.h"
#include "wharf/cli/common/pipeline_command.h"
#include "wharf/cli/common/server_access.h"
#include "wharf/pipeline/runtime/load_client.h"

namespace wharf::cli {
namespace {

struct PipelineLoadOptions {
  ServerAccess access;
  std::string json, requests;
  double load = 0;  // of the plan; 0: `rate` holds
  pipeline::LoadOptions load_options;
};

double Percentile(const std::vector<double>& sorted, double share) {
  if (sorted.empty()) return 0;
  return sorted[static_cast<size_t>(share * static_cast<double>(sorted.size() - 1))];
}

void Print(const pipeline::LoadResult& result) {
  const double on_time_rate = static_cast<double>(result.Of(pipeline::Fate::kOnTime)) / result.seconds;
  std::printf("%llu requests in %.1f s, %.1f/s\n", static_cast<unsigned long long>(result.sent), result.seconds,
              static_cast<double>(result.sent) / result.seconds);
  for (int fate = 0; fate < pipeline::kFates; ++fate) {
    const std::string name(pipeline::FateName(static_cast<pipeline::Fate>(fate)));
    std::printf("  %-12s %llu\n", name.c_str(), static_cast<unsigned long long>(result.fates[fate]));
  }
  std::printf("  %-12s %llu\n", "no answer", static_cast<unsigned long long>(result.unanswered));
  std::printf("attainment %.2f %%, %.1f requests/s on time; latency p50 %.1f ms, p99 %.1f ms\n",
              100 * result.Attainment(), on_time_rate, Percentile(result.latency_ms, 0.5),
              Percentile(result.latency_ms, 0.99));
}

std::string ToJson(const pipeline::LoadResult& result) {
  nlohmann::json row = {{"requests", result.sent},
                        {"seconds", result.seconds},
                        {"attainment", result.Attainment()},
                        {"unanswered", result.unanswered},
                        {"p50_ms", Percentile(result.latency_ms, 0.5)},
                        {"p99_ms", Percentile(result.latency_ms, 0.99)}};
  for (int fate = 0; fate < pipeline::kFates; ++fate) {
    row[std::string(pipeline::FateName(static_cast<pipeline::Fate>(fate)))] = result.fates[fate];
  }
  return row.dump(1) + "\n";
}

// A line a request, in the order of sending.
std::string ToCsv(const pipeline::LoadResult& result) {
  std::string csv = "sent_s,fate,latency_ms,queued_ms,computed_ms,transferred_ms\n";
  for (const pipeline::SentRequest& one : result.requests) {
    csv += fmt::format("{:.6f},{},{:.3f},{:.3f},{:.3f},{:.3f}\n", one.sent_s,
                       one.fate ? pipeline::FateName(*one.fate) : "no answer", one.latency_ms, one.queued_ms,
                       one.computed_ms, one.transferred_ms);
  }
  return csv;
}

absl::Status RunPipelineLoad(PipelineLoadOptions& options) {
  WHARF_ASSIGN_OR_RETURN(const std::string token, options.access.Token());
  pipeline::PeerAccess access{.token = token, .tls = nullptr};
  if (const auto tls = options.access.Connecting().tls) {
    WHARF_ASSIGN_OR_RETURN(access.tls, link::TlsClient::Create(*tls));
  }
  WHARF_ASSIGN_OR_RETURN(const auto client, pipeline::LoadClient::Open(options.access.server, access));
  for (const pipeline::ModelEntry& model : client->Models()) {
    const bool chosen = options.load_options.model.empty() ? &model == client->Models().data()
                                                           : model.name == options.load_options.model;
    if (!chosen) continue;
    if (options.load > 0) options.load_options.rate = options.load * model.planned_rate;
    std::printf("%s: SLO %.1f ms, planned for %.1f requests/s; sending %.1f/s for %.0f s\n", model.name.c_str(),
                static_cast<double>(model.slo_nanoseconds) / 1e6, model.planned_rate, options.load_options.rate,
                options.load_options.seconds);
    std::fflush(stdout);
  }
  WHARF_ASSIGN_OR_RETURN(const pipeline::LoadResult result, client->Run(options.load_options));
  Print(result);
  if (!options.requests.empty()) WHARF_RETURN_IF_ERROR(WriteFile(options.requests, ToCsv(result)));
  return options.json.empty() ? absl::OkStatus() : WriteFile(options.json, ToJson(result));
}

}  // namespace

void AddPipelineLoadCommand(CLI::App& app) {
  CLI::App* command =
      PipelineCommand(app).add_subcommand("load", "Send requests to wharf pipeline serve and count how they end.");
  command->footer(
      "\nRequests are Poisson arrivals, and come whatever is answered. A request counts as on time by the "
      "server's clock;\nlatencies are the client's. Example: wharf pipeline load --rate 20 --seconds 30");
  auto options = std::make_shared<PipelineLoadOptions>();
  AddServerAccess(command, options->access)->description("Where it is served (127.0.0.1:7091)");
  command->add_option("--model", options->load_options.model, "Which (the first)")->type_name("NAME");
  CLI::Option* rate = command->add_option("--rate", options->load_options.rate, "Requests/s, on average")
                          ->check(CLI::Range(1e-3, 1e6))
                          ->capture_default_str();
  command->add_option("--load", options->load, "Instead of a rate: share of what the plan serves")
      ->check(CLI::Range(1e-6, 100.0))
      ->excludes(rate);
  command->add_option("--seconds", options->load_options.seconds, "How long requests come")
      ->check(CLI::Range(0.1, 86400.0))
      ->capture_default_str();
  command->add_option("--seed", options->load_options.seed, "Of arrivals")->capture_default_str();
  command->add_option("--json", options->json, "Write the result here")->type_name("FILE");
  command->add_option("--requests", options->requests, "Write a line a request here")->type_name("FILE.csv");
  command->callback([options] {
    if (options->access.server.empty()) options->access.server = "127.0.0.1:7091";
    FinishServerAccess("load", options->access);
    if (const absl::Status done = RunPipelineLoad(*options); !done.ok()) Fail(done);
  });
}

}  // namespace wharf::cli
