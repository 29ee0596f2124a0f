// CodingCosts: what encoding rows costs and saves, and a model's profile as it is when its rows travel encoded: the
// planners, which know nothing of encodings, then weigh them.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "wharf/split/costs/encoding.h"
#include "wharf/split/costs/profile.h"

namespace wharf::split {

struct CodingCost {
  std::vector<double> size;  // of each operator's rows, encoded bytes over plain ones
  double ms_per_byte = 0;    // of plain bytes; encoding and decoding together
};
using CodingCosts = std::map<RowCoding, CodingCost>;

// Bytes and coding times of every operator as `encoding` makes them. A coding that `costs` does not have costs nothing
// and changes nothing: kPlain. REQUIRES: `costs` are of as many operators.
Profile Encoded(Profile profile, const Encoding& encoding, const CodingCosts& costs);

// Of a model that was measured elsewhere. REQUIRES: one of NamedEncodings().
Profile InNamedEncoding(const Profile& profile, std::string_view name);

}  // namespace wharf::split
