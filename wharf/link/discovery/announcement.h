// Announcement: a server that somebody on the local network says is there. Nothing of it is believed: whoever uses it
// connects to it, and has it prove who it is.
//
// avahi-browse --parsable --resolve prints one a line, of a service that was resolved:
//
//   =;eth0;IPv4;Wharf\032on\032gpu7;_wharf._tcp;local;gpu7.local;192.0.2.7;7070;"txt" "txt"
//
// Every byte that a stranger chose in what stands before the address is a letter, a digit, '-', '_', '.' or escaped.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace wharf::link {

// The services' types (RFC 6763): of `wharf serve`, of `wharf ar serve`.
inline constexpr const char* kServiceType = "_wharf._tcp";
inline constexpr const char* kArServiceType = "_wharf-ar._tcp";
// Of those that are announced, how many are looked at: who floods the network costs no more.
inline constexpr size_t kMostAnnouncements = 32;

struct Announcement {
  std::string name;     // printable ASCII; other bytes are written \ddd
  std::string address;  // HOST:PORT, HOST a number: "192.0.2.7:7070", "[fe80::1%eth0]:7070"
  friend bool operator==(const Announcement&, const Announcement&) = default;
};

// Nothing: the line announces no server of this type that can be meant. Addresses of the device itself count where the
// device heard them from itself, on "lo": an announcer elsewhere has no business in naming a service of this machine.
std::optional<Announcement> ParseAnnouncement(std::string_view line, std::string_view type);

// Of every line, each address once; the first kMostAnnouncements.
std::vector<Announcement> ParseAnnouncements(std::string_view lines, std::string_view type);

}  // namespace wharf::link
