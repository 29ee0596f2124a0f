#include "wharf/cudashim/client/baselines.h"
#include "wharf/offload/client/session_environment.h"

namespace wharf::client {

absl::Status ChooseBaselines(offload::ClientSessionOptions&) {
  const std::string search = offload::EnvironmentVariable(offload::kProgramVariables, "SEARCH");
  if (search.empty() || search == "incremental") return absl::OkStatus();
  return InvalidArgument("WHARF_SEARCH is '{}': only `wharf run --search` chooses another search", search);
}

}  // namespace wharf::client
