#include "wharf/offload/handshake.h"

namespace wharf::offload {

absl::Status StatusOf(const Refusal& refusal) {
  const std::string said = wire::LineOf(refusal.message);
  switch (refusal.reason) {
    case RefusalReason::kUnauthenticated:
      return Unauthenticated("{}", said);
    case RefusalReason::kVersion:
    case RefusalReason::kNotOffered:
      return FailedPrecondition("{}", said);
    case RefusalReason::kMalformed:
      return InvalidArgument("{}", said);
    default:
      return Unavailable("{}", said);
  }
}

RefusalReason ReasonOf(const absl::Status& why) {
  switch (why.code()) {
    case absl::StatusCode::kUnauthenticated:
      return RefusalReason::kUnauthenticated;
    case absl::StatusCode::kFailedPrecondition:
      return RefusalReason::kVersion;
    default:
      return RefusalReason::kMalformed;
  }
}

}  // namespace wharf::offload
