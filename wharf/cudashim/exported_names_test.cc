// The drop-in libraries export exactly the vendor's names under the vendor's version, and need nothing that is not on
// every machine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <set>
#include <sstream>
#include <string>

namespace wharf::cudashim {
namespace {

std::string Output(const std::string& command) {
  std::string output;
  FILE* const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return output;
  char buffer[4096];
  for (size_t n = 0; (n = fread(buffer, 1, sizeof(buffer), pipe)) > 0;) output.append(buffer, n);
  return pclose(pipe) == 0 ? output : "";
}

// "cudaMalloc@@libcudart.so.13" and so on.
std::set<std::string> Exports(const std::string& path) {
  std::istringstream lines(Output("nm -D --defined-only '" + path + "'"));
  std::set<std::string> names;
  for (std::string address, kind, name; lines >> address >> kind >> name;) names.insert(name);
  return names;
}

std::set<std::string> Needed(const std::string& path) {
  std::istringstream lines(Output("readelf -dW '" + path + "'"));
  std::set<std::string> names;
  for (std::string line; std::getline(lines, line);) {
    const size_t open = line.find('['), close = line.find(']');
    if (line.find("(NEEDED)") != std::string::npos && close != std::string::npos) {
      names.insert(line.substr(open + 1, close - open - 1));
    }
  }
  return names;
}

struct Library {
  const char* ours;
  const char* vendors;  // under the toolkit's library folder
};

class DropInTest : public ::testing::TestWithParam<Library> {
 protected:
  std::string Ours() const { return std::string(WHARF_SHIM_OUTPUT "/") + GetParam().ours; }
  std::string Vendors() const { return std::string(WHARF_CUDA_HOME "/lib64/") + GetParam().vendors; }
};

TEST_P(DropInTest, ExportsExactlyTheVendorsNames) {
  const auto vendors = Exports(Vendors());
  ASSERT_GT(vendors.size(), 100u);
  EXPECT_EQ(Exports(Ours()), vendors);
}

TEST_P(DropInTest, HasTheVendorsSoname) {
  EXPECT_THAT(Output("readelf -dW '" + Ours() + "'"), ::testing::HasSubstr("soname: [" + std::string(GetParam().ours)));
}

TEST_P(DropInTest, NeedsOnlyTheClientLibraryAndTheSystem) {
  EXPECT_THAT(Needed(Ours()),
              ::testing::IsSubsetOf({"libwharf_client.so", "libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2"}));
}

INSTANTIATE_TEST_SUITE_P(Libraries, DropInTest,
                         ::testing::Values(Library{"libcudart.so.13", "libcudart.so.13"},
                                           Library{"libcuda.so.1", "stubs/libcuda.so"},
                                           Library{"libcublas.so.13", "libcublas.so.13"},
                                           Library{"libcublasLt.so.13", "libcublasLt.so.13"}),
                         [](const auto& parameter) {
                           const std::string name = parameter.param.ours;
                           return name.substr(0, name.find('.'));
                         });

TEST(ClientLibrary, ExportsOnlyItsOwnNamespace) {
  std::istringstream lines(Output("nm -DC --defined-only '" WHARF_SHIM_OUTPUT "/libwharf_client.so'"));
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    EXPECT_THAT(line, ::testing::HasSubstr("wharf::client::"));
  }
  EXPECT_GT(count, 20);
}

TEST(ClientLibrary, NeedsOnlyTheSystem) {
  EXPECT_THAT(Needed(WHARF_SHIM_OUTPUT "/libwharf_client.so"),
              ::testing::IsSubsetOf({"libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2"}));
}

}  // namespace
}  // namespace wharf::cudashim
