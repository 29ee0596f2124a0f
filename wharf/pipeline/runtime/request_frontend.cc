#include "wharf/pipeline/runtime/request_frontend.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "wharf/base/log.h"
#include "wharf/link/outbox.h"
#include "wharf/pipeline/runtime/messages.h"

namespace wharf::pipeline {
namespace {

constexpr Nanoseconds kFarewell = std::chrono::seconds(1);

FrameKind KindOf(const link::FrameHeader& header) { return static_cast<FrameKind>(header.kind); }

uint64_t Count(Nanoseconds time) { return static_cast<uint64_t>(std::max(time, Nanoseconds(0)).count()); }

// What a client has asked for and was not answered.
class Unanswered {
 public:
  // Waits until there is room for one more, of so many bytes; one alone always has it.
  void Begin(size_t bytes, size_t most, size_t most_bytes) {
    absl::MutexLock lock(&mutex_);
    const auto has_room = [&] {
      mutex_.AssertHeld();
      return requests_ == 0 || (requests_ < most && bytes <= most_bytes && bytes_ <= most_bytes - bytes);
    };
    mutex_.Await(absl::Condition(&has_room));
    ++requests_;
    bytes_ += bytes;
  }
  void End(size_t bytes) {
    absl::MutexLock lock(&mutex_);
    --requests_;
    bytes_ -= bytes;
  }

 private:
  absl::Mutex mutex_;
  size_t requests_ ABSL_GUARDED_BY(mutex_) = 0, bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace

class RequestSession final : private link::FrameHandler {
 public:
  RequestSession(const RequestFrontendConfig& config, ClientId id, std::unique_ptr<link::ByteStream> stream)
      : config_(config), id_(id), handshake_(config.check) {
    link::ChannelOptions options;
    options.limits = PipelineFrameLimits();
    channel_ = link::Channel::Create(std::move(stream), options);
    outbox_ = std::make_shared<link::Outbox>(*channel_, config.max_unread_bytes);
    channel_->Start(this);
  }
  ~RequestSession() override {
    channel_->Close();
    outbox_->Close();
    channel_->Stop();
  }
  bool Over() const { return over_; }
  bool Late(TimePoint now) const { return handshake_.Late(now); }

 private:
  int FindModel(const std::string& name) const {
    const auto& models = config_.server->Models();
    const auto found = std::ranges::find_if(models, [&](const ModelSource& model) { return model.name == name; });
    return found == models.end() ? -1 : static_cast<int>(found - models.begin());
  }
  absl::StatusOr<int> ModelOf(std::span<const std::byte> head) const {
    WHARF_ASSIGN_OR_RETURN(const ModelRequest request, DecodeHead<ModelRequest>(head, "a request"));
    const int model = FindModel(request.model);
    if (model < 0) return NotFound("no model \"{}\" is served", request.model.substr(0, 100));
    return model;
  }
  absl::Status CheckBulk(const link::FrameHeader& header, std::span<const std::byte> head) const {
    if (!handshake_.Greeted() || KindOf(header) != FrameKind::kRequest) {
      return InvalidArgument("{} bytes that a message {} does not have", header.bulk_bytes, header.kind);
    }
    WHARF_ASSIGN_OR_RETURN(const int model, ModelOf(head));
    const uint64_t wanted = config_.server->Models()[model].input_bytes;
    if (header.bulk_bytes != wanted) return InvalidArgument("{} bytes for an input of {}", header.bulk_bytes, wanted);
    return absl::OkStatus();
  }
  absl::StatusOr<std::span<std::byte>> BulkDestination(const link::FrameHeader& header,
                                                       std::span<const std::byte> head) override {
    if (const absl::Status fits = CheckBulk(header, head); !fits.ok()) return End(fits);
    return std::span<std::byte>();
  }
  absl::Status OnFrame(const link::FrameHeader& header, std::span<const std::byte> head,
                       std::vector<std::byte> bulk) override {
    const absl::Status handled = Handle(header, head, std::move(bulk));
    return handled.ok() ? handled : End(handled);
  }
  void OnClosed(const absl::Status&) override { over_ = true; }
  absl::Status End(const absl::Status& why) {
    return wire::EndSession<PipelineProtocol>(*channel_, why, "client sent away", kFarewell);
  }

