#include "wharf/pipeline/stages/block_profiler.h"

#include <algorithm>
#include <charconv>
#include <random>
#include <thread>

#include "wharf/exec/torch_engine.h"
#include "wharf/pipeline/cluster.h"
#include "wharf/pipeline/stages/blocks.h"
#include "wharf/pipeline/stages/stage_runner.h"
#include "wharf/split/costs/machine_profile.h"
#include "wharf/split/execution/slowed_engine.h"
#include "wharf/split/profiler/noise.h"

namespace wharf::pipeline {
namespace {

constexpr int kMostValuesAtACut = 8, kMaxThreads = 1024;
constexpr double kMaxSlowdown = 1e4;

using Runner = std::shared_ptr<const StageRunner>;

// µs of the steps of StageRunner::Run on a piece of a model, of one round or of several.
template <typename Time>
struct Steps {
  Time in, computing, out;
};
using Rounds = Steps<std::vector<double>>;
using Taken = Steps<double>;
double Total(const Taken& taken) { return taken.in + taken.computing + taken.out; }

// Places of a cut with as few values as `blocks` blocks allow.
std::vector<int> PlacesFor(const BatchedModel& model, int blocks) {
  std::vector<int> places;
  for (int values = 1; values <= kMostValuesAtACut; ++values) {
    places = CutPlaces(model.Graph(), values);
    std::erase_if(places, [&](int place) { return !model.CanCutAt(place); });
    if (static_cast<int>(places.size()) + 1 >= blocks) break;
  }
  return places;
}

absl::StatusOr<std::vector<Runner>> RunnersOf(const std::shared_ptr<const BatchedModel>& model,
                                              const std::vector<int>& first_node) {
  std::vector<Runner> runners;
  for (size_t i = 0; i < first_node.size(); ++i) {
    const int end = i + 1 < first_node.size() ? first_node[i + 1] : static_cast<int>(model->Graph().nodes.size());
    WHARF_ASSIGN_OR_RETURN(Runner runner, StageRunner::Make(model, first_node[i], end));
    runners.push_back(std::move(runner));
  }
  return runners;
}

// Floats from 0 to 1, and zeros of other types; always the same.
Sample SampleFor(const graph::Graph& graph) {
  Sample sample;
  std::mt19937 random(1);
  for (const int input : graph.inputs) {
    const graph::TensorType& type = graph.Type(input);
    const bool is_float = type.element == graph::ElementType::kFloat;
    for (int64_t i = 0; is_float && i < type.Elements(); ++i) {
      const float value = std::uniform_real_distribution<float>(0, 1)(random);
      const auto bytes = std::as_bytes(std::span(&value, 1));
      sample.insert(sample.end(), bytes.begin(), bytes.end());
    }
    if (!is_float) sample.resize(sample.size() + type.Bytes());
  }
  return sample;
}

double Us(Nanoseconds time) { return 1e3 * Milliseconds(time); }

// Runs the pieces one after the other, each on what the one before made; adds to each one's times.
absl::Status RunRound(const std::vector<Runner>& pieces, const std::vector<Sample>& batch, const Clock& clock,
                      std::vector<Rounds>& times) {
  std::vector<Sample> samples = batch;
  for (size_t i = 0; i < pieces.size(); ++i) {
    const TimePoint start = clock.Now();
    WHARF_ASSIGN_OR_RETURN(const auto inputs, pieces[i]->Enter(samples));
    const TimePoint entered = clock.Now();
    WHARF_ASSIGN_OR_RETURN(const auto outputs, pieces[i]->Compute(inputs));
    const TimePoint computed = clock.Now();
    WHARF_ASSIGN_OR_RETURN(samples, pieces[i]->Leave(outputs));
    times[i].in.push_back(Us(entered - start));
    times[i].computing.push_back(Us(computed - entered));
    times[i].out.push_back(Us(clock.Now() - computed));
  }
  return absl::OkStatus();
}

double NoiseOf(const std::vector<Rounds>& times, double quantile) {
  split::Noise noise;
  for (const Rounds& one : times) {
    std::vector<double> totals = one.computing;
    for (size_t i = 0; i < totals.size(); ++i) totals[i] += one.in[i] + one.out[i];
    noise.Add(totals, quantile);
  }
  return noise.Share();
}

// Medians, or where others disturb, lower quartiles of three times as many; raises `worst` to their noise.
absl::StatusOr<std::vector<Taken>> Measure(const std::vector<Runner>& pieces, const std::vector<Sample>& batch,
                                           int rounds, const Clock& clock, double& worst) {
  std::vector<Rounds> first(pieces.size()), times(pieces.size());
  WHARF_RETURN_IF_ERROR(RunRound(pieces, batch, clock, first));
  for (int round = 0; round < rounds; ++round) WHARF_RETURN_IF_ERROR(RunRound(pieces, batch, clock, times));
  double quantile = split::kMedian;
  if (NoiseOf(times, quantile) > split::kMuchNoise) {
    for (int round = 0; round < 2 * rounds; ++round) WHARF_RETURN_IF_ERROR(RunRound(pieces, batch, clock, times));
    quantile = split::kLowerQuartile;
  }
  worst = std::max(worst, NoiseOf(times, quantile));
  std::vector<Taken> taken;
  for (const Rounds& one : times) {
    const auto of = [quantile](const std::vector<double>& step) { return split::Quantile(step, quantile); };
    taken.push_back({of(one.in), of(one.computing), of(one.out)});
  }
  return taken;
}

absl::StatusOr<std::vector<int>> CutIntoBlocks(const std::shared_ptr<const BatchedModel>& model,
                                               const BlockProfilerOptions& options, const Clock& clock) {
  std::vector<int> first_node = PlacesFor(*model, options.blocks);
  if (first_node.empty()) return InvalidArgument("the model cannot be cut anywhere");
  first_node.insert(first_node.begin(), 0);
  WHARF_ASSIGN_OR_RETURN(const auto pieces, RunnersOf(model, first_node));
  double noise = 0;  // of places to cut, which may be rough
  WHARF_ASSIGN_OR_RETURN(const auto times, Measure(pieces, {SampleFor(model->Graph())}, options.rounds, clock, noise));
  std::vector<Layer> layers;
  for (size_t i = 0; i < pieces.size(); ++i) {
    layers.push_back({times[i].computing, static_cast<int64_t>(pieces[i]->OutputBytes())});
  }
  WHARF_ASSIGN_OR_RETURN(const std::vector<int> ends, options.cuts == CutRule::kEqualTime
                                                          ? EqualTimeBlocks(layers, options.blocks)
                                                          : SmallestCutBlocks(layers, options.blocks));
  if (ends.size() < 2) return InvalidArgument("one piece of the model takes nearly all the time: no two blocks");
  std::vector<int> firsts = {0};
  for (size_t i = 0; i + 1 < ends.size(); ++i) firsts.push_back(first_node[ends[i]]);
  return firsts;
}

template <typename T>
bool ParseNumber(std::string_view text, T& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

// One that can be called by the same name tomorrow: what "auto" is may change.
bool IsDevice(std::string_view text) {
  constexpr std::string_view kNumbered = "cuda:";
  int number = -1;
  if (text == "cpu" || text == "cuda") return true;
  return text.starts_with(kNumbered) && ParseNumber(text.substr(kNumbered.size()), number) && number >= 0;
}

absl::Status SetProperty(std::string_view text, DeviceClass& device) {
  const size_t colon = text.find(':');
  const std::string_view key = text.substr(0, colon), value = colon < text.size() ? text.substr(colon + 1) : "";
  if (key == "threads" && ParseNumber(value, device.threads) && device.threads >= 1 && device.threads <= kMaxThreads) {
    return absl::OkStatus();
  }
  if (key == "slowdown" && ParseNumber(value, device.slowdown) && device.slowdown >= 1 &&
      device.slowdown <= kMaxSlowdown) {
    return absl::OkStatus();
  }
  if (key == "vgpus" && ParseNumber(value, device.vgpus) && device.vgpus >= 1 && device.vgpus <= kMaxVgpus) {
    return absl::OkStatus();
  }
  if (key == "device" && IsDevice(value)) {
    device.device = value;
    return absl::OkStatus();
  }
  return InvalidArgument(
      "\"{}\" of class {}: write threads:N, slowdown:X or vgpus:1 to 4, at least 1, or device:cpu, cuda or cuda:N",
      text, device.name);
}

// What is wrong with a class's device, if anything is.
absl::Status WithClass(const DeviceClass& device, const absl::Status& status) {
  return status.ok() ? status : MakeStatus(status.code(), "class {}: {}", device.name, Message(status));
}

// The other parts of a GPU, computing the same until it goes.
class Company {
 public:
  Company(const std::vector<Runner>& pieces, const std::vector<Sample>& batch, int parts) {
    for (int i = 0; i < parts; ++i) {
      threads_.emplace_back([&pieces, &batch](const std::stop_token& enough) {
        absl::StatusOr<std::vector<Sample>> samples = batch;
        for (size_t piece = 0; !enough.stop_requested() && samples.ok(); piece = (piece + 1) % pieces.size()) {
          if (piece == 0) samples = batch;
          samples = pieces[piece]->Run(*samples);
        }
      });
    }
  }

 private:
  std::vector<std::jthread> threads_;
};

absl::Status MeasureParts(const DeviceClass& device, int parts, std::span<const std::byte> onnx,
                          const BlockProfilerOptions& options, const Clock& clock, BlockProfile& result) {
  WHARF_ASSIGN_OR_RETURN(const auto engine, MakeEngine(device, parts));
  WHARF_ASSIGN_OR_RETURN(const auto model, BatchedModel::Load(*engine, onnx, options.max_batch));
  if (result.first_node.empty()) {
    WHARF_ASSIGN_OR_RETURN(result.first_node, CutIntoBlocks(model, options, clock));
    result.together = model->Together();
  }
  WHARF_ASSIGN_OR_RETURN(const auto blocks, RunnersOf(model, result.first_node));
  VgpuProfile& measured = result.profile.vgpus.emplace_back();
  measured.gpu_class = device.name;
  measured.vgpus_per_gpu = parts;
  for (int batch = 1; batch <= options.max_batch; ++batch) {
    const std::vector<Sample> samples(batch, SampleFor(model->Graph()));
    const Company others(blocks, samples, parts - 1);
    WHARF_ASSIGN_OR_RETURN(const auto times, Measure(blocks, samples, options.rounds, clock, result.noise));
    auto &latency = measured.latency_us.emplace_back(), &saved = measured.saved_us.emplace_back();
    for (size_t i = 0; i < times.size(); ++i) {
      latency.push_back(Total(times[i]));
      saved.push_back(i + 1 < times.size() ? times[i].out + times[i + 1].in : 0);
    }
  }
  if (!result.profile.output_bytes.empty()) return absl::OkStatus();
  for (const Runner& block : blocks) result.profile.output_bytes.push_back(static_cast<int64_t>(block->OutputBytes()));
  result.profile.output_bytes.back() = 0;  // nothing is cut behind the last block
  return absl::OkStatus();
}

}  // namespace

std::string DeviceClass::Text() const {
  std::string text = fmt::format("{}=threads:{},slowdown:{:g}", name, threads, slowdown);
  if (vgpus != 1) text += fmt::format(",vgpus:{}", vgpus);
  if (device != "cpu") text += ",device:" + device;
  return text;
}

absl::StatusOr<std::vector<DeviceClass>> ParseClasses(std::string_view text) {
  std::vector<DeviceClass> classes;
  for (size_t from = 0; from <= text.size();) {
    const size_t comma = std::min(text.find(',', from), text.size());
    std::string_view item = text.substr(from, comma - from);
    from = comma + 1;
    if (const size_t equals = item.find('='); equals != std::string_view::npos || classes.empty()) {
      classes.push_back({std::string(item.substr(0, equals))});
      item = equals < item.size() ? item.substr(equals + 1) : "";
      if (item.empty()) continue;
    }
    WHARF_RETURN_IF_ERROR(SetProperty(item, classes.back()));
  }
  for (const DeviceClass& device : classes) {
    const auto same = [&](const DeviceClass& other) { return other.name == device.name; };
    if (device.name.empty()) return InvalidArgument("a class needs a name: NAME=threads:N,slowdown:X");
    if (std::ranges::count_if(classes, same) > 1) return InvalidArgument("class {} is there twice", device.name);
  }
  return classes;
}

absl::StatusOr<std::unique_ptr<exec::Engine>> MakeEngine(const DeviceClass& device, int parts) {
  auto engine = exec::MakeTorchEngineOn(device.device, {device.threads});
  if (!engine.ok()) return WithClass(device, engine.status());
  return split::MakeSlowedEngine(*std::move(engine), split::SlowDown(parts * device.slowdown));
}

absl::StatusOr<BlockProfile> ProfileBlocks(const std::string& name, std::span<const std::byte> onnx,
                                           const BlockProfilerOptions& options, const Clock& clock) {
  if (options.classes.empty()) return InvalidArgument("no device class to measure on");
  BlockProfile result;
  result.profile.model = name;
  for (const DeviceClass& device : options.classes) {
    WHARF_RETURN_IF_ERROR(WithClass(device, exec::FindTorchDevice(device.device).status()));
  }
  for (const DeviceClass& device : options.classes) {
    for (int parts = 1; parts <= device.vgpus; ++parts) {
      WHARF_RETURN_IF_ERROR(MeasureParts(device, parts, onnx, options, clock, result));
    }
  }
  return result;
}

}  // namespace wharf::pipeline
