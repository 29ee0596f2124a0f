#include "wharf/base/stored/keeper.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "wharf/base/stored/keeper_wire.h"
#include "wharf/base/stored/stored_files.h"

namespace wharf {
namespace {

// The text before the zero byte; nothing if there is none.
template <size_t kSize>
std::optional<std::string> TextOf(const char (&field)[kSize]) {
  const void* const end = std::memchr(field, 0, kSize);
  if (end == nullptr) return std::nullopt;
  return std::string(field, static_cast<const char*>(end));
}

// Names a file in a directory and nothing else.
bool IsPlain(std::string_view name) {
  return !name.empty() && name.front() != '.' && std::ranges::all_of(name, [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '-' || c == '_';
  });
}

constexpr size_t kPiece = 256 << 10;
constexpr size_t kMostLocks = 8;

bool Answer(int socket, int error, uint64_t bytes = 0) {
  const KeeperReply reply{error, bytes};
  return WriteWhole(socket, &reply, sizeof(reply));
}

bool SendFile(int socket, std::ifstream file) {
  if (!file) return Answer(socket, ENOENT);
  file.seekg(0, std::ios::end);
  auto left = static_cast<uint64_t>(file.tellg());
  file.seekg(0);
  if (!Answer(socket, 0, left)) return false;
  std::vector<char> piece(kPiece);
  while (left > 0) {
    const uint64_t next = std::min<uint64_t>(left, piece.size());
    // Of a file that is there it is all there: files appear whole.
    if (!file.read(piece.data(), static_cast<std::streamsize>(next))) return false;
    if (!WriteWhole(socket, piece.data(), next)) return false;
    left -= next;
  }
  return true;
}

// False: the other end is gone.
bool ReceiveFile(int socket, uint64_t bytes, FileBeingStored& file) {
  std::vector<std::byte> piece(std::min<uint64_t>(bytes, kPiece));
  while (bytes > 0) {
    const uint64_t next = std::min<uint64_t>(bytes, piece.size());
    if (!ReadWhole(socket, piece.data(), next)) return false;
    file.Append(std::span(piece).first(next));
    bytes -= next;
  }
  return true;
}

}  // namespace

Keeper::Keeper(int socket, std::map<std::string, KeptDirectory> directories)
    : socket_(socket), directories_(std::move(directories)), thread_([this] { Serve(); }) {}

Keeper::~Keeper() {
  shutdown(socket_, SHUT_RDWR);
  thread_.join();
  close(socket_);
}

void Keeper::Serve() {
  while (ServeNext()) {
  }
  for (const auto& [number, file] : locks_) close(file);
  shutdown(socket_, SHUT_RDWR);  // whoever waits for an answer learns that none comes
}

bool Keeper::ServeNext() {
  KeeperRequest request;
  if (!ReadWhole(socket_, &request, sizeof(request))) return false;
  const auto directory = TextOf(request.directory), name = TextOf(request.name);
  const auto found = directory ? directories_.find(*directory) : directories_.end();
  // Whoever does not keep to this is not served any more.
  if (found == directories_.end() || !name || !IsPlain(*name)) return false;
  const KeptDirectory& kept = found->second;
  switch (static_cast<KeeperAction>(request.action)) {
    case KeeperAction::kRead:
      return SendFile(socket_, OpenStored(kept.path, *name));
    case KeeperAction::kWrite: {
      if (request.bytes > kept.most_file_bytes) return false;
      FileBeingStored file(kept.path, *name);
      if (!ReceiveFile(socket_, request.bytes, file)) return false;
      const bool written = file.Finish().ok();
      LimitStored(kept.path, kept.most_bytes, *name);
      return Answer(socket_, written ? 0 : EIO);
    }
    case KeeperAction::kRemove:
      RemoveStored(kept.path, *name);
      return Answer(socket_, 0);
    case KeeperAction::kTryLock: {
      if (locks_.size() >= kMostLocks || locks_.contains(request.bytes)) return Answer(socket_, EAGAIN);
      const int file = TryLockFile(kept.path, request.bytes);
      if (file < 0) return Answer(socket_, errno == EACCES ? EAGAIN : errno);
      locks_[request.bytes] = file;
      return Answer(socket_, 0);
    }
    case KeeperAction::kUnlock:
      if (const auto held = locks_.find(request.bytes); held != locks_.end()) {
        close(held->second);
        locks_.erase(held);
      }
      return Answer(socket_, 0);
  }
  return false;
}

}  // namespace wharf
