// wharf pipeline serve: carries a plan out on the workers there are.
#include <cstdio>
#include <memory>

#include "wharf/base/log.h"
#include "wharf/base/sandbox/policies.h"
#include "wharf/cli/common/commands.h"
#include "wharf/cli/common/config_option.h"
#include "wharf/cli/common/confined_server.h"
#include "wharf/cli/common/files.h"
#include "wharf/cli/common/option_types.h"
#include "wharf/cli/common/pipeline_command.h"
#include "wharf/cli/pipeline/runtime_options.h"
#include "wharf/pipeline/planner/planner.h"
#include "wharf/pipeline/runtime/request_frontend.h"
#include "wharf/server/front/signals.h"
#include "wharf/server/front/stream_server.h"

namespace wharf::cli {
namespace {

constexpr const char* kPipelineServeFooter = R"(
Workers register in etcd; each is a host of the plan, with GPUs of its class. When workers come or go, the plan is made anew for
those there are, from the same profiles. A lost worker's requests begin again if their deadlines allow it; otherwise
they are answered as dropped. --token-file is for clients, --worker-token-file for workers: neither is told to the other.

Example: wharf pipeline serve plan.json --profiles lab --etcd http://10.0.0.1:2379 --listen 0.0.0.0:7091 --token-file token \
  --worker-token-file worker-token)";

struct PipelineServeOptions {
  ConfinementOptions confining;
  std::string plan, profiles, listen = "127.0.0.1:7091", scheduler = "ours";
  double guard = 0.1;
  bool keep_plan = false, paced = false;
  Nanoseconds task_timeout = std::chrono::seconds(3);
  PipelineAccessOptions access;
  std::string worker_token;  // a file; "": none
  pipeline::EtcdOptions etcd;
};

// Plans for the models of a plan on whatever cluster there is.
class Replanner {
 public:
  Replanner(const pipeline::Plan& plan, std::vector<pipeline::ModelProfile> profiles)
      : plan_(plan), profiles_(std::move(profiles)) {}
  absl::StatusOr<pipeline::Plan> Make(const pipeline::Cluster& cluster) const {
    std::vector<pipeline::Demand> demands;
    for (const pipeline::ServedModel& model : plan_.models) {
      pipeline::Demand& demand = demands.emplace_back();
      for (const auto& profile : profiles_) demand.profile = profile.model == model.name ? &profile : demand.profile;
      if (demand.profile == nullptr) return NotFound("there is no profile of {}", model.name);
      demand.slo_us = model.slo_us;
      demand.margin_us = model.margin_us;
      demand.weight = model.weight;
    }
    return pipeline::MakePlan(cluster, demands, {});
  }

