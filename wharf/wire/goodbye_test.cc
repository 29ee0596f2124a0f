#include "wharf/wire/goodbye.h"

#include <gtest/gtest.h>

#include "wharf/wire/codec.h"

namespace wharf::wire {
namespace {

TEST(GoodbyeTest, AStatusTravels) {
  const absl::Status sent = ResourceExhausted("the server is full");
  EXPECT_EQ(StatusOf(*Decode<Goodbye>(Encode(GoodbyeOf(sent)))), sent);
}

TEST(GoodbyeTest, WhatAPeerSaysIsAFailureInOneShortLine) {
  EXPECT_EQ(StatusOf({0, "done"}), Unavailable("done")) << "a session that ended is of no use, whatever its code";
  EXPECT_EQ(StatusOf({999, "done"}), Unavailable("done"));
  EXPECT_EQ(StatusOf({}), Unavailable("the peer ended the session"));
  EXPECT_EQ(StatusOf({3, "two\nlines\x1b[2J"}), InvalidArgument("two lines [2J"));
  EXPECT_EQ(Message(StatusOf({3, std::string(10'000, 'x')})).size(), 500u);
  EXPECT_EQ(LineOf("two\nlines"), "two lines");
  EXPECT_EQ(LineOf("a\x7f"
                   "b\xc2\x9b"
                   "2J\xc3\xa4\xc2"),
            "a b 2J\xc3\xa4\xc2")
      << "C1 as UTF-8 is one character";
  EXPECT_EQ(LineOf(""), "");
}

}  // namespace
}  // namespace wharf::wire
