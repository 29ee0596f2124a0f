#include <filesystem>
#include <memory>
#include <string>

#include "wharf/base/cache_directory.h"
#include "wharf/base/log.h"
#include "wharf/cli/common/access_options.h"
#include "wharf/cli/common/announce_option.h"
#include "wharf/cli/common/commands.h"
#include "wharf/cli/common/config_option.h"
#include "wharf/cli/common/confined_server.h"
#include "wharf/cli/common/option_types.h"
#include "wharf/cli/programs/own_programs.h"
#include "wharf/server/daemon/daemon.h"

namespace wharf::cli {
namespace {

constexpr const char* kServeFooter = R"(
Other servers are for other clients: wharf ar serve (which is wharf serve --ar) for wharf ar client; wharf pipeline
worker on each machine of a pool, and wharf pipeline serve before them.

Every client gets a worker process of its own: a fault or a crash of one never touches another. Addresses that other
machines can reach need a token or mutual TLS:
  openssl rand -hex 32 > token && wharf serve --listen 0.0.0.0:7070 --token-file token
SIGTERM drains and ends with code 0; SIGUSR1 logs the counters. WHARF_LOG=debug|info|warn|error sets how much is logged.)";

void AddTimeouts(CLI::App* command, server::ServerOptions& options) {
  AddDuration(command, "--idle-timeout", options.idle_timeout, "A client not heard of for this long is gone");
  AddDuration(command, "--hello-timeout", options.hello_timeout, "A connection must say who it is within this time");
  AddDuration(command, "--resume-timeout", options.resume_timeout,
              "A session whose connection dropped waits this long for its client; 0 = not at all");
  AddDuration(command, "--drain-timeout", options.drain_timeout, "After SIGTERM sessions end within this time");
}

struct ServeOptions : server::ServerOptions {
  bool announce = false;
};

absl::Status RunServer(ServeOptions& options) {
  if (options.announce) {
    WHARF_ASSIGN_OR_RETURN(options.announce_program, FindAnnounceProgram(options.listen));
  }
  return server::RunDaemon(options);
}

void Serve(ServeOptions& options) {
  SetDefaultLogLevel(LogLevel::kInfo);
  // Workers have a place of their own.
  std::erase(options.kernel_packs, "");  // of the configuration's default
  for (std::string& path : options.kernel_packs) path = std::filesystem::absolute(path).string();
  options.worker_program = FindOwnProgram(kWorkerProgram);
  options.model_program = FindOwnProgram(kModelProgram);
  const absl::Status served = RunServer(options);
  if (!served.ok()) Fail(served);
}

}  // namespace

void AddServeCommand(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "serve", "Offer this machine's GPU or CPU to other machines: to `wharf run` and `wharf split`.");
  command->footer(kServeFooter);
  auto options = std::make_shared<ServeOptions>();
  options->cache_directory = CacheDirectory();
  // main.cc sees to it before this command does.
  command
      ->add_flag_callback(
          "--ar", [] {}, "Serve AR clients instead: wharf ar serve, with its options")
      ->configurable(false);
  AddConfigOption(command);
  command->add_option("--listen", options->listen, "HOST:PORT, [V6]:PORT or unix:PATH; port 0 picks a free one")
      ->capture_default_str();
  AddAnnounceOption(command, options->announce);
  command->add_option("--device", options->device, "soft (CPU), cuda (GPU), or auto: cuda if there is one")
      ->capture_default_str();
  command
      ->add_option("--model-device", options->model_device,
                   "Where models run: cpu, cuda (the first GPU), cuda:N, or auto: cuda if LibTorch can use one")
      ->capture_default_str();
  AddBytes(command, "--memory", options->memory_quota, "Memory of one session: of the device, or for its model");
  AddBytes(command, "--worker-memory", options->worker_memory,
           "Memory that a session on a soft device may take besides: for code and compiling it, messages, queues");
  AddDuration(command, "--compile-limit", options->compile_limit,
              "Processor time that compiling one kernel may take on a soft device; 0 = any");
  AddDuration(command, "--kernel-timeout", options->kernel_timeout,
              "How long a kernel may run on a soft device before it fails; 0 = as long as it likes");
  command->add_option("--max-sessions", options->max_sessions, "Clients at a time")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  command
      ->add_option("--threads", options->threads, "CPU threads of one session (models, --device soft); 0 = all cores")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  AddComputeCapability(command, options->compute_capability,
                       "What a soft device says it has, with the limits of such GPUs");
  command
      ->add_option_function<std::string>(
          "--share", [options](const std::string& how) { options->fair_share = how == "fair"; },
          "fair: sessions that compete get equal shares of a soft device; none: as the system schedules them")
      ->check(CLI::IsMember({"fair", "none"}))
      ->default_str("fair");
  command
      ->add_option("--kernel-pack", options->kernel_packs,
                   "PTX for programs that carry machine code only, for a soft device (wharf pack); may be repeated")
      ->type_name("FILE")
      ->allow_extra_args(false);
  AddAccessOptions(command, options->access);
  AddSandboxOption(command, options->sandbox,
                   "What keeps a worker that was taken over. strong: it makes only the system calls it needs, and sees "
                   "no files, processes or network but its own");
  command->add_flag("--unsafe-replay", options->unsafe_replay,
                    "Have the mode replay_speculative, to compare with: a program that deviates computes with wrong "
                    "memory");
  command
      ->add_option("--cache-dir", options->cache_directory,
                   "Where compiled kernels, clients' models and their profiles are kept; \"\" = nowhere")
      ->type_name("DIR")
      ->capture_default_str();
  AddBytes(command, "--model-cache", options->model_cache_bytes, "Of models kept; those not used for longest go");
  AddTimeouts(command, *options);
  command->add_option("--status-file", options->status_file, "Keep counters in this file, as JSON")->type_name("FILE");
  command->callback([options] { Serve(*options); });
}

}  // namespace wharf::cli
