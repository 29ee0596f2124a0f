#include "wharf/pipeline/runtime/peer_lane.h"

#include <utility>

#include "wharf/base/log.h"

namespace wharf::pipeline {
namespace {

constexpr Nanoseconds kConnectTimeout = std::chrono::seconds(1);

}  // namespace

PeerLane::PeerLane(std::string address, PeerAccess access, std::function<void(uint64_t, const absl::Status&)> failed)
    : address_(std::move(address)), access_(std::move(access)), failed_(std::move(failed)) {
  thread_ = std::thread([this] { Loop(); });
}

PeerLane::~PeerLane() {
  {
    absl::MutexLock lock(&mutex_);
    ending_ = true;
    if (channel_ != nullptr) channel_->Close();  // wakes the thread if the peer does not read
  }
  thread_.join();
}

void PeerLane::Send(Parcel parcel) {
  absl::MutexLock lock(&mutex_);
  parcels_.push_back(std::move(parcel));
}

void PeerLane::Loop() {
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
    if (const absl::Status sent = SendOne(parcel); !sent.ok()) failed_(parcel.task, sent);
  }
}

absl::Status PeerLane::Connect() {
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
  channel_->Start(this);
  Hello hello;
  hello.token = access_.token;
  hello.role = Role::kWorker;
  return SendMessage(*channel_, FrameKind::kHello, hello);
}

absl::Status PeerLane::SendOne(const Parcel& parcel) {
  WHARF_RETURN_IF_ERROR(Connect());
  Sample bulk;
  for (const Sample& sample : parcel.samples) bulk.insert(bulk.end(), sample.begin(), sample.end());
  return SendMessage(*channel_, FrameKind::kSamples, Samples{parcel.stage, EncodeList(parcel.numbers)}, parcel.task,
                     bulk, link::BulkOwnership::kBorrow);
}

absl::StatusOr<std::span<std::byte>> PeerLane::BulkDestination(const link::FrameHeader& header,
                                                               std::span<const std::byte>) {
  return InvalidArgument("{} bytes from a peer that has nothing to send", header.bulk_bytes);
}

absl::Status PeerLane::OnFrame(const link::FrameHeader& header, std::span<const std::byte> head,
                               std::vector<std::byte>) {
  switch (static_cast<FrameKind>(header.kind)) {
    case FrameKind::kWelcome:
      return absl::OkStatus();
    case FrameKind::kGoodbye: {
      WHARF_ASSIGN_OR_RETURN(const Goodbye goodbye, DecodeHead<Goodbye>(head, "a Goodbye"));
      return split::StatusOf(goodbye);
    }
    default:
      return InvalidArgument("unknown message {}", header.kind);
  }
}

void PeerLane::OnClosed(const absl::Status& why) {
  Log(LogLevel::kInfo, "connection to a worker ended", {{"worker", address_}, {"why", Message(why)}});
  absl::MutexLock lock(&mutex_);
  connected_ = false;
}

}  // namespace wharf::pipeline
