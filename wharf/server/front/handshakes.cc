#include "wharf/server/front/handshakes.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <map>

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

struct Handshake::Entry {
  std::string address;
  HandshakeKind kind = HandshakeKind::kNew;
  std::function<void()> evict;
  bool evicted = false;
};

struct Handshake::Table {
  explicit Table(const HandshakeLimits& most) : limits(most) {}
  using Entries = std::list<std::shared_ptr<Entry>>;

  size_t Count(HandshakeKind kind) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    return static_cast<size_t>(std::ranges::count_if(under_way, [&](const auto& one) { return one->kind == kind; }));
  }
  std::map<std::string, size_t> CountByAddress(HandshakeKind kind) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    std::map<std::string, size_t> counts;
    for (const auto& one : under_way) {
      if (one->kind == kind) ++counts[one->address];
    }
    return counts;
  }
  void EvictOldestOf(const std::string& address, HandshakeKind kind) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    const auto oldest =
        std::ranges::find_if(under_way, [&](const auto& one) { return one->kind == kind && one->address == address; });
    const std::shared_ptr<Entry> evicted = *oldest;
    under_way.erase(oldest);
    evicted->evicted = true;
    // Under the lock: whoever has ended its handshake is not evicted any more.
    if (const auto evict = std::exchange(evicted->evict, nullptr)) evict();
  }

  const HandshakeLimits limits;
  mutable absl::Mutex mutex;
  Entries under_way ABSL_GUARDED_BY(mutex);  // oldest first; so few that they are counted when it matters
};

Handshake& Handshake::operator=(Handshake&& other) noexcept {
  if (this != &other) {
    End();
    table_ = std::move(other.table_);
    entry_ = std::move(other.entry_);
  }
  return *this;
}

void Handshake::OnEviction(std::function<void()> evict) {
  if (entry_ == nullptr) return;
  absl::MutexLock lock(&table_->mutex);
  if (entry_->evicted) return evict();
  entry_->evict = std::move(evict);
}

bool Handshake::Evicted() const {
  if (entry_ == nullptr) return false;
  absl::MutexLock lock(&table_->mutex);
  return entry_->evicted;
}

HandshakeKind Handshake::Kind() const { return entry_ == nullptr ? HandshakeKind::kNew : entry_->kind; }

void Handshake::End() {
  if (entry_ == nullptr) return;
  std::function<void()> evict;  // goes outside the lock, with what it holds
  {
    absl::MutexLock lock(&table_->mutex);
    std::erase(table_->under_way, entry_);
    evict = std::exchange(entry_->evict, nullptr);
  }
  entry_.reset();
  table_.reset();
}

Handshakes::Handshakes(const HandshakeLimits& limits) : table_(std::make_shared<Handshake::Table>(limits)) {}

Handshake Handshakes::Begin(const std::string& address, HandshakeKind kind) {
  const HandshakeLimits& limits = table_->limits;
  absl::MutexLock lock(&table_->mutex);
  if (!address.empty() && table_->CountByAddress(kind)[address] >= limits.per_address) {
    table_->EvictOldestOf(address, kind);
  }
  if (table_->Count(kind) >= (kind == HandshakeKind::kNew ? limits.new_ones : limits.resumes)) {
    const auto counts = table_->CountByAddress(kind);
    const auto most = std::ranges::max_element(counts, {}, [](const auto& entry) { return entry.second; });
    table_->EvictOldestOf(most->first, kind);
  }
  auto entry = std::make_shared<Handshake::Entry>(Handshake::Entry{address, kind, nullptr, false});
  table_->under_way.push_back(entry);
  return Handshake(table_, std::move(entry));
}

size_t Handshakes::UnderWay() const {
  absl::MutexLock lock(&table_->mutex);
  return table_->under_way.size();
}

std::string MachineOf(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET) return V4Text(reinterpret_cast<const sockaddr_in&>(address).sin_addr);
  if (address.ss_family == AF_INET6) return V6Text(reinterpret_cast<const sockaddr_in6&>(address).sin6_addr);
  return "";
}

}  // namespace wharf::server
