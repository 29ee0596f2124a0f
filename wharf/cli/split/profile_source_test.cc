#include "wharf/cli/split/profile_source.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "wharf/cli/common/files.h"
#include "wharf/graph/onnx/import.h"
#include "wharf/split/costs/machine_profile.h"

namespace wharf::cli {
namespace {

using absl::StatusCode;
namespace fs = std::filesystem;

const std::string kModel = std::string(WHARF_TESTDATA) + "/tiny/model.onnx";

// Two machines that measured the small model: every operator takes 4 ms on one, 1 ms on the other.
class ProfileSourceTest : public ::testing::Test {
 protected:
  ProfileSourceTest() {
    fs::create_directories(directory_);
    const graph::Graph graph = *graph::LoadOnnx(kModel, {});
    const auto operators = *split::OperatorsOf(graph, *graph::RowRulesOf(graph));
    split::MachineProfile measured;
    measured.model_hash = std::string(64, 'a');
    for (const graph::Operator& op : operators.operators) {
      const bool runs = &op != &operators.operators.front() && &op != &operators.operators.back();
      measured.operators.push_back({op.name, op.rows, runs ? 1.0 : 0.0, {0, 0}, 0});
    }
    EXPECT_TRUE(WriteFile(source_.server_profile, split::ToJson(measured)).ok());
    EXPECT_TRUE(WriteFile(source_.device_profile, split::ToJson(measured.Scaled(4))).ok());
  }
  ~ProfileSourceTest() override { fs::remove_all(directory_); }

  const fs::path directory_ = fs::path(::testing::TempDir()) / fmt::format("wharf-source-{}", getpid());
  split::PlanSource source_{"", kModel, directory_ / "device.json", directory_ / "server.json"};
};

TEST_F(ProfileSourceTest, AModelAndTwoMachinesMakeAProfile) {
  const auto profile = LoadProfile(source_);
  ASSERT_TRUE(profile.ok()) << ToString(profile.status());
  EXPECT_EQ(profile->FullMs(split::kDevice), 4 * profile->FullMs(split::kServer));
  EXPECT_EQ(profile->FullMs(split::kServer), profile->Size() - 2);
}

TEST_F(ProfileSourceTest, AsksForWhatIsMissing) {
  EXPECT_FALSE(split::PlanSource().Given());
  EXPECT_EQ(LoadProfile({}).status().code(), StatusCode::kInvalidArgument);
  source_.csv = "stored.csv";
  EXPECT_EQ(LoadProfile(source_).status().code(), StatusCode::kInvalidArgument) << "both";
  source_.csv = source_.server_profile = "";
  EXPECT_TRUE(source_.Given());
  EXPECT_EQ(LoadProfile(source_).status().code(), StatusCode::kInvalidArgument);
}

TEST_F(ProfileSourceTest, AModelWithItsAttentionSplitIsAnotherModel) {
  source_.split_attention = 5;
  EXPECT_EQ(LoadProfile(source_).status().code(), StatusCode::kInvalidArgument) << "what was measured is the whole one";
  source_ = {"stored.csv"};
  source_.split_attention = 5;
  EXPECT_EQ(Message(LoadProfile(source_).status()), "--split-attention is for --model");
}

TEST_F(ProfileSourceTest, WhatAPlanNamesIsAFile) {
  EXPECT_EQ(CheckRegularFiles(source_), absl::OkStatus());
  EXPECT_EQ(CheckRegularFiles({"/nowhere.csv"}), absl::OkStatus()) << "whoever reads it says so";
  const std::string pipe = directory_ / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& path : {pipe, std::string("/dev/zero"), directory_.string()}) {
    for (std::string split::PlanSource::*const name :
         {&split::PlanSource::csv, &split::PlanSource::model, &split::PlanSource::device_profile,
          &split::PlanSource::server_profile}) {
      split::PlanSource source = source_;
      source.*name = path;
      EXPECT_EQ(CheckRegularFiles(source).code(), StatusCode::kInvalidArgument) << path;
    }
  }
}

TEST_F(ProfileSourceTest, NamesTheFileThatIsWrong) {
  ASSERT_TRUE(WriteFile(source_.server_profile, "{}").ok());
  EXPECT_EQ(Message(LoadProfile(source_).status()), source_.server_profile + ": the profile has 0 members, not 12");
  source_.device_profile = "/nowhere.json";
  EXPECT_EQ(LoadProfile(source_).status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace wharf::cli
