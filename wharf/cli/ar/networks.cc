#include "wharf/cli/ar/networks.h"

#include <filesystem>

#include "wharf/cli/common/shim_directory.h"

namespace wharf::cli {

std::string BroughtNetworks() {
  const std::filesystem::path here = ExecutableDirectory();
  // wharf-model is in bin where it is built, in libexec/wharf where it is installed.
  const auto root = here.filename() == "bin" ? here.parent_path() : here.parent_path().parent_path();
  return (root / "share" / "wharf" / "ar").string();
}

void AddNetworksOption(CLI::App* command, std::string& folder) {
  folder = BroughtNetworks();
  command->add_option("--networks", folder, "With depth.onnx, lite.onnx and detector.onnx in it")
      ->type_name("FOLDER")
      ->capture_default_str();
}

}  // namespace wharf::cli
