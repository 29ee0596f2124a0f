#include "wharf/ar/server/server.h"

#include <atomic>
#include <utility>

#include "wharf/ar/server/ar_session.h"
#include "wharf/base/log.h"

namespace wharf::ar {
namespace {

uint64_t NextSession() {
  static std::atomic<uint64_t> next = 1;  // of all servers of the process: they may share a lane
  return next++;
}

}  // namespace

Server::Server(ServerConfig config)
    : config_(std::move(config)), memory_(config_.picture_memory), sessions_(config_.max_sessions) {}
Server::~Server() = default;

void Server::Accept(std::unique_ptr<link::ByteStream> stream) {
  const std::string peer = stream->Peer();
  if (!sessions_.Add([&] { return std::make_unique<ArSession>(config_, NextSession(), memory_, std::move(stream)); }))
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
