// A server for tests of the client: it welcomes, records what arrives and answers as the test says. No device.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "wharf/link/channel.h"
#include "wharf/link/emulation/emulator.h"
#include "wharf/offload/wire.h"
#include "wharf/offload/wire_codec.h"

namespace wharf::offload {

class ScriptedServer final : public link::FrameHandler {
 public:
  struct Seen {
    uint16_t kind = 0;
    uint64_t tag = 0;
    std::vector<std::byte> head, bulk;
  };

  explicit ScriptedServer(std::unique_ptr<link::ByteStream> stream)
      : channel_(link::Channel::Create(std::move(stream))) {
    welcome_.properties.name = "scripted";
    welcome_.properties.multiprocessors = 1;
    welcome_.arena = {uint64_t{1} << 40, uint64_t{1} << 30, 4096, true};
    welcome_.memory_quota = 1 << 20;
  }
  ~ScriptedServer() override {
    Hold(false);
    channel_->Close();
  }

  void Start() { channel_->Start(this); }
  // The next replies' headers, in order; default ones after that.
  void Answer(ReplyHeader header) {
    absl::MutexLock lock(&mutex_);
    answers_.push_back(std::move(header));
  }
  // From now on nothing is answered, pings neither if `dead`.
  void Silence(bool dead) {
    absl::MutexLock lock(&mutex_);
    silent_ = true;
    dead_ = dead;
  }
  void Refuse(Refusal refusal) {
    absl::MutexLock lock(&mutex_);
    refusal_ = std::move(refusal);
  }
  // While held, an operation that arrived keeps the reader, so nothing more is read.
  void Hold(bool held) {
    absl::MutexLock lock(&mutex_);
    hold_ = held;
  }
  void WaitForPings(int count) {
    absl::MutexLock lock(&mutex_);
    const auto there = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return pings_ >= count; };
    mutex_.Await(absl::Condition(&there));
  }
  // Answers the oldest request that silence left open.
  void AnswerHeld() {
    Seen request;
    {
      absl::MutexLock lock(&mutex_);
      request = std::move(held_.front());
      held_.pop_front();
    }
    (void)Reply(request);
  }
  template <typename Message>
  void Send(FrameKind kind, const Message& message) {
    (void)channel_->Send(static_cast<uint16_t>(kind), 0, Encode(message));
  }
  // Answers the predicted operation at `position`.
  void Push(uint64_t position, const PushHeader& push, const ReplyHeader& header) {
    std::vector<std::byte> head = Encode(push);
    Encoder(head).Put(header);
    (void)channel_->Send(static_cast<uint16_t>(FrameKind::kPush), position, head);
  }
  // Operations that arrived (control frames are left out).
  std::vector<Seen> Operations() {
    absl::MutexLock lock(&mutex_);
    return operations_;
  }
  void WaitForOperations(size_t count) {
    absl::MutexLock lock(&mutex_);
    const auto there = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return operations_.size() >= count; };
    mutex_.Await(absl::Condition(&there));
  }
  link::Channel& channel() { return *channel_; }
  Welcome& welcome() { return welcome_; }

  absl::StatusOr<std::span<std::byte>> BulkDestination(const link::FrameHeader&, std::span<const std::byte>) override {
    return std::span<std::byte>();
  }
  absl::Status OnFrame(const link::FrameHeader& header, std::span<const std::byte> head,
                       std::vector<std::byte> bulk) override {
    Seen seen{header.kind, header.tag, {head.begin(), head.end()}, std::move(bulk)};
    if (header.kind < static_cast<uint16_t>(FrameKind::kFirstOp)) return OnControl(seen);
    absl::MutexLock lock(&mutex_);
    operations_.push_back(seen);
    const auto released = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return !hold_; };
    mutex_.Await(absl::Condition(&released));
    if (header.kind < CopyToHost::kNumber) return absl::OkStatus();
    if (silent_) {
      held_.push_back(std::move(seen));
      return absl::OkStatus();
    }
    return Reply(seen);
  }
  void OnClosed(const absl::Status&) override {}

 private:
  absl::Status OnControl(const Seen& seen) {
    absl::MutexLock lock(&mutex_);
    if (seen.kind == static_cast<uint16_t>(FrameKind::kHello)) {
      if (dead_) return absl::OkStatus();
      if (refusal_) return channel_->Send(static_cast<uint16_t>(FrameKind::kRefusal), 0, Encode(*refusal_));
      return channel_->Send(static_cast<uint16_t>(FrameKind::kWelcome), 0, Encode(welcome_));
    }
    if (seen.kind == static_cast<uint16_t>(FrameKind::kPing)) ++pings_;
    if (seen.kind == static_cast<uint16_t>(FrameKind::kPing) && !dead_) {
      return channel_->Send(static_cast<uint16_t>(FrameKind::kPong), 0, {});
    }
    return absl::OkStatus();
  }

  absl::Status Reply(const Seen& request) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    ReplyHeader header;
    if (!answers_.empty()) {
      header = std::move(answers_.front());
      answers_.pop_front();
    }
    std::vector<std::byte> head = Encode(header), bulk;
    if (header.error == device::CudaError::kSuccess) {
      if (request.kind == ElapsedTime::kNumber) Encoder(head).Put(ElapsedTime::Reply{2.5f});
      if (request.kind == CopyToHost::kNumber) {
        const auto op = Decode<CopyToHost>(request.head);
        bulk.assign(op->extent.width * op->extent.height * op->extent.depth, std::byte{42});
      }
    }
    return channel_->Send(static_cast<uint16_t>(FrameKind::kReply), request.tag, head, bulk);
  }

  absl::Mutex mutex_;
  Welcome welcome_;
  std::optional<Refusal> refusal_ ABSL_GUARDED_BY(mutex_);
  std::deque<ReplyHeader> answers_ ABSL_GUARDED_BY(mutex_);
  std::deque<Seen> held_ ABSL_GUARDED_BY(mutex_);
  std::vector<Seen> operations_ ABSL_GUARDED_BY(mutex_);
  bool silent_ ABSL_GUARDED_BY(mutex_) = false, dead_ ABSL_GUARDED_BY(mutex_) = false;
  bool hold_ ABSL_GUARDED_BY(mutex_) = false;
  int pings_ ABSL_GUARDED_BY(mutex_) = 0;
  std::unique_ptr<link::Channel> channel_;
};

}  // namespace wharf::offload
