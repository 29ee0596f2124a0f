#include "wharf/link/discovery/announcement.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace wharf::link {
namespace {

constexpr size_t kMostName = 63 * 4;  // of a DNS label, each byte escaped

bool IsPrintable(char c) { return c >= ' ' && c <= '~'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Avahi's escapes: \ddd in decimals, or a backslash before the byte itself. Nothing: there are other bytes.
std::optional<std::string> Unescape(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    if (!IsPrintable(text[i])) return std::nullopt;
    if (text[i] != '\\') {
      plain += text[i];
      continue;
    }
    if (i + 3 < text.size() && std::all_of(text.begin() + static_cast<ptrdiff_t>(i) + 1,
                                           text.begin() + static_cast<ptrdiff_t>(i) + 4, IsDigit)) {
      const int byte = (text[i + 1] - '0') * 100 + (text[i + 2] - '0') * 10 + (text[i + 3] - '0');
      if (byte > 255) return std::nullopt;
      const char c = static_cast<char>(byte);
      plain += IsPrintable(c) && c != '\\' ? std::string(1, c) : std::string(text.substr(i, 4));
      i += 3;
    } else {
      if (++i == text.size() || !IsPrintable(text[i])) return std::nullopt;
      plain += text[i] == '\\' ? std::string("\\092") : std::string(1, text[i]);
    }
  }
  return plain;
}

// "lo", "wlan0": what the kernel lets an interface be called, of the bytes that an address may hold.
bool IsInterface(std::string_view name) {
  return !name.empty() && name.size() < IF_NAMESIZE && std::all_of(name.begin(), name.end(), [](char c) {
    return IsPrintable(c) && c != ' ' && c != '%' && c != ']' && c != '[' && c != '/' && c != '\\' && c != ',';
  });
}

// The host as addresses have it; "" if it is no machine's on that interface.
std::string HostOn(std::string_view interface, const std::string& number) {
  if (number.find_first_not_of("0123456789abcdefABCDEF.:") != std::string::npos) return "";
  in_addr v4{};
  in6_addr v6{};
  const bool own = interface == "lo";
  if (inet_pton(AF_INET, number.c_str(), &v4) == 1) {
    const uint32_t host = ntohl(v4.s_addr), first = host >> 24;
    const bool meant = first != 0 && first < 224 && (own || first != 127);
    return meant ? number : "";
  }
  if (inet_pton(AF_INET6, number.c_str(), &v6) != 1) return "";
  if (IN6_IS_ADDR_UNSPECIFIED(&v6) || IN6_IS_ADDR_MULTICAST(&v6) || IN6_IS_ADDR_V4MAPPED(&v6)) return "";
  if (IN6_IS_ADDR_V4COMPAT(&v6) && !IN6_IS_ADDR_LOOPBACK(&v6)) return "";
  if (IN6_IS_ADDR_LOOPBACK(&v6) && !own) return "";
  return IN6_IS_ADDR_LINKLOCAL(&v6) ? "[" + number + "%" + std::string(interface) + "]" : "[" + number + "]";
}

}  // namespace

std::optional<Announcement> ParseAnnouncement(std::string_view line, std::string_view wanted) {
  std::array<std::string_view, 9> fields;
  for (std::string_view& field : fields) {  // what comes behind them may hold anything
    const size_t end = line.find(';');
    if (end == std::string_view::npos) return std::nullopt;
    field = line.substr(0, end);
    line.remove_prefix(end + 1);
  }
  const auto& [event, interface, protocol, name, type, domain, machine, number, port] = fields;
  if (event != "=" || type != wanted || !IsInterface(interface)) return std::nullopt;
  if (name.empty() || name.size() > kMostName || number.size() >= INET6_ADDRSTRLEN) return std::nullopt;
  const std::optional<std::string> plain = Unescape(name);
  if (!plain) return std::nullopt;
  uint16_t value = 0;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), value);
  if (error != std::errc() || end != port.data() + port.size() || value == 0) return std::nullopt;
  const std::string host = HostOn(interface, std::string(number));
  if (host.empty()) return std::nullopt;
  return Announcement{*plain, host + ":" + std::to_string(value)};
}

std::vector<Announcement> ParseAnnouncements(std::string_view lines, std::string_view type) {
  std::vector<Announcement> found;
  while (!lines.empty() && found.size() < kMostAnnouncements) {
    const size_t end = std::min(lines.find('\n'), lines.size());
    std::optional<Announcement> one = ParseAnnouncement(lines.substr(0, end), type);
    lines.remove_prefix(std::min(end + 1, lines.size()));
    const auto same = [&](const Announcement& other) { return other.address == one->address; };
    if (one && std::none_of(found.begin(), found.end(), same)) found.push_back(*std::move(one));
  }
  return found;
}

}  // namespace wharf::link
