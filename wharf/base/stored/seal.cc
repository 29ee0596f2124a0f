#include "wharf/base/stored/seal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "wharf/base/stored/keeper_wire.h"

namespace wharf {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int Number() const { return number_; }

 private:
  const int number_;
};

// Aside, then given its name unless there is one of that name: nobody sees half a key.
absl::Status MakeKey(const std::string& path) {
  const std::string aside = NameAside(std::filesystem::path(path).parent_path().string());
  SealKey key;
  if (RAND_bytes(key.data(), static_cast<int>(key.size())) != 1) return Internal("no random numbers can be had");
  absl::Status made;
  {
    const Descriptor file(open(aside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (file.Number() < 0 || write(file.Number(), key.data(), key.size()) != static_cast<ssize_t>(key.size())) {
      made = ErrnoStatus(errno, fmt::format("writing {}", aside));
    }
  }
  if (made.ok() && link(aside.c_str(), path.c_str()) != 0 && errno != EEXIST) {
    made = ErrnoStatus(errno, fmt::format("writing {}", path));
  }
  unlink(aside.c_str());
  OPENSSL_cleanse(key.data(), key.size());
  return made;
}

}  // namespace

Seal SealOf(const SealKey& key, std::string_view name, std::string_view content) {
  // The name has no zero byte: where it ends is plain.
  std::string text;
  text.reserve(name.size() + 1 + content.size());
  text.append(name).push_back('\0');
  text.append(content);
  Seal seal{};
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), reinterpret_cast<const unsigned char*>(text.data()),
       text.size(), seal.data(), nullptr);
  return seal;
}

bool Bears(const Seal& seal, const SealKey& key, std::string_view name, std::string_view content) {
  return CRYPTO_memcmp(seal.data(), SealOf(key, name, content).data(), seal.size()) == 0;
}

absl::StatusOr<SealKey> FindSealKey(const std::string& path) {
  if (access(path.c_str(), F_OK) != 0) WHARF_RETURN_IF_ERROR(MakeKey(path));
  const Descriptor file(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  struct stat found {};
  if (file.Number() < 0 || fstat(file.Number(), &found) != 0) return ErrnoStatus(errno, path);
  if (found.st_uid != geteuid() || (found.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return FailedPrecondition("{} is not this user's alone: remove it, and what it is the key of", path);
  }
  SealKey key;
  if (read(file.Number(), key.data(), key.size()) != static_cast<ssize_t>(key.size())) {
    return DataLoss("{} is no key: remove it", path);
  }
  return key;
}

}  // namespace wharf
