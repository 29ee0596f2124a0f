// Connection: an AR client's end. Pictures go as JPEGs; what comes is told to a listener.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "wharf/ar/messages.h"
#include "wharf/scene/scene.h"
#include "wharf/serving/types.h"

namespace wharf::ar {

// Called on the connection's thread.
class ConnectionListener {
 public:
  virtual ~ConnectionListener() = default;
  // First call, once.
  virtual void OnWelcome(const Welcome&) {}
  // Bytes as result_coding.h has them; not checked yet.
  virtual void OnResult(const Result& result, int64_t frame, std::vector<std::byte> found) = 0;
  virtual void OnFailed(Task task, int64_t frame, const absl::Status& why) = 0;
  // `served`: or it waits for room; `why`, if that is known: one short line.
  virtual void OnSchedule(serving::ClientPlan, bool /*served*/, const std::string& /*why*/) {}
  // To one of these, HOST:PORT each, the best first. The connection stays as it is.
  virtual void OnRedirect(std::vector<std::string> /*servers*/) {}
  // Last call, once: what the server said, or how the connection ended.
  virtual void OnClosed(const absl::Status& why) = 0;
};

// Thread-safe.
class Connection final : private link::FrameHandler {
 public:
  // Waits for the server's Welcome, at most `timeout`. Fails with what the server says, kDeadlineExceeded or
  // kUnavailable. `listener` must outlive it.
  static absl::StatusOr<std::unique_ptr<Connection>> Open(std::unique_ptr<link::ByteStream> stream, const Hello& hello,
                                                          const std::string& token, ConnectionListener& listener,
                                                          Nanoseconds timeout);
  // The listener hears nothing more.
  ~Connection() override;

  // `quality`: 1 to 100. Encodes here, some ms for a large picture, and waits while the link is full. The connection's
  // end once it has ended.
  absl::Status Send(int64_t frame, uint8_t tasks, const scene::Image& picture, int quality);
  absl::Status Tell(const Report& report);

 private:
  explicit Connection(ConnectionListener& listener) : listener_(listener) {}
  absl::StatusOr<std::span<std::byte>> BulkDestination(const link::FrameHeader& header,
                                                       std::span<const std::byte> head) override;
  absl::Status OnFrame(const link::FrameHeader& header, std::span<const std::byte> head,
                       std::vector<std::byte> bulk) override;
  void OnClosed(const absl::Status& why) override;

  ConnectionListener& listener_;
  wire::ClientHandshake<ArProtocol> handshake_{"the server",
                                               [this](const Welcome& welcome) { listener_.OnWelcome(welcome); }};
  std::atomic<bool> closing_ = false;
  std::unique_ptr<link::Channel> channel_;
};

}  // namespace wharf::ar
