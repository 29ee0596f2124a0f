// wharf-plan operators: for `wharf doctor --operators`.
#include <cstdio>

#include "wharf/cli/common/commands.h"
#include "wharf/cli/split/operator_table.h"

namespace wharf::cli {

void AddOperatorsCommand(CLI::App& app) {
  CLI::App* command = app.add_subcommand("operators", "The operators that models may have; for `wharf doctor`.");
  command->group("");
  command->callback([] { std::fputs(SupportedOperatorsAsText().c_str(), stdout); });
}

}  // namespace wharf::cli
