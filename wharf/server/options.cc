#include "wharf/server/options.h"

#include <unistd.h>

#include <cerrno>
#include <fstream>

namespace wharf::server {
namespace {

constexpr size_t kMinTokenBytes = 16, kMaxTokenBytes = 4096;

absl::Status CheckReadable(const std::string& path, std::string_view what) {
  if (path.empty() || access(path.c_str(), R_OK) == 0) return absl::OkStatus();
  return ErrnoStatus(errno, fmt::format("cannot read the {} {}", what, path));
}

absl::Status CheckAccessRule(const ServerOptions& options) {
  if (IsLoopbackAddress(options.listen) || !options.token_file.empty() || !options.tls_client_ca.empty()) {
    return absl::OkStatus();
  }
  return InvalidArgument(
      "{} can be reached by other machines: give --token-file FILE (openssl rand -hex 32 > FILE) or mutual TLS "
      "(--tls-cert, --tls-key, --tls-client-ca), or listen on 127.0.0.1",
      options.listen);
}

}  // namespace

bool IsLoopbackAddress(const std::string& address) {
  if (address.starts_with("unix:")) return true;
  const size_t colon = address.rfind(':');
  const std::string host = address.substr(0, colon);
  if (host == "localhost" || host == "[::1]" || host == "::1") return true;
  // Only a literal: a name like 127.example.org may be anything.
  return host.starts_with("127.") && host.find_first_not_of("0123456789.") == std::string::npos;
}

absl::Status Validate(const ServerOptions& options) {
  if (options.device != "soft" && options.device != "cuda" && options.device != "auto" &&
      options.device != kPartitionDriver) {
    return InvalidArgument("--device is soft, cuda or auto, not {}", options.device);
  }
  if (options.model_device != "cpu" && options.model_device != "auto" && options.model_device != "cuda" &&
      !options.model_device.starts_with("cuda:")) {
    return InvalidArgument("--model-device is cpu, cuda, cuda:N or auto, not {}", options.model_device);
  }
  if (options.tls_certificate.empty() != options.tls_key.empty()) {
    return InvalidArgument("--tls-cert and --tls-key go together");
  }
  if (!options.tls_client_ca.empty() && options.tls_certificate.empty()) {
    return InvalidArgument("--tls-client-ca needs --tls-cert and --tls-key");
  }
  WHARF_RETURN_IF_ERROR(CheckReadable(options.tls_certificate, "certificate"));
  WHARF_RETURN_IF_ERROR(CheckReadable(options.tls_key, "key"));
  WHARF_RETURN_IF_ERROR(CheckReadable(options.tls_client_ca, "client CA"));
  if (options.max_sessions < 1) return InvalidArgument("--max-sessions must be at least 1");
  if (options.memory_quota < (1 << 20)) return InvalidArgument("--memory must be at least 1MiB");
  return CheckAccessRule(options);
}

absl::StatusOr<std::string> LoadToken(const std::string& path) {
  WHARF_RETURN_IF_ERROR(CheckReadable(path, "token file"));
  std::ifstream file(path);
  std::string token(kMaxTokenBytes + 2, '\0');
  file.read(token.data(), static_cast<std::streamsize>(token.size()));
  token.resize(static_cast<size_t>(file.gcount()));
  token.resize(std::min(token.find('\n'), token.size()));
  constexpr const char* kSpace = " \t\r";
  token.erase(0, std::min(token.find_first_not_of(kSpace), token.size()));
  token.resize(token.find_last_not_of(kSpace) + 1);
  if (token.size() < kMinTokenBytes || token.size() > kMaxTokenBytes) {
    return InvalidArgument("the token in {} has {} characters, it needs {} to {}: openssl rand -hex 32 > {}", path,
                           token.size(), kMinTokenBytes, kMaxTokenBytes, path);
  }
  return token;
}

bool TokensEqual(const std::string& given, const std::string& expected) {
  // The length of the expected token is no secret, its bytes are.
  unsigned difference = given.size() == expected.size() ? 0 : 1;
  for (size_t i = 0; i < expected.size(); ++i) {
    const char c = given.empty() ? '\0' : given[i % given.size()];
    difference |= static_cast<unsigned char>(c ^ expected[i]);
  }
  return difference == 0;
}

}  // namespace wharf::server
