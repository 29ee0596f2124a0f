#include "wharf/cli/model_profile.h"

#include "wharf/exec/torch_engine.h"

namespace wharf::cli {

absl::StatusOr<split::MachineProfile> ProfileHere(const split::Model& model, const split::Sha256& hash,
                                                  const std::string& cache_directory) {
  const std::string digits = split::HexOf(hash);
  const split::ProfileCache cache(cache_directory.empty() ? "" : cache_directory + "/profiles");
  const split::Subject subject{model.Engine(), model.Program(), model.Operators(), digits.substr(0, 12), digits};
  const split::Machine machine = split::ThisMachine("LibTorch " + exec::TorchVersion(), exec::TorchThreads());
  return split::FindOrMeasure(subject, machine, cache, Clock::Real(), {});
}

}  // namespace wharf::cli
