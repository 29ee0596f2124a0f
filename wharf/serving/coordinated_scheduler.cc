#include "wharf/serving/coordinated_scheduler.h"

#include <algorithm>
#include <set>

namespace wharf::serving {
namespace {

constexpr size_t kMostOverdue = 4;
constexpr int kMissedBeforeVanished = 4;
// Of one that has to go anyway: it misses its SLA because nothing comes from it.
constexpr int kMissedBeforeSuspect = 2;

}  // namespace

// The balancer's clients as candidates, each once.
class CoordinatedScheduler::Waiting final : public Candidates {
 public:
  explicit Waiting(CoordinatedScheduler& scheduler) : scheduler_(scheduler) {}

  std::optional<PlanningClient> Next() override {
    for (int refused = 0; refused < scheduler_.options_.most_candidates; ++refused) {
      std::optional<ClientState> state = scheduler_.balancer_.NextWaiting();
      if (!state || scheduler_.records_.contains(state->id) || refused_.contains(state->id)) return std::nullopt;
      if (!state->arrivals.Known()) {
        Redirect(std::move(*state));
        continue;
      }
      state_.emplace_back(std::move(*state));  // where what is planned with points to
      if (auto client = scheduler_.PlanningClientOf(state_.back())) return client;
      Refuse();
    }
    return std::nullopt;
  }

  void Admit() override { scheduler_.balancer_.Admit(state_.back().id); }

  void Refuse() override {
    Redirect(std::move(state_.back()));
    state_.pop_back();
  }

  // Those admitted become the scheduler's; pointers into their states end. Whether there were any.
  bool Register() {
    for (ClientState& state : state_) {
      const ClientId id = state.id;
      if (scheduler_.records_.emplace(id, Record{std::move(state), {}, {}, 0}).second) ++scheduler_.stats_.admitted;
    }
    return !state_.empty();
  }

 private:
  void Redirect(ClientState state) {
    refused_.insert(state.id);
    scheduler_.balancer_.Redirect(std::move(state));
  }

