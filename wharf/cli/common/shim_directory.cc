#include "wharf/cli/common/shim_directory.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <regex>

namespace wharf::cli {

namespace fs = std::filesystem;

std::string ExecutableDirectory() {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error).parent_path().string();
}

absl::StatusOr<std::string> ShimDirectory() {
  const char* chosen = std::getenv("WHARF_SHIM_DIR");
  const std::string directory =
      chosen != nullptr && *chosen != '\0'
          ? std::string(chosen)
          : (fs::path(ExecutableDirectory()).parent_path() / "lib" / "wharf").lexically_normal().string();
  if (ShimLibraries(directory).empty()) {
    return NotFound(
        "no drop-in CUDA libraries in {}: build wharf where the CUDA toolkit's headers are, or set WHARF_SHIM_DIR",
        directory);
  }
  return directory;
}

std::vector<std::string> ShimLibraries(const std::string& directory) {
  static const std::regex kSoname(
      R"(lib(cudart|cuda|cublas|cublasLt|cudnn|cufft|curand|cusolver|cusparse|nvrtc|nvJitLink)\.so\.[0-9]+)");
  std::vector<std::string> names;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, error)) {
    const std::string name = entry.path().filename().string();
    if (std::regex_match(name, kSoname)) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

absl::StatusOr<std::string> FindProgram(const std::string& program) {
  std::vector<std::string> candidates;
  if (program.find('/') != std::string::npos) {
    std::error_code error;
    if (fs::is_directory(program, error)) return PermissionDenied("{} is a directory, not a program", program);
    candidates.push_back(program);
  } else {
    const char* path = std::getenv("PATH");
    std::string rest = path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin";
    while (true) {
      const size_t colon = rest.find(':');
      const std::string directory = rest.substr(0, colon);
      candidates.push_back((directory.empty() ? "." : directory) + "/" + program);
      if (colon == std::string::npos) break;
      rest.erase(0, colon + 1);
    }
  }
  bool seen = false;
  for (const std::string& candidate : candidates) {
    std::error_code error;
    if (!fs::is_regular_file(candidate, error)) continue;
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
    seen = true;
  }
  if (seen && fs::path(program).extension() == ".cu") {
    return PermissionDenied(
        "{} is a source file: compile it with `nvcc -cudart shared`, and run the program that makes", program);
  }
  if (seen && fs::path(program).extension() == ".py") {
    return PermissionDenied("{} is a script: run it as `python3 {}`", program, program);
  }
  if (seen) return PermissionDenied("{} is not executable", program);
  return NotFound("{}: no such program", program);
}

}  // namespace wharf::cli
