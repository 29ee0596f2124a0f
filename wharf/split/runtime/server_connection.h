// ServerConnection: the device's end of one connection to a server of split inference, from the handshake until it
// breaks.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "wharf/link/channel.h"
#include "wharf/link/estimator.h"
#include "wharf/split/runtime/outbound.h"
#include "wharf/split/runtime/rows_receiver.h"

namespace wharf::split {

struct ServerConnectionConfig {
  std::shared_ptr<const Model> model;
  std::shared_ptr<const std::vector<std::byte>> onnx;  // sent if the server does not have it
  std::string token;
  std::function<void()> on_closed;           // on a thread of the link; may be called before Open returns
  SlowDown slow_down;                        // of encoding and decoding
  ResumeTicket* ticket = nullptr;            // given to the server, and replaced by the one it gives; must outlive Open
  link::LinkEstimator* estimator = nullptr;  // learns from what flows; must outlive the link
  Clock* clock = &Clock::Real();
  // For the answers of the handshake; the server may have to load the model or to measure itself.
  Nanoseconds timeout = std::chrono::seconds(60);
};

class ServerConnection final : private link::FrameHandler {
 public:
  // Says Hello, opens the model (sends it if need be) and measures the link once. kUnavailable, kDeadlineExceeded: no
  // use of the connection; others: what the server says.
  static absl::StatusOr<std::unique_ptr<ServerConnection>> Open(std::unique_ptr<link::ByteStream> stream,
                                                                ServerConnectionConfig config);
  ~ServerConnection() override;

  // What the server knows of its speed with this model.
  absl::StatusOr<std::string> AskMachine();

  // Of one inference; valid as long as the link. One at a time.
  struct Inference {
    uint64_t number = 0;
    std::shared_ptr<Inbox> inbox;
    std::unique_ptr<Outbox> outbox;
  };
  // Tells the server, which learns of a plan when it is used first; waits for no answer. Why the link is of no use.
  absl::StatusOr<Inference> Begin(uint32_t plan_id, const Plan& plan, const SideSteps& steps,
                                  std::shared_ptr<Recorder> recorder);
  // What the server says of an inference, once that is known: when our messages had left (of those that stand in
  // `recorded`, what we recorded of it), and what it computed, half a round trip early (its clock began when it learned
  // of the inference).
  std::optional<std::vector<Event>> ServerEvents(uint64_t inference, std::span<const Event> recorded) const;
  // Waits until everything of ours was handed to the link, and for the above, until the deadline at most.
  void AwaitServerEvents(uint64_t inference, TimePoint deadline);

  bool Alive() const;
  absl::Status Why() const;  // it is not
  // Whoever waits for rows gets `why`. The server expects us back.
  void Close(const absl::Status& why);
  // The same for good: the server is told, if it can be within kFarewell.
  void Leave();

 private:
  explicit ServerConnection(std::unique_ptr<link::ByteStream> stream, ServerConnectionConfig config);

  // Of one inference.
  struct ServerSaid {
    uint64_t inference = 0;
    std::vector<Event> computed;
    std::vector<Arrival> arrivals;
    double begun_ms = 0;
  };
  struct Answer {
    FrameKind kind{};
    std::vector<std::byte> head, bulk;
  };

  absl::StatusOr<std::span<std::byte>> BulkDestination(const link::FrameHeader& header,
                                                       std::span<const std::byte> head) override;
  absl::Status OnFrame(const link::FrameHeader& header, std::span<const std::byte> head,
                       std::vector<std::byte> bulk) override;
  void OnClosed(const absl::Status& why) override;
  absl::Status OnRows(const link::FrameHeader& header, std::span<const std::byte> head);
  absl::Status OnDone(const link::FrameHeader& header, std::span<const std::byte> head);

  absl::Status Greet();
  absl::Status OpenRemoteModel();
  absl::Status Probe();
  // Sends, and waits for the answer, which must be of this kind. Why the link is of no use.
  absl::StatusOr<Answer> Ask(FrameKind question, std::span<const std::byte> head, std::span<const std::byte> bulk,
                             FrameKind answer);
  void Expect(FrameKind kind);
  absl::StatusOr<Answer> Await();
  static absl::StatusOr<bool> IsReady(const Answer& answer);

  const ServerConnectionConfig config_;
  mutable absl::Mutex mutex_;
  std::optional<Answer> answer_ ABSL_GUARDED_BY(mutex_);
  std::optional<FrameKind> awaited_ ABSL_GUARDED_BY(mutex_);  // what may come that is not rows
  absl::Status closed_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<Inbox> inbox_ ABSL_GUARDED_BY(mutex_);
  RowsReceiver receiver_ ABSL_GUARDED_BY(mutex_);
  // Of the last inference begun: what took time, when Begin was sent, what came.
  std::shared_ptr<Recorder> recorder_ ABSL_GUARDED_BY(mutex_);
  double begun_ms_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t downloaded_ ABSL_GUARDED_BY(mutex_) = 0;
  Nanoseconds downloading_ ABSL_GUARDED_BY(mutex_){0};
  uint64_t inference_ ABSL_GUARDED_BY(mutex_) = 0;  // the last one begun
  std::optional<ServerSaid> server_said_ ABSL_GUARDED_BY(mutex_);
  TimePoint answer_began_;  // of the reader thread: when a bulk's header came

  std::set<uint32_t> known_plans_;
  wire::ClientHandshake<SplitProtocol> handshake_;
  std::unique_ptr<link::Channel> channel_;
  std::unique_ptr<Outbound> outbound_;
};

}  // namespace wharf::split
