#include "wharf/link/prefixed_stream.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace wharf::link {
namespace {

class PrefixedStream final : public ByteStream {
 public:
  PrefixedStream(std::vector<std::byte> prefix, std::unique_ptr<ByteStream> stream)
      : prefix_(std::move(prefix)), stream_(std::move(stream)) {}

  absl::StatusOr<size_t> Read(std::span<std::byte> into) override {
    if (given_ == prefix_.size()) return stream_->Read(into);
    const size_t part = std::min(into.size(), prefix_.size() - given_);
    std::memcpy(into.data(), prefix_.data() + given_, part);
    given_ += part;
    return part;
  }
  absl::Status Write(std::span<const std::span<const std::byte>> pieces) override { return stream_->Write(pieces); }
  absl::StatusOr<size_t> TryWrite(std::span<const std::span<const std::byte>> pieces) override {
    return stream_->TryWrite(pieces);
  }
  void FinishWriting() override { stream_->FinishWriting(); }
  void Shutdown() override { stream_->Shutdown(); }
  std::string Peer() const override { return stream_->Peer(); }
  bool IsLocal() const override { return stream_->IsLocal(); }
  std::optional<TransportInfo> Info() const override { return stream_->Info(); }
  std::string ChannelBinding() const override { return stream_->ChannelBinding(); }
  std::vector<std::string> PeerUnits() const override { return stream_->PeerUnits(); }
  void SetAdmitted() override { stream_->SetAdmitted(); }

 private:
  const std::vector<std::byte> prefix_;
  size_t given_ = 0;  // of the reading thread
  const std::unique_ptr<ByteStream> stream_;
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
