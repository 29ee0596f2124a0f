#include "wharf/offload/client/program_inspector.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string_view>

#include "wharf/device/fatbin/fatbin.h"

namespace wharf::offload {
namespace {

constexpr uint64_t kMaxTable = 64 << 20;  // of one section's bytes that is read

// Reads parts of an ELF file; every length is checked against the file's.
class ElfFile {
 public:
  explicit ElfFile(int fd) : fd_(fd), size_(static_cast<uint64_t>(lseek(fd, 0, SEEK_END))) {}
  ~ElfFile() { close(fd_); }
  ElfFile(const ElfFile&) = delete;
  ElfFile& operator=(const ElfFile&) = delete;

  // False if it is no ELF file of this kind of machine.
  bool ReadHeaders() {
    Elf64_Ehdr header;
    if (!ReadAt(0, &header, sizeof(header)) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return false;
    if (header.e_ident[EI_CLASS] != ELFCLASS64) return false;
    if (header.e_shentsize != sizeof(Elf64_Shdr) || header.e_shnum == 0) return true;
    sections_.resize(header.e_shnum);
    if (!ReadAt(header.e_shoff, sections_.data(), sections_.size() * sizeof(Elf64_Shdr))) sections_.clear();
    if (header.e_shstrndx < sections_.size()) names_ = Content(sections_[header.e_shstrndx]);
    return true;
  }
  const Elf64_Shdr* Find(std::string_view name) const {
    const auto found = std::find_if(sections_.begin(), sections_.end(), [&](const Elf64_Shdr& section) {
      return StringAt(names_, section.sh_name) == name;
    });
    return found == sections_.end() ? nullptr : &*found;
  }
  std::string Content(const Elf64_Shdr& section) const {
    if (section.sh_size > kMaxTable || section.sh_offset > size_ || section.sh_size > size_ - section.sh_offset)
      return "";
    std::string content(section.sh_size, '\0');
    return ReadAt(section.sh_offset, content.data(), content.size()) ? content : "";
  }
  std::string ContentOf(std::string_view name) const {
    const Elf64_Shdr* const section = Find(name);
    return section == nullptr ? "" : Content(*section);
  }
  static std::string_view StringAt(const std::string& table, uint64_t offset) {
    if (offset >= table.size()) return {};
    const size_t end = table.find('\0', offset);
    return std::string_view(table).substr(offset, end == std::string::npos ? end : end - offset);
  }

 private:
  bool ReadAt(uint64_t offset, void* to, size_t size) const {
    return pread(fd_, to, size, static_cast<off_t>(offset)) == static_cast<ssize_t>(size);
  }

  const int fd_;
  const uint64_t size_;
  std::vector<Elf64_Shdr> sections_;
  std::string names_;
};

// The entries of a table of fixed-size records.
template <typename Record>
std::vector<Record> Records(const std::string& bytes) {
  std::vector<Record> records(bytes.size() / sizeof(Record));
  if (!records.empty()) std::memcpy(records.data(), bytes.data(), records.size() * sizeof(Record));
  return records;
}

std::vector<std::string> NeededLibraries(const ElfFile& file) {
  const std::string strings = file.ContentOf(".dynstr");
  std::vector<std::string> needed;
  for (const auto& entry : Records<Elf64_Dyn>(file.ContentOf(".dynamic"))) {
    if (entry.d_tag == DT_NEEDED) needed.emplace_back(ElfFile::StringAt(strings, entry.d_un.d_val));
  }
  return needed;
}

// A library of NVIDIA's whose kernels are machine code and which we have none in place of; empty if none of them is.
std::string ClosedLibrary(const std::vector<std::string>& needed) {
  constexpr std::string_view kFamilies[] = {"libnpp",      "libnvjpeg", "libnccl.",
                                            "libcutensor", "libcudss",  "libcusolverMg."};
  for (const std::string& name : needed) {
    for (const std::string_view family : kFamilies) {
      if (name.starts_with(family)) return name;
    }
  }
  return "";
}

// What the program's fat binaries hold. Those that cannot be read are left to be told of when they are used.
void ReadDeviceCode(const std::string& path, ProgramFacts& facts) {
  const auto section = device::fatbin::ReadSection(path);
  if (!section.ok()) return;
  facts.has_ptx = device::fatbin::FindPtx(*section).ok();
  const auto relocatable = device::fatbin::ReadSection(path, device::fatbin::kRelocatableSection);
  if (relocatable.ok() && device::fatbin::FindPtx(*relocatable).ok()) facts.has_ptx = true;
  facts.has_device_code = facts.has_ptx || device::fatbin::HasMachineCode(*section).value_or(false);
}

}  // namespace

absl::StatusOr<ProgramFacts> ReadProgramFacts(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return ErrnoStatus(errno, path);
  ElfFile file(fd);
  ProgramFacts facts;
  facts.is_elf = file.ReadHeaders();
  if (!facts.is_elf) return facts;
  facts.needed = NeededLibraries(file);
  for (const std::string& name : facts.needed) {
    if (name.starts_with("libcudart.so")) facts.cudart = name;
  }
  ReadDeviceCode(path, facts);
  return facts;
}

absl::Status InspectProgram(const std::string& path, const ProgramFacts& facts, bool needs_ptx,
                            std::span<const std::string_view> supported) {
  if (!facts.cudart.empty() && std::find(supported.begin(), supported.end(), facts.cudart) == supported.end()) {
    return FailedPrecondition("{} needs {}, and Wharf stands in for {}: build it with such a version of CUDA", path,
                              facts.cudart, fmt::join(supported, " and "));
  }
  if (needs_ptx && facts.has_device_code && !facts.has_ptx) {
    return FailedPrecondition(
        "{} carries no PTX, so it can only run on the GPU it was built for: rebuild it with nvcc -gencode "
        "arch=compute_75,code=compute_75 (or nvcc's defaults), or give the server a kernel pack of its source "
        "(docs/packs.md)",
        path);
  }
  if (const std::string library = ClosedLibrary(facts.needed); needs_ptx && !library.empty()) {
    return FailedPrecondition(
        "{} needs {}, which Wharf has nothing in place of: its kernels are machine code of NVIDIA's, and run on a "
        "server with a GPU only",
        path, library);
  }
  return absl::OkStatus();
}

}  // namespace wharf::offload
