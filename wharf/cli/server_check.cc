#include "wharf/cli/server_check.h"

#include <memory>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "wharf/link/channel.h"
#include "wharf/offload/wire_codec.h"

namespace wharf::cli {
namespace {

// Waits for the one frame that answers a Hello.
class FirstAnswer final : public link::FrameHandler {
 public:
  absl::StatusOr<std::span<std::byte>> BulkDestination(const link::FrameHeader&, std::span<const std::byte>) override {
    return DataLoss("the first frame carries data");
  }
  absl::Status OnFrame(const link::FrameHeader& header, std::span<const std::byte> head,
                       std::vector<std::byte>) override {
    absl::MutexLock lock(&mutex_);
    if (!answered_) Judge(header, head);
    answered_ = true;
    return absl::OkStatus();
  }
  void OnClosed(const absl::Status& why) override {
    absl::MutexLock lock(&mutex_);
    if (!answered_) {
      // With TLS the server's own verdict on our certificate.
      verdict_ = absl::IsUnauthenticated(why) ? why
                                              : Unavailable(
                                                    "it closed the connection without an answer: does it want --tls, "
                                                    "or is it no Wharf server?");
    }
    answered_ = true;
  }
  absl::StatusOr<std::string> Await(Nanoseconds timeout) {
    absl::MutexLock lock(&mutex_);
    if (!mutex_.AwaitWithTimeout(absl::Condition(&answered_), absl::FromChrono(timeout))) {
      return DeadlineExceeded("it gave no answer within {:g} s", Seconds(timeout));
    }
    return verdict_;
  }

 private:
  void Judge(const link::FrameHeader& header, std::span<const std::byte> head) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (header.kind == static_cast<uint16_t>(offload::FrameKind::kWelcome)) {
      const auto welcome = offload::Decode<offload::Welcome>(head);
      verdict_ = welcome.ok() ? absl::StatusOr<std::string>(welcome->properties.driver) : welcome.status();
      return;
    }
    const auto refusal = offload::Decode<offload::Refusal>(head);
    if (header.kind != static_cast<uint16_t>(offload::FrameKind::kRefusal) || !refusal.ok()) {
      verdict_ = DataLoss("it does not speak Wharf's protocol");
    } else if (refusal->reason == offload::RefusalReason::kUnauthenticated) {
      verdict_ = Unauthenticated("{}", refusal->message);
    } else {
      verdict_ = Unavailable("{}", refusal->message);
    }
  }

  absl::Mutex mutex_;
  bool answered_ ABSL_GUARDED_BY(mutex_) = false;
  absl::StatusOr<std::string> verdict_ ABSL_GUARDED_BY(mutex_) = Unavailable("no answer");
};

}  // namespace

absl::StatusOr<std::string> CheckServer(const std::string& address, const link::ConnectOptions& options,
                                        const std::string& token) {
  WHARF_ASSIGN_OR_RETURN(std::unique_ptr<link::ByteStream> stream, link::Connect(address, options));
  FirstAnswer answer;
  const auto channel = link::Channel::Create(std::move(stream));
  channel->Start(&answer);
  offload::Hello hello;
  hello.features = offload::kFeatureCheckOnly;
  hello.token = token;
  hello.program = "wharf run";
  channel->Send(static_cast<uint16_t>(offload::FrameKind::kHello), 0, offload::Encode(hello)).IgnoreError();
  absl::StatusOr<std::string> verdict = answer.Await(options.timeout);
  channel->Close();
  if (verdict.ok()) return verdict;
  return absl::Status(verdict.status().code(), fmt::format("{}: {}", address, Message(verdict.status())));
}

}  // namespace wharf::cli
