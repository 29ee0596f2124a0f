#include "wharf/split/runtime/rows_receiver.h"

#include <utility>

#include "wharf/split/codec/row_codec.h"

namespace wharf::split {

void RowsReceiver::Open(uint64_t inference, std::shared_ptr<Inbox> inbox, std::shared_ptr<Recorder> recorder) {
  inference_ = inference;
  inbox_ = std::move(inbox);
  recorder_ = std::move(recorder);
}

absl::Status RowsReceiver::Expect(const link::FrameHeader& header, std::span<const std::byte> head) {
  const auto rows = wire::Decode<RowsHead>(head);
  if (!rows.ok()) return InvalidArgument("rows without saying which");
  if (inbox_ == nullptr || header.tag != inference_) return InvalidArgument("rows of an inference that is not running");
  const auto next = inbox_->Next();
  if (!next.ok()) return InvalidArgument("{}", Message(next.status()));
  expected_ = *next;
  const exec::Rows& wanted = expected_.rows;
  if (rows->value != wanted.value || RowRange{rows->lo, rows->hi} != wanted.range) {
    return InvalidArgument("rows {} to {} of value {} came, the plan says {} to {} of value {}", rows->lo, rows->hi,
                           rows->value, wanted.range.lo, wanted.range.hi, wanted.value);
  }
  type_ = TypeOfRows(model_.Graph(), model_.View().rules, wanted);
  return CheckCodedBytes(type_, expected_.codec, header.bulk_bytes);
}

absl::StatusOr<std::span<std::byte>> RowsReceiver::BulkDestination(const link::FrameHeader& header,
                                                                   std::span<const std::byte> head) {
  WHARF_RETURN_IF_ERROR(Expect(header, head));
  began_ = clock_.Now();
  bytes_.resize(header.bulk_bytes);
  return std::span(bytes_);
}

absl::StatusOr<exec::TensorPtr> RowsReceiver::Decode() {
  WHARF_ASSIGN_OR_RETURN(bytes_, DecodeRows(type_, expected_.codec, std::move(bytes_)));
  return model_.Engine().MakeTensor(type_, bytes_);
}

absl::StatusOr<Arrival> RowsReceiver::OnRows(const link::FrameHeader& header, std::span<const std::byte> head) {
  WHARF_RETURN_IF_ERROR(Expect(header, head));  // a tensor may have no bytes: then nobody asked where they go
  const TimePoint ended = clock_.Now();
  if (header.bulk_bytes == 0) bytes_.clear(), began_ = ended;
  recorder_->AddCoded(expected_.rows.value, type_.Bytes(), header.bulk_bytes);
  WHARF_ASSIGN_OR_RETURN(arrived_, slow_down_.Around([this] { return Decode(); }));
  recorder_->Add(resource_, expected_.op, expected_.rows.range, began_, ended, header.bulk_bytes);
  const auto since_start = [&](TimePoint t) { return static_cast<uint64_t>((t - recorder_->Start()).count()); };
  return Arrival{header.bulk_bytes, since_start(began_), since_start(ended)};
}

void RowsReceiver::Deliver() { inbox_->Put(std::move(arrived_)); }

}  // namespace wharf::split
