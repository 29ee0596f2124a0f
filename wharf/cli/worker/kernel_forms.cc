#include "wharf/cli/worker/kernel_forms.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <span>

#include "wharf/base/read_file.h"
#include "wharf/cli/common/progress_line.h"
#include "wharf/device/fatbin/fatbin.h"
#include "wharf/device/ptx/link.h"
#include "wharf/device/ptx/parser.h"

namespace wharf::cli {
namespace {

using Bytes = std::span<const std::byte>;

// The PTX of each of the containers that follow one another; of those without, nothing.
absl::StatusOr<std::vector<std::string>> TextsOf(Bytes bytes) {
  std::vector<std::string> texts;
  while (!bytes.empty()) {
    WHARF_ASSIGN_OR_RETURN(const uint64_t size, device::fatbin::ContainerBytes(bytes));
    if (size > bytes.size()) return InvalidArgument("the fat binary is cut off");
    auto text = device::fatbin::FindPtx(bytes.first(size));
    if (text.ok()) {
      texts.push_back(*std::move(text));
    } else if (!absl::IsUnimplemented(text.status())) {
      return text.status();
    }
    bytes = bytes.subspan(size);
    while (!bytes.empty() && bytes.front() == std::byte{0}) bytes = bytes.subspan(1);  // up to the next one's alignment
  }
  return texts;
}

absl::StatusOr<std::vector<std::string>> TextsOfFile(const std::string& path) {
  WHARF_ASSIGN_OR_RETURN(const std::string file, ReadFile(path));
  const Bytes bytes = std::as_bytes(std::span(file));
  if (!file.starts_with("\x7f"
                        "ELF")) {
    auto text = device::fatbin::FindPtx(bytes);
    if (!text.ok()) return InvalidArgument("{}: {}", path, std::string(text.status().message()));
    return std::vector{*std::move(text)};
  }
  std::vector<std::string> texts;
  if (const auto section = device::fatbin::ReadSection(path); section.ok()) {
    WHARF_ASSIGN_OR_RETURN(texts, TextsOf(*section));
  }
  if (const auto section = device::fatbin::ReadSection(path, device::fatbin::kRelocatableSection); section.ok()) {
    WHARF_ASSIGN_OR_RETURN(const std::vector<std::string> parts, TextsOf(*section));
    if (!parts.empty()) {
      WHARF_ASSIGN_OR_RETURN(std::string linked, device::ptx::Link(parts));
      texts.push_back(std::move(linked));
    }
  }
  return texts;
}

std::string Readable(const std::string& mangled) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(
      abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status), &std::free);
  return name == nullptr ? mangled : name.get();
}

device::Dim3 BlockOf(const device::ptx::Function& kernel, const device::Dim3& otherwise) {
  const auto required = kernel.directives.find("reqntid");
  if (required == kernel.directives.end()) return otherwise;
  const auto extent = [&](size_t d) {
    return d < required->second.size() ? static_cast<uint32_t>(required->second[d]) : 1;
  };
  return {extent(0), extent(1), extent(2)};
}

}  // namespace

const char* WordsFor(device::soft::KernelForm::Way way) {
  switch (way) {
    case device::soft::KernelForm::kLanes:
      return "in vector lanes";
    case device::soft::KernelForm::kRegions:
      return "in vector lanes, from barrier to barrier";
    case device::soft::KernelForm::kOneByOne:
      return "one thread after another";
    case device::soft::KernelForm::kSuspendable:
      return "on suspendable threads";
  }
  return "";
}

absl::StatusOr<std::vector<ExaminedKernel>> ExamineKernels(const std::string& path, const device::Dim3& block) {
  WHARF_ASSIGN_OR_RETURN(const std::vector<std::string> texts, TextsOfFile(path));
  std::vector<std::shared_ptr<const device::ptx::Module>> modules;
  size_t kernels = 0;
  for (const std::string& text : texts) {
    WHARF_ASSIGN_OR_RETURN(auto module, device::ptx::Parse(text));
    for (const device::ptx::Function& function : module->functions) kernels += function.is_entry ? 1 : 0;
    modules.push_back(std::move(module));
  }
  if (kernels == 0) return InvalidArgument("{} has no kernels in PTX", path);
  std::vector<ExaminedKernel> all;
  ProgressLine progress;
  for (const auto& module : modules) {
    for (const device::ptx::Function& function : module->functions) {
      if (!function.is_entry) continue;
      progress.Set(fmt::format("compiling kernel {} of {}", all.size() + 1, kernels),
                   static_cast<double>(all.size()) / static_cast<double>(kernels));
      const device::Dim3 shape = BlockOf(function, block);
      all.push_back({Readable(function.name), shape, device::soft::Explain(*module, function.name, shape)});
    }
  }
  return all;
}

}  // namespace wharf::cli
