// Addresses of byte streams: "HOST:PORT", "[V6]:PORT", "unix:PATH".
#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <string>
#include <vector>

#include "wharf/base/status.h"

namespace wharf::link {

struct ParsedAddress {
  bool is_unix = false;
  std::string host;  // without brackets; for Unix sockets the path
  std::string port;
};

// kInvalidArgument with what an address looks like.
absl::StatusOr<ParsedAddress> ParseAddress(const std::string& address);

// What the socket calls take.
struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
  int family() const { return storage.ss_family; }
};

// At least one address. `passive`: to listen on. kUnavailable if the name is not known, kInvalidArgument for a path
// that is too long. Numbers are not looked up: no file is opened for them.
absl::StatusOr<std::vector<SocketAddress>> Resolve(const ParsedAddress& address, bool passive);

// "192.0.2.1:7070", "[::1]:7070", "unix:/path", "unix" for an unnamed one.
std::string FormatAddress(const SocketAddress& address);
bool IsLoopback(const SocketAddress& address);

}  // namespace wharf::link
