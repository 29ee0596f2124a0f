#include "wharf/cli/split/profile_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace wharf::cli {
namespace {

using ::testing::HasSubstr;

TEST(ProfileTable, ShowsOperatorsAndWhatTheySumUpTo) {
  split::ModelOperators operators;
  operators.operators.resize(4);
  operators.operators[1].output_bytes = 1500;
  split::MachineProfile profile;
  profile.model = "small";
  profile.machine = {"a CPU", "an engine", 1};
  profile.whole_ms = 2;
  profile.operators = {{"input", 8, 0, {}, 0},
                       {"Conv+Relu", 8, 2, {0.5, 0.25}, 0.02},
                       {"GlobalAveragePool", 1, 0.5, {0.5, 0}, 0},
                       {"output", 1, 0, {}, 0}};
  const std::string text = MachineProfileAsText(profile, operators);
  EXPECT_THAT(text,
              HasSubstr("\n1  Conv+Relu             8        2.000     0.500    0.2500         2 %        1.5\n"));
  EXPECT_THAT(text,
              HasSubstr("\n2  GlobalAveragePool     1        0.500                                        0.0\n"));
  EXPECT_THAT(text, HasSubstr("\nsmall on a CPU, 1 thread, an engine: 2.00 ms whole, 2.50 ms operator by operator "
                              "(+25.0 %); fits off by 2 %\n"));
  EXPECT_THAT(MachineProfileAsText(profile.Scaled(3), operators), HasSubstr("; all times 3 times as measured\n"));
}

}  // namespace
}  // namespace wharf::cli
