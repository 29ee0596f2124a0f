#include "wharf/cli/host/request.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "wharf/base/json/parse_json.h"

namespace wharf::cli {
namespace {

using nlohmann::json;

constexpr JsonLimits kLimits = {.bytes = kMaxRequestBytes, .depth = 3};
constexpr int kMaxThreads = 4096, kMaxSide = 1 << 16, kMaxSlots = 64;
constexpr double kMaxSlackMs = 1e9;
constexpr size_t kMaxChannels = 4;
constexpr size_t kMaxImuNumbers = 7 * 1000;
constexpr int kMaxArSide = 8192;
constexpr size_t kMaxOwnTasks = 16, kMaxVideos = 1024, kMaxStrides = 64;
constexpr int kMaxFrames = 1 << 20;
constexpr double kMaxLoss = 1e9;

// Takes members one after the other; the first that is wrong is remembered.
class Members {
 public:
  explicit Members(const json& object) : object_(object) {}

  void Take(const char* name, std::string& into) {
    const json* const value = Find(name);
    if (value == nullptr) return;
    if (!value->is_string()) return Refuse("\"{}\" is no text", name);
    into = value->get<std::string>();
    if (into.find('\0') != std::string::npos) Refuse("\"{}\" has a zero byte", name);
  }
  void Take(const char* name, bool& into) {
    const json* const value = Find(name);
    if (value == nullptr) return;
    if (!value->is_boolean()) return Refuse("\"{}\" is neither true nor false", name);
    into = value->get<bool>();
  }
  void Take(const char* name, int& into, int least, int most) {
    const json* const value = Find(name);
    if (value != nullptr) into = Integer(*value, name, least, most);
  }
  void Take(const char* name, std::vector<float>& into) {
    const json* const value = Find(name);
    if (value == nullptr) return;
    if (!value->is_array() || value->size() > kMaxChannels) {
      return Refuse("\"{}\" is no list of at most {} numbers", name, kMaxChannels);
    }
    for (const json& one : *value) {
      if (!one.is_number() || !std::isfinite(one.get<float>())) return Refuse("\"{}\" has what is no number", name);
      into.push_back(one.get<float>());
    }
  }
  void Take(const char* name, std::vector<double>& into, size_t most) {
    const json* const value = Find(name);
    if (value == nullptr) return;
    if (!value->is_array() || value->size() > most) {
      return Refuse("\"{}\" is no list of at most {} numbers", name, most);
    }
    for (const json& one : *value) {
      if (!IsFinite(one)) return Refuse("\"{}\" has what is no number", name);
      into.push_back(one.get<double>());
    }
  }
  void Take(const char* name, double& into) {
    const json* const value = Find(name);
    if (value == nullptr) return;
    if (!IsFinite(*value)) return Refuse("\"{}\" is no number", name);
    into = value->get<double>();
  }
  void Take(const char* name, std::optional<std::string>& into) {
    if (!Has(name)) return;
    into.emplace();
    Take(name, *into);
  }
  void Take(const char* name, std::optional<int>& into, int least, int most) {
    if (!Has(name)) return;
    into.emplace();
    Take(name, *into, least, most);
  }
  void Take(const char* name, std::optional<double>& into, double most) {
    const json* const value = Find(name);
    if (value == nullptr) return;
    if (!value->is_number() || !(*value >= 0) || !(*value <= most)) {
      return Refuse("\"{}\" is no number from 0 to {:g}", name, most);
    }
    into = value->get<double>();
  }
  void Take(const char* name, std::optional<uint64_t>& into) {
    const json* const value = Find(name);
    if (value == nullptr) return;
    if (!value->is_number_unsigned()) return Refuse("\"{}\" is no number", name);
    into = value->get<uint64_t>();
  }
  void Take(const char* name, std::vector<int>& into, size_t most, int least_value, int most_value) {
    for (const json& one : Elements(name, most)) into.push_back(Integer(one, name, least_value, most_value));
  }
  void Take(const char* name, std::vector<std::string>& into, size_t most) {
    for (const json& one : Elements(name, most)) {
      if (!one.is_string()) return Refuse("\"{}\" has what is no text", name);
      into.push_back(one.get<std::string>());
      if (into.back().find('\0') != std::string::npos) return Refuse("\"{}\" has a zero byte", name);
    }
  }
  void Take(const char* name, std::vector<OwnTask>& into, size_t most) {
    for (const json& one : Elements(name, most)) {
      if (!one.is_object()) return Refuse("\"{}\" has what is no task", name);
      Members members(one);
      OwnTask& task = into.emplace_back();
      members.Take("name", task.name);
      members.Take("calibration", task.calibration);
      members.Take("local", task.local);
      first_.Update(members.Finish());
    }
  }
  void Take(const char* name, std::optional<PictureShape>& into) {
    const json* const value = Find(name);
    if (value == nullptr) return;
    if (!value->is_array() || value->size() != 3) return Refuse("\"{}\" is not [height, width, channels]", name);
    into = PictureShape{Integer((*value)[0], name, 1, kMaxSide), Integer((*value)[1], name, 1, kMaxSide),
                        Integer((*value)[2], name, 1, 3)};
    if (into->channels == 2) Refuse("\"{}\" has 2 channels; 1 or 3 are possible", name);
  }
  void TakeId(uint64_t& into) {
    const json* const value = Find("id");
    if (value == nullptr || !value->is_number_unsigned()) return Refuse("\"id\" is no number");
    into = value->get<uint64_t>();
  }

