#include "wharf/base/json/parse_json.h"

namespace wharf {

using nlohmann::json;

absl::StatusOr<json> ParseJson(std::string_view text, std::string_view what, const JsonLimits& limits) {
  if (text.size() > limits.bytes) {
    return InvalidArgument("{} of {} bytes; {} are the most", what, text.size(), limits.bytes);
  }
  bool too_deep = false;
  // `depth` counts what is open around the value. Of what is too deep nothing is kept.
  const auto watch_depth = [&](int depth, json::parse_event_t event, json&) {
    const bool begins = event == json::parse_event_t::object_start || event == json::parse_event_t::array_start;
    too_deep |= begins && depth >= limits.depth;
    return !too_deep;
  };
  json value = json::parse(text, watch_depth, /*allow_exceptions=*/false);
  if (too_deep || value.is_discarded()) return InvalidArgument("no JSON of {}", what);
  return value;
}

}  // namespace wharf
