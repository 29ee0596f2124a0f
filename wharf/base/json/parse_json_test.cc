#include "wharf/base/json/parse_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace wharf {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

constexpr JsonLimits kLimits{1 << 20, 3};

void ExpectRefused(std::string_view text, const JsonLimits& limits = kLimits) {
  EXPECT_EQ(ParseJson(text, "a plan", limits).status().code(), absl::StatusCode::kInvalidArgument) << text;
}

TEST(ParseJson, GivesTheValue) {
  EXPECT_EQ(ParseJson(R"({"a": [1, {"b": 2.5}]})", "a plan", kLimits).value(), (json{{"a", {1, json{{"b", 2.5}}}}}));
  EXPECT_EQ(ParseJson("7", "a plan", kLimits).value(), json(7));
}

TEST(ParseJson, RefusesWhatIsNoJson) {
  for (const char* text : {"", "{", "[1,]", "{} {}", "nul", "\"\xff\"", "[1e999]"}) ExpectRefused(text);
}

TEST(ParseJson, RefusesWhatIsDeeperThanTheLimit) {
  EXPECT_TRUE(ParseJson("[[[1]], {\"a\": {}}]", "a plan", kLimits).ok());
  ExpectRefused("[[[[]]]]");
  ExpectRefused(R"({"a": {"b": {"c": {}}}})");
  ExpectRefused(R"({"a": [{"b": []}]})");
  ExpectRefused("[]", {100, 0});
  ExpectRefused(std::string(kLimits.bytes, '['));
}

TEST(ParseJson, RefusesWhatIsLongerThanTheLimit) {
  EXPECT_TRUE(ParseJson("[1]", "a plan", {3, 1}).ok());
  ExpectRefused("[10]", {3, 1});
}

TEST(ParseJson, SaysWhatItRefuses) {
  EXPECT_THAT(Message(ParseJson("[[", "a plan", kLimits).status()), HasSubstr("no JSON of a plan"));
  EXPECT_THAT(Message(ParseJson("[10]", "a plan", {3, 1}).status()), HasSubstr("a plan of 4 bytes; 3 are the most"));
}

}  // namespace
}  // namespace wharf
