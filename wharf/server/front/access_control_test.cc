#include "wharf/server/front/access_control.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace wharf::server {
namespace {

using ::testing::HasSubstr;

class AccessControlTest : public ::testing::Test {
 protected:
  AccessControlTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "wharf-access-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  ~AccessControlTest() override { std::filesystem::remove_all(folder_); }
  std::string Write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ + "/" + name) << text;
    return folder_ + "/" + name;
  }
  static absl::StatusCode CodeOf(const std::string& listen, const AccessOptions& options) {
    return MakeAccessControl(listen, options).status().code();
  }

  std::string folder_;
};

TEST_F(AccessControlTest, OnlyThisMachineComesInWithoutToken) {
  for (const char* address : {"127.0.0.1:7070", "[::1]:0", "unix:/tmp/x"}) {
    const auto access = MakeAccessControl(address, {});
    ASSERT_TRUE(access.ok()) << access.status();
    EXPECT_EQ(access->token, "");
    EXPECT_FALSE(access->tls.has_value());
  }
  for (const char* address : {"0.0.0.0:0", "[::]:0", "192.0.2.1:7070", "127.example.org:1"}) {
    const absl::Status refused = MakeAccessControl(address, {}).status();
    EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument) << address;
    EXPECT_THAT(std::string(Message(refused)), HasSubstr("--token-file"));
  }
}

TEST_F(AccessControlTest, WhatIsNoAddressNeedsNoToken) {
  for (const char* address : {"7070", "127.0.0.1", ":7070", "unix:"}) {
    const absl::Status refused = MakeAccessControl(address, {}).status();
    EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument) << address;
    EXPECT_THAT(std::string(Message(refused)), HasSubstr("is not an address: write HOST:PORT"));
  }
}

TEST_F(AccessControlTest, WithATokenWhoKnowsItComesIn) {
  AccessOptions options;
  options.token_file = Write("token", "  0123456789abcdef \nsecond line");
  const auto access = MakeAccessControl("0.0.0.0:0", options);
  ASSERT_TRUE(access.ok()) << access.status();
  EXPECT_EQ(access->token, "0123456789abcdef");
}

TEST_F(AccessControlTest, FilesThatCannotBeUsedAreRefused) {
  const std::string text = Write("text", "no certificate"), shorter = Write("short", "secret"), none = folder_ + "/no";
  EXPECT_EQ(CodeOf("0.0.0.0:0", {.token_file = none}), absl::StatusCode::kNotFound);
  EXPECT_EQ(CodeOf("0.0.0.0:0", {.token_file = shorter}), absl::StatusCode::kInvalidArgument);
  const std::string unix_socket = "unix:/tmp/x";
  EXPECT_EQ(CodeOf(unix_socket, {.tls_certificate = text}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(CodeOf(unix_socket, {.tls_key = text}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(CodeOf(unix_socket, {.tls_client_ca = text}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(CodeOf(unix_socket, {.tls_certificate = text, .tls_key = none}), absl::StatusCode::kNotFound);
  EXPECT_EQ(CodeOf(unix_socket, {.tls_certificate = text, .tls_key = text}), absl::StatusCode::kInvalidArgument);
}

TEST_F(AccessControlTest, ACertificateAloneLetsNobodyIn) {
  const std::string text = Write("text", "");
  EXPECT_EQ(Validate("0.0.0.0:0", {.tls_certificate = text, .tls_key = text}).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Validate("0.0.0.0:0", {.tls_certificate = text, .tls_key = text, .tls_client_ca = text}), absl::OkStatus());
}

TEST(LoopbackTest, KnowsLoopbackFromTheRest) {
  for (const char* address : {"127.0.0.1:7070", "127.1.2.3:1", "localhost:0", "[::1]:7070", "unix:/tmp/x"}) {
    EXPECT_TRUE(IsLoopbackAddress(address)) << address;
  }
  for (const char* address : {"0.0.0.0:7070", "[::]:1", "edge:7070", "127.0.0.1.example.org:1", "10.0.0.1:1", ":1"}) {
    EXPECT_FALSE(IsLoopbackAddress(address)) << address;
  }
}

}  // namespace
}  // namespace wharf::server
