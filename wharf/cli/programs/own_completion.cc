// The hidden command `completion` of wharf-plan and wharf-model: for `wharf completion`.
#include <cstdio>

#include "wharf/cli/common/commands.h"
#include "wharf/cli/programs/completion.h"

namespace wharf::cli {

void AddOwnCompletionCommand(CLI::App& app) {
  CLI::App* command = app.add_subcommand("completion", "The commands of this program; for `wharf completion`.");
  command->group("");
  command->callback([&app] { std::printf("%s\n", CompletionsAsJson(CompletionsOf(app)).c_str()); });
}

}  // namespace wharf::cli
