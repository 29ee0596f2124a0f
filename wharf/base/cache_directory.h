// Where this user's things go that only save time.
#pragma once

#include <string>

namespace wharf {

// $XDG_CACHE_HOME/wharf, ~/.cache/wharf, or "" if neither variable is set. Need not exist.
std::string CacheDirectory();

}  // namespace wharf
