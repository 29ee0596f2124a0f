#include "wharf/cli/common/config_option.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "wharf/cli/common/option_types.h"

namespace wharf::cli {
namespace {

using ::testing::ElementsAre;

// A command with an option of each kind.
class ConfigOptionTest : public ::testing::Test {
 protected:
  ConfigOptionTest() : file_(::testing::TempDir() + "/config_option_test.toml") {
    AddConfigOption(command_);
    command_->add_option("--listen", listen_)->capture_default_str();
    command_->add_option("--most", most_)->capture_default_str();
    command_->add_option("--token-file", token_file_);
    command_->add_option("--next", next_)->delimiter(',');
    command_->add_flag("--paced", paced_);
    command_->add_flag("--other", other_)->configurable(false);
    command_->add_option_function<std::string>("--self-signed", [this](const std::string& folder) { folder_ = folder; })
        ->expected(0, 1);
    AddBytes(command_, "--memory", memory_, "");
    command_->add_option("--needed", needed_)->required();
  }
  ~ConfigOptionTest() override { std::filesystem::remove(file_); }

  // The command's words but --config; what it was refused for, or "".
  std::string Parse(const std::string& config, std::vector<std::string> words = {"--needed", "1"}) {
    std::ofstream(file_) << config;
    words.insert(words.begin(), {"command", "--config", file_});
    std::reverse(words.begin(), words.end());
    try {
      app_.parse(words);
    } catch (const CLI::ParseError& error) {
      return error.what();
    }
    return "";
  }

  const std::string file_;
  CLI::App app_;
  CLI::App* command_ = app_.add_subcommand("command");
  std::string listen_ = "here", token_file_ = "none", folder_ = "not asked for";
  int most_ = 16, needed_ = 0;
  std::vector<std::string> next_;
  bool paced_ = false, other_ = false;
  uint64_t memory_ = 1;
};

TEST_F(ConfigOptionTest, EveryKindOfOptionIsReadFromTheFile) {
  EXPECT_EQ(Parse(R"(# a comment that isn't read
; another
listen = "unix:/run/a b, c"
most=3
token-file = 'token'   # another
next = ["a:1", "b:2"]
paced = true
self-signed = "folder"
memory = "2MiB"
needed = 7
)",
                  {}),
            "");
  EXPECT_EQ(listen_, "unix:/run/a b, c");
  EXPECT_EQ(most_, 3);
  EXPECT_EQ(token_file_, "token");
  EXPECT_THAT(next_, ElementsAre("a:1", "b:2"));
  EXPECT_TRUE(paced_);
  EXPECT_EQ(folder_, "folder");
  EXPECT_EQ(memory_, uint64_t{2} << 20);
  EXPECT_EQ(needed_, 7);
}

TEST_F(ConfigOptionTest, TheCommandLineWins) {
  EXPECT_EQ(Parse("listen = \"file\"\nmost = 3\nneeded = 2\nnext = \"a:1\"\n",
                  {"--listen", "line", "--needed", "1", "--next", "b:2,c:3"}),
            "");
  EXPECT_EQ(listen_, "line");
  EXPECT_EQ(most_, 3);
  EXPECT_EQ(needed_, 1);
  EXPECT_THAT(next_, ElementsAre("b:2", "c:3"));
}

TEST_F(ConfigOptionTest, FalseAndNothingAreTheSameAsNoLine) {
  EXPECT_EQ(Parse("paced = false\nself-signed = false\ntoken-file = \"\"\nnext = []\n"), "");
  EXPECT_FALSE(paced_);
  EXPECT_EQ(folder_, "not asked for");
  EXPECT_EQ(token_file_, "none");
  EXPECT_TRUE(next_.empty());
}

TEST_F(ConfigOptionTest, NothingIsAValueWhereTheDefaultIsSomething) {
  EXPECT_EQ(Parse("listen = \"\"\n"), "");
  EXPECT_EQ(listen_, "");
}

TEST_F(ConfigOptionTest, AnOptionWithoutItsValueIsTrue) {
  EXPECT_EQ(Parse("self-signed = true\n"), "");
  EXPECT_EQ(folder_, "");
}

TEST_F(ConfigOptionTest, AnUnknownKeyIsNamedWithItsFile) {
  EXPECT_EQ(Parse("most = 1\nlisen = \"x\"\n"), file_ + ": there is no option \"lisen\"");
  EXPECT_EQ(Parse("listen x\n"), file_ + ": there is no option \"listen x\"");
  EXPECT_EQ(Parse("[command]\nmost = 1\n"),
            file_ + ": there is no section \"command\": options stand outside of sections");
  EXPECT_EQ(Parse("command.most = 1\n"),
            file_ + ": there is no section \"command\": options stand outside of sections");
}

TEST_F(ConfigOptionTest, WhatIsForTheCommandLineIsRefused) {
  for (const std::string key : {"other", "config", "help"}) {
    EXPECT_EQ(Parse(key + " = true\n"), file_ + ": \"" + key + "\" is for the command line only");
  }
  EXPECT_FALSE(other_);
}

TEST_F(ConfigOptionTest, AKeyIsThereOnce) {
  EXPECT_EQ(Parse("most = 1\npaced = true\nmost = 2\n"), file_ + ": \"most\" is there twice");
}

TEST_F(ConfigOptionTest, AWrongValueIsNamedWithItsFile) {
  EXPECT_EQ(Parse("most = \"many\"\n"), file_ + ": Could not convert: --most = many");
  EXPECT_EQ(Parse("memory = \"2 cats\"\n").find(file_ + ": --memory: "), 0U);
  EXPECT_EQ(Parse("paced = \"perhaps\"\n"), file_ + ": paced: is true or false");
  const std::string misread = file_ + ": a string ends on its line and has no # in it: token-file = ";
  EXPECT_EQ(Parse("token-file = \"a b#c\"\n"), misread + "\"a b#c\"");
  EXPECT_EQ(Parse("token-file = 'a b\n"), misread + "'a b");
}

TEST_F(ConfigOptionTest, AFileThatIsNotThereIsNamed) {
  EXPECT_EQ(Parse("", {"--needed", "1", "--config", "/nowhere/x.toml"}).find("--config"), 0U);  // twice
  try {
    app_.parse("command --needed 1 --config /nowhere/x.toml");
    FAIL();
  } catch (const CLI::ConfigError& error) {
    EXPECT_STREQ(error.what(), "opening /nowhere/x.toml: No such file or directory");
  }
}

}  // namespace
}  // namespace wharf::cli
