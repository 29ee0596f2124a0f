#include "wharf/device/pack/pack.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>
#include <utility>

#include "wharf/device/pack/format.h"
#include "wharf/device/pack/hash.h"

namespace wharf::device::pack {
namespace {

// Of the notes: a name takes some hundred bytes.
constexpr uint64_t kMostNoteBytes = uint64_t{1} << 30;
// Frames that promise more than this many times their size are not looked at. PTX shrinks to a twentieth.
constexpr uint64_t kMostRatio = 4096;

}  // namespace

absl::StatusOr<std::unique_ptr<Pack>> Pack::Open(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor < 0) return ErrnoStatus(errno, path);
  return FromDescriptor(descriptor, path);
}

absl::StatusOr<std::unique_ptr<Pack>> Pack::FromDescriptor(int descriptor, std::string name) {
  std::unique_ptr<Pack> pack(new Pack(descriptor, std::move(name)));
  WHARF_RETURN_IF_ERROR(pack->ReadHeader());
  WHARF_RETURN_IF_ERROR(pack->CheckTables());
  return pack;
}

Pack::~Pack() { ::close(descriptor_); }

absl::Status Pack::Damaged(std::string_view what) const { return DataLoss("{}: the pack is damaged: {}", name_, what); }

absl::Status Pack::ReadAt(uint64_t offset, void* to, uint64_t bytes) const {
  auto* at = static_cast<char*>(to);
  while (bytes > 0) {
    const ssize_t got = ::pread(descriptor_, at, bytes, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ErrnoStatus(errno, name_);
    if (got == 0) return Damaged("it is cut short");
    at += got;
    offset += static_cast<uint64_t>(got);
    bytes -= static_cast<uint64_t>(got);
  }
  return absl::OkStatus();
}

bool Pack::IsInside(const Place& place) const {
  return place.offset <= size_ && place.packed_bytes <= size_ - place.offset &&
         place.bytes / kMostRatio <= place.packed_bytes;
}

absl::Status Pack::ReadHeader() {
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0) return ErrnoStatus(errno, name_);
  if (!S_ISREG(status.st_mode)) return InvalidArgument("{}: not a regular file", name_);
  size_ = static_cast<uint64_t>(status.st_size);
  Header header{};
  if (size_ < sizeof(header)) return InvalidArgument("{}: not a kernel pack", name_);
  WHARF_RETURN_IF_ERROR(ReadAt(0, &header, sizeof(header)));
  if (header.magic != kMagic) return InvalidArgument("{}: not a kernel pack", name_);
  if (header.version != kVersion) {
    return InvalidArgument("{}: a kernel pack of version {}; this is for version {}", name_, header.version, kVersion);
  }
  if (header.modules > kMostModules || header.entries > kMostEntries) return Damaged("it has too many kernels");
  module_count_ = header.modules;
  entry_count_ = header.entries;
  modules_at_ = header.modules_at;
  const uint64_t tables = module_count_ * sizeof(ModuleRecord) + entry_count_ * sizeof(EntryRecord);
  if (modules_at_ > size_ || tables > size_ - modules_at_) return Damaged("it is cut short");
  entries_at_ = modules_at_ + module_count_ * sizeof(ModuleRecord);
  notes_ = {modules_at_ + tables, header.notes_packed, header.notes_bytes};
  notes_hash_ = header.notes;
  if (!IsInside(notes_) || notes_.bytes > kMostNoteBytes) return Damaged("it is cut short");
  return absl::OkStatus();
}

// A table that cannot be searched finds nothing, or what is not meant: looked at once.
absl::Status Pack::CheckTables() const {
  Header header{};
  WHARF_RETURN_IF_ERROR(ReadAt(0, &header, sizeof(header)));
  Hasher hasher;
  ModuleRecord module{};
  for (uint32_t i = 0; i < module_count_; ++i) {
    WHARF_RETURN_IF_ERROR(ReadAt(modules_at_ + i * sizeof(module), &module, sizeof(module)));
    hasher.Add(std::as_bytes(std::span(&module, 1)));
    const Place place{module.offset, module.packed_bytes, module.bytes};
    if (!IsInside(place) || place.bytes > kMostModuleBytes || module.source_bytes > kMostSourceBytes) {
      return Damaged(fmt::format("module {}", i));
    }
  }
  std::vector<EntryRecord> chunk(std::min<uint32_t>(entry_count_, 4096));
  EntryRecord before{};
  for (uint64_t i = 0; i < entry_count_; i += chunk.size()) {
    const auto part = std::span(chunk).first(std::min<uint64_t>(chunk.size(), entry_count_ - i));
    WHARF_RETURN_IF_ERROR(ReadAt(entries_at_ + i * sizeof(EntryRecord), part.data(), part.size_bytes()));
    hasher.Add(std::as_bytes(part));
    for (const EntryRecord& entry : part) {
      if (entry.module >= module_count_ || entry.key < before.key) return Damaged("its index");
      before = entry;
    }
  }
  if (hasher.Finish() != header.tables) return Damaged("its index");
  return absl::OkStatus();
}

