// How a request's server is reached.
#pragma once

#include "wharf/cli/common/server_access.h"
#include "wharf/cli/host/request.h"

namespace wharf::cli {

inline ServerAccess AccessOf(const ServerWish& request) {
  ServerAccess access;
  access.server = request.server;
  access.token_file = request.token_file;
  access.tls_ca = request.tls_ca;
  access.tls_pin = request.tls_pin;
  access.tls_certificate = request.tls_certificate;
  access.tls_key = request.tls_key;
  access.tls = request.tls || !access.tls_ca.empty() || !access.tls_pin.empty() || !access.tls_certificate.empty();
  return access;
}

}  // namespace wharf::cli
