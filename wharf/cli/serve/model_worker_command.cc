#include "wharf/cli/common/commands.h"
#include "wharf/server/model_worker/model_worker.h"
#include "wharf/server/process/control.h"

namespace wharf::cli {

void AddModelWorkerCommand(CLI::App& app) {
  CLI::App* command = app.add_subcommand("worker", "Serves one split session; started by `wharf serve`.");
  command->group("");
  command->callback([] { SetExitCode(server::RunModelWorker(server::kControlDescriptor)); });
}

}  // namespace wharf::cli
