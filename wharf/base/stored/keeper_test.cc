#include "wharf/base/stored/keeper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "wharf/base/stored/keeper_wire.h"
#include "wharf/base/stored/stored_files.h"

namespace wharf {
namespace {

namespace fs = std::filesystem;

std::span<const std::byte> BytesOf(const std::string& text) { return std::as_bytes(std::span(text)); }

constexpr SealKey kKey = {1, 2, 3};

class KeeperTest : public ::testing::Test {
 protected:
  void SetUp() override { SetUp(1200, 60); }
  void SetUp(uint64_t most, uint64_t most_of_a_file) {
    std::string pattern = (fs::temp_directory_path() / "wharf-keeper-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    Begin({{"models",
            {.path = folder_ + "/models", .most_bytes = most, .most_file_bytes = most_of_a_file, .extension = ".o"}}});
  }
  void TearDown() override {
    End();
    fs::remove_all(folder_);
  }
  void Begin(KeptDirectories directories) {
    int ends[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    ours_ = ends[0];
    keeper_ = std::thread([socket = ends[1], directories = std::move(directories)] {
      Keeper keeper;
      keeper.Add(socket, directories);
      keeper.ServeUntil(-1);
    });
  }
  void End() {
    close(ours_);
    keeper_.join();
  }
  // Instead of what SetUp began: kernels of one of several.
  void BeginKernels(const std::string& whose, bool writable, const SealKey& key = kKey) {
    End();
    Begin({{"kernels",
            {.path = folder_ + "/kernels",
             .most_bytes = 10'000,
             .most_file_bytes = 2'000,
             .writable = writable,
             .whose = whose,
             .seal = key}}});
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
  std::thread keeper_;
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

TEST_F(KeeperTest, EmptyFilesAreNotForNothing) {
  for (const char* name : {"a.o", "b.o", "c.o", "d.o", "e.o"}) {
    EXPECT_EQ(WriteStored(Directory(), name, {}), absl::OkStatus());
  }
  // Of 1200 bytes each takes kBytesOfAFile.
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_ + "/models"), fs::directory_iterator()), 2);
}

TEST_F(KeeperTest, WhatWasLeftHalfWrittenGoesInTime) {
  fs::create_directories(folder_ + "/models");
  const std::string left = folder_ + "/models/" + NameAside(), being_written = folder_ + "/models/" + NameAside();
  EXPECT_NE(left, being_written);
  for (const std::string& path : {left, being_written}) std::ofstream(path) << "half";
  fs::last_write_time(left, fs::file_time_type::clock::now() - std::chrono::hours(2));
  ASSERT_EQ(WriteStored(Directory(), "a.o", BytesOf(std::string(60, 'a'))), absl::OkStatus());
  EXPECT_EQ(ReadStored(Directory(), "a.o"), std::string(60, 'a'));
  EXPECT_FALSE(fs::exists(left));
  EXPECT_TRUE(fs::exists(being_written));
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
  SetUp(size_t{1} << 30, (size_t{1} << 30) * 3 / 5);
  std::string text(3'000'000, ' ');
  for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * i >> 5);
  EXPECT_EQ(WriteStored(Directory(), "a.o", BytesOf(text)), absl::OkStatus());
  EXPECT_EQ(ReadStored(Directory(), "a.o"), text);
}

TEST_F(KeeperTest, NamesLeadNowhereElse) {
  fs::create_directories(folder_ + "/models/a");
  for (const std::string name : {"../secret.o", "..", "/etc/passwd.o", "", ".hidden.o", "a/b.o", "a b.o"}) {
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
        Request(KeeperAction::kRead, "models", endless), Request(KeeperAction::kRead, "models", "a.json"),
        Request(static_cast<KeeperAction>(9), "models", "a.o"), too_large, absurd}) {
    TearDown();
    SetUp();
    EXPECT_FALSE(Answers(request));
    EXPECT_EQ(WriteStored(Directory(), "a.o", BytesOf("x")).code(), absl::StatusCode::kUnavailable);
  }
}

TEST_F(KeeperTest, WhoMayOnlyReadIsNotServedAnyMoreWhenItWrites) {
  BeginKernels("a", /*writable=*/true);
  EXPECT_EQ(WriteStored(Directory("kernels"), "k.o", BytesOf("text")), absl::OkStatus());
  for (const KeeperAction action :
       {KeeperAction::kWrite, KeeperAction::kRemove, KeeperAction::kTryLock, KeeperAction::kUnlock}) {
    BeginKernels("a", /*writable=*/false);
    EXPECT_EQ(ReadStored(Directory("kernels"), "k.o"), "text");
    EXPECT_FALSE(Answers(Request(action, "kernels", "k.o"))) << static_cast<uint32_t>(action);
  }
  BeginKernels("a", /*writable=*/false);
  EXPECT_EQ(ReadStored(Directory("kernels"), "k.o"), "text");
}

