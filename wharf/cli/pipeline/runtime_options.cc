#include "wharf/cli/pipeline/runtime_options.h"

#include <utility>

#include "wharf/cli/common/access_options.h"

namespace wharf::cli {

void AddEtcdOptions(CLI::App* command, pipeline::EtcdOptions& options) {
  command->add_option("--etcd", options.access.endpoint, "Where workers register")
      ->type_name("URL")
      ->capture_default_str();
  command->add_option("--etcd-ca", options.access.ca_file, "Trust this CA of etcd's instead of the system's (PEM)")
      ->type_name("FILE");
  command->add_option("--etcd-cert", options.access.certificate_file, "Our certificate for etcd (PEM)")
      ->type_name("FILE");
  command->add_option("--etcd-key", options.access.key_file, "Its key (PEM)")->type_name("FILE");
  command->add_option("--etcd-user", options.access.user, "Our name there")->type_name("NAME");
  command->add_option("--etcd-password-file", options.password_file, "The first line of FILE is its password")
      ->type_name("FILE");
  command->add_option("--cluster-name", options.cluster, "Workers of other clusters in the same etcd are not seen")
      ->type_name("NAME")
      ->capture_default_str();
}

void AddPipelineAccessOptions(CLI::App* command, PipelineAccessOptions& options) {
  AddAccessOptions(command, options.server);
  command->get_option("--token-file")->description("Who connects must know the first line of FILE");
  command->get_option("--tls-cert")
      ->description("Encrypt all connections: our certificate chain, for those we accept and those we make (PEM)");
  command->get_option("--tls-client-ca")->description("Who connects must show a certificate of this CA (PEM)");
  command->add_option("--tls-ca", options.tls_ca, "Trust this CA of workers instead of the system's (PEM)")
      ->type_name("FILE");
}

absl::StatusOr<PipelineAccess> MakePipelineAccess(const std::string& listen, const PipelineAccessOptions& options) {
  const bool tls = !options.server.tls_certificate.empty();
  if (!tls && !options.tls_ca.empty()) return InvalidArgument("--tls-ca needs --tls-cert and --tls-key");
  PipelineAccess access;
  WHARF_ASSIGN_OR_RETURN(access.control, server::MakeAccessControl(listen, options.server));
  access.peers.token = access.control.token;
  access.peers.by_number = true;
  if (tls) {
    WHARF_ASSIGN_OR_RETURN(access.peers.tls,
                           link::TlsClient::Create({.ca_file = options.tls_ca,
                                                    .certificate_file = options.server.tls_certificate,
                                                    .key_file = options.server.tls_key,
                                                    .server_name = "",
                                                    .fingerprint = ""}));
  }
  return access;
}

}  // namespace wharf::cli
