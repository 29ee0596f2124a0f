#include "wharf/link/frame_reader.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace wharf::link {
namespace {

// Large enough to take a few hundred small frames in one system call, small against a bulk.
constexpr size_t kBufferBytes = 16 << 10;
// A header may claim this much memory at once; more is taken only as bytes arrive.
constexpr size_t kTrustedBytes = 1 << 20;

}  // namespace

FrameReader::FrameReader(ByteStream& stream, const FrameLimits& limits)
    : stream_(stream), limits_(limits), buffer_(new std::byte[kBufferBytes]) {}

absl::Status FrameReader::ReadFrameIf(FrameHandler& handler, bool (*deliver)(const void*), const void* argument) {
  FrameHeader header;
  WHARF_RETURN_IF_ERROR(ReadHeader(header));
  WHARF_ASSIGN_OR_RETURN(std::span<const std::byte> head, ReadHead(header));
  std::vector<std::byte> bulk;
  if (header.bulk_bytes > 0) {
    if (head.data() != head_.data()) {  // the bulk may overwrite the buffer
      head_.assign(head.begin(), head.end());
      head = head_;
    }
    if (!deliver(argument)) return Drop(header.bulk_bytes);
    WHARF_ASSIGN_OR_RETURN(const std::span<std::byte> place, handler.BulkDestination(header, head));
    if (!place.empty() && place.size() != header.bulk_bytes) {
      return Internal("place for {} bytes given to a bulk of {}", place.size(), header.bulk_bytes);
    }
    WHARF_RETURN_IF_ERROR(place.empty() ? ReadGrowing(bulk, header.bulk_bytes) : ReadExactly(place));
  }
  frames_.fetch_add(1, std::memory_order_relaxed);
  if (!deliver(argument)) return absl::OkStatus();
  return handler.OnFrame(header, head, std::move(bulk));
}

bool FrameReader::HasFrame() const {
  if (end_ - begin_ < kFrameHeaderBytes) return false;
  const absl::StatusOr<FrameHeader> header = DecodeFrameHeader({buffer_.get() + begin_, kFrameHeaderBytes}, limits_);
  return !header.ok() || end_ - begin_ >= kFrameHeaderBytes + uint64_t{header->head_bytes} + header->bulk_bytes;
}

absl::Status FrameReader::ReadHeader(FrameHeader& header) {
  if (begin_ == end_) {
    begin_ = end_ = 0;
    WHARF_ASSIGN_OR_RETURN(end_, ReadStream({buffer_.get(), kBufferBytes}));
    if (end_ == 0) return Unavailable("closed by peer");
  }
  WHARF_RETURN_IF_ERROR(Fill(kFrameHeaderBytes));
  WHARF_ASSIGN_OR_RETURN(header, DecodeFrameHeader({buffer_.get() + begin_, kFrameHeaderBytes}, limits_));
  begin_ += kFrameHeaderBytes;
  return absl::OkStatus();
}

absl::StatusOr<std::span<const std::byte>> FrameReader::ReadHead(const FrameHeader& header) {
  if (header.head_bytes <= kBufferBytes) {
    WHARF_RETURN_IF_ERROR(Fill(header.head_bytes));
    const std::span<const std::byte> head(buffer_.get() + begin_, header.head_bytes);
    begin_ += header.head_bytes;
    return head;
  }
  WHARF_RETURN_IF_ERROR(ReadGrowing(head_, header.head_bytes));
  return std::span<const std::byte>(head_);
}

absl::Status FrameReader::Fill(size_t wanted) {
  if (end_ - begin_ >= wanted) return absl::OkStatus();
  std::memmove(buffer_.get(), buffer_.get() + begin_, end_ - begin_);
  end_ -= std::exchange(begin_, 0);
  while (end_ < wanted) {
    WHARF_ASSIGN_OR_RETURN(const size_t count, ReadStream({buffer_.get() + end_, kBufferBytes - end_}));
    if (count == 0) return Unavailable("closed by peer in the middle of a frame");
    end_ += count;
  }
  return absl::OkStatus();
}

absl::Status FrameReader::ReadExactly(std::span<std::byte> into) {
  const size_t buffered = std::min(into.size(), end_ - begin_);
  std::memcpy(into.data(), buffer_.get() + begin_, buffered);
  begin_ += buffered;
  into = into.subspan(buffered);
  while (into.size() >= kBufferBytes) {
    WHARF_ASSIGN_OR_RETURN(const size_t count, ReadStream(into));
    if (count == 0) return Unavailable("closed by peer in the middle of a frame");
    into = into.subspan(count);
  }
  if (into.empty()) return absl::OkStatus();
  // The end goes through the buffer, so that one system call can bring the next frames along.
  WHARF_RETURN_IF_ERROR(Fill(into.size()));
  std::memcpy(into.data(), buffer_.get() + begin_, into.size());
  begin_ += into.size();
  return absl::OkStatus();
}

absl::Status FrameReader::ReadGrowing(std::vector<std::byte>& into, size_t size) {
  into.clear();
  while (into.size() < size) {
    const size_t have = into.size();
    // At most as much again as has arrived already.
    const size_t step = std::min(size - have, std::max(kTrustedBytes, have));
    into.reserve(have + step);
    into.resize(have + step);
    WHARF_RETURN_IF_ERROR(ReadExactly(std::span(into).subspan(have)));
  }
  return absl::OkStatus();
}

absl::Status FrameReader::Drop(size_t size) {
  while (size > 0) {
    const size_t part = std::min(size, kBufferBytes);
    WHARF_RETURN_IF_ERROR(Fill(part));
    begin_ += part;
    size -= part;
  }
  return absl::OkStatus();
}

void FrameReader::DropRest() {
  while (ReadStream({buffer_.get(), kBufferBytes}).value_or(0) > 0) {
  }
}

absl::StatusOr<size_t> FrameReader::ReadStream(std::span<std::byte> into) {
  WHARF_ASSIGN_OR_RETURN(const size_t count, stream_.Read(into));
  bytes_.fetch_add(count, std::memory_order_relaxed);
  return count;
}

}  // namespace wharf::link
