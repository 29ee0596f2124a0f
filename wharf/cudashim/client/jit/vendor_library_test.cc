#include "wharf/cudashim/client/jit/vendor_library.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <string>

namespace wharf::client {
namespace {

namespace fs = std::filesystem;

// A library of the system's stands for NVIDIA's, under a name that only this test knows.
fs::path AnyLibrary() {
  Dl_info info{};
  void* const function = dlsym(RTLD_DEFAULT, "cbrt");
  return function != nullptr && dladdr(function, &info) != 0 ? fs::path(info.dli_fname) : fs::path();
}

class VendorLibraryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    home_ = fs::temp_directory_path() / ("wharf_vendor_" + std::to_string(getpid()));
    fs::create_directories(home_ / "lib64");
    setenv("CUDA_HOME", home_.c_str(), 1);
  }
  void TearDown() override {
    unsetenv("CUDA_HOME");
    fs::remove_all(home_);
  }
  void Put(const std::string& name) { fs::copy_file(AnyLibrary(), home_ / "lib64" / name); }
  // The file that the library is of.
  static std::string FileOf(void* library) {
    Dl_info info{};
    void* const function = library == nullptr ? nullptr : dlsym(library, "cbrt");
    return function != nullptr && dladdr(function, &info) != 0 ? info.dli_fname : "";
  }

  fs::path home_;
};

const int kHere = 0;

TEST_F(VendorLibraryTest, IsFoundInTheToolkit) {
  Put("libwharf_first.so.13");
  void* const library = OpenVendorLibrary("libwharf_first.so.13", &kHere, &kHere);
  EXPECT_EQ(FileOf(library), (home_ / "lib64/libwharf_first.so.13").string());
  // And is the one that is in the process, wherever else there may be one.
  setenv("CUDA_HOME", "/nowhere", 1);
  EXPECT_EQ(OpenVendorLibrary("libwharf_first.so.13", &kHere, &kHere), library);
}

TEST_F(VendorLibraryTest, IsNotTheOneThatAsks) {
  Put("libwharf_second.so.13");
  void* const ours = dlopen((home_ / "lib64/libwharf_second.so.13").c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(ours, nullptr) << dlerror();
  EXPECT_EQ(OpenVendorLibrary("libwharf_second.so.13", dlsym(ours, "cbrt"), &kHere), nullptr);
}

TEST_F(VendorLibraryTest, MayBeNowhere) {
  EXPECT_EQ(OpenVendorLibrary("libwharf_third.so.13", &kHere, &kHere), nullptr);
}

}  // namespace
}  // namespace wharf::client
