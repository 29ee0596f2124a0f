// Copies and fills. Host to device is posted: the bytes are read before the call returns (small ones into the queue,
// large ones straight to the stream). Device to host waits, except into pinned memory when the copy may return early:
// then the reply, which comes before that of any later synchronisation of the stream, brings the data.
#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "wharf/cudashim/client/copy_plan.h"
#include "wharf/cudashim/client/host_ranges.h"
#include "wharf/cudashim/client/process.h"
#include "wharf/cudashim/client/stream_work.h"

namespace wharf::client {
namespace {

constexpr uint64_t kCopyIntoQueue = 4 << 20;

// Replies of this size keep a slow link's signs of life close enough together.
constexpr uint64_t kFetchPiece = 4 << 20;

struct Transfer {
  Connection& connection;
  device::StreamId stream;
  Box to, from;
  device::Extent extent;
};

device::Region RegionOf(const Box& box, const Piece& piece) {
  return {AddressOf(box, piece), box.row_pitch, box.slice_pitch};
}

CudaError Upload(const Transfer& copy) {
  for (const Piece& piece : CutIntoPieces(copy.extent, offload::kMaxBulkBytes)) {
    const uint64_t size = Bytes(piece.extent);
    const offload::CopyToDevice op{copy.stream, RegionOf(copy.to, piece), piece.extent};
    const auto ownership = size <= kCopyIntoQueue ? link::BulkOwnership::kCopy : link::BulkOwnership::kBorrow;
    std::vector<std::byte> packed;
    std::span<const std::byte> bytes;
    if (IsContiguous(copy.from, piece.extent)) {
      bytes = {reinterpret_cast<const std::byte*>(AddressOf(copy.from, piece)), size};
    } else {
      packed = Gather(copy.from, piece);
      bytes = packed;
    }
    const CudaError error = copy.connection.session->Post(op, bytes, ownership);
    if (error != CudaError::kSuccess) return error;
  }
  return CudaError::kSuccess;
}

CudaError Download(const Transfer& copy, Landing landing) {
  offload::ClientSession& session = *copy.connection.session;
  const bool contiguous = IsContiguous(copy.to, copy.extent);
  const bool may_be_later =
      landing == Landing::kLater ||
      (landing == Landing::kLaterIfPinned && HostRanges::Get().Contains(copy.to.address, Bytes(copy.extent)));
  const bool detached = may_be_later && contiguous && session.mode() == offload::Mode::kPosted;
  std::vector<std::byte> packed(contiguous ? 0 : Bytes(copy.extent));
  auto* place = contiguous ? reinterpret_cast<std::byte*>(copy.to.address) : packed.data();
  const std::vector<Piece> pieces = CutIntoPieces(copy.extent, kFetchPiece);
  std::vector<offload::ClientSession::RequestPtr> requests;
  for (const Piece& piece : pieces) {
    const uint64_t size = Bytes(piece.extent);
    const offload::CopyToHost op{copy.stream, RegionOf(copy.from, piece), piece.extent};
    requests.push_back(session.Start(op, {place, size}, detached));
    place += size;
  }
  if (detached) return session.StickyError();
  const CudaError error = session.Wait(requests);
  if (error == CudaError::kSuccess) session.NoteDone(*requests.back(), copy.stream);
  if (error != CudaError::kSuccess || contiguous) return error;
  const std::byte* next = packed.data();
  for (const Piece& piece : pieces) {
    Scatter(copy.to, piece, {next, Bytes(piece.extent)});
    next += Bytes(piece.extent);
  }
  return CudaError::kSuccess;
}

CudaError OnDevice(const Transfer& copy) {
  const device::Region to{copy.to.address, copy.to.row_pitch, copy.to.slice_pitch};
  const device::Region from{copy.from.address, copy.from.row_pitch, copy.from.slice_pitch};
  return copy.connection.session->Post(offload::CopyOnDevice{copy.stream, to, from, copy.extent});
}

CudaError OnHost(const Transfer& copy) {
  copy.connection.session->WaitForDetached();
  for (const Piece& piece : CutIntoPieces(copy.extent, copy.extent.width)) {
    std::memmove(reinterpret_cast<void*>(AddressOf(copy.to, piece)),
                 reinterpret_cast<const void*>(AddressOf(copy.from, piece)), piece.extent.width);
  }
  return CudaError::kSuccess;
}

// All pieces are under way at once. A pending error of earlier calls stays pending: no call of the program is there to
// return it.
CudaError FetchManaged(offload::ClientSession& session, uint64_t address, std::span<std::byte> bytes) {
  std::vector<offload::ClientSession::RequestPtr> requests;
  for (uint64_t at = 0; at < bytes.size(); at += kFetchPiece) {
    const std::span<std::byte> piece = bytes.subspan(at, std::min<uint64_t>(kFetchPiece, bytes.size() - at));
    const offload::CopyToHost op{device::kDefaultStream, {address + at, 0, 0}, {piece.size(), 1, 1}};
    requests.push_back(session.Start(op, piece));
  }
  session.WaitUntil(
      [&] { return std::all_of(requests.begin(), requests.end(), [](const auto& request) { return request->done; }); });
  CudaError first = CudaError::kSuccess;
  for (const auto& request : requests) {
    const CudaError error = session.Collect(request);
    if (first == CudaError::kSuccess) first = error;
  }
  return first;
}

CudaError SendManaged(Connection& connection, uint64_t address, std::span<const std::byte> bytes) {
  offload::ClientSession& session = *connection.session;
  CudaError error = CudaError::kSuccess;
  for (uint64_t at = 0; at < bytes.size() && error == CudaError::kSuccess; at += offload::kMaxBulkBytes) {
    const auto piece = bytes.subspan(at, std::min<uint64_t>(offload::kMaxBulkBytes, bytes.size() - at));
    const auto ownership = piece.size() <= kCopyIntoQueue ? link::BulkOwnership::kCopy : link::BulkOwnership::kBorrow;
    const offload::CopyToDevice op{device::kDefaultStream, {address + at, 0, 0}, {piece.size(), 1, 1}};
    error = session.Post(op, piece, ownership);
  }
  return error == CudaError::kSuccess ? connection.OrderBehindLegacy() : error;
}

// A box on the device must lie in one live range.
bool IsLive(Connection& connection, const Box& box, const device::Extent& extent) {
  const auto range = connection.FindRange(box.address);
  return range && Span(box, extent) <= range->size - (box.address - range->address);
}

// Managed memory is on either side.
struct Sides {
  bool host = false, device = false;
};

// `on_device`: what the device calls `address`.
Sides SidesOf(Connection& connection, uint64_t address, uint64_t on_device) {
  const bool device = connection.IsDeviceAddress(on_device);
  return {!device || connection.managed.Find(address), device};
}

bool KindFits(CopyKind kind, const Sides& from, const Sides& to) {
  switch (kind) {
    case CopyKind::kHostToHost:
      return from.host && to.host;
    case CopyKind::kHostToDevice:
      return from.host && to.device;
    case CopyKind::kDeviceToHost:
      return from.device && to.host;
    case CopyKind::kDeviceToDevice:
      return from.device && to.device;
    case CopyKind::kDefault:
      return true;
  }
  return false;
}

// Before the device reads or writes a box of its memory.
CudaError Give(Connection& connection, const Box& box, const device::Extent& extent, bool device_writes) {
  return connection.managed.Give(box.address, Span(box, extent), device_writes);
}

}  // namespace

offload::ManagedMemory::Mover MoverOf(Connection& connection) {
  return {
      .to_device = [&connection](uint64_t address,
                                 std::span<const std::byte> bytes) { return SendManaged(connection, address, bytes); },
      .to_host = [&connection](
                     uint64_t address,
                     std::span<std::byte> bytes) { return FetchManaged(*connection.session, address, bytes); }};
}

namespace {

// A checked copy, as it will be carried out.
struct CopyPlan {
  Transfer copy;
  Sides source, target;
  bool IsNothing() const { return Bytes(copy.extent) == 0; }
};

CudaError PlanCopy(CopyPlan& plan, CopyKind kind) {
  Transfer& copy = plan.copy;
  const CudaError error = Normalize(copy.to, copy.from, copy.extent);
  if (error != CudaError::kSuccess || plan.IsNothing()) return error;
  if (copy.to.address == 0 || copy.from.address == 0) return CudaError::kInvalidValue;
  offload::ManagedMemory& managed = copy.connection.managed;
  const uint64_t to = std::exchange(copy.to.address, managed.DeviceAddress(copy.to.address));
  const uint64_t from = std::exchange(copy.from.address, managed.DeviceAddress(copy.from.address));
  plan.source = SidesOf(copy.connection, from, copy.from.address);
  plan.target = SidesOf(copy.connection, to, copy.to.address);
  if (!KindFits(kind, plan.source, plan.target)) return CudaError::kInvalidValue;
  const bool live = (!plan.source.device || IsLive(copy.connection, copy.from, copy.extent)) &&
                    (!plan.target.device || IsLive(copy.connection, copy.to, copy.extent));
  return live ? CudaError::kSuccess : CudaError::kInvalidValue;
}

CudaError CarryOut(const CopyPlan& plan, Landing landing) {
  const Transfer& copy = plan.copy;
  CudaError error = CudaError::kSuccess;
  if (plan.source.device) error = Give(copy.connection, copy.from, copy.extent, /*device_writes=*/false);
  if (plan.target.device && error == CudaError::kSuccess) error = Give(copy.connection, copy.to, copy.extent, true);
  if (error != CudaError::kSuccess) return error;
  if (plan.source.device) return plan.target.device ? OnDevice(copy) : Download(copy, landing);
  return plan.target.device ? Upload(copy) : OnHost(copy);
}

Box BoxOf(const device::Region& region) { return {region.address, region.row_pitch, region.slice_pitch}; }
device::Region RegionOf(const Box& box) { return {box.address, box.row_pitch, box.slice_pitch}; }

// One side as queries of a node are to describe it.
cudagraph::CopySide Describe(const Box& box, const device::Extent& extent, const Sides& where) {
  cudagraph::CopySide side;
  side.box = RegionOf(box);
  side.address = box.address;
  side.pitch = box.row_pitch != 0 ? box.row_pitch : extent.width;
  side.height = box.slice_pitch != 0 && side.pitch != 0 ? box.slice_pitch / side.pitch : extent.height;
  side.on_host = !where.device;
  return side;
}

struct FillPlan {
  Box box;
  device::Extent extent;
  bool on_host = false;
};

CudaError PlanFill(Connection& connection, const cudagraph::FillParams& fill, FillPlan* plan) {
  plan->box = BoxOf(fill.to);
  plan->extent = fill.extent;
  Box same = plan->box;
  const CudaError error = Normalize(plan->box, same, plan->extent);
  if (error != CudaError::kSuccess || Bytes(plan->extent) == 0) return error;
  plan->box.address = connection.managed.DeviceAddress(plan->box.address);
  plan->on_host = !connection.IsDeviceAddress(plan->box.address);
  const bool aligned = plan->box.address % fill.element_bytes == 0 && plan->extent.width % fill.element_bytes == 0;
  if (plan->on_host) {
    const bool pinned = HostRanges::Get().Contains(plan->box.address, Span(plan->box, plan->extent));
    return pinned && aligned ? CudaError::kSuccess : CudaError::kInvalidValue;
  }
  return aligned && IsLive(connection, plan->box, plan->extent) ? CudaError::kSuccess : CudaError::kInvalidValue;
}

CudaError CarryOut(Connection& connection, device::StreamId stream, const FillPlan& plan,
                   const cudagraph::FillParams& fill) {
  if (plan.on_host) {
    connection.session->WaitForDetached();
    for (const Piece& row : CutIntoPieces(plan.extent, plan.extent.width)) {
      auto* const to = reinterpret_cast<std::byte*>(AddressOf(plan.box, row));
      for (uint64_t at = 0; at < row.extent.width; at += fill.element_bytes) {
        std::memcpy(to + at, &fill.value, fill.element_bytes);  // little-endian, as the device
      }
    }
    return CudaError::kSuccess;
  }
  const CudaError error = Give(connection, plan.box, plan.extent, /*device_writes=*/true);
  if (error != CudaError::kSuccess) return error;
  return connection.session->Post(
      offload::Fill{stream, RegionOf(plan.box), plan.extent, fill.value, fill.element_bytes});
}

}  // namespace

CudaError WriteOwn(StreamHandle stream, uint64_t address, std::span<const std::byte> bytes) {
  CudaError error = CudaError::kSuccess;
  Connection* const connection = Process::Get().Connect(&error);
  if (connection == nullptr) return error;
  offload::CopyToDevice op{0, {address, 0, 0}, {bytes.size(), 1, 1}};
  error = connection->Resolve(stream, &op.stream);
  return error == CudaError::kSuccess ? connection->session->Post(op, bytes) : error;
}

CudaError Copy(StreamHandle stream, const Box& to, const Box& from, const device::Extent& extent, CopyKind kind,
               bool may_return_early) {
  CudaError error = CudaError::kSuccess;
  Connection* const connection = Process::Get().Connect(&error);
  if (connection == nullptr) return error;
  CopyPlan plan{{*connection, 0, to, from, extent}, {}, {}};
  error = connection->Resolve(stream, &plan.copy.stream);
  if (error != CudaError::kSuccess) return error;
  error = PlanCopy(plan, kind);
  if (error != CudaError::kSuccess || plan.IsNothing()) return error;
  const device::StreamId id = plan.copy.stream;
  bool captured = false;
  if (may_return_early) {
    error = connection->captures.Enter(id, &captured);
  } else {
    error = connection->captures.ForbidOn(id);
  }
  if (error != CudaError::kSuccess) return error;
  if (!captured) return CarryOut(plan, may_return_early ? Landing::kLaterIfPinned : Landing::kBeforeReturn);
  return connection->captures.Add(
      id, cudagraph::CopyParams{Describe(to, extent, plan.target), Describe(from, extent, plan.source), extent,
                                static_cast<int>(kind)});
}

CudaError CheckCopyParams(cudagraph::CopyParams* params) {
  CudaError error = CudaError::kSuccess;
  Connection* const connection = Process::Get().Connect(&error);
  if (connection == nullptr) return error;
  CopyPlan plan{{*connection, 0, BoxOf(params->to.box), BoxOf(params->from.box), params->extent}, {}, {}};
  error = PlanCopy(plan, static_cast<CopyKind>(params->kind));
  if (error == CudaError::kSuccess && plan.IsNothing()) error = CudaError::kInvalidValue;
  params->to.on_host = !plan.target.device;
  params->from.on_host = !plan.source.device;
  return error;
}

CudaError CopyOn(Connection& connection, device::StreamId stream, const cudagraph::CopyParams& copy, Landing landing) {
  CopyPlan plan{{connection, stream, BoxOf(copy.to.box), BoxOf(copy.from.box), copy.extent}, {}, {}};
  const CudaError error = PlanCopy(plan, static_cast<CopyKind>(copy.kind));
  return error != CudaError::kSuccess || plan.IsNothing() ? error : CarryOut(plan, landing);
}

CudaError Fill(StreamHandle stream, const Box& to, const device::Extent& extent, uint32_t value,
               uint32_t element_bytes) {
  CudaError error = CudaError::kSuccess;
  Connection* const connection = Process::Get().Connect(&error);
  if (connection == nullptr) return error;
  device::StreamId id = 0;
  error = connection->Resolve(stream, &id);
  if (error != CudaError::kSuccess) return error;
  const cudagraph::FillParams fill{RegionOf(to), extent, value, element_bytes};
  FillPlan plan;
  error = PlanFill(*connection, fill, &plan);
  if (error != CudaError::kSuccess || Bytes(plan.extent) == 0) return error;
  bool captured = false;
  error = connection->captures.Enter(id, &captured);
  if (error != CudaError::kSuccess) return error;
  if (!captured) return CarryOut(*connection, id, plan, fill);
  return plan.on_host ? CudaError::kNotSupported : connection->captures.Add(id, fill);
}

CudaError CheckFillParams(const cudagraph::FillParams& params) {
  CudaError error = CudaError::kSuccess;
  Connection* const connection = Process::Get().Connect(&error);
  if (connection == nullptr) return error;
  FillPlan plan;
  error = PlanFill(*connection, params, &plan);
  if (error != CudaError::kSuccess) return error;
  if (Bytes(plan.extent) == 0) return CudaError::kInvalidValue;
  return plan.on_host ? CudaError::kNotSupported : CudaError::kSuccess;  // what runs here has no place in the order
}

CudaError FillOn(Connection& connection, device::StreamId stream, const cudagraph::FillParams& fill) {
  FillPlan plan;
  const CudaError error = PlanFill(connection, fill, &plan);
  return error != CudaError::kSuccess ? error : CarryOut(connection, stream, plan, fill);
}

}  // namespace wharf::client
