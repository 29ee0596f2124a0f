#include "wharf/base/stored/stored_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "wharf/base/stored/directory.h"
#include "wharf/base/stored/keeper_wire.h"
#include "wharf/base/stored/kept_place.h"

namespace wharf {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kAside = ".aside-";     // then a random number; no file that is kept begins with a dot
constexpr auto kAsideFor = std::chrono::hours(1);  // longer is no file written: whoever began it died

using SystemTime = std::chrono::system_clock::time_point;

SystemTime TimeOf(const timespec& time) {
  return SystemTime(std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec));
}

struct StoredFile {
  std::string name;
  SystemTime used;
  uint64_t bytes = 0;
};

// What is written aside is no file yet. What processes left that were ended while they wrote goes.
bool IsAside(int directory, const std::string& name, SystemTime written) {
  if (!name.starts_with(kAside)) return false;
  if (written < std::chrono::system_clock::now() - kAsideFor) unlinkat(directory, name.c_str(), 0);
  return true;
}

std::vector<StoredFile> FilesIn(DIR* entries, const std::string& beginning, const fs::path& extension) {
  std::vector<StoredFile> files;
  const int directory = dirfd(entries);
  while (const dirent* const entry = readdir(entries)) {
    const std::string name = entry->d_name;
    struct stat found {};
    if (fstatat(directory, name.c_str(), &found, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(found.st_mode)) continue;
    const SystemTime used = TimeOf(found.st_mtim);
    if (IsAside(directory, name, used)) continue;
    if (fs::path(name).extension() != extension || !name.starts_with(beginning)) continue;
    files.push_back({name, used, static_cast<uint64_t>(found.st_size) + kBytesOfAFile});
  }
  return files;
}

}  // namespace

// Not by the process's number: processes in name spaces of their own have the same.
std::string NameAside() {
  uint64_t random = 0;
  if (getrandom(&random, sizeof(random), 0) != sizeof(random)) std::abort();
  return fmt::format("{}{:016x}", kAside, random);
}

FileBeingStored::FileBeingStored(const std::string& directory, const std::string& name)
    : path_(directory + "/" + name), name_(name), aside_(NameAside()), directory_(MakeDirectory(directory)) {
  file_ = OpenIn(directory_, aside_, O_WRONLY | O_CREAT | O_EXCL, 0666);
  if (!file_) error_ = errno;
}

FileBeingStored::~FileBeingStored() {
  if (file_) unlinkat(directory_.Number(), aside_.c_str(), 0);
}

void FileBeingStored::Append(std::span<const std::byte> piece) {
  while (error_ == 0 && !piece.empty()) {
    const ssize_t written = write(file_.Number(), piece.data(), piece.size());
    if (written >= 0) {
      piece = piece.subspan(static_cast<size_t>(written));
    } else if (errno != EINTR) {
      error_ = errno;
    }
  }
}

absl::Status FileBeingStored::Finish() {
  const int in = directory_.Number();
  if (error_ == 0 && renameat(in, aside_.c_str(), in, name_.c_str()) != 0) error_ = errno;
  if (error_ != 0) return ErrnoStatus(error_, fmt::format("writing {}", path_));
  file_ = Descriptor();
  return absl::OkStatus();
}

FileBeingRead::FileBeingRead(const std::string& directory, const std::string& name)
    : file_(OpenIn(OpenDirectory(directory), name, O_RDONLY)) {
  struct stat found {};
  if (!file_ || fstat(file_.Number(), &found) != 0) return;
  size_ = static_cast<uint64_t>(found.st_size);
  futimens(file_.Number(), nullptr);
}

bool FileBeingRead::Read(uint64_t at, std::span<char> into) const {
  while (!into.empty()) {
    const ssize_t got = pread(file_.Number(), into.data(), into.size(), static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    into = into.subspan(static_cast<size_t>(got));
    at += static_cast<uint64_t>(got);
  }
  return true;
}

Descriptor TryLockFile(const std::string& directory, uint64_t number) {
  Descriptor file = OpenIn(MakeDirectory(directory), "measuring", O_RDWR | O_CREAT, 0600);
  struct stat found {};
  if (!file || fstat(file.Number(), &found) != 0) return Descriptor();
  if (found.st_uid != geteuid()) {  // whoever made it can hold its locks for ever
    errno = EPERM;
    return Descriptor();
  }
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<off_t>(number >> 2);  // within what a file may have
  lock.l_len = 1;
  return fcntl(file.Number(), F_OFD_SETLK, &lock) == 0 ? std::move(file) : Descriptor();
}

bool StoredLock::TryTake() {
  if (directory_.empty()) return true;
  if (const auto place = AtKeeper(directory_)) {
    const int error = AskForLock(*place, KeeperAction::kTryLock, number_);
    at_keeper_ = error == 0;
    return error != EAGAIN;
  }
  file_ = TryLockFile(directory_, number_).Release();
  return file_ >= 0 || errno != EAGAIN;
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
  const FileBeingRead file(directory, name);
  if (!file) return std::nullopt;
  std::string text(file.Size(), '\0');
  return file.Read(0, text) ? std::optional(std::move(text)) : std::nullopt;
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
  if (const Descriptor in = OpenDirectory(directory)) unlinkat(in.Number(), name.c_str(), 0);
}

void LimitStored(const std::string& directory, uint64_t most, const std::string& keep, const std::string& beginning) {
  if (directory.empty() || AtKeeper(directory)) return;
  const Entries entries = EntriesOf(directory);
  if (entries == nullptr) return;
  std::vector<StoredFile> files = FilesIn(entries.get(), beginning, fs::path(keep).extension());
  std::sort(files.begin(), files.end(), [](const StoredFile& a, const StoredFile& b) { return a.used < b.used; });
  uint64_t total = 0;
  for (const StoredFile& file : files) total += file.bytes;
  for (const StoredFile& file : files) {
    if (total <= most || file.name == keep) continue;
    if (unlinkat(dirfd(entries.get()), file.name.c_str(), 0) == 0) total -= file.bytes;
  }
}

}  // namespace wharf
