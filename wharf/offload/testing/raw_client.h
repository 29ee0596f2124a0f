// The client's side of the protocol as bare frames, for tests of the server: what is sent is what the test says, right
// or wrong. Every wait has a generous limit and fails the test when it passes.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "wharf/link/channel.h"
#include "wharf/offload/handshake.h"
#include "wharf/offload/wire_codec.h"
#include "wharf/wire/proof_testing.h"

namespace wharf::offload {

class RawClient final : private link::FrameHandler {
 public:
  static constexpr absl::Duration kPatience = absl::Seconds(60);

  struct Frame {
    link::FrameHeader header;
    std::vector<std::byte> head, bulk;
    FrameKind Kind() const { return static_cast<FrameKind>(header.kind); }
    template <typename T>
    T As() const {
      return Decode<T>(head).value_or(T{});
    }
  };

  // A reply taken apart.
  template <typename Op>
  struct Answered {
    ReplyHeader header;
    typename Op::Reply reply;
    std::vector<std::byte> bulk;
  };

  explicit RawClient(std::unique_ptr<link::ByteStream> stream) : channel_(link::Channel::Create(std::move(stream))) {
    channel_->Start(this);
  }
  ~RawClient() override { channel_->Close(); }

  absl::Status SendFrame(uint16_t kind, uint64_t tag, const std::vector<std::byte>& head,
                         const std::vector<std::byte>& bulk = {}) {
    return channel_->Send(kind, tag, head, bulk);
  }
  template <typename T>
  absl::Status SendControl(FrameKind kind, const T& message) {
    return SendFrame(static_cast<uint16_t>(kind), 0, Encode(message));
  }
  // Answers the server's Challenge to `hello` as one who knows `token` does.
  template <typename Protocol = ProgramProtocol>
  absl::Status Prove(const typename Protocol::Hello& hello, const std::string& token) {
    WHARF_ASSIGN_OR_RETURN(const Frame frame, Next(static_cast<FrameKind>(Protocol::kChallenge)));
    const wire::Proof proof = wire::AnswerTo<Protocol>(frame.head, hello, token, channel_->Stream().ChannelBinding());
    return SendFrame(static_cast<uint16_t>(Protocol::kProof), 0, wire::Encode(proof));
  }
  template <typename Op>
  absl::Status Post(const Op& op, const std::vector<std::byte>& bulk = {}) {
    return SendFrame(Op::kNumber, 0, Encode(op), bulk);
  }
  template <typename Op>
  uint64_t Begin(const Op& op) {
    const uint64_t tag = next_tag_++;
    SendFrame(Op::kNumber, tag, Encode(op)).IgnoreError();
    return tag;
  }
  // The reply to `tag`; frames of other kinds stay for Next. kUnavailable if the server closes first.
  template <typename Op>
  absl::StatusOr<Answered<Op>> Await(uint64_t tag) {
    WHARF_ASSIGN_OR_RETURN(const Frame frame, Find([tag](const Frame& f) {
                             return f.Kind() == FrameKind::kReply && f.header.tag == tag;
                           }));
    Answered<Op> answered;
    Decoder decoder(frame.head);
    decoder.Get(answered.header);
    if (answered.header.error == device::CudaError::kSuccess) decoder.Get(answered.reply);
    WHARF_RETURN_IF_ERROR(decoder.Finish());
    answered.bulk = frame.bulk;
    return answered;
  }
  template <typename Op>
  absl::StatusOr<Answered<Op>> Ask(const Op& op) {
    return Await<Op>(Begin(op));
  }
  // The next frame of this kind.
  absl::StatusOr<Frame> Next(FrameKind kind) {
    return Find([kind](const Frame& frame) { return frame.Kind() == kind; });
  }
  // Waits for the server to close; why.
  absl::Status AwaitClosed() {
    absl::MutexLock lock(&mutex_);
    if (!mutex_.AwaitWithTimeout(absl::Condition(&closed_), kPatience)) return DeadlineExceeded("still open");
    return why_;
  }
  bool Has(FrameKind kind) const {
    absl::MutexLock lock(&mutex_);
    for (const Frame& frame : frames_) {
      if (frame.Kind() == kind) return true;
    }
    return false;
  }
  // Stops reading until Resume: the server's sends pile up.
  void Hold(bool hold) {
    absl::MutexLock lock(&mutex_);
    held_ = hold;
  }
  link::Channel& channel() { return *channel_; }

 private:
  template <typename Predicate>
  absl::StatusOr<Frame> Find(Predicate matches) {
    struct Search {
      RawClient* self;
      Predicate* matches;
    } search{this, &matches};
    const auto found = +[](Search* s) ABSL_NO_THREAD_SAFETY_ANALYSIS {
      for (const Frame& frame : s->self->frames_) {
        if ((*s->matches)(frame)) return true;
      }
      return s->self->closed_;
    };
    absl::MutexLock lock(&mutex_);
    if (!mutex_.AwaitWithTimeout(absl::Condition(found, &search), kPatience)) return DeadlineExceeded("no such frame");
    for (auto frame = frames_.begin(); frame != frames_.end(); ++frame) {
      if (!matches(*frame)) continue;
      Frame taken = std::move(*frame);
      frames_.erase(frame);
      return taken;
    }
    return Unavailable("closed: {}", Message(why_));
  }

  absl::StatusOr<std::span<std::byte>> BulkDestination(const link::FrameHeader&, std::span<const std::byte>) override {
    return std::span<std::byte>();
  }
  absl::Status OnFrame(const link::FrameHeader& header, std::span<const std::byte> head,
                       std::vector<std::byte> bulk) override {
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(
        +[](bool* held) { return !*held; }, &held_));
    frames_.push_back({header, {head.begin(), head.end()}, std::move(bulk)});
    return absl::OkStatus();
  }
  void OnClosed(const absl::Status& why) override {
    absl::MutexLock lock(&mutex_);
    closed_ = true;
    why_ = why;
  }

  mutable absl::Mutex mutex_;
  std::deque<Frame> frames_ ABSL_GUARDED_BY(mutex_);
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  bool held_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status why_ ABSL_GUARDED_BY(mutex_);
  uint64_t next_tag_ = 1;
  // Last, so that its threads end before what they use.
  std::unique_ptr<link::Channel> channel_;
};

}  // namespace wharf::offload
