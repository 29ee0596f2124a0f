// Bands: layouts that part the first operators of a model, so that sending and computing of one inference overlap.
#pragma once

#include <vector>

#include "wharf/split/layout.h"

namespace wharf::split {

// Where the bands' ends are set; all other operators' follow by which rows read which, exactly, so that no row is
// computed twice.
enum class Anchor {
  kInput,     // at the model's input: a band is what can be computed of each operator from the rows up to there
  kFrontier,  // at the parted operators whose outputs are read behind: a band is what their rows up to there need
};

struct Banding {
  int until = 0;             // operators before it are computed band by band, those from it on whole
  std::vector<double> ends;  // of each band but the last, as a share of the rows: rising, within [0, 1]
  Anchor anchor = Anchor::kInput;
};

// All of one band before the next. Bands of no rows vanish; an operator of which no row can be had early is whole in
// the last band. REQUIRES: 0 < until < plain.Size(), fewer than kMaxBands ends.
// O((operators + edges) * bands * log(rows)).
Layout InBands(const RowGraph& plain, const Banding& banding);

}  // namespace wharf::split
