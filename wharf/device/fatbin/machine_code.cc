#include "wharf/device/fatbin/machine_code.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <string_view>

#include "wharf/device/fatbin/elf_image.h"
#include "wharf/device/fatbin/fatbin.h"

namespace wharf::device::fatbin {
namespace {

constexpr std::string_view kCodePrefix = ".text.", kInfoPrefix = ".nv.info.", kBankPrefix = ".nv.constant0.";
constexpr uint8_t kEntryFlag = 0x10;  // of a symbol: a kernel
constexpr uint8_t kNewAbi = 8;        // from which on the flags say the architecture elsewhere

// A section of kernels' or functions' code, or of what variables begin with.
bool HoldsSomething(std::string_view section) {
  return section.starts_with(kCodePrefix) || section.starts_with(".nv.global") || section == ".nv.constant3";
}

// Whether the image has such a section; true if that cannot be told.
bool HoldsSomething(std::span<const std::byte> image) {
  const absl::StatusOr<ElfImage> elf = ElfImage::Read(image);
  if (!elf.ok()) return true;
  return std::any_of(elf->sections().begin(), elf->sections().end(),
                     [](const ElfSection& section) { return section.size != 0 && HoldsSomething(section.name); });
}

// --- attributes of a kernel: records of a format, a number and a value ---

enum Format : uint8_t { kNoValue = 1, kByte = 2, kHalf = 3, kSized = 4 };
enum Attribute : uint8_t { kParameter = 0x17, kParameterBytes = 0x19, kLargeParameter = 0x45 };

struct Record {
  uint8_t attribute = 0, format = 0;
  uint16_t half = 0;                 // the value, or its size
  std::span<const std::byte> value;  // of kSized
};

// Takes the record at the start of `bytes` from them.
absl::StatusOr<Record> TakeRecord(std::span<const std::byte>& bytes) {
  if (bytes.size() < 4) return InvalidArgument("machine code whose attributes are cut short");
  Record record;
  record.format = LoadAt<uint8_t>(bytes, 0);
  record.attribute = LoadAt<uint8_t>(bytes, 1);
  record.half = LoadAt<uint16_t>(bytes, 2);
  bytes = bytes.subspan(4);
  if (record.format < kNoValue || record.format > kSized) {
    return InvalidArgument("machine code with an attribute of format {}", record.format);
  }
  if (record.format != kSized) return record;
  if (record.half > bytes.size()) return InvalidArgument("machine code whose attributes are cut short");
  record.value = bytes.first(record.half);
  bytes = bytes.subspan(record.half);
  return record;
}

// Both forms of what is said of one parameter: index, ordinal, offset, then size and more.
absl::Status AddParameter(const Record& record, std::map<uint16_t, ParameterLayout>& parameters) {
  if (record.value.size() < 12) return InvalidArgument("machine code with a parameter of {} bytes", record.half);
  const auto ordinal = LoadAt<uint16_t>(record.value, 4);
  ParameterLayout layout;
  layout.offset = LoadAt<uint16_t>(record.value, 6);
  layout.size = record.attribute == kParameter ? LoadAt<uint32_t>(record.value, 8) >> 18
                                               : uint32_t{LoadAt<uint16_t>(record.value, 8)};
  if (!parameters.emplace(ordinal, layout).second) return DataLoss("machine code names parameter {} twice", ordinal);
  return absl::OkStatus();
}

absl::Status ReadParameters(std::span<const std::byte> info, MachineKernel& kernel) {
  std::map<uint16_t, ParameterLayout> parameters;
  uint32_t bytes = 0;
  while (!info.empty()) {
    WHARF_ASSIGN_OR_RETURN(const Record record, TakeRecord(info));
    if (record.format == kSized && (record.attribute == kParameter || record.attribute == kLargeParameter)) {
      WHARF_RETURN_IF_ERROR(AddParameter(record, parameters));
    }
    if (record.format == kHalf && record.attribute == kParameterBytes) bytes = record.half;
  }
  uint32_t end = 0;
  for (const auto& [ordinal, layout] : parameters) {
    if (ordinal != kernel.parameters.size() || layout.offset < end) {
      return DataLoss("machine code whose parameters do not follow one another: kernel {}", kernel.name);
    }
    kernel.parameters.push_back(layout);
    end = layout.offset + layout.size;
  }
  if (bytes != end) {
    return DataLoss("machine code whose parameters take {} bytes and not {}: kernel {}", end, bytes, kernel.name);
  }
  return absl::OkStatus();
}

bool IsVariable(const ElfSymbol& symbol, const ElfImage& elf) {
  if (symbol.kind != STT_OBJECT || symbol.name.empty() || symbol.section >= elf.sections().size()) return false;
  const std::string_view section = elf.sections()[symbol.section].name;
  return section.starts_with(".nv.global") || section == ".nv.constant3";
}

template <typename T>
void SortByName(std::vector<T>& all) {
  std::sort(all.begin(), all.end(), [](const T& a, const T& b) { return a.name < b.name; });
}

}  // namespace

absl::StatusOr<MachineCode> ReadMachineCode(std::span<const std::byte> image) {
  WHARF_ASSIGN_OR_RETURN(const ElfImage elf, ElfImage::Read(image));
  std::map<std::string_view, std::span<const std::byte>> infos;
  std::map<std::string_view, bool> entries;  // functions with code, and whether they are kernels
  uint64_t info_bytes = 0;
  for (const ElfSection& section : elf.sections()) {
    if (section.name.starts_with(kInfoPrefix)) {
      infos[section.name.substr(kInfoPrefix.size())] = section.data;
      info_bytes += section.data.size();
    }
    if (section.name.starts_with(kCodePrefix)) entries.emplace(section.name.substr(kCodePrefix.size()), false);
  }
  // Sections that lie on each other would take long to read.
  if (info_bytes > image.size()) return InvalidArgument("machine code whose attributes overlap");
  for (const ElfSection& section : elf.sections()) {
    if (!section.name.starts_with(kBankPrefix)) continue;
    if (const auto entry = entries.find(section.name.substr(kBankPrefix.size())); entry != entries.end()) {
      entry->second = true;
    }
  }
  MachineCode code;
  code.sm = elf.flags() >> (elf.abi_version() >= kNewAbi ? 8 : 0) & 0xff;
  for (const ElfSymbol& symbol : elf.symbols()) {
    if (symbol.kind == STT_FUNC && (symbol.other & kEntryFlag) != 0) {
      if (const auto entry = entries.find(symbol.name); entry != entries.end()) entry->second = true;
    }
    if (!IsVariable(symbol, elf)) continue;
    const bool constant = elf.sections()[symbol.section].name == ".nv.constant3";
    code.variables.push_back({std::string(symbol.name), symbol.size, constant});
  }
  for (const auto& [name, is_kernel] : entries) {
    if (!is_kernel || name.empty()) continue;
    MachineKernel& kernel = code.kernels.emplace_back();
    kernel.name = name;
    if (const auto info = infos.find(name); info != infos.end()) {
      WHARF_RETURN_IF_ERROR(ReadParameters(info->second, kernel));
    }
  }
  SortByName(code.variables);
  return code;
}

absl::StatusOr<std::vector<std::byte>> WithoutCode(std::span<const std::byte> image) {
  WHARF_ASSIGN_OR_RETURN(const ElfImage elf, ElfImage::Read(image));
  auto header = LoadAt<Elf64_Ehdr>(image, 0);
  std::vector<Elf64_Shdr> headers(elf.sections().size());
  if (!headers.empty()) std::memcpy(headers.data(), image.data() + header.e_shoff, headers.size() * sizeof(Elf64_Shdr));
  std::vector<std::byte> outline(sizeof(header));
  for (size_t i = 0; i < headers.size(); ++i) {
    const ElfSection& section = elf.sections()[i];
    headers[i].sh_offset = outline.size();
    if (section.type == SHT_NULL || section.type == SHT_NOBITS) continue;
    if (section.type == SHT_SYMTAB || section.holds_names || section.name.starts_with(kInfoPrefix)) {
      if (outline.size() + section.data.size() > 2 * image.size()) return InvalidArgument("sections that overlap");
      outline.insert(outline.end(), section.data.begin(), section.data.end());
    } else {
      headers[i].sh_type = SHT_NOBITS;
    }
  }
  header.e_phoff = header.e_phnum = 0;
  header.e_shoff = headers.empty() ? 0 : outline.size();
  std::memcpy(outline.data(), &header, sizeof(header));
  const auto* const table = reinterpret_cast<const std::byte*>(headers.data());
  outline.insert(outline.end(), table, table + headers.size() * sizeof(Elf64_Shdr));
  return outline;
}

absl::StatusOr<bool> HasMachineCode(std::span<const std::byte> bytes) {
  WHARF_ASSIGN_OR_RETURN(const std::vector<Entry> entries, Read(bytes));
  for (const Entry& entry : entries) {
    if (entry.kind == Kind::kElf && HoldsSomething(entry.data)) return true;
  }
  return false;
}

}  // namespace wharf::device::fatbin
