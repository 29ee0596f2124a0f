#include "wharf/base/stored/keeper.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

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

constexpr size_t kPiece = 64 << 10;
constexpr size_t kMostLocks = 8;
// Files with a seal are in memory as a whole while they come and go: of all sockets so much, of one owner's a quarter.
constexpr uint64_t kMostHeld = uint64_t{1} << 30;

// What the file has before its seal, so many bytes. Nothing if it does not bear that.
std::optional<std::string> ReadSealed(const FileBeingRead& file, const SealKey& key, const std::string& name,
                                      uint64_t size) {
  std::string content(size, '\0'), end(sizeof(Seal), '\0');
  if (!file.Read(0, content) || !file.Read(size, end)) return std::nullopt;
  Seal seal{};
  std::ranges::copy(end, seal.begin());
  return Bears(seal, key, name, content) ? std::optional(std::move(content)) : std::nullopt;
}

}  // namespace

// What the clients of one keeper have in common.
struct Keeper::Shared {
  std::vector<std::byte> piece = std::vector<std::byte>(kPiece);
  std::map<std::string, uint64_t> held;   // bytes of files with a seal, by whose they are
  std::map<std::string, uint64_t> begun;  // bytes of files without one that are being written, by their directories
  std::map<std::string, uint64_t> room;   // see Limit

  bool Hold(const std::string& whose, uint64_t bytes);
  void LetGo(const std::string& whose, uint64_t bytes);
  bool BeginFile(const KeptDirectory& kept, uint64_t bytes);
  void EndFile(const KeptDirectory& kept, uint64_t bytes);
  void Limit(const KeptDirectory& kept, const std::string& name, uint64_t written);
  void Limit(const std::string& directory, uint64_t most, const std::string& name, const std::string& beginning,
             uint64_t written);
};

bool Keeper::Shared::Hold(const std::string& whose, uint64_t bytes) {
  uint64_t all = 0;
  for (const auto& [one, bytes_held] : held) all += bytes_held;
  const auto found = held.find(whose);
  const uint64_t its = found == held.end() ? 0 : found->second;
  if (bytes > kMostHeld - all || bytes > kMostHeld / 4 - its) return false;
  held[whose] = its + bytes;
  return true;
}

void Keeper::Shared::LetGo(const std::string& whose, uint64_t bytes) {
  const auto found = held.find(whose);
  found->second -= bytes;
  if (found->second == 0) held.erase(found);
}

// No limit counts a file before it is whole, and nobody need ever come to its end: together they take a quarter of the
// limit at most. One at a time may be as large as the directory.
bool Keeper::Shared::BeginFile(const KeptDirectory& kept, uint64_t bytes) {
  uint64_t& all = begun[kept.path];
  const uint64_t most = all == 0 ? kept.most_bytes : kept.most_bytes / 4;
  if (all > most || bytes > most - all) return false;
  all += bytes;
  return true;
}

void Keeper::Shared::EndFile(const KeptDirectory& kept, uint64_t bytes) { begun[kept.path] -= bytes; }

void Keeper::Shared::Limit(const KeptDirectory& kept, const std::string& name, uint64_t written) {
  written += kBytesOfAFile;
  if (!kept.whose.empty()) Limit(kept.path, kept.most_bytes / 4, name, kept.whose + "-", written);
  Limit(kept.path, kept.most_bytes, name, {}, written);
}

// Looks through the directory after every sixteenth of its limit that was written: it may have a hundred thousand
// files, and everybody waits. Then it has a sixteenth less than the limit, and so never more.
void Keeper::Shared::Limit(const std::string& directory, uint64_t most, const std::string& name,
                           const std::string& beginning, uint64_t written) {
  uint64_t& left = room[directory + "/" + beginning];
  if (written <= left) {
    left -= written;
    return;
  }
  LimitStored(directory, most - most / 16, name, beginning);
  left = most / 16;
}

