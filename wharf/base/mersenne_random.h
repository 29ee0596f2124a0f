// The draws of random.h from the Mersenne Twister, for the figures that were made with it. New code takes Random.
#pragma once

#include <random>

#include "wharf/base/random.h"

namespace wharf {

using MersenneRandom = BasicRandom<std::mt19937_64>;

}  // namespace wharf
