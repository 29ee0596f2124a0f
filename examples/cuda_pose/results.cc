#include "examples/cuda_pose/results.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <stdexcept>

namespace pose {
namespace {

bool Near(const Pose& a, const Pose& b) {
  constexpr float kPixels = 0.5f;
  if (std::fabs(a.score - b.score) > 0.01f || std::fabs(a.x0 - b.x0) > kPixels || std::fabs(a.y1 - b.y1) > kPixels ||
      std::fabs(a.x1 - b.x1) > kPixels || std::fabs(a.y0 - b.y0) > kPixels)
    return false;
  for (size_t j = 0; j < size_t(kJoints); ++j)
    if (std::fabs(a.joints[j].x - b.joints[j].x) > kPixels || std::fabs(a.joints[j].y - b.joints[j].y) > kPixels)
      return false;
  return true;
}

void Print(const Detections& detections) {
  for (const Pose& pose : detections.poses) {
    const auto seen =
        std::count_if(pose.joints.begin(), pose.joints.end(), [](const Keypoint& k) { return k.mass > 0; });
    std::printf("person %.3f box %.0f,%.0f,%.0f,%.0f joints %d/%d", double(pose.score), double(pose.x0),
                double(pose.y0), double(pose.x1), double(pose.y1), int(seen), kJoints);
    for (size_t joint = 0; joint < size_t(kJoints); ++joint)
      if (pose.joints[joint].mass > 0)
        std::printf("%s %s %.0f,%.0f", joint ? "," : ":", kJointNames[joint], double(pose.joints[joint].x),
                    double(pose.joints[joint].y));
    std::printf("\n");
  }
  std::printf("%zu people, %zu single joints\n", detections.poses.size(), detections.keypoints.size());
}

void PrintLatencies(const std::vector<double>& latencies_ms) {
  if (latencies_ms.empty()) return;
  std::vector<double> sorted = latencies_ms;
  std::sort(sorted.begin(), sorted.end());
  std::fprintf(stderr, "%zu inferences: first %.2f ms, median %.2f ms\n", sorted.size(), latencies_ms[0],
               sorted[sorted.size() / 2]);
}

void WriteJson(const std::string& path, const std::string& program, const std::vector<double>& latencies_ms,
               const Detections& detections) {
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (!file) throw std::runtime_error(path + ": cannot be written");
  std::fprintf(file, "{\n  \"program\": \"%s\",\n  \"inferences\": %zu,\n  \"latency_ms\": [", program.c_str(),
               latencies_ms.size());
  for (size_t i = 0; i < latencies_ms.size(); ++i) std::fprintf(file, "%s%.4f", i ? ", " : "", latencies_ms[i]);
  std::fprintf(file, "],\n  \"people\": %zu,\n  \"keypoints\": %zu,\n  \"scores\": [", detections.poses.size(),
               detections.keypoints.size());
  for (size_t i = 0; i < detections.poses.size(); ++i)
    std::fprintf(file, "%s%.6f", i ? ", " : "", double(detections.poses[i].score));
  std::fprintf(file, "]\n}\n");
  if (std::fclose(file) != 0) throw std::runtime_error(path + ": cannot be written");
}

}  // namespace

void Deliver(const Destinations& to, const std::vector<double>& latencies_ms, const Detections& detections,
             Image* picture) {
  Print(detections);
  PrintLatencies(latencies_ms);
  if (!to.json.empty()) WriteJson(to.json, to.program, latencies_ms, detections);
  if (to.picture.empty()) return;
  Annotate(detections, picture);
  WritePng(to.picture, *picture);
  std::printf("wrote %s\n", to.picture.c_str());
}

bool SameDetections(const Detections& got, const Detections& want) {
  if (got.poses.size() != want.poses.size() || got.keypoints.size() != want.keypoints.size()) {
    std::printf("check: another number of detections than the CPU's\n");
    return false;
  }
  bool same = true;
  for (const Pose& expected : want.poses) {
    if (std::any_of(got.poses.begin(), got.poses.end(), [&](const Pose& p) { return Near(p, expected); })) continue;
    std::printf("check: no match for the CPU's person at %.1f,%.1f\n", double(expected.x0), double(expected.y0));
    same = false;
  }
  return same;
}

}  // namespace pose
