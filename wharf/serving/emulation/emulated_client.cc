#include "wharf/serving/emulation/emulated_client.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "wharf/serving/settings.h"

namespace wharf::serving {
namespace {

constexpr size_t kResultsKept = 32;
constexpr double kNewest = 0.1;  // of a running mean: the weight of the newest value
constexpr double kExaggeration = 4;
constexpr int kPastArrivals = 8;  // that come with a client from another server

double NetworkOf(const EmulatedClient::Options& options) {
  const DropTableData& data = options.table->data();
  return data.client_s + EmulatedLink(options.link, 0).MeanSeconds(data.frame_bytes, data.result_bytes);
}

track::OffloadSchedule ReferenceFor(const EmulatedClient::Options& options, const InferenceProfile& profile) {
  return ReferenceOf({options.table->data().fps, options.sla, 0, NetworkOf(options)}, profile);
}

}  // namespace

EmulatedClient::EmulatedClient(const Options& options, const InferenceProfile& profile)
    : options_(options),
      fps_(options.table->data().fps),
      reference_(ReferenceFor(options, profile)),
      link_(options.link, options.seed),
      drop_rate_(options.curve),
      lost_(options.curve),
      report_{.network_s = NetworkOf(options)} {}

FrameId EmulatedClient::FrameAt(TimePoint time) const {
  return static_cast<FrameId>(std::floor(Seconds(time - options_.start) * fps_ + 1e-6));
}

ClientState EmulatedClient::OnOtherServer(TimePoint now) {
  const int64_t interval = std::max(reference_.interval, reference_.latency);
  const FrameId last = FrameAt(now) / interval * interval;
  ClientState state;
  state.id = options_.id;
  state.arrivals = ArrivalPredictor(fps_);
  results_.clear();
  for (FrameId frame = std::max<FrameId>(0, last - kPastArrivals * interval); frame <= last; frame += interval) {
    const TimePoint sent = Captured(frame) + FromSeconds(options_.table->data().client_s);
    const TimePoint arrived = link_.Up(sent, options_.table->data().frame_bytes);
    if (arrived <= now) state.arrivals.Add(frame, arrived);
    results_.push_back({frame, frame + reference_.latency});
  }
  drop_rate_ = track::DropRateEstimator(options_.curve);
  for (const track::Offload& result : results_) {
    if (result.usable <= FrameAt(now)) Compare(result.frame);
  }
  report_.network_s = NetworkOf(options_);
  const ClientReport reported = Reported();
  state.model = {fps_, options_.sla, reported.drop_rate, reported.network_s, reported.frames, reported.lost};
  state.last_frame = last;
  state.newest = results_.back();
  last_offloaded_ = last;
  return state;
}

void EmulatedClient::Enter(TimePoint now) {
  served_ = true;
  plan_ = {};
  next_in_plan_ = 0;
  accounted_ = FrameAt(now) + 1;
}

void EmulatedClient::Leave(TimePoint now) {
  AccountUntil(std::min<FrameId>(FrameAt(now) + 1, options_.table->data().frames));
  served_ = false;
}

void EmulatedClient::SetPlan(const ClientPlan& plan, TimePoint now) {
  plan_ = plan;
  next_in_plan_ = 0;
  first_allowed_ = FrameAt(now) + 1;
}

std::optional<FrameId> EmulatedClient::NextOffload() const {
  const FrameId first = std::max(first_allowed_, last_offloaded_ + 1);
  const auto begin = plan_.frames.begin() + static_cast<ptrdiff_t>(next_in_plan_);
  const auto next = std::lower_bound(begin, plan_.frames.end(), first);
  FrameId frame = 0;
  if (next != plan_.frames.end()) {
    frame = *next;
  } else if (plan_.interval > 0) {
    frame = std::max(first, last_offloaded_ + plan_.interval);
  } else {
    return std::nullopt;
  }
  return frame < options_.table->data().frames ? std::optional(frame) : std::nullopt;
}

void EmulatedClient::OnOffloaded(FrameId frame) {
  last_offloaded_ = std::max(last_offloaded_, frame);
  first_allowed_ = std::max(first_allowed_, frame + 1);
}

ClientReport EmulatedClient::OnResult(FrameId frame, TimePoint now, Nanoseconds server) {
  if (frame < 0 || frame > FrameAt(now)) return report_;  // never captured
  const double network_s = Seconds(now - Captured(frame) - server);
  report_.network_s += kNewest * (network_s - report_.network_s);
  const auto use = static_cast<FrameId>(std::ceil(Seconds(now - options_.start) * fps_ - 1e-6));
  AccountUntil(std::min<FrameId>(use, options_.table->data().frames));
  Compare(frame);
  if (frame > results_.back().frame) results_.push_back({frame, std::max(use, results_.back().usable)});
  if (results_.size() > kResultsKept) results_.pop_front();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  return options_.behaviour == Behaviour::kBabbling ? ClientReport{nan, -1, -1, nan} : Reported();
}

// What it says of itself.
ClientReport EmulatedClient::Reported() const {
  if (options_.behaviour != Behaviour::kExaggerating) return report_;
  return {kExaggeration * report_.drop_rate, report_.network_s, report_.frames, report_.frames};
}

// The network's result for a frame with what was tracked to it.
void EmulatedClient::Compare(FrameId frame) {
  const size_t source = SourceAt(frame);
  if (source == 0) return;  // there is none before
  const track::SeenDrop near = SeenAt(results_[source].frame, frame);
  const double reference = track::MeanStride(reference_);
  const track::SeenDrop far = SeenAt(results_[source - 1].frame, frame);
  drop_rate_.Add(near, far);
  lost_.Settle(frame, near, far, reference);
  report_.drop_rate = drop_rate_.Rate(reference).value_or(report_.drop_rate);
  report_.frames = lost_.frames();
  report_.lost = lost_.Lost();
}

track::SeenDrop EmulatedClient::SeenAt(FrameId source, FrameId frame) const {
  if (frame <= source) return {};
  return {static_cast<double>(frame - source), options_.table->At(source, frame - source).seen};
}

// The result that it was tracked from, in results_.
size_t EmulatedClient::SourceAt(FrameId frame) const {
  size_t source = 0;
  for (size_t i = 0; i < results_.size(); ++i) {
    if (results_[i].usable <= frame) source = i;
  }
  return source;
}

FrameId EmulatedClient::ReferenceSource(FrameId frame) const {
  return std::max<FrameId>(0, (frame - reference_.latency) / reference_.interval * reference_.interval);
}

double EmulatedClient::DropOf(const DropSample& sample) const {
  return options_.measure == Measure::kNetwork ? sample.seen : sample.drop;
}

void EmulatedClient::AccountUntil(FrameId end) {
  for (; accounted_ < end; ++accounted_) {
    const FrameId source = results_[SourceAt(accounted_)].frame, reference = ReferenceSource(accounted_);
    const auto stride = static_cast<double>(accounted_ - source);
    ++account_.frames;
    const DropSample shown = options_.table->At(source, accounted_ - source);
    const DropSample ideal = options_.table->At(reference, accounted_ - reference);
    account_.drop += DropOf(shown);
    account_.reference += DropOf(ideal);
    account_.true_drop += shown.drop - ideal.drop;
    account_.estimate += report_.drop_rate * (stride - track::MeanStride(reference_));
    account_.stride += stride;
    lost_.Show(accounted_, stride);
  }
}

}  // namespace wharf::serving
