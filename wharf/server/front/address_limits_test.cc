// What one machine may have costs no other machine anything: the table of what a machine is, and real sockets between
// addresses of a network name space of the test's own, as loopback has no limit. They are IPv4's: the kernel gives
// those of IPv6 their routes some time later, takes them away once more, and does not say when it is done.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "wharf/server/front/acceptor_testing.h"

namespace wharf::server {
namespace {

// By number, with any port.
sockaddr_storage AddressOf(const std::string& number, const std::string& port = "1") {
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  EXPECT_EQ(getaddrinfo(number.c_str(), port.c_str(), &hints, &found), 0) << number;
  sockaddr_storage address{};
  if (found == nullptr) return address;
  std::memcpy(&address, found->ai_addr, found->ai_addrlen);
  freeaddrinfo(found);
  return address;
}

TEST(MachineOfTest, IsAnAddressANetworkOrThisOne) {
  const std::vector<std::pair<const char*, const char*>> table = {
      {"192.0.2.1", "192.0.2.1"},
      {"192.0.2.2", "192.0.2.2"},
      {"128.0.0.1", "128.0.0.1"},
      {"0.0.0.0", "0.0.0.0"},
      {"127.0.0.1", ""},
      {"127.255.255.254", ""},
      {"::1", ""},
      {"::2", "::/64"},
      {"2001:db8:1:2::1", "2001:db8:1:2::/64"},
      {"2001:db8:1:2:ffff:ffff:ffff:ffff", "2001:db8:1:2::/64"},
      {"2001:db8:1:3::1", "2001:db8:1:3::/64"},
      {"fe80::1", "fe80::/64"},
      // An IPv4 address, as a socket for both has it.
      {"::ffff:192.0.2.1", "192.0.2.1"},
      {"::ffff:127.0.0.1", ""},
      {"::192.0.2.1", "::/64"},
  };
  for (const auto& [address, machine] : table) EXPECT_EQ(MachineOf(AddressOf(address)), machine) << address;
  sockaddr_storage local{};
  local.ss_family = AF_UNIX;
  EXPECT_EQ(MachineOf(local), "");
}

// Connected from `source` to a port of the address that is written in the same family.
class Caller {
 public:
  Caller(const std::string& source, const std::string& port) {
    const sockaddr_storage from = AddressOf(source, "0"), to = AddressOf(source, port);
    const socklen_t size = from.ss_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    socket_ = socket(from.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(bind(socket_, reinterpret_cast<const sockaddr*>(&from), size), 0) << source << ": " << errno;
    EXPECT_EQ(connect(socket_, reinterpret_cast<const sockaddr*>(&to), size), 0) << source << ": " << errno;
  }
  ~Caller() { close(socket_); }
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;
  void Speak() const { EXPECT_EQ(send(socket_, "x", 1, MSG_NOSIGNAL), 1); }
  // Waits for it.
  bool IsHungUpOn() const {
    char byte = 0;
    return recv(socket_, &byte, 1, 0) <= 0;
  }

 private:
  int socket_ = -1;
};

// Who listens, the address of one machine, and that of another.
struct Machines {
  const char* listen;
  std::string one, other;
  const char* name;
};

class AddressLimitsTest : public testing::TestWithParam<Machines> {
 protected:
  // On a thread that has a network of its own, with the machines' addresses.
  static void InItsNetwork(const std::function<void()>& body) {
    std::string why_not;
    std::thread([&] {
      if (unshare(CLONE_NEWNET) != 0) {
        why_not = "a network name space needs root";
        return;
      }
      std::string command = "ip link set lo up";
      for (const std::string& address : {GetParam().one, GetParam().other}) command += AddressCommand(address);
      if (std::system(command.c_str()) != 0) {
        why_not = "no such addresses can be had: " + command;
        return;
      }
      body();
    }).join();
    if (!why_not.empty()) GTEST_SKIP() << why_not;
  }
  static std::unique_ptr<link::Listener> Listen() {
    auto listener = link::Listener::Create(GetParam().listen);
    EXPECT_TRUE(listener.ok()) << listener.status();
    return *std::move(listener);
  }
  void Call(const Acceptor& acceptor) {
    const std::string port = acceptor.Address().substr(acceptor.Address().rfind(':') + 1);
    other_ = std::make_unique<Caller>(GetParam().other, port);  // the oldest: who goes first without limits of machines
    for (int i = 0; i < 3; ++i) crowd_.push_back(std::make_unique<Caller>(GetParam().one, port));
  }
  Accepted accepted_;
  std::unique_ptr<Caller> other_;
  std::vector<std::unique_ptr<Caller>> crowd_;

 private:
  static std::string AddressCommand(const std::string& address) {
    return fmt::format(" && ip addr add {}/32 dev lo", address);
  }
};

TEST_P(AddressLimitsTest, SilentConnectionsOfOneMachineTakeNoOthersPlace) {
  InItsNetwork([this] {
    Acceptor acceptor(Listen(), accepted_.Keep(),
                      {.waiting = {.in_all = 4, .per_address = 2, .time = std::chrono::hours(1)}});
    Call(acceptor);
    EXPECT_TRUE(crowd_[0]->IsHungUpOn());
    for (const Caller* waits : {other_.get(), crowd_[1].get(), crowd_[2].get()}) waits->Speak();
    EXPECT_EQ(accepted_.Await(3).size(), 3u);
  });
}

TEST_P(AddressLimitsTest, HandshakesOfOneMachineTakeNoOthersPlace) {
  InItsNetwork([this] {
    Acceptor acceptor(Listen(), accepted_.Keep(), {.handshakes = {.new_ones = 4, .resumes = 1, .per_address = 2}});
    Call(acceptor);
    size_t speaking = 0;
    for (const Caller* one : {other_.get(), crowd_[0].get(), crowd_[1].get(), crowd_[2].get()}) {
      one->Speak();
      EXPECT_EQ(accepted_.Await(++speaking).size(), speaking);
    }
    EXPECT_EQ(accepted_.WhichAreEvicted(), (std::vector{false, true, false, false}));
  });
}

INSTANTIATE_TEST_SUITE_P(All, AddressLimitsTest,
                         testing::Values(Machines{"0.0.0.0:0", "192.0.2.1", "192.0.2.2", "V4"},
                                         Machines{"[::]:0", "192.0.2.1", "192.0.2.2", "MappedV4"}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace wharf::server
