#include "wharf/server/front/tls_files.h"

#include <openssl/ssl.h>

#include <memory>

namespace wharf::server {

absl::Status CheckTlsFiles(const std::string& certificate, const std::string& key, const std::string& client_ca) {
  const std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)> context(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
  if (context == nullptr) return Internal("OpenSSL does not start");
  if (SSL_CTX_use_certificate_chain_file(context.get(), certificate.c_str()) != 1) {
    return InvalidArgument("{} is no certificate chain in PEM format", certificate);
  }
  if (SSL_CTX_use_PrivateKey_file(context.get(), key.c_str(), SSL_FILETYPE_PEM) != 1) {
    return InvalidArgument("{} is no private key in PEM format without a passphrase, or not that of {}", key,
                           certificate);
  }
  if (SSL_CTX_check_private_key(context.get()) != 1)
    return InvalidArgument("{} is not the key of {}", key, certificate);
  if (!client_ca.empty() && SSL_CTX_load_verify_locations(context.get(), client_ca.c_str(), nullptr) != 1) {
    return InvalidArgument("{} holds no CA certificates in PEM format", client_ca);
  }
  return absl::OkStatus();
}

}  // namespace wharf::server
