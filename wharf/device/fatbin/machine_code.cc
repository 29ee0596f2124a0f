// HasMachineCode: whether images of machine code have anything in them. nvcc gives every program that it links a
// container of the device linker's, also one that has no kernels; its image holds tables and no code.
#include <elf.h>

#include <cstring>
#include <string_view>

#include "wharf/device/fatbin/fatbin.h"

namespace wharf::device::fatbin {
namespace {

// A section of kernels' or functions' code, or of what variables begin with.
bool HoldsSomething(std::string_view section) {
  return section.starts_with(".text.") || section.starts_with(".nv.global") || section == ".nv.constant3";
}

// Whether the image has such a section; true if that cannot be told.
bool HoldsSomething(std::span<const std::byte> image) {
  Elf64_Ehdr header;
  if (image.size() < sizeof(header)) return true;
  std::memcpy(&header, image.data(), sizeof(header));
  const uint64_t table_bytes = uint64_t{header.e_shnum} * sizeof(Elf64_Shdr);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_shentsize != sizeof(Elf64_Shdr) || header.e_shstrndx >= header.e_shnum ||
      header.e_shoff > image.size() || table_bytes > image.size() - header.e_shoff) {
    return true;
  }
  std::vector<Elf64_Shdr> sections(header.e_shnum);
  std::memcpy(sections.data(), image.data() + header.e_shoff, table_bytes);
  const Elf64_Shdr& names = sections[header.e_shstrndx];
  if (names.sh_offset > image.size() || names.sh_size > image.size() - names.sh_offset) return true;
  const std::string_view text(reinterpret_cast<const char*>(image.data()) + names.sh_offset, names.sh_size);
  for (const Elf64_Shdr& section : sections) {
    if (section.sh_size == 0 || section.sh_name >= text.size()) continue;
    if (HoldsSomething(text.substr(section.sh_name, text.find('\0', section.sh_name) - section.sh_name))) return true;
  }
  return false;
}

}  // namespace

absl::StatusOr<bool> HasMachineCode(std::span<const std::byte> bytes) {
  WHARF_ASSIGN_OR_RETURN(const std::vector<Entry> entries, Read(bytes));
  for (const Entry& entry : entries) {
    if (entry.kind == Kind::kElf && HoldsSomething(entry.data)) return true;
  }
  return false;
}

}  // namespace wharf::device::fatbin
