// A server of resumable streams in memory, whose connections fail as a test wishes.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "wharf/link/emulator.h"
#include "wharf/link/resumable_stream.h"
#include "wharf/link/threads.h"

namespace wharf::link {

// For a channel, which owns its stream, while the harbour keeps a hand on it too.
class SharedStream final : public ByteStream {
 public:
  explicit SharedStream(std::shared_ptr<ByteStream> stream) : stream_(std::move(stream)) {}
  absl::StatusOr<size_t> Read(std::span<std::byte> into) override { return stream_->Read(into); }
  absl::Status Write(std::span<const std::span<const std::byte>> pieces) override { return stream_->Write(pieces); }
  absl::StatusOr<size_t> TryWrite(std::span<const std::span<const std::byte>> pieces) override {
    return stream_->TryWrite(pieces);
  }
  void FinishWriting() override { stream_->FinishWriting(); }
  void Shutdown() override { stream_->Shutdown(); }
  std::string Peer() const override { return stream_->Peer(); }
  bool IsLocal() const override { return stream_->IsLocal(); }
  bool Resuming() const override { return stream_->Resuming(); }

 private:
  const std::shared_ptr<ByteStream> stream_;
};

// Thread-safe. Streams it accepted must be gone before it, or taken.
class ResumeHarbor {
 public:
  // The faults of the n-th connection (from 0): up and down.
  using Weather = std::function<std::pair<Faults, Faults>(int connection)>;

  explicit ResumeHarbor(ResumeOptions options = {}, Weather weather = nullptr)
      : options_(options), weather_(std::move(weather)) {}
  ~ResumeHarbor() {
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
    auto [near, far] = MemoryPair(up, down);
    threads_.push_back(StartThread("harbor", [this, stream = std::make_shared<std::unique_ptr<ByteStream>>(
                                                        std::move(far))] { Serve(std::move(*stream)); }));
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
  void Serve(std::unique_ptr<ByteStream> connection) {
    // A connection that swallows everything is given up soon; one that is only slow is tried again.
    auto begun = ReadBeginning(std::move(connection), std::chrono::milliseconds(200));
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
