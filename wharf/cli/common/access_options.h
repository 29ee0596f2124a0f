// Options by which a server is told who may connect.
#pragma once

#include <CLI/CLI.hpp>

#include "wharf/server/front/access_control.h"

namespace wharf::cli {

// --token-file and those of TLS; `options` must outlive the command.
void AddAccessOptions(CLI::App* command, server::AccessOptions& options);

}  // namespace wharf::cli
