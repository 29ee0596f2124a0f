#include "wharf/cli/common/commands.h"
#include "wharf/server/process/control.h"
#include "wharf/server/worker/worker.h"

namespace wharf::cli {

void AddWorkerCommand(CLI::App& app) {
  CLI::App* command = app.add_subcommand("worker", "Serves one client; started by `wharf serve`.");
  command->group("");
  command->callback([] { SetExitCode(server::RunWorker(server::kControlDescriptor)); });
}

}  // namespace wharf::cli
