#include "wharf/cli/bench/multitask/kept.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "wharf/base/status.h"
#include "wharf/cli/common/files.h"

namespace wharf::cli {
namespace {

using multitask::ScoreField;

absl::StatusOr<multitask::SystemResult> ParseScore(const nlohmann::json& json) {
  multitask::SystemResult result;
  for (const ScoreField& field : multitask::ScoreFields()) {
    if (!json.is_object() || !json.contains(field.name) || !json[field.name].is_number())
      return InvalidArgument("a score without {}", field.name);
    result.score.*field.value = json[field.name].get<double>();
  }
  return result;
}

}  // namespace

absl::StatusOr<std::optional<MultitaskVideo>> KeptVideos::Find(const std::string& category, uint64_t seed) const {
  if (folder_.empty()) return std::nullopt;
  const std::string path = PathOf(category, seed);
  const absl::StatusOr<std::string> text = ReadFile(path);
  if (absl::IsNotFound(text.status())) return std::nullopt;
  WHARF_RETURN_IF_ERROR(text.status());
  const nlohmann::json json = nlohmann::json::parse(*text, nullptr, false);
  if (!json.is_object() || !json.contains("conditions") || !json.contains("scores") || !json["scores"].is_array())
    return InvalidArgument("{} is not what was kept of a video", path);
  if (json["conditions"] != conditions_)
    return FailedPrecondition("{} was measured under other conditions: keep these elsewhere", path);
  MultitaskVideo video{category, seed, {}};
  for (const nlohmann::json& score : json["scores"]) {
    WHARF_ASSIGN_OR_RETURN(multitask::SystemResult result, ParseScore(score));
    video.results.push_back(std::move(result));
  }
  return video;
}

absl::Status KeptVideos::Keep(const MultitaskVideo& video) const {
  if (folder_.empty()) return absl::OkStatus();
  nlohmann::ordered_json scores = nlohmann::ordered_json::array();
  for (const multitask::SystemResult& result : video.results) {
    nlohmann::ordered_json& score = scores.emplace_back();
    for (const ScoreField& field : multitask::ScoreFields()) score[field.name] = result.score.*field.value;
  }
  const nlohmann::ordered_json json{{"conditions", conditions_}, {"scores", scores}};
  return WriteFile(PathOf(video.category, video.seed), json.dump(1) + "\n");
}

std::string KeptVideos::PathOf(const std::string& category, uint64_t seed) const {
  std::string name = category;
  std::replace(name.begin(), name.end(), '/', '-');
  return fmt::format("{}/{}-{}.json", folder_, name, seed);
}

}  // namespace wharf::cli
