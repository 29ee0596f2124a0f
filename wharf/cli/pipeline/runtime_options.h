// Options that the servers of `wharf pipeline` share.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "wharf/base/status.h"
#include "wharf/pipeline/membership/etcd_membership.h"
#include "wharf/pipeline/runtime/peer_access.h"
#include "wharf/server/front/access_control.h"

namespace wharf::cli {

// --etcd and --cluster-name; `options` must outlive the command.
void AddEtcdOptions(CLI::App* command, pipeline::EtcdOptions& options);

// Who may connect, and how we get in to workers: with the same token, and with a certificate everything is encrypted,
// both ways; it is what we show to who connects and to whom we connect.
struct PipelineAccessOptions {
  server::AccessOptions server;
  std::string tls_ca;  // of workers; "": the system's
};
// --token-file and those of TLS; `options` must outlive the command.
void AddPipelineAccessOptions(CLI::App* command, PipelineAccessOptions& options);

struct PipelineAccess {
  server::AccessControl control;
  pipeline::PeerAccess peers;
};
// Fails as server::MakeAccessControl.
absl::StatusOr<PipelineAccess> MakePipelineAccess(const std::string& listen, const PipelineAccessOptions& options);

}  // namespace wharf::cli
