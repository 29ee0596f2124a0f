// Arbitrary bytes as a model: importing must not crash, nor take memory out of proportion, and what it accepts is valid
// and has row rules or is refused with a status.
#include <cstdlib>

#include "wharf/graph/onnx/import.h"
#include "wharf/graph/row_rules.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto graph = wharf::graph::ImportOnnx(std::as_bytes(std::span(data, size)), {});
  if (!graph.ok()) return 0;
  if (!wharf::graph::Validate(*graph).ok()) std::abort();
  if (const auto rules = wharf::graph::RowRulesOf(*graph); rules.ok()) {
    if (rules->axis.size() != graph->values.size() || rules->rules.size() != graph->nodes.size()) std::abort();
  }
  return 0;
}
