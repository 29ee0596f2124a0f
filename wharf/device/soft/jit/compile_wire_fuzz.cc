// Arbitrary bytes as what a session's worker says to its compiler, and as what that one answers: reading them must not
// crash, deliver what the bytes do not hold, or take memory for what has not come. What was read is, sent again, what
// came.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

#include "wharf/device/soft/jit/compile_wire.h"

namespace wharf::device::soft {
namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

// Gives `bytes` in reads of changing size; keeps what is written.
class FuzzStream final : public link::ByteStream {
 public:
  FuzzStream(std::span<const std::byte> bytes, size_t first_read) : bytes_(bytes), read_(first_read) {}
  absl::StatusOr<size_t> Read(std::span<std::byte> into) override {
    constexpr size_t kPiece = 1 << 20;  // taken at a time, however much is announced
    Require(into.size() <= kPiece);
    read_ = read_ * 5 % 8191 + 1;
    const size_t count = std::min({into.size(), bytes_.size(), read_});
    std::memcpy(into.data(), bytes_.data(), count);
    bytes_ = bytes_.subspan(count);
    return count;
  }
  absl::Status Write(std::span<const std::span<const std::byte>> pieces) override {
    for (const auto piece : pieces) written.insert(written.end(), piece.begin(), piece.end());
    return absl::OkStatus();
  }
  void Shutdown() override {}
  std::string Peer() const override { return "fuzz"; }
  bool IsLocal() const override { return true; }

  size_t Left() const { return bytes_.size(); }
  std::vector<std::byte> written;

 private:
  std::span<const std::byte> bytes_;
  size_t read_;
};

// `unused`: a field of each head that nobody looks at, and is sent as zeros.
void RequireSame(std::span<const std::byte> came, const std::vector<std::byte>& sent, size_t message,
                 std::span<const size_t> unused) {
  Require(message + sent.size() <= came.size());
  for (size_t i = 0; i < sent.size(); ++i) {
    if (std::ranges::find(unused, i) == unused.end()) Require(sent[i] == came[message + i]);
  }
}

void ReadRequests(std::span<const std::byte> bytes, size_t first_read) {
  FuzzStream stream(bytes, first_read);
  for (;;) {
    const size_t begin = bytes.size() - stream.Left();
    const auto request = ReadRequest(stream);
    if (!request.ok()) return;
    FuzzStream again({}, 0);
    Require(SendRequest(again, request->text, request->kernel, request->block, request->checks).ok());
    RequireSame(bytes, again.written, begin, {});
  }
}

void ReadReplies(std::span<const std::byte> bytes, size_t first_read) {
  constexpr size_t kUnused[] = {4, 5, 6, 7};
  FuzzStream stream(bytes, first_read);
  for (;;) {
    const size_t begin = bytes.size() - stream.Left();
    const auto reply = ReadReply(stream);
    if (!reply.ok()) return;
    FuzzStream again({}, 0);
    Require(SendReply(again, reply->error, reply->text).ok());
    RequireSame(bytes, again.written, begin, kUnused);
  }
}

}  // namespace
}  // namespace wharf::device::soft

// The first byte sets the direction and the sizes of the reads, the rest is the stream.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const auto bytes = std::as_bytes(std::span(data, size)).subspan(1);
  if (data[0] % 2 == 0) {
    wharf::device::soft::ReadRequests(bytes, data[0]);
  } else {
    wharf::device::soft::ReadReplies(bytes, data[0]);
  }
  return 0;
}
