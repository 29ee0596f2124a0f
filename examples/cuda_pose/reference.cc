#include "examples/cuda_pose/reference.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace pose {
namespace {

// out[...] += weight * x shifted by (dy, dx), within bounds.
void Accumulate(const Conv& conv, const float* plane, int h, int w, int dy, int dx, float weight, float* out, int out_h,
                int out_w) {
  for (int oy = 0; oy < out_h; ++oy) {
    const int iy = oy * conv.stride + dy;
    if (iy < 0 || iy >= h) continue;
    const float* row = plane + size_t(iy) * w;
    float* target = out + size_t(oy) * out_w;
    int first = 0, last = out_w;
    while (first < out_w && first * conv.stride + dx < 0) ++first;
    while (last > first && (last - 1) * conv.stride + dx >= w) --last;
    if (conv.stride == 1)
      for (int ox = first; ox < last; ++ox) target[ox] += weight * row[ox + dx];
    else
      for (int ox = first; ox < last; ++ox) target[ox] += weight * row[ox * conv.stride + dx];
  }
}

void NormaliseAndActivate(const Conv& conv, int channel, float* plane, size_t size) {
  const float scale = conv.inverse_deviation[channel] * conv.gamma[channel];
  for (size_t i = 0; i < size; ++i) {
    const float y = (plane[i] - conv.mean[channel]) * scale + conv.beta[channel];
    plane[i] = conv.is_output ? y : y / (1 + std::exp(-y));
  }
}

float Sigmoid(float x) { return 1 / (1 + std::exp(-x)); }

float Iou(const Pose& a, const Pose& b) {
  const float w = std::min(a.x1, b.x1) - std::max(a.x0, b.x0), h = std::min(a.y1, b.y1) - std::max(a.y0, b.y0);
  const float overlap = std::max(0.0f, w) * std::max(0.0f, h);
  return overlap / ((a.x1 - a.x0) * (a.y1 - a.y0) + (b.x1 - b.x0) * (b.y1 - b.y0) - overlap);
}

bool SamePerson(const Pose& a, const Pose& b) {
  int shared = 0;
  for (int joint = 0; joint < kJoints; ++joint) {
    const Keypoint &p = a.joints[joint], &q = b.joints[joint];
    if (p.mass > 0 && q.mass > 0 && std::hypot(p.x - q.x, p.y - q.y) < kFuseRadius) ++shared;
  }
  return shared >= kSharedJoints || Iou(a, b) > kIouThreshold;
}

Keypoint DecodeJoint(const HostTensor& map, int channel, int cell, int stride) {
  const size_t plane = size_t(map.height) * map.width;
  const float mass = map.data[channel * plane + cell];
  if (mass < kVisibleMass) return {};
  const float centre_x = (float(cell % map.width) + 0.5f) * float(stride);
  const float centre_y = (float(cell / map.width) + 0.5f) * float(stride);
  return {centre_x + kOffsetUnit * map.data[(channel + 1) * plane + cell] / mass,
          centre_y + kOffsetUnit * map.data[(channel + 2) * plane + cell] / mass, mass};
}

void DecodeLevel(const HostTensor& map, int stride, std::vector<Pose>* candidates) {
  for (int cell = 0; cell < map.height * map.width; ++cell) {
    Pose pose;
    pose.score = Sigmoid(map.data[cell]);
    if (pose.score <= kScoreThreshold) continue;
    pose.x0 = pose.y0 = 1e9f, pose.x1 = pose.y1 = -1e9f;
    for (int joint = 0; joint < kJoints; ++joint) {
      const Keypoint point = pose.joints[joint] = DecodeJoint(map, 1 + 3 * joint, cell, stride);
      if (point.mass <= 0) continue;
      pose.x0 = std::min(pose.x0, point.x), pose.x1 = std::max(pose.x1, point.x);
      pose.y0 = std::min(pose.y0, point.y), pose.y1 = std::max(pose.y1, point.y);
    }
    const float margin_x = kBoxMargin * (pose.x1 - pose.x0), margin_y = kBoxMargin * (pose.y1 - pose.y0);
    pose.x0 -= margin_x, pose.x1 += margin_x, pose.y0 -= margin_y, pose.y1 += margin_y;
    if (candidates->size() < kMaxCandidates) candidates->push_back(pose);
  }
}

std::vector<KeypointObject> DecodeKeypoints(const HostTensor& map) {
  std::vector<KeypointObject> found;
  const int stride = kStrides[0];
  for (int joint = 0; joint < kJoints; ++joint)
    for (int cell = 0; cell < map.height * map.width; ++cell) {
      const Keypoint point = DecodeJoint(map, 3 * joint, cell, stride);
      if (point.mass < 0.5f || point.mass > 1.5f) continue;
      if (int(std::floor(point.x / stride)) != cell % map.width) continue;
      if (int(std::floor(point.y / stride)) != cell / map.width) continue;
      if (found.size() < kMaxKeypointObjects) found.push_back({joint, point.x, point.y, point.mass});
    }
  return found;
}

std::vector<Pose> Suppress(std::vector<Pose> candidates) {
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Pose& a, const Pose& b) { return a.score > b.score; });
  std::vector<Pose> kept;
  for (const Pose& candidate : candidates) {
    const bool covered = std::any_of(kept.begin(), kept.end(), [&](const Pose& k) { return SamePerson(k, candidate); });
    if (!covered && kept.size() < kMaxPoses) kept.push_back(candidate);
  }
  return kept;
}