 private:
  const pipeline::Plan plan_;
  const std::vector<pipeline::ModelProfile> profiles_;
};

absl::Status RunPipelineServe(const PipelineServeOptions& options) {
  WHARF_ASSIGN_OR_RETURN(const auto confinement, Confinement::Begin(options.confining));
  if (!confinement) return absl::OkStatus();
  WHARF_ASSIGN_OR_RETURN(const std::string text, ReadFile(options.plan));
  auto plan = pipeline::ParsePlan(text);
  if (!plan.ok()) return InvalidArgument("{}: {}", options.plan, Message(plan.status()));
  WHARF_ASSIGN_OR_RETURN(auto profiles, pipeline::LoadModelProfiles(options.profiles));
  WHARF_ASSIGN_OR_RETURN(const PipelineAccess access, MakePipelineAccess(options.listen, options.access));
  WHARF_ASSIGN_OR_RETURN(auto tls, access.control.MakeTlsServer());
  server::BlockEndingSignals();
  WHARF_ASSIGN_OR_RETURN(const auto membership, pipeline::MakeEtcdMembership(options.etcd));
  pipeline::PipelineServerConfig config;
  for (const pipeline::ServedModel& model : plan->models) {
    WHARF_ASSIGN_OR_RETURN(auto source, pipeline::LoadModelSource(options.profiles, model.name));
    config.models.push_back(std::move(source));
  }
  const Replanner replanner(*plan, std::move(profiles));
  if (!options.keep_plan) {
    config.replan = [&](const pipeline::Cluster& cluster) { return replanner.Make(cluster); };
  }
  config.plan = *std::move(plan);
  config.membership = membership.get();
  config.access = access.peers;
  // Their addresses come from a registry: whoever writes there must not learn to be a client.
  config.access.token.clear();
  if (!options.worker_token.empty()) {
    WHARF_ASSIGN_OR_RETURN(config.access.token, server::LoadToken(options.worker_token));
  }
  config.scheduler =
      options.scheduler == "ours" ? pipeline::SchedulerKind::kReserving : pipeline::SchedulerKind::kReactive;
  config.scheduling.guard = options.guard;
  config.paced = options.paced;
  config.task_timeout = options.task_timeout;
  WHARF_ASSIGN_OR_RETURN(auto listener, link::Listener::Create(options.listen));
  const server::AcceptorLimits limits;  // raises the limit of descriptors
  // Nothing that others say was read yet.
  WHARF_RETURN_IF_ERROR(confinement->Enter(PeerServerPolicy()));
  WHARF_ASSIGN_OR_RETURN(const auto server, pipeline::PipelineServer::Start(std::move(config)));
  pipeline::RequestFrontend frontend({.server = server.get(), .check = access.control.ClientsOnly()});
  std::printf("wharf: serving at %s\n", listener->Address().c_str());
  std::fflush(stdout);
  server::ServeUntilSignal(
      std::move(listener), server::OpenTls(std::move(tls)),
      [&](std::unique_ptr<link::ByteStream> stream) { frontend.Accept(std::move(stream)); }, limits);
  return absl::OkStatus();
}

}  // namespace

void AddPipelineServeCommand(CLI::App& app) {
  CLI::App* command = PipelineCommand(app).add_subcommand("serve", "Carry a plan out on the workers there are.");
  command->footer(kPipelineServeFooter);
  auto options = std::make_shared<PipelineServeOptions>();
  command->add_option("plan", options->plan, "What wharf pipeline plan --json wrote")
      ->type_name("PLAN.json")
      ->required();
  AddConfigOption(command);
  command->add_option("--profiles", options->profiles, "What wharf pipeline profile wrote")
      ->type_name("FOLDER")
      ->required();
  command->add_option("--listen", options->listen, "For clients: HOST:PORT, [V6]:PORT or unix:PATH")
      ->capture_default_str();
  AddEtcdOptions(command, options->etcd);
  AddConfinementOptions(command, options->confining);
  AddPipelineAccessOptions(command, options->access);
  command->get_option("--token-file")->description("Clients must know the first line of FILE");
  command->add_option("--worker-token-file", options->worker_token, "What we prove to workers: their token")
      ->type_name("FILE");
  command->add_option("--scheduler", options->scheduler, "ours reserves; reactive has a queue before each pool")
      ->check(CLI::IsMember({"ours", "reactive"}))
      ->capture_default_str();
  command->add_option("--guard", options->guard, "Share of the SLO that batches are to be done before their deadline")
      ->check(CLI::Range(0.0, 0.9))
      ->capture_default_str();
  AddDuration(command, "--task-timeout", options->task_timeout, "A worker that does not report for so long is lost");
  command->add_flag("--paced", options->paced,
                    "Workers take the plan's times: they compute, and wait for what is left of them");
  command->add_flag("--keep-plan", options->keep_plan, "Do not plan again when workers come or go");
  command->callback([options] {
    SetDefaultLogLevel(LogLevel::kInfo);
    if (const absl::Status done = RunPipelineServe(*options); !done.ok()) Fail(done);
  });
}

}  // namespace wharf::cli
