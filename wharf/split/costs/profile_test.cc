#include "wharf/split/costs/profile.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "wharf/split/row_graph.h"

namespace wharf::split {
namespace {

using absl::StatusCode;

constexpr std::string_view kColumns =
    "op,name,inputs_from,output_shapes,output_bytes_f32,row_dim,kind,kernel,stride,padding,dilation,device_ms,server_"
    "ms\n";

std::string Csv(std::string_view rows) { return std::string(kColumns) + std::string(rows); }

TEST(Profile, ReadsTheStoredModels) {
  struct Known {
    const char* model;
    int operators;
    double device_ms, server_ms;
  };
  for (const Known& known :
       {Known{"vgg19_bn", 64, 168, 10.4}, Known{"densenet121", 433, 60, 10.2}, Known{"regnet_x_16gf", 236, 157, 12.0},
        Known{"convnext_base", 348, 156, 12.4}, Known{"convnext_large", 348, 321, 25.1}, Known{"kapao", 546, 970, 54.4},
        Known{"agrnav", 67, 562, 40.4}}) {
    const auto profile = Profile::Load(fmt::format("{}/{}.csv", WHARF_PROFILES, known.model));
    ASSERT_TRUE(profile.ok()) << profile.status();
    EXPECT_EQ(profile->model, known.model);
    EXPECT_EQ(profile->Size(), known.operators);
    EXPECT_NEAR(profile->FullMs(kDevice), known.device_ms, 1);
    EXPECT_NEAR(profile->FullMs(kServer), known.server_ms, 0.1);
  }
}

TEST(Profile, ReadsRowsAndWindows) {
  const auto profile = Profile::Parse(Csv("0,_start,,1x3x8x4,384,2,row,1,1,0,1,0,0\n"
                                          "1,conv2d,0,1x2x4x2,64,2,window,3,2,1,1,2.5,0.25\n"
                                          "2,_end,1,1x2x4x2,64,,global,1,1,0,1,0,0\n"),
                                      "small");
  ASSERT_TRUE(profile.ok()) << profile.status();
  const RowGraph graph(*profile);
  EXPECT_EQ(graph.Rows(0), 8);
  EXPECT_EQ(graph.Rows(1), 4);
  EXPECT_EQ(graph.Needed(1, graph.Inputs(1)[0], {2, 4}), (RowRange{3, 8}));
  EXPECT_DOUBLE_EQ(graph.BytesPerRow(0), 48);
  EXPECT_DOUBLE_EQ(graph.Ms(kDevice, 1, 4), 2.5);
  EXPECT_NEAR(graph.Ms(kDevice, 1, 2), 1.05 * (0.05 + 2.45 / 2), 1e-12);
  EXPECT_EQ(profile->WithByteInput().operators[0].op.output_bytes, 96);
  EXPECT_EQ(profile->WithByteInput().WithByteInput().operators[0].op.output_bytes, 96);
}

TEST(Profile, IsSlowerOnOneSideOnly) {
  Profile profile;
  profile.operators.resize(1);
  profile.operators[0].full_ms = {10, 2};
  profile.operators[0].slice = {SliceTime{1, 0.5}, SliceTime{0.2, 0.1}};
  profile.slice_cost.fixed_ms = {0.08, 0.02};
  const Profile weaker = profile.WithSlower(kServer, 3);
  EXPECT_EQ(weaker.operators[0].full_ms, (std::array<double, 2>{10, 6}));
  EXPECT_EQ(weaker.operators[0].slice[kDevice]->row_ms, 0.5);
  EXPECT_DOUBLE_EQ(weaker.operators[0].slice[kServer]->fixed_ms, 0.6);
  EXPECT_DOUBLE_EQ(weaker.operators[0].slice[kServer]->row_ms, 0.3);
  EXPECT_EQ(weaker.slice_cost.fixed_ms[kDevice], 0.08);
  EXPECT_DOUBLE_EQ(weaker.slice_cost.fixed_ms[kServer], 0.06);
}

TEST(Profile, AssumesWideWindowsWhereALogDoesNotSay) {
  const auto profile = Profile::Parse(
      "op,name,inputs_from,outputs_to,output_shapes,output_bytes_f32,global_op,sliceable_dim,device_ms,server_ms\n"
      "0,_start,,1,1x3x64x64,49152,True,3,0,0\n"
      "1,conv2d,0,2,1x8x32x32,32768,False,3,1,0.1\n"
      "2,relu,1,3,1x8x32x32,32768,False,3,1,0.1\n"
      "3,_end,2,-1,1x8x32x32,32768,True,None,0,0\n",
      "log");
  ASSERT_TRUE(profile.ok()) << profile.status();
  const RowGraph graph(*profile);
  EXPECT_EQ(graph.Rows(1), 32);
  EXPECT_EQ(graph.Needed(1, graph.Inputs(1)[0], {8, 9}), (RowRange{13, 20}));
  EXPECT_EQ(graph.Needed(2, graph.Inputs(2)[0], {8, 9}), (RowRange{8, 9}));
}

TEST(Profile, SaysWhichLineIsWrong) {
  const std::string start = "0,_start,,1x3x8x4,384,2,row,1,1,0,1,0,0\n";
  const std::string end = "2,_end,1,1x2x4x2,64,,global,1,1,0,1,0,0\n";
  const auto status = [&](const std::string& middle) {
    return Profile::Parse(Csv(start + middle + end), "x").status();
  };
  for (const char* wrong :
       {"1,conv2d,3,1x2x4x2,64,2,window,3,2,1,1,2.5,0.25\n", "1,conv2d,0,1x2x4x2,64,9,window,3,2,1,1,2.5,0.25\n",
        "1,conv2d,0,1x2x4x2,64,2,window,3,2,1,1,fast,0.25\n", "1,conv2d,0,1x2x4x2,64,2,pyramid,3,2,1,1,2,0.25\n",
        "7,conv2d,0,1x2x4x2,64,2,window,3,2,1,1,2.5,0.25\n", "1,conv2d,0\n"}) {
    const absl::Status read = status(wrong);
    EXPECT_EQ(read.code(), StatusCode::kInvalidArgument) << wrong;
    EXPECT_NE(std::string(Message(read)).find("line 3"), std::string::npos) << Message(read);
  }
  EXPECT_EQ(status("1,conv2d,0,1x2x4x2,64,2,window,0,2,1,1,2.5,0.25\n").code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(status("1,conv2d,0,1x2x4x2,64,2,window,3,2,1,1,-1,0.25\n").code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Profile::Parse("", "x").status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Profile::Load("/nowhere.csv").status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace wharf::split
