#include "wharf/split/runtime/model_files.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "wharf/base/log.h"
#include "wharf/split/runtime/model.h"

namespace wharf::split {
namespace {

namespace fs = std::filesystem;

constexpr const char* kExtension = ".onnx";

struct StoredFile {
  fs::path path;
  fs::file_time_type used;
  uint64_t bytes = 0;
};

std::vector<StoredFile> FilesIn(const fs::path& directory) {
  std::vector<StoredFile> files;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    StoredFile file{it->path(), it->last_write_time(error), it->file_size(error)};
    if (!error && file.path.extension() == kExtension) files.push_back(std::move(file));
    error.clear();
  }
  return files;
}

}  // namespace

fs::path ModelFiles::PathOf(const Sha256& hash) const { return directory_ / (wire::HexOf(hash) + kExtension); }

absl::StatusOr<std::string> ModelFiles::Read(const Sha256& hash) const {
  if (directory_.empty()) return NotFound("no such model");
  const fs::path path = PathOf(hash);
  std::ifstream file(path, std::ios::binary);
  if (!file) return NotFound("no such model");
  std::string text{std::istreambuf_iterator<char>(file), {}};
  std::error_code ignored;
  if (wire::HashOf(std::as_bytes(std::span(text))) != hash) {  // a damaged file
    fs::remove(path, ignored);
    return NotFound("no such model");
  }
  fs::last_write_time(path, fs::file_time_type::clock::now(), ignored);
  return text;
}

void ModelFiles::Keep(const Sha256& hash, std::span<const std::byte> bytes) const {
  if (directory_.empty()) return;
  std::error_code error;
  fs::create_directories(directory_, error);
  const fs::path path = PathOf(hash);
  fs::path partial = path;
  partial.replace_extension(fmt::format(".{}.{}", getpid(), static_cast<const void*>(bytes.data())));
  std::ofstream file(partial, std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (file) fs::rename(partial, path, error);
  if (!file || error) {
    fs::remove(partial, error);
    Log(LogLevel::kWarning, "a model could not be kept", {{"directory", directory_.string()}});
    return;
  }
  Evict(path);
}

void ModelFiles::Evict(const fs::path& keep) const {
  std::vector<StoredFile> files = FilesIn(directory_);
  std::sort(files.begin(), files.end(), [](const StoredFile& a, const StoredFile& b) { return a.used < b.used; });
  uint64_t total = 0;
  for (const StoredFile& file : files) total += file.bytes;
  for (const StoredFile& file : files) {
    if (total <= limit_bytes_ || file.path == keep) continue;
    std::error_code error;
    if (fs::remove(file.path, error)) total -= file.bytes;
  }
}

}  // namespace wharf::split
