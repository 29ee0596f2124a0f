// Arbitrary bytes as an incoming stream: the frame reader must not crash, overrun the handler's memory, take more
// memory than its limits allow, or deliver a frame that the bytes do not hold.
#include <array>
#include <cstdlib>

#include "wharf/link/frame_reader.h"
#include "wharf/link/testing.h"

namespace wharf::link {
namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

class Checker final : public FrameHandler {
 public:
  explicit Checker(const FrameLimits& limits) : limits_(limits) {}
  absl::StatusOr<std::span<std::byte>> BulkDestination(const FrameHeader& header, std::span<const std::byte>) override {
    Require(header.bulk_bytes > 0 && header.bulk_bytes <= limits_.max_bulk_bytes);
    placed_ = header.tag % 3 == 0;
    if (!placed_) return std::span<std::byte>();
    place_.resize(header.bulk_bytes);
    return std::span(place_);
  }
  absl::Status OnFrame(const FrameHeader& header, std::span<const std::byte> head,
                       std::vector<std::byte> bulk) override {
    Require(head.size() == header.head_bytes);
    if (header.bulk_bytes > 0) Require(bulk.size() == (placed_ ? 0 : header.bulk_bytes));
    bytes += kFrameHeaderBytes + header.head_bytes + header.bulk_bytes;
    // The header survives a trip of its own.
    std::array<std::byte, kFrameHeaderBytes> encoded;
    EncodeFrameHeader(header, encoded);
    Require(DecodeFrameHeader(encoded, limits_).ok());
    return absl::OkStatus();
  }
  void OnClosed(const absl::Status&) override {}
  size_t bytes = 0;

 private:
  const FrameLimits limits_;
  bool placed_ = false;
  std::vector<std::byte> place_;
};

void ReadFrames(std::span<const std::byte> bytes, size_t first_read) {
  FuzzStream stream(bytes, first_read, 8191);
  const FrameLimits limits{64 << 10, 4 << 20};
  FrameReader reader(stream, limits);
  Checker checker(limits);
  absl::Status status;
  while (status.ok()) status = reader.ReadFrame(checker, [] { return true; });
  Require(checker.bytes <= bytes.size());
}

}  // namespace
}  // namespace wharf::link

// The first byte sets the sizes of the reads, the rest is the stream.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 0) wharf::link::ReadFrames(std::as_bytes(std::span(data, size)).subspan(1), data[0]);
  return 0;
}
