#include "wharf/ar/client/uplink.h"

#include <algorithm>
#include <utility>

#include "absl/time/time.h"
#include "wharf/base/log.h"

namespace wharf::ar {
namespace {

constexpr Nanoseconds kLongestPause = std::chrono::seconds(5);
constexpr size_t kMostPictures = 2;  // that wait for the link

}  // namespace

absl::StatusOr<std::unique_ptr<Uplink>> Uplink::Open(Dial dial, UplinkOptions options, ConnectionListener& listener) {
  std::unique_ptr<Uplink> uplink(new Uplink(std::move(dial), std::move(options), listener));
  const UplinkOptions& to = uplink->options_;
  WHARF_RETURN_IF_ERROR(link::TryAgain([&] { return uplink->Connect(to.server); }, to.opening));
  uplink->thread_ = std::thread([raw = uplink.get()] { raw->Loop(); });
  return uplink;
}

Uplink::~Uplink() {
  {
    absl::MutexLock lock(&mutex_);
    ending_ = true;
  }
  if (thread_.joinable()) thread_.join();
}

absl::Status Uplink::Connect(const std::string& server) {
  {
    absl::MutexLock lock(&mutex_);
    state_.server = server;
    state_.nowhere = false;
  }
  WHARF_ASSIGN_OR_RETURN(std::unique_ptr<link::ByteStream> stream, dial_(server));
  {
    absl::MutexLock lock(&mutex_);
    lost_ = absl::OkStatus();  // before anything can be heard of the new one
  }
  auto connection = Connection::Open(std::move(stream), options_.hello, options_.token, *this, options_.timeout);
  absl::MutexLock lock(&mutex_);
  if (connection.ok()) {
    connection_ = *std::move(connection);
  } else {
    lost_ = connection.status();
  }
  state_.connected = lost_.ok();
  return connection.status();
}

absl::Status Uplink::Send(FramePointer frame, uint8_t tasks) {
  absl::MutexLock lock(&mutex_);
  if (!lost_.ok()) return Unavailable("not connected: {}", Message(lost_));
  if (pictures_.size() >= kMostPictures) return ResourceExhausted("the pictures before it wait for the link");
  pictures_.push_back({std::move(frame), tasks});
  return absl::OkStatus();
}

void Uplink::Tell(const Report& report) {
  absl::MutexLock lock(&mutex_);
  report_ = report;
}

void Uplink::Settle() {
  absl::MutexLock lock(&mutex_);
  tried_ = {state_.server};
}

UplinkState Uplink::State() const {
  absl::MutexLock lock(&mutex_);
  return state_;
}

bool Uplink::Hears() const {
  absl::MutexLock lock(&mutex_);
  return lost_.ok();
}

void Uplink::OnWelcome(const Welcome& welcome) {
  if (Hears()) listener_.OnWelcome(welcome);
}

void Uplink::OnResult(const Result& result, int64_t frame, std::vector<std::byte> found) {
  if (Hears()) listener_.OnResult(result, frame, std::move(found));
}

void Uplink::OnFailed(Task task, int64_t frame, const absl::Status& why) {
  if (Hears()) listener_.OnFailed(task, frame, why);
}

void Uplink::OnSchedule(serving::ClientPlan plan, bool served, const std::string& why) {
  if (Hears()) listener_.OnSchedule(std::move(plan), served, why);
}

void Uplink::OnClosed(const absl::Status& why) {
  {
    absl::MutexLock lock(&mutex_);
    if (!lost_.ok()) return;  // it is known
    lost_ = why;
    pictures_.clear();
    state_.connected = false;
    state_.last_lost = Message(why);
  }
  listener_.OnClosed(why);
}

void Uplink::OnRedirect(std::vector<std::string> servers) {
  std::string to;
  {
    absl::MutexLock lock(&mutex_);
    if (!lost_.ok()) return;
    std::erase_if(servers, [&](const std::string& server)
                               ABSL_NO_THREAD_SAFETY_ANALYSIS { return !tried_.insert(server).second; });
    state_.nowhere = servers.empty();
    if (servers.empty()) return;
    to = servers.front();
    sent_to_.assign(servers.begin(), servers.end());
  }
  Log(LogLevel::kInfo, "handed over", {{"to", to}});
  OnClosed(Unavailable("handed over to {}", to));
}

void Uplink::SendNext() {
  Outgoing next;
  std::optional<Report> report;
  {
    absl::MutexLock lock(&mutex_);
    report = std::exchange(report_, std::nullopt);
    if (!pictures_.empty()) {
      next = std::move(pictures_.front());
      pictures_.pop_front();
    }
  }
  absl::Status sent;
  if (report) sent = connection_->Tell(*report);
  if (sent.ok() && next.frame != nullptr)
    sent = connection_->Send(next.frame->index, next.tasks, next.frame->image, options_.jpeg_quality);
  if (!sent.ok()) OnClosed(sent);
}

bool Uplink::Reconnect() {
  std::vector<std::string> servers;
  std::string from;
  {
    absl::MutexLock lock(&mutex_);
    servers.assign(sent_to_.begin(), sent_to_.end());
    sent_to_.clear();
    from = state_.server;
  }
  const size_t others = servers.size();
  servers.push_back(from);
  if (from != options_.server) servers.push_back(options_.server);
  for (size_t i = 0; i < servers.size(); ++i) {
    {
      absl::MutexLock lock(&mutex_);
      if (ending_) return false;
    }
    const absl::Status connected = Connect(servers[i]);
    if (connected.ok()) {
      absl::MutexLock lock(&mutex_);
      if (i < others) ++state_.redirects;
      return true;
    }
    Log(LogLevel::kWarning, "no way to a server", {{"server", servers[i]}, {"why", Message(connected)}});
  }
  return false;
}

void Uplink::Loop() {
  const auto work = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return ending_ || !lost_.ok() || report_ || !pictures_.empty();
  };
  Nanoseconds pause = options_.first_pause;
  for (;;) {
    bool connected = false;
    {
      absl::MutexLock lock(&mutex_, absl::Condition(&work));
      if (ending_) break;
      connected = lost_.ok();
    }
    if (connected) {
      SendNext();
      pause = options_.first_pause;
      continue;
    }
    connection_.reset();
    if (Reconnect()) continue;
    absl::MutexLock lock(&mutex_);
    mutex_.AwaitWithTimeout(absl::Condition(&ending_), absl::FromChrono(pause));
    pause = std::min(2 * pause, kLongestPause);
  }
  connection_.reset();
}

}  // namespace wharf::ar
