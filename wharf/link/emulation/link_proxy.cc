#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

#include "wharf/base/log.h"
#include "wharf/link/emulation/emulator.h"
#include "wharf/link/emulation/link_direction.h"
#include "wharf/link/socket.h"
#include "wharf/link/threads.h"

namespace wharf::link {
namespace {

constexpr Nanoseconds kTargetTimeout = std::chrono::seconds(5);
// What a sender gets rid of before it feels the link; the kernel would let this grow to several MiB.
constexpr int kReceiveBuffer = 64 << 10;

class TcpLinkProxy final : public LinkProxy {
 public:
  TcpLinkProxy(std::unique_ptr<Listener> listener, std::string target_name, ParsedAddress target,
               const LinkProfile& profile, UniqueFd wake_up, UniqueFd wake_down)
      : listener_(std::move(listener)), target_name_(std::move(target_name)), target_(std::move(target)) {
    const TimePoint start = Clock::Real().Now();
    LinkProfile down = profile;
    ++down.seed;  // the two ways' jitter is independent
    up_ = std::make_unique<LinkDirection>(LinkDirection::Direction::kUp, profile, start, std::move(wake_up));
    down_ =
        std::make_unique<LinkDirection>(LinkDirection::Direction::kDown, std::move(down), start, std::move(wake_down));
    acceptor_ = StartThread("wharf-link", [this] { AcceptLoop(); });
  }

  ~TcpLinkProxy() override {
    listener_->Shutdown();
    acceptor_.join();
  }

  std::string Address() const override { return listener_->Address(); }

  void Rewind() override {
    const TimePoint start = Clock::Real().Now();
    up_->Restart(start);
    down_->Restart(start);
  }

  int Cut() override {
    const std::lock_guard lock(mutex_);
    int cut = 0;
    for (const std::weak_ptr<ProxyConnection>& one : open_) {
      const std::shared_ptr<ProxyConnection> connection = one.lock();
      if (connection == nullptr) continue;
      for (const int fd : {connection->client.get(), connection->target.get()}) shutdown(fd, SHUT_RDWR);
      ++cut;
    }
    open_.clear();
    return cut;
  }

  Stats Traffic() const override { return {up_->bytes(), down_->bytes(), connections_.load()}; }

 private:
  void AcceptLoop() {
    while (true) {
      const auto fd = listener_->Accept();
      if (fd.ok()) {
        Open(UniqueFd(*fd));
      } else if (fd.status().code() == absl::StatusCode::kResourceExhausted) {
        Log(LogLevel::kWarning, "link proxy cannot accept", {{"error", Message(fd.status())}});
        Clock::Real().SleepFor(std::chrono::milliseconds(50));
      } else {
        return;
      }
    }
  }

  void Open(UniqueFd client) {
    auto target = ConnectSocket(target_, target_name_, Clock::Real().Now() + kTargetTimeout);
    if (!target.ok()) {  // the client sees its connection close
      Log(LogLevel::kWarning, "link proxy has no target", {{"error", Message(target.status())}});
      return;
    }
    for (const int fd : {client.get(), target->get()}) {
      SetStreamOptions(fd);
      setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &kReceiveBuffer, sizeof(kReceiveBuffer));
    }
    auto connection = std::make_shared<ProxyConnection>();
    connection->client = std::move(client);
    connection->target = *std::move(target);
    ++connections_;
    {
      const std::lock_guard lock(mutex_);
      std::erase_if(open_, [](const auto& one) { return one.expired(); });
      open_.push_back(connection);
    }
    up_->Add(connection);
    down_->Add(connection);
  }

  const std::unique_ptr<Listener> listener_;
  const std::string target_name_;
  const ParsedAddress target_;
  std::unique_ptr<LinkDirection> up_, down_;
  std::atomic<uint64_t> connections_{0};
  std::mutex mutex_;
  std::vector<std::weak_ptr<ProxyConnection>> open_;  // guarded by mutex_
  std::thread acceptor_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<LinkProxy>> LinkProxy::Start(const std::string& listen, const std::string& target,
                                                            LinkProfile profile) {
  WHARF_RETURN_IF_ERROR(Validate(profile));
  WHARF_ASSIGN_OR_RETURN(ParsedAddress parsed, ParseAddress(target));
  WHARF_ASSIGN_OR_RETURN(auto listener, Listener::Create(listen));
  WHARF_ASSIGN_OR_RETURN(UniqueFd wake_up, MakeBell());
  WHARF_ASSIGN_OR_RETURN(UniqueFd wake_down, MakeBell());
  return std::make_unique<TcpLinkProxy>(std::move(listener), target, std::move(parsed), profile, std::move(wake_up),
                                        std::move(wake_down));
}

}  // namespace wharf::link
