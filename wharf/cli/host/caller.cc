#include "wharf/cli/host/caller.h"

#include <utility>

#include "wharf/cli/host/packets.h"

namespace wharf::cli {

void Caller::Begin(uint64_t id, AfterError after_error) {
  id_ = id;
  after_error_ = after_error;
  stopped_ = absl::OkStatus();
}

absl::StatusOr<CalledRequest> Caller::Call(nlohmann::json call) {
  WHARF_RETURN_IF_ERROR(stopped_);
  const nlohmann::json said = {{"id", id_}, {"call", std::move(call)}, {"dropped", TakeDropped()}};
  stopped_ = SendPacket(socket_, said.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  WHARF_RETURN_IF_ERROR(stopped_);
  absl::StatusOr<std::optional<std::string>> packet = ReceivePacket(socket_, kMaxRequestBytes);
  if (packet.ok() && !*packet) packet = Unavailable("the program has gone");
  stopped_ = packet.status();
  WHARF_RETURN_IF_ERROR(stopped_);
  const absl::StatusOr<Request> request = ParseRequest(**packet);
  const auto* const called = request.ok() ? std::get_if<CalledRequest>(&request->what) : nullptr;
  if (called == nullptr || request->id != id_) {
    unserved_ = **std::move(packet);
    return stopped_ = absl::CancelledError("the program does not wait for this any more");
  }
  if (called->error.empty()) return *called;
  const absl::Status failed = Aborted("{}", called->error);
  if (after_error_ == AfterError::kStop) stopped_ = failed;
  return failed;
}

}  // namespace wharf::cli
