#include "wharf/offload/lane_pool.h"

namespace wharf::offload {

// A thread's number, given back when the thread ends or turns to another pool.
class LanePool::Holder {
 public:
  ~Holder() { Release(); }
  uint64_t In(const std::shared_ptr<LanePool>& pool) {
    if (pool_ != pool) {
      Release();
      pool_ = pool;
      lane_ = pool->Take();
    }
    return lane_;
  }

 private:
  void Release() {
    if (pool_ != nullptr) pool_->GiveBack(lane_);
  }
  std::shared_ptr<LanePool> pool_;
  uint64_t lane_ = 0;
};

uint64_t LanePool::Mine(const std::shared_ptr<LanePool>& pool) {
  thread_local Holder holder;
  return holder.In(pool);
}

uint64_t LanePool::Take() {
  absl::MutexLock lock(&mutex_);
  if (free_.empty()) return next_++;
  const uint64_t lane = free_.back();
  free_.pop_back();
  return lane;
}

void LanePool::GiveBack(uint64_t lane) {
  absl::MutexLock lock(&mutex_);
  free_.push_back(lane);
}

}  // namespace wharf::offload
