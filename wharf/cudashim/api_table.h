// The coverage table: every public function of the seven CUDA libraries, whether the drop-in libraries cover it, how it
// is answered and with which operations. From api.def and, where the toolkit was there at build time, the vendor's own
// list of names; without it the table has the covered functions only.
#pragma once

#include <span>
#include <string_view>

#include "wharf/offload/client/call_scope.h"

namespace wharf::cudashim {

struct ApiRow {
  std::string_view
      library;            // "cudart", "cuda", "cublas", "cublasLt", "cudnn", "cufft", "curand", "cusolver", "cusparse"
  std::string_view name;  // as exported
  bool covered = false;
  offload::CallClass call_class = offload::CallClass::kLocal;  // if covered
  std::string_view operations;                                 // names of wire operations, separated by spaces
};

// Sorted by library, then name.
std::span<const ApiRow> ApiTable();
// Whether the vendor's names were known when this was built.
bool ApiTableIsComplete();
// "local", "posted", "blocking" or "plumbing".
std::string_view CallClassName(offload::CallClass call_class);

}  // namespace wharf::cudashim
