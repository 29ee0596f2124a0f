#include "wharf/server/front/access_control.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string_view>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "wharf/link/address.h"
#include "wharf/server/front/tls_files.h"

namespace wharf::server {
namespace {

constexpr size_t kMinTokenBytes = 16, kMaxTokenBytes = 4096;

absl::Status CheckReadable(const std::string& path, std::string_view what) {
  if (path.empty() || access(path.c_str(), R_OK) == 0) return absl::OkStatus();
  return ErrnoStatus(errno, fmt::format("cannot read the {} {}", what, path));
}

}  // namespace

absl::Status Validate(const std::string& listen, const AccessOptions& options) {
  WHARF_RETURN_IF_ERROR(link::ParseAddress(listen).status());
  if (options.tls_certificate.empty() != options.tls_key.empty()) {
    return InvalidArgument("--tls-cert and --tls-key go together");
  }
  if (!options.tls_client_ca.empty() && options.tls_certificate.empty()) {
    return InvalidArgument("--tls-client-ca needs --tls-cert and --tls-key");
  }
  WHARF_RETURN_IF_ERROR(CheckReadable(options.tls_certificate, "certificate"));
  WHARF_RETURN_IF_ERROR(CheckReadable(options.tls_key, "key"));
  WHARF_RETURN_IF_ERROR(CheckReadable(options.tls_client_ca, "client CA"));
  WHARF_RETURN_IF_ERROR(CheckReadable(options.token_file, "token file"));
  if (IsLoopbackAddress(listen) || !options.token_file.empty() || !options.tls_client_ca.empty()) {
    return absl::OkStatus();
  }
  return InvalidArgument(
      "{} can be reached by other machines: give --token-file FILE (openssl rand -hex 32 > FILE) or mutual TLS "
      "(--tls-cert, --tls-key, --tls-client-ca), or listen on 127.0.0.1",
      listen);
}

absl::StatusOr<AccessControl> MakeAccessControl(const std::string& listen, const AccessOptions& options) {
  WHARF_RETURN_IF_ERROR(Validate(listen, options));
  AccessControl access;
  if (!options.tls_certificate.empty()) {
    WHARF_RETURN_IF_ERROR(CheckTlsFiles(options.tls_certificate, options.tls_key, options.tls_client_ca));
    access.tls = {options.tls_certificate, options.tls_key, options.tls_client_ca};
  }
  if (!options.token_file.empty()) {
    WHARF_ASSIGN_OR_RETURN(access.token, LoadToken(options.token_file));
  }
  return access;
}

absl::StatusOr<std::unique_ptr<const link::TlsServer>> AccessControl::MakeTlsServer() const {
  if (!tls) return nullptr;
  return link::TlsServer::Create(*tls);
}

wire::ClientCheck AccessControl::ClientsOnly() const {
  wire::ClientCheck check = wire::ClientsWith(token);
  check.by_certificate = tls.has_value() && !tls->client_ca_file.empty();
  return check;
}

bool IsLoopbackAddress(const std::string& address) {
  if (address.starts_with("unix:")) return true;
  const size_t colon = address.rfind(':');
  const std::string host = address.substr(0, colon);
  if (host == "localhost" || host == "[::1]" || host == "::1") return true;
  // Only a literal: a name like 127.example.org may be anything.
  return host.starts_with("127.") && host.find_first_not_of("0123456789.") == std::string::npos;
}

absl::StatusOr<std::string> LoadToken(const std::string& path) {
  WHARF_RETURN_IF_ERROR(CheckReadable(path, "token file"));
  std::ifstream file;
  file.rdbuf()->pubsetbuf(nullptr, 0);  // no copy stays
  file.open(path);
  std::vector<char> beginning(kMaxTokenBytes + 2);
  file.read(beginning.data(), static_cast<std::streamsize>(beginning.size()));
  std::string_view token(beginning.data(), static_cast<size_t>(file.gcount()));
  token = token.substr(0, token.find('\n'));
  constexpr std::string_view kSpace = " \t\r";
  token.remove_prefix(std::min(token.find_first_not_of(kSpace), token.size()));
  token = token.substr(0, token.find_last_not_of(kSpace) + 1);
  const absl::Cleanup wipe = [&] { explicit_bzero(beginning.data(), beginning.size()); };
  if (token.size() < kMinTokenBytes || token.size() > kMaxTokenBytes) {
    return InvalidArgument("the token in {} has {} characters, it needs {} to {}: openssl rand -hex 32 > {}", path,
                           token.size(), kMinTokenBytes, kMaxTokenBytes, path);
  }
  return std::string(token);
}

}  // namespace wharf::server
