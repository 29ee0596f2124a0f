// What slices cost, as far as a profile of whole operators tells.
#pragma once

#include "wharf/split/costs/profile.h"

namespace wharf::split {

// The fixed cost of each side: what the smallest operators take that do next to nothing, so that nearly all of it is
// overhead (small outputs, read row for row). The median over the kinds of operators (by name; those with enough
// operators that take time on both sides) of the mean over the quarter of them with the fewest bytes: the mean, because
// one operator's time is near the log's resolution; the median, because some kinds compute after all (products with a
// matrix) and others are noise. SliceCost's default where no kind has enough operators. O(n log n).
SliceCost SliceCostOf(const Profile& profile);

}  // namespace wharf::split
