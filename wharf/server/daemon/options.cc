#include "wharf/server/daemon/options.h"

#include "wharf/device/pack/match.h"
#include "wharf/server/process/control.h"

namespace wharf::server {

absl::Status Validate(const ServerOptions& options) {
  if (options.device != "soft" && options.device != "cuda" && options.device != "auto" &&
      options.device != kPartitionDriver) {
    return InvalidArgument("--device is soft, cuda or auto, not {}", options.device);
  }
  if (options.model_device != "cpu" && options.model_device != "auto" && options.model_device != "cuda" &&
      !options.model_device.starts_with("cuda:")) {
    return InvalidArgument("--model-device is cpu, cuda, cuda:N or auto, not {}", options.model_device);
  }
  if (options.sandbox != "strong" && options.sandbox != "weak") {
    return InvalidArgument("--sandbox is strong or weak, not {}", options.sandbox);
  }
  if (options.max_sessions < 1) return InvalidArgument("--max-sessions must be at least 1");
  if (options.memory_quota < (1 << 20)) return InvalidArgument("--memory must be at least 1MiB");
  if (options.worker_memory < (64 << 20)) return InvalidArgument("--worker-memory must be at least 64MiB");
  if (options.compute_capability != 0 && options.device == "cuda") {
    return InvalidArgument("--compute-capability is for --device soft: a GPU has its own");
  }
  if (options.kernel_timeout != Nanoseconds(0) && options.device == "cuda") {
    return InvalidArgument("--kernel-timeout is for --device soft: a GPU's kernels end with their session");
  }
  if (!options.kernel_packs.empty() && options.device == "cuda") {
    return InvalidArgument("--kernel-pack is for --device soft: a GPU runs machine code itself");
  }
  // Workers open them anew; who gives a wrong one should hear of it at once.
  WHARF_RETURN_IF_ERROR(device::pack::PackSet::Open(options.kernel_packs).status());
  return Validate(options.listen, options.access);
}

}  // namespace wharf::server
