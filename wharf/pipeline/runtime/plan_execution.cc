#include "wharf/pipeline/runtime/plan_execution.h"

#include <algorithm>
#include <set>
#include <utility>

#include "wharf/base/log.h"

namespace wharf::pipeline {
namespace {

constexpr int kNobody = -1;
constexpr int kMostFailures = 3;  // computations in a row: then there is nothing in trying again at once

absl::Status CheckServable(const Plan& plan, const std::vector<ModelSource>& models, SchedulerKind scheduler) {
  const bool same_models = std::ranges::equal(plan.models, models, [](const ServedModel& a, const ModelSource& b) {
    return a.name == b.name && a.blocks == static_cast<int>(b.first_node.size());
  });
  if (!same_models) return InvalidArgument("the plan is for other models, or for other blocks of them");
  if (scheduler == SchedulerKind::kReserving && !std::ranges::all_of(plan.pipelines, &Pipeline::HasUnifiedBatches)) {
    return InvalidArgument("the plan's stages have batch sizes of their own, which only a reactive scheduler serves");
  }
  return absl::OkStatus();
}

std::vector<std::byte> LeastOf(const DeployedStage& stage) {
  std::vector<uint64_t> least;
  for (const Nanoseconds time : stage.compute) least.push_back(static_cast<uint64_t>(time.count()));
  return EncodeList(least);
}

}  // namespace

absl::StatusOr<std::unique_ptr<PlanExecution>> PlanExecution::Make(const Plan& plan, const PlanExecutionConfig& config,
                                                                   WireNumbers& numbers) {
  WHARF_RETURN_IF_ERROR(CheckServable(plan, *config.models, config.scheduler));
  WHARF_ASSIGN_OR_RETURN(Deployment deployment, Deploy(plan));
  return std::unique_ptr<PlanExecution>(new PlanExecution(plan, std::move(deployment), config, numbers));
}

PlanExecution::PlanExecution(const Plan& plan, Deployment deployment, const PlanExecutionConfig& config,
                             WireNumbers& numbers)
    : plan_(plan),
      deployment_(std::move(deployment)),
      config_(config),
      numbers_(numbers),
      vgpus_(deployment_.vgpus.size()),
      scheduler_(MakeScheduler(config.scheduler, deployment_, *config.clock, *this, *this, config.scheduling)) {
  for (size_t p = 0; p < plan_.pipelines.size(); ++p) {
    const Pipeline& pipeline = plan_.pipelines[p];
    const ModelSource& model = (*config_.models)[pipeline.model];
    const int blocks = static_cast<int>(model.first_node.size());
    for (size_t s = 0; s < pipeline.stages.size(); ++s) {
      const Stage& stage = pipeline.stages[s];
      const int end = stage.end_block < blocks ? model.first_node[stage.end_block] : model.nodes;
      const DeployedStage& deployed = deployment_.pipelines[p].stages[s];
      DefineStage define{++numbers_.stage, model.first_node[stage.first_block], end, stage.end_block == blocks, {}};
      if (config_.paced) define.least = LeastOf(deployed);
      for (const int vgpu : deployed.vgpus) {
        vgpus_[vgpu].duty = {&model, stage.Batch(), stage.vgpus_per_gpu, define};
      }
    }
  }
  std::vector<uint32_t> of_host(deployment_.hosts.size());
  for (int vgpu = 0; vgpu < Vgpus(); ++vgpu) {
    vgpus_[vgpu].number = of_host[deployment_.vgpus[vgpu].host]++;
    scheduler_->OnWorkerLost(vgpu);  // until it is ready
  }
}

int PlanExecution::GpusOf(int host) const {
  std::set<int> gpus;
  for (const VirtualGpu& vgpu : deployment_.vgpus) {
    if (vgpu.host == host) gpus.insert(vgpu.gpu);
  }
  return static_cast<int>(gpus.size());
}

const VirtualGpu& PlanExecution::VgpuIn(int host) const {
  return *std::ranges::find(deployment_.vgpus, host, &VirtualGpu::host);
}

const std::string& PlanExecution::WorkerOfHost(int host) const {
  return vgpus_[&VgpuIn(host) - deployment_.vgpus.data()].worker;
}

void PlanExecution::Assign(int host, const std::string& worker, const std::string& address) {
  for (int vgpu = 0; vgpu < Vgpus(); ++vgpu) {
    if (deployment_.vgpus[vgpu].host != host) continue;
    Lose(vgpu);
    vgpus_[vgpu].worker = worker;
    vgpus_[vgpu].address = address;
  }
}

void PlanExecution::Ready(int vgpu, std::shared_ptr<WorkerConnection> connection) {
  if (vgpus_[vgpu].connection == connection) return;
  Lose(vgpu);
  vgpus_[vgpu].resting = nullptr;
  vgpus_[vgpu].connection = std::move(connection);
  scheduler_->OnWorkerBack(vgpu);
}

// What its worker was commanded, and what was to come from there: nobody will report it.
void PlanExecution::Forget(int vgpu) {
  absl::erase_if(tasks_, [&](const auto& entry) { return entry.second.vgpu == vgpu || entry.second.from == vgpu; });
}

void PlanExecution::Lose(int vgpu) {
  vgpus_[vgpu].resting = nullptr;
  if (vgpus_[vgpu].connection == nullptr) return;
  vgpus_[vgpu].connection = nullptr;
  Forget(vgpu);
  scheduler_->OnWorkerLost(vgpu);
}

void PlanExecution::Submit(const Request& request, Sample input, Answer answer) {
  auto entry = std::make_unique<InFlightRequest>();
  entry->request = request;
  entry->input = std::move(input);
  entry->answer = std::move(answer);
  requests_[request.id] = std::move(entry);
  scheduler_->Submit(request);
}

void PlanExecution::DropAll() {
  auto requests = std::exchange(requests_, {});
  for (const auto& [id, entry] : requests) {
    RequestRecord record;
    record.request = entry->request;
    record.fate = Fate::kWorkerLost;
    record.ended = config_.clock->Now();
    entry->answer(record, {});
  }
}

// --- The scheduler's commands ---

uint64_t PlanExecution::Remember(TaskId id, int vgpu, int from, absl::Span<const Request> requests) {
  Task task{id, vgpu, from, config_.clock->Now(), {}};
  for (const Request& request : requests) task.requests.push_back(request.id);
  tasks_[++numbers_.task] = std::move(task);
  return numbers_.task;
}

std::vector<uint64_t> PlanExecution::SamplesOf(absl::Span<const Request> requests) const {
  std::vector<uint64_t> samples;
  for (const Request& request : requests) samples.push_back(requests_.at(request.id)->sample);
  return samples;
}

void PlanExecution::Transfer(const TransferCommand& command) {
  const Vgpu &from = vgpus_[command.from_vgpu], &to = vgpus_[command.to_vgpu];
  const uint64_t task = Remember(command.task, command.to_vgpu, command.from_vgpu, command.requests);
  if (from.connection == nullptr) return;  // the scheduler is about to be told
  from.connection->Send(task, to.duty.stage.stage, SamplesOf(command.requests), to.address);
}

void PlanExecution::SendInputs(const ComputeCommand& command) {
  Sample bulk;
  for (const Request& request : command.requests) {
    InFlightRequest& entry = *requests_.at(request.id);
    entry.sample = ++numbers_.sample;
    bulk.insert(bulk.end(), entry.input.begin(), entry.input.end());
  }
  const Vgpu& vgpu = vgpus_[command.vgpu];
  vgpu.connection->Input(vgpu.duty.stage.stage, SamplesOf(command.requests), bulk);
}

void PlanExecution::Compute(const ComputeCommand& command) {
  const Vgpu& vgpu = vgpus_[command.vgpu];
  const uint64_t task = Remember(command.task, command.vgpu, kNobody, command.requests);
  if (vgpu.connection == nullptr) return;
  if (command.stage == 0) SendInputs(command);
  vgpu.connection->Compute(task, vgpu.duty.stage.stage, vgpu.number, SamplesOf(command.requests));
}

void PlanExecution::OnEnded(const RequestRecord& record) {
  const auto found = requests_.find(record.request.id);
  if (found == requests_.end()) return;
  const std::unique_ptr<InFlightRequest> entry = std::move(found->second);
  requests_.erase(found);
  const bool answered = record.fate == Fate::kOnTime || record.fate == Fate::kLate;
  entry->answer(record, answered ? std::move(entry->outputs) : std::vector<std::byte>());
}

// --- The workers' reports ---

bool PlanExecution::KeepOutputs(const Task& task, std::span<const std::byte> outputs) {
  const Duty& duty = vgpus_[task.vgpu].duty;
  if (!duty.stage.last) return outputs.empty();
  const size_t bytes = duty.model->output_bytes;
  if (outputs.size() != bytes * task.requests.size()) return false;
  for (size_t i = 0; i < task.requests.size(); ++i) {
    const auto found = requests_.find(task.requests[i]);
    if (found == requests_.end()) continue;
    const auto mine = outputs.subspan(i * bytes, bytes);
    found->second->outputs.assign(mine.begin(), mine.end());
  }
  return true;
}

// Whether it is that worker's to say: another one could end its connection, or answer requests in its place.
bool PlanExecution::Serves(int vgpu, uint64_t connection) const {
  return IsReady(vgpu) && vgpus_[vgpu].connection->Id() == connection;
}

bool PlanExecution::Computed(uint64_t connection, uint64_t number, Nanoseconds took, std::vector<std::byte> outputs) {
  const auto found = tasks_.find(number);
  if (found == tasks_.end() || !Serves(found->second.vgpu, connection)) return false;
  const Task task = std::move(found->second);
  tasks_.erase(found);
  if (task.from != kNobody || !KeepOutputs(task, outputs)) {
    if (vgpus_[task.vgpu].connection != nullptr) vgpus_[task.vgpu].connection->Close();  // it makes no sense
    return true;
  }
  vgpus_[task.vgpu].failures = 0;
  const TimePoint end = config_.clock->Now();
  scheduler_->OnComputed(task.id, std::max(task.commanded, end - took), end);
  return true;
}

bool PlanExecution::Arrived(uint64_t connection, uint64_t number) {
  const auto found = tasks_.find(number);
  if (found == tasks_.end() || found->second.from == kNobody) return false;
  if (!Serves(found->second.vgpu, connection)) return false;
  const Task task = std::move(found->second);
  tasks_.erase(found);
  vgpus_[task.from].next_rest = vgpus_[task.vgpu].next_rest = kShortestRest;
  scheduler_->OnTransferred(task.id, task.commanded, config_.clock->Now());
  return true;
}

// What was to be computed there begins again, there or elsewhere.
void PlanExecution::TryAgain(int vgpu) {
  if (vgpus_[vgpu].connection == nullptr) return;
  const std::shared_ptr<WorkerConnection> connection = vgpus_[vgpu].connection;
  Lose(vgpu);
  Ready(vgpu, connection);
}

// A worker that fails as fast as it is asked would be free for every batch, and have all requests run around in circles
// until their deadlines.
void PlanExecution::ComputationFailed(int vgpu) {
  if (++vgpus_[vgpu].failures < kMostFailures) {
    TryAgain(vgpu);
  } else {
    Rest(vgpu, "computations fail");
  }
}

// Longer each time until a transfer succeeds.
void PlanExecution::Rest(int vgpu, std::string_view why) {
  Vgpu& one = vgpus_[vgpu];
  const std::shared_ptr<WorkerConnection> connection = one.connection;
  if (connection == nullptr) return;
  Lose(vgpu);
  one.resting = connection;
  one.rests_until = config_.clock->Now() + one.next_rest;
  one.next_rest = std::min(2 * one.next_rest, kLongestRest);
  Log(LogLevel::kWarning, "a worker has a rest", {{"worker", one.worker}, {"why", why}});
}

void PlanExecution::TransferFailed(const Task& task) {
  const auto serves_too = [&](const Vgpu& other) {
    return other.duty.stage.stage == vgpus_[task.vgpu].duty.stage.stage && other.connection != nullptr &&
           other.worker != vgpus_[task.vgpu].worker;
  };
  Rest(std::ranges::any_of(vgpus_, serves_too) ? task.vgpu : task.from, "transfers fail");
}

bool PlanExecution::Failed(uint64_t connection, uint64_t number) {
  const auto found = tasks_.find(number);
  if (found == tasks_.end()) return false;
  const bool transfer = found->second.from != kNobody;
  if (!Serves(transfer ? found->second.from : found->second.vgpu, connection)) return false;
  const Task task = std::move(found->second);
  tasks_.erase(found);
  if (task.from != kNobody) {
    TransferFailed(task);
  } else {
    ComputationFailed(task.vgpu);
  }
  return true;
}

TimePoint PlanExecution::NextWakeup() const {
  TimePoint next = scheduler_->NextWakeup();
  for (const auto& [number, task] : tasks_) next = std::min(next, task.commanded + config_.task_timeout);
  for (const Vgpu& vgpu : vgpus_) next = std::min(next, vgpu.resting != nullptr ? vgpu.rests_until : kNever);
  return next;
}

void PlanExecution::Step() {
  const TimePoint now = config_.clock->Now();
  if (scheduler_->NextWakeup() <= now) scheduler_->Poll();
  for (int vgpu = 0; vgpu < Vgpus(); ++vgpu) {
    const std::shared_ptr<WorkerConnection> connection = vgpus_[vgpu].resting;
    if (connection != nullptr && vgpus_[vgpu].rests_until <= now && !connection->Lost()) Ready(vgpu, connection);
    if (connection != nullptr && connection->Lost()) vgpus_[vgpu].resting = nullptr;
  }
  std::vector<int> silent;
  std::vector<std::pair<uint64_t, Task>> failed;
  for (const auto& [number, task] : tasks_) {
    if (task.commanded + config_.task_timeout > now) continue;
    if (task.from == kNobody) silent.push_back(task.vgpu);
    if (task.from != kNobody) failed.emplace_back(number, task);
  }
  for (const auto& [number, task] : failed) {
    TransferFailed(task);
    tasks_.erase(number);
  }
  for (const int vgpu : silent) {
    const std::shared_ptr<WorkerConnection> connection = vgpus_[vgpu].connection;
    Forget(vgpu);
    if (connection == nullptr) continue;
    Log(LogLevel::kWarning, "a worker is silent", {{"worker", vgpus_[vgpu].worker}});
    Lose(vgpu);
    connection->Close();
  }
}

}  // namespace wharf::pipeline
