#include "wharf/cli/common/shared_data.h"

#include <filesystem>

#include "wharf/cli/common/shim_directory.h"

namespace wharf::cli {

absl::StatusOr<std::string> FindSharedData(const std::string& name, const std::string& option) {
  for (const std::string& path :
       {ExecutableDirectory() + "/../share/wharf/" + name, ExecutableDirectory() + "/../../share/wharf/" + name,
        ExecutableDirectory() + "/../../../data/" + name, "data/" + name}) {
    std::error_code ignored;
    if (std::filesystem::is_directory(path, ignored)) return path;
  }
  return NotFound("the folder of {} that Wharf brings is not there: say where it is with {}", name, option);
}

}  // namespace wharf::cli
