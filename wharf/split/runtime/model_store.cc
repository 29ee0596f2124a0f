#include "wharf/split/runtime/model_store.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "wharf/base/log.h"

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

fs::path ModelStore::PathOf(const Sha256& hash) const { return directory_ / (HexOf(hash) + kExtension); }

std::shared_ptr<const Model> ModelStore::InMemory(const Sha256& hash) {
  absl::MutexLock lock(&mutex_);
  const auto found = models_.find(hash);
  return found == models_.end() ? nullptr : found->second.lock();
}

absl::StatusOr<std::shared_ptr<const Model>> ModelStore::Load(const Sha256& hash, std::span<const std::byte> bytes) {
  WHARF_ASSIGN_OR_RETURN(std::shared_ptr<const Model> model, load_(bytes));
  absl::MutexLock lock(&mutex_);
  std::erase_if(models_, [](const auto& entry) { return entry.second.expired(); });
  models_[hash] = model;
  return model;
}

absl::StatusOr<std::shared_ptr<const Model>> ModelStore::Find(const Sha256& hash) {
  if (auto model = InMemory(hash); model != nullptr) return model;
  if (directory_.empty()) return NotFound("no such model");
  const fs::path path = PathOf(hash);
  std::ifstream file(path, std::ios::binary);
  if (!file) return NotFound("no such model");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto bytes = std::as_bytes(std::span(text));
  std::error_code ignored;
  if (HashOf(bytes) != hash) {  // a damaged file
    fs::remove(path, ignored);
    return NotFound("no such model");
  }
  fs::last_write_time(path, fs::file_time_type::clock::now(), ignored);
  return Load(hash, bytes);
}

absl::StatusOr<std::shared_ptr<const Model>> ModelStore::Add(const Sha256& hash, std::span<const std::byte> bytes) {
  if (HashOf(bytes) != hash) return InvalidArgument("the model that came is not the one that was announced");
  WHARF_ASSIGN_OR_RETURN(std::shared_ptr<const Model> model, Load(hash, bytes));
  if (!directory_.empty()) Write(hash, bytes);
  return model;
}

// A disk that is full or not writable costs later uploads, nothing else.
void ModelStore::Write(const Sha256& hash, std::span<const std::byte> bytes) const {
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

void ModelStore::Evict(const fs::path& keep) const {
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
