#include "wharf/serving/emulation/emulation.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <functional>
#include <map>
#include <utility>

#include "wharf/base/random.h"
#include "wharf/serving/emulation/event_queue.h"
#include "wharf/serving/settings.h"

namespace wharf::serving {
namespace {

constexpr Nanoseconds kSampling = std::chrono::milliseconds(100);
constexpr Nanoseconds kSettling = std::chrono::seconds(1);  // on the other server before this one may take a session
constexpr double kPlanBytes = 200, kReportBytes = 60;
constexpr double kVanishesAfterS = 3;

class Emulation final : public Engine, public ClientPort, public Balancer {
 public:
  // Returns at the time given, or earlier if `engine` has done its batch: with what that took.
  using Wait = std::function<absl::StatusOr<std::optional<Nanoseconds>>(TimePoint)>;

  // `engine` is null where its times are emulated, too.
  Emulation(const std::vector<DropTable>& tables, const InferenceProfile& profile, const EmulationOptions& options,
            const Clock& clock, BatchEngine* engine, Wait wait)
      : tables_(tables),
        profile_(profile),
        options_(options),
        clock_(clock),
        engine_(engine),
        wait_(std::move(wait)),
        begin_(clock.Now()),
        measured_from_(begin_ + FromSeconds(options.warm_up_s)),
        end_(begin_ + FromSeconds(options.seconds)),
        random_(options.seed, 1),
        noise_(options.seed, 2),
        scheduler_(MakeScheduler(options.system, profile, clock, *this, *this, *this)) {}

  absl::StatusOr<EmulationResult> Run() {
    ScheduleSessions();
    events_.At(begin_ + kSampling, [this] { TakeSample(); });
    while (true) {
      const TimePoint wakeup = scheduler_->NextWakeup();
      const bool event = !events_.Empty() && events_.NextTime() <= wakeup;
      const TimePoint next = event ? events_.NextTime() : wakeup;
      if (next > end_) break;
      WHARF_ASSIGN_OR_RETURN(const std::optional<Nanoseconds> batch_took, wait_(next));
      if (batch_took) {
        OnBatchDone(*batch_took);
      } else if (event) {
        events_.RunNext();
      } else {
        Poll();
      }
    }
    if (running_ && engine_ != nullptr) WHARF_RETURN_IF_ERROR(wait_(TimePoint{Nanoseconds::max()}).status());
    return Finish();
  }

  // Engine.
  void Start(const std::vector<Request>& batch, std::optional<TimePoint> due) override {
    const TimePoint now = clock_.Now();
    if (due && now >= measured_from_) result_.late_ms.push_back(static_cast<float>(Milliseconds(now - *due)));
    since_sample_.offloads += static_cast<double>(batch.size());
    ++since_sample_.batches;
    running_ = {batch, now};
    if (engine_ != nullptr) {
      engine_->Start(FramesOf(batch));
      return;
    }
    const double factor = std::max(0.5, 1 + options_.inference_cv * noise_.Normal());
    const Nanoseconds took = FromSeconds(factor * profile_.Seconds(static_cast<int>(batch.size())));
    events_.At(now + took, [this, took] { OnBatchDone(took); });
  }

  // ClientPort.
  void Send(ClientId id, const ClientPlan& plan) override {
    Session& session = sessions_.at(id);
    const TimePoint there = session.client->link().Down(clock_.Now(), kPlanBytes);
    events_.At(there, [this, id, plan, stay = session.stay] {
      Session* still = Served(id, stay);
      if (still == nullptr) return;
      still->client->SetPlan(plan, clock_.Now());
      ScheduleOffload(id, *still);
    });
  }

  // Balancer.
  std::optional<ClientState> NextWaiting() override {
    const auto over = [&](ClientId id) {
      const auto found = sessions_.find(id);
      return found == sessions_.end() || found->second.client->End() <= clock_.Now() + kSettling;
    };
    while (!newest_.empty() && over(newest_.back())) newest_.pop_back();
    while (newest_.empty() && !evicted_.empty() && over(evicted_.front())) evicted_.pop_front();
    if (newest_.empty() && evicted_.empty()) return std::nullopt;
    const ClientId id = newest_.empty() ? evicted_.front() : newest_.back();
    return sessions_.at(id).client->OnOtherServer(clock_.Now());
  }

