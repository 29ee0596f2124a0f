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
#include "wharf/cli/common/server_access.h"
#include "wharf/cli/split/attention_option.h"
#include "wharf/cli/split/energy_meter.h"
#include "wharf/cli/split/input.h"
#include "wharf/cli/split/log.h"
#include "wharf/cli/split/plan_file.h"
#include "wharf/cli/split/results.h"
#include "wharf/exec/torch_engine.h"
#include "wharf/graph/onnx/import.h"
#include "wharf/split/execution/slowed_engine.h"
#include "wharf/split/runtime/client.h"
#include "wharf/split/runtime/own_profile.h"
#include "wharf/wire/digest.h"

namespace wharf::cli {
namespace {

constexpr double kLargestError = 1e-4;  // of results, relative to the largest output, where rows travel exactly

struct SplitRunOptions {
  std::string model, json, plan, mode = "intra-dp", device = "auto", cache_directory = CacheDirectory();
  ServerAccess access;
  SplitInputOptions input;
  int count = 10, threads = 0, split_attention = 0;
  std::optional<Nanoseconds> duration;
  bool check = false, wait = false;
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

absl::Status RunAll(const SplitRunOptions& options, split::SplitClient& session, const exec::TensorPtr& input,
                    SplitLog& log) {
  std::vector<exec::TensorPtr> whole, results;
  if (options.check) {
    WHARF_ASSIGN_OR_RETURN(whole, exec::RunWhole(session.GetModel().Program(), {&input, 1}));
  }
  if (options.wait) WaitForALine();
  const Clock& clock = Clock::Real();
  const TimePoint start = clock.Now();
  const auto meter = power::EnergyMeter::Open();  // most machines have none
  double worst_exact = 0;
  while (options.duration ? clock.Now() - start < *options.duration : log.Count() < options.count) {
    const double joules = meter.ok() ? (*meter)->Joules() : 0;
    WHARF_ASSIGN_OR_RETURN(results, session.Run(input));
    std::optional<double> error;
    if (options.check) error = RelativeError(results, whole);
    const split::InferenceReport& report = session.Report();
    if (report.alone || session.Plans()[report.plan].encoding.Exact()) {
      worst_exact = std::max(worst_exact, error.value_or(0));
    }
    log.Add(session, error, meter.ok() ? std::optional((*meter)->Joules() - joules) : std::nullopt);
  }
  std::printf("%s%s", ResultsAsText(session.GetModel().Graph(), results).c_str(), AlternativesAsText(session).c_str());
  std::fputs(AccuracyAsText(session, results, whole).c_str(), stdout);
  if (worst_exact <= kLargestError) return absl::OkStatus();
  return DataLoss("results differ from the whole model's by more than {:g}", kLargestError);
}

// Of the model that runs: as its file has it, or with bytes as its input.
absl::StatusOr<std::unique_ptr<split::SplitClient>> OpenSession(const SplitRunOptions& options, const SplitInput& input,
                                                                const exec::Engine& engine) {
  WHARF_ASSIGN_OR_RETURN(const std::string file, ReadFile(options.model));
  auto onnx = input.ModelFor(std::as_bytes(std::span(file)));
  if (!onnx.ok()) return InvalidArgument("{}: {}", options.model, Message(onnx.status()));
  if (options.split_attention > 0) onnx = graph::WithSplitAttention(*onnx, options.split_attention);
  split::SplitClientOptions session = options.session;
  session.load = CheckingPlans(split::OnnxLoader(engine), options, wire::HexOf(wire::HashOf(*onnx)));
  session.planner = options.mode;
  session.slow_down = split::SlowDown(options.slow_down);
  session.encodings = input.Encodings();
  session.sample = [&](const split::Model& model) {
    return input.Tensor(engine, model.Graph().Type(model.Graph().inputs[0]));
  };
  session.profile = split::MeasuredProfile(wire::HashOf(*onnx), ProfileCache(options), [](const std::string& caution) {
    std::fprintf(stderr, "wharf: %s\n", caution.c_str());
  });
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

absl::Status RunSplit(SplitRunOptions options) {
  WHARF_RETURN_IF_ERROR(TakePlans(options));
  if (options.access.server.empty() && options.mode != "device-only") return InvalidArgument("say --server HOST:PORT");
  if (!options.json.empty()) WHARF_RETURN_IF_ERROR(CheckWritable(options.json));
  WHARF_ASSIGN_OR_RETURN(const SplitInput source, SplitInput::Load(options.input));
  WHARF_ASSIGN_OR_RETURN(const std::string device, exec::FindTorchDevice(options.device));
  if (options.slow_down > 1 && device != "cpu")
    return InvalidArgument("--slow-down plays a slower CPU: say --device cpu");
  WHARF_ASSIGN_OR_RETURN(auto torch, exec::MakeTorchEngineOn(device, {options.threads}));
  const auto engine = split::MakeSlowedEngine(std::move(torch), split::SlowDown(options.slow_down));
  WHARF_ASSIGN_OR_RETURN(const auto session, OpenSession(options, source, *engine));
  const graph::Graph& graph = session->GetModel().Graph();
  const graph::TensorType& type = graph.Type(graph.inputs[0]);
  WHARF_ASSIGN_OR_RETURN(const exec::TensorPtr input, source.Tensor(*engine, type));
  std::fputs(source.Text(type).c_str(), stdout);
  SplitLog log(options.model, options.mode, options.plan);
  const absl::Status ran = RunAll(options, *session, input, log);
  if (!options.json.empty()) WHARF_RETURN_IF_ERROR(WriteFile(options.json, log.Json()));
  if (log.Count() > 0) {
    const std::string plans = options.plan.empty() ? fmt::format("{} plans", session->Plans().size())
                                                   : PlansAsText(options.plan, options.stored);
    std::printf("%s\n%s%s\n", log.Table().c_str(), log.Summary().c_str(), plans.c_str());
  }
  return ran;
}

void AddOptions(CLI::App* command, SplitRunOptions& options) {
  command->add_option("model", options.model, "The model; open dimensions are 1")->type_name("MODEL.onnx")->required();
  AddServerAccess(command, options.access);
  AddSplitInput(command, options.input);
  AddSplitAttention(command, options.split_attention);
  AddModelDevice(command, options.device);
  CLI::Option* count = command->add_option("--count", options.count, "Inferences");
  count->check(CLI::Range(1, 1'000'000))->capture_default_str();
  AddQuantity(command, "--duration", options.duration, ParseDuration, "Inferences for so long, like 10min")
      ->type_name("TIME")
      ->excludes(count);
  command->add_flag("--wait", options.wait, "When connected and planned, print \"ready\" and wait for a line");
  std::vector<std::string> modes;
  for (const split::PlannerKind& kind : split::PlannerKinds()) modes.emplace_back(kind.name);
  CLI::Option* mode = command->add_option("--mode", options.mode, "Who plans");
  mode->check(CLI::IsMember(modes))->capture_default_str();
  command
      ->add_option("--plan", options.plan,
                   "Carry out what wharf plan --json wrote of this model, instead of planning; of several plans, the "
                   "best for the link's rate")
      ->type_name("PLAN.json")
      ->excludes(mode)
      ->excludes("--encoding")
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

}  // namespace

void AddSplitCommand(CLI::App& app) {
  CLI::App* command = app.add_subcommand("split", "Run a model on this machine and a server together.");
  command->footer(
      "\nExample: wharf serve, and in another terminal\n"
      "         wharf split resnet18.onnx --server 127.0.0.1:7070 --random --check --slow-down 6\n"
      "Both machines are profiled and plans made once, at the start; --plan plan.json has those of wharf plan.");
  auto options = std::make_shared<SplitRunOptions>();
  AddOptions(command, *options);
  command->callback([options] {
    FinishServerAccess("split", options->access);
    if (const absl::Status done = RunSplit(*options); !done.ok()) Fail(done);
  });
}

}  // namespace wharf::cli
