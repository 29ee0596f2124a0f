#include "wharf/cli/offload/find_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace wharf::cli {
namespace {

using testing::ElementsAre;

FoundServer Server(const std::string& name, double milliseconds, uint64_t sessions = 0, bool has_room = true,
                   const std::string& address = "") {
  return {
      name,
      address.empty() ? name + ":7070" : address,
      {.driver = "soft", .has_room = has_room, .sessions = sessions, .round_trip = FromSeconds(milliseconds / 1e3)}};
}

std::vector<std::string> Addresses(const std::vector<FoundServer>& servers) {
  std::vector<std::string> addresses;
  for (const FoundServer& one : servers) addresses.push_back(one.address);
  return addresses;
}

TEST(FindServerTest, NearAndIdleComesFirst) {
  EXPECT_THAT(Addresses(Rank({Server("far", 40), Server("busy", 2, 1), Server("near", 2.5)})),
              ElementsAre("near:7070", "busy:7070", "far:7070"));
  EXPECT_THAT(Addresses(Rank({Server("busy", 2, 30), Server("far", 40)})), ElementsAre("far:7070", "busy:7070"));
  EXPECT_THAT(Addresses(Rank({Server("here", 0.02, 1), Server("there", 0.09)})), ElementsAre("there:7070", "here:7070"))
      << "both are near";
}

TEST(FindServerTest, WhoIsFullIsNoChoice) {
  EXPECT_THAT(Addresses(Rank({Server("full", 1, 2, false), Server("far", 40)})), ElementsAre("far:7070"));
}

TEST(FindServerTest, AServerWithSeveralAddressesIsOne) {
  EXPECT_THAT(Addresses(Rank({Server("edge", 5, 0, true, "wlan:7070"), Server("other", 3),
                              Server("edge", 1, 0, true, "ethernet:7070")})),
              ElementsAre("ethernet:7070", "other:7070"));
}

ServerKind Answering(std::function<absl::StatusOr<CheckedServer>(const std::string& address)> answer) {
  return {link::kServiceType, "wharf serve",
          [answer = std::move(answer)](const std::string& address, const link::ConnectOptions&) {
            return answer(address);
          }};
}

TEST(FindServerTest, WhoDoesNotProveItselfIsLeftOut) {
  const std::vector<link::Announcement> announced = {{"liar", "liar:1"}, {"edge", "edge:1"}, {"gone", "gone:1"}};
  const auto kind = Answering([](const std::string& address) -> absl::StatusOr<CheckedServer> {
    if (address == "liar:1") return Unauthenticated("liar:1: it does not know the token");
    if (address == "gone:1") return Unavailable("no server answers at gone:1");
    return CheckedServer{.driver = "soft", .has_room = true};
  });
  const auto chosen = ChooseAmong(announced, kind, {});
  ASSERT_TRUE(chosen.ok()) << chosen.status();
  EXPECT_THAT(Addresses(*chosen), ElementsAre("edge:1"));
}

TEST(FindServerTest, WhyThereIsNoneIsOneLine) {
  const auto none = ChooseAmong({}, Answering(nullptr), {});
  EXPECT_EQ(none.status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(Message(none.status()),
            "no server announces itself on this network: wharf serve --announce does, or say --server HOST:PORT");
  const auto unknown = Answering([](const std::string&) -> absl::StatusOr<CheckedServer> {
    return Unauthenticated("liar:1: it does not know the token");
  });
  const auto liar = ChooseAmong({{"liar", "liar:1"}}, unknown, {});
  EXPECT_EQ(liar.status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(Message(liar.status()),
            "no server on this network lets us in; of 1 announced, liar:1: it does not know the token");
  const auto without_room = Answering([](const std::string&) { return CheckedServer{}; });
  const auto full = ChooseAmong({{"full", "full:1"}}, without_room, {});
  EXPECT_EQ(full.status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(Message(full.status()), "every server on this network is full: try again later");
}

TEST(FindServerTest, NobodyIsTakenAtTheirWord) {
  const auto code = [](const ServerAccess& access, const std::string& token) {
    return CheckProvable(access, token).code();
  };
  ServerAccess access;
  EXPECT_EQ(code(access, ""), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code(access, "a token"), absl::StatusCode::kOk);
  access.tls = true;
  EXPECT_EQ(code(access, "a token"), absl::StatusCode::kInvalidArgument) << "a public certificate needs no token";
  access.tls_pin = "sha256:00";
  EXPECT_EQ(code(access, ""), absl::StatusCode::kOk);
  access.tls_pin = "";
  access.tls_ca = "ca.crt";
  EXPECT_EQ(code(access, ""), absl::StatusCode::kOk);
}

TEST(FindServerTest, WhereTheBestFailsTheNextIsTaken) {
  const std::vector<FoundServer> found = {Server("one", 1), Server("two", 2), Server("three", 3)};
  std::vector<std::string> said, tried;
  const auto open = [&](const std::map<std::string, absl::Status>& failures) {
    said.clear();
    tried.clear();
    return OpenAtBest(
        found, [&](const std::string& line) { said.push_back(line); },
        [&](const std::string& address) -> absl::StatusOr<std::string> {
          tried.push_back(address);
          const auto failure = failures.find(address);
          return failure == failures.end() ? absl::StatusOr<std::string>(address) : failure->second;
        });
  };
  const absl::Status gone = Unavailable("it is gone");
  EXPECT_EQ(*open({}), "one:7070");
  EXPECT_THAT(tried, ElementsAre("one:7070"));
  EXPECT_EQ(*open({{"one:7070", gone}}), "two:7070");
  EXPECT_THAT(said, ElementsAre("one at one:7070, 1.0 ms away, 0 sessions", "it is gone",
                                "two at two:7070, 2.0 ms away, 0 sessions"));
  EXPECT_EQ(open({{"one:7070", InvalidArgument("no such model")}}).status(), InvalidArgument("no such model"));
  EXPECT_THAT(tried, ElementsAre("one:7070"));
  EXPECT_EQ(open({{"one:7070", gone}, {"two:7070", gone}, {"three:7070", gone}}).status(), gone);
  EXPECT_THAT(tried, ElementsAre("one:7070", "two:7070", "three:7070"));
}

TEST(FindServerTest, TheChosenIsDescribed) {
  EXPECT_EQ(Describe(Server("Wharf on gpu7", 0.84, 1, true, "192.0.2.7:7070")),
            "Wharf on gpu7 at 192.0.2.7:7070, 0.8 ms away, 1 session");
}

}  // namespace
}  // namespace wharf::cli
