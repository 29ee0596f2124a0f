#include <utility>

#include "wharf/scene/source/source.h"

namespace wharf::scene {
namespace {

class WorldSource : public Source {
 public:
  WorldSource(const World& world, int width, int height) : world_(world), width_(width), height_(height) {}
  Intrinsics Camera() const override { return World::Camera(width_, height_); }
  double FramesPerSecond() const override { return World::kFramesPerSecond; }
  absl::StatusOr<std::optional<Frame>> Next() override {
    if (next_ == World::kFrames) return std::nullopt;
    return world_.FrameAt(next_++, width_, height_);
  }

 private:
  const World& world_;
  const int width_, height_;
  int64_t next_ = 0;
};

}  // namespace

std::unique_ptr<Source> MakeWorldSource(const World& world, int width, int height) {
  return std::make_unique<WorldSource>(world, width, height);
}

}  // namespace wharf::scene
