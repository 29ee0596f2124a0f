#include "wharf/link/byte_stream.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <cerrno>

#include "wharf/link/socket.h"

namespace wharf::link {
namespace {

// Whether it pays to look for data again and again before sleeping. A process on this machine may answer sooner than a
// sleeping thread wakes up. Where that failed, the next attempts are left out: one, then three, at most kMostLeftOut.
// Thread-safe.
class Spinning {
 public:
  // Calls `look` until it says that there is something; false if that took too long, or was not tried.
  template <typename Look>
  bool Try(const Look& look) {
    constexpr Nanoseconds kLongest = std::chrono::microseconds(20);
    constexpr uint32_t kMostLeftOut = 15;
    if (const uint32_t left = left_out_.load(std::memory_order_relaxed); left > 0) {
      left_out_.store(left - 1, std::memory_order_relaxed);
      return false;
    }
    const TimePoint end = Clock::Real().Now() + kLongest;
    do {
      if (look()) {
        to_leave_out_.store(0, std::memory_order_relaxed);
        return true;
      }
      sched_yield();  // who is to answer may be waiting for this processor
    } while (Clock::Real().Now() < end);
    const uint32_t next = std::min(2 * to_leave_out_.load(std::memory_order_relaxed) + 1, kMostLeftOut);
    to_leave_out_.store(next, std::memory_order_relaxed);
    left_out_.store(next, std::memory_order_relaxed);
    return false;
  }

 private:
  std::atomic<uint32_t> left_out_{0}, to_leave_out_{0};
};

std::string NameOf(const SocketAddress& peer) { return peer.family() == AF_UNIX ? "unix" : FormatAddress(peer); }

class SocketStream final : public ByteStream {
 public:
  explicit SocketStream(int fd) : fd_(fd), peer_(PeerAddress(fd)) { SetStreamOptions(fd); }

  absl::StatusOr<size_t> Read(std::span<std::byte> into) override {
    ssize_t count = -1;
    const auto look = [&] {
      count = recv(fd_.get(), into.data(), into.size(), MSG_DONTWAIT);
      return count >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
    };
    if (!MaySpin() || !spinning_.Try(look)) count = recv(fd_.get(), into.data(), into.size(), 0);
    while (count < 0) {
      if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) return ConnectionError(errno);
      if (errno != EINTR) WaitFor(fd_.get(), POLLIN);  // somebody made the socket non-blocking
      count = recv(fd_.get(), into.data(), into.size(), 0);
    }
    return static_cast<size_t>(count);
  }

  std::optional<bool> WaitReadable(std::optional<Nanoseconds> limit) override {
    if (!limit) return WaitFor(fd_.get(), POLLIN);
    const TimePoint now = Clock::Real().Now(), deadline = now + *limit;
    const auto look = [&] { return WaitFor(fd_.get(), POLLIN, &now); };
    if (*limit > Nanoseconds{0} && MaySpin() && spinning_.Try(look)) return true;
    return WaitFor(fd_.get(), POLLIN, &deadline);
  }

  absl::Status Write(std::span<const std::span<const std::byte>> pieces) override {
    return SendAll(pieces, /*wait=*/true).status();
  }

  absl::StatusOr<size_t> TryWrite(std::span<const std::span<const std::byte>> pieces) override {
    return SendAll(pieces, /*wait=*/false);
  }

  void FinishWriting() override { shutdown(fd_.get(), SHUT_WR); }
  void Shutdown() override { shutdown(fd_.get(), SHUT_RDWR); }
  std::string Peer() const override { return NameOf(peer_); }
  bool IsLocal() const override { return IsLoopback(peer_); }
  std::optional<TransportInfo> Info() const override { return SocketInfo(fd_.get()); }

 private:
  bool MaySpin() const { return peer_.family() == AF_UNIX; }
  absl::StatusOr<size_t> SendAll(std::span<const std::span<const std::byte>> pieces, bool wait) {
    size_t total = 0, done = 0;
    for (const auto& piece : pieces) total += piece.size();
    while (done < total) {
      WHARF_ASSIGN_OR_RETURN(const size_t sent, SendSome(fd_.get(), pieces, done, wait));
      if (sent == 0) break;
      done += sent;
    }
    return done;
  }

  const UniqueFd fd_;
  const SocketAddress peer_;
  Spinning spinning_;
};

}  // namespace

std::optional<TransportInfo> SocketInfo(int fd) {
  tcp_info info{};
  socklen_t length = sizeof(info);
  if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return std::nullopt;
  TransportInfo result;
  result.smoothed_rtt = std::chrono::microseconds(info.tcpi_rtt);
  if (info.tcpi_min_rtt != UINT32_MAX) result.minimum_rtt = std::chrono::microseconds(info.tcpi_min_rtt);
  result.delivery_rate_bytes_per_s = static_cast<double>(info.tcpi_delivery_rate);
  result.retransmits = info.tcpi_total_retrans;
  return result;
}

std::string PeerOf(int fd) { return NameOf(PeerAddress(fd)); }

std::unique_ptr<ByteStream> FromSocket(int fd) { return std::make_unique<SocketStream>(fd); }

}  // namespace wharf::link
