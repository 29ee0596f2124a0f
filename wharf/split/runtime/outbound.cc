#include "wharf/split/runtime/outbound.h"

#include <utility>
#include <vector>

#include "wharf/split/codec/row_codec.h"
#include "wharf/split/messages/messages.h"

namespace wharf::split {

class Outbound::Opened final : public Outbox {
 public:
  Opened(Outbound& outbound, uint64_t inference, std::shared_ptr<Recorder> recorder)
      : outbound_(outbound), inference_(inference), recorder_(std::move(recorder)) {}

  void Send(const RowsMessage& message, exec::Part part) override {
    outbound_.Push([&channel = outbound_.channel_, resource = outbound_.resource_, &slow_down = outbound_.slow_down_,
                    inference = inference_, recorder = recorder_, message, part = std::move(part)] {
      const graph::TensorType type = part.tensor->Type();
      const std::vector<std::byte> bytes = slow_down.Around([&] {
        std::vector<std::byte> plain(type.Bytes());
        part.tensor->Read(plain);
        return EncodeRows(type, message.codec, std::move(plain));
      });
      recorder->AddCoded(message.rows.value, type.Bytes(), static_cast<int64_t>(bytes.size()));
      const TimePoint start = recorder->Now();
      const exec::Rows& rows = message.rows;
      const RowsHead head{rows.value, rows.range.lo, rows.range.hi};
      // A channel that fails says so to its handler; nobody else needs to know.
      SendMessage(channel, FrameKind::kRows, head, inference, bytes, link::BulkOwnership::kBorrow).IgnoreError();
      recorder->Add(resource, message.op, rows.range, start, recorder->Now(), static_cast<double>(bytes.size()));
    });
  }

 private:
  Outbound& outbound_;
  const uint64_t inference_;
  const std::shared_ptr<Recorder> recorder_;
};

Outbound::Outbound(link::Channel& channel, Resource resource, const SlowDown& slow_down)
    : channel_(channel), resource_(resource), slow_down_(slow_down), thread_([this] { ThreadMain(); }) {}

Outbound::~Outbound() {
  {
    absl::MutexLock lock(&mutex_);
    ending_ = true;
  }
  thread_.join();
}

std::unique_ptr<Outbox> Outbound::Open(uint64_t inference, std::shared_ptr<Recorder> recorder) {
  return std::make_unique<Opened>(*this, inference, std::move(recorder));
}

void Outbound::Push(std::function<void()> task) {
  absl::MutexLock lock(&mutex_);
  tasks_.push_back(std::move(task));
}

void Outbound::Drain() {
  absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(this, &Outbound::NothingLeft));
}

bool Outbound::DrainWithin(absl::Duration limit) {
  absl::MutexLock lock(&mutex_);
  return mutex_.AwaitWithTimeout(absl::Condition(this, &Outbound::NothingLeft), limit);
}

void Outbound::ThreadMain() {
  const auto work = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return ending_ || !tasks_.empty(); };
  for (;;) {
    std::function<void()> task;
    {
      absl::MutexLock lock(&mutex_);
      sending_ = false;
      mutex_.Await(absl::Condition(&work));
      if (ending_) return;
      task = std::move(tasks_.front());
      tasks_.pop_front();
      sending_ = true;
    }
    task();
  }
}

}  // namespace wharf::split
