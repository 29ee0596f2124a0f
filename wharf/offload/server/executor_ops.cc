// The operations themselves: each is checked, then becomes one call of the device.
#include <algorithm>
#include <utility>

#include "wharf/device/asked_size.h"
#include "wharf/offload/copy_extent.h"
#include "wharf/offload/server/executor.h"
#include "wharf/offload/wire_codec.h"

namespace wharf::offload {
namespace {

using device::CudaError;
using device::CudaStatus;

constexpr uint64_t kWorkBytes = 256;        // what a queued launch or copy costs the device's queue
constexpr uint64_t kSmallReplyBytes = 256;  // and a reply without data

}  // namespace

template <typename Call>
absl::Status Executor::Queue(device::StreamId stream, uint64_t bytes, Call call) {
  WHARF_RETURN_IF_ERROR(WaitForRoom(kWorkBytes + bytes));
  WHARF_RETURN_IF_ERROR(call());
  Account(stream, kWorkBytes + bytes);
  return absl::OkStatus();
}

// --- memory ---

absl::Status Executor::Handle(const MapMemory& op) {
  if (mappings_.size() >= options_.objects) {
    return CudaStatus(CudaError::kOutOfMemory, "a session may have {} allocations", options_.objects);
  }
  absl::Status mapped = device_->Map(op.address, op.size);
  if (!mapped.ok() && replay_ != nullptr && replay_->MakeRoom()) mapped = device_->Map(op.address, op.size);
  WHARF_RETURN_IF_ERROR(mapped);
  mappings_[op.address] = op.size;
  absl::MutexLock lock(&counters_mutex_);
  counters_.mapped_bytes += op.size;
  counters_.peak_mapped_bytes = std::max(counters_.peak_mapped_bytes, counters_.mapped_bytes);
  return absl::OkStatus();
}

absl::Status Executor::Handle(const UnmapMemory& op) {
  WHARF_RETURN_IF_ERROR(device_->Unmap(op.address));
  const auto mapping = mappings_.find(op.address);
  if (mapping == mappings_.end()) return absl::OkStatus();
  absl::MutexLock lock(&counters_mutex_);
  counters_.mapped_bytes -= mapping->second;
  mappings_.erase(mapping);
  return absl::OkStatus();
}

absl::Status Executor::Handle(const CopyToDevice& op, std::vector<std::byte> bulk) {
  WHARF_ASSIGN_OR_RETURN(const uint64_t bytes, CopyBytes(op.extent));
  if (bytes != bulk.size()) return CudaStatus(CudaError::kInvalidValue, "a copy of {} bytes came without them", bytes);
  if (bytes == 0) return absl::OkStatus();
  return Queue(op.stream, bytes, [&] { return device_->CopyToDevice(op.stream, op.to, op.extent, std::move(bulk)); });
}

absl::Status Executor::Handle(const CopyOnDevice& op) {
  WHARF_ASSIGN_OR_RETURN(const uint64_t bytes, ExtentBytes(op.extent));
  if (bytes == 0) return absl::OkStatus();
  return Queue(op.stream, 0, [&] { return device_->CopyOnDevice(op.stream, op.to, op.from, op.extent); });
}

absl::Status Executor::Handle(const Fill& op) {
  WHARF_ASSIGN_OR_RETURN(const uint64_t bytes, ExtentBytes(op.extent));
  if (op.element_bytes != 1 && op.element_bytes != 2 && op.element_bytes != 4) {
    return CudaStatus(CudaError::kInvalidValue, "a fill of {}-byte elements", op.element_bytes);
  }
  if (op.extent.width % op.element_bytes != 0) {
    return CudaStatus(CudaError::kInvalidValue, "rows of {} bytes are not whole {}-byte elements", op.extent.width,
                      op.element_bytes);
  }
  const bool tells = device::TellsAskedSize(op.to, op.extent) && device_->Properties().driver == "soft";
  if (bytes == 0 && !tells) return absl::OkStatus();
  return Queue(op.stream, 0, [&] { return device_->Fill(op.stream, op.to, op.extent, op.value, op.element_bytes); });
}

// --- code ---

absl::Status Executor::ChargeKept(uint64_t bytes) {
  if (kept_bytes_ + bytes > most_kept_bytes_) {
    return CudaStatus(CudaError::kOutOfMemory, "a session's modules and textures may have {} MiB",
                      most_kept_bytes_ >> 20);
  }
  kept_bytes_ += bytes;
  return absl::OkStatus();
}

absl::Status Executor::Handle(const LoadModule& op, std::vector<std::byte> piece) {
  const auto begun = partial_modules_.find(op.module);
  if (begun == partial_modules_.end() && partial_modules_.size() + modules_.size() >= options_.objects) {
    return CudaStatus(CudaError::kOutOfMemory, "a session may have {} modules", options_.objects);
  }
  const bool is_first = begun == partial_modules_.end();
  if (const absl::Status fits = ChargeKept(piece.size() + (is_first ? kModuleBytes : 0)); !fits.ok()) {
    if (!is_first) {
      kept_bytes_ -= kModuleBytes + begun->second.size();
      partial_modules_.erase(begun);
    }
    return fits;
  }
  std::vector<std::byte>& image = partial_modules_[op.module];
  if (image.empty()) {
    image = std::move(piece);
  } else {
    image.insert(image.end(), piece.begin(), piece.end());
  }
  if (!op.final) return absl::OkStatus();
  std::vector<std::byte> whole = std::move(image);
  partial_modules_.erase(op.module);
  const uint64_t charged = kModuleBytes + whole.size();
  const absl::Status loaded = device_->LoadModule(op.module, std::move(whole));
  if (loaded.ok()) {
    modules_[op.module].bytes = charged;
  } else {
    kept_bytes_ -= charged;
  }
  return loaded;
}

absl::Status Executor::Handle(const UnloadModule& op) {
  WHARF_RETURN_IF_ERROR(device_->UnloadModule(op.module));
  const auto module = modules_.find(op.module);
  if (module == modules_.end()) return absl::OkStatus();
  kept_bytes_ -= module->second.bytes;
  functions_ -= module->second.functions;
  modules_.erase(module);
  return absl::OkStatus();
}

absl::Status Executor::Handle(const DefineFunction& op) {
  if (functions_ >= options_.objects) {
    return CudaStatus(CudaError::kOutOfMemory, "a session may have {} functions", options_.objects);
  }
  WHARF_RETURN_IF_ERROR(device_->DefineFunction(op.function, op.module, op.name));
  ++functions_;
  ++modules_[op.module].functions;
  return absl::OkStatus();
}

absl::Status Executor::Handle(const SetMaxDynamicShared& op) {
  return device_->SetMaxDynamicShared(op.function, op.bytes);
}

// --- textures and surfaces ---

template <typename Op, typename Create>
absl::Status Executor::AnswerCreated(const ReplyTicket& ticket, Create create) {
  absl::Status room = CheckCount(textures_, "textures and surfaces");
  if (room.ok()) room = ChargeKept(kTextureBytes);
  if (!room.ok()) return AnswerNow(ticket, room);
  ++textures_;
  const absl::StatusOr<device::TextureHandle> handle = create();
  if (!handle.ok()) {
    ReleaseTexture();
    return AnswerNow(ticket, handle.status());
  }
  return AnswerNow(ticket, absl::OkStatus(), Encode(typename Op::Reply{*handle}));
}

void Executor::ReleaseTexture() {
  --textures_;
  kept_bytes_ -= kTextureBytes;
}

absl::Status Executor::Answer(const CreateTexture& op, const ReplyTicket& ticket) {
  return AnswerCreated<CreateTexture>(ticket, [&] { return device_->CreateTexture(op.texture); });
}

absl::Status Executor::Answer(const CreateSurface& op, const ReplyTicket& ticket) {
  return AnswerCreated<CreateSurface>(ticket, [&] { return device_->CreateSurface(op.image); });
}

absl::Status Executor::Answer(const EncodeTensorMap& op, const ReplyTicket& ticket) {
  const absl::StatusOr<device::TensorMap> map = device_->EncodeTensorMap(op.map);
  if (!map.ok()) return AnswerNow(ticket, map.status());
  return AnswerNow(ticket, absl::OkStatus(), Encode(EncodeTensorMap::Reply{*map}));
}

absl::Status Executor::Handle(const DestroyTexture& op) {
  WHARF_RETURN_IF_ERROR(device_->DestroyTexture(op.texture));
  ReleaseTexture();
  return absl::OkStatus();
}

absl::Status Executor::Handle(const DestroySurface& op) {
  WHARF_RETURN_IF_ERROR(device_->DestroySurface(op.surface));
  ReleaseTexture();
  return absl::OkStatus();
}

// --- streams and events ---

absl::Status Executor::Handle(const CreateStream& op) {
  WHARF_RETURN_IF_ERROR(CheckCount(streams_.size(), "streams"));
  WHARF_RETURN_IF_ERROR(device_->CreateStream(op.stream, op.flags, op.priority));
  streams_.insert(op.stream);
  return absl::OkStatus();
}

absl::Status Executor::Handle(const DestroyStream& op) {
  if (const auto uncharged = uncharged_.find(op.stream); uncharged != uncharged_.end()) {
    ReleaseWhenDone(op.stream, uncharged->second);
    uncharged_.erase(uncharged);
  }
  WHARF_RETURN_IF_ERROR(device_->DestroyStream(op.stream));
  streams_.erase(op.stream);
  return absl::OkStatus();
}

absl::Status Executor::Handle(const CreateEvent& op) {
  WHARF_RETURN_IF_ERROR(CheckCount(events_, "events"));
  WHARF_RETURN_IF_ERROR(device_->CreateEvent(op.event, op.flags));
  ++events_;
  return absl::OkStatus();
}

absl::Status Executor::Handle(const DestroyEvent& op) {
  WHARF_RETURN_IF_ERROR(device_->DestroyEvent(op.event));
  --events_;
  return absl::OkStatus();
}

absl::Status Executor::Handle(const RecordEvent& op) {
  return Queue(op.stream, 0, [&] { return device_->RecordEvent(op.event, op.stream); });
}

absl::Status Executor::Handle(const WaitEvent& op) {
  return Queue(op.stream, 0, [&] { return device_->WaitEvent(op.stream, op.event); });
}

// --- work ---

absl::Status Executor::Handle(Launch& op) {
  {
    absl::MutexLock lock(&counters_mutex_);
    ++counters_.launches;
  }
  return Queue(op.stream, op.parameters.size(),
               [&] { return device_->Launch(op.stream, op.function, op.config, std::move(op.parameters)); });
}

device::Submission Executor::Submit(device::WorkList& list, size_t first, size_t count, size_t launches,
                                    device::StreamId stream) {
  device::Submission submitted;
  submitted.status = WaitForRoom(kWorkBytes * count);
  if (!submitted.status.ok()) return submitted;
  submitted = list.Submit(first, count);
  Account(stream, kWorkBytes * submitted.queued);
  absl::MutexLock lock(&counters_mutex_);
  counters_.operations += submitted.queued;
  counters_.launches += launches;
  return submitted;
}

absl::Status Executor::LaunchGuarded(const Launch& op, const device::Guard& guard) {
  return Queue(op.stream, op.parameters.size(),
               [&] { return device_->LaunchGuarded(op.stream, op.function, op.config, op.parameters, guard); });
}

absl::Status Executor::Handle(const RunGemm& op) {
  return Queue(op.stream, 0, [&] { return device_->RunGemm(op.stream, op.gemm); });
}

template <RunsPrimitive Op>
absl::Status Executor::Handle(const Op& op) {
  uint64_t bytes = sizeof(op);
  if constexpr (std::is_same_v<Op, RunRecurrent>) bytes += op.primitive.lengths.size() * sizeof(int32_t);
  if constexpr (std::is_same_v<Op, RunDnnGraph>) bytes += op.primitive.description.size();
  return Queue(op.stream, bytes, [&] { return device_->RunPrimitive(op.stream, op.primitive); });
}
template absl::Status Executor::Handle(const RunConvolution&);
template absl::Status Executor::Handle(const RunPooling&);
template absl::Status Executor::Handle(const RunBatchNorm&);
template absl::Status Executor::Handle(const RunSoftmax&);
template absl::Status Executor::Handle(const RunPointwise&);
template absl::Status Executor::Handle(const RunRecurrent&);
template absl::Status Executor::Handle(const RunFourier&);
template absl::Status Executor::Handle(const RunLapack&);
template absl::Status Executor::Handle(const RunDnnGraph&);

absl::Status Executor::Handle(const RequestHostCall& op) {
  WHARF_RETURN_IF_ERROR(host_calls_->Add(op.call, options_.objects));
  const absl::Status queued = device_->HostCall(op.stream, [replies = replies_, calls = host_calls_, call = op.call] {
    HostCall frame;
    frame.call = call;
    replies->Frame(FrameKind::kHostCall, call, Encode(frame));
    calls->Wait(call);
  });
  if (!queued.ok()) host_calls_->Remove(op.call);
  return queued;
}

absl::Status Executor::Handle(const HostCallDone& op) { return host_calls_->Finish(op.call); }

// --- what the client waits for ---

device::Done Executor::ReplyWhenDone(const ReplyTicket& ticket) {
  InFlightBudget& budget = replies_->Budget();
  budget.Charge(kSmallReplyBytes);
  if (!host_calls_->Any()) budget.WaitForRoom();
  return [replies = replies_, ticket](const absl::Status& status) {
    replies->Reply(ticket, status, {}, {}, kSmallReplyBytes);
  };
}

absl::Status Executor::ReplyIfFailed(const ReplyTicket& ticket, const absl::Status& queued, uint64_t charged) {
  if (queued.ok()) return queued;
  if (ticket.answer != nullptr) ticket.answer->Fill(queued, {});
  replies_->Budget().Release(charged);
  return AnswerNow(ticket, queued);
}

absl::Status Executor::AnswerNow(const ReplyTicket& ticket, const absl::Status& status, std::vector<std::byte> body) {
  replies_->ReplyNow(ticket, status, std::move(body));
  return status;
}

absl::Status Executor::Answer(const CopyToHost& op, const ReplyTicket& ticket) {
  const absl::StatusOr<uint64_t> bytes = CopyBytes(op.extent);
  if (!bytes.ok()) return AnswerNow(ticket, bytes.status());
  if (*bytes == 0) return ReplyIfFailed(ticket, device_->Notify(op.stream, ReplyWhenDone(ticket)), kSmallReplyBytes);
  InFlightBudget& budget = replies_->Budget();
  const uint64_t charged = *bytes + kSmallReplyBytes;
  if (host_calls_->Any()) {
    if (budget.Used() + charged > options_.queued_bytes_hard) {
      return AnswerNow(ticket, CudaStatus(CudaError::kOutOfMemory, "too many copies wait behind a host function"));
    }
    budget.Charge(charged);
  } else {
    budget.Charge(charged);
    budget.WaitForRoom();
  }
  const absl::Status queued = device_->CopyToHost(
      op.stream, op.from, op.extent,
      [replies = replies_, ticket, charged](const absl::Status& status, std::vector<std::byte> data) {
        if (ticket.answer != nullptr) ticket.answer->Fill(status, data);
        replies->Reply(ticket, status, {}, std::move(data), charged);
      });
  return ReplyIfFailed(ticket, queued, charged);
}

absl::Status Executor::Answer(const SynchronizeStream& op, const ReplyTicket& ticket) {
  return ReplyIfFailed(ticket, device_->Notify(op.stream, ReplyWhenDone(ticket)), kSmallReplyBytes);
}

absl::Status Executor::Answer(const SynchronizeDevice&, const ReplyTicket& ticket) {
  return ReplyIfFailed(ticket, device_->NotifyAll(ReplyWhenDone(ticket)), kSmallReplyBytes);
}

absl::Status Executor::Answer(const SynchronizeEvent& op, const ReplyTicket& ticket) {
  return ReplyIfFailed(ticket, device_->NotifyEvent(op.event, ReplyWhenDone(ticket)), kSmallReplyBytes);
}

absl::Status Executor::Answer(const QueryStream& op, const ReplyTicket& ticket) {
  const absl::StatusOr<bool> done = device_->StreamDone(op.stream);
  if (!done.ok()) return AnswerNow(ticket, done.status());
  return AnswerNow(ticket, *done ? absl::OkStatus() : CudaStatus(CudaError::kNotReady, "work is pending"));
}

absl::Status Executor::Answer(const QueryEvent& op, const ReplyTicket& ticket) {
  const absl::StatusOr<bool> done = device_->EventDone(op.event);
  if (!done.ok()) return AnswerNow(ticket, done.status());
  return AnswerNow(ticket, *done ? absl::OkStatus() : CudaStatus(CudaError::kNotReady, "work is pending"));
}

absl::Status Executor::Answer(const ElapsedTime& op, const ReplyTicket& ticket) {
  const absl::StatusOr<float> elapsed = device_->ElapsedMs(op.start, op.end);
  if (!elapsed.ok()) return AnswerNow(ticket, elapsed.status());
  ElapsedTime::Reply reply;
  reply.milliseconds = *elapsed;
  return AnswerNow(ticket, absl::OkStatus(), Encode(reply));
}

absl::Status Executor::Answer(const FindSymbol& op, const ReplyTicket& ticket) {
  const absl::StatusOr<device::Symbol> symbol = device_->FindSymbol(op.module, op.name);
  if (!symbol.ok()) return AnswerNow(ticket, symbol.status());
  FindSymbol::Reply reply;
  reply.symbol = *symbol;
  return AnswerNow(ticket, absl::OkStatus(), Encode(reply));
}

absl::Status Executor::Answer(const GetAttributes& op, const ReplyTicket& ticket) {
  absl::StatusOr<device::FunctionAttributes> attributes = device_->Attributes(op.function);
  if (!attributes.ok()) return AnswerNow(ticket, attributes.status());
  GetAttributes::Reply reply;
  reply.attributes = *std::move(attributes);
  return AnswerNow(ticket, absl::OkStatus(), Encode(reply));
}

absl::Status Executor::Answer(const Acknowledge&, const ReplyTicket& ticket) {
  return AnswerNow(ticket, absl::OkStatus());
}

absl::Status Executor::Answer(const SessionStats&, const ReplyTicket& ticket) {
  const ExecutorCounters counters = Counters();
  SessionStats::Reply reply;
  reply.busy_nanoseconds = static_cast<uint64_t>(device_->BusyTime().count());
  reply.launches = counters.launches;
  reply.mapped_bytes = counters.mapped_bytes;
  reply.kernels_compiled = device_->KernelsCompiled();
  reply.run_ahead = counters.replay.run_ahead;
  reply.undone = counters.replay.undone;
  return AnswerNow(ticket, absl::OkStatus(), Encode(reply));
}

absl::Status Executor::Answer(const DescribeDevice&, const ReplyTicket& ticket) {
  return AnswerNow(ticket, absl::OkStatus(), Encode(DescribeDevice::Reply{device_->Report()}));
}

}  // namespace wharf::offload
