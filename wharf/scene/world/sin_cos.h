// Sine and cosine that are the same on every machine: the standard library's are not, to the last bit.
#pragma once

namespace wharf::scene {

struct SineCosine {
  double sine, cosine;
};
// Of an angle in radians below a million, to 1e-10; the same bits wherever double is IEEE 754's.
SineCosine SinCos(double angle);

}  // namespace wharf::scene
