#include "wharf/server/front/self_signed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <future>

#include "wharf/link/byte_stream.h"

namespace wharf::server {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

class SelfSignedTest : public ::testing::Test {
 protected:
  SelfSignedTest() {
    std::string pattern = (fs::temp_directory_path() / "wharf-tls-XXXXXX").string();
    folder_ = std::string(mkdtemp(pattern.data())) + "/tls";
  }
  ~SelfSignedTest() override { fs::remove_all(fs::path(folder_).parent_path()); }

  // How a client that trusts `fingerprint` gets on with a server that has the pair.
  absl::Status Connect(const SelfSigned& pair, const std::string& fingerprint) {
    const auto listener = link::Listener::Create("127.0.0.1:0");
    EXPECT_TRUE(listener.ok()) << listener.status();
    auto server = std::async(std::launch::async, [&]() -> absl::Status {
      WHARF_ASSIGN_OR_RETURN(const int accepted, (*listener)->Accept());
      WHARF_ASSIGN_OR_RETURN(const auto tls, link::TlsServer::Create({pair.certificate, pair.key, ""}));
      return tls->Accept(accepted, std::chrono::seconds(30)).status();
    });
    link::ConnectOptions options;
    options.tls = link::TlsClientOptions{.fingerprint = fingerprint};
    const absl::Status connected = link::Connect((*listener)->Address(), options).status();
    server.wait();
    return connected;
  }

  std::string folder_;
};

TEST_F(SelfSignedTest, APairIsMadeOnceForItsOwnerAlone) {
  const auto pair = FindSelfSigned(folder_);
  ASSERT_TRUE(pair.ok()) << pair.status();
  EXPECT_THAT(pair->fingerprint, MatchesRegex("sha256:[0-9a-f]{64}"));
  struct stat key {};
  ASSERT_EQ(stat(pair->key.c_str(), &key), 0);
  EXPECT_EQ(key.st_mode & 0777, 0600u);
  const auto again = FindSelfSigned(folder_);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->fingerprint, pair->fingerprint);
  EXPECT_NE(FindSelfSigned(folder_ + "2")->fingerprint, pair->fingerprint);
}

// One in 256 serial numbers begins with a byte that DER wants left out.
TEST_F(SelfSignedTest, EveryPairIsReadAgain) {
  for (int i = 0; i < 600; ++i) {
    const auto pair = FindSelfSigned(folder_ + "/" + std::to_string(i));
    ASSERT_TRUE(pair.ok()) << pair.status();
  }
}

TEST_F(SelfSignedTest, NoLinkIsFollowedAndNoHalfPairTaken) {
  fs::create_directories(folder_);
  const std::string elsewhere = folder_ + "-elsewhere";
  fs::create_symlink(elsewhere, folder_ + "/server.key");
  EXPECT_EQ(FindSelfSigned(folder_).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_FALSE(fs::exists(elsewhere));
}

// A pair that somebody else put there has a key that he knows.
TEST_F(SelfSignedTest, NoPlantedPairIsTaken) {
  const auto theirs = FindSelfSigned(folder_ + "-theirs");
  ASSERT_TRUE(theirs.ok()) << theirs.status();
  const auto found = [&] { return FindSelfSigned(folder_).status().code(); };
  fs::create_directories(folder_);
  const std::string key = folder_ + "/server.key", certificate = folder_ + "/server.crt";
  for (const std::string& link : {key, certificate}) {
    for (const char* const name : {"/server.key", "/server.crt"}) {
      fs::remove(folder_ + name);
      fs::copy_file(folder_ + "-theirs" + name, folder_ + name);
    }
    EXPECT_EQ(found(), absl::StatusCode::kOk);
    fs::remove(link);
    fs::create_symlink(link == key ? theirs->key : theirs->certificate, link);
    EXPECT_EQ(found(), absl::StatusCode::kFailedPrecondition) << link;
    fs::remove(link);
    ASSERT_EQ(mkfifo(link.c_str(), 0600), 0);
    EXPECT_EQ(found(), absl::StatusCode::kFailedPrecondition) << link;
  }
}

TEST_F(SelfSignedTest, NoPairIsTakenThatOthersMayHaveWrittenOrKnow) {
  const auto pair = FindSelfSigned(folder_);
  ASSERT_TRUE(pair.ok()) << pair.status();
  const auto found = [&] { return FindSelfSigned(folder_).status().code(); };
  const auto expect_with = [&](const std::string& file, mode_t mode, absl::StatusCode expected) {
    struct stat before {};
    ASSERT_EQ(stat(file.c_str(), &before), 0);
    ASSERT_EQ(chmod(file.c_str(), mode), 0);
    EXPECT_EQ(found(), expected) << file << " " << mode;
    ASSERT_EQ(chmod(file.c_str(), before.st_mode & 0777), 0);
  };
  expect_with(pair->certificate, 0664, absl::StatusCode::kFailedPrecondition);
  expect_with(pair->certificate, 0646, absl::StatusCode::kFailedPrecondition);
  expect_with(pair->certificate, 0600, absl::StatusCode::kOk);
  expect_with(pair->key, 0640, absl::StatusCode::kFailedPrecondition);
  expect_with(pair->key, 0604, absl::StatusCode::kFailedPrecondition);
  expect_with(pair->key, 0400, absl::StatusCode::kOk);
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  for (const std::string& file : {pair->key, pair->certificate}) {
    ASSERT_EQ(chown(file.c_str(), 65534, 65534), 0);
    EXPECT_EQ(found(), absl::StatusCode::kFailedPrecondition) << file;
    ASSERT_EQ(chown(file.c_str(), geteuid(), getegid()), 0);
  }
  EXPECT_EQ(found(), absl::StatusCode::kOk);
}

TEST_F(SelfSignedTest, AClientTakesTheOneCertificateAndNoOther) {
  const auto pair = FindSelfSigned(folder_);
  ASSERT_TRUE(pair.ok()) << pair.status();
  EXPECT_EQ(Connect(*pair, pair->fingerprint), absl::OkStatus());
  const absl::Status other = Connect(*pair, "sha256:" + std::string(64, '0'));
  EXPECT_EQ(other.code(), absl::StatusCode::kUnauthenticated);
  EXPECT_THAT(std::string(other.message()), HasSubstr(pair->fingerprint));
  for (const std::string& wrong : {std::string("sha256:"), std::string("sha256:00"), "sha256:" + std::string(66, '0'),
                                   "md5:" + std::string(64, '0'), std::string(64, 'x')}) {
    EXPECT_EQ(Connect(*pair, wrong).code(), absl::StatusCode::kInvalidArgument) << wrong;
  }
}

}  // namespace
}  // namespace wharf::server
