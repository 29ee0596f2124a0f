#include "wharf/offload/handshake.h"

namespace wharf::offload {

absl::Status StatusOf(const Refusal& refusal) {
  switch (refusal.reason) {
    case RefusalReason::kUnauthenticated:
      return Unauthenticated("{}", refusal.message);
    case RefusalReason::kVersion:
    case RefusalReason::kNotOffered:
      return FailedPrecondition("{}", refusal.message);
    case RefusalReason::kMalformed:
      return InvalidArgument("{}", refusal.message);
    default:
      return Unavailable("{}", refusal.message);
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
