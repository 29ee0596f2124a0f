#include "wharf/offload/partition/partitioned_device.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "absl/synchronization/blocking_counter.h"
#include "wharf/base/log.h"
#include "wharf/offload/partition/coverage.h"
#include "wharf/offload/wire.h"

namespace wharf::offload {
namespace {

constexpr MemoryRange kAllMemory{0, UINT64_MAX};

// Calls `done` once, when `count` sides have answered, with the first error.
class Join {
 public:
  Join(int count, device::Done done) : left_(count), done_(std::move(done)) {}
  void Arrive(const absl::Status& status) {
    absl::Status result;
    {
      absl::MutexLock lock(&mutex_);
      if (status_.ok()) status_ = status;
      if (--left_ > 0) return;
      result = status_;
    }
    done_(result);
  }

 private:
  absl::Mutex mutex_;
  int left_ ABSL_GUARDED_BY(mutex_);
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
  const device::Done done_;
};

absl::StatusOr<device::Arena> CommonArena(const device::Arena& a, const device::Arena& b) {
  const device::DeviceAddress base = std::max(a.base, b.base);
  const device::DeviceAddress end = std::min(a.base + a.size, b.base + b.size);
  const uint64_t granularity = std::max(a.granularity, b.granularity);
  if (base >= end || base % granularity != 0 || granularity % std::min(a.granularity, b.granularity) != 0) {
    return Unavailable("the device here has its memory at {:#x}, the server's at {:#x}: no addresses in common", a.base,
                       b.base);
  }
  return device::Arena{base, (end - base) / granularity * granularity, granularity, a.guarded || b.guarded};
}

device::Region Row(const MemoryRange& range) { return {range.address, range.size, range.size}; }
device::Extent Bytes(const MemoryRange& range) { return {range.size, 1, 1}; }

}  // namespace

absl::StatusOr<std::unique_ptr<PartitionedDevice>> PartitionedDevice::Create(std::unique_ptr<device::Device> local,
                                                                             std::unique_ptr<RemoteDevice> remote,
                                                                             std::unique_ptr<Placement> placement) {
  WHARF_ASSIGN_OR_RETURN(const device::Arena arena, CommonArena(local->Arena(), remote->Arena()));
  return std::unique_ptr<PartitionedDevice>(
      new PartitionedDevice(std::move(local), std::move(remote), std::move(placement), arena));
}

PartitionedDevice::PartitionedDevice(std::unique_ptr<device::Device> local, std::unique_ptr<RemoteDevice> remote,
                                     std::unique_ptr<Placement> placement, const device::Arena& arena)
    : local_(std::move(local)),
      remote_(std::move(remote)),
      placement_(std::move(placement)),
      arena_(arena),
      properties_(remote_->Properties()),
      unfinished_{std::make_shared<UnfinishedWork>(), std::make_shared<UnfinishedWork>()},
      timer_(local_.get(), remote_.get()) {
  properties_.driver = "partition";
}

// --- what both sides have ---
// Errors are the server's: what fails here only runs there. An error that the server will report later is a reason to
// wait for it.

absl::Status PartitionedDevice::Map(device::DeviceAddress address, uint64_t size) {
  WHARF_RETURN_IF_ERROR(remote_->Map(address, size));
  Unfinished(Side::kRemote).NoteCall();
  if (access_.Overlaps({address, size})) return absl::OkStatus();  // which the server refuses, too
  const bool on_both = local_->Map(address, size).ok();
  access_.AddAllocation(address, size, on_both);
  validity_.Add({address, size}, on_both);
  return absl::OkStatus();
}

absl::Status PartitionedDevice::Unmap(device::DeviceAddress address) {
  WHARF_RETURN_IF_ERROR(remote_->Unmap(address));
  Unfinished(Side::kRemote).NoteCall();
  if (access_.OnBoth(address)) local_->Unmap(address).IgnoreError();
  validity_.Remove(access_.RemoveAllocation(address));
  return absl::OkStatus();
}

absl::Status PartitionedDevice::LoadModule(device::ModuleId id, std::vector<std::byte> image) {
  WHARF_RETURN_IF_ERROR(remote_->LoadModule(id, image));
  Unfinished(Side::kRemote).NoteCall();
  const absl::Status loaded = local_->LoadModule(id, std::move(image));
  if (!loaded.ok()) Log(LogLevel::kInfo, "a module runs on the server only", {{"why", Message(loaded)}});
  return absl::OkStatus();
}

absl::Status PartitionedDevice::UnloadModule(device::ModuleId id) {
  WHARF_RETURN_IF_ERROR(remote_->UnloadModule(id));
  Unfinished(Side::kRemote).NoteCall();
  local_->UnloadModule(id).IgnoreError();
  access_.RemoveModule(id);
  return absl::OkStatus();
}

absl::Status PartitionedDevice::DefineFunction(device::FunctionId id, device::ModuleId module,
                                               const std::string& name) {
  WHARF_RETURN_IF_ERROR(remote_->DefineFunction(id, module, name));
  Unfinished(Side::kRemote).NoteCall();
  absl::StatusOr<device::Footprint> footprint = device::Footprint{};
  if (local_->DefineFunction(id, module, name).ok()) footprint = local_->FootprintOf(id);
  access_.AddFunction(id, module, footprint.ok() ? *std::move(footprint) : device::Footprint{});
  return absl::OkStatus();
}

absl::StatusOr<device::FunctionAttributes> PartitionedDevice::Attributes(device::FunctionId id) {
  return remote_->Attributes(id);
}

absl::Status PartitionedDevice::SetMaxDynamicShared(device::FunctionId id, uint32_t bytes) {
  WHARF_RETURN_IF_ERROR(remote_->SetMaxDynamicShared(id, bytes));
  Unfinished(Side::kRemote).NoteCall();
  local_->SetMaxDynamicShared(id, bytes).IgnoreError();
  return absl::OkStatus();
}

absl::StatusOr<device::Symbol> PartitionedDevice::FindSymbol(device::ModuleId module, const std::string& name) {
  const absl::StatusOr<device::Symbol> local = local_->FindSymbol(module, name);
  if (local.ok()) access_.NoteVariable(local->address);
  return remote_->FindSymbol(module, name);
}

absl::Status PartitionedDevice::CreateStream(device::StreamId id, uint32_t flags, int32_t priority) {
  WHARF_RETURN_IF_ERROR(remote_->CreateStream(id, flags, priority));
  Unfinished(Side::kRemote).NoteCall();
  local_->CreateStream(id, flags, priority).IgnoreError();
  several_streams_ = true;
  return absl::OkStatus();
}

absl::Status PartitionedDevice::DestroyStream(device::StreamId id) {
  WHARF_RETURN_IF_ERROR(remote_->DestroyStream(id));
  Unfinished(Side::kRemote).NoteCall();
  local_->DestroyStream(id).IgnoreError();
  return absl::OkStatus();
}

absl::Status PartitionedDevice::CreateEvent(device::EventId id, uint32_t flags) {
  WHARF_RETURN_IF_ERROR(remote_->CreateEvent(id, flags));
  Unfinished(Side::kRemote).NoteCall();
  local_->CreateEvent(id, flags).IgnoreError();
  return absl::OkStatus();
}

absl::Status PartitionedDevice::DestroyEvent(device::EventId id) {
  WHARF_RETURN_IF_ERROR(remote_->DestroyEvent(id));
  Unfinished(Side::kRemote).NoteCall();
  local_->DestroyEvent(id).IgnoreError();
  return absl::OkStatus();
}

// A stream of a side with nothing to do gets nothing to do by this.
void PartitionedDevice::NoteQueuedIfBusy(device::StreamId stream) {
  for (const Side side : {Side::kLocal, Side::kRemote}) {
    if (Unfinished(side).Any()) Unfinished(side).Note(stream);
  }
}

absl::Status PartitionedDevice::RecordEvent(device::EventId event, device::StreamId stream) {
  WHARF_RETURN_IF_ERROR(remote_->RecordEvent(event, stream));
  local_->RecordEvent(event, stream).IgnoreError();
  NoteQueuedIfBusy(stream);
  return absl::OkStatus();
}

absl::Status PartitionedDevice::WaitEvent(device::StreamId stream, device::EventId event) {
  WHARF_RETURN_IF_ERROR(remote_->WaitEvent(stream, event));
  local_->WaitEvent(stream, event).IgnoreError();
  NoteQueuedIfBusy(stream);
  return absl::OkStatus();
}

// --- work ---

Side PartitionedDevice::Choose(const StepOp& op, const Access& access) {
  if (left_here_) return Side::kRemote;
  if (placement_->WantsTimes()) placement_->NoteTimes(timer_.Collect());
  const Side side = placement_->Next(op, access);
  if (placement_->TakeProbe()) {
    const MemoryRange some = access_.AllocationOf(RemoteDevice::kProbeBytes);
    if (some.size > 0) remote_->ProbeLink(some);
  }
  return access.only_remote ? Side::kRemote : side;
}

template <typename Op, typename Issue>
absl::Status PartitionedDevice::Work(const Op& op, const Issue& issue) {
  if (!local_->Fault().ok()) return absl::OkStatus();  // nothing runs after it
  const Access access = access_.Find(op);
  if (Choose(op, access) == Side::kLocal) {
    if constexpr (std::is_same_v<Op, offload::Launch>) {
      if (RanForCoverage(op)) return absl::OkStatus();
    }
    const absl::Status done = RunOn(Side::kLocal, op, access, issue);
    if (done.ok() || !local_->Fault().ok()) return absl::OkStatus();
    Log(LogLevel::kDebug, "the device here refused an operation", {{"why", Message(done)}});
  }
  return RunOn(Side::kRemote, op, access, issue);
}

template <typename Op, typename Issue>
absl::Status PartitionedDevice::RunOn(Side side, const Op& op, const Access& access, const Issue& issue) {
  WHARF_RETURN_IF_ERROR(MakeValid(side, op.stream, access.anything ? std::vector{kAllMemory} : access.needs));
  Unfinished(side).Note(op.stream);
  const std::optional<size_t> timed = placement_->Timed();
  if (timed) timer_.Start(side, op.stream, *timed);
  const absl::Status issued = issue(On(side), op);
  if (timed) timer_.Stop(issued.ok());
  WHARF_RETURN_IF_ERROR(issued);
  for (const MemoryRange& range : access.anything ? std::vector{kAllMemory} : access.writes) {
    validity_.NoteWritten(range, side);
  }
  ++(side == Side::kLocal ? counters_->operations_local : counters_->operations_remote);
  return absl::OkStatus();
}

// Worth it is what saves a transfer of outputs. Nothing of these may be valid here, as it would be lost.
bool PartitionedDevice::RanForCoverage(const offload::Launch& op) {
  const std::vector<MemoryRange> targets = access_.ToBeCovered(op);
  if (targets.empty()) return false;
  for (const MemoryRange& target : targets) {
    const std::vector<MemoryRange> missing = validity_.Missing(target, Side::kLocal);
    if (missing.size() != 1 || missing.front().size != target.size) return false;
  }
  std::vector<MemoryRange> inputs;
  for (const MemoryRange& range : access_.Find(op).needs) {
    const bool is_target = std::any_of(targets.begin(), targets.end(),
                                       [&](const MemoryRange& target) { return target.address == range.address; });
    if (!is_target) inputs.push_back(range);
  }
  if (!MakeValid(Side::kLocal, op.stream, inputs).ok()) return false;
  Unfinished(Side::kLocal).Note(op.stream);
  absl::StatusOr<std::vector<MemoryRange>> written = RunForCoverage(*local_, op, targets);
  if (!written.ok()) return false;
  for (const MemoryRange& range : *written) validity_.NoteWritten(range, Side::kLocal);
  access_.NoteCovered(op, *std::move(written));
  ++counters_->covered;
  ++counters_->operations_local;
  return true;
}

absl::Status PartitionedDevice::MakeValid(Side side, device::StreamId stream, const std::vector<MemoryRange>& ranges) {
  std::vector<MemoryRange> missing;
  for (const MemoryRange& range : ranges) {
    for (const MemoryRange& piece : validity_.Missing(range, side)) {
      missing.push_back(piece);
      validity_.NoteCopied(piece);
    }
  }
  if (missing.empty()) return absl::OkStatus();
  ++counters_->transfers;
  const absl::Status status = Transfer(side, stream, missing);
  if (status.ok()) return status;
  for (const MemoryRange& piece : missing) validity_.NoteWritten(piece, Other(side));
  return status;
}

// Within a stream the copies are in order behind the work that made the data and before the work that needs them. With
// several streams, other work that the program ordered in no way with this one may still be writing what else lies in
// an allocation, and may read what is copied now: so both is waited for.
absl::Status PartitionedDevice::Transfer(Side to, device::StreamId stream, const std::vector<MemoryRange>& ranges) {
  const Side from = Other(to);
  if (several_streams_) WHARF_RETURN_IF_ERROR(Settle(from));
  struct Piece {
    MemoryRange range;
    absl::Status status;
    std::vector<std::byte> data;
  };
  std::vector<Piece> pieces;
  for (const MemoryRange& range : ranges) {
    for (uint64_t at = 0; at < range.size; at += kMaxBulkBytes) {
      pieces.push_back({{range.address + at, std::min<uint64_t>(range.size - at, kMaxBulkBytes)}, {}, {}});
    }
  }
  absl::BlockingCounter left(static_cast<int>(pieces.size()));
  for (Piece& piece : pieces) {
    const absl::Status queued =
        On(from).CopyToHost(stream, Row(piece.range), Bytes(piece.range),
                            [&piece, &left](const absl::Status& status, std::vector<std::byte> data) {
                              piece.status = status;
                              piece.data = std::move(data);
                              left.DecrementCount();
                            });
    if (queued.ok()) continue;
    piece.status = queued;
    left.DecrementCount();
  }
  left.Wait();
  Unfinished(to).Note(stream);
  for (Piece& piece : pieces) {
    WHARF_RETURN_IF_ERROR(piece.status);
    WHARF_RETURN_IF_ERROR(On(to).CopyToDevice(stream, Row(piece.range), Bytes(piece.range), std::move(piece.data)));
    (to == Side::kRemote ? counters_->bytes_up : counters_->bytes_down) += piece.range.size;
  }
  return several_streams_ ? Settle(to) : absl::OkStatus();
}

absl::Status PartitionedDevice::Settle(Side side) {
  if (!Unfinished(side).Any()) return absl::OkStatus();
  absl::BlockingCounter left(1);
  absl::Status result;
  const uint64_t mark = Unfinished(side).Mark();
  WHARF_RETURN_IF_ERROR(On(side).NotifyAll([&](const absl::Status& status) {
    result = status;
    left.DecrementCount();
  }));
  left.Wait();
  Unfinished(side).NoteAllDone(mark);
  return result;
}

// What comes from the host is on this side anyway: what is sent to the server is kept here too.
absl::Status PartitionedDevice::CopyToDevice(device::StreamId stream, device::Region to, device::Extent extent,
                                             std::vector<std::byte> packed) {
  if (!local_->Fault().ok()) return absl::OkStatus();
  const offload::CopyToDevice op{stream, to, extent};
  const Access access = access_.Find(op);
  const auto issue = [&packed](device::Device& device, const offload::CopyToDevice& copy) {
    return device.CopyToDevice(copy.stream, copy.to, copy.extent, packed);
  };
  const bool overwrites = access.needs.empty() && !access.anything;
  if (Choose(op, access) == Side::kLocal && RunOn(Side::kLocal, op, access, issue).ok()) return absl::OkStatus();
  WHARF_RETURN_IF_ERROR(RunOn(Side::kRemote, op, access, issue));
  if (access.only_remote || left_here_ || !overwrites || !issue(*local_, op).ok()) return absl::OkStatus();
  Unfinished(Side::kLocal).Note(stream);
  for (const MemoryRange& range : access.writes) validity_.NoteCopied(range);
  return absl::OkStatus();
}

absl::Status PartitionedDevice::CopyToHost(device::StreamId stream, device::Region from, device::Extent extent,
                                           device::DataDone done) {
  const offload::CopyToHost op{stream, from, extent};
  const Access access = access_.Find(op);
  Choose(op, access);
  const auto valid_on = [&](Side side) {
    return std::all_of(access.needs.begin(), access.needs.end(),
                       [&](const MemoryRange& range) { return validity_.Missing(range, side).empty(); });
  };
  const Side side = !access.only_remote && valid_on(Side::kLocal) && !left_here_ ? Side::kLocal : Side::kRemote;
  const absl::Status fault = local_->Fault();
  if (!fault.ok()) {
    done(fault, {});
    return absl::OkStatus();
  }
  // The copy is behind everything on its stream, on the other side too: a fault there is its fault.
  const bool both = Unfinished(Other(side)).Any();
  auto data = std::make_shared<std::vector<std::byte>>();
  auto deliver = [data, done = std::move(done), delivery = deliveries_->Begin()](const absl::Status& status) mutable {
    done(status, status.ok() ? std::move(*data) : std::vector<std::byte>());
    delivery.reset();
  };
  const auto join = std::make_shared<Join>(both ? 2 : 1, std::move(deliver));
  const auto arrive = [&](Side from) {
    return [join, work = unfinished_[static_cast<size_t>(from)], mark = Unfinished(from).Mark(),
            stream](const absl::Status& status) {
      join->Arrive(status);
      // Not before the data are delivered: a side that is done is not waited for.
      if (status.ok()) work->NoteDone(stream, mark);
    };
  };
  WHARF_RETURN_IF_ERROR(RunOn(side, op, access, [&](device::Device& device, const offload::CopyToHost& copy) {
    return device.CopyToHost(copy.stream, copy.from, copy.extent,
                             [data, copied = arrive(side)](const absl::Status& status, std::vector<std::byte> bytes) {
                               *data = std::move(bytes);
                               copied(status);
                             });
  }));
  if (!both) return absl::OkStatus();
  Unfinished(Other(side)).Note(stream);  // whoever waits for the stream waits for this answer
  const absl::Status asked = On(Other(side)).Notify(stream, arrive(Other(side)));
  if (!asked.ok()) join->Arrive(asked);
  return absl::OkStatus();
}

absl::Status PartitionedDevice::CopyOnDevice(device::StreamId stream, device::Region to, device::Region from,
                                             device::Extent extent) {
  return Work(offload::CopyOnDevice{stream, to, from, extent},
              [](device::Device& device, const offload::CopyOnDevice& op) {
                return device.CopyOnDevice(op.stream, op.to, op.from, op.extent);
              });
}

absl::Status PartitionedDevice::Fill(device::StreamId stream, device::Region to, device::Extent extent, uint32_t value,
                                     uint32_t element_bytes) {
  return Work(offload::Fill{stream, to, extent, value, element_bytes},
              [](device::Device& device, const offload::Fill& op) {
                return device.Fill(op.stream, op.to, op.extent, op.value, op.element_bytes);
              });
}

absl::Status PartitionedDevice::Launch(device::StreamId stream, device::FunctionId function,
                                       const device::LaunchConfig& config, std::vector<std::byte> parameters) {
  const offload::Launch op{stream, function, config, std::move(parameters)};
  access_.NoteRun(op);
  return Work(op, [](device::Device& device, const offload::Launch& launch) {
    return device.Launch(launch.stream, launch.function, launch.config, launch.parameters);
  });
}

absl::Status PartitionedDevice::RunGemm(device::StreamId stream, const device::Gemm& gemm) {
  return Work(offload::RunGemm{stream, gemm},
              [](device::Device& device, const offload::RunGemm& op) { return device.RunGemm(op.stream, op.gemm); });
}

absl::Status PartitionedDevice::RunPrimitive(device::StreamId stream, const device::Primitive& primitive) {
  const auto run = [](device::Device& device, const auto& op) { return device.RunPrimitive(op.stream, op.primitive); };
  return std::visit([&](const auto& what) { return Work(RunOf(stream, what), run); }, primitive);
}

// A host function waits for both sides' work, and both sides' work for it. It may do anything in between, and hold
// its stream for as long as it wants; while it does, no call here may wait. So the server has to have everything.
absl::Status PartitionedDevice::LeaveLocal(device::StreamId stream, const char* what_for) {
  if (std::exchange(left_here_, true)) return absl::OkStatus();
  Log(LogLevel::kInfo, "the program runs on the server from now on", {{"why", what_for}});
  WHARF_RETURN_IF_ERROR(Settle(Side::kLocal));
  return MakeValid(Side::kRemote, stream, {kAllMemory});
}

absl::Status PartitionedDevice::HostCall(device::StreamId stream, std::function<void()> call) {
  if (local_->Fault().ok()) WHARF_RETURN_IF_ERROR(LeaveLocal(stream, "it uses host functions"));
  Unfinished(Side::kRemote).Note(stream);
  return remote_->HostCall(stream, std::move(call));
}

// A texture is made of memory by no stream's work, so all that is to be there has to be before the call returns.
absl::Status PartitionedDevice::LeaveLocalForTextures() {
  if (left_here_ || !local_->Fault().ok()) return absl::OkStatus();
  WHARF_RETURN_IF_ERROR(LeaveLocal(device::kDefaultStream, "it uses textures"));
  return Settle(Side::kRemote);
}

absl::StatusOr<device::TextureHandle> PartitionedDevice::CreateTexture(const device::TextureDescription& texture) {
  WHARF_RETURN_IF_ERROR(LeaveLocalForTextures());
  return remote_->CreateTexture(texture);
}

absl::StatusOr<device::TextureHandle> PartitionedDevice::CreateSurface(const device::ImageDescription& image) {
  WHARF_RETURN_IF_ERROR(LeaveLocalForTextures());
  return remote_->CreateSurface(image);
}

absl::Status PartitionedDevice::DestroyTexture(device::TextureHandle handle) {
  WHARF_RETURN_IF_ERROR(remote_->DestroyTexture(handle));
  Unfinished(Side::kRemote).NoteCall();
  return absl::OkStatus();
}

absl::Status PartitionedDevice::DestroySurface(device::TextureHandle handle) {
  WHARF_RETURN_IF_ERROR(remote_->DestroySurface(handle));
  Unfinished(Side::kRemote).NoteCall();
  return absl::OkStatus();
}

// --- waiting ---

template <typename Ask, typename NoteDone>
absl::Status PartitionedDevice::OnBoth(const Ask& ask, const NoteDone& note_done, device::Done done) {
  const bool both = Unfinished(Side::kRemote).Any();
  const auto join = std::make_shared<Join>(both ? 2 : 1, std::move(done));
  const auto arrive = [&](Side side) {
    return [join, note_done, work = unfinished_[static_cast<size_t>(side)],
            mark = Unfinished(side).Mark()](const absl::Status& status) {
      if (status.ok()) note_done(*work, mark);
      join->Arrive(status);
    };
  };
  WHARF_RETURN_IF_ERROR(ask(*local_, arrive(Side::kLocal)));
  if (!both) return absl::OkStatus();
  const absl::Status asked = ask(*remote_, arrive(Side::kRemote));
  if (!asked.ok()) join->Arrive(asked);
  return absl::OkStatus();
}

absl::Status PartitionedDevice::Notify(device::StreamId stream, device::Done done) {
  return OnBoth([stream](device::Device& device, device::Done then) { return device.Notify(stream, std::move(then)); },
                [stream](UnfinishedWork& work, uint64_t mark) { work.NoteDone(stream, mark); }, std::move(done));
}

absl::Status PartitionedDevice::NotifyAll(device::Done done) {
  const auto when_delivered = [deliveries = deliveries_, begun = deliveries_->Begun(),
                               done = std::move(done)](const absl::Status& status) {
    deliveries->WhenDelivered(begun, [done, status] { done(status); });
  };
  return OnBoth([](device::Device& device, device::Done then) { return device.NotifyAll(std::move(then)); },
                [](UnfinishedWork& work, uint64_t mark) { work.NoteAllDone(mark); }, when_delivered);
}

absl::Status PartitionedDevice::NotifyEvent(device::EventId event, device::Done done) {
  return OnBoth(
      [event](device::Device& device, device::Done then) { return device.NotifyEvent(event, std::move(then)); },
      [](UnfinishedWork&, uint64_t) {}, std::move(done));
}

// The server is asked even if this side is not done: its answer brings the errors of what was sent before.
template <typename Ask>
absl::StatusOr<bool> PartitionedDevice::DoneOnBoth(const Ask& ask) {
  WHARF_ASSIGN_OR_RETURN(const bool local, ask(*local_));
  if (!Unfinished(Side::kRemote).Any()) return local;
  WHARF_ASSIGN_OR_RETURN(const bool remote, ask(*remote_));
  return local && remote;
}

absl::StatusOr<bool> PartitionedDevice::EventDone(device::EventId event) {
  return DoneOnBoth([event](device::Device& device) { return device.EventDone(event); });
}

absl::StatusOr<bool> PartitionedDevice::StreamDone(device::StreamId stream) {
  return DoneOnBoth([stream](device::Device& device) { return device.StreamDone(stream); });
}

absl::StatusOr<float> PartitionedDevice::ElapsedMs(device::EventId start, device::EventId end) {
  WHARF_ASSIGN_OR_RETURN(const float local, local_->ElapsedMs(start, end));
  WHARF_ASSIGN_OR_RETURN(const float remote, remote_->ElapsedMs(start, end));
  return std::max(local, remote);
}

// --- observation ---

absl::Status PartitionedDevice::Fault() const {
  WHARF_RETURN_IF_ERROR(remote_->Fault());
  return local_->Fault();
}

std::string PartitionedDevice::Report() {
  return fmt::format(
      "{{\"operations_local\": {}, \"operations_remote\": {}, \"transfers\": {}, \"transferred_up\": {}, "
      "\"transferred_down\": {}, \"busy_here_ns\": {}, \"plan\": {}, \"there\": {}}}",
      counters_->operations_local.load(), counters_->operations_remote.load(), counters_->transfers.load(),
      counters_->bytes_up.load(), counters_->bytes_down.load(), local_->BusyTime().count(), placement_->Report(),
      remote_->Report());
}

void PartitionedDevice::SetOutput(std::function<void(std::string)> output) {
  local_->SetOutput(output);
  remote_->SetOutput(std::move(output));
}

}  // namespace wharf::offload
