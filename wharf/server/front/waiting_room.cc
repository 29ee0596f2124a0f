#include "wharf/server/front/waiting_room.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <utility>
#include <vector>

#include "wharf/base/log.h"

namespace wharf::server {
namespace {

constexpr uint64_t kBell = 0;  // no place has this number

// A server without these two would serve nobody.
int Needed(int descriptor, const char* what) {
  if (descriptor >= 0) return descriptor;
  Log(LogLevel::kError, "cannot serve", {{"what", what}, {"errno", errno}});
  std::abort();
}

void Watch(int epoll, int descriptor, uint64_t number) {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLRDHUP;
  event.data.u64 = number;
  Needed(epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event), "epoll_ctl");
}

bool HasBytes(int socket) {
  int bytes = 0;
  return ioctl(socket, FIONREAD, &bytes) == 0 && bytes > 0;
}

void CloseAll(const std::vector<int>& sockets) {
  for (const int socket : sockets) close(socket);
}

}  // namespace

WaitingRoom::WaitingRoom(const WaitingLimits& limits, OnSpeech on_speech)
    : on_speech_(std::move(on_speech)),
      ready_(Needed(epoll_create1(EPOLL_CLOEXEC), "epoll")),
      bell_(Needed(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "eventfd")),
      waiting_(limits) {
  Watch(ready_, bell_, kBell);
  thread_ = std::thread([this] { Run(); });
}

WaitingRoom::~WaitingRoom() {
  Stop();
  close(ready_);
  close(bell_);
}

void WaitingRoom::Stop() {
  if (!thread_.joinable()) return;
  {
    absl::MutexLock lock(&mutex_);
    stopped_ = true;
  }
  eventfd_write(bell_, 1);
  thread_.join();
  absl::MutexLock lock(&mutex_);
  CloseAll(waiting_.TakeAll());
}

void WaitingRoom::Enter(int socket, const std::string& address) {
  absl::MutexLock lock(&mutex_);
  if (stopped_) {
    close(socket);
    return;
  }
  const bool first = waiting_.Size() == 0;
  const WaitingList::Entered entered = waiting_.Enter(socket, address, Clock::Real().Now());
  CloseAll(entered.left_out);  // which takes them out of the epoll, too
  Watch(ready_, socket, entered.number);
  if (first) eventfd_write(bell_, 1);  // later ones are late later
}

void WaitingRoom::Run() {
  std::array<epoll_event, 64> events;
  for (;;) {
    const int count = epoll_wait(ready_, events.data(), static_cast<int>(events.size()), TimeoutMs());
    for (int i = 0; i < count; ++i) {
      if (events[i].data.u64 != kBell) {
        OnReadable(events[i].data.u64);
        continue;
      }
      eventfd_t rings = 0;
      eventfd_read(bell_, &rings);
      absl::MutexLock lock(&mutex_);
      if (stopped_) return;
    }
    CloseLate();
  }
}

int WaitingRoom::TimeoutMs() const {
  absl::MutexLock lock(&mutex_);
  const auto next = waiting_.NextDeadline();
  if (!next) return -1;
  const int64_t left = (*next - Clock::Real().Now()).count() / 1'000'000 + 1;
  return static_cast<int>(std::clamp<int64_t>(left, 0, 3'600'000));
}

void WaitingRoom::OnReadable(uint64_t number) {
  std::optional<WaitingList::Place> place;
  {
    absl::MutexLock lock(&mutex_);
    place = waiting_.Leave(number);
  }
  if (!place) return;  // it gave way in the meantime
  epoll_ctl(ready_, EPOLL_CTL_DEL, place->socket, nullptr);
  if (HasBytes(place->socket)) {
    on_speech_(place->socket, place->address);
  } else {
    close(place->socket);  // it is over before it began
  }
}

void WaitingRoom::CloseLate() {
  absl::MutexLock lock(&mutex_);
  CloseAll(waiting_.TakeLate(Clock::Real().Now()));
}

}  // namespace wharf::server
