// wharf-plan: the commands of `wharf` that plan and simulate.
#include <string>
#include <vector>

#include "wharf/base/mutex.h"
#include "wharf/cli/common/app.h"
#include "wharf/cli/common/bench_command.h"
#include "wharf/cli/common/commands.h"
#include "wharf/cli/common/pipeline_command.h"

int main(int argc, char** argv) {
  wharf::TrustLockOrder();
  CLI::App app("The commands of wharf that plan; wharf starts this program itself.", "wharf");
  wharf::cli::AddPlanCommands(app);
  wharf::cli::AddOperatorsCommand(app);
  wharf::cli::AddPipelineInitCommand(app);
  wharf::cli::AddPipelinePlanCommand(app);
  wharf::cli::AddPipelineSimulateCommand(app);
  wharf::cli::AddBenchSplitCommand(app);
  wharf::cli::AddBenchPipelineCommand(app);
  wharf::cli::AddOwnCompletionCommand(app);
  return wharf::cli::RunCommandLine(app, std::vector<std::string>(argv + 1, argv + argc));
}
