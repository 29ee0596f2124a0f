// Finds people and their joints in a picture. See README.md.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include "examples/cuda_pose/detector.h"
#include "examples/cuda_pose/reference.h"

namespace pose {
namespace {

struct Options {
  std::string image = "scene.png", output, json;
  int inferences = 10;
  bool check = false, profile = false, cpu = false;
};

constexpr char kUsage[] =
    "usage: cuda_pose [--image IN.png] [--output OUT.png] [--inferences N] [--json FILE] [--check] [--profile] "
    "[--cpu]\n"
    "  --image       picture to look at (default scene.png)\n"
    "  --output      write the picture with boxes, skeletons and scores\n"
    "  --inferences  how often to run the network (default 10)\n"
    "  --json        write the latency of every inference, and the detections\n"
    "  --check       compare every layer and the detections with this program's own CPU code\n"
    "  --profile     print what each inference asked of CUDA\n"
    "  --cpu         the CPU code only; no CUDA call is made\n";

Options ParseOptions(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    const auto value = [&]() -> std::string {
      if (i + 1 >= argc) throw std::runtime_error(name + " needs a value\n" + kUsage);
      return argv[++i];
    };
    if (name == "--image")
      options.image = value();
    else if (name == "--output")
      options.output = value();
    else if (name == "--json")
      options.json = value();
    else if (name == "--inferences")
      options.inferences = std::atoi(value().c_str());
    else if (name == "--check")
      options.check = true;
    else if (name == "--profile")
      options.profile = true;
    else if (name == "--cpu")
      options.cpu = true;
    else
      throw std::runtime_error((name == "--help" ? "" : "unknown option " + name + "\n") + kUsage);
  }
  if (options.inferences < 1 || options.inferences > 1000000)
    throw std::runtime_error("--inferences wants a number from 1 to 1000000");
  return options;
}

void Print(const Detections& detections) {
  for (const Pose& pose : detections.poses) {
    const auto seen =
        std::count_if(pose.joints.begin(), pose.joints.end(), [](const Keypoint& k) { return k.mass > 0; });
    std::printf("person %.3f box %.0f,%.0f,%.0f,%.0f joints %d/%d", double(pose.score), double(pose.x0),
                double(pose.y0), double(pose.x1), double(pose.y1), int(seen), kJoints);
    for (int joint = 0; joint < kJoints; ++joint)
      if (pose.joints[joint].mass > 0)
        std::printf("%s %s %.0f,%.0f", joint ? "," : ":", kJointNames[joint], double(pose.joints[joint].x),
                    double(pose.joints[joint].y));
    std::printf("\n");
  }
  std::printf("%zu people, %zu single joints\n", detections.poses.size(), detections.keypoints.size());
}

void WriteJson(const std::string& path, const std::vector<double>& latencies_ms, const Detections& detections) {
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (!file) throw std::runtime_error(path + ": cannot be written");
  std::fprintf(file, "{\n  \"program\": \"cuda_pose\",\n  \"inferences\": %zu,\n  \"latency_ms\": [",
               latencies_ms.size());
  for (size_t i = 0; i < latencies_ms.size(); ++i) std::fprintf(file, "%s%.4f", i ? ", " : "", latencies_ms[i]);
  std::fprintf(file, "],\n  \"people\": %zu,\n  \"keypoints\": %zu,\n  \"scores\": [", detections.poses.size(),
               detections.keypoints.size());
  for (size_t i = 0; i < detections.poses.size(); ++i)
    std::fprintf(file, "%s%.6f", i ? ", " : "", double(detections.poses[i].score));
  std::fprintf(file, "]\n}\n");
  if (std::fclose(file) != 0) throw std::runtime_error(path + ": cannot be written");
}

// The result of every layer of one inference, and whether it agrees with the CPU's.
class Checker {
 public:
  Checker(Runtime& runtime, const Trace& expected) : runtime_(runtime), expected_(expected) {}

  void Observe(const std::string& name, const DeviceTensor& result) {
    const auto found = std::find_if(expected_.begin(), expected_.end(), [&](const auto& e) { return e.first == name; });
    if (found == expected_.end()) return Fail(name + ": not in the reference");
    const std::vector<float>& want = found->second.data;
    const std::vector<float> got = ToHost(runtime_, result, result.Size());
    ++layers_;
    if (got.size() != want.size()) return Fail(name + ": wrong shape");
    float scale = 1e-6f, worst = 0;
    for (float v : want) scale = std::max(scale, std::fabs(v));
    for (size_t i = 0; i < want.size(); ++i) {
      const float error = std::fabs(got[i] - want[i]) / scale;
      worst = std::isfinite(got[i]) ? std::max(worst, error) : 1e30f;
    }
    worst_ = std::max(worst_, worst);
    if (worst > kTolerance) Fail(name + ": differs from the CPU by " + std::to_string(worst) + " of its largest value");
  }

