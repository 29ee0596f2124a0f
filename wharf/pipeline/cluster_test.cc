#include "wharf/pipeline/cluster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace wharf::pipeline {
namespace {

using ::testing::HasSubstr;

constexpr const char* kLab = R"(
name: lab
link_gbit_per_s: 10
classes:
  - {name: V100, vgpus: 4, cost: 2.5}
  - {name: P4}
hosts:
  - {class: V100, hosts: 2, gpus: 4}
  - {class: V100}
  - {class: P4, hosts: 3, link_gbit_per_s: 6}
)";

// The one line `yaml` gets.
std::string Complaint(std::string_view yaml) {
  const auto cluster = ParseCluster(yaml);
  EXPECT_EQ(cluster.status().code(), absl::StatusCode::kInvalidArgument);
  const std::string message(Message(cluster.status()));
  EXPECT_EQ(message.find('\n'), std::string::npos);
  return message;
}

// kLab with one thing changed.
std::string Lab(const std::string& from, const std::string& to) {
  std::string text = kLab;
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos);
  return text.replace(at, from.size(), to);
}

TEST(ClusterTest, YamlSaysClassesHostsAndLinks) {
  const auto cluster = ParseCluster(kLab);
  ASSERT_TRUE(cluster.ok()) << cluster.status();
  EXPECT_EQ(cluster->name, "lab");
  EXPECT_EQ(cluster->classes, (std::vector<GpuClass>{{"V100", 4, 2.5}, {"P4", 1, 1}}));
  EXPECT_EQ(cluster->Gpus(0), 9);
  EXPECT_EQ(cluster->Gpus(1), 3);
  EXPECT_EQ(cluster->FindClass("P4"), 1);
  EXPECT_EQ(cluster->FindClass("T4"), -1);
}

TEST(ClusterTest, AGpuHasItsShareOfTheSlowestAndFullestHost) {
  const Cluster cluster = *ParseCluster(kLab);
  EXPECT_EQ(cluster.LinkBitsPerS(0), 10e9);
  EXPECT_EQ(cluster.LinkShareBitsPerS(0), 2.5e9);
  EXPECT_EQ(cluster.LinkShareBitsPerS(1), 6e9);
}

TEST(ClusterTest, ATransferIsAsSlowAsTheSlowerLink) {
  const Cluster cluster = *ParseCluster(kLab);
  EXPECT_DOUBLE_EQ(cluster.TransferUs(0, 0, 1e6), 800);
  EXPECT_DOUBLE_EQ(cluster.TransferUs(0, 1, 1e6), 8000.0 / 6);
  EXPECT_DOUBLE_EQ(cluster.TransferUs(1, 0, 1e6), 8000.0 / 6);
}

TEST(ClusterTest, MistakesGetOneLine) {
  EXPECT_THAT(Complaint("name: [a"), HasSubstr("line"));
  EXPECT_THAT(Complaint("just text"), HasSubstr("no map"));
  EXPECT_THAT(Complaint(""), HasSubstr("no map"));
  EXPECT_THAT(Complaint("name: x"), HasSubstr("no list \"classes\""));
  EXPECT_THAT(Complaint(Lab("vgpus: 4", "vgpu: 4")), HasSubstr("\"vgpu\", which is none of"));
  EXPECT_THAT(Complaint(Lab("vgpus: 4", "vgpus: 5")), HasSubstr("vgpus of V100 is 5"));
  EXPECT_THAT(Complaint(Lab("vgpus: 4", "vgpus: many")), HasSubstr("no whole number"));
  EXPECT_THAT(Complaint(Lab("vgpus: 4", "vgpus: -1")), HasSubstr("negative"));
  EXPECT_THAT(Complaint(Lab("cost: 2.5", "cost: .nan")), HasSubstr("not finite"));
  EXPECT_THAT(Complaint(Lab("cost: 2.5", "cost: 0")), HasSubstr("cost of V100"));
  EXPECT_THAT(Complaint(Lab("{name: P4}", "{name: P4}\n  - {name: V100}")), HasSubstr("V100 is there twice"));
  EXPECT_THAT(Complaint(Lab("{name: P4}", "{name: P4}\n  - {name: T4}")), HasSubstr("no host has GPUs of class T4"));
  EXPECT_THAT(Complaint(Lab("{class: P4,", "{class: K80,")), HasSubstr("there is no class \"K80\""));
  EXPECT_THAT(Complaint(Lab("hosts: 3", "hosts: 0")), HasSubstr("0 hosts of P4"));
  EXPECT_THAT(Complaint(Lab(", gpus: 4", ", gpus: 1000")), HasSubstr("1000 GPUs in a host"));
  EXPECT_THAT(Complaint(Lab("link_gbit_per_s: 10", "")), HasSubstr("link_gbit_per_s"));
}

TEST(ClusterTest, BuiltInsAreThoseOfTheThesis) {
  struct Expected {
    const char *name, *fast, *slow;
    int fast_gpus, slow_gpus;
    double link, fast_share, slow_share;
  };
  for (const Expected& expected : {Expected{"hc1-large", "L4", "P4", 25, 75, 6e9, 6e9, 6e9},
                                   Expected{"hc2-large", "L4", "T4", 25, 75, 10e9, 2.5e9, 5e9},
                                   Expected{"hc3-large", "V100", "P4", 25, 75, 6e9, 3e9, 6e9},
                                   Expected{"hc4-large", "V100", "T4", 25, 75, 10e9, 2.5e9, 5e9},
                                   Expected{"hc3-small", "V100", "P4", 4, 12, 6e9, 3e9, 6e9}}) {
    const auto cluster = BuiltInCluster(expected.name);
    ASSERT_TRUE(cluster.ok()) << cluster.status();
    EXPECT_EQ(cluster->name, expected.name);
    EXPECT_EQ(cluster->classes[0].name, expected.fast);
    EXPECT_EQ(cluster->classes[1].name, expected.slow);
    EXPECT_EQ(cluster->Gpus(0), expected.fast_gpus);
    EXPECT_EQ(cluster->Gpus(1), expected.slow_gpus);
    EXPECT_EQ(cluster->LinkBitsPerS(0), expected.link);
    EXPECT_EQ(cluster->LinkShareBitsPerS(0), expected.fast_share);
    EXPECT_EQ(cluster->LinkShareBitsPerS(1), expected.slow_share);
  }
}

TEST(ClusterTest, EveryBuiltInIsFine) {
  EXPECT_EQ(BuiltInClusterNames().size(), 8u);
  for (const std::string& name : BuiltInClusterNames()) EXPECT_EQ(Check(*BuiltInCluster(name)), absl::OkStatus());
}

TEST(ClusterTest, AnUnknownNameIsToldTheKnownOnes) {
  const auto cluster = BuiltInCluster("hc5-large");
  EXPECT_EQ(cluster.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(Message(cluster.status())), HasSubstr("hc1-large"));
}

}  // namespace
}  // namespace wharf::pipeline
