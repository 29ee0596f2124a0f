// IncomingBulk: the bulk of a frame whose meaning is known only when the frame's records have been followed. Until then
// it stays as it came, so that nothing is made of it but what the operation that takes it expects.
#pragma once

#include <utility>
#include <vector>

#include "wharf/offload/bulk/bulk_decoder.h"

namespace wharf::offload {

class IncomingBulk {
 public:
  // As it is.
  IncomingBulk(std::vector<std::byte> bytes) : bytes_(std::move(bytes)) {}  // NOLINT: what it is mostly
  // `decoder` outlives it.
  IncomingBulk(std::vector<std::byte> bytes, const BulkCoding& coding, BulkDecoder* decoder)
      : bytes_(std::move(bytes)), coding_(coding), decoder_(decoder) {}

  size_t size() const { return bytes_.size(); }
  bool empty() const { return bytes_.empty(); }
  // The payload for `place`; then it is empty. kDataLoss: it is no such payload.
  absl::StatusOr<std::vector<std::byte>> Take(const Place& place) {
    std::vector<std::byte> bytes = std::exchange(bytes_, {});
    if (decoder_ != nullptr) return decoder_->Decode(coding_, place, std::move(bytes));
    WHARF_RETURN_IF_ERROR(CheckCodedSize({}, bytes.size(), place.bytes));
    return bytes;
  }

 private:
  std::vector<std::byte> bytes_;
  BulkCoding coding_;
  BulkDecoder* decoder_ = nullptr;
};

}  // namespace wharf::offload
