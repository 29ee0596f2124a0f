// wharf split-serve: the server's side of split inference.
#include <signal.h>

#include <cstdio>
#include <list>
#include <memory>
#include <mutex>
#include <thread>

#include "wharf/base/cache_directory.h"
#include "wharf/base/log.h"
#include "wharf/cli/commands.h"
#include "wharf/cli/model_profile.h"
#include "wharf/cli/option_types.h"
#include "wharf/exec/torch_engine.h"
#include "wharf/link/byte_stream.h"
#include "wharf/server/options.h"
#include "wharf/split/runtime/server.h"
#include "wharf/split/runtime/slowed_engine.h"

namespace wharf::cli {
namespace {

constexpr Nanoseconds kHelloTimeout = std::chrono::seconds(10);

struct SplitServeOptions {
  std::string listen = "127.0.0.1:7072", token_file, cache_directory = CacheDirectory();
  uint64_t cache_bytes = uint64_t{10} << 30;
  int threads = 0;
  size_t max_sessions = 16;
  double slow_down = 1;
};

// Accepts clients and keeps their sessions. Clients share the models and the processor.
class SplitServer {
 public:
  SplitServer(const SplitServeOptions& options, std::string token, const exec::Engine& engine)
      : options_(options),
        token_(std::move(token)),
        models_(split::OnnxLoader(engine), options.cache_directory.empty() ? "" : options.cache_directory + "/models",
                options.cache_bytes) {}

  void AcceptAll(link::Listener& listener) {
    for (auto socket = listener.Accept(); socket.ok(); socket = listener.Accept()) {
      RemoveEnded();
      const bool full = sessions_.size() >= options_.max_sessions;
      sessions_.push_back(
          {std::make_unique<split::ServerSession>(link::FromSocket(*socket), ConfigOf(full)), Clock::Real().Now()});
    }
    sessions_.clear();
  }

 private:
  struct Serving {
    std::unique_ptr<split::ServerSession> session;
    TimePoint since;
  };

  // Those too that have not said who they are for too long.
  void RemoveEnded() {
    const TimePoint now = Clock::Real().Now();
    std::erase_if(sessions_, [&](const Serving& one) {
      return one.session->Over() || (!one.session->Admitted() && now - one.since > kHelloTimeout);
    });
  }

  split::ServerConfig ConfigOf(bool full) {
    split::ServerConfig config;
    config.models = &models_;
    config.admit = [this, full](const std::string& given) -> absl::Status {
      if (!token_.empty() && !server::TokensEqual(given, token_)) {
        return Unauthenticated("the token is wrong: use the server's token file");
      }
      if (full) return ResourceExhausted("the server is full: try again later, or raise its --max-sessions");
      return absl::OkStatus();
    };
    config.machine = [this](const split::Model& model, const split::Sha256& hash) { return MachineOf(model, hash); };
    return config;
  }

  absl::StatusOr<std::string> MachineOf(const split::Model& model, const split::Sha256& hash) {
    const std::lock_guard lock(measuring_);  // one at a time, or they would measure each other
    WHARF_ASSIGN_OR_RETURN(const split::MachineProfile profile, ProfileHere(model, hash, CacheFor(options_)));
    return split::ToJson(profile);
  }
  // What a slowed machine measures is not to be found by one that is not.
  static std::string CacheFor(const SplitServeOptions& options) {
    return options.slow_down > 1 ? "" : options.cache_directory;
  }

  const SplitServeOptions& options_;
  const std::string token_;
  split::ModelStore models_;
  std::mutex measuring_;
  std::list<Serving> sessions_;
};

absl::Status RunSplitServe(const SplitServeOptions& options) {
  std::string token;
  if (!options.token_file.empty()) {
    WHARF_ASSIGN_OR_RETURN(token, server::LoadToken(options.token_file));
  } else if (!server::IsLoopbackAddress(options.listen)) {
    return InvalidArgument("others can reach {}: give --token-file FILE", options.listen);
  }
  // Blocked before other threads start, so that they inherit it.
  sigset_t ends;
  sigemptyset(&ends);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&ends, signal);
  sigprocmask(SIG_BLOCK, &ends, nullptr);
  const auto engine = split::MakeSlowedEngine(exec::MakeTorchEngine({options.threads}), options.slow_down);
  if (const std::string caution = engine->Caution(); !caution.empty()) {
    std::fprintf(stderr, "wharf: %s\n", caution.c_str());
  }
  SplitServer server(options, token, *engine);
  WHARF_ASSIGN_OR_RETURN(const auto listener, link::Listener::Create(options.listen));
  std::printf("wharf: split inference at %s\n", listener->Address().c_str());
  std::fflush(stdout);
  std::thread accepting([&] { server.AcceptAll(*listener); });
  int signal = 0;
  sigwait(&ends, &signal);
  listener->Shutdown();
  accepting.join();
  return absl::OkStatus();
}

}  // namespace

void AddSplitServeCommand(CLI::App& app) {
  CLI::App* command = app.add_subcommand("split-serve", "Offer this machine's processor for split inference.");
  command->footer(
      "\nExample: wharf split-serve --listen 0.0.0.0:7072 --token-file token. Ctrl-C ends it.\n"
      "All clients are served by one process, without encryption: on a network that is not trusted, tunnel it.");
  auto options = std::make_shared<SplitServeOptions>();
  command->add_option("--listen", options->listen, "HOST:PORT, [V6]:PORT or unix:PATH; port 0 picks a free one")
      ->capture_default_str();
  command->add_option("--token-file", options->token_file, "Clients must know the first line of FILE")
      ->type_name("FILE");
  command->add_option("--max-sessions", options->max_sessions, "Clients at a time")->capture_default_str();
  command->add_option("--threads", options->threads, "Of one operator; 0: as LibTorch chooses")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  command->add_option("--cache-dir", options->cache_directory, "Where models and profiles are kept; \"\" = nowhere")
      ->type_name("DIR")
      ->capture_default_str();
  AddBytes(command, "--cache-size", options->cache_bytes, "Of models; those not used for longest go");
  command->add_option("--slow-down", options->slow_down, "Take so many times as long: play a slower machine")
      ->check(CLI::Range(1.0, 1e4))
      ->type_name("X")
      ->capture_default_str();
  command->callback([options] {
    SetDefaultLogLevel(LogLevel::kInfo);
    if (const absl::Status done = RunSplitServe(*options); !done.ok()) Fail(done);
  });
}

}  // namespace wharf::cli
