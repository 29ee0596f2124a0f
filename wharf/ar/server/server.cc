#include "wharf/ar/server/server.h"

#include <atomic>
#include <utility>

#include "wharf/ar/server/ar_session.h"
#include "wharf/base/log.h"

namespace wharf::ar {
namespace {

uint64_t NextSession() {
  static std::atomic<uint64_t> next = 1;  // of all servers of the process: they may share a queue of turns
  return next++;
}

constexpr size_t kMostRefusals = 32;  // at a time; who comes then is hung up on
// Of a client that may have to give way: a camera sends a picture at least every other second.
constexpr Nanoseconds kSilent = std::chrono::seconds(30);

}  // namespace

// Tells a client that there is no place for it, once it has said something.
class Refusal final : private link::FrameHandler {
 public:
  Refusal(std::unique_ptr<link::ByteStream> stream, absl::Status why)
      : why_(std::move(why)), since_(Clock::Real().Now()) {
    channel_ = link::Channel::Create(std::move(stream), {.limits = kArFrameLimits});
    channel_->Start(this);
  }
  ~Refusal() override { channel_->Stop(); }
  bool Over() const { return over_; }
  bool Late(TimePoint now) const { return now - since_ > std::chrono::seconds(10); }

 private:
  absl::Status Say() {
    return wire::EndSession<ArProtocol>(*channel_, why_, "too many AR clients", std::chrono::milliseconds(250));
  }
  absl::StatusOr<std::span<std::byte>> BulkDestination(const link::FrameHeader&, std::span<const std::byte>) override {
    return Say();
  }
  absl::Status OnFrame(const link::FrameHeader&, std::span<const std::byte>, std::vector<std::byte>) override {
    return Say();
  }
  void OnClosed(const absl::Status&) override { over_ = true; }

  const absl::Status why_;
  const TimePoint since_;
  std::atomic<bool> over_ = false;
  std::unique_ptr<link::Channel> channel_;
};

Server::Server(ServerConfig config)
    : config_(std::move(config)),
      memory_(config_.picture_memory),
      sessions_(config_.max_sessions),
      refusals_(kMostRefusals) {}
Server::~Server() = default;

void Server::Accept(std::unique_ptr<link::ByteStream> relay) {
  const std::string peer = relay->Peer();
  const auto make = [&] {
    return std::make_unique<ArSession>(config_, NextSession(), memory_, tally_, std::move(relay));
  };
  if (sessions_.Add(make)) return;
  const bool gave_way = sessions_.ForEarliest([](const ArSession& one) { return one.HeardAt(); },
                                              config_.clock->Now() - kSilent, [](ArSession& one) { one.GiveWay(); });
  if (gave_way && sessions_.Add(make)) return;
  const absl::Status full = ResourceExhausted(
      "this server has {} clients, as many as it may have (--max-sessions): try again later", config_.max_sessions);
  if (!refusals_.Add([&] { return std::make_unique<Refusal>(std::move(relay), full); }))
    Log(LogLevel::kWarning, "too many AR clients", {{"peer", peer}});
}

void Server::Drain(Nanoseconds grace) {
  if (config_.next.empty()) return;
  sessions_.ForEach([](ArSession& session) { session.Redirect(); });
  Clock& clock = Clock::Real();
  const TimePoint end = clock.Now() + grace;
  while (sessions_.Count() > 0 && clock.Now() < end) clock.SleepFor(std::chrono::milliseconds(10));
}

}  // namespace wharf::ar
