#include "wharf/split/profiler.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "wharf/split/row_graph.h"

namespace wharf::split {
namespace {

double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

class Measuring {
 public:
  Measuring(const exec::Program& program, const ModelOperators& operators, const Clock& clock,
            const ProfilerOptions& options)
      : program_(program),
        operators_(operators),
        clock_(clock),
        options_(options),
        rows_(Untimed(operators)),
        held_(program.Graph().values.size()) {}

  absl::StatusOr<MachineProfile> Run(const exec::TensorPtr& input) {
    MachineProfile profile;
    std::vector<double> whole;
    WHARF_RETURN_IF_ERROR(RunWhole(input, whole));
    held_[program_.Graph().inputs[0]] = input;
    for (int op = 0; op < rows_.Size(); ++op) {
      const graph::Operator& described = operators_.operators[op];
      profile.operators.push_back({described.name, described.rows, 0, {}, 0});
      if (op == 0 || op == rows_.Output()) continue;
      WHARF_RETURN_IF_ERROR(Measure(op, profile.operators.back()));
      Release(op);
    }
    WHARF_RETURN_IF_ERROR(RunWhole(input, whole));
    profile.whole_ms = Median(std::move(whole));
    return profile;
  }

 private:
  static Profile Untimed(const ModelOperators& operators) {
    Profile profile;
    for (const graph::Operator& op : operators.operators) profile.operators.push_back({op, {}});
    return profile;
  }

  template <typename Call>
  absl::StatusOr<double> Time(const Call& call) const {
    const TimePoint start = clock_.Now();
    WHARF_RETURN_IF_ERROR(call());
    return Milliseconds(clock_.Now() - start);
  }

  absl::Status RunWhole(const exec::TensorPtr& input, std::vector<double>& times) const {
    for (int round = 0; round <= options_.rounds; ++round) {
      WHARF_ASSIGN_OR_RETURN(const double ms, Time([&] { return exec::RunWhole(program_, {{input}}).status(); }));
      if (round > 0) times.push_back(ms);
    }
    return absl::OkStatus();
  }

  std::vector<exec::Rows> RowsOf(int op, RowRange range) const {
    std::vector<exec::Rows> rows;
    for (const int value : operators_.values[op]) {
      rows.push_back(
          {value, RowsOfValue(program_.Graph(), program_.RowRules(), operators_.operators[op], value, range)});
    }
    return rows;
  }

  // Row counts take turns, so that what else the machine does meets all of them.
  absl::Status Measure(int op, MeasuredOperator& measured) {
    std::vector<exec::Part> given;
    for (const auto& edge : rows_.Inputs(op)) {
      for (const exec::Rows& rows : RowsOf(edge.from, {0, edge.rows})) given.push_back({rows, held_[rows.value]});
    }
    const std::vector<int> counts = MeasuredRows(measured.rows);
    std::vector<std::vector<double>> times(counts.size());
    for (int round = 0; round <= options_.rounds; ++round) {
      for (size_t i = 0; i < counts.size(); ++i) {
        const int first = (measured.rows - counts[i]) / 2;
        const std::vector<exec::Rows> wanted = RowsOf(op, {first, first + counts[i]});
        std::vector<exec::TensorPtr> made;
        WHARF_ASSIGN_OR_RETURN(const double ms, Time([&]() -> absl::Status {
                                 WHARF_ASSIGN_OR_RETURN(made, program_.Run(given, wanted));
                                 return absl::OkStatus();
                               }));
        if (round > 0) times[i].push_back(ms);
        if (i > 0) continue;
        for (size_t k = 0; k < wanted.size(); ++k) held_[wanted[k].value] = made[k];
      }
    }
    std::vector<RowTime> medians;
    for (size_t i = 0; i < counts.size(); ++i) medians.push_back({counts[i], Median(std::move(times[i]))});
    measured.full_ms = medians.front().ms;
    measured.slice = FitSlices(medians);
    for (const RowTime& one : medians) {
      if (one.rows == measured.rows || one.ms <= 0) continue;
      const double fitted = std::min(measured.full_ms, measured.slice.fixed_ms + measured.slice.row_ms * one.rows);
      measured.fit_error = std::max(measured.fit_error, std::abs(fitted / one.ms - 1));
    }
    return absl::OkStatus();
  }

  // Forgets what nobody after `op` reads.
  void Release(int op) {
    const auto release = [&](int read) {
      const auto users = rows_.Users(read);
      if (!users.empty() && users.back() > op) return;
      for (const int value : operators_.values[read]) held_[value] = nullptr;
    };
    for (const auto& edge : rows_.Inputs(op)) release(edge.from);
    release(op);
  }

  const exec::Program& program_;
  const ModelOperators& operators_;
  const Clock& clock_;
  const ProfilerOptions options_;
  const RowGraph rows_;
  std::vector<exec::TensorPtr> held_;  // of each value, all rows
};

}  // namespace

std::vector<int> MeasuredRows(int rows) {
  std::vector<int> counts;
  for (const int count : {rows, rows / 2, rows / 4, rows / 8, 1}) {
    if (count > 0 && (counts.empty() || count < counts.back())) counts.push_back(count);
  }
  return counts;
}

// With u = 1 / ms and v = rows / ms, fixed * u + per_row * v is to be 1.
SliceTime FitSlices(const std::vector<RowTime>& times) {
  constexpr double kShortest = 1e-6;  // ms: no clock resolves that
  double uu = 0, uv = 0, vv = 0, u1 = 0, v1 = 0;
  for (const RowTime& one : times) {
    const double u = 1 / std::max(one.ms, kShortest), v = one.rows * u;
    uu += u * u, uv += u * v, vv += v * v, u1 += u, v1 += v;
  }
  const double determinant = uu * vv - uv * uv;
  if (times.size() < 2 || determinant <= 0) return {u1 / uu, 0};
  const double fixed = (u1 * vv - v1 * uv) / determinant, per_row = (v1 * uu - u1 * uv) / determinant;
  if (fixed < 0) return {0, v1 / vv};
  if (per_row < 0) return {u1 / uu, 0};
  return {fixed, per_row};
}

absl::StatusOr<exec::TensorPtr> SampleInput(const exec::Engine& engine, const graph::TensorType& type) {
  WHARF_RETURN_IF_ERROR(graph::Validate(type));
  std::mt19937 random(1);
  std::vector<std::byte> bytes(type.Bytes());
  if (type.element == graph::ElementType::kFloat) {
    std::uniform_real_distribution<float> brightness(0, 1);
    for (size_t at = 0; at < bytes.size(); at += sizeof(float)) {
      const float value = brightness(random);
      std::memcpy(&bytes[at], &value, sizeof value);
    }
  } else if (type.element == graph::ElementType::kUint8) {
    for (std::byte& value : bytes) value = static_cast<std::byte>(random() & 0xff);
  }
  return engine.MakeTensor(type, bytes);
}

absl::StatusOr<MachineProfile> MeasureModel(const exec::Program& program, const ModelOperators& operators,
                                            const exec::TensorPtr& input, const Clock& clock,
                                            const ProfilerOptions& options) {
  return Measuring(program, operators, clock, options).Run(input);
}

}  // namespace wharf::split
