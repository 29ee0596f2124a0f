#include "wharf/server/front/worker_errors.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <thread>

namespace wharf::server {
namespace {

// Until its end.
std::string ReadAll(int from) {
  std::string text;
  char piece[4096];
  for (ssize_t got = 0; (got = read(from, piece, sizeof(piece))) > 0;) text.append(piece, static_cast<size_t>(got));
  return text;
}

class WorkerErrorsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    int ends[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    reader_.Reset(ends[0]);
    daemons_.Reset(ends[1]);
    auto errors = WorkerErrors::Start(daemons_.get());
    ASSERT_TRUE(errors.ok()) << errors.status();
    errors_ = *std::move(errors);
    ASSERT_NE(errors_, nullptr);
    listener_ = std::thread([this] { said_ = ReadAll(reader_.get()); });
  }
  void TearDown() override { Said(); }
  void Say(const std::string& text) const {
    ASSERT_EQ(write(errors_->Descriptor(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  // In all; nothing is said afterwards.
  std::string Said() {
    errors_.reset();
    daemons_.Reset(-1);
    if (listener_.joinable()) listener_.join();
    return said_;
  }

  std::thread listener_;
  std::string said_;
  link::UniqueFd reader_, daemons_;
  std::unique_ptr<WorkerErrors> errors_;
};

TEST_F(WorkerErrorsTest, WhatIsSaidComesWholeAndInOrder) {
  std::string all;
  for (int i = 0; i < 2000; ++i) {
    const std::string line = std::to_string(i) + std::string(static_cast<size_t>(i % 100), 'x') + "\n";
    Say(line);
    all += line;
  }
  Say("no end of a line");
  EXPECT_EQ(Said(), all + "no end of a line");
}

TEST_F(WorkerErrorsTest, WhatHasNoLinesComesTooAndIsNotKept) {
  const std::string much(1 << 20, 'x');
  Say(much);
  EXPECT_EQ(Said(), much);
}

TEST_F(WorkerErrorsTest, WhoHasItCanNeitherEndItNorReadIt) {
  EXPECT_EQ(shutdown(errors_->Descriptor(), SHUT_RDWR), -1);
  EXPECT_EQ(errno, ENOTSOCK);
  char byte = 0;
  EXPECT_EQ(read(errors_->Descriptor(), &byte, 1), -1);
  EXPECT_EQ(errno, EBADF);
  Say("said\n");
  EXPECT_EQ(Said(), "said\n");
}

// What a worker of a GPU has started may have it, and go on.
TEST_F(WorkerErrorsTest, EndsWhileSomebodyHasIt) {
  const link::UniqueFd copy(fcntl(errors_->Descriptor(), F_DUPFD_CLOEXEC, 0));
  Say("said\n");
  EXPECT_EQ(Said(), "said\n");
}

TEST(WorkerErrors, WhatIsNoSocketIsTheWorkersToo) {
  const link::UniqueFd file(open("/dev/null", O_WRONLY | O_CLOEXEC));
  for (const int to : {file.get(), -1}) {
    const auto errors = WorkerErrors::Start(to);
    ASSERT_TRUE(errors.ok());
    EXPECT_EQ(*errors, nullptr);
  }
}

}  // namespace
}  // namespace wharf::server
