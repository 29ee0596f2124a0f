#include "wharf/link/resume/linked_stream.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "wharf/base/log.h"

namespace wharf::link {

// --- breaks and ends ---

void LinkedStream::Break(const absl::Status& why) {
  if (!Connected()) return;
  ++epoch_;
  link_->Shutdown();
  Forget();
  if (ended_) {
    Fail(Unavailable("closed by peer"));
    return;
  }
  // A connection over which nothing came forward does not begin a new wait.
  if (const uint64_t progress = acknowledged_ + received_; progress != progress_ || why_down_.ok()) {
    progress_ = progress;
    down_since_ = next_attempt_ = Now();
    backoff_ = Nanoseconds{0};
    if (dial_ && options_.on_outage) options_.on_outage();
  }
  state_ = State::kDown;
  why_down_ = why;
  Log(LogLevel::kInfo, "connection broke", {{"peer", link_->Peer()}, {"why", Message(why)}});
  work_.notify_all();
}

void LinkedStream::Fail(const absl::Status& why) {
  if (state_ == State::kOver) return;
  failed_ = why;
  state_ = State::kOver;
  ++epoch_;
  link_->Shutdown();
  readable_.notify_all();
  writable_.notify_all();
  work_.notify_all();
}

// What the connection brought and nobody took: it comes again.
void LinkedStream::Forget() {
  buffer_.Clear();
  ahead_.Clear();
}

void LinkedStream::FinishWriting() {
  Lock lock(mutex_);
  writable_.wait(lock, [this] { return !writing_; });
  if (finished_ || state_ == State::kOver) return;
  finished_ = true;
  if (state_ != State::kUp || deaf_ || owed_ > 0) return;
  unsent_.AppendHeader(ChunkKind::kEnd, 0);
  WriteChunk(lock, {}, 0, /*wait=*/false);
}

void LinkedStream::Shutdown() {
  Lock lock(mutex_);
  if (std::exchange(shut_, true)) return;
  // An acknowledgement that is being written is out in a moment; without the end after it this would be a break.
  writable_.wait(lock, [this] { return !writing_ || may_wait_; });
  if (state_ == State::kUp && !writing_ && !deaf_ && owed_ == 0 && !finished_) {
    unsent_.AppendHeader(ChunkKind::kEnd, 0);
    const Bytes pieces[] = {unsent_.bytes()};
    link_->TryWrite(pieces).IgnoreError();
  }
  if (candidate_ != nullptr) candidate_->Shutdown();
  Fail(Unavailable("connection lost: closed"));
}

// --- reading ---

absl::StatusOr<size_t> LinkedStream::Read(std::span<std::byte> into) {
  if (into.empty()) return 0;
  Lock lock(mutex_);
  while (true) {
    if (shut_) return 0;
    size_t count = TakePayload(into);
    if (count == 0) {
      if (ended_) return 0;
      if (!failed_.ok()) return failed_;
      if (!Connected() || reading_) {
        readable_.wait(lock);
        continue;
      }
      count = ReadLink(lock, into);
    }
    if (count > 0) {
      OnConsumed(lock, count);
      return count;
    }
    if (tell_now_) SendControl(lock);
  }
}

// The next payload in the buffer, at most `limit`, past the control chunks before it; empty if more must be read.
std::span<const std::byte> LinkedStream::NextPayload(size_t limit) {
  while (true) {
    const absl::StatusOr<ChunkBuffer::Piece> piece = buffer_.Next(limit);
    if (!piece.ok()) {
      Fail(piece.status());
    } else if (piece->kind == ChunkKind::kData) {
      if (!ended_ || piece->payload.empty()) return piece->payload;
      Fail(DataLoss("the peer sent more after the end"));
    } else if (piece->kind == ChunkKind::kAcknowledge) {
      OnAcknowledgement(piece->received);
    } else {
      (piece->kind == ChunkKind::kPing ? tell_now_ : ended_) = true;
    }
    if (state_ == State::kOver) return {};
  }
}

void LinkedStream::OnAcknowledgement(uint64_t place) {
  const uint64_t sent = state_ == State::kResending ? resend_at_ + owed_ : Sent();
  if (place < acknowledged_ || place > sent) {
    Fail(DataLoss("the peer acknowledges what it cannot have"));
    return;
  }
  kept_.DropFront(place - acknowledged_);
  acknowledged_ = place;
  writable_.notify_all();
}

size_t LinkedStream::TakePayload(std::span<std::byte> into) {
  size_t done = std::min(into.size(), ahead_.size());
  ahead_.CopyOut(0, into.first(done));
  ahead_.DropFront(done);
  while (done < into.size()) {
    const Bytes payload = NextPayload(into.size() - done);
    if (payload.empty()) break;
    std::memcpy(into.data() + done, payload.data(), payload.size());
    done += payload.size();
  }
  return done;
}

// Reads from the connection once, straight into `into` where that is worth it; else into the buffer. Bytes that are in
// `into`. REQUIRES: !reading_, and the buffer holds no payload.
size_t LinkedStream::ReadLink(Lock& lock, std::span<std::byte> into) {
  const bool direct = std::min(into.size(), buffer_.Outside()) >= ChunkBuffer::kBytes;
  const auto place = direct ? into.first(std::min(into.size(), buffer_.Outside())) : buffer_.Space();
  const uint64_t epoch = epoch_;
  const std::shared_ptr<ByteStream> link = link_;
  reading_ = true;
  lock.unlock();
  const absl::StatusOr<size_t> count = link->Read(place);
  lock.lock();
  reading_ = false;
  ++reads_;
  if (epoch != epoch_) return 0;
  if (!count.ok() || *count == 0) {
    Break(count.ok() ? Unavailable("connection lost: closed without an end") : count.status());
    return 0;
  }
  if (!direct) {
    buffer_.Filled(*count);
    return 0;
  }
  buffer_.Passed(*count);
  return *count;
}

// For a writer that waits for an acknowledgement while the reader is busy elsewhere. What comes before that is kept;
// the peer cannot send more than its window.
void LinkedStream::ReadAhead(Lock& lock) {
  KeepAhead();
  if (state_ != State::kOver) ReadLink(lock, {});
  KeepAhead();
  readable_.notify_all();
}

void LinkedStream::KeepAhead() {
  while (true) {
    const Bytes payload = NextPayload(ChunkBuffer::kBytes);
    if (payload.empty()) break;
    ahead_.Append(payload);
  }
  if (ahead_.size() > kResumeWindow) Fail(DataLoss("the peer sent more than its window"));
}

void LinkedStream::OnConsumed(Lock& lock, size_t bytes) {
  received_ += bytes;
  if (keeper_sleeps_) work_.notify_all();
  if (!HasRoom()) writable_.notify_all();  // whoever waits for room reads from now on
  SendControl(lock);
}

// --- writing ---

absl::Status LinkedStream::Write(Pieces pieces) {
  size_t total = 0, done = 0;
  for (const Bytes piece : pieces) total += piece.size();
  Lock lock(mutex_);
  while (done < total) {
    WHARF_RETURN_IF_ERROR(AwaitWritable(lock));
    done += WriteChunk(lock, pieces, done, /*wait=*/true);
  }
  SendControl(lock);
  return absl::OkStatus();
}

absl::StatusOr<size_t> LinkedStream::TryWrite(Pieces pieces) {
  size_t total = 0, done = 0;
  for (const Bytes piece : pieces) total += piece.size();
  Lock lock(mutex_);
  if (!failed_.ok()) return failed_;
  while (done < total && Writable()) {
    done += WriteChunk(lock, pieces, done, /*wait=*/false);
    if (owed_ > 0) break;  // the connection is full
  }
  SendControl(lock);
  return done;
}

absl::Status LinkedStream::AwaitWritable(Lock& lock) {
  while (!Writable()) {
    if (!failed_.ok()) return failed_;
    if (finished_) return FailedPrecondition("written after the end");
    if (!HasRoom() && Connected() && !reading_) {
      ReadAhead(lock);
    } else {
      writable_.wait(lock);
    }
  }
  return absl::OkStatus();
}

// Writes the bytes of `pieces` after the first `skip`, up to the end of a chunk, after the control chunks that are due.
// How many of them are taken: kept, and sent now or after the next break. REQUIRES: Writable() or no pieces.
size_t LinkedStream::WriteChunk(Lock& lock, Pieces pieces, size_t skip, bool wait) {
  const size_t size = Gather(pieces, skip);
  if (size == 0 && unsent_.empty()) return 0;
  if (keeper_sleeps_) work_.notify_all();
  const uint64_t epoch = epoch_;
  const absl::StatusOr<size_t> taken = WriteGathered(lock, wait);
  if (epoch != epoch_ || !taken.ok()) return size;
  const size_t untaken = size - OnTaken(*taken);
  if (untaken > kept_.size()) {
    Fail(DataLoss("the peer acknowledges what was not sent"));
    return size;
  }
  kept_.DropBack(untaken);
  return size - untaken;
}

// Makes gathered_ and keeps the payload in it, whose size is returned.
size_t LinkedStream::Gather(Pieces pieces, size_t skip) {
  size_t left = 0;
  for (const Bytes piece : pieces) left += piece.size();
  left -= skip;
  if (owed_ == 0) {
    QueueControl();
    owed_ = std::min({left, kChunkBytes, kResumeWindow - kept_.size()});
    if (owed_ > 0) unsent_.AppendHeader(ChunkKind::kData, owed_);
  }
  const size_t size = left = std::min(left, owed_);
  gathered_.assign(1, unsent_.bytes());
  for (Bytes piece : pieces) {
    if (left == 0) break;
    const size_t skipped = std::min(skip, piece.size());
    skip -= skipped;
    piece = piece.subspan(skipped, std::min(piece.size() - skipped, left));
    left -= piece.size();
    if (piece.empty()) continue;
    gathered_.push_back(piece);
    kept_.Append(piece);
  }
  return size;
}

// Bytes the connection took. After an error it takes nothing more.
absl::StatusOr<size_t> LinkedStream::WriteGathered(Lock& lock, bool wait) {
  size_t total = 0;
  for (const Bytes piece : gathered_) total += piece.size();
  const uint64_t epoch = epoch_;
  const std::shared_ptr<ByteStream> link = link_;
  writing_ = true;
  may_wait_ = wait;
  lock.unlock();
  absl::StatusOr<size_t> taken = total;
  if (!wait) {
    taken = link->TryWrite(gathered_);
  } else if (const absl::Status status = link->Write(gathered_); !status.ok()) {
    taken = status;
  }
  lock.lock();
  writing_ = false;
  writable_.notify_all();
  if (taken.ok() || epoch != epoch_) return taken;
  if (ended_) {
    Fail(Unavailable("closed by peer"));
  } else {
    deaf_ = true;  // the next read says the same, after what the peer still had to say
  }
  return taken;
}

// `bytes` of gathered_ went out; how many of them were payload.
size_t LinkedStream::OnTaken(size_t bytes) {
  const size_t before = std::min(bytes, unsent_.size());
  unsent_.Consume(before);
  owed_ -= bytes - before;
  return bytes - before;
}

void LinkedStream::QueueControl() {
  if (!unsent_.empty()) return;  // the connection is full: more of the same would only pile up
  if (tell_now_ || (tell_ && received_ != told_) || received_ - told_ >= kAcknowledgeAfter) {
    unsent_.AppendAcknowledgement(received_);
    told_ = received_;
    tell_ = tell_now_ = false;
  }
  if (std::exchange(ping_, false)) unsent_.AppendHeader(ChunkKind::kPing, 0);
}

// What is due and did not ride along; whoever is writing does the same when done.
void LinkedStream::SendControl(Lock& lock) {
  if (ControlDue() && state_ == State::kUp && !writing_ && !deaf_ && owed_ == 0) {
    WriteChunk(lock, {}, 0, /*wait=*/false);
  }
}

}  // namespace wharf::link
