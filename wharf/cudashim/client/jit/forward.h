// Passing calls on to NVIDIA's library of the same name (vendor_library.h). For functions whose parameters are numbers
// and addresses, at most six, which every one here has; what a function leaves unread does no harm.
#pragma once

#include <dlfcn.h>

#include <atomic>
#include <cstdint>

namespace wharf::client {

using Word = uintptr_t;
using VendorFunction = long (*)(Word, Word, Word, Word, Word, Word);

// A function of NVIDIA's by name, looked up once. `library(caller)`, null if it is not here, is only asked for then.
class Forwarded {
 public:
  VendorFunction Get(const char* name, void* (*library)(const void*), const void* caller) {
    VendorFunction found = function_.load(std::memory_order_acquire);
    if (found != nullptr) return found;
    void* const handle = library(caller);
    if (handle != nullptr) found = reinterpret_cast<VendorFunction>(dlsym(handle, name));
    function_.store(found, std::memory_order_release);
    return found;
  }

 private:
  std::atomic<VendorFunction> function_{nullptr};
};

template <typename T>
Word ToWord(T* address) {
  return reinterpret_cast<Word>(address);
}

}  // namespace wharf::client
