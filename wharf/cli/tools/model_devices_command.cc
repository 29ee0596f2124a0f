// wharf-model devices: for `wharf doctor`.
#include <cstdio>

#include "wharf/cli/common/commands.h"
#include "wharf/exec/torch_engine.h"

namespace wharf::cli {

void AddModelDevicesCommand(CLI::App& app) {
  CLI::App* command = app.add_subcommand("devices", "What models run on here; for `wharf doctor`.");
  command->group("");
  command->callback([] {
    const auto engine = exec::MakeTorchEngineOn("auto", {});
    const absl::Status gpu = exec::FindTorchDevice("cuda").status();
    std::printf("%s\n", engine.ok() ? (*engine)->Name().c_str() : std::string(Message(engine.status())).c_str());
    std::printf("%s\n", std::string(Message(gpu)).c_str());
  });
}

}  // namespace wharf::cli
