// Copies and fills. Host to device is posted: the bytes are read before the call returns (small ones into the queue,
// large ones straight to the stream). Device to host waits, except into pinned memory when the copy may return early:
// then the reply, which comes before that of any later synchronisation of the stream, brings the data.
#include <algorithm>
#include <cstring>
#include <memory>

#include "wharf/cudashim/client/copy_plan.h"
#include "wharf/cudashim/client/host_ranges.h"
#include "wharf/cudashim/client/process.h"

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

CudaError Download(const Transfer& copy, bool may_return_early) {
  offload::ClientSession& session = *copy.connection.session;
  const bool contiguous = IsContiguous(copy.to, copy.extent);
  const bool detached = may_return_early && contiguous && session.mode() == offload::Mode::kPosted &&
                        HostRanges::Get().Contains(copy.to.address, Bytes(copy.extent));
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

CudaError SendManaged(offload::ClientSession& session, uint64_t address, std::span<const std::byte> bytes) {
  CudaError error = CudaError::kSuccess;
  for (uint64_t at = 0; at < bytes.size() && error == CudaError::kSuccess; at += offload::kMaxBulkBytes) {
    const auto piece = bytes.subspan(at, std::min<uint64_t>(offload::kMaxBulkBytes, bytes.size() - at));
    const auto ownership = piece.size() <= kCopyIntoQueue ? link::BulkOwnership::kCopy : link::BulkOwnership::kBorrow;
    const offload::CopyToDevice op{device::kDefaultStream, {address + at, 0, 0}, {piece.size(), 1, 1}};
    error = session.Post(op, piece, ownership);
  }
  return error;
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

// Before the device reads or writes a box: kInvalidValue if it does not lie in memory of the device.
CudaError Prepare(Connection& connection, const Box& box, const device::Extent& extent, bool device_writes) {
  if (!IsLive(connection, box, extent)) return CudaError::kInvalidValue;
  return connection.managed.Give(box.address, Span(box, extent), device_writes);
}

}  // namespace

offload::ManagedMemory::Mover MoverOf(offload::ClientSession& session) {
  return {.to_device = [&session](uint64_t address,
                                  std::span<const std::byte> bytes) { return SendManaged(session, address, bytes); },
          .to_host = [&session](uint64_t address,
                                std::span<std::byte> bytes) { return FetchManaged(session, address, bytes); }};
}

CudaError Copy(StreamHandle stream, const Box& to, const Box& from, const device::Extent& extent, CopyKind kind,
               bool may_return_early) {
  CudaError error = CudaError::kSuccess;
  Connection* const connection = Process::Get().Connect(&error);
  if (connection == nullptr) return error;
  Transfer copy{*connection, 0, to, from, extent};
  error = connection->Resolve(stream, &copy.stream);
  if (error != CudaError::kSuccess) return error;
  error = Normalize(copy.to, copy.from, copy.extent);
  if (error != CudaError::kSuccess || Bytes(copy.extent) == 0) return error;
  if (to.address == 0 || from.address == 0) return CudaError::kInvalidValue;
  copy.to.address = connection->managed.DeviceAddress(copy.to.address);
  copy.from.address = connection->managed.DeviceAddress(copy.from.address);
  const Sides source = SidesOf(*connection, from.address, copy.from.address);
  const Sides target = SidesOf(*connection, to.address, copy.to.address);
  if (!KindFits(kind, source, target)) return CudaError::kInvalidValue;
  if (source.device) error = Prepare(*connection, copy.from, copy.extent, /*device_writes=*/false);
  if (target.device && error == CudaError::kSuccess) error = Prepare(*connection, copy.to, copy.extent, true);
  if (error != CudaError::kSuccess) return error;
  if (source.device) return target.device ? OnDevice(copy) : Download(copy, may_return_early);
  return target.device ? Upload(copy) : OnHost(copy);
}

CudaError Fill(StreamHandle stream, const Box& to, const device::Extent& extent, uint32_t value,
               uint32_t element_bytes) {
  CudaError error = CudaError::kSuccess;
  Connection* const connection = Process::Get().Connect(&error);
  if (connection == nullptr) return error;
  device::StreamId id = 0;
  error = connection->Resolve(stream, &id);
  if (error != CudaError::kSuccess) return error;
  Box box = to, same = to;
  device::Extent size = extent;
  error = Normalize(box, same, size);
  if (error != CudaError::kSuccess || Bytes(size) == 0) return error;
  box.address = connection->managed.DeviceAddress(box.address);
  if (!connection->IsDeviceAddress(box.address)) {
    if (!HostRanges::Get().Contains(box.address, Span(box, size)) || element_bytes != 1) {
      return CudaError::kInvalidValue;
    }
    connection->session->WaitForDetached();
    for (const Piece& row : CutIntoPieces(size, size.width)) {
      std::memset(reinterpret_cast<void*>(AddressOf(box, row)), static_cast<int>(value), row.extent.width);
    }
    return CudaError::kSuccess;
  }
  if (box.address % element_bytes != 0) return CudaError::kInvalidValue;
  error = Prepare(*connection, box, size, /*device_writes=*/true);
  if (error != CudaError::kSuccess) return error;
  return connection->session->Post(
      offload::Fill{id, {box.address, box.row_pitch, box.slice_pitch}, size, value, element_bytes});
}

}  // namespace wharf::client
