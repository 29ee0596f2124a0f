// PTX from a hostile peer: the analysis of its kernels never crashes or goes on for ever, and what it says of a kernel
// holds together.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "wharf/device/ptx/footprint.h"
#include "wharf/device/ptx/kernel_fuzz.h"
#include "wharf/device/ptx/parser.h"

namespace {

using namespace wharf::device::ptx;
using wharf::device::ParameterLayout;

// Words of the parameter buffer, ascending.
void CheckWords(const Function& kernel, const std::vector<uint32_t>& words) {
  uint32_t bytes = 0;
  for (const ParameterLayout& parameter : LayoutParameters(kernel)) bytes = parameter.offset + parameter.size;
  Check(std::adjacent_find(words.begin(), words.end(), std::greater_equal<>()) == words.end());
  Check(words.empty() || words.back() < bytes);
}

void CheckVariables(const Module& module, const std::vector<std::string>& names) {
  Check(std::adjacent_find(names.begin(), names.end(), std::greater_equal<>()) == names.end());
  for (const std::string& name : names) Check(module.FindVariable(name) != nullptr);
}

void CheckKernel(const Module& module, const Function& kernel) {
  const auto footprint = FootprintOf(module, kernel.name);
  if (!footprint.ok()) return;
  Check(footprint->oblivious == footprint->reason.empty());
  Check(!(footprint->oblivious && footprint->guardable));
  CheckWords(kernel, footprint->written_parameters);
  CheckWords(kernel, footprint->read_parameters);
  if (footprint->oblivious) {
    CheckVariables(module, footprint->written_variables);
    CheckVariables(module, footprint->read_variables);
  } else {
    Check(footprint->written_variables.empty() && footprint->read_variables.empty());
  }
  if (!footprint->oblivious && !footprint->guardable) {
    Check(footprint->written_parameters.empty() && footprint->read_parameters.empty());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ForEachKernel(data, size, CheckKernel);
  return 0;
}