TEST_F(KeeperTest, NobodySeesWhatIsAnothers) {
  BeginKernels("a", /*writable=*/true);
  EXPECT_EQ(WriteStored(Directory("kernels"), "k.o", BytesOf("of a")), absl::OkStatus());
  BeginKernels("b", /*writable=*/true);
  for (const char* name : {"k.o", "a-k.o"}) EXPECT_EQ(ReadStored(Directory("kernels"), name), std::nullopt) << name;
  EXPECT_EQ(WriteStored(Directory("kernels"), "k.o", BytesOf("of b")), absl::OkStatus());
  RemoveStored(Directory("kernels"), "k.o");
  BeginKernels("a", /*writable=*/false);
  EXPECT_EQ(ReadStored(Directory("kernels"), "k.o"), "of a");
}

TEST_F(KeeperTest, NobodyCrowdsTheOthersOut) {
  const std::string text(1'000, 'x');
  BeginKernels("a", /*writable=*/true);
  EXPECT_EQ(WriteStored(Directory("kernels"), "k.o", BytesOf(text)), absl::OkStatus());
  fs::last_write_time(folder_ + "/kernels/a-k.o", fs::file_time_type::clock::now() - std::chrono::hours(1));
  BeginKernels("b", /*writable=*/true);
  for (int i = 0; i < 30; ++i) {
    EXPECT_EQ(WriteStored(Directory("kernels"), std::to_string(i) + ".o", BytesOf(text)), absl::OkStatus());
  }
  EXPECT_TRUE(fs::exists(folder_ + "/kernels/a-k.o"));
  EXPECT_LE(std::distance(fs::directory_iterator(folder_ + "/kernels"), fs::directory_iterator()), 1 + 2);
}

// Whoever can write into the directory, but does not have the key.
TEST_F(KeeperTest, WhatBearsNoSealIsAsGoodAsNone) {
  BeginKernels("a", /*writable=*/true);
  EXPECT_EQ(WriteStored(Directory("kernels"), "k.o", BytesOf("text")), absl::OkStatus());
  const std::string file = folder_ + "/kernels/a-k.o", others = folder_ + "/kernels/b-k.o";
  // Under another name, or as another's.
  fs::copy_file(file, folder_ + "/kernels/a-other.o");
  fs::copy_file(file, others);
  EXPECT_EQ(ReadStored(Directory("kernels"), "other.o"), std::nullopt);
  BeginKernels("b", /*writable=*/false);
  EXPECT_EQ(ReadStored(Directory("kernels"), "k.o"), std::nullopt);
  // Under another key.
  SealKey another = kKey;
  another[31] = 1;
  BeginKernels("a", /*writable=*/false, another);
  EXPECT_EQ(ReadStored(Directory("kernels"), "k.o"), std::nullopt);
  // Changed, shortened, without a seal.
  std::string bytes = "text" + std::string(32, '\0');
  {
    std::ifstream in(file, std::ios::binary);
    in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
  std::string changed = bytes;
  changed[0] ^= 1;
  for (const std::string& text : {changed, bytes.substr(1), bytes.substr(0, 35), std::string("text"), std::string()}) {
    std::ofstream(file, std::ios::binary | std::ios::trunc) << text;
    BeginKernels("a", /*writable=*/false);
    EXPECT_EQ(ReadStored(Directory("kernels"), "k.o"), std::nullopt) << text;
  }
  std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
  BeginKernels("a", /*writable=*/false);
  EXPECT_EQ(ReadStored(Directory("kernels"), "k.o"), "text");
}

// Whoever can write into the directory, and would have the keeper wait or send without end.
TEST_F(KeeperTest, WhatIsNoFileOfItsIsAsGoodAsNone) {
  EXPECT_EQ(WriteStored(Directory(), "a.o", BytesOf("text")), absl::OkStatus());
  const std::string models = folder_ + "/models/";
  ASSERT_EQ(mkfifo((models + "pipe.o").c_str(), 0666), 0);
  fs::create_symlink(models + "a.o", models + "link.o");
  fs::create_directory(models + "directory.o");
  std::ofstream(models + "endless.o");
  fs::resize_file(models + "endless.o", uint64_t{1} << 42);
  for (const char* name : {"pipe.o", "link.o", "directory.o", "endless.o"}) {
    EXPECT_EQ(ReadStored(Directory(), name), std::nullopt) << name;
  }
  EXPECT_EQ(ReadStored(Directory(), "a.o"), "text");
  fs::rename(models, folder_ + "/elsewhere");
  fs::create_symlink(folder_ + "/elsewhere", folder_ + "/models");
  EXPECT_EQ(ReadStored(Directory(), "a.o"), std::nullopt);
  EXPECT_EQ(WriteStored(Directory(), "a.o", BytesOf("other")).code(), absl::StatusCode::kInternal);
  BeginKernels("a", /*writable=*/false);
  fs::create_directory(folder_ + "/kernels");
  ASSERT_EQ(mkfifo((folder_ + "/kernels/a-k.o").c_str(), 0666), 0);
  EXPECT_EQ(ReadStored(Directory("kernels"), "k.o"), std::nullopt);
}

// Some who begin to write models, and come to no end.
class BeginnersTest : public KeeperTest {
 protected:
  static constexpr int kSockets = 8;
  static constexpr uint64_t kBytes = 1000;
  void SetUp() override {
    KeeperTest::SetUp();
    End();
    auto keeper = std::make_unique<Keeper>();
    for (int i = 0; i < kSockets; ++i) {
      int ends[2];
      ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
      all_.push_back(ends[0]);
      keeper->Add(ends[1], {{"models",
                             {.path = folder_ + "/models",
                              .most_bytes = 12 * kBytes,
                              .most_file_bytes = 20 * kBytes,
                              .extension = ".o"}}});
    }
    ours_ = all_[0];
    keeper_ = std::thread([keeper = std::move(keeper)] { keeper->ServeUntil(-1); });
  }
  void TearDown() override {
    for (size_t i = 1; i < all_.size(); ++i) close(all_[i]);
    KeeperTest::TearDown();
  }
  void BeginAt(int socket) const {
    KeeperRequest request = Request(KeeperAction::kWrite, "models", "large.o");
    request.bytes = kBytes;
    const std::string all_but_one(kBytes - 1, 'x');
    EXPECT_TRUE(WriteWhole(socket, &request, sizeof(request)) &&
                WriteWhole(socket, all_but_one.data(), all_but_one.size()));
  }
  uint64_t BytesOnDisk() const {
    uint64_t bytes = 0;
    for (const auto& file : fs::directory_iterator(folder_ + "/models")) bytes += file.file_size();
    return bytes;
  }
  std::vector<int> all_;
};

TEST_F(BeginnersTest, WhatIsHalfWrittenFillsNoDisk) {
  for (int i = 1; i < kSockets; ++i) BeginAt(all_[i]);
  // Each round gives every socket a turn: one for the request, one for what follows.
  for (int round = 0; round < 4; ++round) EXPECT_EQ(ReadStored(Directory(), "none.o"), std::nullopt);
  EXPECT_EQ(BytesOnDisk(), 3 * (kBytes - 1));  // a quarter of 12
  int refused = 0;
  for (int i = 1; i < kSockets; ++i) {
    KeeperReply reply;
    ASSERT_TRUE(WriteWhole(all_[i], "x", 1) && ReadWhole(all_[i], &reply, sizeof(reply)));
    EXPECT_TRUE(reply.error == 0 || reply.error == ENOSPC) << reply.error;
    refused += reply.error == 0 ? 0 : 1;
  }
  EXPECT_EQ(refused, kSockets - 1 - 3);
}

TEST_F(BeginnersTest, WhoGoesInTheMiddleLeavesRoom) {
  for (int i = 1; i < kSockets; ++i) BeginAt(all_[i]);
  for (int round = 0; round < 4; ++round) EXPECT_EQ(ReadStored(Directory(), "none.o"), std::nullopt);
  for (int i = 1; i < kSockets; ++i) shutdown(all_[i], SHUT_RDWR);
  for (int round = 0; round < 4; ++round) EXPECT_EQ(ReadStored(Directory(), "none.o"), std::nullopt);
  EXPECT_EQ(BytesOnDisk(), 0U);
  const std::string large(11 * kBytes, 'x');
  EXPECT_EQ(WriteStored(Directory(), "large.o", BytesOf(large)), absl::OkStatus());
  EXPECT_EQ(ReadStored(Directory(), "large.o"), large);
}

TEST_F(BeginnersTest, WhatIsLargerThanItsDirectoryMayBeIsNotKept) {
  EXPECT_EQ(WriteStored(Directory(), "small.o", BytesOf("small")), absl::OkStatus());
  const std::string huge(13 * kBytes, 'x');
  EXPECT_EQ(WriteStored(Directory(), "huge.o", BytesOf(huge)), ErrnoStatus(ENOSPC, "huge.o"));
  EXPECT_EQ(ReadStored(Directory(), "huge.o"), std::nullopt);
  EXPECT_EQ(ReadStored(Directory(), "small.o"), "small");
}

// Many at once, who stand for the workers of as many sessions, and a hundred of whom nothing good comes.
class CrowdTest : public KeeperTest {
 protected:
  static constexpr int kSockets = 300, kBad = 100;
  void SetUp() override {
    KeeperTest::SetUp();
    End();
    rlimit descriptors{};
    ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &descriptors), 0);
    descriptors.rlim_cur = descriptors.rlim_max;
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &descriptors), 0);
    auto keeper = std::make_unique<Keeper>();
    for (int i = 0; i < kSockets + kBad; ++i) {
      int ends[2];
      ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
      all_.push_back(ends[0]);
      keeper->Add(ends[1], {{"kernels",
                             {.path = folder_ + "/kernels",
                              .most_bytes = uint64_t{1} << 30,
                              .most_file_bytes = 10 << 20,
                              .whose = i < kSockets ? "a" : "b",
                              .seal = kKey}}});
    }
    ours_ = all_[0];
    keeper_ = std::thread([keeper = std::move(keeper)] { keeper->ServeUntil(-1); });
  }
  void TearDown() override {
    for (size_t i = 1; i < all_.size(); ++i) close(all_[i]);
    KeeperTest::TearDown();
  }
  void MisbehaveAt(int socket, int how) const {
    KeeperRequest request = Request(how == 2 ? KeeperAction::kRead : KeeperAction::kWrite, "kernels", "large.o");
    request.bytes = 10 << 20;
    const std::string garbage(sizeof(request), 'x');
    switch (how) {
      case 0:  // half a request
        return static_cast<void>(WriteWhole(socket, &request, sizeof(request) / 2));
      case 1:  // half a file
        return static_cast<void>(WriteWhole(socket, &request, sizeof(request)) && WriteWhole(socket, &request, 100));
      case 2:  // an answer that nobody takes
        return static_cast<void>(WriteWhole(socket, &request, sizeof(request)));
      default:
        return static_cast<void>(WriteWhole(socket, garbage.data(), garbage.size()));
    }
  }

  std::vector<int> all_;
};

