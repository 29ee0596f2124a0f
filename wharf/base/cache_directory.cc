#include "wharf/base/cache_directory.h"

#include <cstdlib>

namespace wharf {

std::string CacheDirectory() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache == '/') {
    return std::string(cache) + "/wharf";
  }
  if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/') {
    return std::string(home) + "/.cache/wharf";
  }
  return "";
}

}  // namespace wharf