  absl::Status Handle(const link::FrameHeader& header, std::span<const std::byte> head, std::vector<std::byte> bulk) {
    if (!handshake_.Greeted()) return OnHello(header, head);
    switch (KindOf(header)) {
      case FrameKind::kAskModels:
        return SendModels();
      case FrameKind::kRequest:
        return OnRequest(header, head, std::move(bulk));
      case FrameKind::kGoodbye:
        channel_->Close();
        return absl::OkStatus();
      default:
        return InvalidArgument("unknown message {}", header.kind);
    }
  }
  absl::Status OnHello(const link::FrameHeader& header, std::span<const std::byte> head) {
    WHARF_ASSIGN_OR_RETURN(const std::optional<Hello> hello, handshake_.Hear(*channel_, header, head));
    if (!hello) return absl::OkStatus();
    if (hello->role != Role::kClient) return InvalidArgument("only clients come here");
    return handshake_.Accept(*channel_, *hello);
  }
  absl::Status SendModels() {
    std::vector<ModelEntry> entries;
    const Plan& plan = config_.server->FirstPlan();
    for (size_t i = 0; i < plan.models.size(); ++i) {
      const ModelSource& source = config_.server->Models()[i];
      const auto slo = static_cast<uint64_t>(plan.models[i].slo_us * 1e3);
      entries.push_back({source.name, slo, source.input_bytes, source.output_bytes, plan.models[i].throughput});
    }
    // Not past the outbox, which sends away who asks and does not read.
    outbox_->Put(static_cast<uint16_t>(FrameKind::kModels), 0, wire::Encode(Models{EncodeList(entries)}), {});
    return absl::OkStatus();
  }
  absl::Status OnRequest(const link::FrameHeader& header, std::span<const std::byte> head,
                         std::vector<std::byte> bulk) {
    WHARF_ASSIGN_OR_RETURN(const int model, ModelOf(head));
    const size_t bytes = bulk.size();
    if (bytes != config_.server->Models()[model].input_bytes) return InvalidArgument("a request without input");
    // Who asks faster than it is answered is read no faster: every request is answered within its SLO or so.
    unanswered_->Begin(bytes, config_.max_unanswered, config_.max_unanswered_bytes);
    config_.server->Submit(
        id_, model, std::move(bulk),
        [outbox = outbox_, unanswered = unanswered_, bytes, tag = header.tag](const RequestRecord& record,
                                                                              std::vector<std::byte> outputs) {
          unanswered->End(bytes);
          const ModelResponse response{static_cast<uint8_t>(record.fate), Count(record.ended - record.request.arrival),
                                       Count(record.queued), Count(record.computed), Count(record.transferred)};
          outbox->Put(static_cast<uint16_t>(FrameKind::kResponse), tag, wire::Encode(response), std::move(outputs));
        });
    return absl::OkStatus();
  }

  const RequestFrontendConfig& config_;
  const ClientId id_;
  wire::ServerHandshake<PipelineProtocol> handshake_;
  std::atomic<bool> over_ = false;
  std::unique_ptr<link::Channel> channel_;
  // Answers may come when the session is over.
  std::shared_ptr<link::Outbox> outbox_;
  const std::shared_ptr<Unanswered> unanswered_ = std::make_shared<Unanswered>();
};

RequestFrontend::RequestFrontend(RequestFrontendConfig config)
    : config_(std::move(config)), sessions_(config_.max_sessions) {}
RequestFrontend::~RequestFrontend() = default;

void RequestFrontend::Accept(std::unique_ptr<link::ByteStream> stream) {
  const std::string peer = stream->Peer();
  if (!sessions_.Add([&] { return std::make_unique<RequestSession>(config_, ++last_client_, std::move(stream)); }))
    Log(LogLevel::kWarning, "too many clients", {{"peer", peer}});
}

}  // namespace wharf::pipeline
