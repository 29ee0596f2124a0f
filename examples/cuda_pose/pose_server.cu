// The detector of cuda_pose as a server of its own: what an author writes who offloads by hand. See README.md.
#include <cstdio>

#include "examples/arguments.h"
#include "examples/cuda_pose/detector.h"
#include "examples/cuda_pose/remote.h"

namespace pose {
namespace {

struct Options {
  std::string listen = "127.0.0.1:7080";
  int clients = 0;
};

constexpr char kUsage[] =
    "usage: pose_server [--listen HOST:PORT] [--clients N]\n"
    "  --listen   where to wait for clients (default 127.0.0.1:7080; port 0: any that is free)\n"
    "  --clients  end after so many clients, one after the other (default 0: never)\n";

Options ParseOptions(int argc, char** argv) {
  Options options;
  for (Arguments words(argc, argv, kUsage); words.Next();) {
    if (words.Is("--listen"))
      options.listen = words.Value();
    else if (words.Is("--clients"))
      options.clients = words.Number(0, 1000000);
    else
      words.Refuse();
  }
  return options;
}

void Serve(Connection client, Detector& detector) {
  try {
    for (Request request; client.Receive(&request);) client.Send(detector.Infer(request.input, request.letterbox));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "pose_server: %s\n", error.what());
  }
}

void Run(const Options& options) {
  Listener listener(options.listen);
  const Network network = BuildNetwork();
  Runtime runtime;
  Detector detector(runtime, network);
  std::printf("pose_server on %s\n", listener.Address().c_str());
  std::fflush(stdout);
  for (int i = 0; options.clients == 0 || i < options.clients; ++i) Serve(listener.Accept(), detector);
}

}  // namespace
}  // namespace pose

int main(int argc, char** argv) {
  try {
    pose::Run(pose::ParseOptions(argc, argv));
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "pose_server: %s\n", error.what());
    return 2;
  }
}
