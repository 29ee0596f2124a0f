#include "wharf/link/discovery/browse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "wharf/link/discovery/announcer.h"

namespace wharf::link {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr Nanoseconds kLong = std::chrono::minutes(10);
constexpr const char* kLine = "=;lo;IPv4;edge;_wharf._tcp;local;edge.local;127.0.0.1;7070;";

// A shell script in the place of a program of Avahi's.
class AvahiScript {
 public:
  explicit AvahiScript(const std::string& text) {
    std::string folder = testing::TempDir() + "wharf-avahi-XXXXXX";
    EXPECT_NE(mkdtemp(folder.data()), nullptr);
    folder_ = folder;
    std::ofstream(Path()) << "#!/bin/sh\n" << text << "\n";
    EXPECT_EQ(chmod(Path().c_str(), 0700), 0);
  }
  ~AvahiScript() { std::filesystem::remove_all(folder_); }
  AvahiScript(const AvahiScript&) = delete;
  AvahiScript& operator=(const AvahiScript&) = delete;
  std::string Path() const { return folder_ + "/avahi"; }
  std::string File(const std::string& name) const { return folder_ + "/" + name; }

 private:
  std::string folder_;
};

TEST(BrowseTest, ServersAreWhatTheProgramPrints) {
  const AvahiScript script(
      std::string("test \"$*\" = '--parsable --resolve --terminate --no-db-lookup _wharf._tcp' || exit 1\n"
                  "echo '") +
      kLine + "'");
  const auto found = Browse(script.Path(), kServiceType, kLong);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_THAT(*found, ElementsAre(Announcement{"edge", "127.0.0.1:7070"}));
}

TEST(BrowseTest, NobodyIsNoError) {
  const auto found = Browse(AvahiScript("exit 0").Path(), kServiceType, kLong);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_THAT(*found, IsEmpty());
}

TEST(BrowseTest, ADaemonThatDoesNotRunIsSaid) {
  const auto found = Browse(AvahiScript("echo 'Failed to create client object: Daemon not running' >&2; exit 1").Path(),
                            kServiceType, kLong);
  EXPECT_EQ(found.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(Message(found.status()), "avahi-browse finds nobody to ask: start avahi-daemon on this machine");
  EXPECT_EQ(Browse("/nowhere/avahi-browse", kServiceType, kLong).status().code(), absl::StatusCode::kUnavailable);
}

// A service that never resolves. The real program writes what it has when it gets SIGTERM, too.
TEST(BrowseTest, WhoDoesNotEndIsEnded) {
  const AvahiScript script(std::string("trap \"echo '") + kLine + "'; exit 0\" TERM\nwhile :; do sleep 0.05; done");
  std::vector<Announcement> found;
  for (Nanoseconds patience = std::chrono::milliseconds(100); found.empty() && patience < kLong; patience *= 2) {
    const auto some = Browse(script.Path(), kServiceType, patience);  // it may not have come to its trap
    ASSERT_TRUE(some.ok()) << some.status();
    found = *some;
  }
  EXPECT_THAT(found, SizeIs(1));
  const AvahiScript deaf("trap '' TERM\nwhile :; do sleep 0.05; done");
  EXPECT_TRUE(Browse(deaf.Path(), kServiceType, std::chrono::milliseconds(50)).ok()) << "it is killed";
}

TEST(BrowseTest, AFloodIsCut) {
  const AvahiScript script("yes '=;eth0;IPv4;edge;_wharf._tcp;local;edge.local;192.0.2.7;7070;'");
  const auto found = Browse(script.Path(), kServiceType, kLong);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_THAT(*found, SizeIs(1));
}

TEST(AnnouncerTest, TheProgramRunsAsLongAsItLives) {
  const AvahiScript script("echo \"$*\" > \"$0.arguments\"; exec sleep 1000");
  auto announcer = Announcer::Start(script.Path(), "Wharf on edge", kServiceType, 7070);
  ASSERT_TRUE(announcer.ok()) << announcer.status();
  EXPECT_FALSE((*announcer)->HasEnded());
  std::string arguments;
  while (arguments.empty()) {
    std::ifstream file(script.Path() + ".arguments");
    std::getline(file, arguments);
  }
  EXPECT_EQ(arguments, "--no-fail --service Wharf on edge _wharf._tcp 7070");
  announcer->reset();
}

TEST(AnnouncerTest, ItsEndIsSaidOnce) {
  const AvahiScript script("exit 3");
  auto announcer = Announcer::Start(script.Path(), "edge", kArServiceType, 7070);
  ASSERT_TRUE(announcer.ok()) << announcer.status();
  while (!(*announcer)->HasEnded()) {
  }
  EXPECT_FALSE((*announcer)->HasEnded());
  EXPECT_EQ(Announcer::Start("/nowhere/avahi-publish", "edge", kServiceType, 7070).status().code(),
            absl::StatusCode::kNotFound);
}

TEST(AnnouncerTest, NamesFitALabel) {
  EXPECT_TRUE(ServiceName().starts_with("Wharf"));
  EXPECT_LE(ServiceName().size(), 63u);
}

}  // namespace
}  // namespace wharf::link
