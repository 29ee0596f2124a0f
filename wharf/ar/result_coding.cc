#include "wharf/ar/result_coding.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <utility>

#include "wharf/split/codec/jpeg.h"
#include "wharf/split/codec/row_codec.h"

namespace wharf::ar {
namespace {

constexpr double kNearest = 0.3, kFarthest = 300;  // of kJpeg, metres
constexpr int kLowest = 8, kUnknownBelow = 4;      // grey values: 0 is unknown, far enough from the nearest to survive
constexpr int kQuality = 90;

graph::TensorType MapType(int width, int height) { return {graph::ElementType::kFloat, {height, width}}; }
constexpr split::RowCodec kHalfCodec = {split::RowCoding::kPackedHalf}, kExactCodec = {split::RowCoding::kPacked};

struct WireOutput {
  graph::ElementType element = graph::ElementType::kFloat;
  std::vector<int64_t> shape;
  std::vector<std::byte> bytes;
  auto Fields() { return std::tie(element, shape, bytes); }
};
struct WireOutputs {
  std::vector<WireOutput> outputs;
  auto Fields() { return std::tie(outputs); }
};

double GreyPerLog() { return (255 - kLowest) / std::log(kFarthest / kNearest); }

uint8_t GreyOf(float metres) {
  if (!(metres > 0)) return 0;
  const double clamped = std::clamp(static_cast<double>(metres), kNearest, kFarthest);
  return static_cast<uint8_t>(std::lround(kLowest + GreyPerLog() * std::log(clamped / kNearest)));
}
std::array<float, 256> MetresOfGrey() {
  std::array<float, 256> metres{};
  for (int grey = kUnknownBelow; grey < 256; ++grey)
    metres[grey] = static_cast<float>(kNearest * std::exp((std::max(grey, kLowest) - kLowest) / GreyPerLog()));
  return metres;
}

std::vector<std::byte> DepthAsJpeg(const scene::DepthMap& depth) {
  split::Image image{depth.width, depth.height, 1, std::vector<uint8_t>(depth.metres.size())};
  std::ranges::transform(depth.metres, image.pixels.begin(), GreyOf);
  return split::EncodeJpeg(image, kQuality).value_or(std::vector<std::byte>());
}

absl::StatusOr<scene::DepthMap> DepthOfJpeg(std::span<const std::byte> bytes, int width, int height) {
  WHARF_ASSIGN_OR_RETURN(const split::ImageSize size, split::JpegSize(bytes));
  if (size.width != width || size.height != height)
    return InvalidArgument("a depth map of {} x {}, not {} x {}", size.width, size.height, width, height);
  WHARF_ASSIGN_OR_RETURN(const split::Image image, split::DecodeSentJpeg(bytes, 1));
  static const std::array<float, 256> kMetres = MetresOfGrey();
  scene::DepthMap depth{width, height, std::vector<float>(image.pixels.size())};
  std::ranges::transform(image.pixels, depth.metres.begin(), [](uint8_t grey) { return kMetres[grey]; });
  return depth;
}

// A box as it travels.
struct WireBox {
  float left = 0, top = 0, right = 0, bottom = 0, score = 0;
  scene::ObjectClass object_class = scene::ObjectClass::kVehicle;
  auto Fields() { return std::tie(left, top, right, bottom, score, object_class); }
  bool Sane() const {
    const bool finite = std::isfinite(left) && std::isfinite(top) && std::isfinite(right) && std::isfinite(bottom) &&
                        std::isfinite(score);
    return finite && static_cast<int>(object_class) < scene::kObjectClasses;
  }
};

constexpr size_t kCovariance = 36;
struct WireMotion {
  int64_t from = 0;
  std::array<double, 4> rotation{};  // x, y, z, w
  std::array<double, 3> position{};
  std::array<double, kCovariance> covariance{};
  int32_t inliers = 0;
  bool metric = true;  // always: a motion of unknown length is of no use
  auto Fields() { return std::tie(from, rotation, position, covariance, inliers, metric); }
};

bool AllFinite(std::span<const double> numbers) {
  return std::ranges::all_of(numbers, [](double number) { return std::isfinite(number); });
}

bool IsCovariance(const track::Matrix6& matrix) {
  return matrix.isApprox(matrix.transpose(), 1e-9) && Eigen::LLT<track::Matrix6>(matrix).info() == Eigen::Success;
}

}  // namespace

std::vector<std::byte> EncodeDepth(const scene::DepthMap& depth, DepthCoding coding) {
  if (coding == DepthCoding::kJpeg) return DepthAsJpeg(depth);
  const auto bytes = std::as_bytes(std::span(depth.metres));
  return split::EncodeRows(MapType(depth.width, depth.height), kHalfCodec, {bytes.begin(), bytes.end()});
}

absl::StatusOr<scene::DepthMap> DecodeDepth(std::vector<std::byte> bytes, DepthCoding coding, int width, int height) {
  if (coding == DepthCoding::kJpeg) return DepthOfJpeg(bytes, width, height);
  const graph::TensorType type = MapType(width, height);
  WHARF_RETURN_IF_ERROR(split::CheckCodedBytes(type, kHalfCodec, bytes.size()));
  WHARF_ASSIGN_OR_RETURN(const std::vector<std::byte> plain, split::DecodeRows(type, kHalfCodec, std::move(bytes)));
  scene::DepthMap depth{width, height, std::vector<float>(plain.size() / sizeof(float))};
  std::memcpy(depth.metres.data(), plain.data(), plain.size());
  const bool sane = std::ranges::all_of(depth.metres, [](float z) { return std::isfinite(z) && z >= 0; });
  if (!sane) return InvalidArgument("a depth map with distances that are none");
  return depth;
}

std::vector<std::byte> EncodeBoxes(std::span<const scene::Box> boxes) {
  std::vector<WireBox> wire;
  for (const scene::Box& box : boxes.first(std::min(boxes.size(), kMaxBoxes)))
    wire.push_back({box.left, box.top, box.right, box.bottom, box.score, box.object_class});
  return EncodeList(wire);
}

absl::StatusOr<std::vector<scene::Box>> DecodeBoxes(std::span<const std::byte> bytes) {
  const auto wire = DecodeList<WireBox>(bytes);
  if (!wire.ok() || wire->size() > kMaxBoxes || !std::ranges::all_of(*wire, &WireBox::Sane))
    return InvalidArgument("the boxes are malformed");
  std::vector<scene::Box> boxes;
  for (const WireBox& box : *wire)
    boxes.push_back({box.left, box.top, box.right, box.bottom, box.object_class, box.score});
  return boxes;
}

std::vector<std::byte> EncodeMotion(const Motion& motion) {
  WireMotion wire;
  wire.from = motion.from;
  Eigen::Map<Eigen::Vector4d>(wire.rotation.data()) = motion.estimate.motion.rotation.coeffs();
  Eigen::Map<Eigen::Vector3d>(wire.position.data()) = motion.estimate.motion.position;
  Eigen::Map<track::Matrix6>(wire.covariance.data()) = motion.estimate.covariance;
  wire.inliers = motion.estimate.inliers;
  return wire::Encode(wire);
}

absl::Status CheckOutputs(std::span<const graph::TensorType> outputs) {
  if (outputs.size() > kMaxOutputs)
    return InvalidArgument("{} outputs: at most {} travel", outputs.size(), kMaxOutputs);
  int64_t bytes = 0;
  for (const graph::TensorType& output : outputs) {
    WHARF_RETURN_IF_ERROR(graph::Validate(output));
    bytes += output.Bytes();
    if (bytes > kMaxOutputBytes)
      return InvalidArgument("outputs of more than {} MiB, up to {}", kMaxOutputBytes >> 20, output.Text());
  }
  return absl::OkStatus();
}

std::vector<std::byte> EncodeOutputs(std::span<const graph::Constant> outputs) {
  WireOutputs wire;
  for (const graph::Constant& output : outputs) {
    wire.outputs.push_back({output.type.element, output.type.shape,
                            split::EncodeRows(output.type, kExactCodec, std::vector<std::byte>(*output.bytes))});
  }
  return wire::Encode(wire);
}

absl::StatusOr<std::vector<graph::Constant>> DecodeOutputs(std::span<const std::byte> bytes) {
  WHARF_ASSIGN_OR_RETURN(WireOutputs wire, DecodeHead<WireOutputs>(bytes, "a model's answer"));
  std::vector<graph::TensorType> types;
  for (WireOutput& output : wire.outputs) {
    if (output.element > graph::ElementType::kBool) return InvalidArgument("an output of an unknown type");
    types.push_back({output.element, std::move(output.shape)});
  }
  WHARF_RETURN_IF_ERROR(CheckOutputs(types));  // before memory is taken for any
  std::vector<graph::Constant> outputs;
  for (size_t i = 0; i < types.size(); ++i) {
    WHARF_ASSIGN_OR_RETURN(std::vector<std::byte> plain,
                           split::DecodeRows(types[i], kExactCodec, std::move(wire.outputs[i].bytes)));
    outputs.push_back({std::move(types[i]), std::make_shared<const std::vector<std::byte>>(std::move(plain))});
  }
  return outputs;
}

absl::StatusOr<Motion> DecodeMotion(std::span<const std::byte> bytes) {
  const auto wire = wire::Decode<WireMotion>(bytes);
  if (!wire.ok() || !AllFinite(wire->rotation) || !AllFinite(wire->position) || !AllFinite(wire->covariance))
    return InvalidArgument("the motion is malformed");
  if (!wire->metric) return InvalidArgument("a motion without a scale");
  Motion motion{.from = wire->from};
  const Eigen::Quaterniond rotation(Eigen::Map<const Eigen::Vector4d>(wire->rotation.data()));
  if (std::abs(rotation.norm() - 1) > 1e-6) return InvalidArgument("the motion's rotation is none");
  motion.estimate.motion = {rotation, Eigen::Map<const Eigen::Vector3d>(wire->position.data())};
  motion.estimate.covariance = Eigen::Map<const track::Matrix6>(wire->covariance.data());
  if (!IsCovariance(motion.estimate.covariance)) return InvalidArgument("the motion's covariance is none");
  motion.estimate.inliers = wire->inliers;
  return motion;
}

}  // namespace wharf::ar
