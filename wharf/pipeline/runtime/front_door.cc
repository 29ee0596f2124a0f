#include "wharf/pipeline/runtime/front_door.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <optional>
#include <thread>
#include <utility>

#include "wharf/base/log.h"
#include "wharf/pipeline/runtime/messages.h"

namespace wharf::pipeline {
namespace {

constexpr Nanoseconds kHelloTimeout = std::chrono::seconds(10), kFarewell = std::chrono::seconds(1);

FrameKind KindOf(const link::FrameHeader& header) { return static_cast<FrameKind>(header.kind); }

uint64_t Count(Nanoseconds time) { return static_cast<uint64_t>(std::max(time, Nanoseconds(0)).count()); }

// Answers on their way to a client, whose session may be over before they come. Thread-safe.
class Outbox {
 public:
  struct Entry {
    uint64_t tag = 0;
    ModelResponse response;
    std::vector<std::byte> outputs;
  };
  explicit Outbox(size_t limit_bytes) : limit_bytes_(limit_bytes) {}
  void Put(Entry entry) {
    absl::MutexLock lock(&mutex_);
    if (closed_) return;
    bytes_ += entry.outputs.size();
    entries_.push_back(std::move(entry));
    if (bytes_ > limit_bytes_) closed_ = true;  // who does not read gets nothing more
  }
  // Nothing once it is closed.
  std::optional<Entry> Take() {
    const auto work = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return closed_ || !entries_.empty(); };
    absl::MutexLock lock(&mutex_, absl::Condition(&work));
    if (closed_) return std::nullopt;
    Entry entry = std::move(entries_.front());
    entries_.pop_front();
    bytes_ -= entry.outputs.size();
    return entry;
  }
  void Close() {
    absl::MutexLock lock(&mutex_);
    closed_ = true;
  }

 private:
  const size_t limit_bytes_;
  absl::Mutex mutex_;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::deque<Entry> entries_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

class ClientSession final : private link::FrameHandler {
 public:
  ClientSession(const FrontDoorConfig& config, std::unique_ptr<link::ByteStream> stream)
      : config_(config), outbox_(std::make_shared<Outbox>(config.max_unread_bytes)) {
    link::ChannelOptions options;
    options.limits = PipelineFrameLimits();
    channel_ = link::Channel::Create(std::move(stream), options);
    answering_ = std::thread([this] { AnswerAll(); });
    channel_->Start(this);
  }
  ~ClientSession() override {
    outbox_->Close();
    channel_->Close();
    answering_.join();
    channel_.reset();
  }
  bool Over() const { return over_; }
  bool Late(TimePoint now) const { return !greeted_ && now - since_ > kHelloTimeout; }

 private:
  void AnswerAll() {
    while (const auto entry = outbox_->Take()) {
      const absl::Status sent = SendMessage(*channel_, FrameKind::kResponse, entry->response, entry->tag,
                                            entry->outputs, link::BulkOwnership::kBorrow);
      if (!sent.ok()) break;
    }
    channel_->Close();
  }

  int FindModel(const std::string& name) const {
    const auto& models = config_.serving->Models();
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
    if (!greeted_ || KindOf(header) != FrameKind::kRequest) {
      return InvalidArgument("{} bytes that a message {} does not have", header.bulk_bytes, header.kind);
    }
    WHARF_ASSIGN_OR_RETURN(const int model, ModelOf(head));
    const uint64_t wanted = config_.serving->Models()[model].input_bytes;
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
  void OnClosed(const absl::Status&) override {
    outbox_->Close();
    over_ = true;
  }
  absl::Status End(const absl::Status& why) {
    Log(LogLevel::kWarning, "client sent away", {{"peer", channel_->Stream().Peer()}, {"why", Message(why)}});
    SendMessage(*channel_, FrameKind::kGoodbye, split::GoodbyeOf(why)).IgnoreError();
    channel_->Close(kFarewell);
    return why;
  }

  absl::Status Handle(const link::FrameHeader& header, std::span<const std::byte> head, std::vector<std::byte> bulk) {
    if (!greeted_) {
      if (KindOf(header) != FrameKind::kHello) return InvalidArgument("the first frame must be a Hello");
      return OnHello(head);
    }
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
  absl::Status OnHello(std::span<const std::byte> head) {
    WHARF_RETURN_IF_ERROR(offload::CheckHelloPrefix(head, kPipelineVersion));
    WHARF_ASSIGN_OR_RETURN(const Hello hello, DecodeHead<Hello>(head, "the Hello"));
    if (config_.admit && !config_.admit(hello.token)) {
      return Unauthenticated("the token is wrong: use the server's token file");
    }
    if (hello.role != Role::kClient) return InvalidArgument("only clients come here");
    greeted_ = true;
    Welcome welcome;
    welcome.minor = std::min(hello.minor, kPipelineMinor);
    return SendMessage(*channel_, FrameKind::kWelcome, welcome);
  }
  absl::Status SendModels() {
    std::vector<ModelEntry> entries;
    const Plan& plan = config_.serving->FirstPlan();
    for (size_t i = 0; i < plan.models.size(); ++i) {
      const ModelSource& source = config_.serving->Models()[i];
      const auto slo = static_cast<uint64_t>(plan.models[i].slo_us * 1e3);
      entries.push_back({source.name, slo, source.input_bytes, source.output_bytes, plan.models[i].throughput});
    }
    return SendMessage(*channel_, FrameKind::kModels, Models{EncodeList(entries)});
  }
  absl::Status OnRequest(const link::FrameHeader& header, std::span<const std::byte> head,
                         std::vector<std::byte> bulk) {
    WHARF_ASSIGN_OR_RETURN(const int model, ModelOf(head));
    if (bulk.size() != config_.serving->Models()[model].input_bytes) return InvalidArgument("a request without input");
    config_.serving->Submit(
        model, std::move(bulk),
        [outbox = outbox_, tag = header.tag](const RequestRecord& record, std::vector<std::byte> outputs) {
          const ModelResponse response{static_cast<uint8_t>(record.fate), Count(record.ended - record.request.arrival),
                                       Count(record.queued), Count(record.computed), Count(record.transferred)};
          outbox->Put({tag, response, std::move(outputs)});
        });
    return absl::OkStatus();
  }

  const FrontDoorConfig& config_;
  const TimePoint since_ = Clock::Real().Now();
  const std::shared_ptr<Outbox> outbox_;
  std::atomic<bool> over_ = false, greeted_ = false;
  std::unique_ptr<link::Channel> channel_;
  std::thread answering_;
};

FrontDoor::FrontDoor(FrontDoorConfig config) : config_(std::move(config)) {}

FrontDoor::~FrontDoor() {
  absl::MutexLock lock(&mutex_);
  sessions_.clear();
}

void FrontDoor::Accept(std::unique_ptr<link::ByteStream> stream) {
  absl::MutexLock lock(&mutex_);
  const TimePoint now = Clock::Real().Now();
  sessions_.remove_if([&](const std::unique_ptr<ClientSession>& one) { return one->Over() || one->Late(now); });
  if (sessions_.size() >= config_.max_sessions) {
    Log(LogLevel::kWarning, "too many clients", {{"peer", stream->Peer()}});
    return;
  }
  sessions_.push_back(std::make_unique<ClientSession>(config_, std::move(stream)));
}

}  // namespace wharf::pipeline
