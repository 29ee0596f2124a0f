// Textures on a partitioned device: they are the server's, and from the first one on everything runs there.
#include <gtest/gtest.h>

#include "absl/synchronization/notification.h"
#include "wharf/device/fake_device.h"
#include "wharf/link/emulation/emulator.h"
#include "wharf/offload/partition/partitioned_device.h"
#include "wharf/offload/testing/loopback_server.h"

namespace wharf::offload {
namespace {

using device::CudaError;
using device::FakeDevice;

constexpr uint64_t kWord = FakeDevice::kBase;

class PartitionedTexturesTest : public ::testing::Test {
 protected:
  PartitionedTexturesTest() {
    auto [ours, theirs] = link::MemoryPair();
    auto here = std::make_unique<FakeDevice>(), there = std::make_unique<FakeDevice>();
    here_ = here.get();
    there_ = there.get();
    server_ = std::make_unique<LoopbackServer>(std::move(theirs), std::move(there));
    auto remote =
        RemoteDevice::Open([&, &stream = ours](auto) { return ClientSession::Open(std::move(stream), {}); }).value();
    both_ = PartitionedDevice::Create(std::move(here), std::move(remote), std::make_unique<AllLocal>()).value();
    EXPECT_EQ(both_->Map(kWord, 4096), absl::OkStatus());
  }

  void Fill(uint32_t value) {
    ASSERT_EQ(both_->Fill(device::kDefaultStream, {kWord, 4, 4}, {4, 1, 1}, value, 4), absl::OkStatus());
  }
  absl::Status Settle() {
    absl::Notification done;
    absl::Status result;
    EXPECT_EQ(both_->NotifyAll([&](const absl::Status& status) {
      result = status;
      done.Notify();
    }),
              absl::OkStatus());
    done.WaitForNotification();
    return result;
  }
  static device::ImageDescription Plane() {
    return {device::ImageKind::kArray, {device::ChannelKind::kUnsigned, 8, 4}, kWord, 4, 3, 0, 32, 96};
  }

  FakeDevice *here_, *there_;
  std::unique_ptr<LoopbackServer> server_;
  std::unique_ptr<PartitionedDevice> both_;
};

TEST_F(PartitionedTexturesTest, MemoryIsOnTheServerWhenOneIsMade) {
  Fill(7);
  ASSERT_EQ(Settle(), absl::OkStatus());
  EXPECT_EQ(both_->Counters()->operations_local, 1U);
  EXPECT_EQ(*there_->At(kWord), std::byte{0});
  const auto surface = both_->CreateSurface(Plane());
  ASSERT_TRUE(surface.ok()) << surface.status();
  EXPECT_EQ(*there_->At(kWord), std::byte{7});
  EXPECT_EQ(there_->Surfaces().at(*surface), Plane());
  EXPECT_TRUE(here_->Surfaces().empty());

  Fill(9);
  ASSERT_EQ(Settle(), absl::OkStatus());
  EXPECT_EQ(both_->Counters()->operations_local, 1U);
  EXPECT_EQ(both_->Counters()->operations_remote, 1U);
  EXPECT_EQ(*there_->At(kWord), std::byte{9});
}

TEST_F(PartitionedTexturesTest, HandlesAreTheServers) {
  device::TextureDescription described;
  described.image = Plane();
  const auto texture = both_->CreateTexture(described);
  ASSERT_TRUE(texture.ok()) << texture.status();
  EXPECT_EQ(there_->Textures().at(*texture), described);
  EXPECT_EQ(both_->DestroyTexture(*texture), absl::OkStatus());
  EXPECT_EQ(Settle(), absl::OkStatus());
  EXPECT_TRUE(there_->Textures().empty());
  // What is wrong with a call that needs no answer is known later.
  EXPECT_EQ(both_->DestroyTexture(*texture), absl::OkStatus());
  EXPECT_EQ(both_->DestroySurface(12345), absl::OkStatus());
  (void)Settle();
  EXPECT_EQ(device::CudaErrorOf(both_->TakeDeferredError()), CudaError::kInvalidHandle);

  described.image.width = 0;
  EXPECT_EQ(device::CudaErrorOf(both_->CreateTexture(described).status()), CudaError::kInvalidValue);
}

}  // namespace
}  // namespace wharf::offload