absl::StatusOr<std::vector<uint32_t>> Pack::Find(std::string_view kernel) const {
  const auto key = KeyOf(kernel);
  EntryRecord entry{};
  uint64_t low = 0, high = entry_count_;
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    WHARF_RETURN_IF_ERROR(ReadAt(entries_at_ + middle * sizeof(entry), &entry, sizeof(entry)));
    if (entry.key < key) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  std::vector<uint32_t> found;
  for (; low < entry_count_; ++low) {
    WHARF_RETURN_IF_ERROR(ReadAt(entries_at_ + low * sizeof(entry), &entry, sizeof(entry)));
    if (entry.key != key) break;
    if (entry.module >= module_count_) return Damaged("its index");  // the file may have changed since
    found.push_back(entry.module);
  }
  std::sort(found.begin(), found.end());
  return found;
}

absl::StatusOr<std::string> Pack::Decompress(const Place& place, uint64_t most) const {
  if (!IsInside(place) || place.bytes > most) return Damaged("it is cut short");
  std::string packed(place.packed_bytes, '\0');
  WHARF_RETURN_IF_ERROR(ReadAt(place.offset, packed.data(), packed.size()));
  std::string text(place.bytes, '\0');
  const size_t written = ZSTD_decompress(text.data(), text.size(), packed.data(), packed.size());
  if (ZSTD_isError(written) != 0 || written != text.size()) return Damaged("it does not decompress");
  return text;
}

absl::StatusOr<ModuleRecord> Pack::Record(uint32_t module) const {
  ModuleRecord record{};
  WHARF_RETURN_IF_ERROR(ReadAt(modules_at_ + module * sizeof(record), &record, sizeof(record)));
  return record;
}

absl::StatusOr<std::string> Pack::Source(uint32_t module) const {
  WHARF_ASSIGN_OR_RETURN(const ModuleRecord record, Record(module));
  if (record.source_bytes > kMostSourceBytes) return Damaged(fmt::format("module {}", module));
  std::string source(record.source_bytes, '\0');
  WHARF_RETURN_IF_ERROR(ReadAt(record.source_at, source.data(), source.size()));
  return source;
}

absl::StatusOr<std::string> Pack::Text(uint32_t module) const {
  WHARF_ASSIGN_OR_RETURN(const ModuleRecord record, Record(module));
  WHARF_ASSIGN_OR_RETURN(std::string text,
                         Decompress({record.offset, record.packed_bytes, record.bytes}, kMostModuleBytes));
  if (HashOf(text) != record.text) return Damaged(fmt::format("module {}", module));
  return text;
}

absl::StatusOr<std::vector<ModuleNote>> Pack::Notes() const {
  WHARF_ASSIGN_OR_RETURN(const std::string text, Decompress(notes_, kMostNoteBytes));
  if (HashOf(text) != notes_hash_) return Damaged("its notes");
  // A line for each module: its kernels, a tab behind each.
  std::vector<ModuleNote> notes;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    if (notes.size() == module_count_) return Damaged("its notes");
    ModuleNote& note = notes.emplace_back();
    for (size_t tab = text.find('\t', at); tab < end; tab = text.find('\t', at)) {
      note.kernels.push_back(text.substr(at, tab - at));
      at = tab + 1;
    }
    at = end + 1;
  }
  if (notes.size() != module_count_) return Damaged("its notes");
  for (uint32_t i = 0; i < module_count_; ++i) {
    WHARF_ASSIGN_OR_RETURN(notes[i].source, Source(i));
    WHARF_ASSIGN_OR_RETURN(const ModuleRecord record, Record(i));
    notes[i].text_bytes = record.bytes;
    notes[i].packed_bytes = record.packed_bytes;
  }
  return notes;
}

}  // namespace wharf::device::pack
