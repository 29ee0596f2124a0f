// The driver's functions by name and version, as cuGetProcAddress chooses among them. The table is generated.
#pragma once

namespace wharf::cudashim {

struct EntryPoint {
  const char* name;  // without version suffix
  int version;       // the CUDA version it appeared in
  bool per_thread;   // the variant for the per-thread default stream
  void (*function)();
};
extern const EntryPoint kEntryPoints[];
extern const unsigned kEntryPointCount;

}  // namespace wharf::cudashim
