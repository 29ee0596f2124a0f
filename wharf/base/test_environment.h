// What tests that draw at random take from the environment, so that a person can soak them or repeat a failure.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace wharf {

// The number that the variable holds; `otherwise` if it is not set.
inline uint64_t FromEnvironment(const char* name, uint64_t otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr ? std::strtoull(value, nullptr, 10) : otherwise;
}

}  // namespace wharf
