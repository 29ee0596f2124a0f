// The vendor's libraries, opened at run time. They stay open for good: drivers do not survive that they are closed.
#pragma once

#include <dlfcn.h>

#include <string>

#include "wharf/base/status.h"

namespace wharf::device::cuda {

// kUnavailable if it cannot be opened.
absl::StatusOr<void*> OpenLibrary(const std::string& library);

// Finds functions, one after the other.
class FunctionFinder {
 public:
  explicit FunctionFinder(void* library) : library_(library) {}
  template <typename Function>
  void operator()(Function& into, const char* name) {
    into = reinterpret_cast<Function>(dlsym(library_, name));
    if (into == nullptr) missing_ = name;
  }
  // One that the library does not have; nullptr if it has all.
  const char* missing() const { return missing_; }

 private:
  void* const library_;
  const char* missing_ = nullptr;
};

}  // namespace wharf::device::cuda
