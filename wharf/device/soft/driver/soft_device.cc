#include "wharf/device/soft/driver/soft_device.h"

#include <algorithm>
#include <utility>

#include "wharf/device/asked_size.h"
#include "wharf/device/soft/driver/box.h"
#include "wharf/device/soft/driver/gemm.h"
#include "wharf/device/soft/primitives/primitives.h"
#include "wharf/device/soft/runtime/fiber.h"

namespace wharf::device::soft {
namespace {

constexpr StreamId kLastReservedStream = 2;
// What GPUs of a compute capability have; the defaults are those of 7.5.
struct Limits {
  int32_t capability, threads, blocks;  // of a multiprocessor
  uint32_t shared_kib;                  // the same; a block may have all but one
};
constexpr Limits kLimits[] = {{80, 2048, 32, 164}, {86, 1536, 16, 100}, {89, 1536, 24, 100}};
constexpr uint32_t kEventDisableTiming = 2;  // cudaEventDisableTiming, CU_EVENT_DISABLE_TIMING

int64_t NowNs() { return Clock::Real().Now().since_epoch.count(); }

absl::Status NoSuch(std::string_view what, uint64_t id) {
  return CudaStatus(CudaError::kInvalidHandle, "there is no {} {}", what, id);
}

absl::Status Taken(std::string_view what, uint64_t id) {
  return CudaStatus(CudaError::kInvalidValue, "{} {} exists already or is reserved", what, id);
}

}  // namespace

absl::StatusOr<std::unique_ptr<SoftDevice>> SoftDevice::Create(const DeviceOptions& options,
                                                               std::unique_ptr<Compiler> compiler,
                                                               std::shared_ptr<const pack::PackSet> packs) {
  WHARF_ASSIGN_OR_RETURN(
      std::unique_ptr<Memory> memory,
      Memory::Create(options.memory_quota, Executor::WorkersFor(options.threads), options.arena_base));
  std::unique_ptr<SoftDevice> device(new SoftDevice(options, std::move(memory), std::move(compiler), std::move(packs)));
  WHARF_ASSIGN_OR_RETURN(device->executor_,
                         Executor::Create(options.threads, device->services_, options.kernel_timeout));
  SetGemmThreads(static_cast<int>(device->executor_->threads()));
  device->FillProperties(options);
  const auto at_idle = [share = options.share] {
    if (share != nullptr) share->Idle();
  };
  device->queue_ = std::make_unique<WorkQueue>(at_idle, [executor = device->executor_.get()] { executor->Detach(); });
  return device;
}

SoftDevice::SoftDevice(const DeviceOptions& options, std::unique_ptr<Memory> memory, std::unique_ptr<Compiler> compiler,
                       std::shared_ptr<const pack::PackSet> packs)
    : arena_(memory->Arena()),
      memory_(std::move(memory)),
      compiler_(std::move(compiler)),
      packs_(std::move(packs)),
      services_(*memory_),
      share_(options.share) {
  streams_[kDefaultStream] = std::make_shared<Timeline>();
}

SoftDevice::~SoftDevice() {
  Latch(absl::CancelledError("the device is going away"));
  if (executor_ != nullptr) executor_->Stop();
  queue_.reset();  // what is queued is skipped, its callbacks are told
  services_.output.SetSink(nullptr);
}

absl::Status SoftDevice::SetFindings(std::shared_ptr<check::Findings> findings) {
  if ((findings->checks() & check::kInit) != 0) WHARF_RETURN_IF_ERROR(memory_->NoteWrites());
  services_.findings = std::move(findings);
  return absl::OkStatus();
}

void SoftDevice::FillProperties(const DeviceOptions& options) {
  properties_.name = fmt::format("Wharf software GPU ({} threads)", executor_->threads());
  properties_.driver = "soft";
  properties_.compute_major = options.compute_capability / 10;
  properties_.compute_minor = options.compute_capability % 10;
  for (const Limits& limits : kLimits) {
    if (limits.capability != options.compute_capability) continue;
    // No more than a cooperative launch may have at once.
    if (executor_->threads() * static_cast<size_t>(limits.threads) <= MaxStacks()) {
      properties_.max_threads_per_multiprocessor = limits.threads;
    }
    properties_.max_blocks_per_multiprocessor = limits.blocks;
    properties_.shared_per_block_optin = (limits.shared_kib - 1) << 10;
    properties_.shared_per_multiprocessor = limits.shared_kib << 10;
  }
  properties_.total_memory = options.memory_quota;
  properties_.multiprocessors = static_cast<int32_t>(executor_->threads());
  properties_.clock_khz = 1'000'000;  // %clock64 counts nanoseconds
  properties_.memory_clock_khz = 1'000'000;
  properties_.memory_bus_bits = 128;
  properties_.l2_bytes = 1 << 20;
  const std::string_view uuid = "wharf-soft-gpu-0";
  std::copy(uuid.begin(), uuid.end(), properties_.uuid.begin());
}

// --- queueing ---

absl::Status SoftDevice::State() const {
  if (!failed_.load(std::memory_order_acquire)) return absl::OkStatus();
  absl::MutexLock lock(&state_mutex_);
  return state_;
}

absl::Status SoftDevice::Fault() const {
  absl::Status state = State();
  return absl::IsCancelled(state) ? absl::OkStatus() : state;
}

void SoftDevice::Latch(const absl::Status& status) {
  absl::MutexLock lock(&state_mutex_);
  if (state_.ok()) state_ = status;
  failed_.store(true, std::memory_order_release);
}

void SoftDevice::Pay(Nanoseconds took) {
  busy_ns_.fetch_add(took.count());
  if (share_ == nullptr) return;
  const Nanoseconds helpers = executor_->TakeHelpersTime() + std::exchange(gemm_helpers_time_, Nanoseconds(0));
  share_->End((took + helpers) / static_cast<int64_t>(executor_->threads()));
}

void SoftDevice::RunDue(const std::vector<Timeline::Callback>& due) {
  for (const Timeline::Callback& callback : due) callback();
}

void SoftDevice::NotifyWhenDone(Timeline& timeline, Done done) {
  if (queue_->Idle()) return done(State());  // all that was issued is done
  Timeline::Callback callback = [this, done = std::move(done)] { done(State()); };
  if (!timeline.WhenDone(callback)) queue_->PushUrgent(std::move(callback));
}

// --- memory ---

absl::Status SoftDevice::Map(DeviceAddress address, uint64_t size) {
  WHARF_ASSIGN_OR_RETURN(const bool at_once, memory_->Map(address, size));
  if (at_once) return absl::OkStatus();
  Enqueue(streams_[kDefaultStream], [this, address, size] {
    if (absl::Status status = memory_->Commit(address, size); !status.ok()) Latch(status);
  });
  return absl::OkStatus();
}

absl::Status SoftDevice::Unmap(DeviceAddress address) {
  if (address < arena_.base || address - arena_.base >= arena_.size) {
    return CudaStatus(CudaError::kInvalidValue, "unmap of {:#x}: outside the arena", address);
  }
  WHARF_ASSIGN_OR_RETURN(const uint64_t size, memory_->Unmap(address));
  ++memory_version_;
  Enqueue(streams_[kDefaultStream], [this, address, size] { memory_->Decommit(address, size); });
  return absl::OkStatus();
}

// --- textures and surfaces ---

absl::StatusOr<TextureHandle> SoftDevice::AddImage(const ImageDescription& described, uint32_t levels,
                                                   const Image& image) {
  const uint64_t bytes = BytesOf(described, levels);
  if (!memory_->IsMapped(described.base, bytes)) {
    return CudaStatus(CudaError::kInvalidValue, "an image of {} bytes at {:#x}: not all of it is mapped", bytes,
                      described.base);
  }
  return services_.images.Add(image);
}

absl::StatusOr<TextureHandle> SoftDevice::CreateTexture(const TextureDescription& described) {
  WHARF_RETURN_IF_ERROR(CheckTexture(described));
  TextureDescription texture = described;
  // GPUs do not look whether a line of texels is all there. Here it ends where memory does, and zeros are behind it.
  if (texture.image.kind == ImageKind::kLinear) texture.image.width = MappedTexels(texture.image);
  return AddImage(texture.image, texture.mipmap.levels, MakeImage(texture));
}

uint32_t SoftDevice::MappedTexels(const ImageDescription& line) const {
  const uint64_t texel = line.format.TexelBytes();
  uint64_t there = 1, beyond = uint64_t{line.width} + 1;  // one at least: an image of none is another mistake
  while (there + 1 < beyond) {
    const uint64_t middle = there + (beyond - there) / 2;
    (memory_->IsMapped(line.base, middle * texel) ? there : beyond) = middle;
  }
  return static_cast<uint32_t>(there);
}

absl::StatusOr<TextureHandle> SoftDevice::CreateSurface(const ImageDescription& image) {
  WHARF_RETURN_IF_ERROR(CheckSurface(image));
  return AddImage(image, 1, MakeImage(image));
}

absl::Status SoftDevice::DestroyImage(TextureHandle handle, bool is_surface) {
  if (!services_.images.Retire(handle, is_surface)) return NoSuch(is_surface ? "surface" : "texture", handle);
  Enqueue(streams_[kDefaultStream], [this, handle] { services_.images.Release(handle); });
  return absl::OkStatus();
}

// --- streams and events ---

absl::StatusOr<std::shared_ptr<Timeline>> SoftDevice::FindStream(StreamId id) const {
  const auto stream = streams_.find(id);
  if (stream == streams_.end()) return NoSuch("stream", id);
  return stream->second;
}

absl::StatusOr<std::shared_ptr<SoftDevice::Event>> SoftDevice::FindEvent(EventId id) const {
  const auto event = events_.find(id);
  if (event == events_.end()) return NoSuch("event", id);
  return event->second;
}

absl::Status SoftDevice::CreateStream(StreamId id, uint32_t /*flags*/, int32_t /*priority*/) {
  if (id <= kLastReservedStream || !streams_.emplace(id, std::make_shared<Timeline>()).second)
    return Taken("stream", id);
  return absl::OkStatus();
}

absl::Status SoftDevice::DestroyStream(StreamId id) {
  if (id == kDefaultStream || streams_.erase(id) == 0) return NoSuch("stream", id);
  ++names_version_;
  return absl::OkStatus();
}

absl::Status SoftDevice::CreateEvent(EventId id, uint32_t flags) {
  const auto [event, is_new] = events_.emplace(id, nullptr);
  if (!is_new) return Taken("event", id);
  event->second = std::make_shared<Event>();
  event->second->timed = (flags & kEventDisableTiming) == 0;
  return absl::OkStatus();
}

absl::Status SoftDevice::DestroyEvent(EventId id) {
  if (events_.erase(id) == 0) return NoSuch("event", id);
  return absl::OkStatus();
}

absl::Status SoftDevice::RecordEvent(EventId event_id, StreamId stream_id) {
  WHARF_ASSIGN_OR_RETURN(std::shared_ptr<Event> event, FindEvent(event_id));
  WHARF_ASSIGN_OR_RETURN(std::shared_ptr<Timeline> stream, FindStream(stream_id));
  event->records.Issue();
  Enqueue(std::move(stream), [this, event = std::move(event)] {
    event->at_ns.store(NowNs());
    RunDue(event->records.Complete());
  });
  return absl::OkStatus();
}

absl::Status SoftDevice::WaitEvent(StreamId stream, EventId event) {
  // Work runs in issue order: whatever the event recorded is done before what follows on any stream.
  WHARF_RETURN_IF_ERROR(FindStream(stream).status());
  return FindEvent(event).status();
}

absl::StatusOr<bool> SoftDevice::EventDone(EventId id) {
  WHARF_ASSIGN_OR_RETURN(const std::shared_ptr<Event> event, FindEvent(id));
  return event->records.Done();
}

absl::StatusOr<bool> SoftDevice::StreamDone(StreamId id) {
  WHARF_ASSIGN_OR_RETURN(const std::shared_ptr<Timeline> stream, FindStream(id));
  return stream->Done();
}

absl::StatusOr<float> SoftDevice::ElapsedMs(EventId start_id, EventId end_id) {
  WHARF_ASSIGN_OR_RETURN(const std::shared_ptr<Event> start, FindEvent(start_id));
  WHARF_ASSIGN_OR_RETURN(const std::shared_ptr<Event> end, FindEvent(end_id));
  for (const auto& event : {start, end}) {
    if (!event->timed || !event->records.EverIssued()) {
      return CudaStatus(CudaError::kInvalidHandle, "an event was never recorded or takes no time");
    }
  }
  if (!start->records.Done() || !end->records.Done()) return CudaStatus(CudaError::kNotReady, "an event is not done");
  return static_cast<float>(Milliseconds(Nanoseconds(end->at_ns.load() - start->at_ns.load())));
}

// --- copies ---

absl::Status SoftDevice::CopyToDevice(StreamId stream_id, Region to, Extent extent, std::vector<std::byte> packed) {
  WHARF_ASSIGN_OR_RETURN(std::shared_ptr<Timeline> stream, FindStream(stream_id));
  WHARF_RETURN_IF_ERROR(CheckBox(*memory_, to, extent));
  const uint64_t expected = IsEmpty(extent) ? 0 : PackedBytes(extent);
  if (packed.size() != expected) {
    return CudaStatus(CudaError::kInvalidValue, "copy of {} bytes was given {}", expected, packed.size());
  }
  EnqueueWork(std::move(stream), [this, to, extent, packed = std::move(packed)] {
    CopyIn(to, extent, packed.data());
    NoteWritten(*memory_, to, extent);
    return absl::OkStatus();
  });
  return absl::OkStatus();
}

absl::Status SoftDevice::CopyToHost(StreamId stream_id, Region from, Extent extent, DataDone done) {
  WHARF_ASSIGN_OR_RETURN(std::shared_ptr<Timeline> stream, FindStream(stream_id));
  WHARF_RETURN_IF_ERROR(CheckBox(*memory_, from, extent));
  auto data = std::make_shared<std::vector<std::byte>>();
  EnqueueWork(stream, [from, extent, data] {
    if (IsEmpty(extent)) return absl::OkStatus();
    data->resize(PackedBytes(extent));
    CopyOut(from, extent, data->data());
    return absl::OkStatus();
  });
  Enqueue(std::move(stream), [this, data, done = std::move(done)] {
    const absl::Status state = State();
    if (!state.ok()) data->clear();
    done(state, std::move(*data));
  });
  return absl::OkStatus();
}

absl::Status SoftDevice::CopyOnDevice(StreamId stream_id, Region to, Region from, Extent extent) {
  WHARF_ASSIGN_OR_RETURN(std::shared_ptr<Timeline> stream, FindStream(stream_id));
  WHARF_RETURN_IF_ERROR(CheckBox(*memory_, to, extent));
  WHARF_RETURN_IF_ERROR(CheckBox(*memory_, from, extent));
  EnqueueWork(std::move(stream), [this, to, from, extent] {
    NoteCopied(*memory_, to, from, extent);
    CopyBox(to, from, extent);
    return absl::OkStatus();
  });
  return absl::OkStatus();
}

absl::Status SoftDevice::CheckFill(const FillWork& fill) const {
  const auto& [to, extent, value, element_bytes] = fill;
  const bool size_ok = element_bytes == 1 || element_bytes == 2 || element_bytes == 4;
  if (!size_ok || extent.width % element_bytes != 0 || to.address % element_bytes != 0 ||
      (extent.height > 1 && to.row_pitch % element_bytes != 0) ||
      (extent.depth > 1 && to.slice_pitch % element_bytes != 0)) {
    return CudaStatus(CudaError::kInvalidValue, "fill of {} bytes by elements of {}", extent.width, element_bytes);
  }
  return CheckBox(*memory_, to, extent);
}

absl::Status SoftDevice::Fill(StreamId stream_id, Region to, Extent extent, uint32_t value, uint32_t element_bytes) {
  WHARF_ASSIGN_OR_RETURN(std::shared_ptr<Timeline> stream, FindStream(stream_id));
  WHARF_RETURN_IF_ERROR(CheckFill({to, extent, value, element_bytes}));
  if (TellsAskedSize(to, extent)) {  // one that tells nonsense finds nonsense
    if (services_.findings != nullptr) memory_->SetExtent({to.address, to.row_pitch}).IgnoreError();
    return absl::OkStatus();
  }
  EnqueueWork(std::move(stream), [this, to, extent, value, element_bytes] {
    FillBox(to, extent, value, element_bytes);
    NoteWritten(*memory_, to, extent);
    return absl::OkStatus();
  });
  return absl::OkStatus();
}

absl::Status SoftDevice::RunGemm(StreamId stream_id, const Gemm& gemm) {
  WHARF_ASSIGN_OR_RETURN(std::shared_ptr<Timeline> stream, FindStream(stream_id));
  WHARF_RETURN_IF_ERROR(CheckGemm(gemm, *memory_));
  if (IsBrief(gemm) && queue_->Idle()) {
    DoWork([&] { return soft::RunGemm(gemm, *memory_); });  // done before another thread would be awake
  } else {
    EnqueueWork(std::move(stream), [this, gemm] { return RunGemmOnAllCores(gemm); });
  }
  return absl::OkStatus();
}

absl::Status SoftDevice::RunGemmOnAllCores(const Gemm& gemm) {
  if (share_ == nullptr || IsBrief(gemm)) return soft::RunGemm(gemm, *memory_);
  const TimePoint start = Clock::Real().Now();
  const absl::Status status = soft::RunGemm(gemm, *memory_);
  gemm_helpers_time_ += (Clock::Real().Now() - start) * (static_cast<int64_t>(executor_->threads()) - 1);
  return status;
}

absl::Status SoftDevice::CheckOperands(const Primitive& primitive) const {
  WHARF_RETURN_IF_ERROR(CheckPrimitive(
      primitive, [this](DeviceAddress address, uint64_t bytes) { return memory_->IsMapped(address, bytes); }));
  return soft::CheckLimits(primitive);
}

absl::Status SoftDevice::RunPrimitive(StreamId stream_id, const Primitive& primitive) {
  WHARF_ASSIGN_OR_RETURN(std::shared_ptr<Timeline> stream, FindStream(stream_id));
  WHARF_RETURN_IF_ERROR(CheckOperands(primitive));
  if (IsBrief(primitive) && queue_->Idle()) {
    DoWork([&] { return RunOnAllCores(primitive); });
  } else {
    EnqueueWork(std::move(stream), [this, primitive] { return RunOnAllCores(primitive); });
  }
  return absl::OkStatus();
}

// Of primitives, convolutions, recurrent networks and LAPACK's routines have helpers.
absl::Status SoftDevice::RunOnAllCores(const Primitive& primitive) {
  const TimePoint start = Clock::Real().Now();
  soft::RunPrimitive(primitive);
  if (check::WrittenMemory* const written = memory_->written(); written != nullptr) {
    // Of all operands: which are results is the primitive's affair.
    CheckPrimitive(primitive, [written](DeviceAddress address, uint64_t bytes) {
      written->Write(address, bytes);
      return true;
    }).IgnoreError();
  }
  const bool multiplies = std::holds_alternative<Convolution>(primitive) ||
                          std::holds_alternative<Recurrent>(primitive) || std::holds_alternative<Lapack>(primitive);
  if (share_ != nullptr && multiplies && !IsBrief(primitive)) {
    gemm_helpers_time_ += (Clock::Real().Now() - start) * (static_cast<int64_t>(executor_->threads()) - 1);
  }
  return absl::OkStatus();
}

// --- completion ---

absl::Status SoftDevice::Notify(StreamId stream_id, Done done) {
  WHARF_ASSIGN_OR_RETURN(const std::shared_ptr<Timeline> stream, FindStream(stream_id));
  NotifyWhenDone(*stream, std::move(done));
  return absl::OkStatus();
}

absl::Status SoftDevice::NotifyAll(Done done) {
  NotifyWhenDone(all_, std::move(done));
  return absl::OkStatus();
}

absl::Status SoftDevice::NotifyEvent(EventId event_id, Done done) {
  WHARF_ASSIGN_OR_RETURN(const std::shared_ptr<Event> event, FindEvent(event_id));
  NotifyWhenDone(event->records, std::move(done));
  return absl::OkStatus();
}

absl::Status SoftDevice::HostCall(StreamId stream_id, std::function<void()> call) {
  WHARF_ASSIGN_OR_RETURN(std::shared_ptr<Timeline> stream, FindStream(stream_id));
  Enqueue(std::move(stream), [this, call = std::move(call)] {
    if (State().ok()) call();
  });
  return absl::OkStatus();
}

void SoftDevice::SetOutput(std::function<void(std::string)> output) { services_.output.SetSink(std::move(output)); }

}  // namespace wharf::device::soft
