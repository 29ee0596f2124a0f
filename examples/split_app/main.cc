// A robot's program: what is in a picture, by a classifier that this machine and a server compute together.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "wharf/base/read_file.h"
#include "wharf/split/codec/image_file.h"
#include "wharf/split/runtime/edge_model.h"

namespace {

using wharf::ReadFile;
using wharf::split::EdgeModel;

absl::Status Classify(const std::string& path, const std::string& server, const std::string& token_path,
                      const std::string& picture_path) {
  WHARF_ASSIGN_OR_RETURN(std::string token, ReadFile(token_path));
  token.erase(token.find_last_not_of(" \r\n") + 1);
  WHARF_ASSIGN_OR_RETURN(const std::string file, ReadFile(picture_path));
  WHARF_ASSIGN_OR_RETURN(const wharf::split::Image picture, wharf::split::ReadImage(std::as_bytes(std::span(file))));

  WHARF_ASSIGN_OR_RETURN(const auto model, EdgeModel::Connect(path, server, {.token = token, .pictures = true}));
  WHARF_ASSIGN_OR_RETURN(const auto outputs, model->Run(picture));
  const auto scores = outputs[0].As<float>();

  const auto best = std::max_element(scores.begin(), scores.end());
  std::printf("class %td of %zu, score %.3f; %.1f ms, %s\n", best - scores.begin(), scores.size(), *best,
              model->Report().latency_ms, model->Report().alone ? "by this machine alone" : "by both");
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "Usage: split_app CLASSIFIER.onnx HOST:PORT TOKEN_FILE PICTURE\n");
    return EXIT_FAILURE;
  }
  const absl::Status done = Classify(argv[1], argv[2], argv[3], argv[4]);
  if (!done.ok()) std::fprintf(stderr, "split_app: %s\n", std::string(done.message()).c_str());
  return done.ok() ? EXIT_SUCCESS : EXIT_FAILURE;
}
