// Options that the commands of `wharf pipeline` that talk to others share.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "wharf/base/status.h"
#include "wharf/link/byte_stream.h"
#include "wharf/pipeline/membership/etcd_membership.h"
#include "wharf/pipeline/runtime/peer_access.h"

namespace wharf::cli {

// --etcd and --cluster-name; `options` must outlive the command.
void AddEtcdOptions(CLI::App* command, pipeline::EtcdOptions& options);

// Who may connect, and how we get in to workers. With a certificate everything is encrypted, both ways: it is what we
// show to who connects and to whom we connect.
struct AdmissionOptions {
  std::string token_file, tls_certificate, tls_key, tls_client_ca, tls_ca;
};
// --token-file and those of TLS; `options` must outlive the command.
void AddAdmissionOptions(CLI::App* command, AdmissionOptions& options);
// The same of a server that connects to nobody.
void AddClientAdmissionOptions(CLI::App* command, AdmissionOptions& options);

// Those may connect that know the first line of the file, and have a certificate of the CA; without either everybody
// on this machine.
struct Admission {
  pipeline::PeerAccess access;  // to workers
  std::function<bool(const std::string& given)> admit;
  std::optional<link::TlsServerOptions> tls;
};
// kInvalidArgument: others can reach the address, and there is neither a token nor a CA; files of TLS that cannot be
// used. Fails as server::LoadToken.
absl::StatusOr<Admission> MakeAdmission(const std::string& listen, const AdmissionOptions& options);

// Accepts connections, encrypted if `tls` is there, and hands them on, from any thread, until SIGINT, SIGTERM or
// SIGHUP. REQUIRES: BlockEndingSignals was called before any thread was started.
void BlockEndingSignals();
void AcceptUntilSignal(link::Listener& listener, const std::optional<link::TlsServerOptions>& tls,
                       const std::function<void(std::unique_ptr<link::ByteStream>)>& on_connection);

}  // namespace wharf::cli
