#include "wharf/offload/client/thread_numbers.h"

namespace wharf::offload {

// A thread's number, given back when the thread ends or turns to another numbers.
class ThreadNumbers::Holder {
 public:
  ~Holder() { Release(); }
  uint64_t In(const std::shared_ptr<ThreadNumbers>& numbers) {
    if (numbers_ != numbers) {
      Release();
      numbers_ = numbers;
      number_ = numbers->Take();
    }
    return number_;
  }

 private:
  void Release() {
    if (numbers_ != nullptr) numbers_->GiveBack(number_);
  }
  std::shared_ptr<ThreadNumbers> numbers_;
  uint64_t number_ = 0;
};

uint64_t ThreadNumbers::Mine(const std::shared_ptr<ThreadNumbers>& numbers) {
  thread_local Holder holder;
  return holder.In(numbers);
}

uint64_t ThreadNumbers::Take() {
  absl::MutexLock lock(&mutex_);
  if (free_.empty()) return next_++;
  const uint64_t number = free_.back();
  free_.pop_back();
  return number;
}

void ThreadNumbers::GiveBack(uint64_t number) {
  absl::MutexLock lock(&mutex_);
  free_.push_back(number);
}

}  // namespace wharf::offload
