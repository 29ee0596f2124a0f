#include "wharf/pipeline/runtime/load_client.h"

#include <algorithm>
#include <utility>

#include "absl/time/time.h"
#include "wharf/link/connect_again.h"
#include "wharf/pipeline/dataplane/arrivals.h"

namespace wharf::pipeline {
namespace {

constexpr Nanoseconds kGreeting = std::chrono::seconds(10);
constexpr uint32_t kMostModelsBytes = 1 << 20;

}  // namespace

absl::StatusOr<std::unique_ptr<LoadClient>> LoadClient::Open(const std::string& address, const PeerAccess& access) {
  return link::TryAgain([&] { return OpenOnce(address, access); });
}

absl::StatusOr<std::unique_ptr<LoadClient>> LoadClient::OpenOnce(const std::string& address, const PeerAccess& access) {
  WHARF_ASSIGN_OR_RETURN(auto stream, link::Connect(address, access.Connecting(kGreeting)));
  std::unique_ptr<LoadClient> client(new LoadClient);
  link::ChannelOptions options;
  options.limits = PipelineFrameLimits();
  client->channel_ = link::Channel::Create(std::move(stream), options);
  client->channel_->Start(client.get());
  WHARF_RETURN_IF_ERROR(client->handshake_.Greet(*client->channel_, Hello(), access.token, kGreeting).status());
  client->channel_->Send(static_cast<uint16_t>(FrameKind::kAskModels), 0, {}).IgnoreError();  // awaited below
  WHARF_RETURN_IF_ERROR(client->AwaitModels());
  return client;
}

LoadClient::~LoadClient() { channel_->Stop(); }

absl::Status LoadClient::AwaitModels() {
  const auto done = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return has_models_ || !closed_.ok(); };
  absl::MutexLock lock(&mutex_);
  if (!mutex_.AwaitWithTimeout(absl::Condition(&done), absl::FromChrono(kGreeting))) {
    return DeadlineExceeded("the server does not say which models it has");
  }
  return has_models_ ? absl::OkStatus() : closed_;
}

absl::Status LoadClient::SendRequest(const std::string& model, const std::vector<std::byte>& input, uint64_t& tag) {
  tag = ++next_tag_;
  {
    absl::MutexLock lock(&mutex_);
    pending_[tag].sent = Clock::Real().Now();
    ++unanswered_;
  }
  return SendMessage(*channel_, FrameKind::kRequest, ModelRequest{model}, tag, input);
}

void LoadClient::AwaitAnswers(Nanoseconds timeout) {
  const auto done = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return unanswered_ == 0 || !closed_.ok(); };
  absl::MutexLock lock(&mutex_);
  mutex_.AwaitWithTimeout(absl::Condition(&done), absl::FromChrono(timeout));
}

absl::StatusOr<LoadResult> LoadClient::Run(const LoadOptions& options) {
  const auto model = std::ranges::find_if(
      models_, [&](const ModelEntry& one) { return options.model.empty() || one.name == options.model; });
  if (model == models_.end()) return NotFound("no model \"{}\" is served", options.model);
  std::vector<std::byte> input(model->input_bytes);  // zeros take as long as anything
  const TimePoint start = Clock::Real().Now();
  for (const Arrival& arrival : PoissonArrivals({options.rate}, options.seconds, options.seed)) {
    Clock::Real().SleepUntil(start + arrival.at.since_epoch);
    uint64_t tag = 0;
    if (!SendRequest(model->name, input, tag).ok()) break;  // counted as unanswered
  }
  AwaitAnswers(10 * Nanoseconds(static_cast<int64_t>(model->slo_nanoseconds)) + std::chrono::seconds(1));
  return Summary(options.seconds, start);
}

