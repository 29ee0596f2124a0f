#include "wharf/offload/reply_queue.h"

#include <utility>

#include "wharf/offload/wire_codec.h"

namespace wharf::offload {
namespace {

constexpr size_t kMaxMessageBytes = 4096;       // a compiler's complaint can be long
constexpr size_t kOutputPieceBytes = 64 << 10;  // of one kOutput frame
constexpr uint64_t kUnreadBytes = 1 << 20;      // waiting in the channel before the reader changes threads
constexpr uint64_t kQueuedReplyBytes = 512;

std::string ShortMessage(const absl::Status& status) {
  return std::string(Message(status).substr(0, kMaxMessageBytes));
}

}  // namespace

ReplyQueue::ReplyQueue(link::Channel* channel, device::Device* device, uint64_t unsent_limit)
    : channel_(channel),
      device_(device),
      budget_(unsent_limit),
      sent_before_(channel->Stats().bytes_sent),
      thread_([this] { Run(); }) {}

ReplyQueue::~ReplyQueue() { Stop(); }

void ReplyQueue::Stop() {
  {
    absl::MutexLock lock(&mutex_);
    stopped_ = true;
    items_.clear();
  }
  budget_.Close();
  if (thread_.joinable()) thread_.join();
}

void ReplyQueue::Reply(const ReplyTicket& ticket, absl::Status status, std::vector<std::byte> body,
                       std::vector<std::byte> bulk, uint64_t charged) {
  if (ticket.guard != nullptr && ticket.guard->violated.load(std::memory_order_relaxed)) {
    budget_.Release(charged);
    return;
  }
  absl::MutexLock lock(&mutex_);
  if (stopped_) return;
  items_.push_back({FrameKind::kReply, ticket, std::move(status), std::move(body), std::move(bulk), charged});
}

void ReplyQueue::ReplyNow(const ReplyTicket& ticket, const absl::Status& status, std::vector<std::byte> body) {
  if (ticket.guard != nullptr && ticket.guard->violated.load(std::memory_order_relaxed)) return;
  const bool peer_reads = PeerReads();
  if (peer_reads && TakeTurn()) {
    // A failed send means the channel is closed, which its handler is told.
    SendReply(ticket, status, body, {}).IgnoreError();
    EndTurn();
    return;
  }
  const uint64_t charged = kQueuedReplyBytes + body.size();
  budget_.Charge(charged);
  if (!peer_reads) budget_.WaitForRoom();
  Reply(ticket, status, std::move(body), {}, charged);
}

bool ReplyQueue::TakeTurn() {
  absl::MutexLock lock(&mutex_);
  if (sending_ || !items_.empty()) return false;
  sending_ = true;
  return true;
}

void ReplyQueue::EndTurn() {
  absl::MutexLock lock(&mutex_);
  sending_ = false;
}

void ReplyQueue::FrameNow(FrameKind kind, uint64_t tag) {
  if (PeerReads()) {
    SendFrame(kind, tag, {}).IgnoreError();
    return;
  }
  budget_.Charge(kQueuedReplyBytes);
  budget_.WaitForRoom();
  Frame(kind, tag, {}, kQueuedReplyBytes);
}

// The reader's answers never wait for the peer while it reads; one that asks and does not read would grow the channel's
// queue, or the one here, for ever.
bool ReplyQueue::PeerReads() {
  const uint64_t left = channel_->Stats().bytes_sent - sent_before_;
  absl::MutexLock lock(&mutex_);
  const uint64_t waiting = items_.size() * kQueuedReplyBytes;
  return handed_over_.load(std::memory_order_relaxed) + waiting < left + kUnreadBytes;
}

absl::Status ReplyQueue::SendFrame(FrameKind kind, uint64_t tag, const std::vector<std::byte>& head,
                                   const EncodedBulk& bulk) {
  handed_over_.fetch_add(link::kFrameHeaderBytes + head.size() + bulk.bytes.size(), std::memory_order_relaxed);
  return channel_->Send(static_cast<uint16_t>(kind), tag, head, bulk.bytes, link::BulkOwnership::kBorrow,
                        link::Urgency::kNow, bulk.flags);
}

// A push may come before the client knows which operation it answers, and so from which place: data are of a kind if
// they are as long, and none are remembered.
EncodedBulk ReplyQueue::EncodeData(std::span<const std::byte> data) {
  if (!codes_bulk_.load(std::memory_order_relaxed) || data.size() <= kLeastCodedBytes) return {data, 0};
  return encoder_.Encode({0, data.size()}, BulkEncoder::Memory::kNone, data, estimator_.Estimate().up_bits_per_second);
}

void ReplyQueue::NoteArrived(const Arrived& arrived) {
  estimator_.OnUpload(arrived.bytes, Nanoseconds(static_cast<int64_t>(arrived.nanoseconds)));
}

void ReplyQueue::Frame(FrameKind kind, uint64_t tag, std::vector<std::byte> head, uint64_t charged) {
  absl::MutexLock lock(&mutex_);
  if (stopped_) return;
  // What waits to be sent is a better sign of life.
  if (kind == FrameKind::kPing && !items_.empty()) return;
  Item item;
  item.kind = kind;
  item.ticket.tag = tag;
  item.head = std::move(head);
  item.charged = charged;
  items_.push_back(std::move(item));
}

void ReplyQueue::LatchPosted(const absl::Status& status) {
  absl::MutexLock lock(&mutex_);
  if (posted_.ok()) posted_ = status;
}

void ReplyQueue::AddOutput(std::string text) {
  absl::MutexLock lock(&mutex_);
  if (output_.size() + text.size() > kMaxOutputBytes) {
    output_dropped_ = true;
    return;
  }
  output_ += text;
}

void ReplyQueue::Run() {
  while (true) {
    Item item;
    {
      absl::MutexLock lock(&mutex_);
      mutex_.Await(absl::Condition(this, &ReplyQueue::HasWork));
      if (stopped_) return;
      item = std::move(items_.front());
      items_.pop_front();
      sending_ = true;
    }
    SendItem(std::move(item));
    EndTurn();
  }
}

void ReplyQueue::SendItem(Item item) {
  absl::Status sent;
  if (item.kind == FrameKind::kReply) {
    sent = SendReply(item.ticket, item.status, item.head, item.bulk);
  } else {
    sent = SendFrame(item.kind, item.ticket.tag, item.head);
  }
  budget_.Release(item.charged);
  // The connection is gone: nobody needs to wait for room any more.
  if (!sent.ok()) budget_.Close();
}

absl::Status ReplyQueue::SendReply(const ReplyTicket& ticket, const absl::Status& status,
                                   const std::vector<std::byte>& body, const std::vector<std::byte>& bulk) {
  WHARF_RETURN_IF_ERROR(SendOutput());
  ReplyHeader header;
  FillHeader(ticket, status, header);
  std::vector<std::byte> head;
  Encoder encoder(head);
  if (ticket.push) {
    PushHeader push = *ticket.push;
    push.sure &= status.ok();  // what fails once may fail again
    encoder.Put(push);
  }
  encoder.Put(header);
  if (status.ok()) head.insert(head.end(), body.begin(), body.end());
  return SendFrame(ticket.push ? FrameKind::kPush : FrameKind::kReply, ticket.tag, head, EncodeData(bulk));
}

void ReplyQueue::FillHeader(const ReplyTicket& ticket, const absl::Status& status, ReplyHeader& header) {
  absl::Status posted;
  {
    absl::MutexLock lock(&mutex_);
    posted = std::exchange(posted_, absl::OkStatus());
  }
  if (posted.ok()) posted = device_->TakeDeferredError();
  const absl::Status fault = device_->Fault();
  header.error = device::CudaErrorOf(status);
  header.posted_error = device::CudaErrorOf(posted);
  header.fault = device::CudaErrorOf(fault);
  for (const absl::Status* first : {&status, &std::as_const(posted), &fault}) {
    if (first->ok()) continue;
    header.message = ShortMessage(*first);
    break;
  }
  header.server_nanoseconds = static_cast<uint64_t>((Clock::Real().Now() - ticket.arrival).count());
}

absl::Status ReplyQueue::SendOutput() {
  std::string text;
  {
    absl::MutexLock lock(&mutex_);
    if (output_.empty() && !output_dropped_) return absl::OkStatus();
    text = std::exchange(output_, {});
    if (std::exchange(output_dropped_, false)) text += "\n[more output of kernels was dropped]\n";
  }
  for (size_t begin = 0; begin < text.size(); begin += kOutputPieceBytes) {
    Output output;
    output.text = text.substr(begin, kOutputPieceBytes);
    WHARF_RETURN_IF_ERROR(SendFrame(FrameKind::kOutput, 0, Encode(output)));
  }
  return absl::OkStatus();
}

}  // namespace wharf::offload
