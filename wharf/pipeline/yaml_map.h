// YamlMap: a map of a YAML file, read strictly: every mistake becomes one line that names the map and the member.
// Of this room's own files; not part of what it offers others.
#pragma once

#include <yaml-cpp/yaml.h>

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wharf/base/status.h"

namespace wharf::pipeline {

class YamlMap {
 public:
  // `what` names it in messages: "the cluster". kInvalidArgument: no YAML, no map, or more than 1 MiB.
  static absl::StatusOr<YamlMap> Parse(std::string_view yaml, std::string what);

  const std::string& Where() const { return where_; }
  // kInvalidArgument: there is a member of another name.
  absl::Status Only(std::initializer_list<std::string_view> names) const;

  // kInvalidArgument: the member is not there and has no default, or is something else.
  absl::StatusOr<std::string> Text(const char* name, std::optional<std::string> fallback = std::nullopt) const;
  absl::StatusOr<double> Number(const char* name, std::optional<double> fallback = std::nullopt) const;  // finite
  absl::StatusOr<int> Count(const char* name, std::optional<int> fallback = std::nullopt) const;         // not negative
  absl::StatusOr<std::vector<YamlMap>> Maps(const char* name) const;
  bool Has(const char* name) const;

 private:
  YamlMap(YAML::Node node, std::string where) : node_(std::move(node)), where_(std::move(where)) {}
  static absl::StatusOr<YamlMap> Of(YAML::Node node, std::string where);
  template <typename T>
  absl::StatusOr<T> Get(const char* name, const std::optional<T>& fallback, const char* kind) const;

  YAML::Node node_;
  std::string where_;
};

}  // namespace wharf::pipeline
