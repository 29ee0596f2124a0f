#include "wharf/split/runtime/client.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <utility>

#include "absl/time/time.h"
#include "wharf/link/connect_again.h"
#include "wharf/split/profiler/profiler.h"
#include "wharf/split/runtime/measure_codings.h"
#include "wharf/split/runtime/plan_cache.h"

namespace wharf::split {
namespace {

constexpr const char* kDeviceOnly = "device-only";
constexpr const char* kAtOnce = "dsccs";  // who plans in moments

// Trying again does not help.
bool IsFinal(const absl::Status& why) {
  switch (why.code()) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kUnauthenticated:
    case absl::StatusCode::kUnimplemented:
      return true;
    default:
      return false;
  }
}

bool UsesServer(const Plan& plan) {
  return std::any_of(plan.rows[kServer].begin(), plan.rows[kServer].end(), [](RowRange rows) { return !rows.Empty(); });
}

}  // namespace

SplitClient::SplitClient(std::shared_ptr<const Model> model, std::vector<std::byte> onnx, Dial dial,
                         const SplitClientOptions& options)
    : model_(std::move(model)),
      onnx_(std::make_shared<const std::vector<std::byte>>(std::move(onnx))),
      dial_(std::move(dial)),
      options_(options),
      estimator_(*options_.clock) {}

SplitClient::~SplitClient() {
  std::shared_ptr<ServerConnection> link;
  {
    absl::MutexLock lock(&mutex_);
    ending_ = true;
    link = std::exchange(server_, nullptr);
  }
  if (link != nullptr) link->Leave();  // first: the server need not wait for our threads
  if (reconnecting_.joinable()) reconnecting_.join();
  if (planner_.joinable()) planner_.join();
  // A link that ends says so to the session, on its own thread: it must not be destroyed under the mutex.
  link.reset();
  last_link_.reset();
}

absl::StatusOr<std::unique_ptr<SplitClient>> SplitClient::Open(std::vector<std::byte> onnx, Dial dial,
                                                               const SplitClientOptions& options) {
  WHARF_ASSIGN_OR_RETURN(std::shared_ptr<const Model> model, options.load(onnx));
  std::unique_ptr<SplitClient> session(new SplitClient(std::move(model), std::move(onnx), std::move(dial), options));
  WHARF_RETURN_IF_ERROR(session->Start());
  return session;
}

absl::Status SplitClient::Start() {
  if (options_.planner == kDeviceOnly) return MakePlans(Untimed(model_->Operators()));
  WHARF_RETURN_IF_ERROR(Sample().status());  // whoever has no input for the model need not connect
  Say("connecting, and sending the model if the server does not have it", -1);
  WHARF_ASSIGN_OR_RETURN(const std::shared_ptr<ServerConnection> link, link::TryAgain([this] { return DialOnce(); }));
  Say("waiting for the server's profile of the model", -1);
  WHARF_ASSIGN_OR_RETURN(const std::string machine, link->AskMachine());
  Say("looking for this machine's profile of the model, or measuring it", -1);
  WHARF_ASSIGN_OR_RETURN(Profile profile, options_.profile(*model_, machine));
  WHARF_RETURN_IF_ERROR(MakePlans(std::move(profile)));
  {
    absl::MutexLock lock(&mutex_);
    server_ = link;
  }
  reconnecting_ = std::thread([this] { ReconnectLoop(); });
  return absl::OkStatus();
}

void SplitClient::Say(const std::string& what, double share) const {
  if (options_.progress != nullptr) options_.progress(what, share);
}

