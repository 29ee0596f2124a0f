// A key and a certificate that a server makes for itself: clients trust it by its fingerprint (--tls-pin).
#pragma once

#include <string>

#include "wharf/base/status.h"

namespace wharf::server {

struct SelfSigned {
  std::string certificate, key;  // files, PEM
  std::string fingerprint;       // of the certificate: "sha256:" and 64 hexadecimal digits
};

// The pair in `folder`, made there if there is none: the key (P-256) for its owner alone, the certificate for ten
// years. Both are new files, not what a link names. kInvalidArgument: there is one without the other, or what is there
// is no pair; kFailedPrecondition: somebody else may have put it there, or may know the key; else fails by errno.
absl::StatusOr<SelfSigned> FindSelfSigned(const std::string& folder);

// Where to keep it if nobody says: "$XDG_STATE_HOME/wharf/tls", "$HOME/.local/state/wharf/tls". kNotFound: neither is
// set.
absl::StatusOr<std::string> DefaultTlsFolder();

}  // namespace wharf::server
