#include "wharf/pipeline/runtime/client_shares.h"

#include <algorithm>
#include <limits>

namespace wharf::pipeline {
namespace {

// Rates are counted over this time; when a model was found to be crowded they count after the shorter one.
constexpr Nanoseconds kLongTurn = std::chrono::milliseconds(500), kShortTurn = std::chrono::milliseconds(100);
// How `served_` goes down, to the least at most, and up again.
constexpr double kLeastServed = 0.4, kServedLess = 0.8, kServedMore = 0.05;
// A client's requests come at random, too: so much of its share may come at once.
constexpr double kBurstSeconds = 0.25;

double Seconds(Nanoseconds time) { return std::chrono::duration<double>(time).count(); }

}  // namespace

double MaxMinShare(std::vector<double> asked, double capacity) {
  std::ranges::sort(asked);
  for (size_t i = 0; i < asked.size(); ++i) {
    const double even = capacity / static_cast<double>(asked.size() - i);
    if (asked[i] > even) return even;
    capacity -= asked[i];
  }
  return std::numeric_limits<double>::infinity();
}

bool ClientShares::Admit(ClientId client, double planned, TimePoint now) {
  const bool newly_crowded = refused_ && share_ == 0;
  if (now - turned_ >= (newly_crowded ? kShortTurn : kLongTurn)) Turn(planned, now);
  Client& one = clients_[client];
  ++one.asked;
  return share_ == 0 || Take(one, now);
}

// Shares stay while clients ask for more than there is: that the scheduler refuses none any more is their doing.
void ClientShares::Turn(double planned, TimePoint now) {
  const double seconds = Seconds(now - turned_);
  absl::erase_if(clients_, [](const auto& entry) { return entry.second.asked == 0; });
  std::vector<double> asked;
  for (auto& [id, client] : clients_) {
    asked.push_back(static_cast<double>(client.asked) / seconds);
    client.asked = 0;
  }
  served_ = refused_ ? std::max(kLeastServed, served_ * kServedLess) : std::min(kMostServed, served_ + kServedMore);
  const bool crowded = (refused_ || share_ > 0) && asked.size() > 1;
  const double share = MaxMinShare(std::move(asked), served_ * planned);
  share_ = crowded && share < std::numeric_limits<double>::infinity() ? share : 0;
  refused_ = false;
  turned_ = now;
}

bool ClientShares::Take(Client& client, TimePoint now) const {
  const double most = std::max(1.0, share_ * kBurstSeconds);
  client.allowed =
      client.allowed < 0 ? most : std::min(most, client.allowed + share_ * Seconds(now - client.allowed_at));
  client.allowed_at = now;
  if (client.allowed < 1) return false;
  client.allowed -= 1;
  return true;
}

}  // namespace wharf::pipeline
