#include "wharf/server/daemon/counters.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace wharf::server {
namespace {

namespace fs = std::filesystem;

class StatusFileTest : public ::testing::Test {
 protected:
  StatusFileTest() {
    std::string pattern = (fs::temp_directory_path() / "wharf-status-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
    std::ofstream(folder_ / "victim") << "precious";
  }
  ~StatusFileTest() override { fs::remove_all(folder_); }
  std::string Read(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(folder_ / name).rdbuf();
    return text.str();
  }
  // Then the status is in a file of its own, and the victim is as it was.
  void WriteAndCompare() const {
    ServerStatus status;
    status.driver = "soft";
    EXPECT_EQ(WriteStatusFile((folder_ / "status").string(), status), absl::OkStatus());
    EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(folder_ / "status")));
    EXPECT_EQ(Read("status"), ToJson(status));
    EXPECT_EQ(Read("victim"), "precious");
    EXPECT_EQ(fs::hard_link_count(folder_ / "victim"), links_);
  }

  fs::path folder_;
  uintmax_t links_ = 1;
};

TEST_F(StatusFileTest, IsReplacedAsAWhole) {
  WriteAndCompare();
  WriteAndCompare();
  EXPECT_FALSE(fs::exists(folder_ / "status.new"));
}

TEST_F(StatusFileTest, FollowsNoLinkInItsPlace) {
  fs::create_symlink(folder_ / "victim", folder_ / "status");
  WriteAndCompare();
}

TEST_F(StatusFileTest, FollowsNoLinkWhereItIsMade) {
  fs::create_symlink(folder_ / "victim", folder_ / "status.new");
  WriteAndCompare();
}

TEST_F(StatusFileTest, WritesThroughNoHardLink) {
  fs::create_hard_link(folder_ / "victim", folder_ / "status.new");
  WriteAndCompare();
}

TEST_F(StatusFileTest, WithoutItsFolderThereIsNone) {
  EXPECT_EQ(WriteStatusFile((folder_ / "nowhere" / "status").string(), {}).code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace wharf::server
