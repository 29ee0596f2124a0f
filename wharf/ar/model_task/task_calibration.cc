#include "wharf/ar/model_task/task_calibration.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "wharf/base/json/parse_json.h"
#include "wharf/base/read_file.h"

namespace wharf::ar {
namespace {

constexpr const char* kFormat = "wharf-ar-task/1";
constexpr JsonLimits kLimits{size_t{64} << 10, 2};
constexpr int kLeastExponent = 5, kMostExponent = 200;  // hundredths

absl::Status Number(const nlohmann::json& json, const char* key, double low, double high, double& value) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_number()) return InvalidArgument("a task's calibration says {}, a number", key);
  value = found->get<double>();
  if (value >= low && value <= high) return absl::OkStatus();
  return InvalidArgument("a task's {} of {:g} cannot be", key, value);
}

}  // namespace

double PowerLaw::At(double stride) const { return rate * std::pow(stride, exponent); }
double TaskCalibration::DropAt(double stride) const { return PowerLaw{rate, exponent}.At(stride); }

absl::StatusOr<PowerLaw> FitPowerLaw(std::span<const LossAtStride> losses) {
  std::set<double> strides;
  for (const LossAtStride& one : losses) strides.insert(one.stride);
  if (strides.size() < 2) return FailedPrecondition("losses at {} strides: there must be two at least", strides.size());
  PowerLaw best;
  double least = std::numeric_limits<double>::infinity();
  for (int hundredths = kLeastExponent; hundredths <= kMostExponent; ++hundredths) {
    PowerLaw law{0, hundredths / 100.0};
    double product = 0, square = 0;  // of powers and losses, of powers
    for (const LossAtStride& one : losses) {
      const double power = std::pow(one.stride, law.exponent);
      product += one.samples * power * one.loss;
      square += one.samples * power * power;
    }
    law.rate = product / square;
    double error = 0;
    for (const LossAtStride& one : losses) error += one.samples * std::pow(law.At(one.stride) - one.loss, 2);
    if (error < least) {
      least = error;
      best = law;
    }
  }
  return best;
}

std::string TaskCalibration::Json() const {
  nlohmann::ordered_json json = {{"format", kFormat}, {"task", task},         {"source", source},
                                 {"rate", rate},      {"exponent", exponent}, {"offload_ms", offload_ms}};
  if (std::isfinite(local_drop)) json["local_drop"] = local_drop;
  return json.dump(1) + "\n";
}

absl::StatusOr<TaskCalibration> TaskCalibration::Parse(std::string_view text) {
  WHARF_ASSIGN_OR_RETURN(const nlohmann::json json, ParseJson(text, "a task's calibration", kLimits));
  const auto is_text = [&](const char* key) { return json.contains(key) && json[key].is_string(); };
  if (!json.is_object() || !is_text("format") || json["format"] != kFormat || !is_text("task"))
    return InvalidArgument("it is no task's calibration, {}", kFormat);
  TaskCalibration calibration;
  calibration.task = json["task"].get<std::string>();
  if (is_text("source")) calibration.source = json["source"].get<std::string>();
  WHARF_RETURN_IF_ERROR(Number(json, "rate", 0, 1e6, calibration.rate));
  WHARF_RETURN_IF_ERROR(Number(json, "exponent", 0, 10, calibration.exponent));
  WHARF_RETURN_IF_ERROR(Number(json, "offload_ms", 0, 1e6, calibration.offload_ms));
  if (json.contains("local_drop")) WHARF_RETURN_IF_ERROR(Number(json, "local_drop", 0, 1e6, calibration.local_drop));
  return calibration;
}

absl::StatusOr<TaskCalibration> TaskCalibration::Load(const std::string& path) {
  WHARF_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  auto calibration = Parse(text);
  if (!calibration.ok()) return InvalidArgument("{}: {}", path, Message(calibration.status()));
  return calibration;
}

}  // namespace wharf::ar
