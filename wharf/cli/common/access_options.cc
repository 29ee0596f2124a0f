#include "wharf/cli/common/access_options.h"

namespace wharf::cli {

void AddAccessOptions(CLI::App* command, server::AccessOptions& options) {
  command->add_option("--token-file", options.token_file, "Clients must know the first line of FILE")
      ->type_name("FILE");
  command->add_option("--tls-cert", options.tls_certificate, "Encrypt: the server's certificate chain (PEM)")
      ->type_name("FILE");
  command->add_option("--tls-key", options.tls_key, "Its private key (PEM)")->type_name("FILE");
  command->add_option("--tls-client-ca", options.tls_client_ca, "Clients must show a certificate of this CA (PEM)")
      ->type_name("FILE");
}

}  // namespace wharf::cli