void Fuse(const std::vector<KeypointObject>& objects, Pose* pose) {
  for (int joint = 0; joint < kJoints; ++joint) {
    Keypoint& point = pose->joints[joint];
    if (point.mass <= 0) continue;
    float nearest = kFuseRadius * kFuseRadius;
    Keypoint moved = point;
    for (const KeypointObject& object : objects) {
      const float dx = object.x - point.x, dy = object.y - point.y;
      if (object.joint != joint || dx * dx + dy * dy >= nearest) continue;
      nearest = dx * dx + dy * dy;
      moved = {object.x, object.y, object.mass};
    }
    point = moved;
  }
}

}  // namespace

HostTensor ReferenceOps::Convolve(const Conv& conv, const HostTensor& x) {
  HostTensor out{conv.out, conv.OutH(x.height), conv.OutW(x.width), {}};
  const size_t in_plane = size_t(x.height) * x.width, out_plane = size_t(out.height) * out.width;
  out.data.assign(conv.out * out_plane, 0.0f);
  for (int o = 0; o < conv.out; ++o) {
    float* target = &out.data[o * out_plane];
    const float* weight = &conv.weight[size_t(o) * conv.in * conv.kernel_h * conv.kernel_w];
    for (int i = 0; i < conv.in; ++i)
      for (int ky = 0; ky < conv.kernel_h; ++ky)
        for (int kx = 0; kx < conv.kernel_w; ++kx) {
          const float w = weight[(i * conv.kernel_h + ky) * conv.kernel_w + kx];
          if (w != 0)
            Accumulate(conv, &x.data[i * in_plane], x.height, x.width, ky * conv.dilation - conv.PadH(),
                       kx * conv.dilation - conv.PadW(), w, target, out.height, out.width);
        }
    NormaliseAndActivate(conv, o, target, out_plane);
  }
  if (trace_) trace_->emplace_back(conv.name, out);
  return out;
}

HostTensor ReferenceOps::Add(const HostTensor& a, const HostTensor& b) {
  HostTensor out = a;
  for (size_t i = 0; i < out.data.size(); ++i) out.data[i] += b.data[i];
  return out;
}

HostTensor ReferenceOps::Concat(const std::vector<HostTensor>& parts) {
  HostTensor out{0, parts[0].height, parts[0].width, {}};
  for (const HostTensor& part : parts) {
    out.channels += part.channels;
    out.data.insert(out.data.end(), part.data.begin(), part.data.end());
  }
  return out;
}

HostTensor ReferenceOps::Upsample2(const HostTensor& x) {
  HostTensor out{x.channels, 2 * x.height, 2 * x.width, {}};
  for (int c = 0; c < x.channels; ++c)
    for (int y = 0; y < out.height; ++y)
      for (int column = 0; column < out.width; ++column)
        out.data.push_back(x.data[(size_t(c) * x.height + y / 2) * x.width + column / 2]);
  return out;
}

HostTensor ReferenceOps::MaxPool5(const HostTensor& x) {
  HostTensor out = x;
  for (int c = 0; c < x.channels; ++c)
    for (int y = 0; y < x.height; ++y)
      for (int column = 0; column < x.width; ++column) {
        float best = -1e30f;
        for (int yy = std::max(0, y - 2); yy <= std::min(x.height - 1, y + 2); ++yy)
          for (int xx = std::max(0, column - 2); xx <= std::min(x.width - 1, column + 2); ++xx)
            best = std::max(best, x.data[(size_t(c) * x.height + yy) * x.width + xx]);
        out.data[(size_t(c) * x.height + y) * x.width + column] = best;
      }
  return out;
}

Detections InferOnCpu(const Network& net, const Image& input, const Letterbox& letterbox, Trace* trace) {
  HostTensor image{3, input.height, input.width, {}};
  const size_t plane = size_t(input.height) * input.width;
  image.data.resize(3 * plane);
  for (size_t i = 0; i < plane; ++i)
    for (int c = 0; c < 3; ++c) image.data[c * plane + i] = (float(input.rgb[3 * i + c]) / 255 - 0.5f) / 0.25f;

  ReferenceOps ops(trace);
  const NetworkOutput<HostTensor> output = RunNetwork(ops, net, image);
  std::vector<Pose> candidates;
  for (int level = 0; level < kLevels; ++level) DecodeLevel(output.pose[level], kStrides[level], &candidates);

  Detections detections;
  detections.keypoints = DecodeKeypoints(output.keypoints);
  detections.poses = Suppress(std::move(candidates));
  const auto to_picture_x = [&](float x) { return (x - letterbox.pad_x) / letterbox.scale; };
  const auto to_picture_y = [&](float y) { return (y - letterbox.pad_y) / letterbox.scale; };
  for (Pose& pose : detections.poses) {
    Fuse(detections.keypoints, &pose);
    for (Keypoint& point : pose.joints)
      if (point.mass > 0) point.x = to_picture_x(point.x), point.y = to_picture_y(point.y);
    pose.x0 = to_picture_x(pose.x0), pose.x1 = to_picture_x(pose.x1);
    pose.y0 = to_picture_y(pose.y0), pose.y1 = to_picture_y(pose.y1);
  }
  for (KeypointObject& object : detections.keypoints)
    object.x = to_picture_x(object.x), object.y = to_picture_y(object.y);
  return detections;
}

}  // namespace pose
