#include "wharf/ar/messages.h"

#include <bit>
#include <cmath>

namespace wharf::ar {
namespace {

bool Within(double value, double low, double high) { return value >= low && value <= high; }  // NaN is not

}  // namespace

absl::Status CheckHello(const Hello& hello) {
  if (hello.tasks == 0 || hello.tasks >= 1 << kTasks) return InvalidArgument("the client asks for no task there is");
  if (hello.depth_coding > DepthCoding::kJpeg) return InvalidArgument("an unknown coding of depth");
  if (hello.width < 16 || hello.height < 16 || hello.width > kMaxSide || hello.height > kMaxSide)
    return InvalidArgument("pictures of {} x {}: each side must be 16 to {}", hello.width, hello.height, kMaxSide);
  if (!Within(hello.frames_per_s, 1, 1000)) return InvalidArgument("a camera has 1 to 1000 frames a second");
  const bool camera = Within(hello.fx, 1, 1e6) && Within(hello.fy, 1, 1e6) && Within(hello.cx, -1e6, 1e6) &&
                      Within(hello.cy, -1e6, 1e6);
  if (!camera) return InvalidArgument("the camera's intrinsics are none");
  if (!Within(hello.sla, 0, 10)) return InvalidArgument("an accuracy drop of at most 0 to 10 can be agreed");
  if (hello.sla > 0 && std::popcount(hello.tasks) != 1)
    return InvalidArgument("an accuracy can be agreed for one task a session");
  return absl::OkStatus();
}

}  // namespace wharf::ar
