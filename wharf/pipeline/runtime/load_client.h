// LoadClient: sends requests as a crowd of users would, and counts how they were answered.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "wharf/pipeline/dataplane/scheduler.h"
#include "wharf/pipeline/runtime/messages.h"
#include "wharf/pipeline/runtime/peer_access.h"

namespace wharf::pipeline {

// One of them.
struct SentRequest {
  double sent_s = 0;                                          // since the load began
  std::optional<Fate> fate;                                   // nothing: no answer came
  double latency_ms = 0;                                      // of the answer
  double queued_ms = 0, computed_ms = 0, transferred_ms = 0;  // of it, by the server (scheduler.h, RequestRecord)
};

// How the requests of one load ended, as the client saw it.
struct LoadResult {
  uint64_t sent = 0;
  std::array<uint64_t, kFates> fates{};  // by Fate, as the server says
  uint64_t unanswered = 0;               // the connection was lost, or the server says nothing
  std::vector<double> latency_ms;        // of each request that was computed: from sending to the answer, sorted
  double seconds = 0;                    // requests came for so long
  std::vector<SentRequest> requests;     // in the order of sending
  uint64_t Of(Fate fate) const { return fates[static_cast<size_t>(fate)]; }
  double Attainment() const {
    return sent == 0 ? 1 : static_cast<double>(Of(Fate::kOnTime)) / static_cast<double>(sent);
  }
};

struct LoadOptions {
  std::string model;  // "": the first
  double rate = 10;   // requests/s
  double seconds = 10;
  uint64_t seed = 1;  // of arrivals
};

// One connection. Run is for one thread at a time.
class LoadClient final : private link::FrameHandler {
 public:
  // The first way in is tried again: link::TryAgain. Fails as link::Connect, and with what the server says.
  static absl::StatusOr<std::unique_ptr<LoadClient>> Open(const std::string& address, const PeerAccess& access);
  ~LoadClient() override;

  // In the server's order.
  const std::vector<ModelEntry>& Models() const { return models_; }
  // Poisson arrivals (PoissonArrivals), whatever is answered meanwhile; then waits for the answers, ten SLOs and a
  // second longer at most. kNotFound: no such model.
  absl::StatusOr<LoadResult> Run(const LoadOptions& options);
  // One request: the outputs. kDeadlineExceeded if it was dropped.
  absl::StatusOr<std::vector<std::byte>> Ask(const std::string& model, const std::vector<std::byte>& input);

 private:
  static absl::StatusOr<std::unique_ptr<LoadClient>> OpenOnce(const std::string& address, const PeerAccess& access);
  struct Pending {
    TimePoint sent;
    bool answered = false;
    double latency_ms = 0;
    ModelResponse response;
    std::vector<std::byte> outputs;
  };
  absl::StatusOr<std::span<std::byte>> BulkDestination(const link::FrameHeader& header,
                                                       std::span<const std::byte> head) override;
  absl::Status OnFrame(const link::FrameHeader& header, std::span<const std::byte> head,
                       std::vector<std::byte> bulk) override;
  void OnClosed(const absl::Status& why) override;
  absl::Status AwaitModels();
  absl::Status SendRequest(const std::string& model, const std::vector<std::byte>& input, uint64_t& tag);
  // Until all are answered, the time is up or the connection is lost.
  void AwaitAnswers(Nanoseconds timeout);
  LoadResult Summary(double seconds, TimePoint start);

  std::vector<ModelEntry> models_;
  uint64_t next_tag_ = 0;
  absl::Mutex mutex_;
  bool has_models_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status closed_ ABSL_GUARDED_BY(mutex_);
  std::map<uint64_t, Pending> pending_ ABSL_GUARDED_BY(mutex_);
  uint64_t unanswered_ ABSL_GUARDED_BY(mutex_) = 0;
  wire::ClientHandshake<PipelineProtocol> handshake_;
  std::unique_ptr<link::Channel> channel_;
};

}  // namespace wharf::pipeline