  // kInvalidArgument: one was wrong, or there are others.
  absl::Status Finish() {
    for (const auto& [name, value] : object_.items()) {
      if (known_.count(name) == 0) Refuse("\"{}\" is not known", name);
    }
    return first_;
  }

 private:
  // Absent and null are the same.
  const json* Find(const char* name) {
    known_.insert(name);
    const auto found = object_.find(name);
    return found == object_.end() || found->is_null() ? nullptr : &*found;
  }
  // Of a list that may be absent; none of one that is too long.
  const json& Elements(const char* name, size_t most) {
    static const json none = json::array();
    const json* const value = Find(name);
    if (value == nullptr) return none;
    if (value->is_array() && value->size() <= most) return *value;
    Refuse("\"{}\" is no list of at most {}", name, most);
    return none;
  }
  static bool IsFinite(const json& value) { return value.is_number() && std::isfinite(value.get<double>()); }
  bool Has(const char* name) { return Find(name) != nullptr; }
  int Integer(const json& value, const char* name, int least, int most) {
    if (value.is_number_integer() && value >= least && value <= most) return value.get<int>();
    Refuse("\"{}\" is no number from {} to {}", name, least, most);
    return least;
  }
  template <typename... Args>
  void Refuse(fmt::format_string<Args...> format, Args&&... args) {
    if (first_.ok()) first_ = InvalidArgument("a request: {}", fmt::format(format, std::forward<Args>(args)...));
  }

