#include "wharf/split/plan_json.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "wharf/base/json/parse_json.h"

namespace wharf::split {
namespace {

using nlohmann::json;

constexpr const char* kFormat = "wharf-split-plan/2";
constexpr JsonLimits kLimits = {.bytes = size_t{16} << 20, .depth = 5};  // of a row in bands, layout, plan and array
constexpr size_t kMaxText = 4096, kMaxPlans = 1000, kMaxOperators = 20'000, kHashDigits = 64;
constexpr size_t kMaxRanges = kMaxOperators * kMaxBands;
constexpr int kMaxRows = 1 << 20;
constexpr double kMaxNumber = 1e12;

// --- Writing ---

json RangesAsJson(const std::vector<RowRange>& ranges) {
  json array = json::array();
  for (const RowRange range : ranges) array.push_back({range.lo, range.hi});
  return array;
}

json LayoutAsJson(const Layout& layout) {
  json bands = json::array();
  for (const Band& band : layout.bands) bands.push_back({band.op, band.rows.lo, band.rows.hi});
  return {{"gathered", layout.gathered}, {"bands", std::move(bands)}};
}

json OperatorsAsJson(const std::vector<PlannedOperator>& operators) {
  json array = json::array();
  for (const PlannedOperator& one : operators) array.push_back({one.name, one.rows});
  return array;
}

// Members that say nothing are left out.
json AsJson(const StoredPlan& stored) {
  json object = {{"format", kFormat},
                 {"model", stored.model},
                 {"operators", OperatorsAsJson(stored.operators)},
                 {"planner", stored.planner},
                 {"encoding", stored.encoding},
                 {"slice_fixed_ms", stored.slice_cost.fixed_ms},
                 {"slice_inflation", stored.slice_cost.inflation},
                 {"bytes_per_second", stored.link.bytes_per_ms * 1e3},
                 {"round_trip_ms", stored.link.round_trip_ms},
                 {"message_overhead_ms", stored.link.message_overhead_ms},
                 {"objective", stored.objective.energy ? "energy" : "latency"},
                 {"lower_bound_ms", stored.lower_bound_ms},
                 {"device", RangesAsJson(stored.plan.rows[kDevice])},
                 {"server", RangesAsJson(stored.plan.rows[kServer])}};
  if (std::isfinite(stored.objective.deadline_ms)) object["deadline_ms"] = stored.objective.deadline_ms;
  if (!stored.plan.layout.Plain()) object["layout"] = LayoutAsJson(stored.plan.layout);
  const PlanSource& source = stored.source;
  for (const auto& [name, text] :
       {std::pair("model_sha256", stored.model_hash), std::pair("profile", source.csv),
        std::pair("model_file", source.model), std::pair("device_profile", source.device_profile),
        std::pair("server_profile", source.server_profile), std::pair("shape", source.shape)}) {
    if (!text.empty()) object[name] = text;
  }
  if (source.split_attention > 0) object["split_attention"] = source.split_attention;
  return object;
}

// --- Reading ---

absl::StatusOr<int> AsCount(const json& value, std::string_view what, int least, int most) {
  if (!value.is_number_integer() || value < least || value > most) {
    return InvalidArgument("{} is no number from {} to {}", what, least, most);
  }
  return value.get<int>();
}

absl::StatusOr<double> AsNumber(const json& value, std::string_view what) {
  if (!value.is_number() || !(value >= 0) || !(value <= kMaxNumber)) {
    return InvalidArgument("{} is no number from 0 to {:g}", what, kMaxNumber);
  }
  return value.get<double>();
}

// It is printed, too.
absl::StatusOr<std::string> AsText(const json& value, std::string_view what) {
  if (!value.is_string()) return InvalidArgument("{} is no text", what);
  const auto& text = value.get_ref<const std::string&>();
  if (text.size() > kMaxText) return InvalidArgument("{} is longer than {}", what, kMaxText);
  if (std::any_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 0x7f; })) {
    return InvalidArgument("{} has control characters", what);
  }
  return text;
}