  void Admit(ClientId id) override {
    TakeFromLine(id);
    Session& session = sessions_.at(id);
    ++session.stay;
    session.entered = clock_.Now();
    session.client->Enter(clock_.Now());
    if (session.client->options().behaviour == Behaviour::kFlooding) {
      events_.At(clock_.Now(), [this, id, stay = session.stay] { Flood(id, stay); });
    }
  }

  void Redirect(ClientState state) override {
    Session& session = sessions_.at(state.id);
    if (session.client->served()) {
      session.client->Leave(clock_.Now());
      ++session.stay;
    } else {
      TakeFromLine(state.id);
    }
    evicted_.push_back(state.id);
  }

  void Vanished(ClientState state) override {
    Session& session = sessions_.at(state.id);
    session.client->Leave(clock_.Now());
    ++session.stay;
    if (!IsSilent(session)) evicted_.push_back(state.id);  // it was there after all
  }

 private:
  struct Session {
    std::unique_ptr<EmulatedClient> client;
    size_t table = 0;
    double sla = 0;        // whatever the server is told
    int stay = 0;          // changes when it comes or leaves: what was under way for another one is lost
    uint64_t offload = 0;  // changes with the plan: of its scheduled offloads, only the last counts
    TimePoint entered;
  };

  struct RunningBatch {
    std::vector<Request> requests;
    TimePoint started;
  };

  std::vector<VideoFrame> FramesOf(const std::vector<Request>& batch) const {
    std::vector<VideoFrame> frames;
    for (const Request& request : batch) {
      frames.push_back({tables_[sessions_.at(request.client).table].data().video, request.frame});
    }
    return frames;
  }

  void OnBatchDone(Nanoseconds took) {
    const RunningBatch batch = *std::exchange(running_, std::nullopt);
    if (batch.started >= measured_from_) {
      const double profiled_s = profile_.Seconds(static_cast<int>(batch.requests.size()));
      result_.stretch.push_back(static_cast<float>(Seconds(took) / profiled_s));
      result_.busy_s += Seconds(took);
    }
    scheduler_->OnBatchDone();
    for (const Request& request : batch.requests) Return(request);
  }

  // Those that began before are there too: as many as there are at any time.
  void ScheduleSessions() {
    double longest = 0;
    for (const DropTable& table : tables_) longest = std::max(longest, table.data().frames / table.data().fps);
    ClientId id = 0;
    for (double at = -longest; at < options_.seconds; at -= std::log1p(-random_.Uniform()) / options_.arrivals_per_s) {
      AddSession(++id, begin_ + FromSeconds(at));
    }
  }

  void AddSession(ClientId id, TimePoint start) {
    EmulatedClient::Options client;
    const auto table = static_cast<size_t>(random_.ScaledBelow(static_cast<int>(tables_.size())));
    client.id = id;
    client.table = &tables_[table];
    client.link = options_.link;
    client.measure = options_.measure;
    client.curve = Curve();
    const double sla = random_.Uniform(options_.sla_from, options_.sla_to);
    client.sla = options_.system.told * sla;
    client.start = start;
    client.seed = random_.Next();
    if (random_.Chance(options_.misbehaving)) client.behaviour = options_.behaviour;
    const TimePoint end = start + FromSeconds(client.table->data().frames / client.table->data().fps);
    if (end <= begin_ + kSettling) return;
    events_.At(std::max(begin_, start + kSettling), [this, id, table, client, sla] {
      sessions_[id] = {std::make_unique<EmulatedClient>(client, profile_), table, sla, 0, 0, {}};
      newest_.push_back(id);
    });
    events_.At(end, [this, id] { EndSession(id); });
  }

  track::DropCurve Curve() const {
    const System system = options_.system.system;
    if (system == System::kPublishedRateArise) return track::kPublishedCurve;
    return KeepsAccount(system) ? options_.curve : options_.cautious_curve;
  }

  void EndSession(ClientId id) {
    Session& session = sessions_.at(id);
    if (session.client->served()) {
      session.client->Leave(clock_.Now());
      scheduler_->OnGone(id);
    } else {
      TakeFromLine(id);
    }
    Keep(session);
    sessions_.erase(id);
  }

