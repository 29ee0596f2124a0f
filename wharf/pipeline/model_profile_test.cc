#include "wharf/pipeline/model_profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace wharf::pipeline {
namespace {

using ::testing::HasSubstr;

const std::string kLatencyHeader = "dnn,gpu,vgpu_per_gpu,block,batch,latency_us\n";
const std::string kSavedHeader = "dnn,gpu,vgpu_per_gpu,block,batch,saved_us\n";
const std::string kBytesHeader = "dnn,block,bytes_at_batch_1\n";
const std::string kBytes = kBytesHeader + "net,0,1000\nnet,1,500\n";  // three blocks
const std::string kLatency = kLatencyHeader +
                             "net,L4,1,0,1,10\nnet,L4,1,1,1,20\nnet,L4,1,2,1,30\n"
                             "net,L4,1,0,2,15\nnet,L4,1,1,2,30\nnet,L4,1,2,2,45\n"
                             "net,P4,2,2,1,7\nnet,P4,2,1,1,7\nnet,P4,2,0,1,7\n";

std::string Complaint(const std::string& latency, const std::string& bytes) {
  const auto profiles = ParseModelProfiles(latency, bytes);
  EXPECT_EQ(profiles.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(Message(profiles.status()));
}

TEST(ModelProfileTest, BlocksFollowTheirCuts) {
  const auto profiles = ParseModelProfiles(kLatency, kBytes);
  ASSERT_TRUE(profiles.ok()) << profiles.status();
  ASSERT_EQ(profiles->size(), 1u);
  const ModelProfile& net = profiles->front();
  EXPECT_EQ(net.model, "net");
  EXPECT_EQ(net.output_bytes, (std::vector<int64_t>{1000, 500, 0}));
  ASSERT_NE(net.Find("L4", 1), nullptr);
  EXPECT_EQ(net.Find("L4", 1)->MaxBatch(), 2);
  EXPECT_EQ(net.Find("L4", 1)->LatencyUs(2, 1, 3), 75);
  EXPECT_EQ(net.Find("P4", 2)->LatencyUs(1, 0, 3), 21);
  EXPECT_EQ(net.Find("P4", 1), nullptr);
  EXPECT_EQ(net.Find("T4", 1), nullptr);
}

TEST(ModelProfileTest, JoinedBlocksSaveWhatTheThirdTableSays) {
  const auto profiles = ParseModelProfiles(kLatency, kBytes, kSavedHeader + "net,L4,1,0,2,4\nnet,L4,1,1,2,36\n");
  ASSERT_TRUE(profiles.ok()) << profiles.status();
  const VgpuProfile& one = *profiles->front().Find("L4", 1);
  EXPECT_EQ(one.LatencyUs(2, 0, 1), 15);
  EXPECT_EQ(one.LatencyUs(2, 0, 2), 41);
  EXPECT_EQ(one.LatencyUs(2, 0, 3), 50);
  EXPECT_EQ(one.LatencyUs(2, 1, 3), 39);
  EXPECT_EQ(one.LatencyUs(1, 0, 3), 60);
  EXPECT_EQ(profiles->front().Find("P4", 2)->LatencyUs(1, 0, 3), 21);
}

TEST(ModelProfileTest, MistakesInTheThirdTableGetOneLine) {
  const auto complaint = [](const std::string& row) {
    const absl::Status status = ParseModelProfiles(kLatency, kBytes, kSavedHeader + row).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << row;
    return std::string(Message(status));
  };
  EXPECT_THAT(complaint("net,L4,1,0,2,-1\n"), HasSubstr("line 2: -1 µs"));
  EXPECT_THAT(complaint("net,L4,1,2,2,1\n"), HasSubstr("block is 2"));
  EXPECT_THAT(complaint("net,L4,1,0,3,1\n"), HasSubstr("batch is 3"));
  EXPECT_THAT(complaint("net,L4,2,0,1,1\n"), HasSubstr("no latencies are known of that"));
  EXPECT_THAT(complaint("other,L4,1,0,1,1\n"), HasSubstr("no bytes are known of other"));
  EXPECT_THAT(complaint("net,L4,1,0,1,1\nnet,L4,1,0,1,1\n"), HasSubstr("line 3: the block is there twice"));
  EXPECT_THAT(complaint("net,L4,1,0,1,30\n"), HasSubstr("saves all the time of blocks 0 to 1 at batch size 1"));
}

TEST(ModelProfileTest, MistakesGetOneLine) {
  EXPECT_THAT(Complaint("gpu,dnn\n", kBytes), HasSubstr("its first line is not dnn,gpu"));
  EXPECT_THAT(Complaint(kLatency + "net,L4,1\n", kBytes), HasSubstr("line 11: 3 cells, not 6"));
  EXPECT_THAT(Complaint(kLatency + "net,L4,1,0,1,11\n", kBytes), HasSubstr("line 11: the latency is there twice"));
  EXPECT_THAT(Complaint(kLatency + "net,T4,1,0,1,x\n", kBytes), HasSubstr("latency_us \"x\" is no finite number"));
  EXPECT_THAT(Complaint(kLatency + "net,T4,1,0,1,nan\n", kBytes), HasSubstr("no finite number"));
  EXPECT_THAT(Complaint(kLatency + "net,T4,1,0,1,0\n", kBytes), HasSubstr("a latency of 0"));
  EXPECT_THAT(Complaint(kLatency + "net,T4,5,0,1,1\n", kBytes), HasSubstr("vgpu_per_gpu is 5"));
  EXPECT_THAT(Complaint(kLatency + "net,T4,1,3,1,1\n", kBytes), HasSubstr("block is 3"));
  EXPECT_THAT(Complaint(kLatency + "net,T4,1,0.5,1,1\n", kBytes), HasSubstr("block is 0.5"));
  EXPECT_THAT(Complaint(kLatency + "net,T4,1,0,1000000,1\n", kBytes), HasSubstr("batch is 1000000"));
  EXPECT_THAT(Complaint(kLatency + "other,T4,1,0,1,1\n", kBytes), HasSubstr("no bytes are known of other"));
  EXPECT_THAT(Complaint(kLatency + "net,T4,1,0,1,1\n", kBytes),
              HasSubstr("net on T4/1 has no block 1 at batch size 1"));
  EXPECT_THAT(Complaint(kLatency, kBytesHeader + "net,1,5\n"), HasSubstr("a block of net is missing"));
  EXPECT_THAT(Complaint(kLatency, kBytes + "net,1,5\n"), HasSubstr("the block is there twice"));
  EXPECT_THAT(Complaint(kLatency, kBytes + "lone,0,5\n"), HasSubstr("none of lone"));
  EXPECT_THAT(Complaint(kLatency, kBytes + "net,2,-5\n"), HasSubstr("-5 bytes"));
}

TEST(ModelProfileTest, StoredProfilesAreEighteenModelsOnFourClasses) {
  const auto profiles = LoadModelProfiles(WHARF_PIPELINE_DATA);
  ASSERT_TRUE(profiles.ok()) << profiles.status();
  EXPECT_EQ(profiles->size(), 18u);
  for (const ModelProfile& one : *profiles) {
    EXPECT_GE(one.Blocks(), 9) << one.model;
    for (const char* gpu : {"L4", "V100", "T4"}) {
      for (const int vgpus : {1, 2, 3, 4}) EXPECT_NE(one.Find(gpu, vgpus), nullptr) << one.model << gpu << vgpus;
    }
    ASSERT_NE(one.Find("P4", 1), nullptr);
    EXPECT_EQ(one.Find("P4", 2), nullptr);
    EXPECT_EQ(one.Find("P4", 1)->MaxBatch(), 8);
  }
}

TEST(ModelProfileTest, AFolderWithoutTablesIsNotFound) {
  EXPECT_EQ(LoadModelProfiles("/nowhere").status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace wharf::pipeline
