// Which copies to the host are under way, so that whoever waits for the device waits until their data are delivered. A
// copy is delivered when both sides have answered, and nothing says that a side answers in the order it was asked.
//
//   auto delivery = deliveries->Begin();   // kept by the copy; it ends with the last pointer to it
//   ...
//   deliveries->WhenDelivered(deliveries->Begun(), then);
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"

namespace wharf::offload {

// Thread-safe.
class Deliveries : public std::enable_shared_from_this<Deliveries> {
 public:
  class Delivery {
   public:
    Delivery(std::shared_ptr<Deliveries> all, uint64_t number) : all_(std::move(all)), number_(number) {}
    Delivery(const Delivery&) = delete;
    Delivery& operator=(const Delivery&) = delete;
    ~Delivery() { all_->End(number_); }

   private:
    const std::shared_ptr<Deliveries> all_;
    const uint64_t number_;
  };

  std::shared_ptr<Delivery> Begin() {
    absl::MutexLock lock(&mutex_);
    under_way_.insert(++begun_);
    return std::make_shared<Delivery>(shared_from_this(), begun_);
  }
  // How many have begun so far: names them.
  uint64_t Begun() const {
    absl::MutexLock lock(&mutex_);
    return begun_;
  }
  // Calls `then` when the first `begun` have ended: at once, or on the thread that ends the last of them.
  void WhenDelivered(uint64_t begun, std::function<void()> then) {
    {
      absl::MutexLock lock(&mutex_);
      if (!AllEnded(begun)) {
        waiting_.emplace_back(begun, std::move(then));
        return;
      }
    }
    then();
  }

 private:
  bool AllEnded(uint64_t begun) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return under_way_.empty() || *under_way_.begin() > begun;
  }
  void End(uint64_t number) {
    std::vector<std::function<void()>> due;
    {
      absl::MutexLock lock(&mutex_);
      under_way_.erase(number);
      std::erase_if(waiting_, [&](auto& each) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
        if (!AllEnded(each.first)) return false;
        due.push_back(std::move(each.second));
        return true;
      });
    }
    for (const auto& then : due) then();
  }

  mutable absl::Mutex mutex_;
  uint64_t begun_ ABSL_GUARDED_BY(mutex_) = 0;
  std::set<uint64_t> under_way_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::pair<uint64_t, std::function<void()>>> waiting_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace wharf::offload
