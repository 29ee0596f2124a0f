#include "wharf/offload/replay/progress.h"

namespace wharf::offload {
namespace {

constexpr size_t kRangeOverhead = 2;  // offset and length

}  // namespace

void ProgressWriter::Put(uint64_t value) {
  while (value >= 0x80) {
    bytes_.push_back(static_cast<std::byte>(value | 0x80));
    value >>= 7;
  }
  bytes_.push_back(static_cast<std::byte>(value));
}

void ProgressWriter::CloseRun() {
  if (run_ == 0) return;
  Put(RecordKind::kRun);
  Put(run_);
  run_ = 0;
}

void ProgressWriter::Lane(uint64_t lane) {
  CloseRun();
  Put(RecordKind::kLane);
  Put(lane);
}

void ProgressWriter::Known(OperationId operation, uint64_t distance) {
  CloseRun();
  Put(RecordKind::kKnown);
  Put(uint64_t{operation});
  Put(distance);
}

void ProgressWriter::Variant(OperationId of, std::span<const ChangedRange> changes) {
  CloseRun();
  Put(RecordKind::kVariant);
  Put(uint64_t{of});
  Put(uint64_t{changes.size()});
  for (const ChangedRange& change : changes) {
    Put(uint64_t{change.offset});
    Put(uint64_t{change.bytes.size()});
    bytes_.insert(bytes_.end(), change.bytes.begin(), change.bytes.end());
  }
}

void ProgressWriter::Forget() {
  CloseRun();
  Put(RecordKind::kForget);
}

void ProgressWriter::Wait() {
  CloseRun();
  Put(RecordKind::kWait);
}

void ProgressWriter::Fresh() {
  CloseRun();
  Put(RecordKind::kFresh);
}

const std::vector<std::byte>& ProgressWriter::Bytes() {
  CloseRun();
  return bytes_;
}

void ProgressWriter::Clear() {
  bytes_.clear();
  run_ = 0;
}

std::optional<uint64_t> ProgressReader::Number() {
  uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (bytes_.empty()) return std::nullopt;
    const auto byte = static_cast<uint64_t>(bytes_.front());
    bytes_ = bytes_.subspan(1);
    value |= (byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

absl::Status ProgressReader::Next(ProgressRecord& record) {
  record.kind = static_cast<RecordKind>(bytes_.front());
  record.value = record.distance = 0;
  record.changes.clear();
  bytes_ = bytes_.subspan(1);
  if (record.kind == RecordKind::kForget || record.kind == RecordKind::kWait || record.kind == RecordKind::kFresh) {
    return absl::OkStatus();
  }
  if (record.kind < RecordKind::kLane || record.kind > RecordKind::kVariant) {
    return DataLoss("a progress record of unknown kind {}", static_cast<int>(record.kind));
  }
  const std::optional<uint64_t> value = Number();
  if (!value) return DataLoss("a progress record is cut short");
  record.value = *value;
  if (record.kind == RecordKind::kVariant) return Changes(record);
  if (record.kind != RecordKind::kKnown) return absl::OkStatus();
  const std::optional<uint64_t> distance = Number();
  if (!distance) return DataLoss("a progress record is cut short");
  record.distance = *distance;
  return absl::OkStatus();
}

absl::Status ProgressReader::Changes(ProgressRecord& record) {
  const std::optional<uint64_t> count = Number();
  if (!count || *count > bytes_.size()) return DataLoss("a variant is cut short");
  for (uint64_t i = 0; i < *count; ++i) {
    const std::optional<uint64_t> offset = Number();
    const std::optional<uint64_t> length = Number();
    if (!offset || !length || *length > bytes_.size() || *offset > UINT32_MAX) {
      return DataLoss("a variant is cut short");
    }
    record.changes.push_back({static_cast<uint32_t>(*offset), bytes_.first(*length)});
    bytes_ = bytes_.subspan(*length);
  }
  return absl::OkStatus();
}

void FindChanges(std::span<const std::byte> from, std::span<const std::byte> to, std::vector<ChangedRange>& changes) {
  changes.clear();
  size_t at = 0;
  while (at < to.size()) {
    if (from[at] == to[at]) {
      ++at;
      continue;
    }
    const size_t begin = at;
    size_t end = at + 1;  // behind the last byte that differs
    for (size_t i = end; i < to.size() && i <= end + kRangeOverhead; ++i) {
      if (from[i] != to[i]) end = i + 1;
    }
    changes.push_back({static_cast<uint32_t>(begin), to.subspan(begin, end - begin)});
    at = end;
  }
}

}  // namespace wharf::offload