// No rows are written as [0, 0].
absl::StatusOr<RowRange> AsRange(const json& lo, const json& hi, std::string_view what) {
  RowRange range;
  WHARF_ASSIGN_OR_RETURN(range.lo, AsCount(lo, what, 0, kMaxRows));
  WHARF_ASSIGN_OR_RETURN(range.hi, AsCount(hi, what, 0, kMaxRows));
  if (range.Empty() && range != RowRange{}) return InvalidArgument("{}: rows {} to {}", what, range.lo, range.hi);
  return range;
}

// An object's members, each of which is known.
class Members {
 public:
  explicit Members(const json& object) : object_(object) {}

  // kInvalidArgument: there is none.
  absl::StatusOr<const json*> Find(const char* name) {
    const json* found = FindIfAny(name);
    if (found == nullptr) return InvalidArgument("there is no \"{}\"", name);
    return found;
  }
  const json* FindIfAny(const char* name) {
    known_.insert(name);
    const auto found = object_.find(name);
    return found == object_.end() ? nullptr : &*found;
  }
  absl::StatusOr<std::string> Text(const char* name) {
    WHARF_ASSIGN_OR_RETURN(const json* value, Find(name));
    return AsText(*value, name);
  }
  absl::StatusOr<std::string> TextIfAny(const char* name) {
    const json* value = FindIfAny(name);
    return value == nullptr ? std::string() : AsText(*value, name);
  }
  absl::StatusOr<double> Number(const char* name) {
    WHARF_ASSIGN_OR_RETURN(const json* value, Find(name));
    return AsNumber(*value, name);
  }
  // Arrays of `size` values each, or of anything if that is 0.
  absl::StatusOr<const json*> Array(const char* name, size_t most, size_t size) {
    WHARF_ASSIGN_OR_RETURN(const json* value, Find(name));
    if (!value->is_array()) return InvalidArgument("\"{}\" is no array", name);
    if (value->size() > most) return InvalidArgument("\"{}\" has more than {} entries", name, most);
    for (const json& one : *value) {
      if (size > 0 && (!one.is_array() || one.size() != size)) {
        return InvalidArgument("an entry of \"{}\" has not {} values", name, size);
      }
    }
    return value;
  }
  // kInvalidArgument: there are others than those asked for.
  absl::Status Finish() const {
    for (const auto& [name, value] : object_.items()) {
      if (!known_.contains(name)) return InvalidArgument("there is a member that is not known");
    }
    return absl::OkStatus();
  }

 private:
  const json& object_;
  std::set<std::string, std::less<>> known_;
};

absl::StatusOr<std::vector<RowRange>> ParseRanges(Members& members, const char* side) {
  WHARF_ASSIGN_OR_RETURN(const json* array, members.Array(side, kMaxRanges, 2));
  std::vector<RowRange> ranges;
  for (const json& one : *array) {
    WHARF_ASSIGN_OR_RETURN(const RowRange range, AsRange(one[0], one[1], side));
    ranges.push_back(range);
  }
  return ranges;
}

absl::StatusOr<Layout> ParseLayout(const json& object) {
  if (!object.is_object()) return InvalidArgument("\"layout\" is no object");
  Members members(object);
  Layout layout;
  WHARF_ASSIGN_OR_RETURN(const json* gathered, members.Find("gathered"));
  if (!gathered->is_boolean()) return InvalidArgument("\"gathered\" is neither true nor false");
  layout.gathered = gathered->get<bool>();
  WHARF_ASSIGN_OR_RETURN(const json* bands, members.Array("bands", kMaxRanges, 3));
  for (const json& one : *bands) {
    Band band;
    WHARF_ASSIGN_OR_RETURN(band.op, AsCount(one[0], "an operator in \"bands\"", 0, kMaxOperators));
    WHARF_ASSIGN_OR_RETURN(band.rows, AsRange(one[1], one[2], "bands"));
    layout.bands.push_back(band);
  }
  WHARF_RETURN_IF_ERROR(members.Finish());
  return layout;
}

