// Every kernel that nvcc makes of testdata/library_kernels.cu (cuRAND, cooperative groups, cuda::std, halves,
// libdevice, virtual functions) compiles, for each compute capability the build generated.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "wharf/device/ptx/parser.h"
#include "wharf/device/soft/jit/compiler.h"

namespace wharf::device::soft {
namespace {

class NvccKernels : public ::testing::TestWithParam<const char*> {};

TEST_P(NvccKernels, Compile) {
  std::ifstream file(fmt::format("{}/{}.ptx", WHARF_FIXTURES, GetParam()));
  std::stringstream text;
  text << file.rdbuf();
  auto module = ptx::Parse(text.str());
  ASSERT_EQ(module.status(), absl::OkStatus());
  auto compiler = Compiler::Create("");
  ASSERT_EQ(compiler.status(), absl::OkStatus());
  std::vector<std::byte> variables(size_t{1} << 20);
  int kernels = 0;
  for (const ptx::Function& function : (*module)->functions) {
    if (!function.is_entry || function.body_text.empty()) continue;
    ++kernels;
    auto compiled = (*compiler)->Compile(**module, function.name, [&](std::string_view) { return variables.data(); });
    EXPECT_EQ(compiled.status(), absl::OkStatus()) << function.name;
  }
  EXPECT_GE(kernels, 15);
}

INSTANTIATE_TEST_SUITE_P(ComputeCapability, NvccKernels, ::testing::Values("compute_75", "compute_80", "compute_90"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace wharf::device::soft
