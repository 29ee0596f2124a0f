#include "wharf/link/channel.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "wharf/link/frame_reader.h"
#include "wharf/link/send_queue.h"
#include "wharf/link/threads.h"

namespace wharf::link {
namespace {

using Bytes = std::span<const std::byte>;

// As much as kSoon frames may gather; about what one system call moves at the price of its own overhead.
constexpr size_t kCompanyBytes = 16 << 10;

std::chrono::steady_clock::time_point Steady(TimePoint t) {  // Clock::Real() is the monotonic clock as well
  return std::chrono::steady_clock::time_point(t.since_epoch);
}

// The reader thread looks after the stream for so long after somebody else has read it: who waits for one answer will
// soon wait for the next.
constexpr Nanoseconds kReadersRest = std::chrono::milliseconds(1);

// One thread at a time holds the right to write (`writing_`): a sender that found the stream free, or the writer
// thread. It writes `active_`, with the lock released; frames meanwhile gather in `pending_`.
//
// One thread at a time holds the right to read, and uses `frames_`: the reader thread (`reading_`) or one in ReadHere
// (`lent_`). Once somebody has asked for that right, the reader thread waits for the stream without it.
class StreamChannel final : public Channel {
 public:
  StreamChannel(std::unique_ptr<ByteStream> stream, const ChannelOptions& options)
      : options_(options), stream_(std::move(stream)), frames_(*stream_, options.limits) {
    writer_ = StartThread("wharf-send", [this] { WriterLoop(); });
  }

  ~StreamChannel() override { Stop(); }

  void Start(FrameHandler* handler) override {
    std::lock_guard lock(mutex_);
    started_ = true;
    handler_ = handler;
    reader_ = StartThread("wharf-receive", [this] { ReaderLoop(); });
  }

  absl::Status Send(uint16_t kind, uint64_t tag, Bytes head, Bytes bulk, BulkOwnership ownership, Urgency urgency,
                    uint16_t flags) override;
  bool ReadHere(absl::FunctionRef<bool()> done, Nanoseconds limit) override;
  absl::Status Flush() override;
  void Close(Nanoseconds drain) override;
  void Stop() override;

  ChannelStats Stats() const override {
    std::lock_guard lock(mutex_);
    return {written_, frames_.frames(), bytes_sent_, frames_.bytes()};
  }
  ByteStream& Stream() override { return *stream_; }

 private:
  using Lock = std::unique_lock<std::mutex>;

  bool InHandler() const { return reading_here == this; }
  bool Open() const { return closed_.ok() && !closing_.load(std::memory_order_relaxed); }
  bool Drained() const { return pending_.empty() && active_.empty(); }
  bool StreamFree() const { return !writing_ && active_.empty(); }
  bool Lingering() {
    std::lock_guard lock(mutex_);
    return give_up_at_.has_value();
  }
  absl::Status Refusal() const { return closed_.ok() ? Aborted("closed") : closed_; }
  void WaitForRoom(Lock& lock);
  absl::Status WaitUntilWritten(Lock& lock, uint64_t frame);
  void WritePending(Lock& lock, bool wait);
  void WriteActive(Lock& lock, bool wait);
  void Fail(const absl::Status& why);
  bool FinishAndLinger(Lock& lock, TimePoint deadline);
  void WriterLoop();
  void WaitForWork(Lock& lock);
  absl::Status ReadFrame();
  absl::Status ReadLent(absl::FunctionRef<bool()> done, Nanoseconds limit);
  void WaitForTurn(Lock& lock);
  absl::Status ReadAll();
  void ReaderLoop();

  static thread_local const StreamChannel* reading_here;

  const ChannelOptions options_;
  const std::unique_ptr<ByteStream> stream_;
  FrameHandler* handler_ = nullptr;  // set before the reader thread starts
  FrameReader frames_;               // of the thread that may read; its counts are atomic