  const json& object_;
  std::set<std::string> known_;
  absl::Status first_;
};

void TakeServer(Members& members, ServerWish& wish) {
  members.Take("server", wish.server);
  members.Take("token", wish.token);
  members.Take("token_file", wish.token_file);
  members.Take("tls", wish.tls);
  members.Take("tls_ca", wish.tls_ca);
  members.Take("tls_pin", wish.tls_pin);
  members.Take("tls_certificate", wish.tls_certificate);
  members.Take("tls_key", wish.tls_key);
}

OpenRequest TakeOpen(Members& members) {
  OpenRequest open;
  TakeServer(members, open);
  members.Take("model", open.model);
  members.Take("name", open.name);
  members.Take("planner", open.planner);
  members.Take("input_shape", open.input_shape);
  members.Take("pictures", open.pictures);
  members.Take("allow_half", open.allow_half);
  members.Take("jpeg_quality", open.jpeg_quality, 1, 100);
  members.Take("mean", open.mean);
  members.Take("deviation", open.deviation);
  members.Take("slack_ms", open.slack_ms, kMaxSlackMs);
  members.Take("threads", open.threads, 0, kMaxThreads);
  members.Take("cache_directory", open.cache_directory);
  members.Take("progress", open.progress);
  return open;
}

OpenArRequest TakeOpenAr(Members& members) {
  OpenArRequest open;
  TakeServer(members, open);
  members.Take("width", open.width, 1, kMaxArSide);
  members.Take("height", open.height, 1, kMaxArSide);
  members.Take("fx", open.fx);
  members.Take("fy", open.fy);
  members.Take("cx", open.cx);
  members.Take("cy", open.cy);
  members.Take("frames_per_s", open.frames_per_s);
  members.Take("depth", open.depth);
  members.Take("odometry", open.odometry);
  members.Take("boxes", open.boxes);
  members.Take("networks", open.networks);
  members.Take("jpeg_quality", open.jpeg_quality, 1, 100);
  members.Take("sla", open.sla, kMaxLoss);
  members.Take("own_tasks", open.own_tasks, kMaxOwnTasks);
  return open;
}

OpenCalibrationRequest TakeOpenCalibration(Members& members) {
  OpenCalibrationRequest open;
  TakeServer(members, open);
  members.Take("task", open.task);
  members.Take("local", open.local);
  members.Take("videos", open.videos, kMaxVideos);
  members.Take("width", open.width, 0, kMaxArSide);
  members.Take("height", open.height, 0, kMaxArSide);
  members.Take("frames_per_s", open.frames_per_s);
  members.Take("source", open.source);
  members.Take("strides", open.strides, kMaxStrides, 1, kMaxFrames);
  members.Take("every", open.every, 1, kMaxFrames);
  members.Take("latency_frames", open.latency_frames, 1, kMaxFrames);
  members.Take("jpeg_quality", open.jpeg_quality, 1, 100);
  return open;
}

CalledRequest TakeCalled(Members& members) {
  CalledRequest called;
  members.Take("result", called.result);
  members.Take("loss", called.loss, kMaxLoss);
  members.Take("error", called.error);
  return called;
}

json AsJson(const ServerWish& wish) {
  return {{"server", wish.server},
          {"token", wish.token},
          {"token_file", wish.token_file},
          {"tls", wish.tls},
          {"tls_ca", wish.tls_ca},
          {"tls_pin", wish.tls_pin},
          {"tls_certificate", wish.tls_certificate},
          {"tls_key", wish.tls_key}};
}

json AsJson(const OpenArRequest& open) {
  json object = {{"ask", "open_ar"},
                 {"width", open.width},
                 {"height", open.height},
                 {"fx", open.fx},
                 {"fy", open.fy},
                 {"cx", open.cx},
                 {"cy", open.cy},
                 {"frames_per_s", open.frames_per_s},
                 {"depth", open.depth},
                 {"odometry", open.odometry},
                 {"boxes", open.boxes},
                 {"networks", open.networks},
                 {"jpeg_quality", open.jpeg_quality},
                 {"own_tasks", json::array()}};
  object.update(AsJson(static_cast<const ServerWish&>(open)));
  if (open.sla) object["sla"] = *open.sla;
  for (const OwnTask& task : open.own_tasks) {
    object["own_tasks"].push_back({{"name", task.name}, {"calibration", task.calibration}, {"local", task.local}});
  }
  return object;
}

json AsJson(const OpenCalibrationRequest& open) {
  json object = {{"ask", "open_calibration"},
                 {"task", open.task},
                 {"local", open.local},
                 {"videos", open.videos},
                 {"width", open.width},
                 {"height", open.height},
                 {"frames_per_s", open.frames_per_s},
                 {"source", open.source},
                 {"strides", open.strides},
                 {"every", open.every},
                 {"latency_frames", open.latency_frames},
                 {"jpeg_quality", open.jpeg_quality}};
  object.update(AsJson(static_cast<const ServerWish&>(open)));
  return object;
}

json AsJson(const CalibrateRequest&) { return {{"ask", "calibrate"}}; }

json AsJson(const CalledRequest& called) {
  json object = {{"ask", "called"}, {"error", called.error}};
  if (called.result) object["result"] = *called.result;
  if (called.loss) object["loss"] = *called.loss;
  return object;
}

json AsJson(const ArFrameRequest& frame) { return {{"ask", "frame"}, {"time_s", frame.time_s}, {"imu", frame.imu}}; }

json AsJson(const OpenRequest& open) {
  json object = {{"ask", "open"},
                 {"model", open.model},
                 {"name", open.name},
                 {"planner", open.planner},
                 {"input_shape", open.input_shape},
                 {"pictures", open.pictures},
                 {"allow_half", open.allow_half},
                 {"mean", open.mean},
                 {"deviation", open.deviation},
                 {"threads", open.threads},
                 {"progress", open.progress}};
  object.update(AsJson(static_cast<const ServerWish&>(open)));
  if (open.jpeg_quality) object["jpeg_quality"] = *open.jpeg_quality;
  if (open.slack_ms) object["slack_ms"] = *open.slack_ms;
  if (open.cache_directory) object["cache_directory"] = *open.cache_directory;
  return object;
}

json AsJson(const RunRequest& run) {
  json object = {{"ask", "run"}, {"slot", run.slot}};
  if (run.picture) object["picture"] = {run.picture->height, run.picture->width, run.picture->channels};
  return object;
}

json AsJson(const ReportRequest&) { return {{"ask", "report"}}; }
json AsJson(const StateRequest&) { return {{"ask", "state"}}; }

}  // namespace

absl::StatusOr<Request> ParseRequest(std::string_view text) {
  WHARF_ASSIGN_OR_RETURN(const json object, ParseJson(text, "a request", kLimits));
  if (!object.is_object()) return InvalidArgument("a request that is no object");
  Members members(object);
  Request request;
  std::string ask;
  members.TakeId(request.id);
  members.Take("ask", ask);
  if (ask == "open") {
    request.what = TakeOpen(members);
  } else if (ask == "run") {
    RunRequest run;
    members.Take("slot", run.slot, 0, kMaxSlots - 1);
    members.Take("picture", run.picture);
    request.what = run;
  } else if (ask == "open_ar") {
    request.what = TakeOpenAr(members);
  } else if (ask == "frame") {
    ArFrameRequest frame;
    members.Take("time_s", frame.time_s);
    members.Take("imu", frame.imu, kMaxImuNumbers);
    request.what = std::move(frame);
  } else if (ask == "open_calibration") {
    request.what = TakeOpenCalibration(members);
  } else if (ask == "calibrate") {
    request.what = CalibrateRequest();
  } else if (ask == "called") {
    request.what = TakeCalled(members);
  } else if (ask == "report") {
    request.what = ReportRequest();
  } else if (ask == "state") {
    request.what = StateRequest();
  } else {
    return InvalidArgument("a request for what is not known");
  }
  WHARF_RETURN_IF_ERROR(members.Finish());
  return request;
}

std::string RequestAsJson(const Request& request) {
  json object = std::visit([](const auto& what) { return AsJson(what); }, request.what);
  object["id"] = request.id;
  return object.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace wharf::cli