  void Keep(const Session& session) {
    const EmulatedClient& client = *session.client;
    if (client.account().frames == 0) return;
    const bool honest = client.options().behaviour == Behaviour::kHonest;
    result_.clients.push_back({session.table, session.sla, honest, client.account()});
  }

  void TakeFromLine(ClientId id) {
    std::erase(newest_, id);
    std::erase(evicted_, id);
  }

  Session* Served(ClientId id, int stay) {
    const auto found = sessions_.find(id);
    return found != sessions_.end() && found->second.stay == stay ? &found->second : nullptr;
  }

  void ScheduleOffload(ClientId id, Session& session) {
    const uint64_t offload = ++session.offload;
    const auto frame = session.client->NextOffload();
    if (!frame || IsSilent(session)) return;
    events_.At(std::max(clock_.Now(), session.client->Captured(*frame)),
               [this, id, offload, frame, stay = session.stay] {
                 Session* still = Served(id, stay);
                 if (still == nullptr || still->offload != offload) return;
                 still->client->OnOffloaded(*frame);
                 const bool babbling = still->client->options().behaviour == Behaviour::kBabbling;
                 Upload(id, *still, babbling ? *frame * (random_.Chance(0.5) ? 1000 : -1) : *frame);
                 ScheduleOffload(id, *still);
               });
  }

  bool IsSilent(const Session& session) const {
    return session.client->options().behaviour == Behaviour::kVanishing &&
           clock_.Now() > session.entered + FromSeconds(kVanishesAfterS);
  }

  void Upload(ClientId id, Session& session, FrameId frame) {
    const DropTableData& table = tables_[session.table].data();
    const TimePoint there = session.client->link().Up(clock_.Now() + FromSeconds(table.client_s), table.frame_bytes);
    events_.At(there, [this, id, frame, stay = session.stay] {
      if (Served(id, stay) != nullptr) scheduler_->OnRequest(id, frame);
    });
  }

  // Five frames for each one of its camera.
  void Flood(ClientId id, int stay) {
    Session* session = Served(id, stay);
    if (session == nullptr) return;
    const FrameId frame = session->client->FrameAt(clock_.Now());
    for (FrameId one = frame - 2; one <= frame + 2; ++one) scheduler_->OnRequest(id, one);
    events_.At(session->client->Captured(frame + 1), [this, id, stay] { Flood(id, stay); });
  }

  void Return(const Request& request) {
    const auto found = sessions_.find(request.client);
    if (found == sessions_.end() || !found->second.client->served()) return;
    Session& session = found->second;
    const Nanoseconds server = clock_.Now() - request.arrived;
    const TimePoint there = session.client->link().Down(clock_.Now(), tables_[session.table].data().result_bytes);
    events_.At(there, [this, id = request.client, frame = request.frame, server, stay = session.stay] {
      Session* still = Served(id, stay);
      if (still != nullptr) TakeResult(id, *still, frame, server);
    });
  }

  void TakeResult(ClientId id, Session& session, FrameId frame, Nanoseconds server) {
    const ClientReport report = session.client->OnResult(frame, clock_.Now(), server);
    if (IsSilent(session)) return;
    const TimePoint there = session.client->link().Up(clock_.Now(), kReportBytes);
    events_.At(there, [this, id, report, stay = session.stay] {
      if (Served(id, stay) != nullptr) scheduler_->OnReport(id, report);
    });
  }

  void Poll() {
    const uint64_t rounds = scheduler_->stats().rounds;
    const TimePoint begin = Clock::OfThread().Now();
    scheduler_->Poll();
    const Nanoseconds took = Clock::OfThread().Now() - begin;
    if (scheduler_->stats().rounds == rounds || clock_.Now() < measured_from_) return;
    result_.round_ms.push_back(static_cast<float>(Milliseconds(took)));
  }

  void TakeSample() {
    if (clock_.Now() > measured_from_) {
      Sample sample = since_sample_;
      sample.clients = static_cast<double>(scheduler_->clients());
      for (const auto& [id, session] : sessions_) {
        if (!session.client->served()) continue;
        sample.drop_rate += session.client->drop_rate() / std::max(1.0, sample.clients);
        const ClientModel model = session.client->Model();
        const auto settings = BestSettings(model, profile_);
        sample.least_share += settings ? EngineShare(*settings, model, profile_) : 1;
      }
      result_.samples.push_back(sample);
    }
    since_sample_ = {};
    events_.At(clock_.Now() + kSampling, [this] { TakeSample(); });
  }