absl::Status SplitClient::MakePlans(Profile profile) {
  WHARF_RETURN_IF_ERROR(Validate(profile));
  if (profile.Size() != model_->View().rows.Size()) return InvalidArgument("the profile is of another model");
  WHARF_ASSIGN_OR_RETURN(const PlanningOptions planning, Question());
  const bool searches = planning.plans.empty() && planning.planner != kDeviceOnly && planning.planner != "server-only";
  if (!searches || !options_.plan_in_background || planning.planner == kAtOnce) {
    WHARF_ASSIGN_OR_RETURN(plans_, Planned(profile, planning));
    return absl::OkStatus();
  }
  PlanningOptions at_once = planning;
  at_once.planner = kAtOnce;
  WHARF_ASSIGN_OR_RETURN(plans_, Planned(profile, at_once));
  absl::MutexLock lock(&mutex_);
  planning_ = true;
  planner_ = std::thread([this, profile = std::move(profile), planning] {
    // Inferences come first.
    const auto thread = static_cast<id_t>(gettid());
    setpriority(PRIO_PROCESS, thread, getpriority(PRIO_PROCESS, thread) + 5);
    auto made = Planned(profile, planning);
    absl::MutexLock lock(&mutex_);
    if (made.ok()) better_ = *std::move(made);
    planning_ = false;
  });
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<EncodedPlans>> SplitClient::Planned(const Profile& profile, PlanningOptions planning) {
  const PlanCache kept(options_.planner == kDeviceOnly ? "" : options_.cache_directory, profile, planning);
  planning.kept = &kept;
  const std::string what = "planning (" + planning.planner + ")";
  planning.go_on = [&](double share) {
    Say(what, share);
    absl::MutexLock lock(&mutex_);
    return !ending_;
  };
  return EncodedPlans::Make(profile, planning);
}

bool SplitClient::Planning() const {
  absl::MutexLock lock(&mutex_);
  return planning_;
}

void SplitClient::AwaitPlans() {
  absl::MutexLock lock(&mutex_);
  const auto done = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return !planning_; };
  mutex_.Await(absl::Condition(&done));
}

void SplitClient::TakeBetterPlans() {
  std::unique_ptr<EncodedPlans> better;
  {
    absl::MutexLock lock(&mutex_);
    better = std::move(better_);
  }
  if (better == nullptr) return;
  better->TakeOver(*plans_);
  first_plan_ += static_cast<uint32_t>(Plans().size());
  plans_ = std::move(better);
  steps_.clear();
}

absl::StatusOr<PlanningOptions> SplitClient::Question() {
  const link::LinkEstimate estimate = estimator_.Estimate();
  if (estimate.round_trip > Nanoseconds::zero()) link_.round_trip_ms = Milliseconds(estimate.round_trip);
  PlanningOptions planning;
  planning.planner = options_.planner;
  planning.planner_options = options_.planner_options;
  planning.encodings = options_.encodings;
  planning.plans = options_.plans;
  planning.objective = options_.objective;
  planning.link = link_;
  const auto coded = [](const Encoding& encoding) { return encoding != Encoding(); };
  if (options_.planner != kDeviceOnly && std::any_of(planning.encodings.begin(), planning.encodings.end(), coded)) {
    WHARF_ASSIGN_OR_RETURN(const exec::TensorPtr sample, Sample());
    WHARF_ASSIGN_OR_RETURN(planning.costs, MeasureCodings(*model_, sample, planning.encodings));
    // One of the two machines is the slow one, whichever way rows go.
    for (auto& [coding, cost] : planning.costs) cost.ms_per_byte *= (1 + options_.slow_down.Factor()) / 2;
  }
  return planning;
}

absl::StatusOr<exec::TensorPtr> SplitClient::Sample() const {
  if (options_.sample != nullptr) return options_.sample(*model_);
  return SampleInput(model_->Engine(), model_->Graph().Type(model_->Graph().inputs[0]));
}

// --- The connection ---

absl::StatusOr<std::shared_ptr<ServerConnection>> SplitClient::DialOnce() {
  WHARF_ASSIGN_OR_RETURN(std::unique_ptr<link::ByteStream> stream, dial_());
  ServerConnectionConfig config;
  config.model = model_;
  config.onnx = onnx_;
  config.token = options_.token;
  config.ticket = &ticket_;
  config.slow_down = options_.slow_down;
  config.estimator = &estimator_;
  config.clock = options_.clock;
  config.on_closed = [this] {
    absl::MutexLock lock(&mutex_);
    lost_ = true;
  };
  WHARF_ASSIGN_OR_RETURN(std::shared_ptr<ServerConnection> link,
                         ServerConnection::Open(std::move(stream), std::move(config)));
  if (options_.connected != nullptr) options_.connected(link);
  return link;
}

bool SplitClient::AwaitLoss() {
  std::shared_ptr<ServerConnection> dead;  // destroyed after the lock
  absl::MutexLock lock(&mutex_);
  const auto work = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return ending_ || lost_ || server_ == nullptr; };
  for (;;) {
    mutex_.Await(absl::Condition(&work));
    lost_ = false;
    if (ending_) return false;
    if (server_ == nullptr) return true;
    const absl::Status why = server_->Why();
    if (why.ok()) continue;  // it was another
    dead = std::exchange(server_, nullptr);
    if (!IsFinal(why)) return true;
    given_up_ = why;  // what was refused once will be refused again
    return false;
  }
}

