#include "wharf/base/stored/keeper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <string>

#include "wharf/base/stored/keeper_wire.h"
#include "wharf/base/stored/stored_files.h"

namespace wharf {
namespace {

namespace fs = std::filesystem;

std::span<const std::byte> BytesOf(const std::string& text) { return std::as_bytes(std::span(text)); }

class KeeperTest : public ::testing::Test {
 protected:
  void SetUp() override { SetUp(100); }
  void SetUp(uint64_t most) {
    std::string pattern = (fs::temp_directory_path() / "wharf-keeper-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    int ends[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    ours_ = ends[0];
    keeper_.emplace(
        ends[1], std::map<std::string, KeptDirectory>{
                     {"models", {.path = folder_ + "/models", .most_bytes = most, .most_file_bytes = most * 3 / 5}}});
  }
  void TearDown() override {
    close(ours_);
    keeper_.reset();
    fs::remove_all(folder_);
  }

  std::string Directory(const std::string& name = "models") const { return KeeperRoot(ours_) + "/" + name; }
  // True if the keeper answers at all.
  bool Answers(const KeeperRequest& request) const {
    KeeperReply reply;
    return WriteWhole(ours_, &request, sizeof(request)) && ReadWhole(ours_, &reply, sizeof(reply));
  }
  static KeeperRequest Request(KeeperAction action, const std::string& directory, const std::string& name) {
    KeeperRequest request;
    request.action = static_cast<uint32_t>(action);
    directory.copy(request.directory, sizeof(request.directory));
    name.copy(request.name, sizeof(request.name));
    return request;
  }

  std::string folder_;
  int ours_ = -1;
  std::optional<Keeper> keeper_;
};

TEST_F(KeeperTest, WhatIsWrittenIsRead) {
  EXPECT_EQ(ReadStored(Directory(), "a.o"), std::nullopt);
  EXPECT_EQ(WriteStored(Directory(), "a.o", BytesOf("text")), absl::OkStatus());
  EXPECT_EQ(ReadStored(Directory(), "a.o"), "text");
  EXPECT_EQ(ReadStored(folder_ + "/models", "a.o"), "text");
  RemoveStored(Directory(), "a.o");
  EXPECT_EQ(ReadStored(Directory(), "a.o"), std::nullopt);
}

TEST_F(KeeperTest, WhatWasNotUsedForLongestGoesFirst) {
  const std::string text(40, 'x');
  for (const char* name : {"a.o", "b.o"}) EXPECT_EQ(WriteStored(Directory(), name, BytesOf(text)), absl::OkStatus());
  fs::last_write_time(folder_ + "/models/b.o", fs::file_time_type::clock::now() - std::chrono::hours(1));
  EXPECT_EQ(WriteStored(Directory(), "c.o", BytesOf(text)), absl::OkStatus());
  EXPECT_EQ(ReadStored(Directory(), "b.o"), std::nullopt);
  EXPECT_EQ(ReadStored(Directory(), "a.o"), text);
  EXPECT_EQ(ReadStored(Directory(), "c.o"), text);
}

TEST_F(KeeperTest, LocksAreOnesOfAllWhoShareTheDirectory) {
  StoredLock here(folder_ + "/models", 7), other(folder_ + "/models", 70);
  StoredLock kept(Directory(), 7);
  EXPECT_TRUE(here.TryTake());
  EXPECT_FALSE(kept.TryTake());
  {
    StoredLock another(Directory(), 70);
    EXPECT_TRUE(another.TryTake());
    EXPECT_FALSE(other.TryTake());
  }
  EXPECT_TRUE(other.TryTake());
}

TEST_F(KeeperTest, LargeFilesGoThroughInPieces) {
  TearDown();
  SetUp(size_t{1} << 30);
  std::string text(3'000'000, ' ');
  for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * i >> 5);
  EXPECT_EQ(WriteStored(Directory(), "a.o", BytesOf(text)), absl::OkStatus());
  EXPECT_EQ(ReadStored(Directory(), "a.o"), text);
}

TEST_F(KeeperTest, NamesLeadNowhereElse) {
  fs::create_directories(folder_ + "/models");
  for (const std::string name : {"../secret", "..", "/etc/passwd", "", ".hidden", "a/b", "a b"}) {
    TearDown();
    SetUp();
    EXPECT_FALSE(Answers(Request(KeeperAction::kRead, "models", name))) << name;
  }
}

TEST_F(KeeperTest, WhoAsksForSomethingElseIsNotServedAnyMore) {
  const std::string endless(300, 'x');
  KeeperRequest too_large = Request(KeeperAction::kWrite, "models", "a.o");
  too_large.bytes = 61;
  KeeperRequest absurd = too_large;
  absurd.bytes = ~uint64_t{0};
  for (const KeeperRequest& request :
       {Request(KeeperAction::kRead, "secrets", "a.o"), Request(KeeperAction::kRead, endless, "a.o"),
        Request(KeeperAction::kRead, "models", endless), Request(static_cast<KeeperAction>(9), "models", "a.o"),
        too_large, absurd}) {
    TearDown();
    SetUp();
    EXPECT_FALSE(Answers(request));
    EXPECT_EQ(WriteStored(Directory(), "a.o", BytesOf("x")).code(), absl::StatusCode::kUnavailable);
  }
}

}  // namespace
}  // namespace wharf
