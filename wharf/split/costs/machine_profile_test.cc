#include "wharf/split/costs/machine_profile.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "wharf/split/row_graph.h"

namespace wharf::split {
namespace {

using absl::StatusCode;

// Input of 8 rows, a 3x3 convolution and the result.
ModelOperators OneConvolution() {
  ModelOperators model;
  model.operators = {{"input", {}, {}, {1, 1, 8, 4}, 8, 128},
                     {"Conv", {0}, {{graph::RowKind::kWindow, 3, 1, 1, 1}}, {1, 1, 8, 4}, 8, 128},
                     {"output", {1}, {{graph::RowKind::kGlobal}}, {}, 1, 128}};
  return model;
}

MachineProfile Measured(double full_ms) {
  MachineProfile profile;
  profile.model = "small";
  profile.model_hash = std::string(64, 'a');
  profile.machine = {"a CPU", "an engine", 2};
  profile.whole_ms = full_ms + 0.1;
  profile.operators = {{"input", 8, 0, {}, 0}, {"Conv", 8, full_ms, {0.5, full_ms / 8}, 0.02}, {"output", 1, 0, {}, 0}};
  return profile;
}

StatusCode CodeOf(const std::string& json) { return ParseMachineProfile(json).status().code(); }

std::string Replaced(std::string text, std::string_view what, std::string_view by) {
  const size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return text.replace(at, what.size(), by);
}

TEST(MachineProfile, TwoOfThemMakeAProfileWithTheirSliceTimes) {
  const auto profile = MakeProfile(OneConvolution(), Measured(16), Measured(2));
  ASSERT_TRUE(profile.ok()) << profile.status();
  const RowGraph graph(*profile);
  EXPECT_EQ(graph.Ms(kDevice, 1, 8), 16);
  EXPECT_EQ(graph.Ms(kDevice, 1, 2), 0.5 + 2 * 2);
  EXPECT_EQ(graph.Ms(kServer, 1, 2), 0.5 + 2 * 0.25);
  EXPECT_EQ(graph.Ms(kServer, 1, 7), 2) << "no slice takes more than all rows";
}

TEST(MachineProfile, ScalesEveryTime) {
  const MachineProfile scaled = Measured(2).Scaled(10);
  EXPECT_EQ(scaled.time_scale, 10);
  EXPECT_EQ(scaled.whole_ms, 21);
  EXPECT_EQ(scaled.SumMs(), 20);
  EXPECT_EQ(scaled.operators[1].slice, (SliceTime{5, 2.5}));
  EXPECT_EQ(scaled.operators[1].fit_error, 0.02);
  EXPECT_EQ(scaled.MeanFitError(), 0.02);
}

TEST(MachineProfile, OfAnotherModelIsRefused) {
  const ModelOperators model = OneConvolution();
  MachineProfile other = Measured(1);
  other.model_hash = std::string(64, 'b');
  EXPECT_EQ(MakeProfile(model, Measured(1), other).status().code(), StatusCode::kInvalidArgument);
  other = Measured(1);
  other.operators[1].rows = 4;
  EXPECT_EQ(MakeProfile(model, other, Measured(1)).status().code(), StatusCode::kInvalidArgument);
  other = Measured(1);
  other.operators[1].name = "MaxPool";
  EXPECT_EQ(Message(MakeProfile(model, Measured(1), other).status()),
            "the server's profile is of another model: its operator 1 is MaxPool with 8 rows, not Conv with 8");
  other.operators.pop_back();
  EXPECT_EQ(MakeProfile(model, Measured(1), other).status().code(), StatusCode::kInvalidArgument);
}

RC_GTEST_PROP(MachineProfile, ComesBackFromItsText, ()) {
  const auto ms = [] { return *rc::gen::inRange<int64_t>(0, int64_t{1} << 50) / 3e9; };
  MachineProfile profile = Measured(ms());
  profile.time_scale = 1 + ms();
  profile.waited = ms();
  profile.noise = ms();
  profile.measured_at = *rc::gen::inRange<int64_t>(0, 1LL << 36);
  profile.machine.threads = *rc::gen::inRange(1, 1000);
  const int operators = *rc::gen::inRange(0, 20);
  for (int i = 0; i < operators; ++i) {
    profile.operators.push_back({fmt::format("op\"{}", i), *rc::gen::inRange(1, 1000), ms(), {ms(), ms()}, ms()});
  }
  const auto parsed = ParseMachineProfile(ToJson(profile));
  RC_ASSERT(parsed.ok());
  RC_ASSERT(*parsed == profile);
}

TEST(MachineProfile, RefusesWhatIsNotExactlyAProfile) {
  const std::string good = ToJson(Measured(2));
  ASSERT_EQ(CodeOf(good), StatusCode::kOk);
  for (const auto& [what, by] : std::vector<std::pair<std::string, std::string>>{
           {"profile/3", "profile/2"},
           {"\"cpu\":\"a CPU\"", "\"cpu\":7"},
           {"\"cpu\":\"a CPU\",", ""},
           {"\"cpu\":", "\"more\":1,\"cpu\":"},
           {"\"rows\":8", "\"rows\":0"},
           {"\"rows\":8", "\"rows\":-8"},
           {"\"rows\":8", "\"rows\":8.5"},
           {"\"rows\":8", "\"rows\":1048577"},
           {"\"rows\":8", "\"rows\":99999999999999999999"},
           {"\"row_ms\":0.25", "\"row_ms\":-0.25"},
           {"\"row_ms\":0.25", "\"row_ms\":1e999"},
           {"\"row_ms\":0.25", "\"row_ms\":1e13"},
           {"\"row_ms\":0.25", "\"row_ms\":[[[]]]"},
           {"\"row_ms\":0.25", "\"row_ms\":null"},
           {"\"time_scale\":1.0", "\"time_scale\":0"},
           {"\"waited\":0.0", "\"waited\":-1"},
           {"\"noise\":0.0", "\"noise\":-1"},
           {"\"measured_at\":0", "\"measured_at\":1e12"},
           {"\"threads\":2", "\"threads\":0"},
           {"\"operators\":[", "\"operators\":[7,"},
           {std::string(64, 'a'), std::string(63, 'a') + "g"},
           {std::string(64, 'a'), std::string(63, 'a')},
           {"a CPU", std::string(2000, 'x')},
           {"a CPU", "a \\u001b[2JCPU"},
           {"\"Conv\"", "\"Conv\\u009b2J\""},
       }) {
    EXPECT_EQ(CodeOf(Replaced(good, what, by)), StatusCode::kInvalidArgument) << what << " by " << by;
  }
  for (const std::string& text : {std::string(), std::string("7"), std::string("[]"), good.substr(0, good.size() / 2),
                                  good + "x", std::string(1 << 20, '['), std::string(5 << 20, ' ')}) {
    EXPECT_EQ(CodeOf(text), StatusCode::kInvalidArgument) << text.substr(0, 20);
  }
}

}  // namespace
}  // namespace wharf::split
