// PackWriter: makes packs.
#include <fcntl.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include "wharf/device/pack/format.h"
#include "wharf/device/pack/hash.h"
#include "wharf/device/pack/name.h"
#include "wharf/device/pack/pack.h"
#include "wharf/device/ptx/parser.h"

namespace wharf::device::pack {
namespace {

constexpr int kLevel = 12;  // of compression: PTX shrinks to a twentieth, 20 MB a second

absl::StatusOr<std::string> Compress(std::string_view text) {
  std::string packed(ZSTD_compressBound(text.size()), '\0');
  const size_t size = ZSTD_compress(packed.data(), packed.size(), text.data(), text.size(), kLevel);
  if (ZSTD_isError(size) != 0) return ResourceExhausted("cannot compress {} bytes", text.size());
  packed.resize(size);
  return packed;
}

// A file that is written beside the one that it becomes.
class NewFile {
 public:
  explicit NewFile(const std::string& path) : path_(path), temporary_(path + ".new") {}
  ~NewFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
    if (descriptor_ >= 0) ::unlink(temporary_.c_str());
  }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  absl::Status Open() {
    descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    return descriptor_ < 0 ? ErrnoStatus(errno, temporary_) : absl::OkStatus();
  }
  absl::Status Write(const void* from, size_t bytes) {
    const auto* at = static_cast<const char*>(from);
    while (bytes > 0) {
      const ssize_t written = ::write(descriptor_, at, bytes);
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return ErrnoStatus(errno, temporary_);
      at += written;
      bytes -= static_cast<size_t>(written);
    }
    return absl::OkStatus();
  }
  absl::Status Finish() {
    if (::fsync(descriptor_) != 0 || ::rename(temporary_.c_str(), path_.c_str()) != 0) return ErrnoStatus(errno, path_);
    ::close(std::exchange(descriptor_, -1));
    return absl::OkStatus();
  }

 private:
  const std::string path_, temporary_;
  int descriptor_ = -1;
};

std::string OneLine(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '\n' || c == '\t'; }, ' ');
  return text;
}

}  // namespace

absl::Status PackWriter::Add(std::string text, std::string source) {
  if (text.size() > kMostModuleBytes || modules_.size() == kMostModules) {
    return ResourceExhausted("{}: a pack holds {} modules of {} MiB", source, kMostModules, kMostModuleBytes >> 20);
  }
  Module module;
  module.hash = HashOf(text);
  const auto same = [&](const Module& other) { return other.hash == module.hash; };
  if (std::any_of(modules_.begin(), modules_.end(), same)) return absl::OkStatus();
  module.bytes = text.size();
  WHARF_ASSIGN_OR_RETURN(module.packed, Compress(text));
  const absl::StatusOr<std::shared_ptr<const ptx::Module>> parsed = ptx::Parse(std::move(text));
  if (!parsed.ok()) return InvalidArgument("{}: {}", source, Message(parsed.status()));
  for (const ptx::Function& function : (*parsed)->functions) {
    if (function.is_entry && function.HasBody()) module.kernels.push_back(function.name);
  }
  if (module.kernels.empty()) return InvalidArgument("{}: it has no kernels", source);
  module.source = OneLine(std::move(source)).substr(0, kMostSourceBytes);
  modules_.push_back(std::move(module));
  return absl::OkStatus();
}

size_t PackWriter::kernels() const {
  size_t count = 0;
  for (const Module& module : modules_) count += module.kernels.size();
  return count;
}

absl::Status PackWriter::Write(const std::string& path) const {
  std::vector<ModuleRecord> records;
  std::vector<EntryRecord> entries;
  std::string notes, sources;
  uint64_t offset = sizeof(Header);
  for (const Module& module : modules_) {
    records.push_back({offset, module.packed.size(), module.bytes, module.hash, 0, 0, 0});
    offset += module.packed.size();
  }
  for (uint32_t i = 0; i < modules_.size(); ++i) {
    const Module& module = modules_[i];
    records[i].source_at = offset + sources.size();
    records[i].source_bytes = static_cast<uint32_t>(module.source.size());
    sources += module.source;
    std::set<std::string> names;
    for (const std::string& kernel : module.kernels) {
      notes += kernel + '\t';
      if (names.insert(CanonicalName(kernel)).second) entries.push_back({KeyOf(CanonicalName(kernel)), i, 0});
    }
    notes += '\n';
  }
  if (entries.size() > kMostEntries) return ResourceExhausted("{}: a pack holds {} kernels", path, kMostEntries);
  std::sort(entries.begin(), entries.end(), [](const EntryRecord& a, const EntryRecord& b) {
    return std::tie(a.key, a.module) < std::tie(b.key, b.module);
  });
  WHARF_ASSIGN_OR_RETURN(const std::string packed_notes, Compress(notes));
  Header header{};
  header.magic = kMagic;
  header.version = kVersion;
  header.modules = static_cast<uint32_t>(records.size());
  header.entries = static_cast<uint32_t>(entries.size());
  header.modules_at = offset + sources.size();
  header.notes_packed = packed_notes.size();
  header.notes_bytes = notes.size();
  header.notes = HashOf(notes);
  Hasher tables;
  tables.Add(std::as_bytes(std::span(records)));
  tables.Add(std::as_bytes(std::span(entries)));
  header.tables = tables.Finish();
  NewFile file(path);
  WHARF_RETURN_IF_ERROR(file.Open());
  WHARF_RETURN_IF_ERROR(file.Write(&header, sizeof(header)));
  for (const Module& module : modules_) WHARF_RETURN_IF_ERROR(file.Write(module.packed.data(), module.packed.size()));
  WHARF_RETURN_IF_ERROR(file.Write(sources.data(), sources.size()));
  WHARF_RETURN_IF_ERROR(file.Write(records.data(), records.size() * sizeof(ModuleRecord)));
  WHARF_RETURN_IF_ERROR(file.Write(entries.data(), entries.size() * sizeof(EntryRecord)));
  WHARF_RETURN_IF_ERROR(file.Write(packed_notes.data(), packed_notes.size()));
  return file.Finish();
}

}  // namespace wharf::device::pack
