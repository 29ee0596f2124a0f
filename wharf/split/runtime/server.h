// SplitServerSession: the server's end of split inference: one client on one stream. docs/protocol.md, "Split
// sessions".
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "wharf/link/channel.h"
#include "wharf/split/profiler/profiler.h"
#include "wharf/split/runtime/model_store.h"
#include "wharf/split/runtime/outbound.h"
#include "wharf/split/runtime/rows_receiver.h"

namespace wharf::split {

struct ServerConfig {
  ModelStore* models = nullptr;  // shared with other sessions; must outlive them
  // What is known of this machine's speed with a model, as JSON; null: nothing. Called on the computing thread; may
  // take long, but ends soon after `go_on` fails: the client has gone, or `max_setup` has passed.
  std::function<absl::StatusOr<std::string>(const Model& model, const Sha256& hash, const GoOn& go_on)> machine;
  // For the model to be loaded, and again for the machine to be measured; a client waits for 60 s.
  Nanoseconds max_setup = std::chrono::seconds(55);
  // For all plans of a session together to be checked and compiled: some milliseconds each, but of a model made for it
  // one can take hours.
  Nanoseconds max_planning = std::chrono::seconds(60);
  uint64_t max_model_bytes = uint64_t{1} << 30;
  ResumeTicket ticket;              // that the client is given
  std::function<void()> on_closed;  // the session is over; on a thread of the session's, perhaps twice; must not block
  Clock* clock = &Clock::Real();
};

// What a session has done so far.
struct ServerReport {
  uint64_t inferences = 0;                      // computed to their end
  uint64_t bytes_received = 0, bytes_sent = 0;  // headers included
  Nanoseconds computing{0};
};

// Whoever connects is served: who may is for others to judge before, by the Hello's token.
// Reading happens on the channel's reader thread; loading the model, measuring and computing on one of the session's
// own, so that a client that goes is noticed whatever it has asked for; sending on another.
class SplitServerSession final : private link::FrameHandler {
 public:
  SplitServerSession(std::unique_ptr<link::ByteStream> stream, ServerConfig config);
  // Closes it. Waits for the computation that runs: for its operator, or for the loading of the model.
  ~SplitServerSession() override;

  // Until the session is over: why. kUnavailable: the client left; otherwise what it was told.
  absl::Status Wait();
  // Tells the client why and ends the session, if it is not over yet; from any thread. Returns `why`.
  absl::Status End(const absl::Status& why);
  // The same, but not in the middle of an inference. Does not wait.
  void EndBetweenInferences(const absl::Status& why);
  ServerReport Report();
  // It is over because the connection ended, without a word from either side: the client may come back.
  bool ClientVanished();

 private:
  // What has to be done before there can be inferences.
  using Setup = std::function<absl::Status(const GoOn& go_on)>;
  struct Job {
    uint64_t inference = 0;
    std::shared_ptr<const SideSteps> steps;
    std::shared_ptr<Inbox> inbox;
    std::shared_ptr<Recorder> recorder;
    std::vector<Arrival> arrivals;  // the session's mutex guards it
  };

  absl::StatusOr<std::span<std::byte>> BulkDestination(const link::FrameHeader& header,
                                                       std::span<const std::byte> head) override;
  absl::Status OnFrame(const link::FrameHeader& header, std::span<const std::byte> head,
                       std::vector<std::byte> bulk) override;
  void OnClosed(const absl::Status& why) override;

  absl::Status CheckBulk(const link::FrameHeader& header) const;
  absl::Status Handle(const link::FrameHeader& header, std::span<const std::byte> head,
                      std::span<const std::byte> bulk);
  absl::Status HandleRunning(const link::FrameHeader& header, std::span<const std::byte> head);
  absl::Status OnHello(const link::FrameHeader& header, std::span<const std::byte> head);
  absl::Status OnGoodbye();
  absl::Status OnOpenModel(std::span<const std::byte> head);
  absl::Status OnModelPiece(std::span<const std::byte> piece);
  absl::Status UseModel(std::shared_ptr<const Model> model);
  void TakePrepared();
  absl::Status OnAskMachine();
  absl::Status OnProbe(std::span<const std::byte> bulk);
  absl::Status OnPlan(std::span<const std::byte> head);
  absl::Status AddPlan(const PlanMessage& message);
  absl::Status OnBegin(const link::FrameHeader& header, std::span<const std::byte> head);
  absl::Status OnRows(const link::FrameHeader& header, std::span<const std::byte> head);
  // Has it done on the computing thread. kInvalidArgument: what was asked before has not begun.
  absl::Status Prepare(Setup setup);
  // The next of either, a null one beside it; false: there will be none.
  bool TakeWork(Setup& setup, std::shared_ptr<Job>& job);
  void ComputeLoop();
  absl::Status RunSetup(const Setup& setup);
  // Ends the session by `too_long` when `work` does not end in time, and goes on waiting for it. What is over because
  // an operator takes so long, or a plan, cannot be helped from here, but whoever runs the session may end the process.
  absl::Status Watched(Nanoseconds limit, const absl::Status& too_long, const std::function<absl::Status()>& work);
  absl::Status ComputeOne(Job& job);

  const ServerConfig config_;
  // Of the reader thread.
  wire::ServerHandshake<SplitProtocol> handshake_;
  bool opened_ = false;               // it has named its model
  std::optional<OpenModel> awaited_;  // a model that is being sent
  std::vector<std::byte> pieces_;
  std::shared_ptr<const Model> model_;
  std::optional<RowsReceiver> receiver_;
  std::map<uint32_t, std::shared_ptr<const SideSteps>> plans_;
  size_t plan_bytes_ = 0;
  Nanoseconds planning_{0};  // taken so far
  int probes_ = 0;
  Sha256 hash_{};

  absl::Mutex mutex_;
  Setup setup_ ABSL_GUARDED_BY(mutex_);  // to be done
  // For the reader thread to take: the model, or that it must be sent.
  std::shared_ptr<const Model> loaded_ ABSL_GUARDED_BY(mutex_);
  std::optional<OpenModel> wanted_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<Job> next_ ABSL_GUARDED_BY(mutex_), current_ ABSL_GUARDED_BY(mutex_);
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status end_soon_ ABSL_GUARDED_BY(mutex_);  // why, once the inference that is under way is done
  uint64_t inferences_ ABSL_GUARDED_BY(mutex_) = 0;
  Nanoseconds computing_time_ ABSL_GUARDED_BY(mutex_){0};
  std::optional<absl::Status> closed_ ABSL_GUARDED_BY(mutex_);  // the channel said its last word
  bool client_left_ ABSL_GUARDED_BY(mutex_) = false;            // it said Goodbye
  absl::Status why_ ABSL_GUARDED_BY(mutex_);                    // what the client was told, if anything

  std::unique_ptr<link::Channel> channel_;
  std::unique_ptr<Outbound> outbound_;
  std::thread computing_;
};

}  // namespace wharf::split
