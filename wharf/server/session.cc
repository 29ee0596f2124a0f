#include "wharf/server/session.h"

#include <algorithm>
#include <utility>

#include "wharf/base/log.h"
#include "wharf/device/cuda_error.h"
#include "wharf/offload/hello_prefix.h"
#include "wharf/offload/wire_codec.h"
#include "wharf/server/options.h"

namespace wharf::server {
namespace {

using offload::FrameKind;
using offload::Refusal;
using offload::RefusalReason;

constexpr Nanoseconds kFarewellDrain = std::chrono::seconds(1);
constexpr size_t kMaxProgramName = 64;

constexpr offload::ProtocolVersion kVersion = {"Wharf client", "protocol", offload::kProtocolMagic,
                                               offload::kProtocolMajor, offload::kProtocolMinor};

// What a client calls itself goes to logs and terminals: printable ASCII only.
std::string CleanName(const std::string& name) {
  std::string clean = name.substr(0, kMaxProgramName);
  std::replace_if(
      clean.begin(), clean.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return clean;
}

}  // namespace

Session::Session(SessionConfig config, link::Channel* channel) : config_(std::move(config)), channel_(channel) {}

Session::Phase Session::CurrentPhase() const {
  absl::MutexLock lock(&mutex_);
  return phase_;
}

bool Session::Handling() const {
  absl::MutexLock lock(&mutex_);
  return handling_;
}

absl::Status Session::WhyClosed() const {
  absl::MutexLock lock(&mutex_);
  return why_closed_;
}

offload::Executor* Session::ExecutorOrNull() const {
  absl::MutexLock lock(&mutex_);
  return executor_.get();
}

void Session::SetPhase(Phase phase) {
  absl::MutexLock lock(&mutex_);
  if (phase_ != Phase::kClosed) phase_ = phase;
}

absl::StatusOr<std::span<std::byte>> Session::BulkDestination(const link::FrameHeader& header,
                                                              std::span<const std::byte> head) {
  offload::Executor* const executor = ExecutorOrNull();
  if (executor != nullptr) return executor->BulkDestination(header, head);
  return Refuse(RefusalReason::kMalformed, "the first frame must be a Hello without data");
}

absl::Status Session::OnFrame(const link::FrameHeader& header, std::span<const std::byte> head,
                              std::vector<std::byte> bulk) {
  {
    absl::MutexLock lock(&mutex_);
    handling_ = true;
  }
  offload::Executor* const executor = ExecutorOrNull();
  const absl::Status status =
      executor != nullptr ? executor->OnFrame(header, head, std::move(bulk)) : OnHello(header, head);
  absl::MutexLock lock(&mutex_);
  handling_ = false;
  return status;
}

void Session::OnClosed(const absl::Status& why) {
  if (offload::Executor* const executor = ExecutorOrNull(); executor != nullptr) executor->OnClosed(why);
  {
    absl::MutexLock lock(&mutex_);
    phase_ = Phase::kClosed;
    why_closed_ = why;
  }
  if (config_.on_closed) config_.on_closed();
}

absl::Status Session::OnHello(const link::FrameHeader& header, std::span<const std::byte> head) {
  if (header.kind != static_cast<uint16_t>(FrameKind::kHello)) {
    return Refuse(RefusalReason::kMalformed, "the first frame must be a Hello");
  }
  if (const absl::Status fits = offload::CheckHelloPrefix(head, kVersion); !fits.ok()) {
    const bool other_version = absl::IsFailedPrecondition(fits);
    return Refuse(other_version ? RefusalReason::kVersion : RefusalReason::kMalformed, std::string(Message(fits)));
  }
  const absl::StatusOr<offload::Hello> hello = offload::Decode<offload::Hello>(head);
  if (!hello.ok()) return Refuse(RefusalReason::kMalformed, "the Hello is malformed");
  if (!config_.token.empty() && !TokensEqual(hello->token, config_.token)) {
    return Refuse(RefusalReason::kUnauthenticated,
                  hello->token.empty() ? "the server wants a token: give --token-file FILE (or set WHARF_TOKEN_FILE)"
                                       : "the token is wrong: use the server's token file");
  }
  if ((hello->features & offload::kFeatureCheckOnly) != 0) return AnswerCheck();
  return Open(*hello);
}

absl::Status Session::AnswerCheck() {
  SetPhase(Phase::kRefused);
  offload::Welcome welcome;
  welcome.features = offload::kFeatureCheckOnly;
  welcome.properties.driver = config_.driver;
  WHARF_RETURN_IF_ERROR(channel_->Send(static_cast<uint16_t>(FrameKind::kWelcome), 0, offload::Encode(welcome)));
  channel_->Close(kFarewellDrain);
  return absl::OkStatus();
}

absl::Status Session::Open(const offload::Hello& hello) {
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
  welcome.minor = std::min(hello.minor, offload::kProtocolMinor);
  welcome.features = hello.features & (offload::kFeatureReplay | offload::kFeatureUnsafeReplay);
  welcome.session = config_.id;
  welcome.properties = (*device)->Properties();
  welcome.arena = (*device)->Arena();
  welcome.memory_quota = welcome.properties.total_memory;
  Log(LogLevel::kInfo, "session opened",
      {{"session", config_.id},
       {"peer", channel_->Stream().Peer()},
       {"program", CleanName(hello.program)},
       {"device", welcome.properties.name},
       {"driver", welcome.properties.driver},
       {"memory_mib", welcome.memory_quota >> 20}});
  {
    absl::MutexLock lock(&mutex_);
    executor_ = std::make_unique<offload::Executor>(*std::move(device), channel_);
    if ((hello.features & offload::kFeatureReplay) != 0) {
      executor_->EnableReplay({.unsafe = (hello.features & offload::kFeatureUnsafeReplay) != 0});
    }
  }
  SetPhase(Phase::kRunning);
  return channel_->Send(static_cast<uint16_t>(FrameKind::kWelcome), 0, offload::Encode(welcome));
}

absl::Status Session::Refuse(RefusalReason reason, const std::string& message) {
  Log(LogLevel::kWarning, "client refused",
      {{"session", config_.id}, {"peer", channel_->Stream().Peer()}, {"why", message}});
  SetPhase(Phase::kRefused);
  {
    absl::MutexLock lock(&mutex_);
    refused_ = true;
  }
  Refusal refusal;
  refusal.reason = reason;
  refusal.message = message;
  channel_->Send(static_cast<uint16_t>(FrameKind::kRefusal), 0, offload::Encode(refusal)).IgnoreError();
  channel_->Close(kFarewellDrain);
  return FailedPrecondition("refused: {}", message);
}

void Session::End(RefusalReason refusal, const std::string& reason) {
  if (CurrentPhase() == Phase::kAwaitingHello) {
    Refuse(refusal, reason).IgnoreError();
    return;
  }
  offload::Goodbye goodbye;
  goodbye.reason = reason;
  channel_->Send(static_cast<uint16_t>(FrameKind::kGoodbye), 0, offload::Encode(goodbye)).IgnoreError();
  channel_->Close(kFarewellDrain);
}

void Session::Ping() {
  if (offload::Executor* const executor = ExecutorOrNull(); executor != nullptr) executor->Ping();
}

void Session::Stop() {
  channel_->Close();
  if (offload::Executor* const executor = ExecutorOrNull(); executor != nullptr) executor->Stop();
}

SessionReport Session::Report() const {
  SessionReport report;
  const link::ChannelStats traffic = channel_->Stats();
  report.bytes_received = traffic.bytes_received;
  report.bytes_sent = traffic.bytes_sent;
  {
    absl::MutexLock lock(&mutex_);
    report.refused = refused_;
  }
  const offload::Executor* const executor = ExecutorOrNull();
  if (executor == nullptr) return report;
  const offload::ExecutorCounters counters = executor->Counters();
  report.operations = counters.operations;
  report.blocking_operations = counters.blocking_operations;
  report.launches = counters.launches;
  report.posted_errors = counters.posted_errors;
  report.peak_mapped_bytes = counters.peak_mapped_bytes;
  report.busy_nanoseconds = static_cast<uint64_t>(executor->Device().BusyTime().count());
  report.fault = static_cast<int32_t>(device::CudaErrorOf(executor->Device().Fault()));
  return report;
}

}  // namespace wharf::server
