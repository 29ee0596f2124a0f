#include "wharf/server/front/handshakes.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstring>

#include "absl/time/time.h"

namespace wharf::server {
namespace {

std::string V4Text(const in_addr& address) {
  if ((ntohl(address.s_addr) >> 24) == IN_LOOPBACKNET) return "";
  char text[INET_ADDRSTRLEN] = {};
  inet_ntop(AF_INET, &address, text, sizeof(text));
  return text;
}

std::string V6Text(in6_addr address) {
  if (IN6_IS_ADDR_LOOPBACK(&address)) return "";
  if (IN6_IS_ADDR_V4MAPPED(&address)) {
    in_addr v4;
    std::memcpy(&v4, &address.s6_addr[12], sizeof(v4));
    return V4Text(v4);
  }
  std::memset(&address.s6_addr[8], 0, 8);
  char text[INET6_ADDRSTRLEN] = {};
  inet_ntop(AF_INET6, &address, text, sizeof(text));
  return std::string(text) + "/64";
}

}  // namespace

bool Handshakes::AwaitRoom() {
  absl::MutexLock lock(&table_->mutex, absl::Condition(table_.get(), &Table::MayGoOn));
  return !table_->stopped;
}

std::optional<Handshake> Handshakes::Begin(const std::string& address) {
  absl::MutexLock lock(&table_->mutex);
  if (!address.empty()) {
    int& count = table_->of_address[address];
    if (count >= table_->limits.per_address) return std::nullopt;
    ++count;
  }
  ++table_->in_all;
  return Handshake([table = table_, address] { End(*table, address); });
}

void Handshakes::End(Table& table, const std::string& address) {
  absl::MutexLock lock(&table.mutex);
  --table.in_all;
  const auto found = table.of_address.find(address);
  if (found != table.of_address.end() && --found->second == 0) table.of_address.erase(found);
}

void Handshakes::Pause(Nanoseconds time) {
  absl::MutexLock lock(&table_->mutex);
  table_->mutex.AwaitWithTimeout(absl::Condition(&table_->stopped), absl::FromChrono(time));
}

void Handshakes::Stop() {
  absl::MutexLock lock(&table_->mutex);
  table_->stopped = true;
}

int Handshakes::UnderWay() const {
  absl::MutexLock lock(&table_->mutex);
  return table_->in_all;
}

std::string MachineOf(int socket) {
  sockaddr_storage peer{};
  socklen_t length = sizeof(peer);
  if (getpeername(socket, reinterpret_cast<sockaddr*>(&peer), &length) != 0) return "";
  if (peer.ss_family == AF_INET) return V4Text(reinterpret_cast<const sockaddr_in&>(peer).sin_addr);
  if (peer.ss_family == AF_INET6) return V6Text(reinterpret_cast<const sockaddr_in6&>(peer).sin6_addr);
  return "";
}

}  // namespace wharf::server
