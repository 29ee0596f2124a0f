// wharf pipeline worker: offers this machine's processor, or a GPU of it, as GPUs of a class.
#include <cstdio>
#include <memory>

#include "wharf/base/cache_directory.h"
#include "wharf/base/log.h"
#include "wharf/base/sandbox/policies.h"
#include "wharf/base/stored/keeper.h"
#include "wharf/cli/common/commands.h"
#include "wharf/cli/common/config_option.h"
#include "wharf/cli/common/confined_server.h"
#include "wharf/cli/common/option_types.h"
#include "wharf/cli/common/pipeline_command.h"
#include "wharf/cli/pipeline/model_keeper.h"
#include "wharf/cli/pipeline/runtime_options.h"
#include "wharf/exec/torch_engine.h"
#include "wharf/pipeline/runtime/worker.h"
#include "wharf/pipeline/stages/block_profiler.h"
#include "wharf/server/front/signals.h"
#include "wharf/server/front/stream_server.h"

namespace wharf::cli {
namespace {

struct PipelineWorkerOptions {
  ConfinementOptions confining;
  std::string listen = "127.0.0.1:0", advertise, name, device_class = "cpu=threads:1",
              cache_directory = CacheDirectory();
  int gpus = 1;
  uint64_t cache_bytes = uint64_t{10} << 30, held_bytes = uint64_t{1} << 30;
  PipelineAccessOptions access;
  std::string scheduler_token;  // a file; "": the workers'
  pipeline::EtcdOptions etcd;
};

// What the worker is to others. They look up no name, so its address is a number.
absl::StatusOr<pipeline::Member> MemberFor(const PipelineWorkerOptions& options, const std::string& gpu_class,
                                           const std::string& listens_at) {
  pipeline::Member member{options.name, gpu_class, options.advertise.empty() ? listens_at : options.advertise,
                          options.gpus};
  if (const absl::Status number = link::CheckNumber(member.address); !number.ok()) {
    return InvalidArgument("{} {}", options.advertise.empty() ? "--listen" : "--advertise", Message(number));
  }
  if (member.name.empty()) member.name = member.address;
  return member;
}

absl::Status RunPipelineWorker(const PipelineWorkerOptions& options) {
  WHARF_ASSIGN_OR_RETURN(const auto classes, pipeline::ParseClasses(options.device_class));
  if (classes.size() != 1) return InvalidArgument("--class: a worker is of one class");
  pipeline::WorkerConfig config;
  HelperDoor keepers("keeper of models");
  ConfinementOptions confining = options.confining;
  if (!options.cache_directory.empty()) {
    confining.start_helper = [&](Isolation isolation) {
      const ModelKeeperOptions keeps{options.cache_directory, options.cache_bytes, config.max_model_bytes, isolation};
      return keepers.Open([keeps] { return StartModelKeeper(keeps); });
    };
    confining.look_after_helper = [&] { keepers.LookAfter(); };
  }
  WHARF_ASSIGN_OR_RETURN(const auto confinement, Confinement::Begin(confining));
  if (!confinement) return absl::OkStatus();
  WHARF_ASSIGN_OR_RETURN(const PipelineAccess access, MakePipelineAccess(options.listen, options.access));
  WHARF_ASSIGN_OR_RETURN(auto tls, access.control.MakeTlsServer());
  server::BlockEndingSignals();
  std::vector<std::unique_ptr<exec::Engine>> engines;
  for (int parts = 1; parts <= classes[0].vgpus; ++parts) {
    WHARF_ASSIGN_OR_RETURN(engines.emplace_back(), pipeline::MakeEngine(classes[0], parts));
  }
  WHARF_ASSIGN_OR_RETURN(const std::string device, exec::FindTorchDevice(classes[0].device));
  WHARF_RETURN_IF_ERROR(exec::WarmUpTorch(device));
  const split::ModelFiles files(
      options.cache_directory.empty() ? "" : KeeperRootBehind(confinement->HelperSocket()) + "/models",
      options.cache_bytes);
  for (const auto& engine : engines) config.engines.push_back(engine.get());
  config.gpus = options.gpus;
  config.files = &files;
  config.access = access.peers;
  std::string scheduler_token = access.control.token;
  if (!options.scheduler_token.empty()) {
    WHARF_ASSIGN_OR_RETURN(scheduler_token, server::LoadToken(options.scheduler_token));
  }
  config.check = pipeline::WorkersCheck(access.control.token, scheduler_token);
  config.check.by_certificate = !options.access.server.tls_client_ca.empty();
  config.max_held_bytes = options.held_bytes;
  pipeline::Worker worker(config);
  WHARF_ASSIGN_OR_RETURN(auto listener, link::Listener::Create(options.listen));
  WHARF_ASSIGN_OR_RETURN(const pipeline::Member member, MemberFor(options, classes[0].name, listener->Address()));
  WHARF_ASSIGN_OR_RETURN(const auto membership, pipeline::MakeEtcdMembership(options.etcd));
  const server::AcceptorLimits limits;  // raises the limit of descriptors
  // Nothing that others say was read yet.
  WHARF_RETURN_IF_ERROR(confinement->EnterOn(device, PeerServerPolicy(), GpuPeerPolicy()));
  WHARF_ASSIGN_OR_RETURN(const auto registration, membership->Join(member));
  std::printf("wharf: pipeline worker %s (%s) at %s\n", member.name.c_str(), classes[0].Text().c_str(),
              member.address.c_str());
  std::fflush(stdout);
  server::ServeUntilSignal(
      std::move(listener), server::OpenTls(std::move(tls)),
      [&](std::unique_ptr<link::ByteStream> stream) { worker.Accept(std::move(stream)); }, limits);
  return absl::OkStatus();
}

}  // namespace

void AddPipelineWorkerCommand(CLI::App& app) {
  CLI::App* command = PipelineCommand(app).add_subcommand(
      "worker", "Offer this machine's processor, or a GPU of it, as GPUs of a class.");
  command->footer(
      "\nExample: wharf pipeline worker --listen 10.0.0.7:7090 --etcd http://10.0.0.1:2379 --class slow=threads:1 "
      "--token-file token\nThe class must be as it was profiled; with device:cuda or device:cuda:N it computes on that "
      "GPU. Ctrl-C ends it. With --tls-cert all connections are "
      "encrypted, to other workers, too: "
      "every worker and the scheduler need one, for the addresses they are reached at.");
  auto options = std::make_shared<PipelineWorkerOptions>();
  AddConfigOption(command);
  command->add_option("--listen", options->listen, "HOST:PORT or [V6]:PORT; port 0 picks a free one")
      ->capture_default_str();
  command
      ->add_option("--advertise", options->advertise,
                   "Where others reach it, if not where it listens: a number, as 10.0.0.7:7090")
      ->type_name("ADDRESS:PORT");
  AddConfinementOptions(command, options->confining);
  command->add_option("--name", options->name, "Its name in the cluster (its address)");
  command->add_option("--class", options->device_class, "What it is, as `wharf pipeline profile --classes` has it")
      ->type_name("NAME=threads:N,slowdown:X,vgpus:K,device:D")
      ->capture_default_str();
  command
      ->add_option("--gpus", options->gpus,
                   "How many it plays: they share its cores, its link, and with device:cuda its one GPU")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  AddEtcdOptions(command, options->etcd);
  command->add_option("--lease", options->etcd.lease_seconds, "Seconds after which a worker that is silent is gone")
      ->check(CLI::Range(1, 3600))
      ->capture_default_str();
  AddPipelineAccessOptions(command, options->access);
  command->get_option("--token-file")->description("Workers, and schedulers, must know the first line of FILE");
  command
      ->add_option("--scheduler-token-file", options->scheduler_token,
                   "Schedulers must know this one instead: what is their --worker-token-file")
      ->type_name("FILE")
      ->needs("--token-file");
  command->add_option("--cache-dir", options->cache_directory, "Where models are kept; \"\" = nowhere")
      ->type_name("DIR")
      ->capture_default_str();
  AddBytes(command, "--cache-size", options->cache_bytes, "Of models; those not used for longest go");
  AddBytes(command, "--held-size", options->held_bytes, "Of feature maps on their way");
  command->callback([options] {
    SetDefaultLogLevel(LogLevel::kInfo);
    if (const absl::Status done = RunPipelineWorker(*options); !done.ok()) Fail(done);
  });
}

}  // namespace wharf::cli
