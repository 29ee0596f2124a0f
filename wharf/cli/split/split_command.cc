// wharf split: inferences by this machine and a server together.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>

#include "wharf/base/cache_directory.h"
#include "wharf/cli/common/commands.h"
#include "wharf/cli/common/files.h"
#include "wharf/cli/common/model_device_option.h"
#include "wharf/cli/common/option_types.h"
#include "wharf/cli/common/progress_line.h"
#include "wharf/cli/common/server_access.h"
#include "wharf/cli/offload/find_server.h"
#include "wharf/cli/split/attention_option.h"
#include "wharf/cli/split/energy_meter.h"
#include "wharf/cli/split/input.h"
#include "wharf/cli/split/interruption.h"
#include "wharf/cli/split/log.h"
#include "wharf/cli/split/output.h"
#include "wharf/cli/split/plan_file.h"
#include "wharf/cli/split/results.h"
#include "wharf/cli/split/shape_option.h"
#include "wharf/exec/torch_engine.h"
#include "wharf/graph/onnx/import.h"
#include "wharf/link/address.h"
#include "wharf/split/execution/slowed_engine.h"
#include "wharf/split/runtime/client.h"
#include "wharf/split/runtime/own_profile.h"
#include "wharf/wire/digest.h"

namespace wharf::cli {
namespace {

constexpr int kDefaultCount = 10;
constexpr double kLargestError = 1e-4;  // of results, relative to the largest output, where rows travel exactly

struct SplitRunOptions {
  std::string model, json, plan, mode = "intra-dp", device = "auto", cache_directory = CacheDirectory();
  ServerAccess access;
  SplitInputOptions input;
  std::string shape, output;
  std::optional<int> count;  // default: kDefaultCount, or all there are
  int top = 5, threads = 0, split_attention = 0;
  std::optional<Nanoseconds> duration;
  bool check = false, wait = false, no_more_plans = false;
  double slow_down = 1;
  split::SplitClientOptions session;
  std::vector<split::StoredPlan> stored;  // what `plan` holds
};

// Reads the plans of --plan, if there are any: with them comes how the model is run.
absl::Status TakePlans(SplitRunOptions& options) {
  if (options.plan.empty()) return absl::OkStatus();
  WHARF_ASSIGN_OR_RETURN(options.stored, LoadPlans(options.plan));
  for (const split::StoredPlan& one : options.stored) {
    if (one.encoding != "f32") {
      return InvalidArgument("{} was made with --encoding {}: only plans made with --encoding f32 can be carried out",
                             options.plan, one.encoding);
    }
    options.session.plans.push_back(one.plan);
  }
  const split::StoredPlan& first = options.stored.front();
  options.mode = first.planner;
  options.session.objective = first.objective;
  options.shape = first.source.shape;
  options.split_attention = first.source.split_attention;
  options.input.encoding = first.encoding;
  return absl::OkStatus();
}

// Refuses models that the plans are not of.
split::ModelLoader CheckingPlans(split::ModelLoader load, const SplitRunOptions& options, std::string hash) {
  return [load = std::move(load), &options, hash = std::move(hash)](
             std::span<const std::byte> onnx) -> absl::StatusOr<std::shared_ptr<const split::Model>> {
    WHARF_ASSIGN_OR_RETURN(auto model, load(onnx));
    const auto operators = split::PlannedOperatorsOf(model->Operators());
    for (const split::StoredPlan& one : options.stored) {
      const absl::Status fits = split::CheckFits(one, operators, hash);
      if (!fits.ok()) return InvalidArgument("{} does not fit: {}", options.plan, Message(fits));
    }
    return model;
  };
}

// Of a slowed machine, apart.
std::string ProfileCache(const SplitRunOptions& options) {
  const bool apart = !options.cache_directory.empty() && options.slow_down > 1;
  return options.cache_directory + (apart ? fmt::format("/slowed-{:g}", options.slow_down) : "");
}

// Whoever measures starts the link's trace when this is ready.
void WaitForALine() {
  std::printf("ready\n");
  std::fflush(stdout);
  for (int c = std::getchar(); c != '\n' && c != EOF; c = std::getchar()) {
  }
}

bool IsEnough(const SplitRunOptions& options, bool many, int done, Nanoseconds since_start) {
  if (Interruption::By() != 0) return true;
  if (options.duration) return since_start >= *options.duration;
  return options.count || !many ? done >= options.count.value_or(kDefaultCount) : false;
}

absl::Status RunAll(const SplitRunOptions& options, split::SplitClient& session, const exec::Engine& engine,
                    SplitInput& source, SplitLog& log, SplitOutput& output) {
  const graph::Graph& graph = session.GetModel().Graph();
  const graph::TensorType& type = graph.Type(graph.inputs[0]);
  WHARF_ASSIGN_OR_RETURN(exec::TensorPtr input, source.Tensor(engine, type));
  std::fputs(source.Text(type).c_str(), stdout);
  std::vector<exec::TensorPtr> whole, results;
  if (options.wait) WaitForALine();
  const Clock& clock = Clock::Real();
  const TimePoint start = clock.Now();
  const auto meter = power::EnergyMeter::Open();  // most machines have none
  double worst_exact = 0;
  while (!IsEnough(options, source.Many(), log.Count(), clock.Now() - start)) {
    if (source.Many() && log.Count() > 0) {
      WHARF_ASSIGN_OR_RETURN(const bool more, source.Advance(type));
      if (!more) break;
      WHARF_ASSIGN_OR_RETURN(input, source.Tensor(engine, type));
    }
    if (options.check && (whole.empty() || source.Many())) {
      WHARF_ASSIGN_OR_RETURN(whole, exec::RunWhole(session.GetModel().Program(), {&input, 1}));
    }
    const double joules = meter.ok() ? (*meter)->Joules() : 0;
    WHARF_ASSIGN_OR_RETURN(results, session.Run(input));
    std::optional<double> error;
    if (options.check) error = RelativeError(results, whole);
    const split::InferenceReport& report = session.Report();
    if (report.alone || session.Plans()[report.plan].encoding.Exact()) {
      worst_exact = std::max(worst_exact, error.value_or(0));
    }
    log.Add(session, error, meter.ok() ? std::optional((*meter)->Joules() - joules) : std::nullopt);
    if (source.Many() || log.Count() == 1) WHARF_RETURN_IF_ERROR(output.Add(source.Name(), results));
  }
  if (results.empty()) return absl::OkStatus();
  const double seconds = Seconds(clock.Now() - start);
  std::printf("%d inferences in %.1f s: %.2f a second, reading inputs included\n", log.Count(), seconds,
              log.Count() / seconds);
  std::printf("%s%s", ResultsAsText(session.GetModel().Graph(), results).c_str(), AlternativesAsText(session).c_str());
  std::fputs(AccuracyAsText(session, results, whole).c_str(), stdout);
  if (worst_exact <= kLargestError) return absl::OkStatus();
  return DataLoss("results differ from the whole model's by more than {:g}", kLargestError);
}

// Of the model that runs: as its file has it, or with bytes as its input.
absl::StatusOr<std::unique_ptr<split::SplitClient>> OpenSession(const SplitRunOptions& options, ProgressLine& progress,
                                                                SplitInput& input, const exec::Engine& engine,
                                                                Interruption& interruption) {
  WHARF_ASSIGN_OR_RETURN(const std::string file, ReadFile(options.model));
  const auto shaped = graph::WithInputShape(std::as_bytes(std::span(file)), options.shape);
  if (!shaped.ok()) return InvalidArgument("{}: {}", options.model, Message(shaped.status()));
  auto onnx = input.ModelFor(*shaped);
  if (!onnx.ok()) return InvalidArgument("{}: {}", options.model, Message(onnx.status()));
  if (options.split_attention > 0) onnx = graph::WithSplitAttention(*onnx, options.split_attention);
  split::SplitClientOptions session = options.session;
  session.load = CheckingPlans(split::OnnxLoader(engine), options, wire::HexOf(wire::HashOf(*onnx)));
  session.planner = options.mode;
  session.slow_down = split::SlowDown(options.slow_down);
  session.encodings = input.Encodings();
  session.cache_directory = ProfileCache(options);
  session.plan_in_background = !options.wait;
  session.progress = [&progress](const std::string& what, double share) { progress.Set(what, share); };
  session.connected = [&](const auto& server) { interruption.Connected(server); };
  session.sample = [&](const split::Model& model) {
    return input.Tensor(engine, model.Graph().Type(model.Graph().inputs[0]));
  };
  session.profile =
      split::MeasuredProfile(options.model, wire::HashOf(*onnx), ProfileCache(options),
                             [](const std::string& caution) { std::fprintf(stderr, "wharf: %s\n", caution.c_str()); });
  WHARF_ASSIGN_OR_RETURN(session.token, options.access.Token());
  auto opened = split::SplitClient::Open(
      *std::move(onnx),
      [server = options.access.server, connecting = options.access.Connecting()] {
        return link::Connect(server, connecting);
      },
      session);
  if (opened.ok() || opened.status().code() != absl::StatusCode::kInvalidArgument) return opened;
  return InvalidArgument("{}: {}", options.model, Message(opened.status()));
}

// At one of those that announce themselves; where that fails, at the next.
absl::StatusOr<std::unique_ptr<split::SplitClient>> OpenBest(SplitRunOptions& options, ProgressLine& progress,
                                                             SplitInput& input, const exec::Engine& engine,
                                                             Interruption& interruption) {
  WHARF_ASSIGN_OR_RETURN(const std::string token, options.access.Token());
  WHARF_ASSIGN_OR_RETURN(const std::vector<FoundServer> found, FindServers(options.access, token));
  return OpenAtBest(found, SayToUser, [&](const std::string& address) {
    options.access.server = address;
    return OpenSession(options, progress, input, engine, interruption);
  });
}

// Whoever runs a few inferences only would never get better plans.
bool AwaitsPlans(const SplitRunOptions& options, const split::SplitClient& session) {
  return session.Planning() && !options.no_more_plans && !options.cache_directory.empty() && Interruption::By() == 0;
}

// What is to be said when all is done, or was interrupted.
void PrintSummary(const SplitRunOptions& options, const split::SplitClient& session, const SplitLog& log) {
  if (log.Count() == 0) return;
  const std::string plans = options.plan.empty() ? fmt::format("{} plans", session.Plans().size())
                                                 : PlansAsText(options.plan, options.stored);
  std::printf("%s\n%s%s%s\n", log.Table().c_str(), log.Summary().c_str(), plans.c_str(),
              AwaitsPlans(options, session)
                  ? "; better ones are being made, for the next time (Ctrl-C: leave that; --no-more-plans: never wait)"
                  : "");
  std::fflush(stdout);
}

void AwaitPlans(const SplitRunOptions& options, const split::SplitClient& session) {
  Clock& clock = Clock::Real();
  while (AwaitsPlans(options, session)) clock.SleepUntil(clock.Now() + std::chrono::milliseconds(50));
}

absl::Status InterruptedAfter(int inferences) {
  return MakeStatus(absl::StatusCode::kCancelled, "interrupted after {} inferences", inferences);
}

absl::Status RunSplit(SplitRunOptions options) {
  Interruption interruption;
  WHARF_RETURN_IF_ERROR(TakePlans(options));
  // Known only now: a plan may say the mode.
  if (options.access.server.empty() && options.mode != "device-only") {
    throw CLI::ValidationError("split", "say --server HOST:PORT");
  }
  const bool any = options.access.server == kAnyServer;
  if (!options.access.server.empty() && !any) {
    WHARF_RETURN_IF_ERROR(link::ParseAddress(options.access.server).status());
  }
  if (!options.json.empty()) WHARF_RETURN_IF_ERROR(CheckWritable(options.json));
  WHARF_ASSIGN_OR_RETURN(SplitOutput output, SplitOutput::Open(options.output, options.top));
  WHARF_ASSIGN_OR_RETURN(SplitInput source, SplitInput::Load(options.input));
  WHARF_ASSIGN_OR_RETURN(const std::string device, exec::FindTorchDevice(options.device));
  if (options.slow_down > 1 && device != "cpu") {
    throw CLI::ValidationError("split", "--slow-down plays a slower CPU: say --device cpu");
  }
  WHARF_ASSIGN_OR_RETURN(auto torch, exec::MakeTorchEngineOn(device, {options.threads}));
  const auto engine = split::MakeSlowedEngine(std::move(torch), split::SlowDown(options.slow_down));
  ProgressLine progress;
  WHARF_ASSIGN_OR_RETURN(auto session, any&& options.mode != "device-only"
                                           ? OpenBest(options, progress, source, *engine, interruption)
                                           : OpenSession(options, progress, source, *engine, interruption));
  if (!session->Planning()) progress.Clear();
  WHARF_RETURN_IF_ERROR(output.Check(session->GetModel().Graph()));
  interruption.Remember();
  SplitLog log(options.model, options.mode, options.plan);
  const absl::Status ran = RunAll(options, *session, *engine, source, log, output);
  PrintSummary(options, *session, log);
  if (Interruption::By() != 0) session.reset();  // the server's session ends before anything else
  if (!options.json.empty()) WHARF_RETURN_IF_ERROR(WriteFile(options.json, log.Json()));
  WHARF_RETURN_IF_ERROR(output.Write(source.Many()));
  if (!ran.ok() && source.Many() && log.Count() > 0 && !options.output.empty()) {
    std::printf("%s has the results of the first %d\n", options.output.c_str(), log.Count());
  }
  if (session == nullptr) return ran.ok() ? InterruptedAfter(log.Count()) : ran;
  if (ran.ok()) AwaitPlans(options, *session);
  if (ran.ok() && Interruption::By() != 0) return InterruptedAfter(log.Count());
  return ran;
}

void AddOptions(CLI::App* command, SplitRunOptions& options) {
  command->add_option("model", options.model, kModelHelp)->type_name("MODEL.onnx")->required();
  AddShape(command, options.shape);
  AddServerAccess(command, options.access);
  AddSplitInput(command, options.input);
  AddSplitAttention(command, options.split_attention);
  AddModelDevice(command, options.device);
  command
      ->add_option("--output", options.output,
                   "Write what the model gives: FILE.npy (one output), FILE.npz (all, by name), FILE.json (the largest "
                   "numbers); of several inputs one behind the other")
      ->check([](const std::string& path) { return std::string(Message(SplitOutput::CheckEnding(path))); })
      ->type_name("FILE");
  command->add_option("--top", options.top, "How many of the largest numbers FILE.json has of an output")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  CLI::Option* count = command->add_option(
      "--count", options.count, "Inferences; default: 10 of one input, all there are of a folder, a video or a stream");
  count->check(CLI::Range(1, 1'000'000));
  AddQuantity(command, "--duration", options.duration, ParseDuration, "Inferences for so long, like 10min")
      ->type_name("TIME")
      ->excludes(count);
  command->add_flag("--no-more-plans", options.no_more_plans,
                    "End with the last result, though better plans for the next time are still being made");
  command->add_flag("--wait", options.wait, "When connected and planned, print \"ready\" and wait for a line");
  std::vector<std::string> modes;
  for (const split::PlannerKind& kind : split::PlannerKinds()) modes.emplace_back(kind.name);
  CLI::Option* mode = command->add_option("--mode,--planner", options.mode, "Who plans");
  mode->check(CLI::IsMember(modes))->capture_default_str();
  command
      ->add_option("--plan", options.plan,
                   "Carry out what wharf plan --json wrote of this model, instead of planning; of several plans, the "
                   "best for the link's rate")
      ->type_name("PLAN.json")
      ->excludes(mode)
      ->excludes("--encoding")
      ->excludes("--shape")
      ->excludes("--split-attention");
  command->add_flag("--check", options.check,
                    "Compare every result with the whole model's: fails beyond 1e-4 where rows travel exactly, and "
                    "says what rounding "
                    "and JPEGs cost");
  AddDuration(command, "--slack", options.session.slack,
              "How much longer than planned rows are waited for before this machine finishes alone (at least a quarter "
              "of what it takes alone)");
  command
      ->add_option("--budget", options.session.planner_options.budget,
                   "Of searching planners: operators walked for each plan (wharf plan --budget)")
      ->check(CLI::Range(int64_t{1}, int64_t{1'000'000'000'000}))
      ->capture_default_str();
  command->add_option("--threads", options.threads, "Of one operator; 0: as LibTorch chooses")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  command
      ->add_option("--slow-down", options.slow_down,
                   "Take so many times as long to compute and to encode rows: play a slower machine")
      ->check(CLI::Range(1.0, 1e4))
      ->type_name("X")
      ->capture_default_str();
  command->add_option("--json", options.json, "Write an array with one flat object an inference")->type_name("FILE");
  command->add_option("--cache-dir", options.cache_directory, "Where profiles are kept; \"\" = nowhere")
      ->type_name("DIR")
      ->capture_default_str();
}

constexpr const char* kSplitFooter = R"(
Example: wharf serve, and in another terminal
         wharf split resnet18.onnx --server 127.0.0.1:7070 --random --check --slow-down 6
         wharf split resnet18.onnx --server edge:7070 --input photos/ --output classes.json
         ffmpeg -i rtsp://camera -f image2pipe -c:v mjpeg - | wharf split yolo.onnx --server edge:7070 --input -
Ctrl-C ends it after the inference at hand, with its summary; a second one at once.
Both machines are profiled and plans made once and kept. Until there are any, simple ones are used, and the command ends
when they are made, or with its last result (--no-more-plans). --plan plan.json has those of wharf plan.)";

}  // namespace

void AddSplitCommand(CLI::App& app) {
  CLI::App* command = app.add_subcommand("split", "Run a model on this machine and a server together.");
  command->footer(kSplitFooter);
  auto options = std::make_shared<SplitRunOptions>();
  AddOptions(command, *options);
  command->callback([options] {
    FinishServerAccess("split", options->access);
    const absl::Status done = RunSplit(*options);
    if (!done.ok()) Fail(done);
    if (done.code() == absl::StatusCode::kCancelled && Interruption::By() != 0) {
      SetExitCode(128 + Interruption::By());  // as shells call it
    }
  });
}

}  // namespace wharf::cli