void SplitClient::ReconnectLoop() {
  Nanoseconds pause = options_.first_pause;
  while (AwaitLoss()) {
    auto link = DialOnce();
    absl::MutexLock lock(&mutex_);
    if (link.ok() && !ending_) {
      server_ = *std::move(link);
      pause = options_.first_pause;
    } else if (!link.ok() && IsFinal(link.status())) {
      given_up_ = link.status();
      return;
    } else {
      mutex_.AwaitWithTimeout(absl::Condition(&ending_), absl::FromChrono(pause));
      pause = std::min(2 * pause, options_.last_pause);
    }
  }
}

std::shared_ptr<ServerConnection> SplitClient::AliveLink() const {
  absl::MutexLock lock(&mutex_);
  return server_ != nullptr && server_->Alive() ? server_ : nullptr;
}

bool SplitClient::Connected() const { return AliveLink() != nullptr; }

absl::Status SplitClient::GivenUp() const {
  absl::MutexLock lock(&mutex_);
  return given_up_;
}

// --- Inferences ---

void SplitClient::Choose(bool connected) {
  const double last_ms = report_.latency_ms;
  report_ = {};
  if (connected) {
    const link::LinkEstimate estimate = estimator_.Estimate();
    report_.bytes_per_ms = estimate.up_bits_per_second / 8e3;
    report_.plan = plans_->Choose(report_.bytes_per_ms, Doubt(last_ms));
  }
  link_.bytes_per_ms = report_.bytes_per_ms;
  if (connected) report_.planned_ms = plans_->Evaluate(report_.plan, link_).latency_ms;
  if (!connected || !std::isfinite(report_.planned_ms)) {  // a link that carries nothing
    report_.plan = Alone();
    report_.planned_ms = plans_->Evaluate(report_.plan, link_).latency_ms;
  }
  report_.alone = !UsesServer(Plans()[report_.plan]);
  const double alone_ms = plans_->Evaluate(Alone(), link_).latency_ms;
  report_.predicted_bound_ms = alone_ms;
  if (!report_.alone) report_.predicted_bound_ms += report_.planned_ms + Milliseconds(Slack(alone_ms));
  report_.bound_ms = report_.predicted_bound_ms;
}

Nanoseconds SplitClient::Slack(double alone_ms) const { return std::max(options_.slack, FromSeconds(alone_ms / 4e3)); }

absl::StatusOr<const SideSteps*> SplitClient::StepsOf(uint32_t plan) {
  const auto found = steps_.find(plan);
  if (found != steps_.end()) return &found->second;
  WHARF_ASSIGN_OR_RETURN(SideSteps steps, CompileSteps(model_->View(), Plans()[plan], kDevice));
  return &steps_.emplace(plan, std::move(steps)).first->second;
}

Nanoseconds SplitClient::Patience() {
  const double alone_ms = plans_->Evaluate(Alone(), link_).latency_ms;
  const Outcome planned = plans_->Evaluate(report_.plan, link_);
  return FromSeconds((planned.latency_ms - planned.busy_ms[kDevice]) / 1e3) + Slack(alone_ms);
}

absl::Status SplitClient::RunTogether(const std::shared_ptr<ServerConnection>& link,
                                      const std::shared_ptr<Recorder>& recorder, RowStore& store) {
  WHARF_ASSIGN_OR_RETURN(const SideSteps* const steps, StepsOf(report_.plan));
  WHARF_ASSIGN_OR_RETURN(const ServerConnection::Inference inference,
                         link->Begin(first_plan_ + report_.plan, Plans()[report_.plan], *steps, recorder));
  last_link_ = link;
  last_inference_ = inference.number;
  return RunSteps({model_->Program(), *steps, kDevice, *inference.inbox, *inference.outbox, *recorder, Patience()},
                  store);
}

