#include "wharf/base/stored/seal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "wharf/base/read_file.h"
#include "wharf/base/stored/keeper_wire.h"

namespace wharf {
namespace {

// Aside, then given its name unless there is one of that name: nobody sees half a key.
absl::Status MakeKey(const std::string& path) {
  const std::string aside = std::filesystem::path(path).replace_filename(NameAside());
  SealKey key;
  if (RAND_bytes(key.data(), static_cast<int>(key.size())) != 1) return Internal("no random numbers can be had");
  absl::Status made;
  {
    const Descriptor file(open(aside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file || write(file.Number(), key.data(), key.size()) != static_cast<ssize_t>(key.size())) {
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
  constexpr mode_t kNobodyElse = S_IRWXG | S_IRWXO;
  absl::StatusOr<std::string> text = ReadOwnFile(path, kNobodyElse);
  if (absl::IsNotFound(text.status())) {
    WHARF_RETURN_IF_ERROR(MakeKey(path));
    text = ReadOwnFile(path, kNobodyElse);
  }
  if (!text.ok()) return text.status();
  SealKey key;
  if (text->size() != key.size()) return DataLoss("{} is no key: remove it", path);
  std::ranges::copy(*text, key.begin());
  return key;
}

}  // namespace wharf
