#include "wharf/pipeline/runtime/peer_connection.h"

#include <utility>

#include "wharf/base/log.h"
#include "wharf/base/within_memory.h"

namespace wharf::pipeline {
namespace {

constexpr Nanoseconds kConnectTimeout = std::chrono::seconds(1), kHelloTimeout = std::chrono::seconds(5);

}  // namespace

PeerConnection::PeerConnection(std::string address, PeerAccess access,
                               std::function<void(uint64_t, const absl::Status&)> failed)
    : address_(std::move(address)), access_(std::move(access)), failed_(std::move(failed)) {
  thread_ = std::thread([this] { Loop(); });
}

PeerConnection::~PeerConnection() {
  {
    absl::MutexLock lock(&mutex_);
    ending_ = true;
    if (channel_ != nullptr) channel_->Close();  // wakes the thread if the peer does not read
  }
  thread_.join();
}

void PeerConnection::Send(Parcel parcel) {
  absl::MutexLock lock(&mutex_);
  parcels_.push_back(std::move(parcel));
}

void PeerConnection::Loop() {
  const auto work = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return ending_ || !parcels_.empty(); };
  for (;;) {
    Parcel parcel;
    {
      absl::MutexLock lock(&mutex_);
      mutex_.Await(absl::Condition(&work));
      if (ending_) return;
      parcel = std::move(parcels_.front());
      parcels_.pop_front();
    }
    const absl::Status sent = WithinMemory([&] { return SendOne(parcel); });
    if (!sent.ok()) failed_(parcel.task, sent);
  }
}

absl::Status PeerConnection::Connect() {
  {
    absl::MutexLock lock(&mutex_);
    if (connected_) return absl::OkStatus();
  }
  WHARF_ASSIGN_OR_RETURN(auto stream, link::Connect(address_, access_.Connecting(kConnectTimeout)));
  link::ChannelOptions channel_options;
  channel_options.limits = PipelineFrameLimits();
  auto channel = link::Channel::Create(std::move(stream), channel_options);
  {
    absl::MutexLock lock(&mutex_);
    if (ending_) return Aborted("the worker forgets its peers");
    channel.swap(channel_);
    connected_ = true;
  }
  channel.reset();  // the one before
  handshake_.emplace("the worker");
  channel_->Start(this);
  Hello hello;
  hello.role = Role::kWorker;
  const absl::Status greeted = handshake_->Greet(*channel_, hello, access_.token, kHelloTimeout).status();
  if (!greeted.ok()) channel_->Close();
  return greeted;
}

absl::Status PeerConnection::SendOne(const Parcel& parcel) {
  WHARF_RETURN_IF_ERROR(Connect());
  Sample bulk;
  for (const Sample& sample : parcel.samples) bulk.insert(bulk.end(), sample.begin(), sample.end());
  return SendMessage(*channel_, FrameKind::kSamples, Samples{parcel.stage, EncodeList(parcel.numbers)}, parcel.task,
                     bulk, link::BulkOwnership::kBorrow);
}

absl::StatusOr<std::span<std::byte>> PeerConnection::BulkDestination(const link::FrameHeader& header,
                                                                     std::span<const std::byte>) {
  return InvalidArgument("{} bytes from a peer that has nothing to send", header.bulk_bytes);
}

absl::Status PeerConnection::OnFrame(const link::FrameHeader& header, std::span<const std::byte> head,
                                     std::vector<std::byte>) {
  if (handshake_->Takes(header)) return handshake_->OnFrame(header, head);
  return InvalidArgument("unknown message {}", header.kind);
}

void PeerConnection::OnClosed(const absl::Status& why) {
  const absl::Status ended = handshake_->OnClosed(why);
  Log(LogLevel::kInfo, "connection to a worker ended", {{"worker", address_}, {"why", Message(ended)}});
  absl::MutexLock lock(&mutex_);
  connected_ = false;
}

}  // namespace wharf::pipeline
