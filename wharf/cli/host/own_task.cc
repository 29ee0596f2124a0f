#include "wharf/cli/host/own_task.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

namespace wharf::cli {
namespace {

using nlohmann::json;

constexpr size_t kOutputBytes = size_t{16} << 20;  // more than a server may send (ar/result_coding.h)
constexpr size_t kOutputAlignment = 64;
constexpr int kNumbers = 7;  // of an IMU sample

enum Place : size_t { kOutputs, kPicture, kImu };  // in a slot, behind what is before

}  // namespace

std::vector<graph::TensorType> SharedFrames::TypesOf(int width, int height) {
  return {{graph::ElementType::kUint8, {static_cast<int64_t>(kOutputBytes)}},
          {graph::ElementType::kUint8, {height, width, 3}},
          {graph::ElementType::kDouble, {kMostSamples, kNumbers}}};
}

json SharedFrames::Layout() const {
  const size_t* const offsets = memory_.OutputOffsets().data() + before_;
  return {{"first_slot", memory_.FirstSlot()},
          {"slot_bytes", memory_.SlotBytes()},
          {"picture", offsets[kPicture]},
          {"imu", offsets[kImu]}};
}

void SharedFrames::Fill(int slot, const scene::Frame& frame) {
  const std::vector<std::span<std::byte>>& places = memory_.Outputs(slot);
  std::memcpy(places[before_ + kPicture].data(), frame.image.rgb.data(), frame.image.rgb.size());
  const size_t count = std::min(frame.imu.size(), size_t{kMostSamples});
  auto* number = reinterpret_cast<double*>(places[before_ + kImu].data());
  for (const scene::ImuSample& sample : std::span(frame.imu).last(count)) {
    *number++ = sample.time_s;
    for (const Eigen::Vector3d& vector : {sample.angular_velocity, sample.specific_force}) {
      number = std::copy(vector.begin(), vector.end(), number);
    }
  }
}

absl::StatusOr<json> SharedFrames::Show(const scene::Frame& frame) {
  if (frame.image.rgb.size() != memory_.Outputs(0)[before_ + kPicture].size()) {
    return Internal("a picture of {} x {} is shown in place of others", frame.image.width, frame.image.height);
  }
  auto found = std::ranges::find(shown_, frame.index, &Shown::frame);
  if (found == shown_.end()) {
    found = std::ranges::min_element(shown_, {}, &Shown::used);
    Fill(static_cast<int>(found - shown_.begin()), frame);
    *found = {frame.index, ++serial_, 0};
  }
  found->used = ++uses_;
  return json{{"slot", found - shown_.begin()},
              {"serial", found->serial},
              {"index", frame.index},
              {"time_s", frame.time_s},
              {"samples", std::min(frame.imu.size(), size_t{kMostSamples})}};
}

absl::StatusOr<json> SharedFrames::Show(const ar::Outputs& outputs) const {
  const std::span<std::byte> place = memory_.Outputs(0)[before_ + kOutputs];
  const size_t first = memory_.FirstSlot() + memory_.OutputOffsets()[before_ + kOutputs];
  json shown = json::array();
  size_t end = 0;
  for (const graph::Constant& output : outputs) {
    const size_t begin = (end + kOutputAlignment - 1) / kOutputAlignment * kOutputAlignment;
    const size_t bytes = output.bytes->size();
    if (begin > place.size() || bytes > place.size() - begin) return InvalidArgument("outputs of too many bytes");
    std::memcpy(place.data() + begin, output.bytes->data(), bytes);
    end = begin + bytes;
    shown.push_back({{"element", std::string(graph::Name(output.type.element))},
                     {"shape", output.type.shape},
                     {"offset", first + begin}});
  }
  return shown;
}

void SharedFrames::Forget() { std::ranges::fill(shown_, Shown()); }

absl::StatusOr<CalledRequest> ProgramTracker::Call(const char* function, json arguments) const {
  arguments["task"] = task_;
  arguments["function"] = function;
  return caller_.Call(std::move(arguments));
}

absl::StatusOr<Held> ProgramTracker::ResultOf(const char* function, json arguments) const {
  WHARF_ASSIGN_OR_RETURN(const CalledRequest called, Call(function, std::move(arguments)));
  if (!called.result) return NotFound("{} gives no result", function);
  return caller_.Hold(*called.result);
}

absl::StatusOr<Held> ProgramTracker::Read(const ar::Outputs& outputs, const scene::Frame& frame) {
  WHARF_ASSIGN_OR_RETURN(json shown, frames_.Show(outputs));
  WHARF_ASSIGN_OR_RETURN(json of, frames_.Show(frame));
  return ResultOf("read", {{"outputs", std::move(shown)}, {"frame", std::move(of)}});
}

absl::StatusOr<Held> ProgramTracker::Track(const Held& result, const scene::Frame& from, const scene::Frame& to) {
  WHARF_ASSIGN_OR_RETURN(json shown_from, frames_.Show(from));
  WHARF_ASSIGN_OR_RETURN(json shown_to, frames_.Show(to));
  return ResultOf("track",
                  {{"result", result->number()}, {"from", std::move(shown_from)}, {"to", std::move(shown_to)}});
}

double ProgramTracker::Loss(const Held& tracked, const Held& fresh) const {
  const auto called = Call("loss", {{"tracked", tracked->number()}, {"fresh", fresh->number()}});
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  return called.ok() ? called->loss.value_or(kNone) : kNone;
}

absl::StatusOr<Held> ProgramTracker::RunLocalAlgorithm(const scene::Frame& frame) {
  WHARF_ASSIGN_OR_RETURN(json shown, frames_.Show(frame));
  return ResultOf("local", {{"frame", std::move(shown)}});
}

}  // namespace wharf::cli
