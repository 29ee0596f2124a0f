#include "wharf/offload/server/executor.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "wharf/offload/copy_extent.h"
#include "wharf/offload/wire_codec.h"

namespace wharf::offload {
namespace {

constexpr Nanoseconds kGoodbyeDrain = std::chrono::seconds(1);
constexpr uint64_t kSettleBytes = 1 << 20;  // a stream's work is accounted in portions of this size

template <typename... Ops>
bool TakesBulk(OpList<Ops...>, uint16_t kind) {
  if (kind == static_cast<uint16_t>(FrameKind::kProgress)) return true;
  return ((Ops::kHasBulk && kind == Ops::kNumber) || ...);
}

}  // namespace

link::FrameLimits ExecutorFrameLimits() { return {.max_head_bytes = 1 << 20, .max_bulk_bytes = kMaxBulkBytes}; }

Executor::Executor(std::unique_ptr<device::Device> device, link::Channel* channel, const ExecutorOptions& options)
    : options_(options),
      channel_(channel),
      device_(std::move(device)),
      most_kept_bytes_(std::min(options.module_bytes, std::max(device_->Properties().total_memory, kLeastModuleBytes))),
      replies_(std::make_shared<ReplyQueue>(channel, device_.get(), options.unsent_bytes)),
      queued_(std::make_shared<InFlightBudget>(options.queued_bytes)),
      host_calls_(std::make_shared<HostCalls>()),
      worker_(options.queued_bytes_hard,
              [this](FrameWorker::Frame frame) { return Take(frame.header, frame.head, std::move(frame.bulk)); }) {
  device_->SetOutput([replies = replies_](std::string text) { replies->AddOutput(std::move(text)); });
}

Executor::~Executor() {
  Release();
  if (resumer_ != nullptr) resumer_->Stop();
  worker_.Stop();
  replies_->Stop();
  replay_.reset();  // it has prepared work of the device
  // Its callbacks hold what they need; none comes after this.
  device_.reset();
}

void Executor::EnableReplay(const ReplayOptions& replay) {
  ReplayPerformer* const performer = this;
  replay_ = std::make_unique<ReplayFollower>(replay, performer, device_.get());
  resumer_ = std::make_unique<Resumer>([this] { Resume(); });
}

void Executor::EnableCodedBulk() {
  codes_bulk_ = true;
  replies_->EnableCodedBulk();
}

void Executor::Stop() {
  channel_->Close();
  Release();
  if (resumer_ != nullptr) resumer_->Stop();
  worker_.Stop();
  replies_->Stop();
}

void Executor::Release() {
  host_calls_->ReleaseAll();
  queued_->Close();
  replies_->Budget().Close();
}

void Executor::OnClosed(const absl::Status&) { Release(); }

ExecutorCounters Executor::Counters() const {
  ExecutorCounters counters;
  {
    absl::MutexLock lock(&counters_mutex_);
    counters = counters_;
  }
  counters.bulk_in = decoder_.Counters();
  counters.bulk_out = replies_->Bulk();
  return counters;
}

absl::StatusOr<std::span<std::byte>> Executor::BulkDestination(const link::FrameHeader& header,
                                                               std::span<const std::byte> head) {
  if (!TakesBulk(AllOps{}, header.kind)) {
    return CloseWith(DataLoss("a frame of kind {} carries {} unexpected bytes", header.kind, header.bulk_bytes));
  }
  if (codes_bulk_) arrivals_.Begin(header.bulk_bytes, Clock::Real().Now());
  if (header.kind == CopyToDevice::kNumber) {
    const absl::StatusOr<BulkCoding> coding = CodingOf(codes_bulk_ ? header.flags : uint16_t{0});
    if (!coding.ok()) return CloseWith(coding.status());
    const absl::StatusOr<CopyToDevice> op = Decode<CopyToDevice>(head);
    if (!op.ok()) return CloseWith(op.status());
    const absl::StatusOr<uint64_t> expected = CopyBytes(op->extent);
    if (!expected.ok() || !CheckCodedSize(*coding, header.bulk_bytes, *expected).ok()) {
      return CloseWith(DataLoss("a copy's data ({} bytes) do not match its extent", header.bulk_bytes));
    }
  }
  return std::span<std::byte>();
}

absl::Status Executor::OnFrame(const link::FrameHeader& header, std::span<const std::byte> head,
                               std::vector<std::byte> bulk) {
  if (!codes_bulk_) return Route(header, head, std::move(bulk));
  if (const auto arrival = arrivals_.End(bulk.size(), Clock::Real().Now())) {
    const Arrived arrived{arrival->bytes, static_cast<uint64_t>(arrival->duration.count())};
    replies_->Frame(FrameKind::kArrived, 0, Encode(arrived));
  }
  const absl::Status status = Route(header, head, std::move(bulk));
  arrivals_.Free(Clock::Real().Now());
  return status;
}

// While a host function is pending, a call of the device may wait for it, as the CUDA driver's do that load a module or
// allocate; the HostCallDone that it waits for comes on this connection. So reading goes on.
absl::Status Executor::Route(const link::FrameHeader& header, std::span<const std::byte> head,
                             std::vector<std::byte> bulk) {
  const bool is_progress = header.kind == static_cast<uint16_t>(FrameKind::kProgress);
  if (header.kind < static_cast<uint16_t>(FrameKind::kFirstOp) && !is_progress) return OnControlFrame(header, head);
  if (header.kind == HostCallDone::kNumber) return Dispatch<HostCallDone>(header, head, bulk);
  if (worker_.IsIdle() && !host_calls_->Any()) return Take(header, head, std::move(bulk));
  if (worker_.Add({header, {head.begin(), head.end()}, std::move(bulk)})) return absl::OkStatus();
  return CloseWith(
      ResourceExhausted("{} MiB of operations wait behind a host function", options_.queued_bytes_hard >> 20));
}

absl::Status Executor::Take(const link::FrameHeader& header, std::span<const std::byte> head,
                            std::vector<std::byte> bulk) {
  absl::MutexLock lock(&turn_);
  if (header.kind == static_cast<uint16_t>(FrameKind::kProgress)) return OnProgress(header, head, std::move(bulk));
  if (codes_bulk_ && header.flags != 0 && !bulk.empty()) {
    absl::StatusOr<std::vector<std::byte>> plain = DecodeBulk(header, head, std::move(bulk));
    if (!plain.ok()) return CloseWith(plain.status());
    bulk = *std::move(plain);
  }
  return DispatchAny(AllOps{}, header, head, bulk);
}

absl::StatusOr<std::vector<std::byte>> Executor::DecodeBulk(const link::FrameHeader& header,
                                                            std::span<const std::byte> head,
                                                            std::vector<std::byte> bulk) {
  WHARF_ASSIGN_OR_RETURN(const BulkCoding coding, CodingOf(header.flags));
  if (header.kind == CopyToDevice::kNumber) {
    WHARF_ASSIGN_OR_RETURN(const CopyToDevice op, Decode<CopyToDevice>(head));
    WHARF_ASSIGN_OR_RETURN(const uint64_t bytes, CopyBytes(op.extent));
    return decoder_.Decode(coding, {op.to.address, bytes}, std::move(bulk));
  }
  // A piece of an image: only its sender knows how long it is.
  WHARF_ASSIGN_OR_RETURN(const uint32_t bytes, DeclaredBytes(bulk));
  if (bytes > kMaxBulkBytes) return DataLoss("a piece of an image of {} bytes; at most {}", bytes, kMaxBulkBytes);
  std::vector<std::byte> piece(bytes);
  WHARF_RETURN_IF_ERROR(decoder_.DecodeInto(coding, bulk, piece));
  return piece;
}

absl::Status Executor::OnControlFrame(const link::FrameHeader& header, std::span<const std::byte> head) {
  switch (static_cast<FrameKind>(header.kind)) {
    case FrameKind::kPing:
      replies_->FrameNow(FrameKind::kPong, header.tag);
      return absl::OkStatus();
    case FrameKind::kPong:
      return absl::OkStatus();
    case FrameKind::kArrived: {
      const absl::StatusOr<Arrived> arrived = Decode<Arrived>(head);
      if (!arrived.ok()) return CloseWith(arrived.status());
      replies_->NoteArrived(*arrived);
      return absl::OkStatus();
    }
    case FrameKind::kGoodbye:
      channel_->Close(kGoodbyeDrain);
      return absl::OkStatus();
    default:
      return CloseWith(DataLoss("frame kind {} is not expected here", header.kind));
  }
}

absl::Status Executor::OnProgress(const link::FrameHeader& header, std::span<const std::byte> head,
                                  std::vector<std::byte> bulk) {
  if (replay_ == nullptr) return CloseWith(DataLoss("a progress frame in a session without replay"));
  const absl::StatusOr<BulkCoding> coding = CodingOf(codes_bulk_ ? header.flags : uint16_t{0});
  if (!coding.ok()) return CloseWith(coding.status());
  const absl::Status status = replay_->OnProgress(header.tag, head, {std::move(bulk), *coding, &decoder_});
  {
    absl::MutexLock lock(&counters_mutex_);
    counters_.replay = replay_->Counters();
  }
  return status.ok() ? status : CloseWith(status);
}

absl::Status Executor::Perform(const StepOp& op, std::vector<std::byte> bulk, const ReplyTicket& ticket) {
  return std::visit(
      [&]<typename Op>(const Op& step) -> absl::Status {
        Count<Op>();
        if constexpr (Op::kAnswer == Answer::kBlocking) {
          return Answer(step, ticket);
        } else if constexpr (Op::kHasBulk) {
          return Handle(step, std::move(bulk));
        } else {
          Op own = step;  // handling may use it up
          return Handle(own);
        }
      },
      op);
}

void Executor::Latch(const absl::Status& status) {
  replies_->LatchPosted(status);
  absl::MutexLock lock(&counters_mutex_);
  ++counters_.posted_errors;
}

void Executor::ResumeWhenHere(const std::shared_ptr<const SmallAnswer>& answer) {
  answer->WhenHere([resumer = resumer_.get()] { resumer->Ask(); });
}

void Executor::Resume() {
  absl::MutexLock lock(&turn_);
  replay_->Resume();
  absl::MutexLock counters_lock(&counters_mutex_);
  counters_.replay = replay_->Counters();
}

bool Executor::HasIdleRoom() { return !queued_->Full() && !replies_->Budget().Full() && !host_calls_->Any(); }

bool Executor::OthersAreIdle(device::StreamId stream) {
  const auto idle = [&](device::StreamId other) {
    return other == stream || device_->StreamDone(other).value_or(false);
  };
  return idle(device::kDefaultStream) && std::all_of(streams_.begin(), streams_.end(), idle);
}

absl::Status Executor::CloseWith(const absl::Status& why) {
  Goodbye goodbye;
  goodbye.reason = std::string(Message(why));
  channel_->Send(static_cast<uint16_t>(FrameKind::kGoodbye), 0, Encode(goodbye)).IgnoreError();
  channel_->Close(kGoodbyeDrain);
  return why;
}

template <typename... Ops>
absl::Status Executor::DispatchAny(OpList<Ops...>, const link::FrameHeader& header, std::span<const std::byte> head,
                                   std::vector<std::byte>& bulk) {
  absl::Status result;
  const bool known = ((header.kind == Ops::kNumber && (result = Dispatch<Ops>(header, head, bulk), true)) || ...);
  if (!known) return CloseWith(DataLoss("operation {} is not known to this server", header.kind));
  return result;
}

template <typename Op>
absl::Status Executor::Dispatch(const link::FrameHeader& header, std::span<const std::byte> head,
                                std::vector<std::byte>& bulk) {
  const ReplyTicket ticket{header.tag, Clock::Real().Now()};
  absl::StatusOr<Op> op = Decode<Op>(head);
  if (!op.ok()) return CloseWith(DataLoss("a malformed {} came: {}", Op::kName, Message(op.status())));
  Count<Op>();
  // What the client's own thread says of a host function is not an operation of the program.
  constexpr bool follows = !std::is_same_v<Op, HostCallDone>;
  if (follows && replay_ != nullptr) {
    const absl::Status noted = replay_->OnOperation(header.kind, head, bulk);
    if (!noted.ok()) return CloseWith(noted);
  }
  absl::Status status;
  if constexpr (Op::kAnswer == Answer::kBlocking) {
    status = Answer(*op, ticket);
  } else {
    if constexpr (Op::kHasBulk) {
      status = Handle(*op, std::move(bulk));
    } else {
      status = Handle(*op);
    }
    if (!status.ok()) Latch(status);
  }
  if (!status.ok() && follows && replay_ != nullptr) replay_->NoteFailure();
  return absl::OkStatus();
}

template <typename Op>
void Executor::Count() {
  absl::MutexLock lock(&counters_mutex_);
  ++counters_.operations;
  counters_.blocking_operations += Op::kAnswer == Answer::kBlocking;
}

absl::Status Executor::CheckCount(uint64_t count, const char* what) const {
  if (count < options_.objects) return absl::OkStatus();
  return device::CudaStatus(device::CudaError::kOutOfMemory, "a session may have {} {}", options_.objects, what);
}

absl::Status Executor::WaitForRoom(uint64_t bytes) {
  if (!queued_->Full()) return absl::OkStatus();
  if (!host_calls_->Any()) {
    SettleAllStreams();
    queued_->WaitForRoom();
    return absl::OkStatus();
  }
  // Others than the stream that is held must go on: the host function may wait for them.
  if (queued_->Used() + bytes <= options_.queued_bytes_hard) return absl::OkStatus();
  return device::CudaStatus(device::CudaError::kOutOfMemory, "{} MiB of work wait behind a host function",
                            queued_->Used() >> 20);
}

void Executor::Account(device::StreamId stream, uint64_t bytes) {
  queued_->Charge(bytes);
  uint64_t& uncharged = uncharged_[stream];
  uncharged += bytes;
  if (uncharged >= kSettleBytes) ReleaseWhenDone(stream, std::exchange(uncharged, 0));
}

void Executor::ReleaseWhenDone(device::StreamId stream, uint64_t bytes) {
  if (bytes == 0) return;
  const absl::Status queued =
      device_->Notify(stream, [budget = queued_, bytes](const absl::Status&) { budget->Release(bytes); });
  if (!queued.ok()) queued_->Release(bytes);
}

void Executor::SettleAllStreams() {
  for (const auto& [stream, bytes] : uncharged_) ReleaseWhenDone(stream, bytes);
  uncharged_.clear();
}

}  // namespace wharf::offload
