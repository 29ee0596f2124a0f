#include "wharf/wire/codec.h"

namespace wharf::wire {

absl::Status Decoder::Finish() const {
  if (!ok_) return DataLoss("message shorter than its fields");
  if (!in_.empty()) return DataLoss("{} bytes left over after a message's fields", in_.size());
  return absl::OkStatus();
}

}  // namespace wharf::wire
