// The compiler's messages, where a program asked for them by options of the JIT compiler.
#pragma once

#include <cuda.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

namespace wharf::cudashim {

// Writes why code was refused.
inline void WriteErrorLog(const std::string& reason, unsigned count, const CUjit_option* options, void** values) {
  char* buffer = nullptr;
  void** size_slot = nullptr;
  for (unsigned i = 0; i < count; ++i) {
    if (options[i] == CU_JIT_ERROR_LOG_BUFFER) buffer = static_cast<char*>(values[i]);
    if (options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES) size_slot = &values[i];
  }
  if (buffer == nullptr || size_slot == nullptr) return;
  const size_t size = static_cast<unsigned>(reinterpret_cast<uintptr_t>(*size_slot));
  if (size == 0) return;
  const size_t length = std::min(reason.size(), size - 1);
  std::memcpy(buffer, reason.data(), length);
  buffer[length] = '\0';
  *size_slot = reinterpret_cast<void*>(length);
}

}  // namespace wharf::cudashim
