#include "wharf/link/emulation/link_direction.h"

#include <sys/prctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "wharf/link/threads.h"

namespace wharf::link {
namespace {

constexpr size_t kReadBytes = 32 * kPacketBytes;
constexpr Nanoseconds kLongWait = std::chrono::seconds(60);

}  // namespace

LinkDirection::LinkDirection(Direction direction, LinkProfile profile, TimePoint start, UniqueFd wake)
    : direction_(direction),
      capacity_(std::max(profile.queue_bytes, kPacketBytes)),
      wake_(std::move(wake)),
      model_(std::move(profile), start) {
  thread_ = StartThread(direction == Direction::kUp ? "wharf-link-up" : "wharf-link-down", [this] { Run(); });
}

LinkDirection::~LinkDirection() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  Ring(wake_.get());
  thread_.join();
}

void LinkDirection::Add(std::shared_ptr<ProxyConnection> connection) {
  {
    std::lock_guard lock(mutex_);
    arrivals_.push_back(std::move(connection));
  }
  Ring(wake_.get());
}

void LinkDirection::Restart(TimePoint start) {
  {
    std::lock_guard lock(mutex_);
    restart_ = start;
  }
  Ring(wake_.get());
}

void LinkDirection::Run() {
  // Sleep to the microsecond; by default the kernel may add 50.
  prctl(PR_SET_TIMERSLACK, 1);
  while (TakeOrders()) {
    Deliver(Clock::Real().Now());
    ReadSources();
    std::erase_if(flows_, [](const auto& flow) { return flow->done; });
    Wait();
  }
}

bool LinkDirection::TakeOrders() {
  std::lock_guard lock(mutex_);
  if (restart_.has_value()) model_.Restart(*restart_);
  restart_.reset();
  for (auto& connection : arrivals_) {
    auto flow = std::make_shared<Flow>();
    flow->source = direction_ == Direction::kUp ? connection->client.get() : connection->target.get();
    flow->sink = direction_ == Direction::kUp ? connection->target.get() : connection->client.get();
    flow->connection = std::move(connection);
    flows_.push_back(std::move(flow));
  }
  arrivals_.clear();
  return !stop_;
}

void LinkDirection::Deliver(TimePoint now) {
  std::vector<Flow*> touched;
  while (!packets_.empty() && packets_.front().delivered <= now) {
    Packet packet = std::move(packets_.front());
    packets_.pop_front();
    Flow& flow = *packet.flow;
    if (flow.done) continue;
    if (packet.bytes.empty()) {
      flow.end_delivered = true;
    } else {
      flow.late_bytes += packet.bytes.size();
      flow.late.push_back(std::move(packet.bytes));
    }
    if (std::find(touched.begin(), touched.end(), &flow) == touched.end()) touched.push_back(&flow);
  }
  for (Flow* flow : touched) {
    if (!flow->sink_blocked) PushLate(*flow);
  }
}

// Gives the sink all it takes of what has arrived.
void LinkDirection::PushLate(Flow& flow) {
  std::vector<std::span<const std::byte>> pieces;
  while (!flow.late.empty()) {
    pieces.clear();
    for (const auto& bytes : flow.late) {
      if (pieces.size() == 64) break;
      pieces.emplace_back(bytes);
    }
    const auto sent = SendSome(flow.sink, pieces, flow.late_offset, /*wait=*/false);
    if (!sent.ok()) return Abort(flow);
    flow.sink_blocked = *sent == 0;
    if (flow.sink_blocked) return;
    flow.late_bytes -= *sent;
    flow.late_offset += *sent;
    while (!flow.late.empty() && flow.late_offset >= flow.late.front().size()) {
      flow.late_offset -= flow.late.front().size();
      flow.late.pop_front();
    }
  }
  if (flow.end_delivered) {
    shutdown(flow.sink, SHUT_WR);
    flow.done = true;
  }
}

// The sink is gone; so is the connection, which the other direction learns from its own sockets.
void LinkDirection::Abort(Flow& flow) {
  shutdown(flow.source, SHUT_RDWR);
  shutdown(flow.sink, SHUT_RDWR);
  flow.late.clear();
  flow.late_bytes = 0;
  flow.done = true;
}

// Bytes the emulated sender's queue still takes.
size_t LinkDirection::Room(TimePoint now) {
  while (!departures_.empty() && departures_.front().sent <= now) {
    queued_bytes_ -= departures_.front().size;
    departures_.pop_front();
  }
  const size_t room = capacity_ - std::min(capacity_, queued_bytes_);
  return room < kPacketBytes ? 0 : room;  // no crumbs
}

bool LinkDirection::WantsToRead(const Flow& flow) const {
  return !flow.done && !flow.source_ended && flow.late_bytes < capacity_;
}

void LinkDirection::ReadSources() {
  if (flows_.empty()) return;
  ++next_flow_;
  for (size_t i = 0; i < flows_.size(); ++i) {
    const auto& flow = flows_[(next_flow_ + i) % flows_.size()];
    if (flow->ready == 0 || !WantsToRead(*flow)) continue;
    const size_t room = Room(Clock::Real().Now());
    if (room == 0) return;
    flow->ready = 0;
    ReadSource(flow, room);
  }
}

void LinkDirection::ReadSource(const std::shared_ptr<Flow>& flow, size_t room) {
  std::byte buffer[kReadBytes];
  const ssize_t count = recv(flow->source, buffer, std::min(room, sizeof(buffer)), MSG_DONTWAIT);
  if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return;
  const TimePoint now = Clock::Real().Now();
  if (count <= 0) {
    flow->source_ended = true;
    packets_.push_back({flow, {}, model_.Send(now, 0).delivered});
    return;
  }
  bytes_.fetch_add(static_cast<uint64_t>(count), std::memory_order_relaxed);
  for (std::span<const std::byte> rest(buffer, static_cast<size_t>(count)); !rest.empty();) {
    const auto part = rest.first(std::min(rest.size(), kPacketBytes));
    rest = rest.subspan(part.size());
    const LinkModel::Times times = model_.Send(now, part.size());
    departures_.push_back({times.sent, part.size()});
    queued_bytes_ += part.size();
    packets_.push_back({flow, {part.begin(), part.end()}, times.delivered});
  }
}

// Until a packet is due, a source has bytes that fit, a blocked sink takes some, or there are orders.
void LinkDirection::Wait() {
  const TimePoint now = Clock::Real().Now();
  const bool room = Room(now) > 0;
  polled_.assign(1, {wake_.get(), POLLIN, 0});
  for (const auto& flow : flows_) {
    // A descriptor of -1 is skipped.
    polled_.push_back({room && WantsToRead(*flow) ? flow->source : -1, POLLIN, 0});
    polled_.push_back({flow->sink_blocked ? flow->sink : -1, POLLOUT, 0});
  }
  TimePoint until = now + kLongWait;
  if (!packets_.empty()) until = std::min(until, packets_.front().delivered);
  if (!room && !departures_.empty()) until = std::min(until, departures_.front().sent);
  const Nanoseconds left = std::max(until - now, Nanoseconds{0});
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
  const timespec timeout{seconds.count(), (left - seconds).count()};
  if (ppoll(polled_.data(), polled_.size(), &timeout, nullptr) <= 0) return;
  if (polled_[0].revents != 0) Silence(wake_.get());
  for (size_t i = 0; i < flows_.size(); ++i) {
    Flow& flow = *flows_[i];
    flow.ready = polled_[1 + 2 * i].revents;
    if (polled_[2 + 2 * i].revents != 0) {
      flow.sink_blocked = false;
      PushLate(flow);
    }
  }
}

}  // namespace wharf::link
