#include "wharf/ar/server/coordination.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "wharf/serving/settings.h"

namespace wharf::ar {
namespace {

constexpr size_t kMostPictures = 4;  // of a client, that wait
// Of a picture that no batch has taken: no plan reaches so far ahead.
constexpr Nanoseconds kLongestWait = std::chrono::seconds(2);
constexpr double kSpare = 1.2;  // of a picture's inference time, before the next batch, to run one out of turn
// Of one that vanished: it counts as one that did so again if it had been served for less than kSteady.
constexpr Nanoseconds kSteady = std::chrono::seconds(10), kFirstPause = std::chrono::seconds(1);
constexpr int kMostDoublings = 6;
constexpr Nanoseconds kRedirectAgain = std::chrono::seconds(30);
constexpr Nanoseconds kNever = std::chrono::hours(1);

}  // namespace

Coordination::Coordination(CoordinationConfig config)
    : config_(std::move(config)), scheduler_(config_.profile, config_.options, clock_, *this, *this, *this) {
  engine_thread_ = std::thread([this] { engine_.Run(clock_, [this] { return clock_.Now() + kNever; }); });
  loop_thread_ = std::thread([this] { loop_.Run(clock_, [this] { return Step(); }); });
}

Coordination::~Coordination() {
  engine_.Stop();  // what it still computes, it posts
  engine_thread_.join();
  loop_.Stop();
  loop_thread_.join();
}

uint64_t Coordination::Join(double frames_per_s, double sla, DepthCoding coding,
                            std::shared_ptr<CoordinatedPeer> peer) {
  const uint64_t id = next_client_++;
  loop_.Post([=, this, peer = std::move(peer)]() mutable {
    clients_[id] = {.coding = coding, .peer = std::move(peer)};
    serving::ClientState state;
    state.id = id;
    state.model = {.fps = frames_per_s,
                   .sla = sla,
                   .drop_rate = config_.first_drop_rate,
                   .network_s = Seconds(config_.first_network)};
    state.arrivals = serving::ArrivalPredictor(frames_per_s);
    Wait(std::move(state));
  });
  return id;
}

void Coordination::Leave(uint64_t client) {
  loop_.Post([this, client] {
    clients_.erase(client);
    {
      absl::MutexLock lock(&mutex_);
      reports_.erase(client);
    }
    std::erase_if(waiting_, [&](const serving::ClientState& state) { return state.id == client; });
    scheduler_.OnGone(client);
  });
}

void Coordination::OnPicture(uint64_t client, int64_t frame, scene::Image picture) {
  // Shared, because what is posted must be copyable.
  auto shared = std::make_shared<Picture>(Picture{std::move(picture), clock_.Now()});
  loop_.Post([this, client, frame, shared] { Take(client, frame, std::move(*shared)); });
}

void Coordination::OnReport(uint64_t client, const serving::ClientReport& report) {
  absl::MutexLock lock(&mutex_);
  if (!reports_.insert_or_assign(client, report).second) ++counts_.reports_superseded;
}

// One of a client that has not joined yet, as far as this thread has heard, stays.
void Coordination::TakeReports() {
  absl::MutexLock lock(&mutex_);
  counts_.reports_taken += std::erase_if(reports_, [this](const auto& entry) {
    const auto& [client, report] = entry;
    if (!clients_.contains(client)) return false;
    scheduler_.OnReport(client, report);
    serving::ClientState* const state = FindWaiting(client);
    if (state != nullptr) serving::ApplyReport(report, state->model);
    return true;
  });
}

CoordinationCounts Coordination::Counts() const {
  absl::MutexLock lock(&mutex_);
  return counts_;
}

TimePoint Coordination::Step() {
  if (scheduler_.NextWakeup() <= clock_.Now()) {
    TakeReports();
    scheduler_.Poll();
  }
  RedirectLate();
  RefuseLate();
  absl::MutexLock lock(&mutex_);
  counts_.served = scheduler_.clients();
  counts_.waiting = waiting_.size();
  counts_.scheduler = scheduler_.stats();
  ++counts_.steps;
  return scheduler_.NextWakeup();
}

// Checked as often as the scheduler plans: nobody waits for the moment.
void Coordination::RedirectLate() {
  for (const serving::ClientState& state : waiting_) {
    const auto found = clients_.find(state.id);
    if (found == clients_.end() || !found->second.redirect || *found->second.redirect > clock_.Now()) continue;
    found->second.redirect = clock_.Now() + kRedirectAgain;
    found->second.peer->Tell({.frames = {}, .interval = config_.waiting_interval}, /*served=*/false, WhyItWaits(state));
    found->second.peer->Redirect();
  }
}

// What the scheduler has forgotten: it came too late for any batch, or its client is not served any more.
void Coordination::RefuseLate() {
  const TimePoint now = clock_.Now();
  if (now < refused_late_ + kLongestWait / 4) return;
  refused_late_ = now;
  for (auto& [id, client] : clients_) {
    std::vector<int64_t> late;
    for (const auto& [frame, picture] : client.pictures) {
      if (picture.arrived + kLongestWait <= now) late.push_back(frame);
    }
    for (const int64_t frame : late) Refuse(client, frame, "the frame came too late");
  }
}

serving::ClientState* Coordination::FindWaiting(uint64_t client) {
  const auto found = std::ranges::find(waiting_, client, &serving::ClientState::id);
  return found == waiting_.end() ? nullptr : &*found;
}

void Coordination::Take(uint64_t id, int64_t frame, Picture picture) {
  const auto found = clients_.find(id);
  if (found == clients_.end()) return;  // gone
  Client& client = found->second;
  const TimePoint arrived = picture.arrived;
  if (!client.pictures.try_emplace(frame, std::move(picture)).second) {
    return client.peer->Deliver(frame, InvalidArgument("the frame is here already"), {}, {});
  }
  KeepNewest(client);
  if (serving::ClientState* const state = FindWaiting(id); state != nullptr) {
    if (!Learn(*state, frame, arrived)) return Refuse(client, frame, "no camera has that frame now");
    RunAlone(client, frame);
    return;
  }
  const uint64_t unscheduled = scheduler_.stats().unscheduled;
  scheduler_.OnRequest(id, frame);
  if (scheduler_.stats().unscheduled != unscheduled) Refuse(client, frame, "the frame was not scheduled");
}

// Of a client that waits. One whose frames jump is a camera that paused, as far as anybody knows: it is learned anew
// from there, and whatever was known of it goes, so that nothing is worked out across the jump. False: no camera has
// it.
bool Coordination::Learn(serving::ClientState& state, int64_t frame, TimePoint arrived) {
  if (frame > state.arrivals.last_frame() && !state.arrivals.Add(frame, arrived)) {
    state.arrivals = serving::ArrivalPredictor(state.model.fps);
    state.last_frame = 0;
    state.newest = {};
    if (!state.arrivals.Add(frame, arrived)) return false;
  }
  state.last_frame = std::max(state.last_frame, frame);
  return true;
}

void Coordination::Refuse(Client& client, int64_t frame, const char* why) {
  const auto found = client.pictures.find(frame);
  if (found == client.pictures.end()) return;
  client.peer->Deliver(frame, ResourceExhausted("{}", why), clock_.Now() - found->second.arrived, {});
  client.pictures.erase(found);
}

// Those that came too late for any batch give way to newer ones.
void Coordination::KeepNewest(Client& client) {
  while (client.pictures.size() > kMostPictures)
    Refuse(client, client.pictures.begin()->first, "the frame came too late");
}

bool Coordination::HasTime() const {
  return computing_ == 0 && scheduler_.NextWakeup() > clock_.Now() + FromSeconds(kSpare * config_.profile.Seconds(1));
}

// Of a client that waits.
void Coordination::RunAlone(Client& client, int64_t frame) {
  Batch batch;
  if (HasTime()) {
    Add(client, frame, batch);
    Compute(std::move(batch), /*planned=*/false);
  } else {
    Refuse(client, frame, "the server has no time for clients that wait");
  }
}

void Coordination::Add(Client& client, int64_t frame, Batch& batch) {
  const auto found = client.pictures.find(frame);
  if (found == client.pictures.end()) return;  // gave way to newer ones
  batch.jobs.push_back({client.peer, frame, found->second.arrived});
  batch.pictures.push_back(std::move(found->second.image));
  batch.codings.push_back(client.coding);
  client.pictures.erase(found);
}

void Coordination::Start(const std::vector<serving::Request>& requests, std::optional<TimePoint>) {
  Batch batch;
  for (const serving::Request& request : requests) {
    const auto client = clients_.find(request.client);
    if (client != clients_.end()) Add(client->second, request.frame, batch);
  }
  Compute(std::move(batch), /*planned=*/true);
}

void Coordination::Compute(Batch batch, bool planned) {
  ++computing_;
  auto shared = std::make_shared<Batch>(std::move(batch));
  engine_.Post([this, shared, planned] {
    const TimePoint begun = clock_.Now();
    std::vector<Finding> findings;
    if (!shared->jobs.empty()) findings = config_.finder->Find(shared->pictures, shared->codings);
    const Nanoseconds took = clock_.Now() - begun;
    for (size_t i = 0; i < findings.size(); ++i) {
      const Job& job = shared->jobs[i];
      job.peer->Deliver(job.frame, std::move(findings[i]), begun - job.arrived, took);
    }
    loop_.Post([this, planned] {
      --computing_;
      if (planned) scheduler_.OnBatchDone();
    });
  });
}

void Coordination::Send(serving::ClientId client, const serving::ClientPlan& plan) {
  const auto found = clients_.find(client);
  if (found == clients_.end()) return;
  found->second.redirect.reset();
  found->second.peer->Tell(plan, /*served=*/true, "");
}

// Others are passed over, as a round tries a few only: who has sent nothing, which cannot be planned for, whose SLA
// nobody could keep, and who was admitted and did not come too often.
bool Coordination::MayComeNext(const serving::ClientState& state) const {
  const auto found = clients_.find(state.id);
  return state.arrivals.Known() && found != clients_.end() && found->second.not_before <= clock_.Now() &&
         scheduler_.CouldServe(state);
}

// In the order in which MayComeNext looks.
std::string Coordination::WhyItWaits(const serving::ClientState& state) const {
  const auto found = clients_.find(state.id);
  if (!state.arrivals.Known()) return "its pictures do not come as its camera's frames should";
  if (found != clients_.end() && found->second.not_before > clock_.Now())
    return "its pictures did not come when they were due: it is tried again after a while";
  if (!scheduler_.CouldServe(state)) {
    return fmt::format(
        "a drop of {:g} cannot be kept here, over this link and with at most {:.0f} % of what the server can compute",
        state.model.sla, 100 * config_.options.limits.max_share);
  }
  return "what the server can compute is taken by its other clients";
}

std::optional<serving::ClientState> Coordination::NextWaiting() {
  const auto next = std::ranges::find_if(waiting_, [this](const auto& state) { return MayComeNext(state); });
  if (next == waiting_.end()) return std::nullopt;
  serving::ClientState state = *next;
  // What it has lost by waiting is lost, and nothing that a plan could mend: it is judged as one that comes from a
  // server of its own.
  const int64_t newest = state.arrivals.LatestBy(clock_.Now());
  state.newest = {newest - serving::ReferenceOf(state.model, config_.profile).latency, newest};
  return state;
}

void Coordination::Admit(serving::ClientId client) {
  TakeFromLine(client);
  const auto found = clients_.find(client);
  if (found != clients_.end()) found->second.admitted = clock_.Now();
}

void Coordination::TakeFromLine(serving::ClientId client) {
  std::erase_if(waiting_, [&](const serving::ClientState& state) { return state.id == client; });
}

// Its connection is there, so its frames come at other times than they did: a camera that paused. Those are to be
// learned anew before it is planned for, or it would be asked for frames that are past, or not there yet, for good. One
// that does so again and again holds places that others could use: each time it has to wait for twice as long.
void Coordination::Vanished(serving::ClientState client) {
  if (const auto found = clients_.find(client.id); found != clients_.end()) {
    Client& known = found->second;
    if (clock_.Now() - known.admitted > kSteady) known.vanished = 0;
    if (known.vanished > 0)
      known.not_before = clock_.Now() + kFirstPause * (1 << std::min(known.vanished - 1, kMostDoublings));
    ++known.vanished;
  }
  client.arrivals = serving::ArrivalPredictor(client.model.fps);
  Wait(std::move(client));
}

void Coordination::Wait(serving::ClientState state) {
  TakeFromLine(state.id);  // it comes behind all that wait
  const auto found = clients_.find(state.id);
  if (found == clients_.end()) return;
  if (!found->second.redirect) {  // it did not wait until now
    found->second.redirect = clock_.Now() + config_.patience;
    found->second.peer->Tell({.frames = {}, .interval = config_.waiting_interval}, /*served=*/false, "");
  }
  waiting_.push_back(std::move(state));
}

}  // namespace wharf::ar
