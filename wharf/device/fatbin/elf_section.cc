// ReadSection: finds a section in an ELF file without mapping the rest of it.
#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "wharf/device/fatbin/fatbin.h"

namespace wharf::device::fatbin {
namespace {

constexpr uint64_t kMaxStringTable = uint64_t{64} << 20;

class File {
 public:
  static absl::StatusOr<File> Open(const std::string& path) {
    File file(::open(path.c_str(), O_RDONLY | O_CLOEXEC), path);
    if (file.descriptor_ < 0) return ErrnoStatus(errno, path);
    struct stat status {};
    if (::fstat(file.descriptor_, &status) != 0) return ErrnoStatus(errno, path);
    if (!S_ISREG(status.st_mode)) return InvalidArgument("{}: not a regular file", path);
    file.size_ = static_cast<uint64_t>(status.st_size);
    return file;
  }
  File(File&& other) noexcept : descriptor_(other.descriptor_), size_(other.size_), path_(std::move(other.path_)) {
    other.descriptor_ = -1;
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  File& operator=(File&&) = delete;
  ~File() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  uint64_t size() const { return size_; }

  absl::Status Read(uint64_t offset, void* to, uint64_t bytes) const {
    if (offset > size_ || bytes > size_ - offset) return InvalidArgument("{}: a truncated ELF file", path_);
    auto* at = static_cast<char*>(to);
    while (bytes > 0) {
      const ssize_t got = ::pread(descriptor_, at, bytes, static_cast<off_t>(offset));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return ErrnoStatus(errno, path_);
      if (got == 0) return InvalidArgument("{}: a truncated ELF file", path_);
      at += got;
      offset += static_cast<uint64_t>(got);
      bytes -= static_cast<uint64_t>(got);
    }
    return absl::OkStatus();
  }

 private:
  File(int descriptor, std::string path) : descriptor_(descriptor), path_(std::move(path)) {}

  int descriptor_;
  uint64_t size_ = 0;
  std::string path_;
};

absl::StatusOr<Elf64_Ehdr> ReadHeader(const File& file, const std::string& path) {
  Elf64_Ehdr header{};
  if (file.size() < sizeof(header)) return InvalidArgument("{}: not an ELF file", path);
  WHARF_RETURN_IF_ERROR(file.Read(0, &header, sizeof(header)));
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return InvalidArgument("{}: not an ELF file", path);
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB) {
    return InvalidArgument("{}: not a 64-bit little-endian ELF file", path);
  }
  if (header.e_shoff != 0 && header.e_shentsize != sizeof(Elf64_Shdr)) {
    return InvalidArgument("{}: section headers of {} bytes", path, header.e_shentsize);
  }
  return header;
}

}  // namespace

absl::StatusOr<std::vector<std::byte>> ReadSection(const std::string& path, std::string_view name) {
  WHARF_ASSIGN_OR_RETURN(const File file, File::Open(path));
  WHARF_ASSIGN_OR_RETURN(const Elf64_Ehdr header, ReadHeader(file, path));
  if (header.e_shoff == 0 || header.e_shstrndx >= header.e_shnum) return NotFound("{}: no {} section", path, name);
  std::vector<Elf64_Shdr> sections(header.e_shnum);
  WHARF_RETURN_IF_ERROR(file.Read(header.e_shoff, sections.data(), sections.size() * sizeof(Elf64_Shdr)));
  const Elf64_Shdr& table = sections[header.e_shstrndx];
  if (table.sh_size > kMaxStringTable) return InvalidArgument("{}: a truncated ELF file", path);
  if (table.sh_offset > file.size() || table.sh_size > file.size() - table.sh_offset) {
    return InvalidArgument("{}: a truncated ELF file", path);
  }
  std::string names(table.sh_size, '\0');
  WHARF_RETURN_IF_ERROR(file.Read(table.sh_offset, names.data(), names.size()));
  for (const Elf64_Shdr& section : sections) {
    if (section.sh_name >= names.size() || section.sh_type == SHT_NOBITS) continue;
    if (std::string_view(names.c_str() + section.sh_name) != name) continue;
    if (section.sh_offset > file.size() || section.sh_size > file.size() - section.sh_offset) {
      return InvalidArgument("{}: a truncated ELF file", path);
    }
    std::vector<std::byte> bytes(section.sh_size);
    WHARF_RETURN_IF_ERROR(file.Read(section.sh_offset, bytes.data(), bytes.size()));
    return bytes;
  }
  return NotFound("{}: no {} section", path, name);
}

}  // namespace wharf::device::fatbin
