// The drop-in libraries export exactly the vendor's names under the vendor's version, need nothing that is not on every
// machine, and load into whatever process.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include "wharf/cudashim/api_table.h"

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

// As Python's extension modules and programs under LD_BIND_NOW are loaded: every name is looked up at once.
[[noreturn]] void LoadAtOnce(const std::string& path) {
  const void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) std::fprintf(stderr, "%s\n", dlerror());
  _exit(library != nullptr ? 0 : 1);
}

// What the header has programs call instead: "cuMemAlloc" is "cuMemAlloc_v2".
std::map<std::string, std::string> VersionedNames(const std::string& header) {
  std::ifstream file(header);
  const std::regex define(R"(\s*#\s*define\s+(cu\w+)\s+(cu\w+_v\d+)\s*)");
  std::map<std::string, std::string> names;
  for (std::string line; std::getline(file, line);) {
    if (std::smatch match; std::regex_match(line, match, define)) names[match[1]] = match[2];
  }
  return names;
}

// "cuMemAlloc" for all of its versions.
std::string WithoutVersion(const std::string& name) {
  static const std::regex version("_v\\d+$");
  return std::regex_replace(name, version, "");
}

// `vendors` is "" where NVIDIA's is not here (tools/install_cuda12.sh).
struct Library {
  std::string ours, vendors;
  bool passes_on = false;  // to NVIDIA's of any minor release: it has the names of all of them
};

// Under the toolkit's library folder.
Library OfToolkit(const std::string& ours, const std::string& vendors) {
  return {ours, WHARF_CUDA_HOME "/lib64/" + vendors};
}

Library OfCuda12(const std::string& name) {
  const std::string home = WHARF_CUDA_12_HOME, vendors = home + "/lib/" + name;
  return {name, !home.empty() && access(vendors.c_str(), R_OK) == 0 ? vendors : ""};
}

// It may not be beside the toolkit.
Library PassingOn(const std::string& name) {
  const std::string vendors = WHARF_CUDA_HOME "/lib64/" + name;
  return {name, access(vendors.c_str(), R_OK) == 0 ? vendors : "", true};
}

class DropInTest : public ::testing::TestWithParam<Library> {
 protected:
  std::string Ours() const { return WHARF_SHIM_OUTPUT "/" + GetParam().ours; }
};

TEST_P(DropInTest, ExportsExactlyTheVendorsNames) {
  if (GetParam().vendors.empty()) GTEST_SKIP() << "NVIDIA's library is not here";
  const auto vendors = Exports(GetParam().vendors);
  if (GetParam().passes_on) {
    ASSERT_GT(vendors.size(), 20u);
    EXPECT_THAT(vendors, ::testing::IsSubsetOf(Exports(Ours())));
  } else {
    ASSERT_GT(vendors.size(), 20u);
    EXPECT_EQ(Exports(Ours()), vendors);
  }
}

TEST_P(DropInTest, HasItsNameAsTheVersionOfEverySymbol) {
  const std::string& ours = GetParam().ours;
  const bool of_driver = ours == "libcuda.so.1" || ours == "libnvidia-ml.so.1";  // whose symbols have none
  const std::string version = of_driver ? "" : "@@" + ours;
  const auto names = Exports(Ours());
  EXPECT_GT(names.size(), 20u);
  for (const std::string& name : names) {
    if (name != ours) {
      EXPECT_EQ(name.substr(std::min(name.find('@'), name.size())), version) << name;
    }
  }
}

TEST_P(DropInTest, LoadsWithAllItsNamesAtOnce) { EXPECT_EXIT(LoadAtOnce(Ours()), ::testing::ExitedWithCode(0), "^$"); }

TEST_P(DropInTest, HasTheVendorsSoname) {
  EXPECT_THAT(Output("readelf -dW '" + Ours() + "'"), ::testing::HasSubstr("soname: [" + GetParam().ours + "]"));
}

TEST_P(DropInTest, NeedsOnlyTheClientLibraryAndTheSystem) {
  EXPECT_THAT(Needed(Ours()),
              ::testing::IsSubsetOf({"libwharf_client.so", "libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2"}));
}

#ifdef WHARF_HAS_CUDNN
INSTANTIATE_TEST_SUITE_P(Cudnn, DropInTest, ::testing::Values(OfToolkit("libcudnn.so.9", "libcudnn.so.9")),
                         [](const auto&) { return "libcudnn_9"; });
