// ToJson and ParseMachineProfile: a machine's profile as text.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "wharf/base/control_character.h"
#include "wharf/base/json/parse_json.h"
#include "wharf/split/costs/machine_profile.h"

namespace wharf::split {
namespace {

using nlohmann::json;

constexpr const char* kFormat = "wharf-machine-profile/3";
constexpr size_t kMaxName = 1024, kHashDigits = 64;
// As deep as the objects of operators, in their array, in the one of everything.
constexpr JsonLimits kLimits{size_t{4} << 20, 3};
constexpr double kLastSecond = 1e11;  // since 1970
constexpr double kMaxNumber = 1e12;   // ms: whatever is added up or multiplied stays a time
constexpr int kMaxThreads = 1 << 16;

// An object whose every member is asked for once.
class Reader {
 public:
  Reader(const json& object, std::string where) : object_(object), where_(std::move(where)) {}

  absl::Status Check(size_t members) const {
    if (!object_.is_object()) return InvalidArgument("{} is no object", where_);
    if (object_.size() != members) return InvalidArgument("{} has {} members, not {}", where_, object_.size(), members);
    return absl::OkStatus();
  }
  // It is printed, too.
  absl::StatusOr<std::string> Text(const char* name) const {
    const json* found = Find(name);
    if (found == nullptr || !found->is_string()) return InvalidArgument("{} has no text \"{}\"", where_, name);
    const auto& text = found->get_ref<const std::string&>();
    if (text.size() > kMaxName) return InvalidArgument("\"{}\" of {} is longer than {}", name, where_, kMaxName);
    if (HasControlCharacter(text)) return InvalidArgument("\"{}\" of {} has control characters", name, where_);
    return text;
  }
  absl::StatusOr<int> Count(const char* name, int most) const {
    const json* found = Find(name);
    if (found == nullptr || !found->is_number_unsigned() || found->get<uint64_t>() < 1 ||
        found->get<uint64_t>() > static_cast<uint64_t>(most)) {
      return InvalidArgument("\"{}\" of {} is no number from 1 to {}", name, where_, most);
    }
    return found->get<int>();
  }
  absl::StatusOr<double> Number(const char* name) const {
    const json* found = Find(name);
    if (found == nullptr || !found->is_number() || !(*found >= 0) || !(*found <= kMaxNumber)) {
      return InvalidArgument("\"{}\" of {} is no number from 0 to {:g}", name, where_, kMaxNumber);
    }
    return found->get<double>();
  }
  absl::StatusOr<const json*> Array(const char* name) const {
    const json* found = Find(name);
    if (found == nullptr || !found->is_array()) return InvalidArgument("{} has no array \"{}\"", where_, name);
    return found;
  }

 private:
  const json* Find(const char* name) const {
    const auto found = object_.find(name);
    return found == object_.end() ? nullptr : &*found;
  }

  const json& object_;
  const std::string where_;
};

absl::StatusOr<MeasuredOperator> ParseOperator(const json& object, size_t index) {
  const Reader reader(object, fmt::format("operator {}", index));
  WHARF_RETURN_IF_ERROR(reader.Check(6));
  MeasuredOperator one;
  WHARF_ASSIGN_OR_RETURN(one.name, reader.Text("name"));
  WHARF_ASSIGN_OR_RETURN(one.rows, reader.Count("rows", kMaxRows));
  WHARF_ASSIGN_OR_RETURN(one.full_ms, reader.Number("full_ms"));
  WHARF_ASSIGN_OR_RETURN(one.slice.fixed_ms, reader.Number("fixed_ms"));
  WHARF_ASSIGN_OR_RETURN(one.slice.row_ms, reader.Number("row_ms"));
  WHARF_ASSIGN_OR_RETURN(one.fit_error, reader.Number("fit_error"));
  return one;
}

absl::StatusOr<MachineProfile> Parse(const json& object) {
  const Reader reader(object, "the profile");
  WHARF_RETURN_IF_ERROR(reader.Check(12));
  WHARF_ASSIGN_OR_RETURN(const std::string format, reader.Text("format"));
  if (format != kFormat) return InvalidArgument("the format is {}, not {}", format, kFormat);
  MachineProfile profile;
  WHARF_ASSIGN_OR_RETURN(profile.model, reader.Text("model"));
  WHARF_ASSIGN_OR_RETURN(profile.model_hash, reader.Text("model_sha256"));
  const std::string& hash = profile.model_hash;
  if (hash.size() != kHashDigits || hash.find_first_not_of("0123456789abcdef") != std::string::npos) {
    return InvalidArgument("\"model_sha256\" is no SHA-256");
  }
  WHARF_ASSIGN_OR_RETURN(profile.machine.cpu, reader.Text("cpu"));
  WHARF_ASSIGN_OR_RETURN(profile.machine.engine, reader.Text("engine"));
  WHARF_ASSIGN_OR_RETURN(profile.machine.threads, reader.Count("threads", kMaxThreads));
  WHARF_ASSIGN_OR_RETURN(profile.time_scale, reader.Number("time_scale"));
  if (profile.time_scale == 0) return InvalidArgument("\"time_scale\" is 0");
  WHARF_ASSIGN_OR_RETURN(profile.whole_ms, reader.Number("whole_ms"));
  WHARF_ASSIGN_OR_RETURN(profile.waited, reader.Number("waited"));
  WHARF_ASSIGN_OR_RETURN(profile.noise, reader.Number("noise"));
  WHARF_ASSIGN_OR_RETURN(const double measured_at, reader.Number("measured_at"));
  if (measured_at > kLastSecond) return InvalidArgument("\"measured_at\" of the profile is no time");
  profile.measured_at = static_cast<int64_t>(measured_at);
  WHARF_ASSIGN_OR_RETURN(const json* operators, reader.Array("operators"));
  if (operators->size() > kMaxOperators) return InvalidArgument("more than {} operators", kMaxOperators);
  for (const json& one : *operators) {
    WHARF_ASSIGN_OR_RETURN(MeasuredOperator parsed, ParseOperator(one, profile.operators.size()));
    profile.operators.push_back(std::move(parsed));
  }
  return profile;
}

}  // namespace

std::string ToJson(const MachineProfile& profile) {
  json operators = json::array();
  for (const MeasuredOperator& one : profile.operators) {
    operators.push_back({{"name", one.name},
                         {"rows", one.rows},
                         {"full_ms", one.full_ms},
                         {"fixed_ms", one.slice.fixed_ms},
                         {"row_ms", one.slice.row_ms},
                         {"fit_error", one.fit_error}});
  }
  const json object = {{"format", kFormat},
                       {"model", profile.model},
                       {"model_sha256", profile.model_hash},
                       {"cpu", profile.machine.cpu},
                       {"engine", profile.machine.engine},
                       {"threads", profile.machine.threads},
                       {"time_scale", profile.time_scale},
                       {"whole_ms", profile.whole_ms},
                       {"waited", profile.waited},
                       {"noise", profile.noise},
                       {"measured_at", profile.measured_at},
                       {"operators", std::move(operators)}};
  return object.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

absl::StatusOr<MachineProfile> ParseMachineProfile(std::string_view text) {
  WHARF_ASSIGN_OR_RETURN(const json object, ParseJson(text, "a profile", kLimits));
  return Parse(object);
}

}  // namespace wharf::split
