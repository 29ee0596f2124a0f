#include "wharf/cli/common/scratch_directory.h"

#include <stdlib.h>

#include <cerrno>
#include <filesystem>

namespace wharf::cli {

absl::StatusOr<std::unique_ptr<ScratchDirectory>> ScratchDirectory::Make() {
  std::string path = (std::filesystem::temp_directory_path() / "wharf-bench-XXXXXX").string();
  if (mkdtemp(path.data()) == nullptr) return ErrnoStatus(errno, fmt::format("cannot make {}", path));
  return std::unique_ptr<ScratchDirectory>(new ScratchDirectory(path));
}

ScratchDirectory::~ScratchDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace wharf::cli
