#include "wharf/pipeline/runtime/serving.h"

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

Serving::Serving(ServingConfig config) : config_(std::move(config)) {}

EpochConfig Serving::ConfigOfEpochs() const {
  return {config_.scheduler, config_.scheduling, &config_.models, config_.clock, config_.task_timeout, config_.paced};
}

absl::StatusOr<std::unique_ptr<Serving>> Serving::Start(ServingConfig config) {
  std::unique_ptr<Serving> serving(new Serving(std::move(config)));
  Serving& self = *serving;
  WHARF_ASSIGN_OR_RETURN(auto epoch, Epoch::Make(self.config_.plan, self.ConfigOfEpochs(), self.numbers_));
  self.epochs_.push_back(std::move(epoch));
  self.chore_thread_ = std::thread([&self] { self.chores_.Run(*self.config_.clock, [] { return kNever; }); });
  self.loop_thread_ = std::thread([&self] { self.loop_.Run(*self.config_.clock, [&self] { return self.Step(); }); });
  self.watch_thread_ = std::thread([&self] { self.Watch(); });
  return serving;
}

Serving::~Serving() {
  ending_ = true;
  if (watch_thread_.joinable()) watch_thread_.join();
  for (auto [loop, thread] : {std::pair(&chores_, &chore_thread_), std::pair(&loop_, &loop_thread_)}) {
    loop->Stop();
    if (thread->joinable()) thread->join();
  }
  workers_.clear();
  for (const auto& epoch : epochs_) epoch->DropAll();
}

void Serving::Submit(int model, Sample input, Answer answer) {
  const TimePoint arrival = config_.clock->Now();
  auto shared = std::make_shared<Sample>(std::move(input));  // an event must be copyable
  loop_.Post([this, model, arrival, shared, answer = std::move(answer)] {
    epochs_[current_]->Submit({++next_request_, model, arrival}, std::move(*shared), answer);
  });
}

// --- Workers ---

void Serving::Watch() {
  View view;
  while (!ending_) {
    View next = config_.membership->Await(view.version, kWatchPause);
    if (next.version == view.version) continue;
    view = std::move(next);
    loop_.Post([this, view] { OnView(view); });
  }
}

void Serving::Dismiss(const std::string& worker, std::unique_ptr<Attendant> attendant) {
  Log(LogLevel::kInfo, "a worker is gone", {{"worker", worker}});
  for (const auto& epoch : epochs_) {
    for (int host = 0; host < epoch->Hosts(); ++host) {
      if (epoch->GpusOf(host) > 0 && epoch->WorkerOfHost(host) == worker) epoch->Assign(host, "", "");
    }
  }
  // It may wait for a worker that is silent; the loop must not.
  chores_.Post([old = std::shared_ptr<Attendant>(std::move(attendant))] {});
}

void Serving::OnView(const View& view) {
  view_ = view;
  for (auto known = workers_.begin(); known != workers_.end();) {
    const bool stays = std::ranges::count(view.members, known->second.attendant->GetMember()) > 0;
    if (!stays) Dismiss(known->first, std::move(known->second.attendant));
    known = stays ? std::next(known) : workers_.erase(known);
  }
  for (const Member& member : view.members) {
    if (workers_.count(member.name) > 0) continue;
    Log(LogLevel::kInfo, "a worker is there", {{"worker", member.name}, {"class", member.gpu_class}});
    WorkerEvents& events = *this;
    workers_[member.name].attendant = std::make_unique<Attendant>(member, config_.access, loop_, events);
  }
  for (const auto& epoch : epochs_) AssignWorkers(*epoch);
  TellDuties();
  plan_due_ = config_.clock->Now() + config_.settle;
}

// Those that serve nothing yet to hosts of their class that nobody serves: each has the smallest that has its GPUs.
void Serving::AssignWorkers(Epoch& epoch) {
  std::vector<const Member*> idle;
  for (const auto& [name, worker] : workers_) {
    bool busy = false;
    for (int vgpu = 0; vgpu < epoch.Vgpus(); ++vgpu) busy |= epoch.WorkerOf(vgpu) == name;
    if (!busy) idle.push_back(&worker.attendant->GetMember());
  }
  std::ranges::stable_sort(idle, {}, &Member::gpus);
  for (int host = 0; host < epoch.Hosts(); ++host) {
    const int gpus = epoch.GpusOf(host);
    if (gpus == 0 || !epoch.WorkerOfHost(host).empty()) continue;
    const auto fits = std::ranges::find_if(
        idle, [&](const Member* one) { return one->gpu_class == epoch.ClassOf(host) && one->gpus >= gpus; });
    if (fits == idle.end()) continue;
    epoch.Assign(host, (*fits)->name, (*fits)->address);
    idle.erase(fits);
  }
}

void Serving::TellDuties() {
  for (auto& [name, worker] : workers_) {
    std::vector<Duty> duties;
    std::vector<uint32_t> stages;
    for (const auto& epoch : epochs_) {
      for (int vgpu = 0; vgpu < epoch->Vgpus(); ++vgpu) {
        if (epoch->WorkerOf(vgpu) != name) continue;
        duties.push_back(epoch->DutyOf(vgpu));
        stages.push_back(duties.back().stage.stage);
      }
    }
    if (stages == worker.duties) continue;
    worker.duties = std::move(stages);
    worker.attendant->Serve(std::move(duties));
  }
}

