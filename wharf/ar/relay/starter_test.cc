// What a server and the starter of its relays make of one another's messages, right and wrong ones.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <iterator>
#include <vector>

#include "wharf/ar/relay/relay_process.h"
#include "wharf/ar/relay/starter_wire.h"
#include "wharf/base/passed_descriptors.h"

namespace wharf::ar {
namespace {

size_t OpenHere() {
  return static_cast<size_t>(std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}));
}

class StarterWireTest : public ::testing::Test {
 protected:
  StarterWireTest() {
    int ends[2] = {-1, -1};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    server_.Reset(ends[0]);
    starter_.Reset(ends[1]);
  }
  // `count` copies of a descriptor with whatever bytes.
  static void Send(int socket, std::span<const std::byte> bytes, size_t count) {
    ASSERT_EQ(SendWithDescriptors(socket, bytes, std::vector<int>(count, socket)), absl::OkStatus());
  }
  static std::span<const std::byte> BytesOf(const int& number) { return std::as_bytes(std::span(&number, 1)); }

  link::UniqueFd server_, starter_;
};

TEST_F(StarterWireTest, ARequestHasOneConnection) {
  const size_t before = OpenHere();
  ASSERT_EQ(AskForRelay(server_.get(), server_.get()), absl::OkStatus());
  {
    const auto connection = NextRequest(starter_.get());
    ASSERT_TRUE(connection.has_value());
    EXPECT_GE(connection->get(), 0);
    EXPECT_EQ(OpenHere(), before + 1);
  }
  const std::byte byte{};
  for (const size_t count : {0, 2, 4}) {
    Send(server_.get(), {&byte, 1}, count);
    const auto connection = NextRequest(starter_.get());
    ASSERT_TRUE(connection.has_value());
    EXPECT_LT(connection->get(), 0) << count;
  }
  EXPECT_EQ(OpenHere(), before);
  server_.Reset(-1);
  EXPECT_FALSE(NextRequest(starter_.get()).has_value());
}

TEST_F(StarterWireTest, AnAnswerHasTwoDescriptorsOrAnError) {
  const size_t before = OpenHere();
  ASSERT_EQ(SendRelay(starter_.get(), 0, {link::UniqueFd(dup(0)), link::UniqueFd(dup(0))}), absl::OkStatus());
  EXPECT_TRUE(ReceiveRelay(server_.get()).ok());
  ASSERT_EQ(SendRelay(starter_.get(), EMFILE, {}), absl::OkStatus());
  EXPECT_EQ(ReceiveRelay(server_.get()).status(), ErrnoStatus(EMFILE, "starting a relay"));
  for (const size_t count : {0, 1, 3, 4}) {
    Send(starter_.get(), BytesOf(0), count);
    EXPECT_EQ(ReceiveRelay(server_.get()).status(), Internal("a relay with other descriptors than its own")) << count;
  }
  const std::byte byte{};
  Send(starter_.get(), {&byte, 1}, 2);  // no whole number
  EXPECT_EQ(ReceiveRelay(server_.get()).status().code(), absl::StatusCode::kUnavailable);
  starter_.Reset(-1);
  EXPECT_EQ(ReceiveRelay(server_.get()).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(OpenHere(), before - 1);
}

TEST_F(StarterWireTest, OneThatIsGoneIsFollowedByTheNextBehindTheDoor) {
  int door[2] = {-1, -1};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, door), 0);
  const link::UniqueFd guards(door[0]);
  const auto relays = RelayStarter::Behind(door[1]);
  EXPECT_EQ(relays->Start(dup(0)).status().code(), absl::StatusCode::kUnavailable) << "there is none yet";
  ASSERT_EQ(PassSocket(guards.get(), server_.get()), absl::OkStatus());
  server_.Reset(-1);
  starter_.Reset(-1);
  EXPECT_EQ(relays->Start(dup(0)).status().code(), absl::StatusCode::kUnavailable) << "it is gone";
}

}  // namespace
}  // namespace wharf::ar
