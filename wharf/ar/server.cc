#include "wharf/ar/server.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "wharf/ar/session.h"
#include "wharf/base/log.h"

namespace wharf::ar {
namespace {

uint64_t NextSession() {
  static std::atomic<uint64_t> next = 1;  // of all servers of the process: they may share a lane
  return next++;
}

}  // namespace

Server::Server(ServerConfig config) : config_(std::move(config)) {}

Server::~Server() {
  absl::MutexLock lock(&mutex_);
  sessions_.clear();
}

void Server::Accept(std::unique_ptr<link::ByteStream> stream) {
  absl::MutexLock lock(&mutex_);
  const TimePoint now = Clock::Real().Now();
  sessions_.remove_if([&](const std::unique_ptr<Session>& one) { return one->Over() || one->Late(now); });
  if (sessions_.size() >= config_.max_sessions) {
    Log(LogLevel::kWarning, "too many AR clients", {{"peer", stream->Peer()}});
    return;
  }
  sessions_.push_back(std::make_unique<Session>(config_, NextSession(), std::move(stream)));
}

size_t Server::Sessions() const {
  absl::MutexLock lock(&mutex_);
  return static_cast<size_t>(std::ranges::count_if(sessions_, [](const auto& one) { return !one->Over(); }));
}

}  // namespace wharf::ar
