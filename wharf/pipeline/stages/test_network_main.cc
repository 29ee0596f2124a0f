// pipeline_test_network FILE.onnx [CHANNELS STAGES BLOCKS SIZE]: writes a residual network with random weights, for
// `make demo-pipeline` and end-to-end tests.
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "wharf/pipeline/stages/test_network.h"

int main(int argc, char** argv) {
  if (argc != 2 && argc != 6) {
    std::fprintf(stderr, "usage: pipeline_test_network FILE.onnx [CHANNELS STAGES BLOCKS SIZE]\n");
    return 2;
  }
  wharf::pipeline::testing::NetworkShape shape;
  if (argc == 6) {
    int* const fields[] = {&shape.channels, &shape.stages, &shape.blocks, &shape.size};
    for (int i = 0; i < 4; ++i) *fields[i] = std::atoi(argv[2 + i]);
  }
  const auto bytes = wharf::pipeline::testing::MakeNetwork(shape);
  std::ofstream file(argv[1], std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) std::fprintf(stderr, "%s cannot be written\n", argv[1]);
  return file ? 0 : 1;
}
