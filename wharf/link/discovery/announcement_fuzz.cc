// Arbitrary bytes as what avahi-browse prints: what comes of them is an address that is a number, and a name that a
// terminal can print.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <set>

#include "wharf/link/discovery/announcement.h"

namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

bool IsPlain(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto found =
      wharf::link::ParseAnnouncements({reinterpret_cast<const char*>(data), size}, wharf::link::kServiceType);
  Require(found.size() <= wharf::link::kMostAnnouncements);
  std::set<std::string> addresses;
  for (const wharf::link::Announcement& one : found) {
    Require(!one.name.empty() && one.name.size() <= 63 * 4 * 4 && IsPlain(one.name));
    Require(IsPlain(one.address) && one.address.find_first_of(" ,;/") == std::string::npos);
    Require(addresses.insert(one.address).second);
    const size_t colon = one.address.rfind(':');
    Require(colon != std::string::npos && colon > 0);
    const std::string host = one.address.substr(0, colon);
    Require(host.front() == '[' ? host.back() == ']' && host.find(']') == host.size() - 1
                                : host.find_first_not_of("0123456789.") == std::string::npos);
    const int port = std::atoi(one.address.c_str() + colon + 1);
    Require(port > 0 && port < 65536);
  }
  return 0;
}
