// What others put into a directory that they can write to, too, neither stops nor misleads whoever keeps files there.
#include "wharf/base/stored/stored_files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include "wharf/base/stored/seal.h"

namespace wharf {
namespace {

namespace fs = std::filesystem;

constexpr uid_t kSomebodyElse = 65534;

std::span<const std::byte> AsContent(const std::string& text) { return std::as_bytes(std::span(text)); }

class PlantedTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "wharf-planted-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    elsewhere_ = folder_ + "/elsewhere";
    models_ = folder_ + "/models";
    fs::create_directory(elsewhere_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  static void Write(const std::string& path, const std::string& text) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
  }
  static std::string TextOf(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static std::ptrdiff_t EntriesIn(const std::string& directory) {
    return std::distance(fs::directory_iterator(directory), fs::directory_iterator());
  }
  // Two are had at once only where there is no lock to be had.
  void ExpectNoLocks() const {
    StoredLock first(models_, 7), second(models_, 7);
    EXPECT_TRUE(first.TryTake());
    EXPECT_TRUE(second.TryTake());
  }

  std::string folder_, elsewhere_, models_;
};

TEST_F(PlantedTest, ALinkInTheDirectorysPlaceIsNotFollowed) {
  Write(elsewhere_ + "/a.o", "theirs");
  Write(elsewhere_ + "/.aside-0123456789abcdef", "theirs");
  fs::last_write_time(elsewhere_ + "/.aside-0123456789abcdef",
                      fs::file_time_type::clock::now() - std::chrono::hours(9));
  fs::create_symlink(elsewhere_, models_);
  EXPECT_EQ(ReadStored(models_, "a.o"), std::nullopt);
  EXPECT_EQ(WriteStored(models_, "a.o", AsContent("ours")).code(), absl::StatusCode::kInternal);
  EXPECT_EQ(WriteStored(models_, "b.o", AsContent("ours")).code(), absl::StatusCode::kInternal);
  RemoveStored(models_, "a.o");
  LimitStored(models_, 0, "b.o");
  ExpectNoLocks();
  EXPECT_EQ(TextOf(elsewhere_ + "/a.o"), "theirs");
  EXPECT_EQ(EntriesIn(elsewhere_), 2);
  EXPECT_TRUE(fs::is_symlink(models_));
}

TEST_F(PlantedTest, AFileInTheDirectorysPlaceIsNoDirectory) {
  ASSERT_EQ(mkfifo(models_.c_str(), 0666), 0);
  EXPECT_EQ(ReadStored(models_, "a.o"), std::nullopt);
  EXPECT_EQ(WriteStored(models_, "a.o", AsContent("ours")).code(), absl::StatusCode::kInternal);
  LimitStored(models_, 0, "b.o");
  ExpectNoLocks();
}

// The user's own is: where the caches are.
TEST_F(PlantedTest, ALinkOnTheWayToTheDirectoryIsFollowed) {
  fs::create_symlink(elsewhere_, folder_ + "/caches");
  EXPECT_EQ(WriteStored(folder_ + "/caches/models", "a.o", AsContent("ours")), absl::OkStatus());
  EXPECT_EQ(ReadStored(folder_ + "/caches/models", "a.o"), "ours");
  EXPECT_EQ(TextOf(elsewhere_ + "/models/a.o"), "ours");
}

TEST_F(PlantedTest, ALinkInAFilesPlaceIsReplaced) {
  fs::create_directory(models_);
  Write(elsewhere_ + "/secret", "secret");
  const auto long_ago = fs::file_time_type::clock::now() - std::chrono::hours(9);
  fs::last_write_time(elsewhere_ + "/secret", long_ago);
  fs::create_symlink(elsewhere_ + "/secret", models_ + "/a.o");
  EXPECT_EQ(ReadStored(models_, "a.o"), std::nullopt);
  EXPECT_EQ(fs::last_write_time(elsewhere_ + "/secret"), long_ago);
  EXPECT_EQ(WriteStored(models_, "a.o", AsContent("ours")), absl::OkStatus());
  EXPECT_EQ(ReadStored(models_, "a.o"), "ours");
  EXPECT_EQ(TextOf(elsewhere_ + "/secret"), "secret");
  fs::create_symlink(elsewhere_ + "/secret", models_ + "/b.o");
  RemoveStored(models_, "b.o");
  EXPECT_FALSE(fs::is_symlink(models_ + "/b.o"));
  EXPECT_EQ(TextOf(elsewhere_ + "/secret"), "secret");
}

// Opening it would wait for a writer.
TEST_F(PlantedTest, APipeInAFilesPlaceIsReplaced) {
  fs::create_directory(models_);
  ASSERT_EQ(mkfifo((models_ + "/a.o").c_str(), 0666), 0);
  EXPECT_EQ(ReadStored(models_, "a.o"), std::nullopt);
  LimitStored(models_, 0, "b.o");
  EXPECT_EQ(WriteStored(models_, "a.o", AsContent("ours")), absl::OkStatus());
  EXPECT_EQ(ReadStored(models_, "a.o"), "ours");
}

TEST_F(PlantedTest, ADirectoryInAFilesPlaceIsNoFile) {
  fs::create_directories(models_ + "/a.o");
  EXPECT_EQ(ReadStored(models_, "a.o"), std::nullopt);
  EXPECT_EQ(WriteStored(models_, "a.o", AsContent("ours")).code(), absl::StatusCode::kInternal);
  EXPECT_EQ(EntriesIn(models_), 1);  // nothing is left aside
}

TEST_F(PlantedTest, WhatLinksLeadToCountsForNoLimit) {
  ASSERT_EQ(WriteStored(models_, "a.o", AsContent("ours")), absl::OkStatus());
  Write(elsewhere_ + "/large.o", std::string(100'000, 'x'));
  fs::create_symlink(elsewhere_ + "/large.o", models_ + "/b.o");
  LimitStored(models_, 10'000, "c.o");
  EXPECT_EQ(ReadStored(models_, "a.o"), "ours");
  LimitStored(models_, 0, "c.o");
  EXPECT_EQ(ReadStored(models_, "a.o"), std::nullopt);
  EXPECT_EQ(fs::file_size(elsewhere_ + "/large.o"), 100'000u);
}

TEST_F(PlantedTest, NoLockIsMadeWhereALinkLeads) {
  fs::create_directory(models_);
  fs::create_symlink(elsewhere_ + "/new", models_ + "/measuring");
  ExpectNoLocks();
  EXPECT_EQ(EntriesIn(elsewhere_), 0);
}

TEST_F(PlantedTest, NoLockIsAPipesOrASockets) {
  fs::create_directory(models_);
  const std::string path = models_ + "/measuring";
  ASSERT_EQ(mkfifo(path.c_str(), 0666), 0);
  ExpectNoLocks();
  fs::remove(path);
  const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  ASSERT_EQ(bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  ExpectNoLocks();
  close(socket);
}

// Who made the file can hold what locks he likes, or make whoever opens it wait.
TEST_F(PlantedTest, NobodyElsesLockIsWaitedFor) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  StoredLock held(models_, 7);
  ASSERT_TRUE(held.TryTake());
  ASSERT_EQ(chown((models_ + "/measuring").c_str(), kSomebodyElse, kSomebodyElse), 0);
  ExpectNoLocks();
}

TEST_F(PlantedTest, NobodysLeaseIsWaitedFor) {
  fs::create_directory(models_);
  for (const char* const name : {"measuring", "a.o"}) {
    Write(models_ + "/" + name, "theirs");
    const int file = open((models_ + "/" + name).c_str(), O_RDWR | O_CLOEXEC);
    const auto before = signal(SIGIO, SIG_IGN);  // says that somebody wants the file
    if (fcntl(file, F_SETLEASE, F_WRLCK) != 0) GTEST_SKIP() << "no leases here";
    if (std::string(name) == "measuring") {
      ExpectNoLocks();
    } else {
      EXPECT_EQ(ReadStored(models_, name), std::nullopt);
    }
    close(file);
    signal(SIGIO, before);
  }
}

class PlantedKeyTest : public PlantedTest {
 protected:
  absl::StatusCode Find() const { return FindSealKey(key_).status().code(); }
  std::string key_;
  void SetUp() override {
    PlantedTest::SetUp();
    key_ = folder_ + "/kernels.key";
  }
};

TEST_F(PlantedKeyTest, ALinkIsNoKey) {
  ASSERT_EQ(FindSealKey(elsewhere_ + "/key").status(), absl::OkStatus());
  fs::create_symlink(elsewhere_ + "/key", key_);
  EXPECT_EQ(Find(), absl::StatusCode::kFailedPrecondition);
  fs::remove(elsewhere_ + "/key");
  EXPECT_EQ(Find(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(EntriesIn(elsewhere_), 0);
}

TEST_F(PlantedKeyTest, APipeIsNoKey) {
  ASSERT_EQ(mkfifo(key_.c_str(), 0600), 0);
  EXPECT_EQ(Find(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(PlantedKeyTest, ADirectoryIsNoKey) {
  fs::create_directory(key_);
  EXPECT_EQ(Find(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(PlantedKeyTest, SomebodyElsesIsNoKey) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  ASSERT_EQ(Find(), absl::StatusCode::kOk);
  ASSERT_EQ(chown(key_.c_str(), kSomebodyElse, kSomebodyElse), 0);
  EXPECT_EQ(Find(), absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace wharf
