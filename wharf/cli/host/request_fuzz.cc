// What ParseRequest takes, it takes again from what RequestAsJson makes of it, unchanged.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "wharf/cli/host/request.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using wharf::cli::ParseRequest;
  const auto request = ParseRequest({reinterpret_cast<const char*>(data), size});
  if (!request.ok()) return 0;
  const std::string written = RequestAsJson(*request);
  if (written.size() > wharf::cli::kMaxRequestBytes) return 0;  // with every member it is longer
  const auto again = ParseRequest(written);
  if (!again.ok() || *again != *request) std::abort();
  return 0;
}
