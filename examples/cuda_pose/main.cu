// Finds people and their joints in a picture. See README.md.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <stdexcept>

#include "examples/arguments.h"
#include "examples/cuda_pose/detector.h"
#include "examples/cuda_pose/reference.h"
#include "examples/cuda_pose/results.h"

namespace pose {
namespace {

struct Options {
  std::string image = "scene.png", frames, output, json;
  int inferences = 10, ready_after = -1;
  bool check = false, profile = false, cpu = false;
  Image (*move)(const Image&, int frame) = nullptr;
};

constexpr char kUsage[] =
    "usage: cuda_pose [--image IN.png] [--output OUT.png] [--inferences N] [--json FILE] [--check] [--profile] "
    "[--cpu] [--sway | --wander] [--frames FOLDER] [--ready-after N]\n"
    "  --image       picture to look at (default scene.png)\n"
    "  --output      write the picture with boxes, skeletons and scores\n"
    "  --inferences  how often to run the network (default 10; 0: load only)\n"
    "  --json        write the latency of every inference, and the detections\n"
    "  --check       compare every layer and the detections with this program's own CPU code\n"
    "  --profile     print what each inference asked of CUDA\n"
    "  --cpu         the CPU code only; no CUDA call is made\n"
    "  --sway        look at a picture that moves, so that every inference has other data\n"
    "  --wander      the same as a carried camera's: no picture comes again\n"
    "  --frames      look at the PNG files of FOLDER one after the other, in the order of their names, over and over\n"
    "  --ready-after after N inferences print \"ready\" and wait for a line on standard input, to be measured from "
    "there\n";

Options ParseOptions(int argc, char** argv) {
  Options options;
  for (Arguments words(argc, argv, kUsage); words.Next();) {
    if (words.Is("--image"))
      options.image = words.Value();
    else if (words.Is("--frames"))
      options.frames = words.Value();
    else if (words.Is("--output"))
      options.output = words.Value();
    else if (words.Is("--json"))
      options.json = words.Value();
    else if (words.Is("--inferences"))
      options.inferences = words.Number(0, 1000000);
    else if (words.Is("--ready-after"))
      options.ready_after = words.Number(0, 1000000);
    else if (words.Is("--check"))
      options.check = true;
    else if (words.Is("--profile"))
      options.profile = true;
    else if (words.Is("--cpu"))
      options.cpu = true;
    else if (words.Is("--sway"))
      options.move = Sway;
    else if (words.Is("--wander"))
      options.move = Wander;
    else
      words.Refuse();
  }
  return options;
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

  void Compare(const Detections& got, const Detections& want) { ok_ = SameDetections(got, want) && ok_; }

  bool Report() const {
    std::printf(
        "check: %d layers and the detections %s the CPU's, largest difference %.2g of a layer's largest value\n",
        layers_, ok_ ? "agree with" : "DIFFER from", double(worst_));
    return ok_;
  }

 private:
  static constexpr float kTolerance = 1e-3f;
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

// The PNG files of a folder. Throws std::runtime_error if there are none.
std::vector<std::string> FramesIn(const std::string& folder) {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".png") paths.push_back(entry.path().string());
  }
  if (paths.empty()) throw std::runtime_error(folder + ": no PNG files");
  std::sort(paths.begin(), paths.end());
  return paths;
}

int Run(const Options& options) {
  const std::vector<std::string> paths =
      options.frames.empty() ? std::vector<std::string>{options.image} : FramesIn(options.frames);
  const Image picture = ReadPng(paths.front());
  Letterbox letterbox;
  const Image input = FitToInput(picture, &letterbox);
  std::vector<Image> inputs = {input};
  for (size_t i = 1; i < paths.size(); ++i) {
    const Image next = ReadPng(paths[i]);
    if (next.width != picture.width || next.height != picture.height) {
      throw std::runtime_error(paths[i] + ": not as large as the first picture");
    }
    inputs.push_back(FitToInput(next, &letterbox));
  }
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
      if (i == options.ready_after) WaitToBeMeasured();
      const CallCounts before = runtime.counts();
      const Image& seen = inputs[size_t(i) % inputs.size()];
      const Image frame = options.move != nullptr ? options.move(seen, i) : seen;
      timed([&] { return detector.Infer(frame, letterbox); });
      if (options.profile) PrintProfile(i, runtime.counts(), before);
    }
    if (options.check) ok = CheckAgainstCpu(runtime, detector, network, input, letterbox);
  }
  Image shown = ReadPng(paths[size_t(std::max(options.inferences, 1) - 1) % paths.size()]);  // the last
  Deliver({"cuda_pose", options.json, options.output}, latencies_ms, detections, &shown);
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
