// RequestFrontend: where clients bring requests for the models that are served. docs/protocol.md, "Pipelines".
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "wharf/link/session_list.h"
#include "wharf/pipeline/runtime/pipeline_server.h"

namespace wharf::pipeline {

class RequestSession;

struct RequestFrontendConfig {
  PipelineServer* server = nullptr;  // must outlive it
  wire::ClientCheck check;
  size_t max_sessions = 256;
  size_t max_unread_bytes = size_t{256} << 20;  // of answers to a client that does not read: then it is sent away
  // Of a client's requests that are not answered: then no more of it is read until some are.
  size_t max_unanswered = 4096, max_unanswered_bytes = size_t{256} << 20;
};

// Thread-safe.
class RequestFrontend {
 public:
  explicit RequestFrontend(RequestFrontendConfig config);
  // Ends all sessions; what they asked for is computed for nothing.
  ~RequestFrontend();
  void Accept(std::unique_ptr<link::ByteStream> stream);

 private:
  const RequestFrontendConfig config_;
  std::atomic<ClientId> last_client_ = 0;
  link::SessionList<RequestSession> sessions_;
};

}  // namespace wharf::pipeline
