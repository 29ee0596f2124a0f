#include "wharf/offload/bulk/bulk_coding.h"

namespace wharf::offload {

absl::StatusOr<BulkCoding> CodingOf(uint16_t flags) {
  const unsigned codec = flags & 0xfu;
  BulkCoding coding{static_cast<Codec>(codec), (flags & 0x10u) != 0, (flags & 0x20u) != 0, (flags & 0x40u) != 0};
  const bool known = codec <= static_cast<unsigned>(Codec::kZstd) && (flags & ~0x7fu) == 0;
  const bool fits = (!coding.difference || coding.codec != Codec::kNone) && (!coding.latest || coding.difference);
  if (!known || !fits) return DataLoss("no coding has flags {:#x}", flags);
  return coding;
}

}  // namespace wharf::offload
