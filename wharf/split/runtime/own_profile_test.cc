// Who waits for whom while models are measured.
#include "wharf/split/runtime/own_profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "absl/synchronization/notification.h"
#include "wharf/split/runtime/testing.h"

namespace wharf::split {
namespace {

Sha256 HashOfAll(uint8_t bytes) {
  Sha256 hash{};
  hash.fill(bytes);
  return hash;
}

TEST(OwnProfile, AModelThatTakesLongHoldsUpThoseWhoUseItOnly) {
  const std::string directory =
      (std::filesystem::path(::testing::TempDir()) / fmt::format("wharf-own-profile-{}", getpid())).string();
  const auto model = testing::RandomModel(11, 4);
  absl::Notification begun, end;
  absl::Status of_slow;
  std::thread slow([&] {
    const GoOn wait = [&]() -> absl::Status {
      begun.Notify();
      end.WaitForNotification();
      return absl::CancelledError("nobody waits");
    };
    of_slow = OwnProfile(*model, HashOfAll(0x11), directory, Clock::Real(), wait).status();
  });
  begun.WaitForNotification();
  const GoOn in_a_hurry = [] { return absl::CancelledError("no time"); };
  EXPECT_EQ(OwnProfile(*model, HashOfAll(0x11), directory, Clock::Real(), in_a_hurry).status(),
            absl::CancelledError("no time"));
  EXPECT_EQ(OwnProfile(*model, HashOfAll(0xff), directory).status(), absl::OkStatus());
  end.Notify();
  slow.join();
  EXPECT_EQ(of_slow, absl::CancelledError("nobody waits"));
  std::filesystem::remove_all(directory);
}

// Of operators that take 3 ms in all.
MachineProfile Measured(double noise) {
  MachineProfile profile;
  profile.model = "4124e49b4268";
  profile.noise = noise;
  profile.operators = {{"a", 1, 1, {}, 0}, {"b", 1, 2, {}, 0}};
  return profile;
}

TEST(CautionsOf, NamesTheModelAndSaysTheSameOfTheSameProfileOnce) {
  using ::testing::ElementsAre;
  using ::testing::IsEmpty;
  using ::testing::StartsWith;
  const std::string of_all = " was busy while it measured m.onnx: its operators take 3 ms, and took 2 ms at best, ";
  EXPECT_THAT(CautionsOf(Measured(0.1), Measured(0), "m.onnx"), IsEmpty());
  EXPECT_THAT(CautionsOf(Measured(0.5), Measured(0.5), "m.onnx"), ElementsAre(StartsWith("this machine" + of_all)));
  EXPECT_THAT(CautionsOf(Measured(0), Measured(0.5), "m.onnx"), ElementsAre(StartsWith("the server" + of_all)));
  MachineProfile other = Measured(0.5);
  other.machine.cpu = "another";
  EXPECT_THAT(CautionsOf(Measured(0.5), other, "m.onnx"),
              ElementsAre(StartsWith("this machine" + of_all), StartsWith("the server" + of_all)));
  MachineProfile waited = Measured(0);
  waited.waited = 0.4;
  EXPECT_THAT(CautionOf(waited, "this server"), ::testing::HasSubstr("others had the processor 40 % of the time"));
}

// Otherwise one busy moment would be warned of, and planned with, for ever.
TEST(OwnProfile, MeasuresAgainWhatWasDoubtfulLongAgo) {
  const std::string directory =
      (std::filesystem::path(::testing::TempDir()) / fmt::format("wharf-doubtful-profile-{}", getpid())).string();
  const auto model = testing::RandomModel(11, 4);
  const Sha256 hash = HashOfAll(0x22);
  const ProfileCache cache(directory + "/profiles");
  auto kept = OwnProfile(*model, hash, directory);
  ASSERT_EQ(kept.status(), absl::OkStatus());
  const int64_t now = kept->measured_at;
  kept->noise = 80;
  ASSERT_EQ(cache.Put(*kept), absl::OkStatus());
  EXPECT_EQ(OwnProfile(*model, hash, directory)->noise, 80) << "it is new";
  kept->measured_at = now - 1000;
  ASSERT_EQ(cache.Put(*kept), absl::OkStatus());
  const auto again = OwnProfile(*model, hash, directory);
  ASSERT_EQ(again.status(), absl::OkStatus());
  EXPECT_GE(again->measured_at, now);
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace wharf::split