// One socket: a request comes, then what is to be written, then the answer goes.
class Keeper::Client {
 public:
  Client(int socket, KeptDirectories directories, Shared& shared)
      : socket_(socket), directories_(std::move(directories)), shared_(shared) {}
  ~Client() {
    EndWriting();
    LetGo();
    shutdown(socket_, SHUT_RDWR);  // whoever waits for an answer learns that none comes
    close(socket_);
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  pollfd Event() const { return {socket_, static_cast<short>(answering_ ? POLLOUT : POLLIN), 0}; }
  // Takes or gives what the socket has or takes now, of one piece. False: the other end is gone, or is not served any
  // more.
  bool Step() { return answering_ ? Send() : Receive(); }

 private:
  struct Writing {
    Writing(const KeptDirectory& to, std::string file_name, uint64_t wanted)
        : kept(to), name(std::move(file_name)), bytes(wanted), left(wanted) {}
    const KeptDirectory& kept;
    const std::string name;
    const uint64_t bytes;
    uint64_t left;
    std::optional<FileBeingStored> file;  // nothing: there is no room for it
    std::string content;                  // of what gets a seal
  };

  bool Receive();
  bool ReceiveContent();
  bool Begin();
  bool Change(const KeptDirectory& kept, const std::string& name);
  bool Read(const KeptDirectory& kept, const std::string& name);
  bool ReadWithSeal(const KeptDirectory& kept, const std::string& name);
  bool BeginWrite(const KeptDirectory& kept, const std::string& name);
  bool EndWrite();
  void EndWriting();
  bool Lock(const KeptDirectory& kept, uint64_t number);
  bool Answer(int error, uint64_t bytes = 0, std::string_view content = {});
  bool Send();
  bool Hold(const KeptDirectory& kept, uint64_t bytes);
  void LetGo();

  const int socket_;
  const KeptDirectories directories_;
  Shared& shared_;
  std::map<uint64_t, Descriptor> locks_;  // the files of those held

  KeeperRequest request_;
  size_t received_ = 0;  // of the request
  std::optional<Writing> writing_;
  bool answering_ = false;
  std::string answer_;  // and what of it has gone
  size_t sent_ = 0;
  std::optional<FileBeingRead> file_;  // follows the answer, from `at_` to `end_`
  uint64_t at_ = 0, end_ = 0;
  std::string holds_for_;  // what it takes of Shared::held
  uint64_t holds_ = 0;
};

bool Keeper::Client::Receive() {
  if (writing_) return ReceiveContent();
  const auto into = std::as_writable_bytes(std::span(&request_, 1)).subspan(received_);
  const ssize_t got = recv(socket_, into.data(), into.size(), MSG_DONTWAIT);
  if (got < 0) return errno == EAGAIN || errno == EINTR;
  received_ += static_cast<size_t>(got);
  return got > 0 && (received_ < sizeof(request_) || Begin());
}

bool Keeper::Client::ReceiveContent() {
  const auto into = std::span(shared_.piece).first(std::min<uint64_t>(writing_->left, kPiece));
  const ssize_t got = recv(socket_, into.data(), into.size(), MSG_DONTWAIT);
  if (got < 0) return errno == EAGAIN || errno == EINTR;
  if (got == 0) return false;
  const auto piece = into.first(static_cast<size_t>(got));
  writing_->left -= piece.size();
  if (writing_->file) {
    writing_->file->Append(piece);
    if (writing_->kept.seal) writing_->content.append(reinterpret_cast<const char*>(piece.data()), piece.size());
  }
  return writing_->left > 0 || EndWrite();
}

bool Keeper::Client::Begin() {
  received_ = 0;
  const auto directory = TextOf(request_.directory), plain = TextOf(request_.name);
  const auto found = directory ? directories_.find(*directory) : directories_.end();
  // Whoever does not keep to this is not served any more.
  if (found == directories_.end() || !plain || !IsPlain(*plain)) return false;
  const KeptDirectory& kept = found->second;
  const auto action = static_cast<KeeperAction>(request_.action);
  const bool of_file = action != KeeperAction::kTryLock && action != KeeperAction::kUnlock;
  if (of_file && !plain->ends_with(kept.extension)) return false;
  const std::string name = kept.whose.empty() ? *plain : kept.whose + "-" + *plain;
  if (action != KeeperAction::kRead) return kept.writable && Change(kept, name);
  return kept.seal ? ReadWithSeal(kept, name) : Read(kept, name);
}

bool Keeper::Client::Change(const KeptDirectory& kept, const std::string& name) {
  switch (static_cast<KeeperAction>(request_.action)) {
    case KeeperAction::kWrite:
      return BeginWrite(kept, name);
    case KeeperAction::kRemove:
      RemoveStored(kept.path, name);
      return Answer(0);
    case KeeperAction::kTryLock:
      return Lock(kept, request_.bytes);
    case KeeperAction::kUnlock:
      locks_.erase(request_.bytes);
      return Answer(0);
    default:
      return false;
  }
}

bool Keeper::Client::Read(const KeptDirectory& kept, const std::string& name) {
  FileBeingRead file(kept.path, name);
  if (!file || file.Size() > kept.most_file_bytes) return Answer(ENOENT);
  at_ = 0;
  end_ = file.Size();
  file_ = std::move(file);
  return Answer(0, end_);
}

bool Keeper::Client::ReadWithSeal(const KeptDirectory& kept, const std::string& name) {
  const FileBeingRead file(kept.path, name);
  const uint64_t size = file.Size();
  if (size < sizeof(Seal) || size - sizeof(Seal) > kept.most_file_bytes) return Answer(ENOENT);
  if (!Hold(kept, size - sizeof(Seal))) return Answer(ENOMEM);
  const std::optional<std::string> content = ReadSealed(file, *kept.seal, name, size - sizeof(Seal));
  return content ? Answer(0, content->size(), *content) : Answer(ENOENT);
}

bool Keeper::Client::BeginWrite(const KeptDirectory& kept, const std::string& name) {
  if (request_.bytes > kept.most_file_bytes) return false;
  writing_.emplace(kept, name, request_.bytes);
  const bool room = kept.seal ? Hold(kept, request_.bytes) : shared_.BeginFile(kept, request_.bytes);
  if (room) writing_->file.emplace(kept.path, name);
  return request_.bytes > 0 || EndWrite();
}

bool Keeper::Client::EndWrite() {
  int error = writing_->kept.seal ? ENOMEM : ENOSPC;
  if (writing_->file) {
    if (writing_->kept.seal) {
      const Seal seal = SealOf(*writing_->kept.seal, writing_->name, writing_->content);
      writing_->file->Append(std::as_bytes(std::span(seal)));
    }
    error = writing_->file->Finish().ok() ? 0 : EIO;
    shared_.Limit(writing_->kept, writing_->name, writing_->bytes + sizeof(Seal));
  }
  EndWriting();
  return Answer(error);
}

void Keeper::Client::EndWriting() {
  if (writing_ && writing_->file && !writing_->kept.seal) shared_.EndFile(writing_->kept, writing_->bytes);
  writing_.reset();
}

bool Keeper::Client::Lock(const KeptDirectory& kept, uint64_t number) {
  if (locks_.size() >= kMostLocks || locks_.contains(number)) return Answer(EAGAIN);
  Descriptor file = TryLockFile(kept.path, number);
  if (!file) return Answer(errno);
  locks_[number] = std::move(file);
  return Answer(0);
}

bool Keeper::Client::Answer(int error, uint64_t bytes, std::string_view content) {
  const KeeperReply reply{error, bytes};
  answer_.assign(reinterpret_cast<const char*>(&reply), sizeof(reply)).append(content);
  sent_ = 0;
  answering_ = true;
  return Send();
}

bool Keeper::Client::Send() {
  const bool from_file = sent_ == answer_.size();
  const char* next = answer_.data() + sent_;
  size_t bytes = std::min(answer_.size() - sent_, kPiece);
  if (from_file) {
    bytes = std::min<uint64_t>(end_ - at_, kPiece);
    auto* const piece = reinterpret_cast<char*>(shared_.piece.data());
    // Of a file that is there it is all there: files appear whole.
    if (!file_->Read(at_, {piece, bytes})) return false;
    next = piece;
  }
  const ssize_t sent = send(socket_, next, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent < 0) return errno == EAGAIN || errno == EINTR;
  (from_file ? at_ : sent_) += static_cast<size_t>(sent);
  if (sent_ < answer_.size() || at_ < end_) return true;
  answering_ = false;
  answer_ = std::string();
  file_.reset();
  at_ = end_ = 0;
  LetGo();
  return true;
}

bool Keeper::Client::Hold(const KeptDirectory& kept, uint64_t bytes) {
  if (!shared_.Hold(kept.whose, bytes)) return false;
  holds_for_ = kept.whose;
  holds_ = bytes;
  return true;
}

void Keeper::Client::LetGo() {
  if (holds_ > 0) shared_.LetGo(holds_for_, std::exchange(holds_, 0));
}

Keeper::Keeper() : shared_(std::make_unique<Shared>()) {}
Keeper::~Keeper() = default;

void Keeper::Add(int socket, KeptDirectories directories) {
  clients_.push_back(std::make_unique<Client>(socket, std::move(directories), *shared_));
}

void Keeper::ServeUntil(int control) {
  while (control >= 0 || !clients_.empty()) {
    std::vector<pollfd> events = {{control, POLLIN, 0}};
    for (const auto& client : clients_) events.push_back(client->Event());
    if (poll(events.data(), events.size(), -1) < 0) continue;  // a signal
    for (size_t i = clients_.size(); i-- > 0;) {
      if (events[i + 1].revents == 0 || clients_[i]->Step()) continue;
      clients_.erase(clients_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    if (events[0].revents != 0) return;
  }
}

}  // namespace wharf
