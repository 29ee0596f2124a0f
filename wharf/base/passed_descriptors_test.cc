#include "wharf/base/passed_descriptors.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <vector>

namespace wharf {
namespace {

class PassedDescriptorsTest : public ::testing::Test {
 protected:
  ~PassedDescriptorsTest() override { CloseAll(ends_); }
  static std::array<int, 2> Pair() {
    std::array<int, 2> ends{-1, -1};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()), 0);
    return ends;
  }
  // Which descriptor the next one would be: nothing was left open if it is as before.
  static int Next() {
    const int next = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
    close(next);
    return next;
  }
  static std::span<const std::byte> Bytes(const std::string& text) { return std::as_bytes(std::span(text)); }

  std::array<int, 2> ends_ = Pair();
};

TEST_F(PassedDescriptorsTest, BytesAndDescriptorsArrive) {
  const auto passed = Pair();
  const std::vector<int> both(passed.begin(), passed.end());
  ASSERT_EQ(SendWithDescriptors(ends_[0], Bytes("two"), both), absl::OkStatus());
  CloseAll(both);
  std::array<std::byte, 8> into{};
  const auto message = ReceiveWithDescriptors(ends_[1], into);
  ASSERT_EQ(message.status(), absl::OkStatus());
  EXPECT_EQ(message->bytes, 3);
  EXPECT_TRUE(message->whole);
  ASSERT_EQ(message->descriptors.size(), 2);
  EXPECT_EQ(fcntl(message->descriptors[0], F_GETFD), FD_CLOEXEC);
  char byte = 'x';
  EXPECT_EQ(send(message->descriptors[0], &byte, 1, 0), 1);
  EXPECT_EQ(recv(message->descriptors[1], &byte, 1, 0), 1);
  CloseAll(message->descriptors);
}

TEST_F(PassedDescriptorsTest, WhatHasNoRoomIsSaidAndNotKept) {
  std::array<std::byte, 2> into{};
  ASSERT_EQ(SendWithDescriptors(ends_[0], Bytes("three"), {}), absl::OkStatus());
  const auto cut = ReceiveWithDescriptors(ends_[1], into);
  ASSERT_EQ(cut.status(), absl::OkStatus());
  EXPECT_FALSE(cut->whole);
  EXPECT_EQ(SendWithDescriptors(ends_[0], Bytes("x"), std::vector<int>(kMostPassedDescriptors + 1, ends_[0])).code(),
            absl::StatusCode::kInvalidArgument);
  // By somebody who keeps to no limit.
  const int next = Next();
  std::array<int, 2 * kMostPassedDescriptors> many;
  many.fill(ends_[0]);
  std::byte one{};
  iovec piece{&one, 1};
  msghdr header{};
  header.msg_iov = &piece;
  header.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(many))] = {};
  header.msg_control = control;
  header.msg_controllen = sizeof(control);
  cmsghdr* const part = CMSG_FIRSTHDR(&header);
  part->cmsg_level = SOL_SOCKET;
  part->cmsg_type = SCM_RIGHTS;
  part->cmsg_len = CMSG_LEN(sizeof(many));
  std::copy(many.begin(), many.end(), reinterpret_cast<int*>(CMSG_DATA(part)));
  ASSERT_EQ(sendmsg(ends_[0], &header, 0), 1);
  const auto message = ReceiveWithDescriptors(ends_[1], into);
  ASSERT_EQ(message.status(), absl::OkStatus());
  EXPECT_FALSE(message->whole);
  CloseAll(message->descriptors);
  EXPECT_EQ(Next(), next);
}

TEST_F(PassedDescriptorsTest, TheEndIsNoBytes) {
  std::array<std::byte, 2> into{};
  EXPECT_EQ(ReceiveWithDescriptors(ends_[1], into, MSG_DONTWAIT).status().code(), absl::StatusCode::kInternal);
  shutdown(ends_[0], SHUT_WR);
  const auto message = ReceiveWithDescriptors(ends_[1], into);
  ASSERT_EQ(message.status(), absl::OkStatus());
  EXPECT_EQ(message->bytes, 0);
  EXPECT_EQ(SendWithDescriptors(ends_[0], Bytes("x"), {}).code(), absl::StatusCode::kUnavailable);
}

TEST_F(PassedDescriptorsTest, ADoorGivesSocketsInTurn) {
  EXPECT_EQ(TakeSocket(ends_[1]), -1);
  const auto first = Pair(), second = Pair();
  ASSERT_EQ(PassSocket(ends_[0], first[0]), absl::OkStatus());
  ASSERT_EQ(PassSocket(ends_[0], second[0]), absl::OkStatus());
  for (const auto& pair : {first, second}) {
    const int taken = TakeSocket(ends_[1]);
    ASSERT_GE(taken, 0);
    char byte = 'x';
    EXPECT_EQ(send(taken, &byte, 1, 0), 1);
    EXPECT_EQ(recv(pair[1], &byte, 1, MSG_DONTWAIT), 1);
    close(taken);
    CloseAll(pair);
  }
  EXPECT_EQ(TakeSocket(ends_[1]), -1);
}

TEST_F(PassedDescriptorsTest, PassingNeverWaits) {
  absl::Status passed;
  while (passed.ok()) passed = PassSocket(ends_[0], STDERR_FILENO);
  EXPECT_EQ(passed.code(), absl::StatusCode::kInternal);
  const auto closed = Pair();
  close(closed[1]);
  EXPECT_EQ(PassSocket(closed[0], ends_[0]).code(), absl::StatusCode::kUnavailable);
  close(closed[0]);
}

}  // namespace
}  // namespace wharf
