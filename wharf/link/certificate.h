// Who the other end of an encrypted connection is.
#pragma once

#include <string>

#include "wharf/link/byte_stream.h"

namespace wharf::link {

// 32 bytes that stand for the name which the certificate that the peer has shown, and that was verified, gives it: of
// the subject and the issuer. Of the certificate itself if it has no name. "" if the peer has shown none, and for what
// is no stream of TlsServer::Accept.
std::string PeerIdentity(const ByteStream& stream);

}  // namespace wharf::link