  mutable std::mutex mutex_;
  std::condition_variable work_;      // the writer thread has something to do
  std::condition_variable progress_;  // bytes were written, or the channel closed
  std::condition_variable turn_;      // the reader thread may have to read again
  absl::Status closed_;               // OK while open
  std::atomic<bool> closing_{false};  // Close was called: no more sends, no more calls of the handler
  bool writing_ = false, stop_ = false, started_ = false, reader_done_ = false;
  std::optional<bool> lendable_;  // whether the right to read can be lent; nothing: nobody has asked yet
  bool reading_ = false, lent_ = false;
  bool awaits_return_ = false;  // the reader thread waits while it is lent
  TimePoint rest_until_;        // of the reader thread
  uint64_t loans_ = 0;
  absl::Status lent_failure_;  // of a read in ReadHere: the end of reading
  SendQueue pending_, active_;
  bool due_ = false;                     // pending_ has frames that may not wait
  std::optional<TimePoint> soon_;        // when the others' time is up
  std::optional<TimePoint> give_up_at_;  // when to stop waiting for the peer to close its side
  uint64_t accepted_ = 0, written_ = 0;  // frames
  uint64_t bytes_sent_ = 0;
  std::vector<Bytes> pieces_;  // of whoever writes
  std::thread writer_, reader_;
};

thread_local const StreamChannel* StreamChannel::reading_here = nullptr;

absl::Status StreamChannel::Send(uint16_t kind, uint64_t tag, Bytes head, Bytes bulk, BulkOwnership ownership,
                                 Urgency urgency, uint16_t flags) {
  if (head.size() > options_.limits.max_head_bytes || bulk.size() > options_.limits.max_bulk_bytes) {
    return InvalidArgument("frame of {} + {} bytes, the limits are {} + {}", head.size(), bulk.size(),
                           options_.limits.max_head_bytes, options_.limits.max_bulk_bytes);
  }
  FrameHeader header;
  header.kind = kind;
  header.flags = flags;
  header.tag = tag;
  header.head_bytes = static_cast<uint32_t>(head.size());
  header.bulk_bytes = static_cast<uint32_t>(bulk.size());
  const bool in_handler = InHandler();
  if (bulk.empty() || in_handler) ownership = BulkOwnership::kCopy;
  const bool borrow = ownership == BulkOwnership::kBorrow;

  Lock lock(mutex_);
  if (!in_handler) WaitForRoom(lock);
  if (!Open()) return Refusal();
  const uint64_t frame = ++accepted_;
  if (StreamFree() && (urgency == Urgency::kNow || borrow || pending_.size() + bulk.size() >= kCompanyBytes)) {
    pending_.Append(header, head, bulk, BulkOwnership::kBorrow);
    pending_.last_frame = frame;
    WritePending(lock, /*wait=*/borrow);
    active_.Own(borrow ? Bytes() : bulk);
    if (!borrow) return written_ >= frame ? absl::OkStatus() : closed_;
    return WaitUntilWritten(lock, frame);
  }
  pending_.Append(header, head, bulk, ownership);
  pending_.last_frame = frame;
  if (urgency == Urgency::kNow || borrow) {
    due_ = true;  // whoever is writing goes on with it, or wakes the writer thread
  } else if (!soon_.has_value() && !due_) {
    soon_ = Clock::Real().Now() + options_.linger;
    work_.notify_one();
  }
  return borrow ? WaitUntilWritten(lock, frame) : absl::OkStatus();
}

void StreamChannel::WaitForRoom(Lock& lock) {
  // Half for what waits, half for what is being written.
  const auto room = [this] { return !Open() || pending_.size() < std::max<size_t>(options_.send_queue_bytes / 2, 1); };
  if (room()) return;
  due_ = true;  // what waits for company would keep us waiting
  work_.notify_one();
  progress_.wait(lock, room);
}

absl::Status StreamChannel::Flush() {
  const bool in_handler = InHandler();
  Lock lock(mutex_);
  const uint64_t last = accepted_;
  if (StreamFree() && !pending_.empty() && closed_.ok()) {
    WritePending(lock, /*wait=*/!in_handler);
  } else if (!pending_.empty()) {
    due_ = true;
  }
  if (in_handler) return closed_;
  return WaitUntilWritten(lock, last);
}

// Also after a failure only when nobody touches borrowed memory any more.
absl::Status StreamChannel::WaitUntilWritten(Lock& lock, uint64_t frame) {
  progress_.wait(lock, [this, frame] { return written_ >= frame || (!closed_.ok() && !writing_); });
  return written_ >= frame ? absl::OkStatus() : closed_;
}

void StreamChannel::WritePending(Lock& lock, bool wait) {
  std::swap(active_, pending_);
  due_ = false;
  soon_.reset();
  WriteActive(lock, wait);
}

void StreamChannel::WriteActive(Lock& lock, bool wait) {
  active_.Pieces(pieces_);
  const size_t size = active_.size();
  writing_ = true;
  lock.unlock();
  absl::StatusOr<size_t> done = size;
  if (!wait) {
    done = stream_->TryWrite(pieces_);
  } else if (absl::Status status = stream_->Write(pieces_); !status.ok()) {
    done = status;
  }
  lock.lock();
  writing_ = false;
  if (done.ok()) {
    bytes_sent_ += *done;
    active_.Consume(*done);
    if (active_.empty()) written_ = active_.last_frame;
  } else {
    Fail(done.status());
  }
  if (active_.empty() || !closed_.ok()) active_.Clear();
  progress_.notify_all();
  if (!active_.empty() || due_ || soon_.has_value()) work_.notify_one();
}

void StreamChannel::Fail(const absl::Status& why) {
  if (closed_.ok()) closed_ = why;
  pending_.Clear();
  if (!writing_) active_.Clear();
  due_ = false;
  soon_.reset();
  stream_->Shutdown();
  progress_.notify_all();
  work_.notify_all();
  turn_.notify_all();
}

void StreamChannel::Close(Nanoseconds drain) {
  const TimePoint deadline = Clock::Real().Now() + drain;
  Lock lock(mutex_);
  closing_ = true;
  due_ = !pending_.empty();
  work_.notify_all();
  progress_.notify_all();
  if (closed_.ok() && drain > Nanoseconds{0}) {
    progress_.wait_until(lock, Steady(deadline), [this] { return !closed_.ok() || Drained(); });
    if (closed_.ok() && Drained() && started_ && FinishAndLinger(lock, deadline)) return;
  }
  Fail(Aborted("closed"));
}

void StreamChannel::Stop() {
  Close({});
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
    work_.notify_all();
  }
  if (writer_.joinable()) writer_.join();
  if (reader_.joinable()) reader_.join();
}

// True if the writer thread will end the connection later.
bool StreamChannel::FinishAndLinger(Lock& lock, TimePoint deadline) {
  stream_->FinishWriting();
  if (InHandler()) {  // which has to return before the reader can see the peer close
    give_up_at_ = deadline;
    work_.notify_all();
    return true;
  }
  progress_.wait_until(lock, Steady(deadline), [this] { return !closed_.ok() || reader_done_; });
  return false;
}

void StreamChannel::WriterLoop() {
  Lock lock(mutex_);
  while (!stop_) {
    const TimePoint now = Clock::Real().Now();
    const bool may_write = !writing_ && closed_.ok();
    if (give_up_at_.has_value() && now >= *give_up_at_) {
      give_up_at_.reset();
      Fail(Aborted("closed"));
    } else if (may_write && !active_.empty()) {
      WriteActive(lock, /*wait=*/true);
    } else if (may_write && !pending_.empty() && (due_ || (soon_.has_value() && now >= *soon_))) {
      WritePending(lock, /*wait=*/true);
    } else {
      WaitForWork(lock);
    }
  }
}

void StreamChannel::WaitForWork(Lock& lock) {
  std::optional<TimePoint> until = give_up_at_;
  if (!writing_ && soon_.has_value() && (!until.has_value() || *soon_ < *until)) until = soon_;
  if (until.has_value()) {
    work_.wait_until(lock, Steady(*until));
  } else {
    work_.wait(lock);
  }
}

absl::Status StreamChannel::ReadFrame() {
  const auto deliver = [this] { return !closing_.load(std::memory_order_relaxed); };
  reading_here = this;
  absl::Status status = frames_.ReadFrame(*handler_, deliver);
  reading_here = nullptr;
  return status;
}

bool StreamChannel::ReadHere(absl::FunctionRef<bool()> done, Nanoseconds limit) {
  if (InHandler()) return false;
  Lock lock(mutex_);
  if (!lendable_) lendable_ = stream_->WaitReadable(Nanoseconds{0}).has_value();
  if (!*lendable_ || reading_ || lent_ || !started_ || reader_done_ || !Open() || !lent_failure_.ok()) return false;
  lent_ = true;
  ++loans_;
  lock.unlock();
  absl::Status status = ReadLent(done, limit);
  lock.lock();
  lent_ = false;
  rest_until_ = Clock::Real().Now() + kReadersRest;
  if (!status.ok()) {
    // The end, which wakes the reader thread; but for a handler that has closed: then the peer still gets its time.
    if (!give_up_at_.has_value()) Fail(closing_ ? Aborted("closed") : status);
    lent_failure_ = std::move(status);
  }
  if (awaits_return_ || !Open()) turn_.notify_one();
  return true;
}

// No frame that has come stays behind in the buffer: the reader thread may be waiting for the stream. The rest of one
// that has not come wholly will wake it.
absl::Status StreamChannel::ReadLent(absl::FunctionRef<bool()> done, Nanoseconds limit) {
  while (frames_.HasFrame() || (!done() && stream_->WaitReadable(limit).value_or(false))) {
    WHARF_RETURN_IF_ERROR(ReadFrame());
  }
  return absl::OkStatus();
}

// Until there is something to read that nobody else is going to read; takes the right to read.
void StreamChannel::WaitForTurn(Lock& lock) {
  while (true) {
    while (lent_ || (lent_failure_.ok() && Open() && Clock::Real().Now() < rest_until_)) {
      awaits_return_ = lent_;
      if (lent_) {
        turn_.wait(lock);
      } else {
        turn_.wait_until(lock, Steady(rest_until_));
      }
    }
    awaits_return_ = false;
    if (!lendable_.value_or(false) || !lent_failure_.ok() || frames_.HasFrame()) break;
    const uint64_t loans = loans_;
    lock.unlock();
    stream_->WaitReadable(std::nullopt);
    lock.lock();
    if (loans == loans_) break;  // else somebody may have read what there was
  }
  reading_ = true;
}

absl::Status StreamChannel::ReadAll() {
  Lock lock(mutex_);
  while (true) {
    WaitForTurn(lock);
    if (!lent_failure_.ok()) return lent_failure_;
    lock.unlock();
    WHARF_RETURN_IF_ERROR(ReadFrame());
    lock.lock();
    reading_ = false;
  }
}

void StreamChannel::ReaderLoop() {
  absl::Status why = ReadAll();
  // A handler that closed may also have returned an error: the peer still gets its time to read why.
  if (Lingering()) frames_.DropRest();
  {
    std::lock_guard lock(mutex_);
    if (closing_) why = Aborted("closed");
    Fail(why);
    reader_done_ = true;
    give_up_at_.reset();
    why = closed_;
    progress_.notify_all();
  }
  reading_here = this;
  handler_->OnClosed(why);
  reading_here = nullptr;
}

// What callers hold. In a forked child the threads are gone and the mutex may be held for ever, so there nothing behind
// this is touched, not even destroyed; the descriptor closes with the process or at exec.
class ForkSafeChannel final : public Channel {
 public:
  explicit ForkSafeChannel(std::unique_ptr<StreamChannel> channel) : channel_(std::move(channel)) {}
  ~ForkSafeChannel() override {
    if (fork_.InChild()) static_cast<void>(channel_.release());
  }
  void Start(FrameHandler* handler) override {
    if (!fork_.InChild()) channel_->Start(handler);
  }
  absl::Status Send(uint16_t kind, uint64_t tag, Bytes head, Bytes bulk, BulkOwnership ownership, Urgency urgency,
                    uint16_t flags) override {
    if (fork_.InChild()) return NotOurs();
    return channel_->Send(kind, tag, head, bulk, ownership, urgency, flags);
  }
  bool ReadHere(absl::FunctionRef<bool()> done, Nanoseconds limit) override {
    return !fork_.InChild() && channel_->ReadHere(done, limit);
  }
  absl::Status Flush() override { return fork_.InChild() ? NotOurs() : channel_->Flush(); }
  void Close(Nanoseconds drain) override {
    if (!fork_.InChild()) channel_->Close(drain);
  }
  void Stop() override {
    if (!fork_.InChild()) channel_->Stop();
  }
  ChannelStats Stats() const override { return fork_.InChild() ? ChannelStats{} : channel_->Stats(); }
  ByteStream& Stream() override { return channel_->Stream(); }

 private:
  static absl::Status NotOurs() {
    return FailedPrecondition("this connection belongs to the parent process: connect anew after fork()");
  }
  const ForkGuard fork_;
  std::unique_ptr<StreamChannel> channel_;
};

}  // namespace

std::unique_ptr<Channel> Channel::Create(std::unique_ptr<ByteStream> stream, ChannelOptions options) {
  return std::make_unique<ForkSafeChannel>(std::make_unique<StreamChannel>(std::move(stream), options));
}

}  // namespace wharf::link
