// The keeper thread of a resumable stream: it watches the time, brings the next connection in and sends again what was
// lost.
#include <algorithm>
#include <utility>

#include "wharf/base/log.h"
#include "wharf/link/connect_again.h"
#include "wharf/link/resume/linked_stream.h"
#include "wharf/link/resume/wait.h"
#include "wharf/link/threads.h"

namespace wharf::link {
namespace {

// Ticks in which nothing came: after three it asks, after six it gives the connection up.
constexpr int kTicksToPing = 3, kTicksToBreak = 6;
constexpr Nanoseconds kServerTick = std::chrono::milliseconds(500);
// How soon a full connection is tried again while old bytes are sent once more.
constexpr Nanoseconds kRetryWrite = std::chrono::milliseconds(1);

// Says so, unless the connection takes nothing: nobody waits for a stranger's.
void Refuse(ByteStream& connection) {
  const auto answer = EncodeOpening({OpeningKind::kRefused, {}, 0});
  const std::span<const std::byte> pieces[] = {answer};
  connection.TryWrite(pieces).IgnoreError();
}

}  // namespace

LinkedStream::LinkedStream(std::shared_ptr<ByteStream> link, Dial dial, const ResumeKey& key,
                           const ResumeOptions& options)
    : dial_(std::move(dial)),
      key_(key),
      options_(options),
      tick_(dial_ ? options.stall / kTicksToBreak : kServerTick),
      binding_(link->ChannelBinding()),
      units_(link->PeerUnits()),
      link_(std::move(link)) {
  keeper_ = StartThread("wharf-resume", [this] { Keep(); });
}

void LinkedStream::Keep() {
  Lock lock(mutex_);
  while (state_ != State::kOver) {
    if (offered_ != nullptr) {
      TakeOffer(lock);
    } else if (state_ == State::kDown) {
      dial_ ? Redial(lock) : AwaitOffer(lock);
    } else if (state_ == State::kResending) {
      Resend(lock);
    } else {
      Watch(lock);
    }
  }
}

void LinkedStream::Redial(Lock& lock) {
  const TimePoint give_up = down_since_ + options_.limit, now = Now();
  if (now >= give_up) {
    Fail(Unavailable("{}, and no way back within {} s", Message(why_down_), Seconds(options_.limit)));
    return;
  }
  if (now < next_attempt_) {
    WaitUntil(work_, lock, *options_.clock, std::min(next_attempt_, give_up));
    return;
  }
  backoff_ = std::clamp(backoff_ * 2, kFirstPause, kLongestPause);
  next_attempt_ = now + backoff_;
  const Opening opening{OpeningKind::kResume, key_, received_};
  lock.unlock();
  absl::StatusOr<std::unique_ptr<ByteStream>> dialed = dial_();
  lock.lock();
  if (!dialed.ok() || state_ == State::kOver) return;
  const std::shared_ptr<ByteStream> link = candidate_ = *std::move(dialed);
  lock.unlock();
  const Nanoseconds patience = std::min(options_.attempt, give_up - now);
  const absl::StatusOr<Opening> answer = ExchangeOpenings(*link, opening, patience, *options_.clock);
  lock.lock();
  candidate_.reset();
  if (answer.status().code() == absl::StatusCode::kNotFound) {
    Fail(Unavailable("{}, and {}", Message(why_down_), Message(answer.status())));
  } else if (answer.ok() && !Install(lock, link, answer->received)) {
    Fail(DataLoss("the server resumes at an impossible place"));
  }
}

void LinkedStream::AwaitOffer(Lock& lock) {
  const TimePoint give_up = down_since_ + options_.limit;
  if (Now() < give_up) {
    WaitUntil(work_, lock, *options_.clock, give_up);
  } else {
    Fail(Unavailable("{}, and the client did not come back within {} s", Message(why_down_), Seconds(options_.limit)));
  }
}

bool LinkedStream::Resume(std::unique_ptr<ByteStream> connection, const Opening& opening) {
  Lock lock(mutex_);
  const bool ours = opening.key.session == key_.session && key_.Matches(opening.key.secret);
  if (!ours || state_ == State::kOver || opening.received < acknowledged_ || opening.received > Sent()) {
    lock.unlock();
    Refuse(*connection);
    return false;
  }
  offered_ = std::move(connection);
  offered_received_ = opening.received;
  Break(Unavailable("the client came back"));
  work_.notify_all();
  return true;
}

void LinkedStream::TakeOffer(Lock& lock) {
  const std::shared_ptr<ByteStream> link = std::exchange(offered_, nullptr);
  if (!Install(lock, link, offered_received_)) {
    // Overtaken: what the old connection still brought shows that the client has more than it says here.
    Refuse(*link);
    return;
  }
  if (state_ == State::kOver) return;
  const auto answer = EncodeOpening({OpeningKind::kAccepted, {key_.session, {}}, received_});
  unsent_.AppendBytes(answer);
}

// False if the peer cannot be there. The stream may be over afterwards.
bool LinkedStream::Install(Lock& lock, std::shared_ptr<ByteStream> link, uint64_t peer_received) {
  writable_.wait(lock, [this] { return !writing_; });  // on the old connection, which was shut down
  if (state_ == State::kOver) return true;
  if (peer_received < acknowledged_ || peer_received > Sent()) return false;
  Log(LogLevel::kInfo, "connection resumed", {{"peer", link->Peer()}, {"again", Sent() - peer_received}});
  ++epoch_;
  link_ = std::move(link);
  state_ = State::kResending;
  kept_.DropFront(peer_received - acknowledged_);
  acknowledged_ = resend_at_ = peer_received;
  told_ = received_;
  tell_ = tell_now_ = ping_ = deaf_ = false;
  unsent_.Clear();
  owed_ = 0;
  quiet_ticks_ = 0;
  next_tick_ = Now() + tick_;
  readable_.notify_all();
  return true;
}

// One chunk of what the peer does not have. Nobody else writes meanwhile.
void LinkedStream::Resend(Lock& lock) {
  if (resend_at_ == Sent() && unsent_.empty()) {
    state_ = State::kUp;
    if (finished_) unsent_.AppendHeader(ChunkKind::kEnd, 0);
    writable_.notify_all();
    SendControl(lock);
    return;
  }
  size_t taken = 0;
  if (!deaf_) {
    if (owed_ == 0 && resend_at_ < Sent()) {
      owed_ = std::min<size_t>(kChunkBytes, Sent() - resend_at_);
      unsent_.AppendHeader(ChunkKind::kData, owed_);
    }
    resent_.resize(owed_);
    kept_.CopyOut(resend_at_ - acknowledged_, resent_);
    gathered_ = {unsent_.bytes(), resent_};
    const uint64_t epoch = epoch_;
    const absl::StatusOr<size_t> written = WriteGathered(lock, /*wait=*/false);
    if (epoch != epoch_) return;
    if (written.ok()) {
      taken = *written;
      resend_at_ += OnTaken(taken);
      if (acknowledged_ > resend_at_) Fail(DataLoss("the peer acknowledges what was not sent"));
    }
  }
  if (taken > 0 || state_ == State::kOver) return;
  WaitUntil(work_, lock, *options_.clock, deaf_ ? next_tick_ : Now() + kRetryWrite);
  if (state_ == State::kResending && Now() >= next_tick_) OnTick(lock);
}

void LinkedStream::Watch(Lock& lock) {
  if (Quiet()) {
    keeper_sleeps_ = true;
    work_.wait(lock);
    keeper_sleeps_ = false;
    next_tick_ = Now() + tick_;
    quiet_ticks_ = 0;
  } else if (Now() < next_tick_) {
    WaitUntil(work_, lock, *options_.clock, next_tick_);
  } else {
    OnTick(lock);
  }
}

void LinkedStream::OnTick(Lock& lock) {
  next_tick_ = Now() + tick_;
  const bool news = received_ != told_;
  tell_now_ = tell_now_ || (news && tell_);  // nothing was sent since the last tick
  tell_ = news;
  if (dial_) {
    const bool silent = !kept_.empty() && reading_ && reads_ == reads_at_tick_;
    reads_at_tick_ = reads_;
    quiet_ticks_ = silent ? quiet_ticks_ + 1 : 0;
    if (quiet_ticks_ == kTicksToPing) ping_ = true;
    if (quiet_ticks_ >= kTicksToBreak) {
      Break(Unavailable("connection lost: nothing came for {} ms", Milliseconds(options_.stall)));
      return;
    }
  }
  SendControl(lock);
}

namespace {

absl::StatusOr<std::unique_ptr<ByteStream>> OpenOnce(const Dial& dial, const ResumeOptions& options,
                                                     TimePoint give_up) {
  WHARF_ASSIGN_OR_RETURN(std::unique_ptr<ByteStream> link, dial());
  const Nanoseconds patience = std::min(options.attempt, give_up - options.clock->Now());
  WHARF_ASSIGN_OR_RETURN(const Opening answer, ExchangeOpenings(*link, {}, patience, *options.clock));
  if (answer.kind == OpeningKind::kDeclined) {
    if (options.on_declined) options.on_declined();
    return link;
  }
  return std::make_unique<LinkedStream>(std::move(link), dial, answer.key, options);
}

}  // namespace

absl::StatusOr<std::unique_ptr<ByteStream>> OpenResumable(Dial dial, const ResumeOptions& options) {
  const TimePoint give_up = options.clock->Now() + options.opening;
  return TryAgain([&] { return OpenOnce(dial, options, give_up); }, options.opening, *options.clock);
}

absl::StatusOr<std::unique_ptr<ResumableStream>> ResumableStream::Accept(std::unique_ptr<ByteStream> connection,
                                                                         const ResumeKey& key,
                                                                         const ResumeOptions& options) {
  WHARF_RETURN_IF_ERROR(WriteOpening(*connection, {OpeningKind::kAccepted, key, 0}));
  return std::make_unique<LinkedStream>(std::move(connection), nullptr, key, options);
}

}  // namespace wharf::link
