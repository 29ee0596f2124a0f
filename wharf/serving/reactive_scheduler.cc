#include "wharf/serving/reactive_scheduler.h"

#include <algorithm>

#include "wharf/serving/packing.h"

namespace wharf::serving {
namespace {

constexpr Nanoseconds kSilentBeforeVanished = std::chrono::seconds(2);

}  // namespace

ReactiveScheduler::ReactiveScheduler(const InferenceProfile& profile, const ReactiveOptions& options,
                                     const Clock& clock, Engine& engine, ClientPort& port, Balancer& balancer)
    : profile_(profile),
      options_(options),
      clock_(clock),
      engine_(engine),
      port_(port),
      balancer_(balancer),
      next_round_(clock.Now()),
      calm_since_(clock.Now()) {}

std::optional<OffloadSettings> ReactiveScheduler::SettingsOf(const ClientModel& model) const {
  if (options_.fixed) {
    const OffloadSettings& settings = options_.fixed->settings;
    if (!options_.refuse) return settings;
    const double drop = track::DropFromReference(model.drop_rate, ScheduleOf(model, profile_.Now(), settings),
                                                 ReferenceOf(model, profile_.Now()));
    return drop > model.sla ? std::nullopt : std::optional(settings);
  }
  const auto best = BestSettings(model, profile_.Now(), options_.limits);
  if (best || !options_.keep_hopeless) return best;
  return OffloadSettings{options_.limits.min_interval, options_.limits.min_batch};
}

// Not before its turn, and not before its camera can have it.
bool ReactiveScheduler::MayCome(const Record& record, FrameId frame) const {
  const ClientState& state = record.state;
  return frame >= state.last_frame + record.least_interval &&
         frame <= state.arrivals.LatestBy(clock_.Now()) + static_cast<FrameId>(state.model.fps);
}

void ReactiveScheduler::OnRequest(ClientId client, FrameId frame) {
  const auto found = records_.find(client);
  if (found == records_.end() || !MayCome(found->second, frame)) {
    ++stats_.unscheduled;
    return;
  }
  ++stats_.requests;
  ClientState& state = found->second.state;
  state.last_frame = frame;
  state.arrivals.Add(frame, clock_.Now());
  found->second.last_seen = clock_.Now();
  queue_.push_back({client, frame, clock_.Now()});
  StartBatch();
}

void ReactiveScheduler::OnReport(ClientId client, const ClientReport& report) {
  const auto found = records_.find(client);
  if (found != records_.end()) ApplyReport(report, found->second.state.model);
}

void ReactiveScheduler::OnGone(ClientId client) {
  records_.erase(client);
  std::erase_if(queue_, [&](const Request& request) { return request.client == client; });
}

void ReactiveScheduler::OnBatchDone() {
  running_ = false;
  profile_.End(clock_.Now());
  StartBatch();
}

// As many of those from `from` on as all of them allow in one batch.
size_t ReactiveScheduler::Fitting(size_t from) const {
  size_t limit = static_cast<size_t>(profile_.Now().MaxBatch()), size = 0;
  while (from + size < queue_.size()) {
    limit = std::min(limit, static_cast<size_t>(records_.at(queue_[from + size].client).settings.batch));
    if (size + 1 > limit) break;
    ++size;
  }
  return size;
}

void ReactiveScheduler::StartBatch() {
  if (running_ || queue_.empty()) return;
  const auto size = static_cast<ptrdiff_t>(Fitting(0));
  const std::vector<Request> batch(queue_.begin(), queue_.begin() + size);
  queue_.erase(queue_.begin(), queue_.begin() + size);
  running_ = true;
  const Nanoseconds latency = profile_.Now().Latency(static_cast<int>(size));
  engine_free_at_ = clock_.Now() + latency;
  for (const Request& request : batch) {
    ClientState& state = records_.at(request.client).state;
    const PlanningClient client{state.id, state.model, {}, &state.arrivals, state.last_frame, state.newest};
    const FrameId use = FirstUse(client, request.frame, clock_.Now() + latency);
    state.newest = {request.frame, std::max(state.newest.usable, use)};
  }
  profile_.Begin(static_cast<int>(size), clock_.Now());
  engine_.Start(batch, std::nullopt);
  if (!options_.fixed && !queue_.empty()) CheckDelayed(latency);
}

// What is left waits for the next batch at least, which begins when this one ends.
void ReactiveScheduler::CheckDelayed(Nanoseconds first) {
  std::vector<ClientId> missing;
  TimePoint end = clock_.Now() + first;
  for (size_t i = 0; i < queue_.size();) {
    const size_t size = Fitting(i);
    end = end + profile_.Now().Latency(static_cast<int>(size));
    for (size_t j = i; j < i + size; ++j) {
      if (!options_.tolerant || MissesSla(queue_[j], end)) missing.push_back(queue_[j].client);
    }
    i += size;
  }
  if (missing.empty()) return;
  calm_since_ = clock_.Now();
  if (options_.tolerant) {
    std::stable_sort(missing.begin(), missing.end(), [&](ClientId a, ClientId b) { return ShareOf(a) > ShareOf(b); });
  }
  for (int i = 0; i < options_.step && i < static_cast<int>(missing.size()); ++i) Evict(missing[i]);
}

double ReactiveScheduler::ShareOf(ClientId client) const {
  const Record& record = records_.at(client);
  return EngineShare(record.settings, record.state.model, profile_.Now());
}

// If all of the client's results took as long as this one's.
bool ReactiveScheduler::MissesSla(const Request& request, TimePoint end) const {
  const Record& record = records_.at(request.client);
  const ClientState& state = record.state;
  const PlanningClient client{state.id, state.model, {}, &state.arrivals, state.last_frame, state.newest};
  const auto latency = static_cast<int>(FirstUse(client, request.frame, end) - request.frame);
  const double drop = track::DropFromReference(state.model.drop_rate, {record.settings.interval, latency},
                                               ReferenceOf(state.model, profile_.Now()));
  return drop > state.model.sla;
}

void ReactiveScheduler::Poll() {
  if (clock_.Now() >= next_round_) Round();
}

void ReactiveScheduler::Round() {
  next_round_ = clock_.Now() + options_.period;
  ++stats_.rounds;
  std::vector<ClientId> hopeless, silent;
  for (auto& [id, record] : records_) {
    const auto settings = SettingsOf(record.state.model);
    if (clock_.Now() - record.last_seen > kSilentBeforeVanished) {
      silent.push_back(id);
    } else if (!settings) {
      hopeless.push_back(id);
    } else {
      record.least_interval = std::min(record.settings.interval, settings->interval);
      if (record.settings.interval != settings->interval) port_.Send(id, {{}, settings->interval});
      record.settings = *settings;
    }
  }
  for (const ClientId id : hopeless) Evict(id);
  for (const ClientId id : silent) {
    ++stats_.vanished;
    balancer_.Vanished(std::move(records_.at(id).state));
    OnGone(id);
  }
  Add();
  if (options_.verify) Verify();
}

// What the near future will be like, if all goes as it does now: whoever would lose too much goes.
void ReactiveScheduler::Verify() {
  while (!records_.empty()) {
    std::vector<PlanningClient> clients;
    std::map<ClientId, int> index;
    for (const auto& [id, record] : records_) {
      const ClientState& state = record.state;
      index[id] = static_cast<int>(clients.size());
      clients.push_back({id, state.model, record.settings, &state.arrivals, state.last_frame, state.newest});
    }
    const TimePoint now = clock_.Now();
    std::vector<SimulatedRequest> requests;
    for (const Request& request : queue_) requests.push_back({index.at(request.client), request.frame, now});
    const auto to_come = SimulateRequests(clients, now, now + options_.horizon);
    requests.insert(requests.end(), to_come.begin(), to_come.end());
    const BatchPlan plan = GroupRequests(clients, requests, profile_.Now(), std::max(now, engine_free_at_));
    const auto remove =
        ClientToRemove(clients, EstimateDrops(clients, plan, profile_.Now(), now), profile_.Now(), false);
    if (!remove) return;
    Evict(clients[*remove].id);
  }
}

void ReactiveScheduler::Add() {
  if (options_.fixed) {
    while (clients() < static_cast<size_t>(options_.fixed->clients) && AddOne()) {
    }
    return;
  }
  if (clock_.Now() - calm_since_ < options_.calm) return;
  for (int i = 0; i < options_.step; ++i) AddOne();
  calm_since_ = clock_.Now();
}

bool ReactiveScheduler::AddOne() {
  constexpr int kMostRefused = 4;
  for (int refused = 0; refused < kMostRefused; ++refused) {
    std::optional<ClientState> state = balancer_.NextWaiting();
    if (!state || records_.contains(state->id)) return false;
    const auto settings = SettingsOf(state->model);
    if (settings && state->arrivals.Known()) {
      const ClientId id = state->id;
      balancer_.Admit(id);
      ++stats_.admitted;
      records_.emplace(id, Record{std::move(*state), *settings, settings->interval, clock_.Now()});
      port_.Send(id, {{}, settings->interval});
      return true;
    }
    balancer_.Redirect(std::move(*state));
  }
  return false;
}

void ReactiveScheduler::Evict(ClientId client) {
  const auto found = records_.find(client);
  if (found == records_.end()) return;
  ++stats_.evicted;
  balancer_.Redirect(std::move(found->second.state));
  OnGone(client);
}

}  // namespace wharf::serving
