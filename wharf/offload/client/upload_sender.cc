#include "wharf/offload/client/upload_sender.h"

#include "wharf/offload/wire_codec.h"

namespace wharf::offload {

absl::Status UploadSender::Send(const UploadFrame& frame, const UploadOperation& operation,
                                std::span<const std::byte> bulk) {
  const bool may_be_coded =
      bulk.size() > kLeastCodedBytes && compression_.load(std::memory_order_relaxed) != Compression::kOff;
  if (!may_be_coded) return channel_->Send(frame.kind, frame.tag, frame.head, bulk, frame.ownership, frame.urgency);
  absl::MutexLock lock(&mutex_);
  const EncodedBulk coded = Encode(operation, bulk);
  return channel_->Send(frame.kind, frame.tag, frame.head, coded.bytes, frame.ownership, frame.urgency, coded.flags);
}

EncodedBulk UploadSender::Encode(const UploadOperation& operation, std::span<const std::byte> bulk) {
  const bool always = compression_.load(std::memory_order_relaxed) == Compression::kAlways;
  const double rate = always ? kAlwaysBitsPerSecond : estimator_->Estimate().up_bits_per_second;
  if (operation.number == CopyToDevice::kNumber) {
    const absl::StatusOr<CopyToDevice> copy = Decode<CopyToDevice>(operation.head);
    if (copy.ok()) return encoder_.Encode({copy->to.address, bulk.size()}, BulkEncoder::Memory::kPlaces, bulk, rate);
  }
  return encoder_.Encode({0, bulk.size()}, BulkEncoder::Memory::kNone, bulk, rate);  // an image: there is none like it
}

}  // namespace wharf::offload
