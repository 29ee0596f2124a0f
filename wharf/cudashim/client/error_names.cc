#include "wharf/cudashim/client/device_info.h"

#include <algorithm>
#include <iterator>

namespace wharf::client {
namespace {

struct ErrorName {
  int number;
  const char* runtime;  // nullptr if only the driver has it
  const char* driver;   // nullptr if only the runtime has it
  const char* sentence;
};

// By number; generated from the vendor's headers.
constexpr ErrorName kErrors[] = {
#include "wharf/cudashim/generated/error_names.inc"
};

const ErrorName* Find(int error) {
  const auto* const found = std::lower_bound(std::begin(kErrors), std::end(kErrors), error,
                                             [](const ErrorName& name, int number) { return name.number < number; });
  return found != std::end(kErrors) && found->number == error ? found : nullptr;
}

}  // namespace

const char* RuntimeErrorName(int error) {
  const ErrorName* const found = Find(error);
  return found == nullptr ? nullptr : found->runtime;
}

const char* DriverErrorName(int error) {
  const ErrorName* const found = Find(error);
  return found == nullptr ? nullptr : found->driver;
}

const char* ErrorSentence(int error) {
  const ErrorName* const found = Find(error);
  return found == nullptr ? nullptr : found->sentence;
}

}  // namespace wharf::client
