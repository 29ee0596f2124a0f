#include "wharf/device/soft/jit/compile_wire.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <span>

#include "wharf/link/prefixed_stream.h"

namespace wharf::device::soft {
namespace {

// Followed by the module's text and the kernel's name.
struct RequestHead {
  uint64_t text_bytes = 0, kernel_bytes = 0;
  uint32_t block[3] = {0, 0, 0};
  uint32_t checks = 0;
};
// Followed by the text.
struct ReplyHead {
  int32_t error = 0;
  uint32_t unused = 0;
  uint64_t bytes = 0;
};

absl::Status ReadAll(link::ByteStream& stream, std::span<std::byte> into) {
  WHARF_ASSIGN_OR_RETURN(const size_t got, link::ReadUpTo(stream, into));
  return got == into.size() ? absl::OkStatus() : Unavailable("the other process is gone");
}

template <typename T>
absl::StatusOr<T> ReadHead(link::ByteStream& stream) {
  std::array<std::byte, sizeof(T)> bytes;
  WHARF_RETURN_IF_ERROR(ReadAll(stream, bytes));
  T value;
  std::memcpy(&value, bytes.data(), sizeof(T));
  return value;
}

absl::StatusOr<std::string> ReadText(link::ByteStream& stream, uint64_t bytes) {
  constexpr uint64_t kPiece = 1 << 20;
  std::string text;
  while (text.size() < bytes) {
    const size_t before = text.size();
    text.resize(before + std::min<uint64_t>(kPiece, bytes - before));
    WHARF_RETURN_IF_ERROR(ReadAll(stream, std::as_writable_bytes(std::span(text).subspan(before))));
  }
  return text;
}

template <typename T>
absl::Status Send(link::ByteStream& stream, const T& head, std::string_view first, std::string_view second = {}) {
  const std::span<const std::byte> pieces[] = {std::as_bytes(std::span(&head, 1)), std::as_bytes(std::span(first)),
                                               std::as_bytes(std::span(second))};
  return stream.Write(pieces);
}

// Zeros, or of no more threads than a block may have.
bool IsBlock(const uint32_t (&block)[3]) {
  constexpr uint32_t kMost = 1024;
  if (block[0] == 0 && block[1] == 0 && block[2] == 0) return true;
  uint64_t threads = 1;
  for (const uint32_t extent : block) {
    if (extent == 0 || extent > kMost) return false;
    threads *= extent;
  }
  return threads <= kMost;
}

}  // namespace

absl::Status SendRequest(link::ByteStream& stream, std::string_view text, std::string_view kernel, const Dim3& block,
                         check::Checks checks) {
  const RequestHead head{
      .text_bytes = text.size(), .kernel_bytes = kernel.size(), .block = {block.x, block.y, block.z}, .checks = checks};
  return Send(stream, head, text, kernel);
}

absl::Status SendReply(link::ByteStream& stream, int32_t error, std::string_view text) {
  return Send(stream, ReplyHead{.error = error, .bytes = text.size()}, text);
}

absl::StatusOr<CompileRequest> ReadRequest(link::ByteStream& stream) {
  WHARF_ASSIGN_OR_RETURN(const RequestHead head, ReadHead<RequestHead>(stream));
  if (head.text_bytes > kMostText || head.kernel_bytes > kMostName) return DataLoss("no request");
  if (!IsBlock(head.block)) return DataLoss("no blocks have this shape");
  if ((head.checks & ~check::kAllChecks) != 0) return DataLoss("there are no such checks");
  CompileRequest request;
  request.checks = head.checks;
  request.block = {head.block[0], head.block[1], head.block[2]};
  WHARF_ASSIGN_OR_RETURN(request.text, ReadText(stream, head.text_bytes));
  WHARF_ASSIGN_OR_RETURN(request.kernel, ReadText(stream, head.kernel_bytes));
  return request;
}

absl::StatusOr<CompileReply> ReadReply(link::ByteStream& stream) {
  WHARF_ASSIGN_OR_RETURN(const ReplyHead head, ReadHead<ReplyHead>(stream));
  if (head.bytes > kMostObject) return DataLoss("an object of {} bytes", head.bytes);
  CompileReply reply{head.error, {}};
  WHARF_ASSIGN_OR_RETURN(reply.text, ReadText(stream, head.bytes));
  return reply;
}

}  // namespace wharf::device::soft
