// Against a real etcd: joining, leaving, dying, and etcd itself restarting, with its data or without.
#include "wharf/pipeline/membership/etcd_membership.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "wharf/pipeline/membership/etcd_client.h"
#include "wharf/pipeline/membership/etcd_testing.h"

namespace wharf::pipeline {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr Nanoseconds kLong = std::chrono::seconds(60);
const Member kA{"a", "fast", "10.0.0.1:7090"}, kB{"b", "slow", "10.0.0.2:7090"};

class EtcdMembershipTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!testing::HaveEtcd()) GTEST_SKIP() << "etcd is not installed (Debian's etcd-server): nothing was tested";
    ASSERT_EQ(etcd_.Start(), absl::OkStatus());
    options_.access = etcd_.Access();
    options_.lease_seconds = 10;  // more than a busy machine keeps anybody from renewing it
    options_.retry = std::chrono::milliseconds(20);
  }
  std::unique_ptr<Membership> Open() {
    auto membership = MakeEtcdMembership(options_);
    EXPECT_TRUE(membership.ok());
    return *std::move(membership);
  }
  // The members when they are as many, at last.
  static std::vector<Member> AwaitMembers(Membership& membership, size_t count) {
    View view;
    const TimePoint deadline = Clock::Real().Now() + kLong;
    do {
      view = membership.Await(view.version, deadline - Clock::Real().Now());
    } while ((view.version == 0 || view.members.size() != count) && Clock::Real().Now() < deadline);
    return view.members;
  }

  testing::EtcdServer etcd_;
  EtcdOptions options_;
};

TEST_F(EtcdMembershipTest, WhoWatchesSeesWhoJoinsAndLeaves) {
  const auto watcher = Open(), worker = Open();
  EXPECT_THAT(AwaitMembers(*watcher, 0), IsEmpty());
  auto a = worker->Join(kA);
  ASSERT_TRUE(a.ok()) << ToString(a.status());
  EXPECT_THAT(AwaitMembers(*watcher, 1), ElementsAre(kA));
  auto b = worker->Join(kB);
  EXPECT_THAT(AwaitMembers(*watcher, 2), ElementsAre(kA, kB));
  a->reset();
  EXPECT_THAT(AwaitMembers(*watcher, 1), ElementsAre(kB));
}

TEST_F(EtcdMembershipTest, AWorkerThatIsSilentIsNoMemberForLong) {
  const auto watcher = Open();
  const EtcdClient client(options_.access);
  const auto lease = client.GrantLease(5);  // the watcher sees it meanwhile
  ASSERT_TRUE(lease.ok());
  ASSERT_EQ(client.Put("/wharf/pipeline/default/workers/a", R"({"class":"fast","address":"10.0.0.1:7090"})", *lease),
            absl::OkStatus());
  EXPECT_THAT(AwaitMembers(*watcher, 1), ElementsAre(kA));
  EXPECT_THAT(AwaitMembers(*watcher, 0), IsEmpty());
}

TEST_F(EtcdMembershipTest, ClustersDoNotSeeEachOther) {
  const auto watcher = Open(), other = Open();
  options_.cluster = "other";
  const auto worker = Open();
  const auto a = worker->Join(kA);
  const auto b = other->Join(kB);
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_THAT(AwaitMembers(*watcher, 1), ElementsAre(kB));
}

TEST_F(EtcdMembershipTest, WhatIsNoWorkerIsLeftOut) {
  const auto watcher = Open(), worker = Open();
  const EtcdClient client(options_.access);
  const auto lease = client.GrantLease(60);
  ASSERT_TRUE(lease.ok());
  const std::string prefix = "/wharf/pipeline/default/workers/";
  for (const auto& [name, value] : {std::pair("x", "no JSON"), std::pair("y", R"({"class":1,"address":"z:1"})"),
                                    std::pair("q/q", R"({"class":"fast","address":"z:1"})")}) {
    ASSERT_EQ(client.Put(prefix + name, value, *lease), absl::OkStatus());
  }
  const auto a = worker->Join(kA);
  EXPECT_THAT(AwaitMembers(*watcher, 1), ElementsAre(kA));
}

