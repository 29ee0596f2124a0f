// A keeper under its policy of system calls does all that it is asked for: one call that is missing there would end it.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "wharf/base/sandbox/policies.h"
#include "wharf/base/stored/keeper.h"
#include "wharf/base/stored/stored_files.h"

namespace wharf {
namespace {

namespace fs = std::filesystem;

class ConfinedKeeperTest : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "wharf-confined-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    int ends[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    socket_ = ends[0];
    keeper_ = fork();
    if (keeper_ == 0) {
      close(ends[0]);
      Keep(ends[1]);
    }
    close(ends[1]);
    ASSERT_GT(keeper_, 0);
  }
  void TearDown() override {
    close(socket_);
    int status = -1;
    EXPECT_EQ(waitpid(keeper_, &status, 0), keeper_);
    EXPECT_EQ(status, 0);
    fs::remove_all(folder_);
  }
  [[noreturn]] void Keep(int socket) const {
    if (!EnterSandbox(KeeperPolicy()).ok()) _exit(1);
    KeptDirectory kept{.path = folder_ + "/files", .most_bytes = 8'000, .most_file_bytes = 1'000, .extension = ".o"};
    if (GetParam()) {
      kept.whose = "a";
      kept.seal = SealKey{1, 2, 3};
    }
    Keeper keeper;
    keeper.Add(socket, {{"files", kept}});
    keeper.ServeUntil(-1);
    _exit(0);
  }
  std::string Files() const { return KeeperRoot(socket_) + "/files"; }
  // As the keeper names it.
  std::string PathOf(const std::string& name) const { return folder_ + "/files/" + (GetParam() ? "a-" : "") + name; }

  std::string folder_;
  int socket_ = -1;
  pid_t keeper_ = -1;
};
INSTANTIATE_TEST_SUITE_P(Sealed, ConfinedKeeperTest, ::testing::Bool());

TEST_P(ConfinedKeeperTest, ReadsWritesRemovesAndLimits) {
  const std::string text(700, 'x');
  EXPECT_EQ(ReadStored(Files(), "0.o"), std::nullopt);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(WriteStored(Files(), std::to_string(i) + ".o", std::as_bytes(std::span(text))), absl::OkStatus()) << i;
  }
  EXPECT_LT(std::distance(fs::directory_iterator(folder_ + "/files"), fs::directory_iterator()), 8);
  EXPECT_EQ(ReadStored(Files(), "19.o"), text);
  RemoveStored(Files(), "19.o");
  EXPECT_EQ(ReadStored(Files(), "19.o"), std::nullopt);
}

TEST_P(ConfinedKeeperTest, Locks) {
  StoredLock one(Files(), 7);
  EXPECT_TRUE(one.TryTake());
  EXPECT_FALSE(StoredLock(Files(), 7).TryTake());
  EXPECT_FALSE(StoredLock(folder_ + "/files", 7).TryTake());
}

TEST_P(ConfinedKeeperTest, LeavesAloneWhatIsNoFile) {
  fs::create_directory(folder_ + "/files");
  ASSERT_EQ(mkfifo(PathOf("pipe.o").c_str(), 0666), 0);
  fs::create_symlink(folder_ + "/elsewhere", PathOf("link.o"));
  fs::create_symlink(folder_ + "/elsewhere", folder_ + "/files/measuring");
  for (const char* name : {"pipe.o", "link.o"}) EXPECT_EQ(ReadStored(Files(), name), std::nullopt) << name;
  EXPECT_TRUE(StoredLock(Files(), 7).TryTake());
  EXPECT_FALSE(fs::exists(folder_ + "/elsewhere"));
}

}  // namespace
}  // namespace wharf
