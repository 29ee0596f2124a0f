// wharf-model host: for programs in other languages; python/ is one.
#include <memory>

#include "wharf/cli/common/commands.h"
#include "wharf/cli/host/host.h"

namespace wharf::cli {

void AddHostCommand(CLI::App& app) {
  CLI::App* command = app.add_subcommand("host", "Holds a model for a program in another language, which starts this.");
  command->group("");
  auto socket = std::make_shared<int>(-1);
  command->add_option("--socket", *socket, "The descriptor of a Unix socket (SOCK_SEQPACKET)")->required();
  command->callback([socket] {
    const absl::Status served = ModelHost(*socket).Serve();
    if (!served.ok()) Fail(served);
  });
}

}  // namespace wharf::cli