void Serving::OnWorkerReady(const std::string& worker, std::shared_ptr<WorkerLine> line,
                            const std::vector<uint32_t>& stages) {
  if (line->Lost()) return;
  for (const auto& epoch : epochs_) {
    for (int vgpu = 0; vgpu < epoch->Vgpus(); ++vgpu) {
      const bool serves = std::ranges::count(stages, epoch->DutyOf(vgpu).stage.stage) > 0;
      if (serves && epoch->WorkerOf(vgpu) == worker) epoch->Ready(vgpu, line);
    }
  }
}

void Serving::OnWorkerGone(const std::string& worker, uint64_t line, const absl::Status& why) {
  const auto known = workers_.find(worker);
  if (known == workers_.end()) return;
  Log(LogLevel::kWarning, "the connection to a worker is lost", {{"worker", worker}, {"why", Message(why)}});
  for (const auto& epoch : epochs_) {
    for (int vgpu = 0; vgpu < epoch->Vgpus(); ++vgpu) {
      if (epoch->IsReady(vgpu) && epoch->LineOf(vgpu)->Number() == line) epoch->Lose(vgpu);
    }
  }
  known->second.attendant->Again();
}

void Serving::OnWorkerComputed(uint64_t task, Nanoseconds took, std::vector<std::byte> outputs) {
  for (const auto& epoch : epochs_) {
    if (epoch->Computed(task, took, outputs)) return;
  }
}

void Serving::OnWorkerArrived(uint64_t task) {
  for (const auto& epoch : epochs_) {
    if (epoch->Arrived(task)) return;
  }
}

void Serving::OnWorkerFailed(uint64_t task, const absl::Status& why) {
  Log(LogLevel::kWarning, "a worker failed", {{"task", task}, {"why", Message(why)}});
  for (const auto& epoch : epochs_) {
    if (epoch->Failed(task)) return;
  }
}

// --- Plans ---

Cluster Serving::ClusterOfMembers() const {
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

bool Serving::FitsMembers(const Plan& plan) const {
  const Cluster members = ClusterOfMembers();
  if (members.classes.size() != plan.cluster.classes.size()) return false;
  for (size_t c = 0; c < members.classes.size(); ++c) {
    const int there = plan.cluster.FindClass(members.classes[c].name);
    if (there < 0 || HostsOf(plan.cluster, there) != HostsOf(members, static_cast<int>(c))) return false;
  }
  return true;
}

void Serving::PlanAgainIfDue() {
  if (config_.clock->Now() < plan_due_ || planning_) return;
  plan_due_ = kNever;
  if (config_.replan == nullptr || view_.members.empty() || FitsMembers(epochs_.back()->GetPlan())) return;
  planning_ = true;
  chores_.Post([this, cluster = ClusterOfMembers(), version = view_.version] {
    const absl::StatusOr<Plan> plan = config_.replan(cluster);
    loop_.Post([this, plan, version] { OnPlan(plan, version); });
  });
}

void Serving::OnPlan(const absl::StatusOr<Plan>& plan, int64_t for_view) {
  planning_ = false;
  if (for_view != view_.version) {
    plan_due_ = config_.clock->Now();  // others are there by now
    return;
  }
  auto epoch = plan.ok() ? Epoch::Make(*plan, ConfigOfEpochs(), numbers_) : plan.status();
  if (!epoch.ok()) {
    Log(LogLevel::kWarning, "no plan for the workers there are; the old one stays", {{"why", Message(epoch.status())}});
    return;
  }
  Log(LogLevel::kInfo, "a new plan", {{"workers", view_.members.size()}, {"requests_per_s", plan->value}});
  ++plans_;
  epochs_.push_back(*std::move(epoch));
  AssignWorkers(*epochs_.back());
  TellDuties();
  change_by_ = config_.clock->Now() + kChangeOver;
}

// To the newest plan when its workers are ready; older ones finish what they have.
void Serving::ChangeOver() {
  if (current_ + 1 < epochs_.size()) {
    const Epoch& newest = *epochs_.back();
    bool ready = true;
    for (int vgpu = 0; vgpu < newest.Vgpus(); ++vgpu) ready &= newest.WorkerOf(vgpu).empty() || newest.IsReady(vgpu);
    if (ready || config_.clock->Now() >= change_by_) current_ = epochs_.size() - 1;
  }
  bool gone = false;
  for (size_t i = 0; i < current_;) {
    if (epochs_[i]->InFlight() > 0) {
      ++i;
      continue;
    }
    epochs_.erase(epochs_.begin() + static_cast<std::ptrdiff_t>(i));
    --current_;
    gone = true;
  }
  if (gone) TellDuties();
}

TimePoint Serving::Step() {
  PlanAgainIfDue();
  ChangeOver();
  TimePoint next = planning_ ? kNever : plan_due_;
  if (current_ + 1 < epochs_.size()) next = std::min(next, change_by_);
  for (const auto& epoch : epochs_) {
    epoch->Step();
    next = std::min(next, epoch->NextWakeup());
  }
  PostState();
  return next;
}

void Serving::PostState() {
  const Epoch& current = *epochs_[current_];
  State state{plans_, static_cast<int>(view_.members.size()), current.Vgpus(), 0};
  for (int vgpu = 0; vgpu < current.Vgpus(); ++vgpu) state.ready += current.IsReady(vgpu) ? 1 : 0;
  absl::MutexLock lock(&mutex_);
  state_ = state;
}

Serving::State Serving::GetState() const {
  absl::MutexLock lock(&mutex_);
  return state_;
}

bool Serving::AwaitState(const std::function<bool(const State&)>& wanted, Nanoseconds timeout) const {
  const auto holds = [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return wanted(state_); };
  absl::MutexLock lock(&mutex_);
  return mutex_.AwaitWithTimeout(absl::Condition(&holds), absl::FromChrono(timeout));
}

}  // namespace wharf::pipeline