  void Compare(const Detections& got, const Detections& want) {
    if (got.poses.size() != want.poses.size() || got.keypoints.size() != want.keypoints.size())
      return Fail("another number of detections than the CPU's");
    for (const Pose& expected : want.poses) {
      const bool matched =
          std::any_of(got.poses.begin(), got.poses.end(), [&](const Pose& p) { return Near(p, expected); });
      if (!matched)
        Fail("no match for the CPU's person at " + std::to_string(expected.x0) + "," + std::to_string(expected.y0));
    }
  }

  bool Report() const {
    std::printf(
        "check: %d layers and the detections %s the CPU's, largest difference %.2g of a layer's largest value\n",
        layers_, ok_ ? "agree with" : "DIFFER from", double(worst_));
    return ok_;
  }

 private:
  static constexpr float kTolerance = 1e-3f;
  static bool Near(const Pose& a, const Pose& b) {
    constexpr float kPixels = 0.5f;
    if (std::fabs(a.score - b.score) > 0.01f || std::fabs(a.x0 - b.x0) > kPixels || std::fabs(a.y1 - b.y1) > kPixels ||
        std::fabs(a.x1 - b.x1) > kPixels || std::fabs(a.y0 - b.y0) > kPixels)
      return false;
    for (int j = 0; j < kJoints; ++j)
      if (std::fabs(a.joints[j].x - b.joints[j].x) > kPixels || std::fabs(a.joints[j].y - b.joints[j].y) > kPixels)
        return false;
    return true;
  }
  void Fail(const std::string& what) {
    std::printf("check: %s\n", what.c_str());
    ok_ = false;
  }

  Runtime& runtime_;
  const Trace& expected_;
  int layers_ = 0;
  float worst_ = 0;
  bool ok_ = true;
};

void PrintProfile(int inference, const CallCounts& now, const CallCounts& before) {
  std::printf(
      "inference %d: %lld calls: %lld launches, %lld gemms, %lld cudaGetDevice, %lld cudaGetLastError, %lld H2D, "
      "%lld D2H, %lld D2D, %lld synchronisations, %lld allocations, %lld other\n",
      inference, (long long)(now.Total() - before.Total()), (long long)(now.launches - before.launches),
      (long long)(now.gemms - before.gemms), (long long)(now.get_device - before.get_device),
      (long long)(now.get_last_error - before.get_last_error), (long long)(now.host_to_device - before.host_to_device),
      (long long)(now.device_to_host - before.device_to_host),
      (long long)(now.device_to_device - before.device_to_device), (long long)(now.synchronise - before.synchronise),
      (long long)(now.allocations - before.allocations), (long long)(now.other - before.other));
}

bool CheckAgainstCpu(Runtime& runtime, Detector& detector, const Network& network, const Image& input,
                     const Letterbox& letterbox) {
  Trace trace;
  const Detections expected = InferOnCpu(network, input, letterbox, &trace);
  Checker checker(runtime, trace);
  detector.ops().set_observer([&](const std::string& name, const DeviceTensor& t) { checker.Observe(name, t); });
  checker.Compare(detector.Infer(input, letterbox), expected);
  detector.ops().set_observer(nullptr);
  return checker.Report();
}

int Run(const Options& options) {
  Image picture = ReadPng(options.image);
  Letterbox letterbox;
  const Image input = FitToInput(picture, &letterbox);
  const Network network = BuildNetwork();
  std::vector<double> latencies_ms;
  Detections detections;
  bool ok = true;
  const auto timed = [&](const auto& infer) {
    const auto start = std::chrono::steady_clock::now();
    detections = infer();
    latencies_ms.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  };
  if (options.cpu) {
    for (int i = 0; i < options.inferences; ++i) timed([&] { return InferOnCpu(network, input, letterbox, nullptr); });
  } else {
    Runtime runtime;
    Detector detector(runtime, network);
    for (int i = 0; i < options.inferences; ++i) {
      const CallCounts before = runtime.counts();
      timed([&] { return detector.Infer(input, letterbox); });
      if (options.profile) PrintProfile(i, runtime.counts(), before);
    }
    if (options.check) ok = CheckAgainstCpu(runtime, detector, network, input, letterbox);
  }
  Print(detections);
  std::vector<double> sorted = latencies_ms;
  std::sort(sorted.begin(), sorted.end());
  std::fprintf(stderr, "%d inferences: first %.2f ms, median %.2f ms\n", options.inferences, latencies_ms[0],
               sorted[sorted.size() / 2]);
  if (!options.json.empty()) WriteJson(options.json, latencies_ms, detections);
  if (!options.output.empty()) {
    Annotate(detections, &picture);
    WritePng(options.output, picture);
    std::printf("wrote %s\n", options.output.c_str());
  }
  return ok ? 0 : 1;
}

}  // namespace
}  // namespace pose

int main(int argc, char** argv) {
  try {
    return pose::Run(pose::ParseOptions(argc, argv));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "cuda_pose: %s\n", error.what());
    return 2;
  }
}