absl::StatusOr<std::vector<PlannedOperator>> ParseOperators(Members& members) {
  WHARF_ASSIGN_OR_RETURN(const json* array, members.Array("operators", kMaxOperators, 2));
  std::vector<PlannedOperator> operators;
  for (const json& one : *array) {
    PlannedOperator planned;
    WHARF_ASSIGN_OR_RETURN(planned.name, AsText(one[0], "an operator's name"));
    WHARF_ASSIGN_OR_RETURN(planned.rows, AsCount(one[1], "an operator's rows", 1, kMaxRows));
    operators.push_back(std::move(planned));
  }
  return operators;
}

absl::StatusOr<PlanSource> ParseSource(Members& members) {
  PlanSource source;
  WHARF_ASSIGN_OR_RETURN(source.csv, members.TextIfAny("profile"));
  WHARF_ASSIGN_OR_RETURN(source.model, members.TextIfAny("model_file"));
  WHARF_ASSIGN_OR_RETURN(source.device_profile, members.TextIfAny("device_profile"));
  WHARF_ASSIGN_OR_RETURN(source.server_profile, members.TextIfAny("server_profile"));
  WHARF_ASSIGN_OR_RETURN(source.shape, members.TextIfAny("shape"));
  if (const json* keys = members.FindIfAny("split_attention"); keys != nullptr) {
    WHARF_ASSIGN_OR_RETURN(source.split_attention, AsCount(*keys, "split_attention", 1, kMaxRows));
  }
  return source;
}

absl::StatusOr<SliceCost> ParseSliceCost(Members& members) {
  SliceCost cost;
  WHARF_ASSIGN_OR_RETURN(const json* fixed, members.Array("slice_fixed_ms", 2, 0));
  if (fixed->size() != 2) return InvalidArgument("\"slice_fixed_ms\" has not 2 entries");
  for (const Side side : kSides) {
    WHARF_ASSIGN_OR_RETURN(cost.fixed_ms[side], AsNumber((*fixed)[side], "slice_fixed_ms"));
  }
  WHARF_ASSIGN_OR_RETURN(cost.inflation, members.Number("slice_inflation"));
  return cost;
}

absl::StatusOr<Objective> ParseObjective(Members& members) {
  Objective objective;
  WHARF_ASSIGN_OR_RETURN(const std::string name, members.Text("objective"));
  if (name != "energy" && name != "latency") return InvalidArgument("\"objective\" is neither energy nor latency");
  objective.energy = name == "energy";
  if (const json* deadline = members.FindIfAny("deadline_ms"); deadline != nullptr) {
    WHARF_ASSIGN_OR_RETURN(objective.deadline_ms, AsNumber(*deadline, "deadline_ms"));
  }
  return objective;
}

absl::StatusOr<Link> ParseLink(Members& members) {
  Link link;
  WHARF_ASSIGN_OR_RETURN(const double bytes_per_second, members.Number("bytes_per_second"));
  link.bytes_per_ms = bytes_per_second / 1e3;
  WHARF_ASSIGN_OR_RETURN(link.round_trip_ms, members.Number("round_trip_ms"));
  WHARF_ASSIGN_OR_RETURN(link.message_overhead_ms, members.Number("message_overhead_ms"));
  return link;
}

absl::StatusOr<Plan> ParsePlan(Members& members) {
  Plan plan;
  WHARF_ASSIGN_OR_RETURN(plan.rows[kDevice], ParseRanges(members, "device"));
  WHARF_ASSIGN_OR_RETURN(plan.rows[kServer], ParseRanges(members, "server"));
  if (const json* layout = members.FindIfAny("layout"); layout != nullptr) {
    WHARF_ASSIGN_OR_RETURN(plan.layout, ParseLayout(*layout));
  }
  return plan;
}

// The model, and who made the plan.
absl::Status ParseNames(Members& members, StoredPlan& stored) {
  WHARF_ASSIGN_OR_RETURN(stored.model, members.Text("model"));
  WHARF_ASSIGN_OR_RETURN(stored.planner, members.Text("planner"));
  WHARF_ASSIGN_OR_RETURN(stored.encoding, members.Text("encoding"));
  const std::vector<std::string>& known = NamedEncodings();
  if (std::find(known.begin(), known.end(), stored.encoding) == known.end()) {
    return InvalidArgument("there is no encoding \"{}\"", stored.encoding);
  }
  WHARF_ASSIGN_OR_RETURN(stored.model_hash, members.TextIfAny("model_sha256"));
  const std::string& hash = stored.model_hash;
  if (!hash.empty() &&
      (hash.size() != kHashDigits || hash.find_first_not_of("0123456789abcdef") != std::string::npos)) {
    return InvalidArgument("\"model_sha256\" is no SHA-256");
  }
  return absl::OkStatus();
}

