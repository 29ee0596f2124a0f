// Channel: ordered frames over a ByteStream (TCP, TLS, Unix socket, in memory). docs/protocol.md, "Frames".
//
// A frame is a fixed header, a small head (encoded fields) and an optional bulk part (tensor bytes). Bulk is written
// from the caller's memory and read into the handler's; only the first few KiB, which arrive together with the header,
// pass through the channel's own buffer, and what a sender asks to have copied.
//
// A sender that finds the stream free writes its frame itself, which saves a change of threads. What is sent while a
// write is under way, or what the stream does not take at once, is queued for the channel's writer thread and leaves in
// as few system calls as possible. The queue is bounded: a sender waits when it is full.
//
// After fork() the child's copy of a channel is dead: Send says so, and destroying it leaves the parent's connection
// alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/functional/function_ref.h"
#include "wharf/base/clock.h"
#include "wharf/base/status.h"
#include "wharf/link/byte_stream.h"

namespace wharf::link {

struct FrameHeader {
  uint16_t kind = 0;   // meaning belongs to the user of the channel
  uint16_t flags = 0;  // as well
  uint32_t head_bytes = 0;
  uint32_t bulk_bytes = 0;
  uint64_t tag = 0;  // request id or sequence number
};
// On the wire: u32 magic 'WHF1', u16 kind, u16 flags, u32 head_bytes, u32 bulk_bytes, u64 tag; little-endian.
inline constexpr size_t kFrameHeaderBytes = 24;
inline constexpr uint32_t kFrameMagic = 0x31464857;

struct FrameLimits {
  uint32_t max_head_bytes = 1 << 20;
  uint32_t max_bulk_bytes = 64 << 20;
};

// kDataLoss if the magic is wrong, kResourceExhausted beyond the limits. REQUIRES: bytes.size() == kFrameHeaderBytes.
absl::StatusOr<FrameHeader> DecodeFrameHeader(std::span<const std::byte> bytes, const FrameLimits& limits);
void EncodeFrameHeader(const FrameHeader& header, std::span<std::byte, kFrameHeaderBytes> out);

// Called on the channel's reader thread, or on a thread in ReadHere, one call at a time.
class FrameHandler {
 public:
  virtual ~FrameHandler() = default;
  // Where the bulk part of this frame goes; exactly header.bulk_bytes long, or empty to have the channel allocate a
  // vector. Only called if bulk_bytes > 0. An error closes the channel.
  virtual absl::StatusOr<std::span<std::byte>> BulkDestination(const FrameHeader& header,
                                                               std::span<const std::byte> head) = 0;
  // A whole frame. `bulk` is empty if BulkDestination gave a place. An error closes the channel. While this runs
  // nothing more is read: that is the flow control towards the peer.
  virtual absl::Status OnFrame(const FrameHeader& header, std::span<const std::byte> head,
                               std::vector<std::byte> bulk) = 0;
  // Last call: the peer closed (kUnavailable "closed by peer"), an error, or our own Close (kAborted).
  virtual void OnClosed(const absl::Status& why) = 0;
};

enum class BulkOwnership {
  kCopy,    // the bytes are copied before Send returns
  kBorrow,  // Send returns when the bytes have been handed to the stream; no copy
};

enum class Urgency {
  kNow,   // leaves as soon as the stream takes it
  kSoon,  // may wait for company: leaves with the next kNow frame or Flush, at 16 KiB, or after ChannelOptions::linger
};

struct ChannelOptions {
  FrameLimits limits;  // of both directions
  size_t send_queue_bytes = 8 << 20;
  Nanoseconds linger = std::chrono::microseconds(100);  // how long a kSoon frame may wait
};

struct ChannelStats {
  uint64_t frames_sent = 0, frames_received = 0;
  uint64_t bytes_sent = 0, bytes_received = 0;  // on the stream, headers included
};

// Thread-safe.
class Channel {
 public:
  // Takes the stream. Nothing is read before Start.
  static std::unique_ptr<Channel> Create(std::unique_ptr<ByteStream> stream, ChannelOptions options = {});
  // Stops.
  virtual ~Channel() = default;

  // `handler` must outlive the channel.
  virtual void Start(FrameHandler* handler) = 0;
  // The closing status once closed. Waits while the queue is full. Safe to call from a handler (then it never waits).
  // kInvalidArgument beyond the limits. From a handler kBorrow may copy.
  virtual absl::Status Send(uint16_t kind, uint64_t tag, std::span<const std::byte> head,
                            std::span<const std::byte> bulk = {}, BulkOwnership ownership = BulkOwnership::kCopy,
                            Urgency urgency = Urgency::kNow, uint16_t flags = 0) = 0;
  // Reads frames on the calling thread, in the place of the reader thread, which saves a change of threads to somebody
  // who waits for an answer: until `done`, asked before each frame, or nothing has come for `limit`, or the channel is
  // closed. False at once if that cannot be, because somebody else is reading, or the stream is none that can be waited
  // for, or this is a handler. After the last such call the reader thread takes a millisecond to take over.
  virtual bool ReadHere(absl::FunctionRef<bool()> done, Nanoseconds limit) = 0;
  // Waits until everything sent so far was handed to the stream. From a handler it only starts that.
  virtual absl::Status Flush() = 0;
  // Closes. Idempotent; OnClosed is called once. With a drain: writes what is queued, tells the peer that this is the
  // end, and waits for it to close its side too, at most `drain` long in all, so that what it has not read yet is not
  // lost to a reset; what it still sends is dropped.
  virtual void Close(Nanoseconds drain = {}) = 0;
  // Closes, and returns when no handler runs any more. Idempotent; not from within a handler, and by one thread at a
  // time. A handler that owns its channel calls this before anything that its calls use goes, its pointer to the
  // channel included: std::unique_ptr::reset() clears the pointer first and waits for the last call afterwards.
  virtual void Stop() = 0;
  virtual ChannelStats Stats() const = 0;
  virtual ByteStream& Stream() = 0;
};

}  // namespace wharf::link
