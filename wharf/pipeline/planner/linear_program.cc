#include "wharf/pipeline/planner/linear_program.h"

#include <coin/Cbc_C_Interface.h>
#include <coin/Clp_C_Interface.h>

#include <limits>
#include <memory>

namespace wharf::pipeline {
namespace {

constexpr int kClpOptimal = 0, kClpInfeasible = 1;

}  // namespace

int LinearProgram::AddRow(double least, double most) {
  least_.push_back(least);
  most_.push_back(most);
  return static_cast<int>(least_.size()) - 1;
}

int LinearProgram::AddColumn(double cost, std::span<const Entry> entries, bool integer) {
  const int column = static_cast<int>(cost_.size());
  cost_.push_back(cost);
  for (const Entry& entry : entries) {
    rows_.push_back(entry.row);
    coefficients_.push_back(entry.coefficient);
  }
  begins_.push_back(static_cast<int>(rows_.size()));
  if (integer) integers_.push_back(column);
  return column;
}

absl::StatusOr<LinearProgram::Relaxed> LinearProgram::SolveRelaxed() const {
  const std::unique_ptr<Clp_Simplex, decltype(&Clp_deleteModel)> model(Clp_newModel(), &Clp_deleteModel);
  Clp_setLogLevel(model.get(), 0);
  const int columns = static_cast<int>(cost_.size()), rows = static_cast<int>(least_.size());
  Clp_loadProblem(model.get(), columns, rows, begins_.data(), rows_.data(), coefficients_.data(), nullptr, nullptr,
                  cost_.data(), least_.data(), most_.data());
  Clp_primal(model.get(), 0);
  if (Clp_status(model.get()) == kClpInfeasible) return FailedPrecondition("nothing satisfies all constraints");
  if (const int status = Clp_status(model.get()); status != kClpOptimal) return Internal("CLP ended with {}", status);
  const double* values = Clp_primalColumnSolution(model.get());
  const double* prices = Clp_dualRowSolution(model.get());
  return Relaxed{{values, values + columns}, {prices, prices + rows}};
}

absl::StatusOr<std::vector<double>> LinearProgram::SolveInteger(double gap, double seconds) const {
  const std::unique_ptr<Cbc_Model, decltype(&Cbc_deleteModel)> model(Cbc_newModel(), &Cbc_deleteModel);
  Cbc_setLogLevel(model.get(), 0);
  const int columns = static_cast<int>(cost_.size()), rows = static_cast<int>(least_.size());
  Cbc_loadProblem(model.get(), columns, rows, begins_.data(), rows_.data(), coefficients_.data(), nullptr, nullptr,
                  cost_.data(), least_.data(), most_.data());
  for (const int column : integers_) Cbc_setInteger(model.get(), column);
  Cbc_setAllowableFractionGap(model.get(), gap);
  Cbc_setMaximumSeconds(model.get(), seconds);
  Cbc_solve(model.get());
  const double* values = Cbc_bestSolution(model.get());
  if (values == nullptr) return FailedPrecondition("no solution was found");
  return std::vector<double>(values, values + columns);
}

}  // namespace wharf::pipeline
