#include "wharf/server/front/self_signed.h"

#include <fcntl.h>
#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <system_error>

#include "absl/strings/escaping.h"
#include "wharf/base/read_file.h"
#include "wharf/link/socket.h"
#include "wharf/server/front/tls_files.h"

namespace wharf::server {
namespace {

constexpr long kSeconds = 10L * 365 * 24 * 3600;

using Key = std::unique_ptr<EVP_PKEY, void (*)(EVP_PKEY*)>;
using Certificate = std::unique_ptr<X509, void (*)(X509*)>;
using Bio = std::unique_ptr<BIO, int (*)(BIO*)>;

// Signed by itself, as clients look at nothing but its fingerprint; for names that TLS libraries are content with.
Certificate MakeCertificate(EVP_PKEY* key) {
  Certificate made(X509_new(), X509_free);
  // Drawn as a number, not as bytes: an encoding with a leading zero is no DER, which readers refuse.
  uint64_t serial = 0;
  if (made == nullptr || RAND_bytes(reinterpret_cast<unsigned char*>(&serial), sizeof(serial)) != 1 ||
      ASN1_INTEGER_set_uint64(X509_get_serialNumber(made.get()), serial) != 1) {
    return {nullptr, X509_free};
  }
  X509_set_version(made.get(), X509_VERSION_3);
  X509_gmtime_adj(X509_getm_notBefore(made.get()), -24 * 3600);  // clocks of robots are not always right
  X509_gmtime_adj(X509_getm_notAfter(made.get()), kSeconds);
  X509_NAME* const name = X509_get_subject_name(made.get());
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>("wharf"), -1, -1, 0);
  X509_set_issuer_name(made.get(), name);
  X509_set_pubkey(made.get(), key);
  if (X509_sign(made.get(), key, EVP_sha256()) == 0) return {nullptr, X509_free};
  return made;
}

std::string TextOf(const Bio& bio) {
  const char* text = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &text);
  return {text, static_cast<size_t>(size)};
}

// A new file; kAlreadyExists if there is one, or a link.
absl::Status Create(const std::string& path, const std::string& text, mode_t mode) {
  const link::UniqueFd file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
  if (file.get() < 0) return ErrnoStatus(errno, path);
  if (write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()) || fsync(file.get()) != 0) {
    return ErrnoStatus(errno, path);
  }
  return absl::OkStatus();
}

absl::Status Make(const SelfSigned& files) {
  const Key key(EVP_EC_gen("P-256"), EVP_PKEY_free);
  const Certificate certificate = key == nullptr ? Certificate(nullptr, X509_free) : MakeCertificate(key.get());
  const Bio key_text(BIO_new(BIO_s_mem()), BIO_free), text(BIO_new(BIO_s_mem()), BIO_free);
  if (certificate == nullptr || PEM_write_bio_X509(text.get(), certificate.get()) != 1 ||
      PEM_write_bio_PrivateKey(key_text.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) != 1) {
    return Internal("OpenSSL makes no certificate");
  }
  WHARF_RETURN_IF_ERROR(Create(files.key, TextOf(key_text), S_IRUSR | S_IWUSR));
  return Create(files.certificate, TextOf(text), S_IRUSR | S_IWUSR | S_IRGRP | S_IROTH);
}

absl::StatusOr<std::string> FingerprintOf(const std::string& path) {
  WHARF_ASSIGN_OR_RETURN(const std::string text, ReadOwnFile(path, S_IWGRP | S_IWOTH));
  const Bio bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), BIO_free);
  const Certificate certificate(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr), X509_free);
  std::string digest(32, '\0');
  if (certificate == nullptr ||
      X509_digest(certificate.get(), EVP_sha256(), reinterpret_cast<unsigned char*>(digest.data()), nullptr) != 1) {
    return InvalidArgument("{} is no certificate in PEM format", path);
  }
  return "sha256:" + absl::BytesToHexString(digest);
}

bool Exists(const std::string& path) {
  struct stat there {};
  return lstat(path.c_str(), &there) == 0;
}

}  // namespace

absl::StatusOr<SelfSigned> FindSelfSigned(const std::string& folder) {
  SelfSigned files{folder + "/server.crt", folder + "/server.key", ""};
  if (!Exists(files.key) && !Exists(files.certificate)) {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) return ErrnoStatus(error.value(), folder);
    WHARF_RETURN_IF_ERROR(Make(files));
  }
  for (const std::string& file : {files.key, files.certificate}) {
    if (!Exists(file)) return InvalidArgument("{} has a key or a certificate without the other: remove it", folder);
  }
  WHARF_RETURN_IF_ERROR(ReadOwnFile(files.key, S_IRWXG | S_IRWXO).status());
  WHARF_ASSIGN_OR_RETURN(files.fingerprint, FingerprintOf(files.certificate));
  WHARF_RETURN_IF_ERROR(CheckTlsFiles(files.certificate, files.key, ""));
  return files;
}

absl::StatusOr<std::string> DefaultTlsFolder() {
  if (const char* const state = getenv("XDG_STATE_HOME"); state != nullptr && *state == '/') {
    return std::string(state) + "/wharf/tls";
  }
  if (const char* const home = getenv("HOME"); home != nullptr && *home == '/') {
    return std::string(home) + "/.local/state/wharf/tls";
  }
  return NotFound("there is no home directory: say where the key is to be, --tls-self-signed=FOLDER");
}

}  // namespace wharf::server