absl::StatusOr<std::vector<exec::TensorPtr>> SplitClient::Run(const exec::TensorPtr& input) {
  const int value = model_->Graph().inputs[0];
  if (input->Type() != model_->Graph().Type(value)) {
    return InvalidArgument("the model's input is {}, not {}", model_->Graph().Type(value).Text(), input->Type().Text());
  }
  TakeBetterPlans();
  const auto recorder = std::make_shared<Recorder>(*options_.clock);
  const std::shared_ptr<ServerConnection> link = AliveLink();
  last_link_.reset();
  last_recorder_ = recorder;
  Choose(link != nullptr);
  RowStore store(model_->Graph().values.size());
  const exec::Part whole{{value, exec::AllRows(model_->Program(), value)}, input};
  store.Add(whole);
  TimePoint start = recorder->Now();
  const double choosing_ms = Milliseconds(start - recorder->Start());
  report_.predicted_bound_ms += choosing_ms;
  report_.bound_ms += choosing_ms;
  if (!report_.alone) {
    report_.lost = RunTogether(link, recorder, store);
    if (!report_.lost.ok()) {
      link->Close(report_.lost);
      report_.alone = true;
      store.Add(whole);
    }
    start = recorder->Now();
  }
  Computing computing = InSteps(*recorder);
  std::vector<int> computed;
  auto outputs = Finish(model_->Program(), store, &computed);
  const TimePoint end = recorder->Now();
  computing.ms += Milliseconds(end - start);
  computing.profiled_ms += ProfiledMs(computed);
  if (report_.alone) recorder->Add(Resource::kDevice, model_->View().rows.Output(), {0, 1}, start, end, 0);
  report_.latency_ms = Milliseconds(end - recorder->Start());
  LearnSizes(*recorder);
  LearnSpeed(computing);
  return outputs;
}

SplitClient::Computing SplitClient::InSteps(const Recorder& recorder) {
  Computing sum;
  const auto steps = steps_.find(report_.plan);
  auto step = steps == steps_.end() ? std::vector<Step>::const_iterator() : steps->second.steps.begin();
  for (const Event& event : recorder.Events()) {
    if (event.resource != Resource::kDevice) continue;
    while (step->kind != Step::Kind::kCompute) ++step;
    sum.ms += event.end_ms - event.start_ms;
    sum.profiled_ms += plans_->ProfiledMs(report_.plan, step->ops);
    ++step;
  }
  return sum;
}

double SplitClient::ProfiledMs(const std::vector<int>& rows_by_value) const {
  const ModelOperators& model = model_->Operators();
  std::vector<int> rows(model.values.size(), 0);
  for (size_t op = 0; op < rows.size() && !rows_by_value.empty(); ++op) {
    for (const int value : model.values[op]) rows[op] = std::max(rows[op], rows_by_value[value]);
  }
  return plans_->ProfiledMs(rows);
}

void SplitClient::LearnSpeed(const Computing& computing) {
  if (computing.profiled_ms <= 0) return;
  report_.device_slowness = computing.ms / computing.profiled_ms;
  const double expected = plans_->DeviceSlowness(), share = report_.device_slowness / expected;
  if (share > 1) {
    const double alone_ms = plans_->Evaluate(Alone(), link_).latency_ms;
    const double part_ms =
        report_.alone && report_.lost.ok() ? 0 : plans_->Evaluate(report_.plan, link_).busy_ms[kDevice];
    report_.bound_ms += (share - 1) * (alone_ms + part_ms);
  }
  plans_->LearnDevice(report_.device_slowness);
}

void SplitClient::LearnSizes(const Recorder& recorder) {
  std::map<int, double> size_by_operator;
  const auto& values = model_->Operators().values;
  for (const auto& [value, bytes] : recorder.CodedSoFar()) {
    const auto makes = [value = value](const std::vector<int>& made) {
      return std::find(made.begin(), made.end(), value) != made.end();
    };
    const auto op = std::find_if(values.begin(), values.end(), makes) - values.begin();
    if (bytes.plain > 0) size_by_operator[static_cast<int>(op)] = static_cast<double>(bytes.coded) / bytes.plain;
  }
  plans_->Learn(report_.plan, size_by_operator);
}

double SplitClient::PlannedMs(uint32_t plan) { return plans_->Evaluate(plan, link_).latency_ms; }

std::vector<Event> SplitClient::MeasuredEvents() {
  const bool together = last_link_ != nullptr && report_.lost.ok();
  if (together) last_link_->AwaitServerEvents(last_inference_, options_.clock->Now() + std::chrono::seconds(1));
  std::vector<Event> events = last_recorder_->Events();
  const auto of_server = together ? last_link_->ServerEvents(last_inference_, events) : std::nullopt;
  if (!of_server) return events;
  // It knows better when messages had left than we, who hand them to the system.
  std::erase_if(events, [](const Event& event) { return event.resource == Resource::kUplink; });
  for (Event event : *of_server) {
    if (event.resource == Resource::kServer) {
      event.start_ms += link_.round_trip_ms / 2;
      event.end_ms += link_.round_trip_ms / 2;
    }
    events.push_back(event);
  }
  return events;
}

std::vector<Event> SplitClient::PlannedEvents() {
  std::vector<Event> events;
  link_.bytes_per_ms = report_.bytes_per_ms;
  plans_->Record(report_.plan, link_, events);
  return events;
}

}  // namespace wharf::split