TEST_F(EtcdMembershipTest, WhileEtcdIsAwayTheLastViewStandsAndThenChangesAreSeenAgain) {
  const auto watcher = Open(), worker = Open();
  const auto a = worker->Join(kA);
  ASSERT_TRUE(a.ok());
  EXPECT_THAT(AwaitMembers(*watcher, 1), ElementsAre(kA));
  etcd_.Kill();
  EXPECT_EQ(worker->Join(kB).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(watcher->Await(0, kLong).members, ElementsAre(kA));
  ASSERT_EQ(etcd_.Start(), absl::OkStatus());
  const auto b = worker->Join(kB);
  ASSERT_TRUE(b.ok()) << ToString(b.status());
  EXPECT_THAT(AwaitMembers(*watcher, 2), ElementsAre(kA, kB));
}

TEST_F(EtcdMembershipTest, WorkersJoinAgainWhenEtcdForgotThem) {
  const auto watcher = Open(), worker = Open();
  const auto a = worker->Join(kA);
  ASSERT_TRUE(a.ok());
  EXPECT_THAT(AwaitMembers(*watcher, 1), ElementsAre(kA));
  etcd_.Kill();
  etcd_.ForgetEverything();
  ASSERT_EQ(etcd_.Start(), absl::OkStatus());
  const auto late_watcher = Open();
  EXPECT_THAT(AwaitMembers(*late_watcher, 1), ElementsAre(kA));
}

TEST(EtcdMembership, SaysWhenNobodyAnswers) {
  EtcdOptions options;
  options.access.endpoint = fmt::format("127.0.0.1:{}", testing::FreePort());
  const auto membership = MakeEtcdMembership(options);
  ASSERT_TRUE(membership.ok());
  EXPECT_EQ((*membership)->Join(kA).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ((*membership)->Await(0, Nanoseconds{1}).version, 0);
}

// Arrays in arrays, which whoever writes them out again would need a stack for.
TEST(EtcdMembership, AnAnswerThatIsTooDeepIsNone) {
  const std::string deep = std::string(4'000'000, '[') + std::string(4'000'000, ']');
  const std::string body = R"({"error": )" + deep + "}\n";
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{.sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_zero = {}};
  socklen_t size = sizeof(address);
  ASSERT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size), 0);
  ASSERT_EQ(listen(listener, 1), 0);
  std::thread etcd([&] {
    const int connection = accept(listener, nullptr, nullptr);
    char request[4096];
    ASSERT_GT(recv(connection, request, sizeof(request), 0), 0);
    const std::string answer = fmt::format("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{}", body.size(), body);
    for (size_t sent = 0; sent < answer.size();) {
      const ssize_t more = send(connection, answer.data() + sent, answer.size() - sent, MSG_NOSIGNAL);
      if (more <= 0) break;
      sent += static_cast<size_t>(more);
    }
    close(connection);
  });
  const EtcdClient client({.endpoint = fmt::format("127.0.0.1:{}", ntohs(address.sin_port))});
  HttpStream stream;
  EXPECT_EQ(client.AwaitEvent(stream, "/wharf/", 1, kLong), DataLoss("etcd answers something that is no JSON object"));
  etcd.join();
  close(listener);
}

TEST_F(EtcdMembershipTest, EtcdMayHaveAName) {
  options_.access.endpoint.replace(options_.access.endpoint.find("127.0.0.1"), 9, "localhost");
  const auto watcher = Open(), worker = Open();
  const auto a = worker->Join(kA);
  ASSERT_TRUE(a.ok()) << a.status();
  EXPECT_THAT(AwaitMembers(*watcher, 1), ElementsAre(kA));
}

// Before anything is asked of it: later nothing is looked up, and nothing is read.
TEST(EtcdMembership, SaysAtOnceWhichNameOrFileThereIsNot) {
  EtcdOptions options;
  options.access.endpoint = "http://no-such-host.invalid:2379";
  EXPECT_EQ(MakeEtcdMembership(options).status().code(), absl::StatusCode::kUnavailable);
  options.access.endpoint = "https://127.0.0.1:2379";
  options.access.ca_file = "/nowhere/ca.crt";
  const absl::Status missing = MakeEtcdMembership(options).status();
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(Message(missing)), ::testing::HasSubstr("/nowhere/ca.crt"));
}

