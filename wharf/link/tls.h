// TLS 1.3 on a connected socket. Internal to the room; byte_stream.h has the options and the servers.
#pragma once

#include <memory>
#include <string>

#include "wharf/base/clock.h"
#include "wharf/base/status.h"
#include "wharf/link/byte_stream.h"

namespace wharf::link {

// Client side; owns `fd`. `host` (a name or an IP address) is what the certificate must be for unless the options name
// another. kUnauthenticated says what is wrong with which certificate. `again`: it goes on with a session, and says so
// (connect_again.h). The system's certificates are read when one of them is wanted.
absl::StatusOr<std::unique_ptr<ByteStream>> ConnectTls(int fd, const TlsClientOptions& options, const std::string& host,
                                                       TimePoint deadline, bool again = false);
// The same with what was read before.
absl::StatusOr<std::unique_ptr<ByteStream>> ConnectTls(int fd, const TlsClient& client, const std::string& host,
                                                       TimePoint deadline, bool again = false);

}  // namespace wharf::link
