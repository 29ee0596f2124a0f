// A server of resumable streams in memory, whose connections fail as a test wishes.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "wharf/link/emulation/emulator.h"
#include "wharf/link/forwarding_stream.h"
#include "wharf/link/resume/resumable_stream.h"
#include "wharf/link/testing.h"
#include "wharf/link/threads.h"

namespace wharf::link {

inline absl::Status Write(ByteStream& stream, std::span<const std::byte> bytes) {
  return stream.Write(std::span(&bytes, 1));
}
inline absl::Status Write(ByteStream& stream, std::string_view text) { return Write(stream, AsBytes(text)); }

// Exactly `size` bytes, fewer at the end of the stream.
inline absl::StatusOr<std::vector<std::byte>> ReadExactly(ByteStream& stream, size_t size) {
  std::vector<std::byte> bytes(size);
  size_t done = 0;
  while (done < size) {
    auto count = stream.Read(std::span(bytes).subspan(done));
    if (!count.ok()) return count.status();
    if (*count == 0) break;
    done += *count;
  }
  bytes.resize(done);
  return bytes;
}
inline std::string ReadText(ByteStream& stream, size_t size) {
  const auto bytes = ReadExactly(stream, size);
  return bytes.ok() ? AsText(*bytes) : ToString(bytes.status());
}

// For a channel, which owns its stream, while the listener keeps a hand on it too.
using SharedStream = ForwardingStream;

// Counts what passes over a stream that is wrapped in it, and which it outlives. Thread-safe.
class Traffic {
 public:
  uint64_t read() const { return read_; }
  uint64_t written() const { return written_; }
  // Whether the reader has taken these bytes in and waits for more.
  bool IsReadingAfter(uint64_t bytes) const { return read_ == bytes && reading_; }  // in this order: see Read

  std::unique_ptr<ByteStream> Watch(std::unique_ptr<ByteStream> stream) {
    return std::make_unique<Watched>(*this, std::move(stream));
  }

 private:
  class Watched final : public ByteStream {
   public:
    Watched(Traffic& traffic, std::unique_ptr<ByteStream> stream) : traffic_(traffic), stream_(std::move(stream)) {}
    absl::StatusOr<size_t> Read(std::span<std::byte> into) override {
      traffic_.reading_ = true;
      auto count = stream_->Read(into);
      traffic_.reading_ = false;
      traffic_.read_ += count.value_or(0);
      return count;
    }
    absl::Status Write(std::span<const std::span<const std::byte>> pieces) override {
      for (const auto piece : pieces) traffic_.written_ += piece.size();
      return stream_->Write(pieces);
    }
    absl::StatusOr<size_t> TryWrite(std::span<const std::span<const std::byte>> pieces) override {
      auto count = stream_->TryWrite(pieces);
      traffic_.written_ += count.value_or(0);
      return count;
    }
    void FinishWriting() override { stream_->FinishWriting(); }
    void Shutdown() override { stream_->Shutdown(); }
    std::string Peer() const override { return stream_->Peer(); }
    bool IsLocal() const override { return stream_->IsLocal(); }

   private:
    Traffic& traffic_;
    const std::unique_ptr<ByteStream> stream_;
  };

  std::atomic<uint64_t> read_{0}, written_{0};
  std::atomic<bool> reading_{false};
};

// Thread-safe. Streams it accepted must be gone before it, or taken.
class ResumableListener {
 public:
  // The faults of the n-th connection (from 0): up and down.
  using Weather = std::function<std::pair<Faults, Faults>(int connection)>;

  explicit ResumableListener(ResumeOptions options = {}, Weather weather = nullptr)
      : options_(options), weather_(std::move(weather)) {}
  ~ResumableListener() {
    for (std::thread& thread : threads_) thread.join();
  }

  link::Dial Dialer() {
    return [this] { return Connect(); };
  }
  // A new connection to this server; kUnavailable while closed.
  absl::StatusOr<std::unique_ptr<ByteStream>> Connect() {
    std::lock_guard lock(mutex_);
    if (closed_) return Unavailable("no server answers");
    const int number = connections_++;
    const auto [up, down] = weather_ ? weather_(number) : std::pair<Faults, Faults>();
    // A connection that swallows everything is given up soon; others may take their time.
    const Nanoseconds patience = up.stall ? Nanoseconds(std::chrono::milliseconds(200)) : std::chrono::minutes(2);
    auto [near, far] = MemoryPair(up, down);
    auto stream = std::make_shared<std::unique_ptr<ByteStream>>(std::move(far));
    threads_.push_back(StartThread("listener", [this, stream, patience] { Serve(std::move(*stream), patience); }));
    return std::move(near);
  }
  void Close(bool closed) {
    std::lock_guard lock(mutex_);
    closed_ = closed;
  }
  int connections() const {
    std::lock_guard lock(mutex_);
    return connections_;
  }
  // The next new stream.
  std::shared_ptr<ResumableStream> Accept() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !accepted_.empty(); });
    auto stream = std::move(accepted_.front());
    accepted_.erase(accepted_.begin());
    return stream;
  }

 private:
  void Serve(std::unique_ptr<ByteStream> connection, Nanoseconds patience) {
    auto begun = ReadBeginning(std::move(connection), patience);
    if (!begun.ok() || !begun->opening.has_value()) return;
    const Opening& opening = *begun->opening;
    if (opening.kind == OpeningKind::kResume) {
      std::shared_ptr<ResumableStream> stream;
      {
        std::lock_guard lock(mutex_);
        stream = streams_[opening.key.session].lock();
      }
      if (stream != nullptr) {
        stream->Resume(std::move(begun->stream), opening);
      } else {
        WriteOpening(*begun->stream, {OpeningKind::kRefused, {}, 0}).IgnoreError();
      }
      return;
    }
    std::unique_lock lock(mutex_);
    const uint64_t session = ++sessions_;
    lock.unlock();
    auto stream = ResumableStream::Accept(std::move(begun->stream), ResumeKey::Make(session).value(), options_);
    if (!stream.ok()) return;
    lock.lock();
    accepted_.push_back(*std::move(stream));
    streams_[session] = accepted_.back();
    changed_.notify_all();
  }

  const ResumeOptions options_;
  const Weather weather_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool closed_ = false;
  int connections_ = 0;
  uint64_t sessions_ = 0;
  std::vector<std::shared_ptr<ResumableStream>> accepted_;
  std::map<uint64_t, std::weak_ptr<ResumableStream>> streams_;
  std::vector<std::thread> threads_;
};

}  // namespace wharf::link
