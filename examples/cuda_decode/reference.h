// The decoder on the CPU, as plain loops, written independently of the kernels: what --check compares with.
#pragma once

#include <string>

#include "examples/cuda_decode/model.h"

namespace decode {

// Follows the answer's own tokens and experts and judges every one: an argmax is right if no other value is larger by
// more than a tolerance. So one rounding that tips a close decision does not make all that follows look wrong.
// Empty if all is right, else what is wrong first.
std::string Disagreement(const Model& model, const Answer& answer);

}  // namespace decode
