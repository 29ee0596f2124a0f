#include "wharf/cli/common/files.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <string>

namespace wharf::cli {
namespace {

namespace fs = std::filesystem;

class CheckWritableTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "wharf-writable-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    file_ = folder_ + "/out.json";
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string folder_, file_;
};

TEST_F(CheckWritableTest, WhatIsThereStays) {
  ASSERT_EQ(WriteFile(file_, "text"), absl::OkStatus());
  EXPECT_EQ(CheckWritable(file_), absl::OkStatus());
  EXPECT_EQ(ReadFile(file_).value_or(""), "text");
}

TEST_F(CheckWritableTest, WhatIsNotThereIsNotAfterwards) {
  EXPECT_EQ(CheckWritable(file_), absl::OkStatus());
  EXPECT_TRUE(fs::is_empty(folder_));
  EXPECT_EQ(CheckWritable(folder_ + "/missing/out.json").code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(CheckWritable(folder_).code(), absl::StatusCode::kInternal);  // EISDIR
}

// A user's, to a file that there will be.
TEST_F(CheckWritableTest, ALinkThatLeadsNowhereStays) {
  fs::create_directory(folder_ + "/results");
  fs::create_symlink("results/new.json", folder_ + "/first");
  fs::create_symlink("first", file_);
  EXPECT_EQ(CheckWritable(file_), absl::OkStatus());
  EXPECT_TRUE(fs::is_symlink(file_));
  EXPECT_TRUE(fs::is_symlink(folder_ + "/first"));
  EXPECT_TRUE(fs::is_empty(folder_ + "/results"));
  ASSERT_EQ(WriteFile(file_, "text"), absl::OkStatus());
  EXPECT_EQ(ReadFile(folder_ + "/results/new.json").value_or(""), "text");
  fs::remove(file_);
  fs::create_symlink("missing/new.json", file_);
  EXPECT_EQ(CheckWritable(file_).code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(fs::is_symlink(file_));
}

}  // namespace
}  // namespace wharf::cli
