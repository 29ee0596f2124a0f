#include "wharf/device/fatbin/elf_image.h"

#include <elf.h>

#include <algorithm>
#include <cstring>

namespace wharf::device::fatbin {
namespace {

absl::Status Cut() { return InvalidArgument("an ELF image that is cut short"); }

// Empty if it does not fit.
bool Part(std::span<const std::byte> image, uint64_t offset, uint64_t size, std::span<const std::byte>& part) {
  if (offset > image.size() || size > image.size() - offset) return false;
  part = image.subspan(offset, size);
  return true;
}

std::string_view StringAt(std::span<const std::byte> table, uint64_t offset) {
  if (offset >= table.size()) return {};
  const auto* const text = reinterpret_cast<const char*>(table.data()) + offset;
  const size_t most = table.size() - offset;
  const size_t length = ::strnlen(text, most);
  return length == most ? std::string_view() : std::string_view(text, length);
}

absl::StatusOr<std::vector<Elf64_Shdr>> ReadHeaders(std::span<const std::byte> image, const Elf64_Ehdr& header,
                                                    uint64_t* names) {
  if (header.e_shoff == 0) return std::vector<Elf64_Shdr>();
  if (header.e_shentsize != sizeof(Elf64_Shdr)) return InvalidArgument("an ELF image with odd section headers");
  std::span<const std::byte> first;
  if (!Part(image, header.e_shoff, sizeof(Elf64_Shdr), first)) return Cut();
  // More sections than the header can count are counted by the first one's.
  const auto zeroth = LoadAt<Elf64_Shdr>(first, 0);
  const uint64_t count = header.e_shnum != 0 ? header.e_shnum : zeroth.sh_size;
  *names = header.e_shstrndx != SHN_XINDEX ? header.e_shstrndx : zeroth.sh_link;
  if (count > image.size() / sizeof(Elf64_Shdr)) return Cut();
  std::span<const std::byte> table;
  if (!Part(image, header.e_shoff, count * sizeof(Elf64_Shdr), table)) return Cut();
  std::vector<Elf64_Shdr> headers(count);
  if (count != 0) std::memcpy(headers.data(), table.data(), table.size());
  return headers;
}

}  // namespace

absl::StatusOr<ElfImage> ElfImage::Read(std::span<const std::byte> image) {
  if (image.size() < sizeof(Elf64_Ehdr)) return Cut();
  const auto header = LoadAt<Elf64_Ehdr>(image, 0);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return InvalidArgument("not an ELF image");
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB) {
    return InvalidArgument("not a 64-bit little-endian ELF image");
  }
  ElfImage read;
  read.flags_ = header.e_flags;
  read.abi_version_ = header.e_ident[EI_ABIVERSION];
  uint64_t names_at = 0;
  WHARF_ASSIGN_OR_RETURN(const std::vector<Elf64_Shdr> headers, ReadHeaders(image, header, &names_at));
  read.sections_.reserve(headers.size());
  for (const Elf64_Shdr& one : headers) {
    ElfSection& section = read.sections_.emplace_back();
    section.type = one.sh_type;
    section.size = one.sh_size;
    if (one.sh_type == SHT_NOBITS || one.sh_type == SHT_NULL) continue;
    if (!Part(image, one.sh_offset, one.sh_size, section.data)) return Cut();
  }
  if (names_at < headers.size()) {
    const std::span<const std::byte> names = read.sections_[names_at].data;
    for (size_t i = 0; i < headers.size(); ++i) read.sections_[i].name = StringAt(names, headers[i].sh_name);
  }
  if (names_at < headers.size()) read.sections_[names_at].holds_names = true;
  // There is one; many that lie on each other would take much memory.
  const auto table =
      std::find_if(headers.begin(), headers.end(), [](const Elf64_Shdr& one) { return one.sh_type == SHT_SYMTAB; });
  if (table != headers.end()) read.ReadSymbols(static_cast<size_t>(table - headers.begin()), table->sh_link);
  return read;
}

void ElfImage::ReadSymbols(size_t section, size_t names_in) {
  const std::span<const std::byte> table = sections_[section].data;
  std::span<const std::byte> names;
  if (names_in < sections_.size()) {
    names = sections_[names_in].data;
    sections_[names_in].holds_names = true;
  }
  for (size_t at = 0; at + sizeof(Elf64_Sym) <= table.size(); at += sizeof(Elf64_Sym)) {
    const auto symbol = LoadAt<Elf64_Sym>(table, at);
    symbols_.push_back({.name = StringAt(names, symbol.st_name),
                        .kind = static_cast<uint8_t>(ELF64_ST_TYPE(symbol.st_info)),
                        .other = symbol.st_other,
                        .section = symbol.st_shndx,
                        .size = symbol.st_size});
  }
}

const ElfSection* ElfImage::Find(std::string_view name) const {
  for (const ElfSection& section : sections_) {
    if (section.name == name) return &section;
  }
  return nullptr;
}

}  // namespace wharf::device::fatbin
