// Certificates and keys are used by worker processes, one connection at a time; what is wrong with them should be said
// when the server starts.
#pragma once

#include <string>

#include "wharf/base/status.h"

namespace wharf::server {

// kInvalidArgument, naming the file, if the certificate, its key or the client CA ("" = none) cannot be used.
absl::Status CheckTlsFiles(const std::string& certificate, const std::string& key, const std::string& client_ca);

}  // namespace wharf::server
