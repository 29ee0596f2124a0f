#include "wharf/split/costs/profile_cache.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace wharf::split {
namespace {

namespace fs = std::filesystem;

class ProfileCacheTest : public ::testing::Test {
 protected:
  ~ProfileCacheTest() override { fs::remove_all(directory_); }
  static MachineProfile Measured() {
    MachineProfile profile;
    profile.model_hash = std::string(64, '0');
    profile.machine = {"A/CPU (R) @ 2 GHz", "engine 1", 2};
    profile.whole_ms = 3;
    profile.operators = {{"input", 8, 0, {}, 0}, {"Conv", 8, 2, {0.5, 0.25}, 0.02}, {"output", 1, 0, {}, 0}};
    return profile;
  }
  const fs::path directory_ = fs::path(::testing::TempDir()) / fmt::format("wharf-profiles-{}", getpid());
  const ProfileCache cache_{directory_ / "below"};
  const MachineProfile measured_ = Measured();
};

TEST_F(ProfileCacheTest, KeepsOneProfileForEachModelAndMachine) {
  EXPECT_EQ(cache_.Find(measured_.model_hash, measured_.machine), std::nullopt);
  ASSERT_TRUE(cache_.Put(measured_).ok());
  EXPECT_EQ(cache_.Find(measured_.model_hash, measured_.machine), measured_);
  Machine slower = measured_.machine;
  slower.threads = 1;
  EXPECT_EQ(cache_.Find(measured_.model_hash, slower), std::nullopt);
  EXPECT_EQ(cache_.Find(std::string(64, '1'), measured_.machine), std::nullopt);
}

TEST_F(ProfileCacheTest, TheLastOneCounts) {
  ASSERT_TRUE(cache_.Put(measured_).ok());
  MachineProfile again = measured_;
  again.whole_ms = 4;
  ASSERT_TRUE(cache_.Put(again).ok());
  EXPECT_EQ(cache_.Find(measured_.model_hash, measured_.machine), again);
}

// Another machine whose name makes the same file name, and a file that somebody damaged.
TEST_F(ProfileCacheTest, WhatIsNotTheProfileAskedForIsNotThere) {
  ASSERT_TRUE(cache_.Put(measured_).ok());
  Machine alike = measured_.machine;
  alike.cpu[1] = '|';
  ASSERT_EQ(cache_.PathOf(measured_.model_hash, alike), cache_.PathOf(measured_.model_hash, measured_.machine));
  EXPECT_EQ(cache_.Find(measured_.model_hash, alike), std::nullopt);
  std::ofstream(cache_.PathOf(measured_.model_hash, measured_.machine)) << "{}";
  EXPECT_EQ(cache_.Find(measured_.model_hash, measured_.machine), std::nullopt);
}

TEST_F(ProfileCacheTest, SaysIfItCannotWrite) {
  std::ofstream(directory_.string()) << "a file where the directory should be";
  EXPECT_FALSE(cache_.Put(measured_).ok());
}

TEST_F(ProfileCacheTest, WithoutADirectoryKeepsNothing) {
  const ProfileCache none("");
  EXPECT_TRUE(none.Put(measured_).ok());
  EXPECT_EQ(none.Find(measured_.model_hash, measured_.machine), std::nullopt);
}

TEST(ThisMachine, HasAProcessorWithAName) {
  const Machine machine = ThisMachine("engine 1", 3);
  EXPECT_FALSE(machine.cpu.empty());
  EXPECT_EQ(machine.engine, "engine 1");
  EXPECT_EQ(machine.threads, 3);
}

}  // namespace
}  // namespace wharf::split
