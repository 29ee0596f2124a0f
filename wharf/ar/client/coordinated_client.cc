#include "wharf/ar/client/coordinated_client.h"

#include <algorithm>
#include <utility>

namespace wharf::ar {
namespace {

constexpr double kNewest = 0.1;        // of a running mean: the weight of the newest value
constexpr double kSettledSeconds = 5;  // served for so long: a server to stay at
constexpr double kMostInference = 10;  // seconds; more is nonsense
constexpr size_t kMostAnswers = 64;    // that are kept from one frame to the next; a server may send any number

uint8_t BitOf(const CoordinatedClientConfig& config) {
  return static_cast<uint8_t>(1 << static_cast<int>(config.own ? ModelTaskAt(0) : config.task));
}

}  // namespace

Hello HelloOf(const CoordinatedClientConfig& config) {
  Hello hello;
  hello.tasks = BitOf(config);
  if (config.own) hello.models = config.own->name;
  hello.depth_coding = config.depth_coding;
  hello.frames_per_s = config.frames_per_s;
  hello.sla = config.sla;
  SetCamera(config.camera, hello);
  return hello;
}

absl::StatusOr<std::unique_ptr<CoordinatedClient>> CoordinatedClient::Open(CoordinatedClientConfig config) {
  if (!config.own && config.task == Task::kOdometry)
    return InvalidArgument("the accuracy of odometry cannot be agreed on");
  if (config.own) WHARF_RETURN_IF_ERROR(CheckModelName(config.own->name));
  if (!(config.sla > 0)) return InvalidArgument("the accuracy drop to agree on must be positive");
  std::unique_ptr<CoordinatedClient> client(new CoordinatedClient(std::move(config)));
  WHARF_RETURN_IF_ERROR(client->Start());
  return client;
}

absl::Status CoordinatedClient::Start() {
  if (config_.own) {
    tracker_ = config_.own->tracker;
  } else if (config_.task == Task::kDepth) {
    auto depth = std::make_unique<TrackedDepth>(config_.camera, config_.depth_coding, config_.motion);
    depth_ = depth.get();
    tracker_ = std::move(depth);
  } else {
    auto boxes = std::make_unique<TrackedBoxes>();
    boxes_ = boxes.get();
    tracker_ = std::move(boxes);
  }
  UplinkOptions options;
  options.server = config_.server;
  options.jpeg_quality = config_.jpeg_quality;
  options.token = config_.token;
  options.opening = config_.opening;
  options.hello = HelloOf(config_);
  WHARF_ASSIGN_OR_RETURN(uplink_, Uplink::Open(config_.dial, std::move(options), *this));
  return absl::OkStatus();
}

void CoordinatedClient::OnWelcome(const Welcome& welcome) {
  absl::MutexLock lock(&mutex_);
  news_.inference_s = std::min(kMostInference, static_cast<double>(welcome.inference_nanoseconds) / 1e9);
}

void CoordinatedClient::OnResult(const Result& result, int64_t frame, std::vector<std::byte> found) {
  const auto spent = static_cast<int64_t>(std::min<uint64_t>(result.waited_nanoseconds, INT64_MAX / 4) +
                                          std::min<uint64_t>(result.computed_nanoseconds, INT64_MAX / 4));
  absl::MutexLock lock(&mutex_);
  if (news_.answers.size() >= kMostAnswers) return;
  news_.answers.push_back({frame, Clock::Real().Now(), Nanoseconds(spent), std::move(found)});
}

void CoordinatedClient::OnFailed(Task, int64_t frame, const absl::Status& why) {
  absl::MutexLock lock(&mutex_);
  if (news_.answers.size() < kMostAnswers) news_.answers.push_back({frame, Clock::Real().Now(), {}, why});
}

void CoordinatedClient::OnSchedule(serving::ClientPlan plan, bool served, const std::string& why) {
  absl::MutexLock lock(&mutex_);
  news_.plan = std::move(plan);
  news_.served = served;
  if (!why.empty()) news_.why_waiting = why;
}

void CoordinatedClient::OnClosed(const absl::Status&) {
  absl::MutexLock lock(&mutex_);
  news_ = {};
  news_.lost = true;
}

void CoordinatedClient::Take(News news) {
  if (news.lost) {
    counts_.lost += static_cast<int64_t>(in_flight_.size());
    in_flight_.clear();
    plan_ = {};
    standing_ = Standing::kAway;
    report_.network_s = 0;  // another server may be nearer
  }
  inference_s_ = news.inference_s.value_or(inference_s_);
  for (Answer& answer : news.answers) TakeAnswer(std::move(answer));
  if (news.plan) plan_.Set(*std::move(news.plan));
  if (!news.why_waiting.empty()) counts_.why_waiting = std::move(news.why_waiting);
  if (news.served) standing_ = *news.served ? Standing::kServed : Standing::kWaiting;
}

void CoordinatedClient::TakeAnswer(Answer answer) {
  const auto sent = in_flight_.find(answer.frame);
  if (sent == in_flight_.end()) return;  // not asked for
  const Nanoseconds network = answer.came - sent->second - answer.server;
  in_flight_.erase(sent);
  if (!answer.found.ok()) {
    ++counts_.refused;
    return;
  }
  const auto seen = tracker_->Accept(answer.frame, *std::move(answer.found));
  if (!seen.ok()) {
    ++counts_.refused;
    return;
  }
  ++counts_.answered;
  const double network_s = std::max(0.0, Seconds(network));
  report_.network_s += (report_.network_s > 0 ? kNewest : 1) * (network_s - report_.network_s);
  const double reference = track::MeanStride(Reference());
  if (*seen) {
    drop_rate_.Add((*seen)->near, (*seen)->far);
    lost_.Settle(answer.frame, (*seen)->near, (*seen)->far, reference);
  }
  report_.drop_rate = drop_rate_.Rate(reference).value_or(report_.drop_rate);
  report_.frames = lost_.frames();
  report_.lost = lost_.Lost();
  uplink_->Tell(report_);
}

void CoordinatedClient::Offload(const FramePointer& frame, TrackedResult& result) {
  if (!plan_.Takes(frame->index)) return;
  if (!uplink_->Send(frame, BitOf(config_)).ok()) return;
  result.offloaded = true;
  ++counts_.offloads;
  tracker_->Offloaded();
}

TrackedResult CoordinatedClient::OnFrame(const FramePointer& frame) {
  const TimePoint captured = Clock::Real().Now();
  News news;
  {
    absl::MutexLock lock(&mutex_);
    news = std::exchange(news_, {});
  }
  Take(std::move(news));
  TrackedResult result;
  result.status = tracker_->OnFrame(frame);
  Offload(frame, result);
  if (result.offloaded) in_flight_[frame->index] = captured;
  if (depth_ != nullptr) result.depth = depth_->result();
  if (boxes_ != nullptr) result.boxes = boxes_->result();
  result.stride = tracker_->Stride();
  result.standing = standing_;
  Count(frame->index, result);
  return result;
}

// With a server of one's own.
track::OffloadSchedule CoordinatedClient::Reference() const {
  return track::ReferenceSchedule(inference_s_, report_.network_s + inference_s_, 1 / config_.frames_per_s);
}

void CoordinatedClient::Count(int64_t shown, const TrackedResult& result) {
  ++counts_.frames;
  counts_.waiting += result.standing == Standing::kWaiting ? 1 : 0;
  counts_.away += result.standing == Standing::kAway ? 1 : 0;
  served_in_a_row_ = result.standing == Standing::kServed ? served_in_a_row_ + 1 : 0;
  if (served_in_a_row_ == static_cast<int>(kSettledSeconds * config_.frames_per_s)) uplink_->Settle();
  if (result.standing != Standing::kServed || result.stride < 0 || report_.network_s == 0) return;
  const double reference = track::MeanStride(Reference());
  ++counts_.served;
  counts_.mean_stride += result.stride;
  counts_.reference_stride += reference;
  lost_.Show(shown, result.stride);
}

AgreedSummary CoordinatedClient::Summary() const {
  AgreedSummary summary = counts_;
  const double served = static_cast<double>(std::max<int64_t>(1, counts_.served));
  for (double* const sum : {&summary.mean_stride, &summary.reference_stride}) *sum /= served;
  summary.mean_drop = lost_.Lost() / std::max(1.0, lost_.frames());
  summary.sla = config_.sla;
  summary.drop_rate = report_.drop_rate;
  summary.network_s = report_.network_s;
  summary.link = uplink_->State();
  return summary;
}

}  // namespace wharf::ar
