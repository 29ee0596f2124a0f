// Options that the commands of `wharf pipeline` that talk to others share.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <string>

#include "wharf/base/status.h"
#include "wharf/link/byte_stream.h"
#include "wharf/pipeline/membership/etcd_membership.h"

namespace wharf::cli {

// --etcd and --cluster-name; `options` must outlive the command.
void AddEtcdOptions(CLI::App* command, pipeline::EtcdOptions& options);

// Who may connect to `listen`: those that know the first line of the file; without a file everybody on this machine.
struct Admission {
  std::string token;  // "" if there is no file
  std::function<bool(const std::string& given)> admit;
};
// kInvalidArgument: others can reach the address, and there is no file. Fails as server::LoadToken.
absl::StatusOr<Admission> MakeAdmission(const std::string& listen, const std::string& token_file);

// Accepts connections and hands them on until SIGINT, SIGTERM or SIGHUP. REQUIRES: BlockEndingSignals was called before
// any thread was started.
void BlockEndingSignals();
void AcceptUntilSignal(link::Listener& listener,
                       const std::function<void(std::unique_ptr<link::ByteStream>)>& on_connection);

}  // namespace wharf::cli
