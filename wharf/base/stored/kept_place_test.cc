// Keepers that follow one another, seen by the process that asks them.
#include "wharf/base/stored/kept_place.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "wharf/base/passed_descriptors.h"
#include "wharf/base/stored/keeper.h"
#include "wharf/base/stored/stored_files.h"

namespace wharf {
namespace {

std::array<int, 2> Pair(int type) {
  std::array<int, 2> ends{-1, -1};
  EXPECT_EQ(socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends.data()), 0);
  return ends;
}

std::span<const std::byte> Content(const std::string& text) { return std::as_bytes(std::span(text)); }

// One that ends when it is told to, whoever it serves.
class MortalKeeper {
 public:
  MortalKeeper(int socket, const std::string& models) : control_(Pair(SOCK_STREAM)) {
    thread_ = std::thread([socket, models, control = control_[1]] {
      Keeper keeper;
      keeper.Add(socket,
                 {{"models", {.path = models, .most_bytes = 1 << 20, .most_file_bytes = 1 << 20, .extension = ".o"}}});
      keeper.ServeUntil(control);
    });
  }
  ~MortalKeeper() {
    close(control_[0]);
    thread_.join();
    close(control_[1]);
  }
  MortalKeeper(const MortalKeeper&) = delete;
  MortalKeeper& operator=(const MortalKeeper&) = delete;

 private:
  const std::array<int, 2> control_;
  std::thread thread_;
};

class KeptPlaceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "wharf-place-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  ~KeptPlaceTest() override {
    for (const int end : door_) close(end);
    std::filesystem::remove_all(folder_);
  }
  // The keeper's end of a socket that is passed through the door.
  int Pass() const {
    const auto ends = Pair(SOCK_STREAM);
    EXPECT_EQ(PassSocket(door_[0], ends[0]), absl::OkStatus());
    close(ends[0]);
    return ends[1];
  }
  std::unique_ptr<MortalKeeper> Begin() const { return std::make_unique<MortalKeeper>(Pass(), folder_ + "/models"); }
  std::string Models() const { return KeeperRootBehind(door_[1]) + "/models"; }
  absl::Status Write(const std::string& name, const std::string& text) const {
    return WriteStored(Models(), name, Content(text));
  }

  std::string folder_;
  const std::array<int, 2> door_ = Pair(SOCK_SEQPACKET);
};

TEST_F(KeptPlaceTest, TheFirstIsAskedAndWhenItHasEndedTheNext) {
  auto first = Begin();
  EXPECT_EQ(Write("a.o", "text"), absl::OkStatus());
  EXPECT_EQ(ReadStored(Models(), "a.o"), "text");
  first.reset();
  const auto next = Begin();
  EXPECT_EQ(ReadStored(Models(), "a.o"), "text");
  EXPECT_EQ(Write("b.o", "more"), absl::OkStatus());
  RemoveStored(Models(), "a.o");
  EXPECT_EQ(ReadStored(Models(), "a.o"), std::nullopt);
  EXPECT_EQ(ReadStored(folder_ + "/models", "b.o"), "more");
}

TEST_F(KeptPlaceTest, WhereNoneWasPassedThereIsNoneUntilOneIs) {
  EXPECT_EQ(Write("a.o", "text"), Unavailable("the keeper of files is gone"));
  auto first = Begin();
  EXPECT_EQ(Write("a.o", "text"), absl::OkStatus());
  first.reset();
  EXPECT_EQ(Write("b.o", "more"), Unavailable("the keeper of files is gone"));
  EXPECT_EQ(ReadStored(Models(), "a.o"), std::nullopt);
  EXPECT_TRUE(StoredLock(Models(), 7).TryTake());  // which a cache is worth no failure for
  const auto next = Begin();
  EXPECT_EQ(ReadStored(Models(), "a.o"), "text");
}

TEST_F(KeptPlaceTest, WhoEndedBeforeTheyWereAskedAreLeftOut) {
  Begin().reset();
  Begin().reset();
  const auto third = Begin();
  EXPECT_EQ(Write("a.o", "text"), absl::OkStatus());
  EXPECT_EQ(ReadStored(Models(), "a.o"), "text");
}

TEST_F(KeptPlaceTest, OneThatLivesIsNotLeftForTheNext) {
  const auto first = Begin();
  EXPECT_EQ(Write("a.o", "text"), absl::OkStatus());
  const int unused = Pass();
  EXPECT_EQ(ReadStored(Models(), "a.o"), "text");
  char byte = 0;
  EXPECT_EQ(recv(unused, &byte, 1, MSG_DONTWAIT), -1);
  EXPECT_EQ(errno, EAGAIN);
  close(unused);
}

// It ends in the middle of its answer.
TEST_F(KeptPlaceTest, WhatWasHalfAnsweredIsAskedOfTheNext) {
  const int socket = Pass();
  std::thread half([socket] {
    KeeperRequest request;
    EXPECT_TRUE(ReadWhole(socket, &request, sizeof(request)));
    const KeeperReply reply{0, 1000};
    EXPECT_TRUE(WriteWhole(socket, &reply, sizeof(reply)) && WriteWhole(socket, "half", 4));
    close(socket);
  });
  ASSERT_EQ(WriteStored(folder_ + "/models", "a.o", Content("text")), absl::OkStatus());
  const auto next = Begin();
  EXPECT_EQ(ReadStored(Models(), "a.o"), "text");
  half.join();
}

TEST_F(KeptPlaceTest, ALockEndsWithItsKeeper) {
  auto first = Begin();
  StoredLock before(Models(), 7), other(folder_ + "/models", 7);
  EXPECT_TRUE(before.TryTake());
  EXPECT_FALSE(other.TryTake());
  first.reset();
  const auto next = Begin();
  StoredLock after(Models(), 7);
  EXPECT_TRUE(after.TryTake());
  EXPECT_FALSE(other.TryTake());
}

}  // namespace
}  // namespace wharf
