#include "wharf/cli/common/commands.h"
#include "wharf/server/keeper/keeper_process.h"
#include "wharf/server/process/control.h"

namespace wharf::cli {

void AddKeeperCommand(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("keeper", "Keeps files for processes that open none; started by `wharf serve`.");
  command->group("");
  command->callback([] { SetExitCode(server::RunKeeper(server::kControlDescriptor)); });
}

}  // namespace wharf::cli
