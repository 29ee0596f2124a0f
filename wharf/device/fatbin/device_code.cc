#include "wharf/device/fatbin/device_code.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "wharf/device/cuda_error.h"
#include "wharf/device/fatbin/elf_image.h"
#include "wharf/device/fatbin/fatbin.h"

namespace wharf::device::fatbin {
namespace {

constexpr std::string_view kArchiveMagic = "!<arch>\n";
constexpr std::string_view kElfMagic = "\177ELF";
constexpr size_t kMemberHeader = 60;  // name 16, date 12, owner 6, group 6, mode 8, size 10, two bytes of end
constexpr size_t kMemberSize = 48, kMemberSizeDigits = 10;
constexpr uint16_t kMachineCuda = 190;  // e_machine of machine code

bool StartsWith(std::span<const std::byte> bytes, std::string_view magic) {
  return bytes.size() >= magic.size() && std::memcmp(bytes.data(), magic.data(), magic.size()) == 0;
}

bool IsFatBinary(std::span<const std::byte> bytes) {
  return bytes.size() >= sizeof(uint32_t) && LoadAt<uint32_t>(bytes, 0) == kContainerMagic;
}

absl::Status Unlinkable(std::string message) { return CudaStatus(CudaError::kInvalidImage, std::move(message)); }

absl::Status AddContainers(std::span<const std::byte> bytes, std::vector<std::string>* texts) {
  for (;;) {
    // Zeroes align them.
    const auto next = std::find_if(bytes.begin(), bytes.end(), [](std::byte b) { return b != std::byte{0}; });
    bytes = bytes.subspan(static_cast<size_t>(next - bytes.begin()));
    if (bytes.empty()) return absl::OkStatus();
    WHARF_ASSIGN_OR_RETURN(const uint64_t size, ContainerBytes(bytes));
    if (size > bytes.size()) return Unlinkable("a fat binary is cut short");
    WHARF_ASSIGN_OR_RETURN(std::string text, FindPtx(bytes.first(size)));
    texts->push_back(std::move(text));
    bytes = bytes.subspan(size);
  }
}

// A host's object. Its device code is for the linker, or whole.
absl::Status AddObject(std::span<const std::byte> bytes, std::vector<std::string>* texts) {
  WHARF_ASSIGN_OR_RETURN(const ElfImage object, ElfImage::Read(bytes));
  for (const ElfSection& section : object.sections()) {
    if (section.name != kRelocatableSection && section.name != kSection) continue;
    WHARF_RETURN_IF_ERROR(AddContainers(section.data, texts));
  }
  return absl::OkStatus();
}

bool IsHostObject(std::span<const std::byte> bytes) {
  constexpr size_t kMachine = 18;  // where e_machine is
  return StartsWith(bytes, kElfMagic) && bytes.size() >= kMachine + 2 &&
         LoadAt<uint16_t>(bytes, kMachine) != kMachineCuda;
}

absl::Status AddArchive(std::span<const std::byte> bytes, std::vector<std::string>* texts) {
  bytes = bytes.subspan(kArchiveMagic.size());
  while (!bytes.empty()) {
    if (bytes.size() < kMemberHeader) return Unlinkable("an archive is cut short");
    const auto* const digits = reinterpret_cast<const char*>(bytes.data()) + kMemberSize;
    uint64_t size = 0;
    const auto read = std::from_chars(digits, digits + kMemberSizeDigits, size);
    bytes = bytes.subspan(kMemberHeader);
    if (read.ec != std::errc() || size > bytes.size()) return Unlinkable("an archive's member does not fit");
    const auto member = bytes.first(size);
    if (IsHostObject(member)) WHARF_RETURN_IF_ERROR(AddObject(member, texts));
    bytes = bytes.subspan(std::min<uint64_t>(bytes.size(), size + size % 2));
  }
  return absl::OkStatus();
}

// 75 of ".target sm_75"; 0 if it does not say.
// The number behind the first `word`; 0 if there is none.
template <typename Number>
Number NumberBehind(std::string_view text, std::string_view word) {
  const size_t at = text.find(word);
  Number number = 0;
  if (at != std::string_view::npos) {
    std::from_chars(text.data() + at + word.size(), text.data() + text.size(), number);
  }
  return number;
}

template <typename T>
void Store(std::vector<std::byte>& bytes, size_t offset, T value) {
  std::memcpy(bytes.data() + offset, &value, sizeof(value));
}

}  // namespace

bool IsLtoIr(std::span<const std::byte> bytes) { return StartsWith(bytes, "\xED\x43\x4E\x7F"); }

absl::StatusOr<std::vector<std::string>> PtxOfParts(std::span<const std::byte> bytes) {
  std::vector<std::string> texts;
  if (IsFatBinary(bytes)) {
    WHARF_RETURN_IF_ERROR(AddContainers(bytes, &texts));
  } else if (StartsWith(bytes, kArchiveMagic)) {
    WHARF_RETURN_IF_ERROR(AddArchive(bytes, &texts));
  } else if (IsHostObject(bytes)) {
    WHARF_RETURN_IF_ERROR(AddObject(bytes, &texts));
  } else {
    while (!bytes.empty() && bytes.back() == std::byte{0}) bytes = bytes.first(bytes.size() - 1);
    WHARF_ASSIGN_OR_RETURN(std::string text, FindPtx(bytes));
    texts.push_back(std::move(text));
  }
  return texts;
}

// As nvcc writes it, for a GPU's driver trusts what it reads: it looks for the compiler's options wherever it is told.
std::vector<std::byte> WrapPtx(std::string_view ptx) {
  constexpr size_t kContainer = 16, kEntry = 80;
  constexpr uint32_t kOptions = 64, kOptionsText = 72;  // none
  const size_t payload = (ptx.size() / 8 + 1) * 8;      // with one zero byte at least
  const std::string_view version = ptx.substr(std::min(ptx.find(".version "), ptx.size()));
  std::vector<std::byte> bytes(kContainer + kEntry + payload);
  Store(bytes, 0, kContainerMagic);
  Store<uint16_t>(bytes, 4, 1);
  Store<uint16_t>(bytes, 6, kContainer);
  Store<uint64_t>(bytes, 8, kEntry + payload);
  Store(bytes, kContainer, Kind::kPtx);
  Store<uint16_t>(bytes, kContainer + 2, 0x0101);
  Store<uint32_t>(bytes, kContainer + 4, kEntry);
  Store<uint64_t>(bytes, kContainer + 8, payload);
  Store(bytes, kContainer + 20, kOptions);
  Store(bytes, kContainer + 24, NumberBehind<uint16_t>(version.substr(std::min<size_t>(version.size(), 1)), "."));
  Store(bytes, kContainer + 26, NumberBehind<uint16_t>(version, ".version "));
  Store(bytes, kContainer + 28, NumberBehind<uint32_t>(ptx, ".target sm_"));
  Store<uint64_t>(bytes, kContainer + 40, 0x11);
  Store(bytes, kContainer + kOptions, kOptionsText);
  std::memcpy(bytes.data() + kContainer + kEntry, ptx.data(), ptx.size());
  return bytes;
}

}  // namespace wharf::device::fatbin
