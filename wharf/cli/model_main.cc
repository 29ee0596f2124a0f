// wharf-model: the commands of `wharf` that run models.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "wharf/base/mutex.h"
#include "wharf/cli/common/app.h"
#include "wharf/cli/common/ar_command.h"
#include "wharf/cli/common/bench_command.h"
#include "wharf/cli/common/commands.h"
#include "wharf/cli/common/pipeline_command.h"

int main(int argc, char** argv) {
  wharf::TrustLockOrder();
  CLI::App app("The commands of wharf that run models; wharf starts this program itself.", "wharf");
  wharf::cli::AddProfileCommand(app);
  wharf::cli::AddSplitCommand(app);
  wharf::cli::AddModelWorkerCommand(app);
  wharf::cli::AddHostCommand(app);
  wharf::cli::AddModelDevicesCommand(app);
  wharf::cli::AddOwnCompletionCommand(app);
  wharf::cli::AddPipelineProfileCommand(app);
  wharf::cli::AddPipelineWorkerCommand(app);
  wharf::cli::AddPipelineServeCommand(app);
  wharf::cli::AddPipelineLoadCommand(app);
  wharf::cli::AddArDropTableCommand(app);
  wharf::cli::AddArRenderCommand(app);
  wharf::cli::AddArClientCommand(app);
  wharf::cli::AddArServeCommand(app);
  wharf::cli::AddArViewCommand(app);
  wharf::cli::AddArEvaluateCommand(app);
  wharf::cli::AddArLatencyCommand(app);
  wharf::cli::AddArPosesCommand(app);
  wharf::cli::AddArTrackersCommand(app);
  wharf::cli::AddBenchMultitaskCommand(app);
  wharf::cli::AddBenchServingCommand(app);
  const int exit_code = wharf::cli::RunCommandLine(app, std::vector<std::string>(argv + 1, argv + argc));
  // LibTorch takes 70 ms to forget its operators, which the system does at once.
  std::fflush(nullptr);
  std::_Exit(exit_code);
}
