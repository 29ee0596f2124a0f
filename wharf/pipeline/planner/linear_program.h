// LinearProgram: least cost under linear constraints, solved by COIN-OR's CLP (relaxed) and CBC (integer). Of this
// room's own files. What comes back is checked by those who ask: solvers have been wrong.
#pragma once

#include <limits>
#include <span>
#include <vector>

#include "wharf/base/status.h"

namespace wharf::pipeline {

// No limit, where a row may have none.
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

// minimise Σ cost · column  where least <= Σ coefficient · column <= most of every row, and columns are not negative.
class LinearProgram {
 public:
  struct Entry {
    int row = 0;
    double coefficient = 0;
  };
  struct Relaxed {
    std::vector<double> columns;
    std::vector<double> row_prices;  // what the cost grows by for one more of the row's limit
  };

  // The row's or the column's number.
  int AddRow(double least, double most);
  int AddColumn(double cost, std::span<const Entry> entries, bool integer);

  // As if no column were integer. kFailedPrecondition: nothing satisfies all rows. kInternal: the solver gave up.
  absl::StatusOr<Relaxed> SolveRelaxed() const;
  // Columns at most `gap` (a share) from the best, or the best found in `seconds`. kFailedPrecondition: nothing found.
  absl::StatusOr<std::vector<double>> SolveInteger(double gap, double seconds) const;

 private:
  std::vector<double> least_, most_, cost_, coefficients_;
  std::vector<int> begins_ = {0}, rows_;
  std::vector<int> integers_;
};

}  // namespace wharf::pipeline
