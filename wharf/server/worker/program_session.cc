#include "wharf/server/worker/program_session.h"

#include <algorithm>
#include <utility>

#include "wharf/base/log.h"
#include "wharf/device/cuda_error.h"
#include "wharf/offload/handshake.h"
#include "wharf/server/process/clean_text.h"

namespace wharf::server {
namespace {

using offload::FrameKind;
using offload::Refusal;
using offload::RefusalReason;

constexpr Nanoseconds kFarewellDrain = std::chrono::seconds(1);
constexpr size_t kMaxProgramName = 64;

}  // namespace

ProgramSession::ProgramSession(ProgramSessionConfig config, link::Channel* channel)
    : config_(std::move(config)), channel_(channel), handshake_(std::exchange(config_.check, {})) {}

ProgramSession::Phase ProgramSession::CurrentPhase() const {
  absl::MutexLock lock(&mutex_);
  return phase_;
}

Nanoseconds ProgramSession::HandlingTime() {
  offload::Executor* const executor = ExecutorOrNull();
  return std::max(handling_.Taken(), executor != nullptr ? executor->WorkerTime() : Nanoseconds::zero());
}

absl::Status ProgramSession::WhyClosed() const {
  absl::MutexLock lock(&mutex_);
  return why_closed_;
}

offload::Executor* ProgramSession::ExecutorOrNull() const {
  absl::MutexLock lock(&mutex_);
  return executor_.get();
}

void ProgramSession::SetPhase(Phase phase) {
  absl::MutexLock lock(&mutex_);
  if (phase_ != Phase::kClosed) phase_ = phase;
}

absl::StatusOr<std::span<std::byte>> ProgramSession::BulkDestination(const link::FrameHeader& header,
                                                                     std::span<const std::byte> head) {
  offload::Executor* const executor = ExecutorOrNull();
  if (executor != nullptr) return executor->BulkDestination(header, head);
  return Refuse(RefusalReason::kMalformed, "the first frame must be a Hello without data");
}

absl::Status ProgramSession::OnFrame(const link::FrameHeader& header, std::span<const std::byte> head,
                                     std::vector<std::byte> bulk) {
  handling_.Begin();
  offload::Executor* const executor = ExecutorOrNull();
  const absl::Status status =
      executor != nullptr ? executor->OnFrame(header, head, std::move(bulk)) : OnHello(header, head);
  handling_.End();
  return status;
}

void ProgramSession::OnClosed(const absl::Status& why) {
  if (offload::Executor* const executor = ExecutorOrNull(); executor != nullptr) executor->OnClosed(why);
  {
    absl::MutexLock lock(&mutex_);
    phase_ = Phase::kClosed;
    why_closed_ = why;
  }
  if (config_.on_closed) config_.on_closed();
}

absl::Status ProgramSession::OnHello(const link::FrameHeader& header, std::span<const std::byte> head) {
  const absl::StatusOr<std::optional<offload::Hello>> heard = handshake_.Hear(*channel_, header, head);
  if (!heard.ok()) return Refuse(offload::ReasonOf(heard.status()), std::string(Message(heard.status())));
  if (!heard->has_value()) return absl::OkStatus();  // it is to prove that it knows the token
  const offload::Hello& hello = **heard;
  return (hello.features & offload::kFeatureCheckOnly) != 0 ? AnswerCheck(hello) : Open(hello);
}

// Of what the client would use, what this server has and another may not.
uint64_t ProgramSession::FeaturesOf(const offload::Hello& hello) const {
  return config_.has_kernel_packs ? hello.features & offload::kFeatureKernelPacks : 0;
}

absl::Status ProgramSession::AnswerCheck(const offload::Hello& hello) {
  SetPhase(Phase::kRefused);
  offload::Welcome welcome;
  welcome.features = offload::kFeatureCheckOnly | FeaturesOf(hello);
  welcome.properties.driver = config_.driver;
  const ServerLoad load = config_.load ? config_.load() : ServerLoad{0, true};
  welcome.session = load.open;
  welcome.memory_quota = load.has_room ? config_.memory_quota : 0;
  WHARF_RETURN_IF_ERROR(handshake_.Accept(*channel_, hello, welcome));
  channel_->Close(kFarewellDrain);
  return absl::OkStatus();
}

absl::Status ProgramSession::Open(const offload::Hello& hello) {
  if ((hello.features & offload::kFeatureUnsafeReplay) != 0 && !config_.unsafe_replay) {
    return Refuse(
        RefusalReason::kNotOffered,
        "this server has no replay_speculative, which is for comparisons only: use --mode replay, or start it "
        "with --unsafe-replay");
  }
  switch (config_.admit ? config_.admit() : Verdict::kAdmitted) {
    case Verdict::kAdmitted:
      break;
    case Verdict::kNoModels:  // never said of such a session
    case Verdict::kFull:
      return Refuse(RefusalReason::kFull, "the server is full: try again later, or raise its --max-sessions");
    case Verdict::kDraining:
      return Refuse(RefusalReason::kDraining, "the server is shutting down");
  }
  const uint64_t quota =
      hello.memory_wish == 0 ? config_.memory_quota : std::min(hello.memory_wish, config_.memory_quota);
  absl::StatusOr<std::unique_ptr<device::Device>> device = config_.make_device(quota);
  if (!device.ok()) {
    return Refuse(RefusalReason::kNoDevice, fmt::format("the server has no device: {}", Message(device.status())));
  }
  offload::Welcome welcome;
  welcome.features =
      (hello.features & (offload::kFeatureReplay | offload::kFeatureUnsafeReplay | offload::kFeatureCodedBulk)) |
      FeaturesOf(hello);
  welcome.session = config_.id;
  welcome.properties = (*device)->Properties();
  welcome.arena = (*device)->Arena();
  welcome.memory_quota = welcome.properties.total_memory;
  Log(LogLevel::kInfo, "session opened",
      {{"session", config_.id},
       {"peer", channel_->Stream().Peer()},
       {"program", CleanText(hello.program, kMaxProgramName)},
       {"device", welcome.properties.name},
       {"driver", welcome.properties.driver},
       {"memory_mib", welcome.memory_quota >> 20}});
  {
    absl::MutexLock lock(&mutex_);
    executor_ = std::make_unique<offload::Executor>(*std::move(device), channel_);
    if ((hello.features & offload::kFeatureReplay) != 0) {
      executor_->EnableReplay({.unsafe = (hello.features & offload::kFeatureUnsafeReplay) != 0});
    }
    if ((hello.features & offload::kFeatureCodedBulk) != 0) executor_->EnableCodedBulk();
  }
  SetPhase(Phase::kRunning);
  return handshake_.Accept(*channel_, hello, welcome);
}

absl::Status ProgramSession::Refuse(RefusalReason reason, const std::string& message) {
  if (config_.on_refused) config_.on_refused(channel_->Stream().Peer(), message);
  SetPhase(Phase::kRefused);
  Refusal refusal;
  refusal.reason = reason;
  refusal.message = message;
  channel_->Send(static_cast<uint16_t>(FrameKind::kRefusal), 0, wire::Encode(refusal)).IgnoreError();
  channel_->Close(kFarewellDrain);
  return FailedPrecondition("refused: {}", message);
}

void ProgramSession::End(RefusalReason refusal, const std::string& reason) {
  if (CurrentPhase() == Phase::kAwaitingHello) {
    Refuse(refusal, reason).IgnoreError();
    return;
  }
  offload::Goodbye goodbye;
  goodbye.reason = reason;
  channel_->Send(static_cast<uint16_t>(FrameKind::kGoodbye), 0, wire::Encode(goodbye)).IgnoreError();
  channel_->Close(kFarewellDrain);
}

void ProgramSession::Ping() {
  if (offload::Executor* const executor = ExecutorOrNull(); executor != nullptr) executor->Ping();
}

void ProgramSession::Stop() {
  channel_->Close();
  if (offload::Executor* const executor = ExecutorOrNull(); executor != nullptr) executor->Stop();
}

SessionReport ProgramSession::Report() const {
  SessionReport report;
  const link::ChannelStats traffic = channel_->Stats();
  report.bytes_received = traffic.bytes_received;
  report.bytes_sent = traffic.bytes_sent;
  const offload::Executor* const executor = ExecutorOrNull();
  if (executor == nullptr) return report;
  const offload::ExecutorCounters counters = executor->Counters();
  report.operations = counters.operations;
  report.blocking_operations = counters.blocking_operations;
  report.launches = counters.launches;
  report.posted_errors = counters.posted_errors;
  report.peak_mapped_bytes = counters.peak_mapped_bytes;
  report.bulk_in = counters.bulk_in;
  report.bulk_out = counters.bulk_out;
  report.busy_nanoseconds = static_cast<uint64_t>(executor->Device().BusyTime().count());
  report.fault = static_cast<int32_t>(device::CudaErrorOf(executor->Device().Fault()));
  return report;
}

}  // namespace wharf::server
