#include "wharf/link/prefixed_stream.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "wharf/link/forwarding_stream.h"

namespace wharf::link {
namespace {

class PrefixedStream final : public ForwardingStream {
 public:
  PrefixedStream(std::vector<std::byte> prefix, std::unique_ptr<ByteStream> stream)
      : ForwardingStream(std::move(stream)), prefix_(std::move(prefix)) {}

  absl::StatusOr<size_t> Read(std::span<std::byte> into) override {
    if (given_ == prefix_.size()) return ForwardingStream::Read(into);
    const size_t part = std::min(into.size(), prefix_.size() - given_);
    std::memcpy(into.data(), prefix_.data() + given_, part);
    given_ += part;
    return part;
  }

 private:
  const std::vector<std::byte> prefix_;
  size_t given_ = 0;  // of the reading thread
};

}  // namespace

std::unique_ptr<ByteStream> WithPrefix(std::vector<std::byte> prefix, std::unique_ptr<ByteStream> stream) {
  return std::make_unique<PrefixedStream>(std::move(prefix), std::move(stream));
}

absl::StatusOr<size_t> ReadUpTo(ByteStream& stream, std::span<std::byte> into) {
  size_t done = 0;
  while (done < into.size()) {
    WHARF_ASSIGN_OR_RETURN(const size_t count, stream.Read(into.subspan(done)));
    if (count == 0) break;
    done += count;
  }
  return done;
}

}  // namespace wharf::link