TEST(EtcdMembership, RefusesBadClusters) {
  EtcdOptions options;
  options.cluster = "a/b";
  EXPECT_EQ(MakeEtcdMembership(options).status().code(), absl::StatusCode::kInvalidArgument);
}

// --- Who we are to etcd ---

TEST_F(EtcdMembershipTest, OverHttpsWithACertificate) {
  testing::EtcdServer encrypted(true);
  ASSERT_EQ(encrypted.Start(), absl::OkStatus());
  options_.access = encrypted.Access();
  const auto watcher = Open(), worker = Open();
  const auto a = worker->Join(kA);
  ASSERT_TRUE(a.ok()) << a.status();
  EXPECT_THAT(AwaitMembers(*watcher, 1), ElementsAre(kA));
  EtcdAccess stranger = encrypted.Access();
  stranger.certificate_file.clear();
  stranger.key_file.clear();
  EXPECT_EQ(EtcdClient(stranger).GetPrefix("/").status().code(), absl::StatusCode::kUnavailable);
  EtcdAccess trusting = encrypted.Access();
  trusting.ca_file.clear();
  EXPECT_EQ(EtcdClient(trusting).GetPrefix("/").status().code(), absl::StatusCode::kUnavailable)
      << "the system's CAs do not know it";
}

TEST_F(EtcdMembershipTest, WithUserAndPassword) {
  const EtcdClient root(options_.access);
  for (const auto& [path, request] :
       {std::pair("/v3/auth/user/add", R"({"name":"root","password":"of root"})"),
        std::pair("/v3/auth/role/add", R"({"name":"root"})"),
        std::pair("/v3/auth/user/grant", R"({"user":"root","role":"root"})"), std::pair("/v3/auth/enable", "{}")}) {
    ASSERT_TRUE(root.Call(path, request).ok()) << path;
  }
  EXPECT_FALSE(root.GetPrefix("/").ok()) << "without a name";
  const std::string file = etcd_.File("password");
  std::ofstream(file) << "of root\n";
  options_.access.user = "root";
  options_.password_file = file;
  const auto watcher = Open(), worker = Open();
  const auto a = worker->Join(kA);
  ASSERT_TRUE(a.ok()) << a.status();
  EXPECT_THAT(AwaitMembers(*watcher, 1), ElementsAre(kA));
  etcd_.Kill();  // which forgets the tokens it gave
  ASSERT_EQ(etcd_.Start(), absl::OkStatus());
  const auto b = worker->Join(kB);
  ASSERT_TRUE(b.ok()) << b.status();
  EXPECT_THAT(AwaitMembers(*watcher, 2), ElementsAre(kA, kB));
  EtcdAccess wrong = etcd_.Access();
  wrong.user = "root";
  wrong.password = "of somebody";
  EXPECT_EQ(EtcdClient(wrong).GetPrefix("/").status().code(), absl::StatusCode::kUnauthenticated);
}

TEST(EtcdAccessTest, WhatContradictsItselfIsRefused) {
  const auto code = [](const EtcdAccess& access) { return Check(access).code(); };
  constexpr auto kWrong = absl::StatusCode::kInvalidArgument;
  EXPECT_EQ(Check(EtcdAccess()), absl::OkStatus());
  EXPECT_EQ(code({.certificate_file = "c"}), kWrong);
  EXPECT_EQ(code({.ca_file = "c"}), kWrong) << "without https";
  EXPECT_EQ(code({.endpoint = "https://x:1", .ca_file = "c"}), absl::StatusCode::kOk);
  EXPECT_EQ(code({.user = "u"}), kWrong) << "without a password";
  EXPECT_EQ(code({.user = "u", .password = "p"}), absl::StatusCode::kOk) << "on this machine";
  EXPECT_EQ(code({.endpoint = "http://10.0.0.1:2379", .user = "u", .password = "p"}), kWrong);
  EXPECT_EQ(code({.endpoint = "10.0.0.1:2379", .user = "u", .password = "p"}), kWrong);
  EXPECT_EQ(code({.endpoint = "https://10.0.0.1:2379", .user = "u", .password = "p"}), absl::StatusCode::kOk);
}

}  // namespace
}  // namespace wharf::pipeline