#endif
#ifdef WHARF_HAS_CUFFT
INSTANTIATE_TEST_SUITE_P(Cufft, DropInTest,
                         ::testing::Values(OfToolkit("libcufft.so.12", "libcufft.so.12"), OfCuda12("libcufft.so.11")),
                         [](const auto& parameter) {
                           return parameter.param.ours == "libcufft.so.12" ? "libcufft_12" : "libcufft_11";
                         });
#endif
#ifdef WHARF_HAS_CUSOLVER
INSTANTIATE_TEST_SUITE_P(Cusolver, DropInTest,
                         ::testing::Values(OfToolkit("libcusolver.so.12", "libcusolver.so.12"),
                                           OfCuda12("libcusolver.so.11")),
                         [](const auto& parameter) {
                           return parameter.param.ours == "libcusolver.so.12" ? "libcusolver_12" : "libcusolver_11";
                         });
#endif
#ifdef WHARF_HAS_CUSPARSE
INSTANTIATE_TEST_SUITE_P(Cusparse, DropInTest, ::testing::Values(OfToolkit("libcusparse.so.12", "libcusparse.so.12")),
                         [](const auto&) { return "libcusparse_12"; });
#endif
#ifdef WHARF_HAS_CURAND
INSTANTIATE_TEST_SUITE_P(Curand, DropInTest, ::testing::Values(OfToolkit("libcurand.so.10", "libcurand.so.10")),
                         [](const auto&) { return "libcurand_10"; });
#endif
INSTANTIATE_TEST_SUITE_P(
    Libraries, DropInTest,
    ::testing::Values(OfToolkit("libcudart.so.13", "libcudart.so.13"), OfToolkit("libcuda.so.1", "stubs/libcuda.so"),
                      OfToolkit("libcublas.so.13", "libcublas.so.13"),
                      OfToolkit("libcublasLt.so.13", "libcublasLt.so.13"), OfCuda12("libcudart.so.12"),
                      OfCuda12("libcublas.so.12"), OfCuda12("libcublasLt.so.12"), PassingOn("libnvrtc.so.13"),
                      PassingOn("libnvrtc.so.12"), PassingOn("libnvJitLink.so.13"), PassingOn("libnvJitLink.so.12"),
                      Library{"libnvidia-ml.so.1", ""}),
    [](const auto& parameter) { return std::regex_replace(parameter.param.ours, std::regex(R"(\.so\.|-)"), "_"); });

TEST(ClientLibrary, ExportsOnlyItsOwnNamespace) {
  std::istringstream lines(Output("nm -DC --defined-only '" WHARF_SHIM_OUTPUT "/libwharf_client.so'"));
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    EXPECT_THAT(line, ::testing::HasSubstr("wharf::client::"));
  }
  EXPECT_GT(count, 20);
}

TEST(ClientLibrary, LoadsWithAllItsNamesAtOnce) {
  EXPECT_EXIT(LoadAtOnce(WHARF_SHIM_OUTPUT "/libwharf_client.so"), ::testing::ExitedWithCode(0), "^$");
}

TEST(ClientLibrary, NeedsOnlyTheSystem) {
  EXPECT_THAT(Needed(WHARF_SHIM_OUTPUT "/libwharf_client.so"),
              ::testing::IsSubsetOf({"libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2"}));
}

// Of a function that is covered in any of its versions, the one is that programs call which include the header.
TEST(VersionedNames, AreCoveredWhereAnyVersionIs) {
  std::set<std::string> covered, families;
  for (const ApiRow& row : ApiTable()) {
    if (!row.covered) continue;
    covered.emplace(row.name);
    families.insert(WithoutVersion(std::string(row.name)));
  }
  for (const char* const header : {"cuda.h", "cublas_v2.h"}) {
    int checked = 0;
    for (const auto& [name, versioned] : VersionedNames(std::string(WHARF_CUDA_HOME "/include/") + header)) {
      if (!families.contains(name)) continue;
      EXPECT_TRUE(covered.contains(versioned)) << header << " has programs call " << versioned << " for " << name;
      ++checked;
    }
    EXPECT_GT(checked, 10) << header;
  }
}

}  // namespace
}  // namespace wharf::cudashim
