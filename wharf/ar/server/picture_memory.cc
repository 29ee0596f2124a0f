#include "wharf/ar/server/picture_memory.h"

namespace wharf::ar {
namespace {

// Pictures of a session that the server has at once: one that was just decoded, those that wait for a finder
// (four of a client that the server schedules), and the one that is looked at. One with a plan of its own has two
// waiting at most, and one that odometry remembers. Three bytes a pixel. Late ones that a batch takes along come on
// top for as long as it runs.
constexpr uint64_t kPictures = 6, kPictureBytes = 3;
// What is remembered of depth: of two pictures, four bytes a pixel.
constexpr uint64_t kDepthBytes = 2 * 4;
// While one is decoded its relay has the picture, its four inks if it is one for printing, and, if it is a
// progressive JPEG, two bytes for each of four components.
constexpr uint64_t kDecoderBytes = 3 + 4 + 4 * 2;

constexpr double kMiB = 1 << 20;

}  // namespace

uint64_t PictureMemory::Of(int width, int height) {
  return (kPictures * kPictureBytes + kDepthBytes + kDecoderBytes) * static_cast<uint64_t>(width) *
         static_cast<uint64_t>(height);
}

absl::StatusOr<PictureMemory::Share> PictureMemory::Admit(int width, int height) {
  const uint64_t bytes = Of(width, height);
  absl::MutexLock lock(&mutex_);
  if (bytes > bytes_ - taken_) {
    return ResourceExhausted(
        "no room for pictures of {} x {}: a client with them may take {:.1f} MiB, and of the server's {:.1f} MiB for "
        "pictures {:.1f} MiB are taken; come again later, send smaller ones, or start it with a larger "
        "--picture-memory",
        width, height, static_cast<double>(bytes) / kMiB, static_cast<double>(bytes_) / kMiB,
        static_cast<double>(taken_) / kMiB);
  }
  taken_ += bytes;
  ++shares_;
  return Share(this, bytes);
}

void PictureMemory::GiveBack(uint64_t bytes) {
  absl::MutexLock lock(&mutex_);
  taken_ -= bytes;
  --shares_;
}

uint64_t PictureMemory::Shares() const {
  absl::MutexLock lock(&mutex_);
  return shares_;
}

}  // namespace wharf::ar
