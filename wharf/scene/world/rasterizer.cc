#include "wharf/scene/world/rasterizer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "wharf/scene/world/products.h"

namespace wharf::scene {
namespace {

using Eigen::Vector3f;

constexpr float kNear = 0.12f;  // metres

// What of a polygon lies beyond the near plane. Returns its number of corners.
int ClipNear(const Vector3f* from, int count, Vector3f* to) {
  int kept = 0;
  for (int i = 0; i < count; ++i) {
    const Vector3f &a = from[i], &b = from[(i + 1) % count];
    const bool a_in = a.z() >= kNear, b_in = b.z() >= kNear;
    if (a_in) to[kept++] = a;
    if (a_in != b_in) to[kept++] = a + (b - a) * ((kNear - a.z()) / (b.z() - a.z()));
  }
  return kept;
}

// The plane normal.dot(p) = distance in camera coordinates, as 1 / z over samples.
Vector3f InverseDepth(const Intrinsics& camera, const Vector3f& normal, float distance) {
  const Vector3f n = normal / distance;
  const auto fx = static_cast<float>(camera.fx), fy = static_cast<float>(camera.fy);
  const auto cx = static_cast<float>(camera.cx), cy = static_cast<float>(camera.cy);
  return {n.x() / fx, n.y() / fy, n.z() - n.x() * cx / fx - n.y() * cy / fy};
}

// Samples from first to last, exclusive, of a row: 1 / z is a * x + b. Written for vector instructions: no branches.
void KeepNearer(int first, int last, float a, float b, uint32_t number, float* __restrict depths,
                uint32_t* __restrict numbers) {
  for (int x = first; x < last; ++x) {
    const float here = a * static_cast<float>(x) + b, there = depths[x];
    const uint32_t before = numbers[x];
    const uint32_t nearer = here > there ? ~0u : 0u;
    depths[x] = std::max(there, here);
    numbers[x] = before ^ ((before ^ number) & nearer);
  }
}

// Whether all corners are beyond one side of what the camera sees.
bool OutOfView(const Intrinsics& camera, const std::array<Vector3f, 8>& corners) {
  const auto left = static_cast<float>((-camera.cx - 1) / camera.fx);
  const auto right = static_cast<float>((camera.width - camera.cx) / camera.fx);
  const auto top = static_cast<float>((-camera.cy - 1) / camera.fy);
  const auto bottom = static_cast<float>((camera.height - camera.cy) / camera.fy);
  std::array<int, 6> beyond{};
  for (const Vector3f& p : corners) {
    beyond[0] += p.z() < kNear;
    beyond[1] += p.x() < left * p.z();
    beyond[2] += p.x() > right * p.z();
    beyond[3] += p.y() < top * p.z();
    beyond[4] += p.y() > bottom * p.z();
    beyond[5] += p.z() > kFarthest;
  }
  return std::any_of(beyond.begin(), beyond.end(), [](int count) { return count == 8; });
}

}  // namespace

View::View(const Intrinsics& intrinsics, const Pose& pose)
    : camera(intrinsics),
      to_camera(pose.rotation.toRotationMatrix().transpose().cast<float>()),
      position(pose.position.cast<float>()) {}

Rasterizer::Rasterizer(const View& view, float horizon_m) : view_(view) {
  const auto width = static_cast<size_t>(view.camera.width), height = static_cast<size_t>(view.camera.height);
  inverse_depths_.assign(width * height, 0);
  numbers_.assign(width * height, kSkySurface);
  shadows_.assign(width * height, 0);
  spans_.resize(height);
  surfaces_.reserve(8192);
  surfaces_.emplace_back();

  Face ground;
  ground.corners[0] = Vector3f::Zero();
  ground.normal = Vector3f::UnitZ();
  ground.u_axis = Vector3f::UnitX();
  ground.v_axis = Vector3f::UnitY();
  Surface surface = MakeSurface(ground, Times(view.to_camera, -view.position));
  const float beyond = 1 / horizon_m;
  for (size_t y = 0; y < height; ++y) {
    const float a = surface.inverse_depth.x();
    const float b = surface.inverse_depth.y() * static_cast<float>(y) + surface.inverse_depth.z();
    float* depth = &inverse_depths_[y * width];
    uint32_t* number = &numbers_[y * width];
    for (size_t x = 0; x < width; ++x) {
      const float here = a * static_cast<float>(static_cast<int>(x)) + b;
      depth[x] = here > beyond ? here : 0;
      number[x] = here > beyond ? kGroundSurface : kSkySurface;
    }
  }
  surfaces_.push_back(surface);
}

Surface Rasterizer::MakeSurface(const Face& face, const Vector3f& corner) const {
  const Vector3f normal = Times(view_.to_camera, face.normal), u = Times(view_.to_camera, face.u_axis),
                 v = Times(view_.to_camera, face.v_axis);
  Surface surface;
  surface.inverse_depth = InverseDepth(view_.camera, normal, Dot(normal, corner));
  surface.u_numerator = InverseDepth(view_.camera, u, 1);
  surface.v_numerator = InverseDepth(view_.camera, v, 1);
  surface.u = face.u - Dot(u, corner);
  surface.v = face.v - Dot(v, corner);
  surface.material = face.material;
  return surface;
}

void Rasterizer::AddEdge(double x0, double y0, double x1, double y1) {
  if (y0 > y1) {  // one direction, so that neighbours agree to the last bit
    std::swap(x0, x1);
    std::swap(y0, y1);
  }
  const int first = std::max(top_, static_cast<int>(std::ceil(std::clamp(y0, -1.0, 1e6))));
  const int last = std::min(bottom_, static_cast<int>(std::ceil(std::clamp(y1, -1.0, 1e6))));
  const double slope = (x1 - x0) / (y1 - y0);
  for (int y = first; y < last; ++y) {
    const double x = x0 + (y - y0) * slope;
    Span& span = spans_[static_cast<size_t>(y)];
    span.left = std::min(span.left, x);
    span.right = std::max(span.right, x);
  }
}

bool Rasterizer::Project(const Vector3f* corners, int count) {
  std::array<double, 8> x, y;
  double left = 1e9, right = -1e9, top = 1e9, bottom = -1e9;
  const Intrinsics& camera = view_.camera;
  for (int i = 0; i < count; ++i) {
    const auto at = static_cast<size_t>(i);
    const double z = corners[i].z();
    x[at] = corners[i].x() / z * camera.fx + camera.cx;
    y[at] = corners[i].y() / z * camera.fy + camera.cy;
    left = std::min(left, x[at]);
    right = std::max(right, x[at]);
    top = std::min(top, y[at]);
    bottom = std::max(bottom, y[at]);
  }
  if (right < 0 || left > camera.width - 1 || bottom < 0 || top > camera.height - 1) return false;
  top_ = std::max(0, static_cast<int>(std::ceil(top)));
  bottom_ = std::min(camera.height, static_cast<int>(std::ceil(std::min(bottom, 1e6))));
  if (top_ >= bottom_) return false;
  for (int row = top_; row < bottom_; ++row) spans_[static_cast<size_t>(row)] = {1e9, -1e9};
  for (int i = 0; i < count; ++i) {
    const auto a = static_cast<size_t>(i), b = static_cast<size_t>((i + 1) % count);
    AddEdge(x[a], y[a], x[b], y[b]);
  }
  return true;
}

void Rasterizer::FillFace(const Surface& surface) {
  const auto number = static_cast<uint32_t>(surfaces_.size());
  surfaces_.push_back(surface);
  const float a = surface.inverse_depth.x();
  for (int y = top_; y < bottom_; ++y) {
    const Span& span = spans_[static_cast<size_t>(y)];
    const int first = static_cast<int>(std::ceil(std::clamp(span.left, 0.0, 1e6)));
    const int last = std::min(view_.camera.width, static_cast<int>(std::ceil(std::clamp(span.right, 0.0, 1e6))));
    const float b = surface.inverse_depth.y() * static_cast<float>(y) + surface.inverse_depth.z();
    const auto row = static_cast<size_t>(y) * static_cast<size_t>(view_.camera.width);
    float* depth = &inverse_depths_[row];
    uint32_t* numbers = &numbers_[row];
    KeepNearer(first, last, a, b, number, depth, numbers);
  }
}

void Rasterizer::FillShadow() {
  for (int y = top_; y < bottom_; ++y) {
    const Span& span = spans_[static_cast<size_t>(y)];
    const int first = static_cast<int>(std::ceil(std::clamp(span.left, 0.0, 1e6)));
    const int last = std::min(view_.camera.width, static_cast<int>(std::ceil(std::clamp(span.right, 0.0, 1e6))));
    uint8_t* row = &shadows_[static_cast<size_t>(y) * static_cast<size_t>(view_.camera.width)];
    if (first < last) std::fill(row + first, row + last, uint8_t{1});
  }
}

// Whether all samples of a rectangle, its ends exclusive, show what is nearer.
bool Rasterizer::AllNearer(int left, int top, int right, int bottom, float inverse_depth) const {
  for (int y = top; y < bottom; ++y) {
    const float* row = &inverse_depths_[static_cast<size_t>(y) * static_cast<size_t>(view_.camera.width)];
    int farther = 0;
    for (int x = left; x < right; ++x) farther += row[x] <= inverse_depth;
    if (farther > 0) return false;
  }
  return true;
}

bool Rasterizer::MayBeSeen(const Vector3f& low, const Vector3f& high) const {
  const Intrinsics& camera = view_.camera;
  std::array<Vector3f, 8> corners;
  for (size_t i = 0; i < corners.size(); ++i) {
    const Vector3f corner((i & 1) != 0 ? low.x() : high.x(), (i & 2) != 0 ? low.y() : high.y(),
                          (i & 4) != 0 ? low.z() : high.z());
    corners[i] = Times(view_.to_camera, corner - view_.position);
  }
  if (OutOfView(camera, corners)) return false;
  float nearest = std::numeric_limits<float>::max();
  double left = 1e9, right = -1e9, top = 1e9, bottom = -1e9;
  for (const Vector3f& p : corners) {
    nearest = std::min(nearest, p.z());
    const double x = p.x() / p.z() * camera.fx + camera.cx, y = p.y() / p.z() * camera.fy + camera.cy;
    left = std::min(left, x);
    right = std::max(right, x);
    top = std::min(top, y);
    bottom = std::max(bottom, y);
  }
  if (nearest < kNear) return true;  // around the camera: what it hides behind is not looked for
  const auto within = [](double x, int end) { return static_cast<int>(std::clamp(x, 0.0, static_cast<double>(end))); };
  return !AllNearer(within(left, camera.width), within(top, camera.height), within(right + 2, camera.width),
                    within(bottom + 2, camera.height), 1 / nearest);
}

void Rasterizer::Draw(const Face& face, const Tint& light, const Tint& tint, uint32_t object) {
  if (Dot(face.normal, view_.position - face.corners[0]) <= 1e-4f) return;  // seen from behind
  std::array<Vector3f, 4> corners;
  std::array<Vector3f, 8> kept;
  for (int i = 0; i < face.count; ++i) {
    const auto at = static_cast<size_t>(i);
    corners[at] = Times(view_.to_camera, face.corners[at] - view_.position);
  }
  const int count = ClipNear(corners.data(), face.count, kept.data());
  if (count < 3 || !Project(kept.data(), count)) return;
  Surface surface = MakeSurface(face, corners[0]);
  surface.light = light;
  surface.tint = face.painted ? tint : face.tint;
  surface.object = object;
  FillFace(surface);
}

void Rasterizer::DrawShadow(const std::vector<Eigen::Vector2f>& polygon) {
  constexpr size_t kMost = 6;
  std::array<Vector3f, kMost> corners;
  std::array<Vector3f, 2 * kMost> kept;
  const size_t count = std::min(kMost, polygon.size());
  for (size_t i = 0; i < count; ++i) {
    corners[i] = Times(view_.to_camera, Vector3f(polygon[i].x(), polygon[i].y(), 0) - view_.position);
  }
  const int left = ClipNear(corners.data(), static_cast<int>(count), kept.data());
  if (left >= 3 && Project(kept.data(), left)) FillShadow();
}

}  // namespace wharf::scene
