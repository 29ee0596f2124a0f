#include "wharf/cli/pipeline/simulation_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "wharf/pipeline/dataplane/testing.h"

namespace wharf::cli {
namespace {

using testing::HasSubstr;

constexpr Nanoseconds kMs = std::chrono::milliseconds(1);

// Two stages of 10 and 4 ms with 2 ms between them, an SLO of 30 ms; three requests, of which one cannot be served.
struct SmallRun {
  SmallRun() {
    pipeline::DeploymentBuilder builder;
    const std::vector<int> first = builder.AddHost(1, 1), second = builder.AddHost(1, 1);
    builder.AddPipeline(builder.AddModel(30 * kMs, 100), {{first, {10 * kMs}, 0}, {second, {4 * kMs}, 2e6}});
    deployment = builder.Build();
    pipeline::SimulationOptions options;
    options.seconds = setup.seconds;
    options.keep_records = options.keep_timeline = true;
    const TimePoint now;
    result = pipeline::Simulate(deployment, {{now, 0}, {now, 0}, {now, 0}}, options);
  }
  SimulationSetup setup = {"<plan>.json", "poisson", "ours", 0.5, 0.1, 7};
  pipeline::Deployment deployment;
  pipeline::SimulationResult result;
};

TEST(SimulationReport, TextSaysHowRequestsFaredAndWhatWasBusy) {
  const SmallRun run;
  const std::string text = SimulationAsText(run.setup, run.deployment, run.result);
  EXPECT_THAT(text,
              HasSubstr("<plan>.json at load 0.5, poisson arrivals, 0.1 s, seed 7, scheduler ours: 66.67 % on time"));
  EXPECT_THAT(text, HasSubstr("33.33 %"));
  EXPECT_THAT(text, HasSubstr("1 L4 → 1 L4"));
  EXPECT_THAT(text, HasSubstr("14.0 %"));  // 28 of 200 GPU ms
}

TEST(SimulationReport, JsonHoldsEveryCount) {
  const SmallRun run;
  const auto json = nlohmann::json::parse(SimulationAsJson(run.setup, run.deployment, run.result));
  EXPECT_EQ(json["simulated"], true);
  EXPECT_EQ(json["models"][0]["requests"], 3);
  EXPECT_EQ(json["models"][0]["on_time"], 2);
  EXPECT_EQ(json["models"][0]["no_capacity"], 1);
  EXPECT_NEAR(json["models"][0]["computed_ms"].get<double>(), 14, 1e-9);
  EXPECT_NEAR(json["models"][0]["transferred_ms"].get<double>(), 2, 1e-9);
  EXPECT_EQ(json["pipelines"][0]["answered"], 2);
  EXPECT_NEAR(json["classes"][0]["utilisation"].get<double>(), 0.14, 1e-9);
}

TEST(SimulationReport, CsvHasALineForEachRequest) {
  const SmallRun run;
  EXPECT_EQ(RequestsAsCsv(run.deployment, run.result),
            "request,model,arrival_ms,ended_ms,fate,pipeline,batch,queued_ms,computed_ms,transferred_ms\n"
            "2,model,0.000,0.000,no capacity,-1,0,0.000,0.000,0.000\n"
            "0,model,0.000,16.000,on time,0,1,0.000,14.000,2.000\n"
            "1,model,0.000,26.000,on time,0,1,10.000,14.000,2.000\n");
}

TEST(SimulationReport, SvgDrawsWhatLiesInTheWindow) {
  const SmallRun run;
  const std::string all = SimulationAsSvg(run.setup, run.deployment, run.result, {}, TimePoint{30 * kMs});
  EXPECT_THAT(all, HasSubstr("&lt;plan&gt;.json"));
  EXPECT_THAT(all, HasSubstr("1 received, stage 2: 10.00 to 12.00 ms"));
  EXPECT_THAT(all, HasSubstr("1 computed, stage 2: 22.00 to 26.00 ms"));
  const std::string begin = SimulationAsSvg(run.setup, run.deployment, run.result, {}, TimePoint{9 * kMs});
  EXPECT_THAT(begin, HasSubstr("1 computed, stage 1: 0.00 to 10.00 ms"));
  EXPECT_THAT(begin, Not(HasSubstr("stage 2: 10.00")));
}

}  // namespace
}  // namespace wharf::cli