LoadResult LoadClient::Summary(double seconds, TimePoint start) {
  LoadResult result;
  result.seconds = seconds;
  absl::MutexLock lock(&mutex_);
  for (const auto& [tag, one] : pending_) {
    ++result.sent;
    SentRequest& request = result.requests.emplace_back();
    request.sent_s = Seconds(one.sent - start);
    if (!one.answered) {
      ++result.unanswered;
      continue;
    }
    ++result.fates[one.response.fate];
    const auto fate = static_cast<Fate>(one.response.fate);
    request.fate = fate;
    request.latency_ms = one.latency_ms;
    request.queued_ms = static_cast<double>(one.response.queued) / 1e6;
    request.computed_ms = static_cast<double>(one.response.computed) / 1e6;
    request.transferred_ms = static_cast<double>(one.response.transferred) / 1e6;
    if (fate == Fate::kOnTime || fate == Fate::kLate) result.latency_ms.push_back(one.latency_ms);
  }
  pending_.clear();
  unanswered_ = 0;
  std::sort(result.latency_ms.begin(), result.latency_ms.end());
  return result;
}

absl::StatusOr<std::vector<std::byte>> LoadClient::Ask(const std::string& model, const std::vector<std::byte>& input) {
  uint64_t tag = 0;
  WHARF_RETURN_IF_ERROR(SendRequest(model, input, tag));
  AwaitAnswers(std::chrono::minutes(1));
  absl::MutexLock lock(&mutex_);
  const Pending answer = std::move(pending_[tag]);
  pending_.erase(tag);
  unanswered_ -= answer.answered ? 0 : 1;
  if (!answer.answered) return closed_.ok() ? Unavailable("no answer came") : closed_;
  const auto fate = static_cast<Fate>(answer.response.fate);
  if (fate != Fate::kOnTime && fate != Fate::kLate) return DeadlineExceeded("dropped: {}", FateName(fate));
  return answer.outputs;
}

// --- On the reader thread ---

absl::StatusOr<std::span<std::byte>> LoadClient::BulkDestination(const link::FrameHeader& header,
                                                                 std::span<const std::byte>) {
  if (models_.empty()) return InvalidArgument("{} bytes before the list of models", header.bulk_bytes);
  const uint64_t most = std::ranges::max_element(models_, {}, &ModelEntry::output_bytes)->output_bytes;
  const bool response = static_cast<FrameKind>(header.kind) == FrameKind::kResponse && header.bulk_bytes <= most;
  if (!response) return InvalidArgument("{} bytes that a message {} does not have", header.bulk_bytes, header.kind);
  return std::span<std::byte>();
}

absl::Status LoadClient::OnFrame(const link::FrameHeader& header, std::span<const std::byte> head,
                                 std::vector<std::byte> bulk) {
  if (handshake_.Takes(header)) return handshake_.OnFrame(header, head);
  switch (static_cast<FrameKind>(header.kind)) {
    case FrameKind::kModels: {
      WHARF_ASSIGN_OR_RETURN(const auto models, DecodeHead<pipeline::Models>(head, "the list of models"));
      if (!models_.empty()) return InvalidArgument("another list of models");
      WHARF_ASSIGN_OR_RETURN(models_, DecodeList<ModelEntry>(models.models));
      if (models_.empty() || models.models.size() > kMostModelsBytes) return InvalidArgument("no list of models");
      absl::MutexLock lock(&mutex_);
      has_models_ = true;
      return absl::OkStatus();
    }
    case FrameKind::kResponse: {
      WHARF_ASSIGN_OR_RETURN(const ModelResponse response, DecodeHead<ModelResponse>(head, "a response"));
      if (response.fate >= kFates) return InvalidArgument("an unknown fate");
      absl::MutexLock lock(&mutex_);
      const auto found = pending_.find(header.tag);
      if (found == pending_.end() || found->second.answered) return InvalidArgument("an answer nobody waits for");
      Pending& one = found->second;
      one.answered = true;
      one.latency_ms = Milliseconds(Clock::Real().Now() - one.sent);
      one.response = response;
      one.outputs = std::move(bulk);
      --unanswered_;
      return absl::OkStatus();
    }
    default:
      return InvalidArgument("unknown message {}", header.kind);
  }
}

void LoadClient::OnClosed(const absl::Status& why) {
  absl::MutexLock lock(&mutex_);
  closed_ = handshake_.OnClosed(why);
}

}  // namespace wharf::pipeline
