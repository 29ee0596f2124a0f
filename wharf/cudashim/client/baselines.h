// What `wharf bench offload` compares with, and nobody else loads: there are two libraries, of which one has none.
#pragma once

#include "wharf/base/status.h"
#include "wharf/offload/client/client_session.h"

namespace wharf::client {

// Chooses the baselines that WHARF_SEARCH and WHARF_MODE name, if they name any. kInvalidArgument: this library does
// not have the one that is named.
absl::Status ChooseBaselines(offload::ClientSessionOptions& options);

}  // namespace wharf::client
