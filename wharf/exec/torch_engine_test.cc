#include "wharf/exec/torch_engine.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

namespace wharf::exec {
namespace {

TEST(TorchEngine, UsesAsManyThreadsAsItIsTold) {
  for (const int threads : {2, 1}) {
    const auto engine = MakeTorchEngine({.threads = threads});
    EXPECT_EQ(TorchThreads(), threads);
    using GetThreads = int (*)();
    const auto of_products = reinterpret_cast<GetThreads>(dlsym(RTLD_DEFAULT, "openblas_get_num_threads"));
    if (of_products == nullptr) GTEST_SKIP() << "matrix products are not OpenBLAS's";
    EXPECT_EQ(of_products(), threads);
  }
}

TEST(TorchEngine, KnowsItsVersion) { EXPECT_EQ(TorchVersion().find_first_not_of("0123456789."), std::string::npos); }

}  // namespace
}  // namespace wharf::exec
