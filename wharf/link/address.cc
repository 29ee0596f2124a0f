#include "wharf/link/address.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/un.h>

#include <charconv>
#include <cstring>

#include "wharf/link/byte_stream.h"

namespace wharf::link {
namespace {

constexpr std::string_view kUnixPrefix = "unix:";

bool IsPort(const std::string& text) {
  unsigned port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc() && end == text.data() + text.size() && port <= 65535;
}

absl::Status Malformed(const std::string& address) {
  return InvalidArgument("\"{}\" is not an address: write HOST:PORT, [V6]:PORT or unix:PATH", address);
}

absl::StatusOr<SocketAddress> UnixAddress(const std::string& path) {
  SocketAddress result;
  auto* un = reinterpret_cast<sockaddr_un*>(&result.storage);
  if (path.size() >= sizeof(un->sun_path)) {
    return InvalidArgument("socket path {} is longer than {} bytes", path, sizeof(un->sun_path) - 1);
  }
  un->sun_family = AF_UNIX;
  std::memcpy(un->sun_path, path.c_str(), path.size() + 1);
  result.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size() + 1);
  return result;
}

bool IsNumber(const std::string& host) {
  unsigned char binary[16];
  return inet_pton(AF_INET, host.c_str(), binary) == 1 || inet_pton(AF_INET6, host.c_str(), binary) == 1;
}

}  // namespace

absl::Status CheckNumber(const std::string& address) {
  WHARF_ASSIGN_OR_RETURN(const ParsedAddress parsed, ParseAddress(address));
  if (!parsed.is_unix && IsNumber(parsed.host)) return absl::OkStatus();
  return InvalidArgument(
      "{} is no number and port, as 192.0.2.1:7090 or [2001:db8::1]:7090 are: servers that are shut in look up no name "
      "and open no file",
      address);
}

absl::StatusOr<ParsedAddress> ParseAddress(const std::string& address) {
  if (address.rfind(kUnixPrefix, 0) == 0) {
    const std::string path = address.substr(kUnixPrefix.size());
    if (path.empty() || path.find('\0') != std::string::npos) return Malformed(address);
    return ParsedAddress{true, path, ""};
  }
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos) return Malformed(address);
  ParsedAddress result{false, address.substr(0, colon), address.substr(colon + 1)};
  if (!IsPort(result.port)) return Malformed(address);
  if (result.host.size() >= 2 && result.host.front() == '[' && result.host.back() == ']') {
    result.host = result.host.substr(1, result.host.size() - 2);
  } else if (result.host.find(':') != std::string::npos) {
    return Malformed(address);  // a bare IPv6 address: where its port begins is anyone's guess
  }
  if (result.host.empty() || result.host.find('\0') != std::string::npos) return Malformed(address);
  return result;
}

absl::StatusOr<std::vector<SocketAddress>> Resolve(const ParsedAddress& address, bool passive) {
  if (address.is_unix) {
    WHARF_ASSIGN_OR_RETURN(const SocketAddress result, UnixAddress(address.host));
    return std::vector<SocketAddress>{result};
  }
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | (passive ? AI_PASSIVE : 0) | (IsNumber(address.host) ? AI_NUMERICHOST : 0);
  addrinfo* found = nullptr;
  const int error = getaddrinfo(address.host.c_str(), address.port.c_str(), &hints, &found);
  if (error != 0) return Unavailable("cannot find host {}: {}", address.host, gai_strerror(error));
  std::vector<SocketAddress> result;
  for (const addrinfo* entry = found; entry != nullptr; entry = entry->ai_next) {
    if (entry->ai_addrlen > sizeof(sockaddr_storage)) continue;
    SocketAddress& socket_address = result.emplace_back();
    std::memcpy(&socket_address.storage, entry->ai_addr, entry->ai_addrlen);
    socket_address.length = entry->ai_addrlen;
  }
  freeaddrinfo(found);
  if (result.empty()) return Unavailable("host {} has no address", address.host);
  return result;
}

std::string FormatAddress(const SocketAddress& address) {
  char text[INET6_ADDRSTRLEN] = "";
  if (address.family() == AF_INET) {
    const auto* in = reinterpret_cast<const sockaddr_in*>(&address.storage);
    inet_ntop(AF_INET, &in->sin_addr, text, sizeof(text));
    return fmt::format("{}:{}", text, ntohs(in->sin_port));
  }
  if (address.family() == AF_INET6) {
    const auto* in6 = reinterpret_cast<const sockaddr_in6*>(&address.storage);
    inet_ntop(AF_INET6, &in6->sin6_addr, text, sizeof(text));
    return fmt::format("[{}]:{}", text, ntohs(in6->sin6_port));
  }
  const auto* un = reinterpret_cast<const sockaddr_un*>(&address.storage);
  const size_t header = offsetof(sockaddr_un, sun_path);
  if (address.length <= header || un->sun_path[0] == '\0') return "unix";
  return fmt::format("unix:{}", std::string(un->sun_path, strnlen(un->sun_path, address.length - header)));
}

bool IsLoopback(const SocketAddress& address) {
  if (address.family() == AF_UNIX) return true;
  if (address.family() == AF_INET) {
    const auto* in = reinterpret_cast<const sockaddr_in*>(&address.storage);
    return (ntohl(in->sin_addr.s_addr) >> 24) == 127;
  }
  if (address.family() == AF_INET6) {
    const in6_addr& in6 = reinterpret_cast<const sockaddr_in6*>(&address.storage)->sin6_addr;
    return IN6_IS_ADDR_LOOPBACK(&in6) || (IN6_IS_ADDR_V4MAPPED(&in6) && in6.s6_addr[12] == 127);
  }
  return false;
}

}  // namespace wharf::link
