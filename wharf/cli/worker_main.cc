// wharf-worker: the processes that serve programs. `wharf serve` starts them.
#include <string>
#include <vector>

#include "wharf/base/mutex.h"
#include "wharf/cli/common/app.h"
#include "wharf/cli/common/commands.h"

int main(int argc, char** argv) {
  wharf::TrustLockOrder();
  CLI::App app("The processes that serve programs; wharf starts them itself.", "wharf-worker");
  wharf::cli::AddWorkerCommand(app);
  wharf::cli::AddDevicesCommand(app);
  wharf::cli::AddKernelsCommand(app);
  return wharf::cli::RunCommandLine(app, std::vector<std::string>(argv + 1, argv + argc));
}
