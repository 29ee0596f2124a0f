#include "wharf/device/soft/jit/cache.h"

#include <fcntl.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/SHA1.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>

#include "wharf/base/log.h"

namespace wharf::device::soft {
namespace {

constexpr std::string_view kMagic = "wharf object 1\n";
constexpr size_t kHashLength = 40;

void WarnOnce(const std::string& path) {
  static std::atomic<bool> warned{false};
  if (!warned.exchange(true)) Log(LogLevel::kWarning, "cannot write the kernel cache", {{"path", path}});
}

}  // namespace

std::string HashText(std::string_view text) {
  llvm::SHA1 hash;
  hash.update(llvm::StringRef(text.data(), text.size()));
  return llvm::toHex(hash.final(), true);
}

std::unique_ptr<llvm::MemoryBuffer> ObjectStore::Find(const std::string& name) const {
  if (directory_.empty()) return nullptr;
  auto file = llvm::MemoryBuffer::getFile(directory_ + "/" + name + ".o", false, false, true);
  if (!file) return nullptr;
  const std::string_view all((*file)->getBufferStart(), (*file)->getBufferSize());
  if (!all.starts_with(kMagic) || all.size() < kMagic.size() + kHashLength) return nullptr;
  const std::string_view content = all.substr(kMagic.size() + kHashLength);
  if (all.substr(kMagic.size(), kHashLength) != HashText(content)) return nullptr;
  return llvm::MemoryBuffer::getMemBufferCopy(llvm::StringRef(content.data(), content.size()), name);
}

void ObjectStore::Put(const std::string& name, const llvm::MemoryBuffer& object) const {
  if (directory_.empty()) return;
  static std::atomic<uint64_t> counter{0};
  std::error_code ignored;
  std::filesystem::create_directories(directory_, ignored);
  const std::string path = directory_ + "/" + name + ".o";
  const std::string aside = path + "." + std::to_string(getpid()) + "." + std::to_string(counter.fetch_add(1));
  const std::string_view content(object.getBufferStart(), object.getBufferSize());
  {
    std::ofstream file(aside, std::ios::binary | std::ios::trunc);
    file << kMagic << HashText(content) << content;
    file.close();
    if (!file) {
      std::filesystem::remove(aside, ignored);
      return WarnOnce(path);
    }
  }
  std::error_code error;
  std::filesystem::rename(aside, path, error);
  if (!error) return;
  std::filesystem::remove(aside, ignored);
  WarnOnce(path);
}

}  // namespace wharf::device::soft
