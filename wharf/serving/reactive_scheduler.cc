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
  return options_.fixed ? options_.fixed->settings : BestSettings(model, profile_, options_.limits);
}

void ReactiveScheduler::OnRequest(ClientId client, FrameId frame) {
  const auto found = records_.find(client);
  if (found == records_.end() || frame < found->second.state.last_frame + found->second.least_interval) {
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
  StartBatch();
}

// As many of those from `from` on as all of them allow in one batch.
size_t ReactiveScheduler::Fitting(size_t from) const {
  size_t limit = static_cast<size_t>(profile_.MaxBatch()), size = 0;
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
  const Nanoseconds latency = profile_.Latency(static_cast<int>(size));
  for (const Request& request : batch) {
    ClientState& state = records_.at(request.client).state;
    const PlanningClient client{state.id, state.model, {}, &state.arrivals, state.last_frame, state.newest};
    const FrameId use = FirstUse(client, request.frame, clock_.Now() + latency);
    state.newest = {request.frame, std::max(state.newest.usable, use)};
  }
  engine_.Start(batch, std::nullopt);
  if (!options_.fixed && !queue_.empty()) CheckDelayed(latency);
}

// What is left waits for the next batch at least, which begins when this one ends.
void ReactiveScheduler::CheckDelayed(Nanoseconds first) {
  std::vector<ClientId> missing;
  TimePoint end = clock_.Now() + first;
  for (size_t i = 0; i < queue_.size();) {
    const size_t size = Fitting(i);
    end = end + profile_.Latency(static_cast<int>(size));
    for (size_t j = i; j < i + size; ++j) {
      if (MissesSla(queue_[j], end)) missing.push_back(queue_[j].client);
    }
    i += size;
  }
  if (missing.empty()) return;
  calm_since_ = clock_.Now();
  for (int i = 0; i < options_.step && i < static_cast<int>(missing.size()); ++i) Evict(missing[i]);
}

// If all of the client's results took as long as this one's.
bool ReactiveScheduler::MissesSla(const Request& request, TimePoint end) const {
  const Record& record = records_.at(request.client);
  const ClientState& state = record.state;
  const PlanningClient client{state.id, state.model, {}, &state.arrivals, state.last_frame, state.newest};
  const auto latency = static_cast<int>(FirstUse(client, request.frame, end) - request.frame);
  const double drop = track::DropFromReference(state.model.drop_rate, {record.settings.interval, latency},
                                               ReferenceOf(state.model, profile_));
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
    OnGone(id);
  }
  Add();
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
    balancer_.HandOver(std::move(*state));
  }
  return false;
}

void ReactiveScheduler::Evict(ClientId client) {
  const auto found = records_.find(client);
  if (found == records_.end()) return;
  ++stats_.evicted;
  balancer_.HandOver(std::move(found->second.state));
  OnGone(client);
}

}  // namespace wharf::serving
