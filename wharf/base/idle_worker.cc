#include "wharf/base/idle_worker.h"

#include <sys/resource.h>

#include <utility>

namespace wharf {
namespace {

constexpr int kNiceness = 10;

}  // namespace

IdleWorker::~IdleWorker() {
  std::thread thread;
  {
    absl::MutexLock lock(&mutex_);
    ending_ = true;
    tasks_.clear();
    thread = std::move(thread_);
  }
  if (thread.joinable()) thread.join();
}

void IdleWorker::Push(std::function<void()> task) {
  absl::MutexLock lock(&mutex_);
  tasks_.push_back(std::move(task));
  if (!thread_.joinable()) thread_ = std::thread([this] { ThreadMain(); });
}

void IdleWorker::ThreadMain() {
  // 0: of this thread alone, on Linux. Where it is not permitted the work is done at the usual priority.
  setpriority(PRIO_PROCESS, 0, kNiceness);
  const auto has_work = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return ending_ || !tasks_.empty(); };
  while (true) {
    std::function<void()> task;
    {
      absl::MutexLock lock(&mutex_);
      mutex_.Await(absl::Condition(&has_work));
      if (ending_) return;
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    task();
  }
}

}  // namespace wharf