  EmulationResult Finish() {
    for (auto& [id, session] : sessions_) {
      if (session.client->served()) session.client->Leave(clock_.Now());
      Keep(session);
    }
    if (running_ && running_->started >= measured_from_) result_.busy_s += Seconds(end_ - running_->started);
    result_.measured_s = Seconds(end_ - measured_from_);
    result_.stats = scheduler_->stats();
    return std::move(result_);
  }

  const std::vector<DropTable>& tables_;
  const InferenceProfile& profile_;
  const EmulationOptions& options_;
  const Clock& clock_;
  BatchEngine* const engine_;
  const Wait wait_;
  const TimePoint begin_, measured_from_, end_;
  Random random_, noise_;
  EventQueue events_;
  std::map<ClientId, Session> sessions_;
  // Who waits on the other server: new ones, the newest at the back; then those that were here, the first to go first.
  std::vector<ClientId> newest_;
  std::deque<ClientId> evicted_;
  std::optional<RunningBatch> running_;
  Sample since_sample_;
  EmulationResult result_;
  std::unique_ptr<Scheduler> scheduler_;
};

double MeanOf(const std::vector<Sample>& samples, double Sample::*value) {
  double sum = 0;
  for (const Sample& sample : samples) sum += sample.*value;
  return samples.empty() ? 0 : sum / static_cast<double>(samples.size());
}

}  // namespace

double EmulationResult::MeanClients() const { return MeanOf(samples, &Sample::clients); }

double EmulationResult::MeanClientsWithin() const {
  double frames = 0, within = 0;
  for (const ClientOutcome& client : clients) {
    frames += static_cast<double>(client.account.frames);
    if (client.account.MeanDrop() <= client.sla) within += static_cast<double>(client.account.frames);
  }
  return frames > 0 ? MeanClients() * within / frames : 0;
}

double EmulationResult::Bound() const {
  const double share = MeanOf(samples, &Sample::least_share);
  return share > 0 ? MeanClients() / share : 0;
}

double EmulationResult::ClientsDeviation() const {
  const double mean = MeanClients();
  double sum = 0;
  for (const Sample& sample : samples) sum += (sample.clients - mean) * (sample.clients - mean);
  return samples.empty() ? 0 : std::sqrt(sum / static_cast<double>(samples.size()));
}

double EmulationResult::MeanBatch() const {
  const double batches = MeanOf(samples, &Sample::batches);
  return batches > 0 ? MeanOf(samples, &Sample::offloads) / batches : 0;
}

double EmulationResult::MeanInterval(double fps) const {
  const double per_s = MeanOf(samples, &Sample::offloads) / Seconds(kSampling);
  return per_s > 0 ? fps * MeanClients() / per_s : 0;
}

EmulationResult Emulate(const std::vector<DropTable>& tables, const InferenceProfile& profile,
                        const EmulationOptions& options) {
  VirtualClock clock;
  const auto wait = [&](TimePoint time) {
    if (time > clock.Now()) clock.Advance(time - clock.Now());
    return std::optional<Nanoseconds>();
  };
  return *Emulation(tables, profile, options, clock, nullptr, wait).Run();  // nothing there that could fail
}

EmulationResult EmulateInRealTime(const std::vector<DropTable>& tables, const InferenceProfile& profile,
                                  const EmulationOptions& options, Clock& clock) {
  const auto wait = [&](TimePoint time) {
    clock.SleepUntil(time);
    return std::optional<Nanoseconds>();
  };
  return *Emulation(tables, profile, options, clock, nullptr, wait).Run();
}

absl::StatusOr<EmulationResult> EmulateOnEngine(const std::vector<DropTable>& tables, const InferenceProfile& profile,
                                                const EmulationOptions& options, const Clock& clock,
                                                BatchEngine& engine) {
  return Emulation(tables, profile, options, clock, &engine, [&](TimePoint time) { return engine.Wait(time); }).Run();
}

}  // namespace wharf::serving
