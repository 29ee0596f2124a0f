#include "wharf/cli/common/access_options.h"

#include <cstdio>
#include <string>

#include "wharf/cli/common/confined_server.h"
#include "wharf/server/front/self_signed.h"

namespace wharf::cli {

void AddAccessOptions(CLI::App* command, server::AccessOptions& options) {
  command->add_option("--token-file", options.token_file, "Clients must know the first line of FILE")
      ->type_name("FILE");
  command->add_option("--tls-cert", options.tls_certificate, "Encrypt: the server's certificate chain (PEM)")
      ->type_name("FILE");
  command->add_option("--tls-key", options.tls_key, "Its private key (PEM)")->type_name("FILE");
  command
      ->add_option_function<std::string>(
          "--tls-self-signed",
          [&options](const std::string& folder) {
            const absl::StatusOr<std::string> where = folder.empty() ? server::DefaultTlsFolder() : folder;
            const auto made = where.ok() ? server::FindSelfSigned(*where) : where.status();
            if (!made.ok()) throw CLI::ValidationError("--tls-self-signed", std::string(Message(made.status())));
            options.tls_certificate = made->certificate;
            options.tls_key = made->key;
            if (StartedByGuard()) return;
            std::fprintf(stderr, "wharf: clients trust this server by --tls-pin %s\n", made->fingerprint.c_str());
          },
          "Encrypt by a certificate of our own, kept in FOLDER, and say its fingerprint for --tls-pin")
      ->expected(0, 1)
      ->type_name("[FOLDER]")
      ->excludes("--tls-cert");
  command->add_option("--tls-client-ca", options.tls_client_ca, "Clients must show a certificate of this CA (PEM)")
      ->type_name("FILE");
}

}  // namespace wharf::cli
