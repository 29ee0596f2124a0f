#include "wharf/cudashim/client/image.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "wharf/device/cuda_error.h"
#include "wharf/device/fatbin/fatbin.h"
#include "wharf/device/ptx/link.h"
#include "wharf/device/ptx/parser.h"

namespace wharf::client {
namespace {

using device::CudaError;
using device::CudaStatus;

// What __cudaRegisterFatBinary is given.
struct Wrapper {
  uint32_t magic, version;
  const void* data;
  void* linked;
};

std::span<const std::byte> Bytes(const void* start, uint64_t size) {
  return {static_cast<const std::byte*>(start), size};
}

// The end of an ELF image in memory: of its headers and of every section's content.
uint64_t ElfBytes(const void* image) {
  Elf64_Ehdr header;
  std::memcpy(&header, image, sizeof(header));
  uint64_t end = sizeof(header);
  end = std::max<uint64_t>(end, header.e_phoff + uint64_t{header.e_phnum} * header.e_phentsize);
  end = std::max<uint64_t>(end, header.e_shoff + uint64_t{header.e_shnum} * header.e_shentsize);
  if (header.e_shentsize != sizeof(Elf64_Shdr)) return end;
  for (uint16_t i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    std::memcpy(&section, static_cast<const std::byte*>(image) + header.e_shoff + i * sizeof(section), sizeof(section));
    if (section.sh_type != SHT_NOBITS) end = std::max<uint64_t>(end, section.sh_offset + section.sh_size);
  }
  return end;
}

}  // namespace

absl::StatusOr<std::span<const std::byte>> MeasureImage(const void* image) {
  if (image == nullptr) return CudaStatus(CudaError::kInvalidValue, "no image");
  const auto* text = static_cast<const char*>(image);
  // Read no further than a short text goes.
  if (::strnlen(text, 4) < 4 && std::memcmp(text,
                                            "\x7f"
                                            "ELF",
                                            1) != 0) {
    return CudaStatus(CudaError::kInvalidImage, "the image is empty");
  }
  uint32_t magic = 0;
  std::memcpy(&magic, image, sizeof(magic));
  if (magic == device::fatbin::kWrapperMagic) {
    Wrapper wrapper;
    std::memcpy(&wrapper, image, sizeof(wrapper));
    return MeasureImage(wrapper.data);
  }
  if (magic == device::fatbin::kContainerMagic) {
    const auto size = device::fatbin::ContainerBytes(Bytes(image, 16));
    if (!size.ok()) return CudaStatus(CudaError::kInvalidImage, std::string(Message(size.status())));
    return Bytes(image, *size);
  }
  if (std::memcmp(image,
                  "\x7f"
                  "ELF",
                  4) == 0)
    return Bytes(image, ElfBytes(image));
  const size_t length = std::strlen(text);
  if (std::string_view(text, length).find(".version") == std::string_view::npos) {
    return CudaStatus(CudaError::kInvalidImage, "the image is neither a fat binary nor PTX");
  }
  return Bytes(image, length);
}

std::vector<const void*> LinkedParts(const void* wrapper) {
  constexpr uint32_t kLinked = 2;  // the wrapper's version
  Wrapper content{};
  if (wrapper != nullptr) std::memcpy(&content, wrapper, sizeof(content));
  if (content.magic != device::fatbin::kWrapperMagic || content.version != kLinked || content.linked == nullptr)
    return {};
  std::vector<const void*> parts;
  for (const void* const* part = static_cast<const void* const*>(content.linked); *part != nullptr; ++part) {
    parts.push_back(*part);
  }
  return parts;
}

absl::StatusOr<std::string> LinkParts(std::span<const void* const> parts) {
  std::vector<std::string> texts;
  for (const void* part : parts) {
    WHARF_ASSIGN_OR_RETURN(const std::span<const std::byte> image, MeasureImage(part));
    auto text = device::fatbin::FindPtx(image);
    if (!text.ok()) return CudaStatus(CudaError::kNoBinaryForDevice, std::string(Message(text.status())));
    texts.push_back(*std::move(text));
  }
  return device::ptx::Link(texts);
}

absl::StatusOr<std::shared_ptr<const device::ptx::Module>> ParseImage(std::span<const std::byte> image) {
  auto text = device::fatbin::FindPtx(image);
  if (!text.ok()) {
    const CudaError error =
        absl::IsUnimplemented(text.status()) ? CudaError::kNoBinaryForDevice : CudaError::kInvalidImage;
    return CudaStatus(error, std::string(Message(text.status())));
  }
  auto module = device::ptx::Parse(*std::move(text));
  if (!module.ok()) return CudaStatus(CudaError::kInvalidPtx, std::string(Message(module.status())));
  return module;
}

}  // namespace wharf::client
