// What streams are made of that do most things as another one does: they override the rest.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "wharf/link/byte_stream.h"

namespace wharf::link {

// As thread-safe as the stream that it stands before.
class ForwardingStream : public ByteStream {
 public:
  explicit ForwardingStream(std::shared_ptr<ByteStream> stream) : stream_(std::move(stream)) {}

  absl::StatusOr<size_t> Read(std::span<std::byte> into) override { return stream_->Read(into); }
  absl::Status Write(std::span<const std::span<const std::byte>> pieces) override { return stream_->Write(pieces); }
  absl::StatusOr<size_t> TryWrite(std::span<const std::span<const std::byte>> pieces) override {
    return stream_->TryWrite(pieces);
  }
  void FinishWriting() override { stream_->FinishWriting(); }
  void Shutdown() override { stream_->Shutdown(); }
  std::string Peer() const override { return stream_->Peer(); }
  bool IsLocal() const override { return stream_->IsLocal(); }
  std::optional<TransportInfo> Info() const override { return stream_->Info(); }
  bool Resuming() const override { return stream_->Resuming(); }
  std::string ChannelBinding() const override { return stream_->ChannelBinding(); }
  std::vector<std::string> PeerUnits() const override { return stream_->PeerUnits(); }
  void SetAdmitted() override { stream_->SetAdmitted(); }

 private:
  const std::shared_ptr<ByteStream> stream_;
};

}  // namespace wharf::link
