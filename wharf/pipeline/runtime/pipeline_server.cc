#include "wharf/pipeline/runtime/pipeline_server.h"

#include <algorithm>
#include <utility>

#include "absl/time/time.h"
#include "wharf/base/log.h"

namespace wharf::pipeline {
namespace {

constexpr Nanoseconds kWatchPause = std::chrono::milliseconds(200);
constexpr Nanoseconds kChangeOver =
    std::chrono::seconds(5);  // then requests go to a plan some of whose workers are not ready

// How many hosts of a class have how many GPUs.
std::map<int, int> HostsOf(const Cluster& cluster, int gpu_class) {
  std::map<int, int> hosts;
  for (const HostGroup& group : cluster.hosts) {
    if (group.gpu_class == gpu_class) hosts[group.gpus_per_host] += group.hosts;
  }
  return hosts;
}

}  // namespace

PipelineServer::PipelineServer(PipelineServerConfig config)
    : config_(std::move(config)), shares_(config_.models.size()) {}

PlanExecutionConfig PipelineServer::ExecutionConfig() const {
  return {config_.scheduler, config_.scheduling, &config_.models, config_.clock, config_.task_timeout, config_.paced};
}

absl::StatusOr<std::unique_ptr<PipelineServer>> PipelineServer::Start(PipelineServerConfig config) {
  std::unique_ptr<PipelineServer> server(new PipelineServer(std::move(config)));
  PipelineServer& self = *server;
  WHARF_ASSIGN_OR_RETURN(auto execution, PlanExecution::Make(self.config_.plan, self.ExecutionConfig(), self.numbers_));
  self.executions_.push_back(std::move(execution));
  self.chore_thread_ = std::thread([&self] { self.chores_.Run(*self.config_.clock, [] { return kNever; }); });
  self.loop_thread_ = std::thread([&self] { self.loop_.Run(*self.config_.clock, [&self] { return self.Step(); }); });
  self.watch_thread_ = std::thread([&self] { self.Watch(); });
  return server;
}

PipelineServer::~PipelineServer() {
  ending_ = true;
  if (watch_thread_.joinable()) watch_thread_.join();
  for (auto [loop, thread] : {std::pair(&chores_, &chore_thread_), std::pair(&loop_, &loop_thread_)}) {
    loop->Stop();
    if (thread->joinable()) thread->join();
  }
  workers_.clear();
  for (const auto& execution : executions_) execution->DropAll();
}

void PipelineServer::Submit(ClientId client, int model, Sample input, Answer answer) {
  const TimePoint arrival = config_.clock->Now();
  auto shared = std::make_shared<Sample>(std::move(input));  // an event must be copyable
  loop_.Post([this, client, model, arrival, shared, answer = std::move(answer)] {
    Schedule(client, model, arrival, std::move(*shared), answer);
  });
}

void PipelineServer::Schedule(ClientId client, int model, TimePoint arrival, Sample input, Answer answer) {
  PlanExecution& execution = *executions_[current_];
  ClientShares& shares = shares_[model];
  const Request request{++next_request_, model, arrival};
  const TimePoint now = config_.clock->Now();
  if (!shares.Admit(client, execution.GetPlan().models[model].throughput, now)) {
    RequestRecord refused{.request = request, .fate = Fate::kNoCapacity, .ended = now};
    refused.queued = now - arrival;
    answer(refused, {});
    return;
  }
  execution.Submit(request, std::move(input),
                   [&shares, answer = std::move(answer)](const RequestRecord& record, std::vector<std::byte> outputs) {
                     if (record.fate == Fate::kNoCapacity) shares.NoCapacity();
                     answer(record, std::move(outputs));
                   });
}

// --- Workers ---

void PipelineServer::Watch() {
  View view;
  while (!ending_) {
    View next = config_.membership->Await(view.version, kWatchPause);
    if (next.version == view.version) continue;
    view = std::move(next);
    loop_.Post([this, view] { OnView(view); });
  }
}

void PipelineServer::Dismiss(const std::string& worker, std::unique_ptr<WorkerSupervisor> supervisor) {
  Log(LogLevel::kInfo, "a worker is gone", {{"worker", worker}});
  for (const auto& execution : executions_) {
    for (int host = 0; host < execution->Hosts(); ++host) {
      if (execution->GpusOf(host) > 0 && execution->WorkerOfHost(host) == worker) execution->Assign(host, "", "");
    }
  }
  // It may wait for a worker that is silent; the loop must not.
  chores_.Post([old = std::shared_ptr<WorkerSupervisor>(std::move(supervisor))] {});
}

void PipelineServer::OnView(const View& view) {
  view_ = view;
  for (auto known = workers_.begin(); known != workers_.end();) {
    const bool stays = std::ranges::count(view.members, known->second.supervisor->GetMember()) > 0;
    if (!stays) Dismiss(known->first, std::move(known->second.supervisor));
    known = stays ? std::next(known) : workers_.erase(known);
  }
  for (const Member& member : view.members) {
    if (workers_.count(member.name) > 0) continue;
    Log(LogLevel::kInfo, "a worker is there", {{"worker", member.name}, {"class", member.gpu_class}});
    WorkerEvents& events = *this;
    workers_[member.name].supervisor = std::make_unique<WorkerSupervisor>(member, config_.access, loop_, events);
  }
  for (const auto& execution : executions_) AssignWorkers(*execution);
  TellDuties();
  plan_due_ = config_.clock->Now() + config_.settle;
}

// Those that serve nothing yet to hosts of their class that nobody serves: each has the smallest that has its GPUs.
void PipelineServer::AssignWorkers(PlanExecution& execution) {
  std::vector<const Member*> idle;
  for (const auto& [name, worker] : workers_) {
    bool busy = false;
    for (int vgpu = 0; vgpu < execution.Vgpus(); ++vgpu) busy |= execution.WorkerOf(vgpu) == name;
    if (!busy) idle.push_back(&worker.supervisor->GetMember());
  }
  std::ranges::stable_sort(idle, {}, &Member::gpus);
  for (int host = 0; host < execution.Hosts(); ++host) {
    const int gpus = execution.GpusOf(host);
    if (gpus == 0 || !execution.WorkerOfHost(host).empty()) continue;
    const auto fits = std::ranges::find_if(
        idle, [&](const Member* one) { return one->gpu_class == execution.ClassOf(host) && one->gpus >= gpus; });
    if (fits == idle.end()) continue;
    execution.Assign(host, (*fits)->name, (*fits)->address);
    idle.erase(fits);
  }
}

void PipelineServer::TellDuties() {
  for (auto& [name, worker] : workers_) {
    std::vector<Duty> duties;
    std::vector<uint32_t> stages;
    for (const auto& execution : executions_) {
      for (int vgpu = 0; vgpu < execution->Vgpus(); ++vgpu) {
        if (execution->WorkerOf(vgpu) != name) continue;
        duties.push_back(execution->DutyOf(vgpu));
        stages.push_back(duties.back().stage.stage);
      }
    }
    if (stages == worker.duties) continue;
    worker.duties = std::move(stages);
    worker.supervisor->Serve(std::move(duties));
  }
}

void PipelineServer::OnWorkerReady(const std::string& worker, std::shared_ptr<WorkerConnection> connection,
                                   const std::vector<uint32_t>& stages) {
  if (connection->Lost()) return;
  for (const auto& execution : executions_) {
    for (int vgpu = 0; vgpu < execution->Vgpus(); ++vgpu) {
      const bool serves = std::ranges::count(stages, execution->DutyOf(vgpu).stage.stage) > 0;
      if (serves && execution->WorkerOf(vgpu) == worker) execution->Ready(vgpu, connection);
    }
  }
}

void PipelineServer::OnWorkerGone(const std::string& worker, uint64_t connection, const absl::Status& why) {
  const auto known = workers_.find(worker);
  if (known == workers_.end()) return;
  Log(LogLevel::kWarning, "the connection to a worker is lost", {{"worker", worker}, {"why", Message(why)}});
  for (const auto& execution : executions_) {
    for (int vgpu = 0; vgpu < execution->Vgpus(); ++vgpu) {
      if (execution->IsReady(vgpu) && execution->ConnectionOf(vgpu)->Id() == connection) execution->Lose(vgpu);
    }
  }
  known->second.supervisor->Again();
}

void PipelineServer::OnWorkerComputed(uint64_t connection, uint64_t task, Nanoseconds took,
                                      std::vector<std::byte> outputs) {
  for (const auto& execution : executions_) {
    if (execution->Computed(connection, task, took, outputs)) return;
  }
}

void PipelineServer::OnWorkerArrived(uint64_t connection, uint64_t task) {
  for (const auto& execution : executions_) {
    if (execution->Arrived(connection, task)) return;
  }
}

void PipelineServer::OnWorkerFailed(uint64_t connection, uint64_t task, const absl::Status& why) {
  Log(LogLevel::kWarning, "a worker failed", {{"task", task}, {"why", Message(why)}});
  for (const auto& execution : executions_) {
    if (execution->Failed(connection, task)) return;
  }
}

// --- Plans ---

Cluster PipelineServer::ClusterOfMembers() const {
  Cluster cluster = config_.plan.cluster;
  cluster.hosts.clear();
  for (const Member& member : view_.members) {
    const int gpu_class = cluster.FindClass(member.gpu_class);
    const auto like = std::ranges::find(config_.plan.cluster.hosts, gpu_class, &HostGroup::gpu_class);
    if (like == config_.plan.cluster.hosts.end()) continue;  // the plan knows nothing of such GPUs
    const auto known = std::ranges::find_if(cluster.hosts, [&](const HostGroup& group) {
      return group.gpu_class == gpu_class && group.gpus_per_host == member.gpus;
    });
    if (known == cluster.hosts.end()) {
      cluster.hosts.push_back({gpu_class, 1, member.gpus, like->link_bits_per_s});
    } else {
      ++known->hosts;
    }
  }
  std::ranges::stable_sort(cluster.hosts, {}, &HostGroup::gpu_class);
  // A class without hosts is none.
  std::vector<GpuClass> classes;
  std::vector<int> renumbered(cluster.classes.size(), -1);
  for (HostGroup& group : cluster.hosts) {
    int& number = renumbered[group.gpu_class];
    if (number < 0) {
      number = static_cast<int>(classes.size());
      classes.push_back(cluster.classes[group.gpu_class]);
    }
    group.gpu_class = number;
  }
  cluster.classes = std::move(classes);
  return cluster;
}

bool PipelineServer::FitsMembers(const Plan& plan) const {
  const Cluster members = ClusterOfMembers();
  if (members.classes.size() != plan.cluster.classes.size()) return false;
  for (size_t c = 0; c < members.classes.size(); ++c) {
    const int planned = plan.cluster.FindClass(members.classes[c].name);
    if (planned < 0 || HostsOf(plan.cluster, planned) != HostsOf(members, static_cast<int>(c))) return false;
  }
  return true;
}

void PipelineServer::PlanAgainIfDue() {
  if (config_.clock->Now() < plan_due_ || planning_) return;
  plan_due_ = kNever;
  if (config_.replan == nullptr || view_.members.empty() || FitsMembers(executions_.back()->GetPlan())) return;
  planning_ = true;
  chores_.Post([this, cluster = ClusterOfMembers(), version = view_.version] {
    const absl::StatusOr<Plan> plan = config_.replan(cluster);
    loop_.Post([this, plan, version] { OnPlan(plan, version); });
  });
}

void PipelineServer::OnPlan(const absl::StatusOr<Plan>& plan, int64_t for_view) {
  planning_ = false;
  if (for_view != view_.version) {
    plan_due_ = config_.clock->Now();  // others are there by now
    return;
  }
  auto execution = plan.ok() ? PlanExecution::Make(*plan, ExecutionConfig(), numbers_) : plan.status();
  if (!execution.ok()) {
    Log(LogLevel::kWarning, "no plan for the workers there are; the old one stays",
        {{"why", Message(execution.status())}});
    return;
  }
  Log(LogLevel::kInfo, "a new plan", {{"workers", view_.members.size()}, {"requests_per_s", plan->value}});
  ++plans_;
  executions_.push_back(*std::move(execution));
  AssignWorkers(*executions_.back());
  TellDuties();
  change_by_ = config_.clock->Now() + kChangeOver;
}

// To the newest plan when its workers are ready; older ones finish what they have.
void PipelineServer::ChangeOver() {
  if (current_ + 1 < executions_.size()) {
    const PlanExecution& newest = *executions_.back();
    bool ready = true;
    for (int vgpu = 0; vgpu < newest.Vgpus(); ++vgpu) ready &= newest.WorkerOf(vgpu).empty() || newest.IsReady(vgpu);
    if (ready || config_.clock->Now() >= change_by_) current_ = executions_.size() - 1;
  }
  bool gone = false;
  for (size_t i = 0; i < current_;) {
    if (executions_[i]->InFlight() > 0) {
      ++i;
      continue;
    }
    executions_.erase(executions_.begin() + static_cast<std::ptrdiff_t>(i));
    --current_;
    gone = true;
  }
  if (gone) TellDuties();
}

TimePoint PipelineServer::Step() {
  PlanAgainIfDue();
  ChangeOver();
  TimePoint next = planning_ ? kNever : plan_due_;
  if (current_ + 1 < executions_.size()) next = std::min(next, change_by_);
  for (const auto& execution : executions_) {
    execution->Step();
    next = std::min(next, execution->NextWakeup());
  }
  PostState();
  return next;
}

void PipelineServer::PostState() {
  const PlanExecution& current = *executions_[current_];
  State state{plans_, static_cast<int>(view_.members.size()), current.Vgpus(), 0};
  for (int vgpu = 0; vgpu < current.Vgpus(); ++vgpu) state.ready += current.IsReady(vgpu) ? 1 : 0;
  absl::MutexLock lock(&mutex_);
  state_ = state;
}

PipelineServer::State PipelineServer::GetState() const {
  absl::MutexLock lock(&mutex_);
  return state_;
}

bool PipelineServer::AwaitState(const std::function<bool(const State&)>& wanted, Nanoseconds timeout) const {
  const auto holds = [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return wanted(state_); };
  absl::MutexLock lock(&mutex_);
  return mutex_.AwaitWithTimeout(absl::Condition(&holds), absl::FromChrono(timeout));
}

}  // namespace wharf::pipeline
