#include "wharf/device/soft/jit/cache.h"

#include <fmt/format.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/SHA256.h>

#include <atomic>
#include <optional>
#include <span>

#include "wharf/base/log.h"
#include "wharf/base/stored/stored_files.h"

namespace wharf::device::soft {
namespace {

constexpr std::string_view kMagic = "wharf object 2\n";
constexpr size_t kHashLength = 64;

void WarnOnce(const std::string& path) {
  static std::atomic<bool> warned{false};
  if (!warned.exchange(true)) Log(LogLevel::kWarning, "cannot write the kernel cache", {{"path", path}});
}

}  // namespace

std::string HashText(std::string_view text) {
  llvm::SHA256 hash;
  hash.update(llvm::StringRef(text.data(), text.size()));
  return llvm::toHex(hash.final(), true);
}

std::unique_ptr<llvm::MemoryBuffer> ObjectStore::Find(const std::string& name) const {
  const std::optional<std::string> file = ReadStored(directory_, name + ".o");
  if (!file) return nullptr;
  const std::string_view all(*file);
  if (!all.starts_with(kMagic) || all.size() < kMagic.size() + kHashLength) return nullptr;
  const std::string_view content = all.substr(kMagic.size() + kHashLength);
  if (all.substr(kMagic.size(), kHashLength) != HashText(content)) return nullptr;
  return llvm::MemoryBuffer::getMemBufferCopy(llvm::StringRef(content.data(), content.size()), name);
}

void ObjectStore::Put(const std::string& name, const llvm::MemoryBuffer& object) const {
  const std::string_view content(object.getBufferStart(), object.getBufferSize());
  const std::string file = fmt::format("{}{}{}", kMagic, HashText(content), content);
  if (!WriteStored(directory_, name + ".o", std::as_bytes(std::span(file))).ok()) WarnOnce(directory_);
}

}  // namespace wharf::device::soft
