// cuda_pose without CUDA: the detector runs in pose_server, only its input and results travel. See README.md.
#include <chrono>
#include <cstdio>

#include "examples/arguments.h"
#include "examples/cuda_pose/reference.h"
#include "examples/cuda_pose/remote.h"
#include "examples/cuda_pose/results.h"

namespace pose {
namespace {

struct Options {
  std::string image = "scene.png", server, output, json;
  int inferences = 10, ready_after = -1;
  bool check = false;
  Image (*move)(const Image&, int frame) = nullptr;
};

constexpr char kUsage[] =
    "usage: pose_client --server HOST:PORT [IN.png] [--output OUT.png] [--inferences N] [--json FILE] [--check] "
    "[--sway | --wander] [--ready-after N]\n"
    "  IN.png        picture to look at (default scene.png)\n"
    "  --server      where pose_server waits\n"
    "  --output      write the picture with boxes, skeletons and scores\n"
    "  --inferences  how often to ask (default 10)\n"
    "  --json        write the latency of every inference, and the detections\n"
    "  --check       compare the detections with this program's own CPU code\n"
    "  --sway        ask about a picture that moves, so that every inference has other data\n"
    "  --wander      the same as a carried camera's: no picture comes again\n"
    "  --ready-after after N inferences print \"ready\" and wait for a line on standard input, to be measured from "
    "there\n";

Options ParseOptions(int argc, char** argv) {
  Options options;
  for (Arguments words(argc, argv, kUsage); words.Next();) {
    if (words.Is("--server"))
      options.server = words.Value();
    else if (words.Is("--output"))
      options.output = words.Value();
    else if (words.Is("--json"))
      options.json = words.Value();
    else if (words.Is("--inferences"))
      options.inferences = words.Number(1, 1000000);
    else if (words.Is("--ready-after"))
      options.ready_after = words.Number(0, 1000000);
    else if (words.Is("--check"))
      options.check = true;
    else if (words.Is("--sway"))
      options.move = Sway;
    else if (words.Is("--wander"))
      options.move = Wander;
    else if (words.word().rfind("-", 0) != 0)
      options.image = words.word();
    else
      words.Refuse();
  }
  if (options.server.empty()) throw std::runtime_error(std::string("which server?\n") + kUsage);
  return options;
}

int Run(const Options& options) {
  Image picture = ReadPng(options.image);
  Request request;
  const Image still = FitToInput(picture, &request.letterbox);
  request.input = still;
  Connection server = Connection::To(options.server);
  std::vector<double> latencies_ms;
  Detections detections;
  for (int i = 0; i < options.inferences; ++i) {
    if (i == options.ready_after) WaitToBeMeasured();
    if (options.move != nullptr) request.input = options.move(still, i);
    const auto start = std::chrono::steady_clock::now();
    server.Send(request);
    detections = server.ReceiveDetections();
    latencies_ms.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  }
  bool ok = true;
  if (options.check) {
    ok = SameDetections(detections, InferOnCpu(BuildNetwork(), request.input, request.letterbox, nullptr));
    std::printf("check: the detections %s the CPU's\n", ok ? "agree with" : "DIFFER from");
  }
  Deliver({"pose_client", options.json, options.output}, latencies_ms, detections, &picture);
  return ok ? 0 : 1;
}

}  // namespace
}  // namespace pose

int main(int argc, char** argv) {
  try {
    return pose::Run(pose::ParseOptions(argc, argv));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "pose_client: %s\n", error.what());
    return 2;
  }
}
