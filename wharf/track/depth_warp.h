// The depth task's local tracker: a depth map that is some frames old, seen from where the camera is now (AccuMO,
// thesis section 2.6.1). What stands still is then right; what moves is not, which depth_accuracy.h estimates.
#pragma once

#include "wharf/scene/scene.h"

namespace wharf::track {

struct WarpedImage {
  scene::Image image;
  scene::DepthMap depth;  // of the same pixels
};

// `depth` as a camera sees it that has moved by `motion` (the new camera's pose in the old one's axes, that is
// RelativePose(old, now)): back-projected to points, transformed, projected to the nearest pixel; of points that meet
// in a pixel the nearest is seen. A source pixel covers as many pixels as it has grown, z / z', at most 8, so that a
// surface that comes closer shows no gaps for what is behind it.
// Holes: a run of pixels in a row that nothing was projected to takes the farther of its two ends, because a hole opens
// behind the nearer surface; at the picture's border it takes its one end; a row with nothing at all takes the nearest
// row that has something. Nothing known at all gives a map of zeros. Unknown (0), negative and non-finite depths of the
// source are left out.
// REQUIRES: depth has the camera's size. Linear in pixels; any thread.
scene::DepthMap WarpDepth(const scene::DepthMap& depth, const scene::Intrinsics& camera, const scene::Pose& motion);

// The same for a picture: each pixel's colour goes where its depth goes, into holes too.
// REQUIRES: image and depth have the camera's size.
WarpedImage WarpImage(const scene::Image& image, const scene::DepthMap& depth, const scene::Intrinsics& camera,
                      const scene::Pose& motion);

}  // namespace wharf::track
