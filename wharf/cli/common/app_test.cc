#include "wharf/cli/common/app.h"

#include <gtest/gtest.h>

#include "wharf/cli/common/commands.h"

namespace wharf::cli {
namespace {

class AppTest : public ::testing::Test {
 protected:
  AppTest() {
    CLI::App* const group = app_.add_subcommand("group");
    group->require_subcommand(1);
    group->add_subcommand("one")->add_option("--needed", needed_)->required();
    group->add_subcommand("other");
    group->add_subcommand("hidden")->group("");
    CLI::App* const plain = app_.add_subcommand("plain");
    plain->callback([] { throw CLI::ValidationError("plain", "say what"); });
  }

  // What it says on standard error, to its last line.
  std::string Refused(std::vector<std::string> arguments) {
    ::testing::internal::CaptureStderr();
    const int code = RunCommandLine(app_, std::move(arguments));
    std::string said = ::testing::internal::GetCapturedStderr();
    EXPECT_EQ(code, kExitUsage) << said;
    return said;
  }

  CLI::App app_;
  int needed_ = 0;
};

TEST_F(AppTest, ACommandThereIsNotIsAnsweredWithThoseThereAre) {
  EXPECT_EQ(Refused({"foo"}), "wharf: there is no command \"foo\"; there are: group, plain\n");
  EXPECT_EQ(Refused({"group", "foo"}), "wharf: there is no command \"foo\" of wharf group; there are: one, other\n");
}

TEST_F(AppTest, AGroupAloneIsAnsweredWithItsCommands) {
  EXPECT_EQ(Refused({"group"}), "wharf: group: say which: one, other (see wharf group --help)\n");
  EXPECT_EQ(Refused({"group", "--foo"}), "wharf: group: say which: one, other (see wharf group --help)\n");
}

TEST_F(AppTest, WhatIsWrongWithOptionsNamesTheCommandWhoseHelpSaysMore) {
  EXPECT_EQ(Refused({"group", "one"}), "wharf: --needed is required (see wharf group one --help)\n");
  EXPECT_EQ(Refused({"group", "other", "foo"}),
            "wharf: The following argument was not expected: foo (see wharf group other --help)\n");
  EXPECT_EQ(Refused({"group", "one", "--needed", "x"}),
            "wharf: Could not convert: --needed = x (see wharf group one --help)\n");
  EXPECT_EQ(Refused({"plain"}), "wharf: plain: say what (see wharf plain --help)\n");
}

TEST_F(AppTest, AnUnknownOptionIsNamedWithTheOneThatItLooksLike) {
  EXPECT_EQ(Refused({"group", "one", "--neded=3"}),
            "wharf: there is no option --neded; did you mean --needed? (see wharf group one --help)\n");
  EXPECT_EQ(Refused({"group", "one", "--need", "3"}),
            "wharf: there is no option --need; did you mean --needed? (see wharf group one --help)\n");
  EXPECT_EQ(Refused({"group", "one", "--seed", "3", "--foo"}),
            "wharf: there is no option --seed (see wharf group one --help)\n");
  EXPECT_EQ(Refused({"group", "one", "x", "--foo"}), "wharf: there is no option --foo (see wharf group one --help)\n");
  EXPECT_EQ(Refused({"group", "other", "--foo", "x", "-y"}),
            "wharf: there is no option --foo (see wharf group other --help)\n");
}

}  // namespace
}  // namespace wharf::cli
