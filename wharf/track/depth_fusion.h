// Fusion of two depth maps of one frame by pixel: a server's, warped from some frames ago, which is right about what
// stands still, and a lite network's of now, which sees what moves and what comes into view.
#pragma once

#include "wharf/scene/scene.h"

namespace wharf::track {

// By how much `lite` is to be multiplied so that it is as deep as `server` is, of the same frame: the geometric mean of
// their ratio over the pixels that both know (positive and finite); 1 if there are none.
// REQUIRES: maps of one size. Linear in pixels; any thread.
double DepthScale(const scene::DepthMap& server, const scene::DepthMap& lite);

// `warped`, but where `lite` times `scale` shows something much nearer, that: something has moved there, or come into
// view. Not where it shows something farther, which is the lite network's mistake more often than what was there has
// gone, and costs most if it is (AbsRel counts an error in parts of the true depth). What `warped` does not know (0)
// is taken from `lite`. REQUIRES: maps of one size.
scene::DepthMap FuseDepth(scene::DepthMap warped, const scene::DepthMap& lite, double scale);

}  // namespace wharf::track
