#include "wharf/pipeline/yaml_map.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace wharf::pipeline {
namespace {

constexpr size_t kMaxText = size_t{1} << 20;

}  // namespace

absl::StatusOr<YamlMap> YamlMap::Parse(std::string_view yaml, std::string what) {
  if (yaml.size() > kMaxText) return InvalidArgument("{} has {} bytes; {} are the most", what, yaml.size(), kMaxText);
  try {
    return Of(YAML::Load(std::string(yaml)), std::move(what));
  } catch (const YAML::Exception& error) {
    return InvalidArgument("{}, line {}: {}", what, error.mark.line + 1, error.msg);
  }
}

absl::StatusOr<YamlMap> YamlMap::Of(YAML::Node node, std::string where) {
  if (!node.IsMap()) return InvalidArgument("{} is no map of names to values", where);
  return YamlMap(std::move(node), std::move(where));
}

absl::Status YamlMap::Only(std::initializer_list<std::string_view> names) const {
  for (const auto& member : node_) {
    const std::string name = member.first.IsScalar() ? member.first.Scalar() : "a name that is no text";
    if (std::ranges::find(names, std::string_view(name)) == names.end()) {
      return InvalidArgument("{} has \"{}\", which is none of {}", where_, name, fmt::join(names, ", "));
    }
  }
  return absl::OkStatus();
}

bool YamlMap::Has(const char* name) const { return node_[name].IsDefined(); }

template <typename T>
absl::StatusOr<T> YamlMap::Get(const char* name, const std::optional<T>& fallback, const char* kind) const {
  const YAML::Node member = node_[name];
  if (!member.IsDefined()) {
    if (fallback) return *fallback;
    return InvalidArgument("{} has no \"{}\"", where_, name);
  }
  T value;
  if (!member.IsScalar() || !YAML::convert<T>::decode(member, value)) {
    return InvalidArgument("\"{}\" of {} is no {}", name, where_, kind);
  }
  return value;
}

absl::StatusOr<std::string> YamlMap::Text(const char* name, std::optional<std::string> fallback) const {
  return Get<std::string>(name, fallback, "text");
}

absl::StatusOr<double> YamlMap::Number(const char* name, std::optional<double> fallback) const {
  WHARF_ASSIGN_OR_RETURN(const double value, Get<double>(name, fallback, "number"));
  if (!std::isfinite(value)) return InvalidArgument("\"{}\" of {} is not finite", name, where_);
  return value;
}

absl::StatusOr<int> YamlMap::Count(const char* name, std::optional<int> fallback) const {
  WHARF_ASSIGN_OR_RETURN(const int value, Get<int>(name, fallback, "whole number"));
  if (value < 0) return InvalidArgument("\"{}\" of {} is negative", name, where_);
  return value;
}

absl::StatusOr<std::vector<YamlMap>> YamlMap::Maps(const char* name) const {
  const YAML::Node member = node_[name];
  if (!member.IsDefined() || !member.IsSequence()) return InvalidArgument("{} has no list \"{}\"", where_, name);
  std::vector<YamlMap> maps;
  for (const YAML::Node& each : member) {
    WHARF_ASSIGN_OR_RETURN(YamlMap map, Of(each, fmt::format("{}[{}] of {}", name, maps.size(), where_)));
    maps.push_back(std::move(map));
  }
  return maps;
}

}  // namespace wharf::pipeline