  CoordinatedScheduler& scheduler_;
  std::list<ClientState> state_;  // a list: they are pointed to
  std::set<ClientId> refused_;    // those that come again have all been tried
};

CoordinatedScheduler::CoordinatedScheduler(const InferenceProfile& profile, const CoordinatorOptions& options,
                                           const Clock& clock, Engine& engine, ClientPort& port, Balancer& balancer)
    : profile_(profile),
      options_(options),
      clock_(clock),
      engine_(engine),
      port_(port),
      balancer_(balancer),
      engine_free_at_(clock.Now()),
      next_round_(clock.Now()) {}

// Null if that frame is not in the plan; what is not costs the search of one client's frames only.
CoordinatedScheduler::Batch::Slot* CoordinatedScheduler::FindSlot(const Record& record, FrameId frame) {
  if (!std::binary_search(record.planned.begin(), record.planned.end(), frame)) return nullptr;
  for (Batch& batch : plan_) {
    for (Batch::Slot& slot : batch.slots) {
      if (slot.client == record.state.id && slot.frame == frame) return &slot;
    }
  }
  return nullptr;
}

void CoordinatedScheduler::OnRequest(ClientId client, FrameId frame) {
  const auto found = records_.find(client);
  if (found == records_.end()) {
    ++stats_.unscheduled;
    return;
  }
  Record& record = found->second;
  Batch::Slot* slot = FindSlot(record, frame);
  const auto overdue = std::find(record.overdue.begin(), record.overdue.end(), frame);
  const bool is_late = slot == nullptr && overdue != record.overdue.end();
  if (!is_late && (slot == nullptr || slot->arrived)) {
    ++stats_.unscheduled;
    return;
  }
  ++stats_.requests;
  const double error_s = Seconds(clock_.Now() - record.state.arrivals.At(frame));
  stats_.arrival_error_s += error_s;
  stats_.arrival_error_s2 += error_s * error_s;
  record.missed = 0;
  record.state.arrivals.Add(frame, clock_.Now());
  if (is_late) {
    record.overdue.erase(overdue);
    late_.push_back({client, frame, clock_.Now()});
  } else {
    slot->arrived = clock_.Now();
  }
  StartBatches();
}

void CoordinatedScheduler::OnReport(ClientId client, const ClientReport& report) {
  const auto found = records_.find(client);
  if (found != records_.end()) ApplyReport(report, found->second.state.model);
}

void CoordinatedScheduler::OnGone(ClientId client) {
  Remove(client);
  StartBatches();
}

void CoordinatedScheduler::Remove(ClientId client) {
  if (records_.erase(client) == 0) return;
  for (Batch& batch : plan_) {
    std::erase_if(batch.slots, [&](const Batch::Slot& slot) { return slot.client == client; });
  }
}

void CoordinatedScheduler::OnBatchDone() {
  running_ = false;
  engine_free_at_ = clock_.Now();
  profile_.End(clock_.Now());
  StartBatches();
}

void CoordinatedScheduler::Poll() {
  if (clock_.Now() >= next_round_) Round();
  StartBatches();
}

TimePoint CoordinatedScheduler::NextWakeup() const {
  return running_ || plan_.empty() ? next_round_ : std::min(next_round_, plan_.front().start);
}

void CoordinatedScheduler::StartBatches() {
  while (!running_ && !plan_.empty()) {
    const Batch& next = plan_.front();
    const bool complete =
        std::all_of(next.slots.begin(), next.slots.end(), [](const auto& slot) { return slot.arrived; });
    if (!complete && clock_.Now() < next.start) break;
    const Batch batch = std::move(plan_.front());
    plan_.pop_front();
    running_ = Start(batch);
  }
  StartLate();
}

// What came after its batch had begun need not wait for the next one if it can be done before that.
void CoordinatedScheduler::StartLate() {
  if (running_ || late_.empty() || !FitsBeforeNext(late_.size())) return;
  std::vector<Request> requests;
  AddLate(requests);
  running_ = Run(requests, std::nullopt);
}

// Begins with those that are there; false if none is.
bool CoordinatedScheduler::Start(const Batch& batch) {
  std::vector<Request> requests;
  for (const Batch::Slot& slot : batch.slots) {
    Record& record = records_.at(slot.client);
    record.state.last_frame = std::max(record.state.last_frame, slot.frame);
    if (slot.arrived) {
      requests.push_back({slot.client, slot.frame, *slot.arrived});
      continue;
    }
    ++record.missed;
    record.overdue.push_back(slot.frame);
    if (record.overdue.size() > kMostOverdue) record.overdue.erase(record.overdue.begin());
  }
  AddLate(requests);
  return Run(requests, batch.start);
}

bool CoordinatedScheduler::Run(const std::vector<Request>& requests, std::optional<TimePoint> due) {
  if (requests.empty()) return false;
  engine_free_at_ = clock_.Now() + profile_.Now().Latency(static_cast<int>(requests.size()));
  for (const Request& request : requests) {
    ClientState& state = records_.at(request.client).state;
    if (request.frame <= state.newest.frame) continue;
    const PlanningClient client{state.id, state.model, {}, &state.arrivals, state.last_frame, state.newest};
    const FrameId use = FirstUse(client, request.frame, engine_free_at_);
    state.newest = {request.frame, std::max(state.newest.usable, use)};
  }
  profile_.Begin(static_cast<int>(requests.size()), clock_.Now());
  engine_.Start(requests, due);
  return true;
}

// So many requests, begun now.
bool CoordinatedScheduler::FitsBeforeNext(size_t requests) const {
  const int size = static_cast<int>(requests);
  return size <= profile_.Now().MaxBatch() &&
         (plan_.empty() || clock_.Now() + profile_.Now().Latency(size) <= plan_.front().start);
}

// What came after its batch is taken along where that does not delay the next.
void CoordinatedScheduler::AddLate(std::vector<Request>& requests) {
  for (const Request& request : late_) {
    if (!records_.contains(request.client)) continue;
    const bool fits = FitsBeforeNext(requests.size() + 1);
    ++(fits ? stats_.late : stats_.too_late);
    if (fits) requests.push_back(request);
  }
  late_.clear();
}

void CoordinatedScheduler::Round() {
  const TimePoint now = clock_.Now();
  next_round_ = now + options_.period;
  ++stats_.rounds;
  DropVanished();
  std::vector<PlanningClient> clients = PlanningClients();
  BatchPlan head = Head(clients);
  const TimePoint free_at = std::max(now + options_.overlap, EndOf(head));
  Waiting waiting(*this);
  const Coordination result = Coordinate(clients, std::move(head), now, free_at, profile_.Now(), options_, waiting);
  if (waiting.Register()) Agree(clients);
  for (const ClientId client : result.evicted) Evict(client);
  Apply(clients, result.plan);
}

// All of them fit together. What they have lost so far is another matter.
void CoordinatedScheduler::Agree(const std::vector<PlanningClient>& clients) {
  for (const PlanningClient& client : clients) {
    Record& record = records_.at(client.id);
    record.agreed = options_.budget ? BestSettings(record.state.model, profile_.Now(), options_.limits)
                                    : std::optional(client.settings);
  }
}

void CoordinatedScheduler::DropVanished() {
  for (auto record = records_.begin(); record != records_.end();) {
    if (record->second.missed < kMissedBeforeVanished) {
      ++record;
      continue;
    }
    ++stats_.vanished;
    balancer_.Vanished(std::move(record->second.state));
    record = records_.erase(record);
  }
  for (Batch& batch : plan_) {
    std::erase_if(batch.slots, [&](const Batch::Slot& slot) { return !records_.contains(slot.client); });
  }
}

// nullopt: its SLA cannot be met. One that owes is planned for as if it owed nothing where it cannot be paid back, and
// does not go because it is not.
std::optional<PlanningClient> CoordinatedScheduler::PlanningClientOf(const ClientState& state) const {
  const auto settings_for = [&](const ClientModel& model) {
    return BestSettings(model, profile_.Now(), options_.limits);
  };
  const std::optional<OffloadSettings> mean = settings_for(state.model);
  PlanningClient client{state.id, state.model, {}, &state.arrivals, state.last_frame, state.newest};
  client.mean_share = mean ? EngineShare(*mean, state.model, profile_.Now()) : 1;
  std::optional<OffloadSettings> settings = mean;
  if (options_.budget) {
    client.model.sla = Allowance(state.model, *options_.budget);
    client.owes = Owes(state.model);
    settings = settings_for(client.model);
    if (client.owes && !settings) settings = mean;
    if (client.owes) client.model.sla = state.model.sla;
  }
  if (!settings) return std::nullopt;
  client.settings = *settings;
  return client;
}

// Those whose SLA can be met at all; the others go.
std::vector<PlanningClient> CoordinatedScheduler::PlanningClients() {
  std::vector<PlanningClient> clients;
  std::vector<ClientId> hopeless;
  for (auto& [id, record] : records_) {
    std::optional<PlanningClient> client = PlanningClientOf(record.state);
    if (!client) {
      hopeless.push_back(id);
      continue;
    }
    if (options_.charge_growth && record.agreed) {
      const double agreed_share = EngineShare(*record.agreed, client->model, profile_.Now());
      const double share = EngineShare(client->settings, client->model, profile_.Now());
      client->agreed = record.agreed;
      client->owes = client->owes && share <= kMostOwedGrowth * agreed_share;
    }
    clients.push_back(*std::move(client));
  }
  for (const ClientId id : hopeless) Evict(id);
  return clients;
}

// The batches of the old plan whose requests may be on their way; clients go on from there.
BatchPlan CoordinatedScheduler::Head(std::vector<PlanningClient>& clients) const {
  BatchPlan head;
  for (const Batch& batch : plan_) {
    if (batch.arrival >= clock_.Now() + options_.overlap) break;
    PlannedBatch planned{batch.arrival, batch.start, batch.end, {}};
    for (const Batch::Slot& slot : batch.slots) {
      const auto client = std::lower_bound(clients.begin(), clients.end(), slot.client,
                                           [](const PlanningClient& one, ClientId id) { return one.id < id; });
      client->last_frame = std::max(client->last_frame, slot.frame);
      planned.requests.push_back({static_cast<int>(client - clients.begin()), slot.frame});
    }
    if (!planned.requests.empty()) head.push_back(std::move(planned));
  }
  return head;
}

// When the engine will have done these: as planned, or later if it is behind.
TimePoint CoordinatedScheduler::EndOf(const BatchPlan& head) const {
  TimePoint end = std::max(engine_free_at_, clock_.Now());
  for (const PlannedBatch& batch : head) {
    end = std::max(batch.end, end + profile_.Now().Latency(static_cast<int>(batch.requests.size())));
  }
  return end;
}

void CoordinatedScheduler::Apply(const std::vector<PlanningClient>& clients, const BatchPlan& plan) {
  std::map<std::pair<ClientId, FrameId>, TimePoint> arrived;
  for (const Batch& batch : plan_) {
    for (const Batch::Slot& slot : batch.slots) {
      if (slot.arrived) arrived[{slot.client, slot.frame}] = *slot.arrived;
    }
  }
  std::vector<ClientPlan> told(clients.size());
  plan_.clear();
  for (const PlannedBatch& planned : plan) {
    Batch batch{planned.arrival, planned.start, planned.end, {}};
    for (const auto& [index, frame] : planned.requests) {
      const ClientId id = clients[index].id;
      const auto there = arrived.find({id, frame});
      batch.slots.push_back({id, frame, there == arrived.end() ? std::nullopt : std::optional(there->second)});
      told[index].frames.push_back(frame);
    }
    plan_.push_back(std::move(batch));
  }
  for (size_t i = 0; i < clients.size(); ++i) {
    Record& record = records_.at(clients[i].id);
    record.planned = told[i].frames;
    // Its camera may be later than is known here: what is overdue is still to come.
    told[i].frames.insert(told[i].frames.begin(), record.overdue.begin(), record.overdue.end());
    port_.Send(clients[i].id, told[i]);
  }
}

void CoordinatedScheduler::Evict(ClientId client) {
  const auto found = records_.find(client);
  if (found == records_.end()) return;
  if (found->second.missed >= kMissedBeforeSuspect) {
    ++stats_.vanished;
    balancer_.Vanished(std::move(found->second.state));
  } else {
    ++stats_.evicted;
    balancer_.Redirect(std::move(found->second.state));
  }
  Remove(client);
}

}  // namespace wharf::serving
