#include <cstdio>
#include <string>

#include "wharf/split/runtime/edge_model.h"

// links_wharf MODEL SERVER: prints what connecting comes to.
int main(int, char** argv) {
  const auto model = wharf::split::EdgeModel::Connect(argv[1], argv[2], {});
  std::puts(std::string(model.status().message()).c_str());
}
