// ByteStream: a connected, ordered stream of bytes; and the ways to make one. Addresses are written "HOST:PORT",
// "[V6]:PORT" or "unix:PATH".
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "wharf/base/clock.h"
#include "wharf/base/status.h"

namespace wharf::link {

// What the kernel knows about a TCP connection (TCP_INFO).
struct TransportInfo {
  Nanoseconds smoothed_rtt{0}, minimum_rtt{0};
  double delivery_rate_bytes_per_s = 0;  // 0: unknown
  uint64_t retransmits = 0;
};

// One thread may read while another writes; Shutdown may come from any thread.
class ByteStream {
 public:
  virtual ~ByteStream() = default;
  // Blocks for at least one byte; 0 = the peer closed in order.
  virtual absl::StatusOr<size_t> Read(std::span<std::byte> into) = 0;
  // Waits until there is something to read, or the end, at most `limit` long (nothing: for ever); false if that passed
  // first. Nothing at once if the stream cannot tell. Also while another thread reads.
  virtual std::optional<bool> WaitReadable(std::optional<Nanoseconds> /*limit*/) { return std::nullopt; }
  // Writes all pieces, in order (gathered into as few system calls as possible).
  virtual absl::Status Write(std::span<const std::span<const std::byte>> pieces) = 0;
  // Writes what goes without waiting and returns how many bytes that was, possibly 0; a stream that cannot tell takes
  // none. The bytes not taken must be the first ones of the next Write or TryWrite.
  virtual absl::StatusOr<size_t> TryWrite(std::span<const std::span<const std::byte>>) { return 0; }
  // Ends our direction only: the peer reads what was written before and then 0. Nothing may be written afterwards.
  virtual void FinishWriting() {}
  // Ends both directions; blocked calls return. Idempotent.
  virtual void Shutdown() = 0;
  // "192.0.2.1:7070", "unix", "memory": for logs.
  virtual std::string Peer() const = 0;
  // True for loopback, Unix sockets and memory.
  virtual bool IsLocal() const = 0;
  virtual std::optional<TransportInfo> Info() const { return std::nullopt; }
  // True while the connection underneath is gone and a new one is awaited (resumable_stream.h): silence then means
  // nothing yet.
  virtual bool Resuming() const { return false; }
  // What only the two ends of this encrypted connection know (RFC 9266, tls-exporter): whoever proves something over it
  // can prove it for this connection alone. "": it is not encrypted.
  virtual std::string ChannelBinding() const { return {}; }
  // The organizational units (OU) of the certificate that the peer has shown and that was verified, in their order.
  virtual std::vector<std::string> PeerUnits() const { return {}; }
  // The server has let its client in: limits for strangers do not hold any more.
  virtual void SetAdmitted() {}
};

struct TlsClientOptions {
  std::string ca_file;                     // "" = the system's
  std::string certificate_file, key_file;  // for mutual TLS
  std::string server_name;                 // "" = host of the address
  // Not empty: the server's certificate is the one with this fingerprint, "sha256:" and 64 hexadecimal digits, whoever
  // has signed it and whatever names it is for.
  std::string fingerprint;
};
struct TlsServerOptions {
  std::string certificate_file, key_file;
  std::string client_ca_file;  // not empty: the client must present a certificate signed by this CA
};

// Client side of TLS. Its files, the system's certificates included, are read when it is made and never again.
// Immutable.
class TlsClient {
 public:
  // kInvalidArgument says which file is of no use.
  static absl::StatusOr<std::shared_ptr<const TlsClient>> Create(const TlsClientOptions& options);
  virtual ~TlsClient() = default;
};

struct ConnectOptions {
  Nanoseconds timeout = std::chrono::seconds(5);  // for connecting and TLS; looking up a name takes what it takes
  std::optional<TlsClientOptions> tls;
  std::shared_ptr<const TlsClient> tls_client;  // if not null, instead of `tls`: for many connections
  bool by_number = false;                       // only to addresses that CheckNumber takes: no file is opened for them
};

// kUnavailable "no server answers at HOST:PORT …", kDeadlineExceeded, kInvalidArgument (address), kUnauthenticated
// (TLS).
absl::StatusOr<std::unique_ptr<ByteStream>> Connect(const std::string& address, const ConnectOptions& options = {});

// kInvalidArgument, with what to write instead, unless the address is a number and a port: "192.0.2.1:7090" or
// "[2001:db8::1]:7090". A process that may open no file looks up no name, and reaches no Unix socket.
absl::Status CheckNumber(const std::string& address);

// Whether a failure of Connect says that nobody listens at the address, which trying again at once does not change.
bool IsRefused(const absl::Status& failure);

// Who is at the other end of a connected socket, as ByteStream::Peer.
std::string PeerOf(int fd);
// Wraps a connected, blocking stream socket; owns `fd`.
std::unique_ptr<ByteStream> FromSocket(int fd);
// Server side of TLS on connected sockets. Its files are read when it is made and never again. Thread-safe.
class TlsServer {
 public:
  // kInvalidArgument says which file is of no use.
  static absl::StatusOr<std::unique_ptr<TlsServer>> Create(const TlsServerOptions& options);
  virtual ~TlsServer() = default;
  // Owns `fd`; does the handshake, at most `timeout` long.
  virtual absl::StatusOr<std::unique_ptr<ByteStream>> Accept(int fd, Nanoseconds timeout) const = 0;
};

// Thread-safe.
class Listener {
 public:
  // Port 0 picks a free one. kAlreadyExists "port N is in use …".
  static absl::StatusOr<std::unique_ptr<Listener>> Create(const std::string& address);
  virtual ~Listener() = default;
  virtual std::string Address() const = 0;  // with the real port
  // A connected socket, to be owned by the caller. kAborted after Shutdown.
  virtual absl::StatusOr<int> Accept() = 0;
  virtual void Shutdown() = 0;
};

}  // namespace wharf::link