TEST_F(CrowdTest, EachIsServedWhateverOthersDo) {
  const std::string large(10 << 20, 'x');
  EXPECT_EQ(WriteStored(KeeperRoot(all_[kSockets]) + "/kernels", "large.o", BytesOf(large)), absl::OkStatus());
  for (int i = 0; i < kBad; ++i) MisbehaveAt(all_[kSockets + i], i % 4);
  for (int i = 0; i < kSockets; ++i) {
    const std::string directory = KeeperRoot(all_[i]) + "/kernels", name = std::to_string(i) + ".o";
    EXPECT_EQ(WriteStored(directory, name, BytesOf(name)), absl::OkStatus());
  }
  for (int i = 0; i < kSockets; ++i) {
    const std::string name = std::to_string(i) + ".o";
    EXPECT_EQ(ReadStored(KeeperRoot(all_[kSockets - 1 - i]) + "/kernels", name), name);
  }
}

// Of content that waits for somebody there is only so much, and each has a part.
TEST_F(CrowdTest, WhoTakesNothingFillsNoMemory) {
  const std::string large(10 << 20, 'x');
  EXPECT_EQ(WriteStored(KeeperRoot(all_[kSockets]) + "/kernels", "large.o", BytesOf(large)), absl::OkStatus());
  for (int i = 1; i < kBad; ++i) MisbehaveAt(all_[kSockets + i], 2);
  int refused = 0;
  for (int i = 1; i < kBad; ++i) {
    KeeperReply reply;
    ASSERT_TRUE(ReadWhole(all_[kSockets + i], &reply, sizeof(reply)));
    refused += reply.error == ENOMEM ? 1 : 0;
  }
  EXPECT_EQ(refused, kBad - 1 - 25);  // 250 MiB
  EXPECT_EQ(WriteStored(Directory("kernels"), "k.o", BytesOf(large)), absl::OkStatus());
  EXPECT_EQ(ReadStored(Directory("kernels"), "k.o"), large);
}

TEST_F(KeeperTest, TheKeyIsMadeOnceAndForItsOwnerAlone) {
  const std::string file = folder_ + "/kernels.key";
  const auto key = FindSealKey(file);
  ASSERT_EQ(key.status(), absl::OkStatus());
  EXPECT_NE(*key, SealKey{});
  EXPECT_EQ(*FindSealKey(file), *key);
  fs::permissions(file, fs::perms::group_read, fs::perm_options::add);
  EXPECT_EQ(FindSealKey(file).status().code(), absl::StatusCode::kFailedPrecondition);
  fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write);
  fs::resize_file(file, 31);
  EXPECT_EQ(FindSealKey(file).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(FindSealKey(folder_ + "/missing/kernels.key").status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace wharf
