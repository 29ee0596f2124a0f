// Servers that do not start: one clear line each.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "wharf/server/testing/testing.h"

namespace wharf::server {
namespace {

using ::testing::HasSubstr;

// What `wharf serve` says and returns when it does not start.
struct Failure {
  int code = 0;
  std::string line;
};
Failure Fail(const std::vector<std::string>& options) {
  const TemporaryDirectory directory;
  std::vector<std::string> arguments = {WHARF_BINARY, "serve"};
  arguments.insert(arguments.end(), options.begin(), options.end());
  Child child(arguments, directory.File("output"), directory.File("error"));
  const int code = child.AwaitExit();
  return {code, directory.Read("error")};
}

TEST(ServerStartTest, APortInUseIsSaidInOneLine) {
  const ServerProcess server;
  const Failure failure = Fail({"--listen", server.Address(), "--device", "soft"});
  EXPECT_EQ(failure.code, 1);
  const std::string port = server.Address().substr(server.Address().rfind(':') + 1);
  EXPECT_THAT(failure.line, HasSubstr("wharf: port " + port + " is in use"));
  EXPECT_EQ(std::count(failure.line.begin(), failure.line.end(), '\n'), 1);
}

TEST(ServerStartTest, OthersMayReachItOnlyWithTokenOrMutualTls) {
  for (const char* address : {"0.0.0.0:0", "[::]:0", "192.0.2.1:7070", "127.example.org:1"}) {
    const Failure failure = Fail({"--listen", address, "--device", "soft"});
    EXPECT_EQ(failure.code, 1) << address;
    EXPECT_THAT(failure.line, HasSubstr("--token-file"));
    EXPECT_EQ(std::count(failure.line.begin(), failure.line.end(), '\n'), 1);
  }
}

TEST(ServerStartTest, WhatIsNoAddressIsSaidFirst) {
  for (const char* address : {"7070", "127.0.0.1", ":7070", "unix:"}) {
    const Failure failure = Fail({"--listen", address, "--device", "soft"});
    EXPECT_EQ(failure.code, 1) << address;
    EXPECT_THAT(failure.line, HasSubstr("is not an address: write HOST:PORT"));
  }
}

TEST(ServerStartTest, WrongFilesAreSaidAtOnce) {
  const TemporaryDirectory directory;
  MakeIdentity(directory, "one");
  MakeIdentity(directory, "two");
  directory.Write("short", "secret");
  directory.Write("text", "no certificate");
  EXPECT_THAT(Fail({"--token-file", directory.File("none")}).line, HasSubstr("cannot read the token file"));
  EXPECT_THAT(Fail({"--token-file", directory.File("short")}).line, HasSubstr("it needs 16 to 4096"));
  EXPECT_THAT(Fail({"--tls-cert", directory.File("one.crt")}).line, HasSubstr("go together"));
  EXPECT_THAT(Fail({"--tls-cert", directory.File("text"), "--tls-key", directory.File("one.key")}).line,
              HasSubstr("is no certificate chain"));
  EXPECT_THAT(Fail({"--tls-cert", directory.File("one.crt"), "--tls-key", directory.File("two.key")}).line,
              HasSubstr("not that of"));
  EXPECT_THAT(Fail({"--device", "gpu"}).line, HasSubstr("--device is soft, cuda or auto"));
  EXPECT_THAT(Fail({"--model-device", "gpu"}).line, HasSubstr("--model-device is cpu, cuda, cuda:N or auto"));
}

TEST(ServerStartTest, WrongUsageIsCodeTwo) {
  EXPECT_EQ(Fail({"--no-such-option"}).code, 2);
  EXPECT_EQ(Fail({"--memory", "many"}).code, 2);
  EXPECT_EQ(Fail({"--max-sessions", "0"}).code, 2);
}

}  // namespace
}  // namespace wharf::server
