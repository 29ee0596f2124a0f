// Who waits for whom while models are measured.
#include "wharf/split/runtime/own_profile.h"

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

}  // namespace
}  // namespace wharf::split
