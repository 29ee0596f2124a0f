#include "wharf/cudashim/client/baselines.h"
#include "wharf/offload/client/session_environment.h"
#include "wharf/offload/search/baselines/baselines.h"

namespace wharf::client {

absl::Status ChooseBaselines(offload::ClientSessionOptions& options) {
  const auto variable = [](const char* name) { return offload::EnvironmentVariable(offload::kProgramVariables, name); };
  options.unsafe_replay = variable("MODE") == "replay_speculative";
  const std::string search = variable("SEARCH");
  if (search.empty() || search == "incremental") return absl::OkStatus();
  if (search == "published") {
    options.search = offload::MakePublishedSearch;
  } else if (search == "data-dependency") {
    options.search = offload::MakeDataDependencySearch;
  } else {
    return InvalidArgument("WHARF_SEARCH is '{}': it must be incremental, published or data-dependency", search);
  }
  return absl::OkStatus();
}

}  // namespace wharf::client
