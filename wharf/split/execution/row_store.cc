#include "wharf/split/execution/row_store.h"

#include <algorithm>
#include <utility>

namespace wharf::split {

using graph::RowRange;

const exec::Part* RowStore::From(int value, int row) const {
  const exec::Part* found = nullptr;
  for (const exec::Part& part : parts_[value]) {
    const RowRange range = part.rows.range;
    if (range.lo <= row && row < range.hi && (found == nullptr || found->rows.range.hi < range.hi)) found = &part;
  }
  return found;
}

bool RowStore::Covers(const exec::Rows& rows) const {
  for (int row = rows.range.lo; row < rows.range.hi;) {
    const exec::Part* part = From(rows.value, row);
    if (part == nullptr) return false;
    row = part->rows.range.hi;
  }
  return true;
}

absl::StatusOr<exec::Part> RowStore::Get(const exec::Program& program, const exec::Rows& rows) {
  std::vector<exec::Part>& parts = parts_[rows.value];
  for (const exec::Part& part : parts) {
    if (part.rows.range.Contains(rows.range)) return part;
  }
  std::vector<exec::Part> pieces;
  for (int row = rows.range.lo; row < rows.range.hi;) {
    const exec::Part* part = From(rows.value, row);
    if (part == nullptr) {
      return Internal("row {} of \"{}\" is not there", row, program.Graph().values[rows.value].name);
    }
    const int end = std::min(part->rows.range.hi, rows.range.hi);
    pieces.push_back(program.Cut(*part, {row, end}));
    row = end;
  }
  WHARF_ASSIGN_OR_RETURN(exec::Part joined, program.Join(pieces));
  std::erase_if(parts, [&](const exec::Part& part) { return joined.rows.range.Contains(part.rows.range); });
  parts.push_back(joined);
  return joined;
}

}  // namespace wharf::split
