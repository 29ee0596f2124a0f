#include "wharf/link/byte_stream.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>

#include "wharf/link/socket.h"

namespace wharf::link {
namespace {

class SocketStream final : public ByteStream {
 public:
  explicit SocketStream(int fd) : fd_(fd), peer_(PeerAddress(fd)) { SetStreamOptions(fd); }

  absl::StatusOr<size_t> Read(std::span<std::byte> into) override {
    while (true) {
      const ssize_t count = recv(fd_.get(), into.data(), into.size(), 0);
      if (count >= 0) return static_cast<size_t>(count);
      if (errno == EINTR) continue;
      if (errno != EAGAIN && errno != EWOULDBLOCK) return ConnectionError(errno);
      WaitFor(fd_.get(), POLLIN);  // somebody made the socket non-blocking
    }
  }

  absl::Status Write(std::span<const std::span<const std::byte>> pieces) override {
    return SendAll(pieces, /*wait=*/true).status();
  }

  absl::StatusOr<size_t> TryWrite(std::span<const std::span<const std::byte>> pieces) override {
    return SendAll(pieces, /*wait=*/false);
  }

  void FinishWriting() override { shutdown(fd_.get(), SHUT_WR); }
  void Shutdown() override { shutdown(fd_.get(), SHUT_RDWR); }
  std::string Peer() const override { return peer_.family() == AF_UNIX ? "unix" : FormatAddress(peer_); }
  bool IsLocal() const override { return IsLoopback(peer_); }
  std::optional<TransportInfo> Info() const override { return SocketInfo(fd_.get()); }

 private:
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

std::unique_ptr<ByteStream> FromSocket(int fd) { return std::make_unique<SocketStream>(fd); }

}  // namespace wharf::link
