#include "wharf/base/stored/stored_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "wharf/base/stored/keeper_wire.h"
#include "wharf/base/stored/kept_place.h"

namespace wharf {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kAside = ".aside-";     // then a random number; no file that is kept begins with a dot
constexpr auto kAsideFor = std::chrono::hours(1);  // longer is no file written: whoever began it died

struct StoredFile {
  fs::path path;
  fs::file_time_type used;
  uint64_t bytes = 0;
};

// What is written aside is no file yet. What processes left that were ended while they wrote goes.
bool IsAside(const fs::directory_entry& entry) {
  if (!entry.path().filename().string().starts_with(kAside)) return false;
  std::error_code error, ignored;
  const auto written = entry.last_write_time(error);
  if (!error && written < fs::file_time_type::clock::now() - kAsideFor) fs::remove(entry.path(), ignored);
  return true;
}

std::vector<StoredFile> FilesIn(const fs::path& directory, const std::string& beginning, const fs::path& extension) {
  std::vector<StoredFile> files;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    if (IsAside(*it)) continue;
    StoredFile file{it->path(), it->last_write_time(error), it->file_size(error) + kBytesOfAFile};
    const bool meant = file.path.extension() == extension && file.path.filename().string().starts_with(beginning);
    if (!error && meant) files.push_back(std::move(file));
    error.clear();
  }
  return files;
}

}  // namespace

// Not by the process's number: processes in name spaces of their own have the same.
std::string NameAside(const std::string& directory) {
  uint64_t random = 0;
  if (getrandom(&random, sizeof(random), 0) != sizeof(random)) std::abort();
  return fmt::format("{}/{}{:016x}", directory, kAside, random);
}

FileBeingStored::FileBeingStored(const std::string& directory, const std::string& name)
    : path_(directory + "/" + name), aside_(NameAside(directory)) {
  std::error_code ignored;
  fs::create_directories(directory, ignored);
  file_.open(aside_, std::ios::binary | std::ios::trunc);
}

FileBeingStored::~FileBeingStored() {
  std::error_code ignored;
  fs::remove(aside_, ignored);
}

void FileBeingStored::Append(std::span<const std::byte> piece) {
  file_.write(reinterpret_cast<const char*>(piece.data()), static_cast<std::streamsize>(piece.size()));
}

absl::Status FileBeingStored::Finish() {
  file_.close();
  std::error_code error;
  if (file_) fs::rename(aside_, path_, error);
  if (file_ && !error) return absl::OkStatus();
  return ErrnoStatus(error ? error.value() : errno, fmt::format("writing {}", path_));
}

std::ifstream OpenStored(const std::string& directory, const std::string& name) {
  const fs::path path = fs::path(directory) / name;
  std::ifstream file(path, std::ios::binary);
  std::error_code ignored;
  if (file) fs::last_write_time(path, fs::file_time_type::clock::now(), ignored);
  return file;
}

int TryLockFile(const std::string& directory, uint64_t number) {
  std::error_code ignored;
  fs::create_directories(directory, ignored);
  const int file = open((directory + "/measuring").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) return -1;
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<off_t>(number >> 2);  // within what a file may have
  lock.l_len = 1;
  if (fcntl(file, F_OFD_SETLK, &lock) == 0) return file;
  const int error = errno;
  close(file);
  errno = error;
  return -1;
}

bool StoredLock::TryTake() {
  if (directory_.empty()) return true;
  if (const auto place = AtKeeper(directory_)) {
    const int error = AskForLock(*place, KeeperAction::kTryLock, number_);
    at_keeper_ = error == 0;
    return error != EAGAIN;
  }
  file_ = TryLockFile(directory_, number_);
  return file_ >= 0 || (errno != EAGAIN && errno != EACCES);
}

StoredLock::~StoredLock() {
  if (file_ >= 0) close(file_);
  if (at_keeper_) AskForLock(*AtKeeper(directory_), KeeperAction::kUnlock, number_);
}

std::optional<std::string> ReadStored(const std::string& directory, const std::string& name) {
  if (directory.empty()) return std::nullopt;
  if (const auto place = AtKeeper(directory)) {
    std::string text;
    return Ask(*place, KeeperAction::kRead, name, {}, &text).ok() ? std::optional(std::move(text)) : std::nullopt;
  }
  std::ifstream file = OpenStored(directory, name);
  if (!file) return std::nullopt;
  return std::string{std::istreambuf_iterator<char>(file), {}};
}

absl::Status WriteStored(const std::string& directory, const std::string& name, std::span<const std::byte> bytes) {
  if (directory.empty()) return absl::OkStatus();
  if (const auto place = AtKeeper(directory)) return Ask(*place, KeeperAction::kWrite, name, bytes, nullptr);
  FileBeingStored file(directory, name);
  file.Append(bytes);
  return file.Finish();
}

void RemoveStored(const std::string& directory, const std::string& name) {
  if (directory.empty()) return;
  if (const auto place = AtKeeper(directory)) {
    Ask(*place, KeeperAction::kRemove, name, {}, nullptr).IgnoreError();
    return;
  }
  std::error_code ignored;
  fs::remove(fs::path(directory) / name, ignored);
}

void LimitStored(const std::string& directory, uint64_t most, const std::string& keep, const std::string& beginning) {
  if (directory.empty() || AtKeeper(directory)) return;
  std::vector<StoredFile> files = FilesIn(directory, beginning, fs::path(keep).extension());
  std::sort(files.begin(), files.end(), [](const StoredFile& a, const StoredFile& b) { return a.used < b.used; });
  uint64_t total = 0;
  for (const StoredFile& file : files) total += file.bytes;
  for (const StoredFile& file : files) {
    if (total <= most || file.path.filename() == keep) continue;
    std::error_code error;
    if (fs::remove(file.path, error)) total -= file.bytes;
  }
}

}  // namespace wharf
