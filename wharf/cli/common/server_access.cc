#include "wharf/cli/common/server_access.h"

#include <cstdlib>

#include "wharf/server/front/access_control.h"

namespace wharf::cli {
namespace {

std::string Variable(const char* name) {
  const char* const value = getenv(name);
  return value == nullptr ? "" : value;
}

// The server, and how it is spoken to: the variables that the drop-in libraries read.
void TakeFromVariables(ServerAccess& access) {
  access.server = Variable("WHARF_SERVER");
  if (access.server.empty() || Variable("WHARF_TLS") != "1") return;
  const auto fill = [](std::string& value, const char* variable) {
    if (value.empty()) value = Variable(variable);
  };
  access.tls = true;
  fill(access.tls_ca, "WHARF_TLS_CA");
  fill(access.tls_pin, "WHARF_TLS_PIN");
  fill(access.tls_certificate, "WHARF_TLS_CERT");
  fill(access.tls_key, "WHARF_TLS_KEY");
}

}  // namespace

absl::StatusOr<std::string> ServerAccess::Token() const {
  if (!token_file.empty()) return server::LoadToken(token_file);
  if (std::string token = Variable("WHARF_TOKEN"); !token.empty()) return token;
  if (const std::string file = Variable("WHARF_TOKEN_FILE"); !file.empty()) return server::LoadToken(file);
  return std::string();
}

link::ConnectOptions ServerAccess::Connecting() const {
  link::ConnectOptions options;
  options.timeout = timeout;
  if (tls) {
    options.tls = link::TlsClientOptions{.ca_file = tls_ca,
                                         .certificate_file = tls_certificate,
                                         .key_file = tls_key,
                                         .server_name = "",
                                         .fingerprint = tls_pin};
  }
  return options;
}

CLI::Option* AddServerAccess(CLI::App* command, ServerAccess& access) {
  CLI::Option* server = command->add_option(
      "--server", access.server,
      "HOST:PORT of `wharf serve`, or auto: the best that announces itself on this network (or WHARF_SERVER)");
  command->add_option("--token-file", access.token_file, "The server's token")->type_name("FILE");
  command->add_flag("--tls", access.tls, "Encrypt; the server must have a certificate");
  command->add_option("--tls-ca", access.tls_ca, "Trust this CA instead of the system's")->type_name("FILE");
  command->add_option("--tls-pin", access.tls_pin, "Trust the certificate with this fingerprint and no other")
      ->type_name("sha256:HEX");
  command->add_option("--tls-cert", access.tls_certificate, "Our certificate, for mutual TLS")->type_name("FILE");
  command->add_option("--tls-key", access.tls_key, "Its key")->type_name("FILE");
  return server;
}

void FinishServerAccess(const std::string& command, ServerAccess& access) {
  if (access.server.empty()) TakeFromVariables(access);
  access.tls = access.tls || !access.tls_ca.empty() || !access.tls_certificate.empty() || !access.tls_pin.empty();
  if (access.tls_certificate.empty() != access.tls_key.empty()) {
    throw CLI::ValidationError(command, "--tls-cert and --tls-key go together");
  }
}

}  // namespace wharf::cli