absl::StatusOr<StoredPlan> Parse(const json& object) {
  if (!object.is_object()) return InvalidArgument("it is no object");
  Members members(object);
  WHARF_ASSIGN_OR_RETURN(const std::string format, members.Text("format"));
  if (format != kFormat) {
    return InvalidArgument("its format is \"{}\", not {}: make it again with wharf plan", format, kFormat);
  }
  StoredPlan stored;
  WHARF_RETURN_IF_ERROR(ParseNames(members, stored));
  WHARF_ASSIGN_OR_RETURN(stored.operators, ParseOperators(members));
  WHARF_ASSIGN_OR_RETURN(stored.source, ParseSource(members));
  WHARF_ASSIGN_OR_RETURN(stored.slice_cost, ParseSliceCost(members));
  WHARF_ASSIGN_OR_RETURN(stored.link, ParseLink(members));
  WHARF_ASSIGN_OR_RETURN(stored.objective, ParseObjective(members));
  WHARF_ASSIGN_OR_RETURN(stored.lower_bound_ms, members.Number("lower_bound_ms"));
  WHARF_ASSIGN_OR_RETURN(stored.plan, ParsePlan(members));
  WHARF_RETURN_IF_ERROR(members.Finish());
  return stored;
}

}  // namespace

std::vector<PlannedOperator> PlannedOperatorsOf(const Profile& profile) {
  std::vector<PlannedOperator> operators;
  for (const ProfiledOperator& one : profile.operators) operators.push_back({one.op.name, one.op.rows});
  return operators;
}

std::vector<PlannedOperator> PlannedOperatorsOf(const ModelOperators& model) {
  std::vector<PlannedOperator> operators;
  for (const graph::Operator& one : model.operators) operators.push_back({one.name, one.rows});
  return operators;
}

std::string PlansAsJson(const std::vector<StoredPlan>& plans) {
  json array = json::array();
  for (const StoredPlan& plan : plans) array.push_back(AsJson(plan));
  return array.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

absl::StatusOr<std::vector<StoredPlan>> ParsePlans(std::string_view text) {
  WHARF_ASSIGN_OR_RETURN(const json array, ParseJson(text, "plans", kLimits));
  if (!array.is_array()) return InvalidArgument("no JSON array of plans");
  if (array.empty() || array.size() > kMaxPlans)
    return InvalidArgument("{} plans, not 1 to {}", array.size(), kMaxPlans);
  std::vector<StoredPlan> plans;
  for (const json& object : array) {
    auto plan = Parse(object);
    if (!plan.ok()) return InvalidArgument("plan {}: {}", plans.size(), Message(plan.status()));
    plans.push_back(*std::move(plan));
  }
  return plans;
}

absl::Status CheckFits(const StoredPlan& stored, const std::vector<PlannedOperator>& operators, std::string_view hash) {
  if (stored.operators.size() != operators.size()) {
    return InvalidArgument("the plan is of a model of {} operators, this one has {}", stored.operators.size(),
                           operators.size());
  }
  for (size_t i = 0; i < operators.size(); ++i) {
    const PlannedOperator& planned = stored.operators[i];
    if (planned == operators[i]) continue;
    return InvalidArgument("the plan is of another model: its operator {} is {} with {} rows, not {} with {}", i,
                           planned.name, planned.rows, operators[i].name, operators[i].rows);
  }
  if (!hash.empty() && !stored.model_hash.empty() && stored.model_hash != hash) {
    return InvalidArgument("the plan is of another version of the model: its file's SHA-256 begins with {}, not {}",
                           stored.model_hash.substr(0, 12), hash.substr(0, 12));
  }
  return absl::OkStatus();
}

}  // namespace wharf::split
