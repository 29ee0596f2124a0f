#include "wharf/base/stored/kept_place.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <map>
#include <string_view>

#include "absl/synchronization/mutex.h"
#include "wharf/base/passed_descriptors.h"
#include "wharf/base/stored/keeper.h"

namespace wharf {
namespace {

// Then the descriptor's number, a slash, and the directory's name.
constexpr std::string_view kKeeper = "keeper:", kDoor = "keepers:";

// A process has one keeper at most, and asks it one thing at a time.
absl::Mutex g_asking(absl::kConstInit);

KeeperRequest RequestOf(KeeperAction action, const KeptPlace& place, const std::string& name, uint64_t bytes) {
  KeeperRequest request;
  request.action = static_cast<uint32_t>(action);
  request.bytes = bytes;
  // A name that is too long lacks its end, which no keeper takes.
  place.directory.copy(request.directory, sizeof(request.directory));
  name.copy(request.name, sizeof(request.name));
  return request;
}

// The keeper's errno or 0; nothing if its end is closed before it has answered. `answer`: of a read, else null.
std::optional<int> AskAt(int socket, const KeeperRequest& request, std::span<const std::byte> bytes,
                         std::string* answer) {
  KeeperReply reply;
  if (!WriteWhole(socket, &request, sizeof(request)) || !WriteWhole(socket, bytes.data(), bytes.size()) ||
      !ReadWhole(socket, &reply, sizeof(reply))) {
    return std::nullopt;
  }
  if (reply.error != 0 || answer == nullptr) return reply.error;
  answer->resize(reply.bytes);
  return ReadWhole(socket, answer->data(), answer->size()) ? std::optional(0) : std::nullopt;
}

// The socket that was taken last from a door, or -1.
int& SocketOf(int door) ABSL_EXCLUSIVE_LOCKS_REQUIRED(g_asking) {
  static auto& sockets = *new std::map<int, int>();
  return sockets.try_emplace(door, -1).first->second;
}

// As AskAt: nothing if there is no keeper. What one that ended may have done already is done again by the next: every
// action may be.
std::optional<int> AskAt(const KeptPlace& place, const KeeperRequest& request, std::span<const std::byte> bytes,
                         std::string* answer) {
  const absl::MutexLock lock(&g_asking);
  if (!place.behind_door) return AskAt(place.descriptor, request, bytes, answer);
  int& socket = SocketOf(place.descriptor);
  do {
    if (socket >= 0) {
      if (const auto error = AskAt(socket, request, bytes, answer)) return error;
      close(socket);
    }
    socket = TakeSocket(place.descriptor);
  } while (socket >= 0);
  return std::nullopt;
}

}  // namespace

std::string KeeperRoot(int socket) { return fmt::format("{}{}", kKeeper, socket); }

std::string KeeperRootBehind(int door) { return fmt::format("{}{}", kDoor, door); }

std::optional<KeptPlace> AtKeeper(const std::string& directory) {
  KeptPlace place;
  place.behind_door = directory.starts_with(kDoor);
  if (!place.behind_door && !directory.starts_with(kKeeper)) return std::nullopt;
  const std::string_view begins = place.behind_door ? kDoor : kKeeper;
  const char* const end = directory.data() + directory.size();
  const auto [rest, error] = std::from_chars(directory.data() + begins.size(), end, place.descriptor);
  if (error != std::errc() || rest == end) return std::nullopt;
  place.directory.assign(rest + 1, end);
  return place;
}

absl::Status Ask(const KeptPlace& place, KeeperAction action, const std::string& name, std::span<const std::byte> bytes,
                 std::string* answer) {
  const auto error = AskAt(place, RequestOf(action, place, name, bytes.size()), bytes, answer);
  if (!error) return Unavailable("the keeper of files is gone");
  return *error == 0 ? absl::OkStatus() : ErrnoStatus(*error, name);
}

int AskForLock(const KeptPlace& place, KeeperAction action, uint64_t number) {
  return AskAt(place, RequestOf(action, place, "lock", number), {}, nullptr).value_or(EPIPE);
}

bool ReadWhole(int socket, void* into, size_t size) {
  auto* at = static_cast<char*>(into);
  while (size > 0) {
    const ssize_t got = recv(socket, at, size, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    size -= static_cast<size_t>(got);
  }
  return true;
}

bool WriteWhole(int socket, const void* from, size_t size) {
  const auto* at = static_cast<const char*>(from);
  while (size > 0) {
    const ssize_t sent = send(socket, at, size, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    at += sent;
    size -= static_cast<size_t>(sent);
  }
  return true;
}

}  // namespace wharf
