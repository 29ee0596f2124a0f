#include "wharf/split/profiler/profiler.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "wharf/base/log.h"
#include "wharf/split/profiler/noise.h"
#include "wharf/split/row_graph.h"

namespace wharf::split {
namespace {

constexpr size_t kRowCounts = 5;  // at most, of MeasuredRows

// Of this process's threads, since it was made.
class ProcessorTime {
 public:
  // The part of the time in which they wanted a processor that they waited for one; 0 where the kernel does not say.
  double Waited() const {
    const Sums now = Read();
    const double ran = now.ran - start_.ran, waited = now.waited - start_.waited;
    return waited > 0 ? waited / (ran + waited) : 0;
  }

 private:
  struct Sums {
    double ran = 0, waited = 0;  // nanoseconds
  };
  static Sums Read() {
    Sums sums;
    std::error_code error;
    for (std::filesystem::directory_iterator it("/proc/self/task", error), end; !error && it != end;
         it.increment(error)) {
      double ran = 0, waited = 0;
      if (std::ifstream(it->path() / "schedstat") >> ran >> waited) sums = {sums.ran + ran, sums.waited + waited};
    }
    return sums;
  }
  const Sums start_ = Read();
};

class Measuring {
 public:
  Measuring(const exec::Program& program, const ModelOperators& operators, const Clock& clock,
            const ProfilerOptions& options)
      : program_(program),
        operators_(operators),
        clock_(clock),
        options_(options),
        rows_(Untimed(operators)),
        held_(program.Graph().values.size()),
        times_(operators.operators.size()) {}

  absl::StatusOr<MachineProfile> Run(const exec::TensorPtr& input) {
    held_[program_.Graph().inputs[0]] = input;
    WHARF_RETURN_IF_ERROR(RunRound(input));
    whole_.clear();
    for (auto& of_counts : times_) of_counts = {};
    WHARF_RETURN_IF_ERROR(RunRounds(input, options_.rounds));
    if (NoiseNow() > kMuchNoise) {  // others only ever make times longer
      WHARF_RETURN_IF_ERROR(RunRounds(input, 2 * options_.rounds));
      quantile_ = kLowerQuartile;
    }
    MachineProfile profile;
    profile.noise = NoiseNow();
    profile.whole_ms = Quantile(whole_, quantile_);
    for (int op = 0; op < rows_.Size(); ++op) profile.operators.push_back(Summary(op));
    return profile;
  }

 private:
  absl::Status RunRounds(const exec::TensorPtr& input, int rounds) {
    const TimePoint start = clock_.Now();
    for (int round = 0; round < rounds; ++round) {
      if (round > 0 && options_.enough > Nanoseconds{0} && clock_.Now() - start >= options_.enough) break;
      WHARF_RETURN_IF_ERROR(RunRound(input));
    }
    return absl::OkStatus();
  }

  // How far the times taken are above the shortest, of all operators with all rows.
  double NoiseNow() const {
    Noise noise;
    for (const auto& of_counts : times_) noise.Add(of_counts[0], quantile_);
    return noise.Share();
  }

  static Profile Untimed(const ModelOperators& operators) {
    Profile profile;
    for (const graph::Operator& op : operators.operators) profile.operators.push_back({op, {}});
    return profile;
  }

  template <typename Call>
  absl::StatusOr<double> Time(const Call& call) const {
    if (options_.go_on) WHARF_RETURN_IF_ERROR(options_.go_on());
    const TimePoint start = clock_.Now();
    WHARF_RETURN_IF_ERROR(call());
    return Milliseconds(clock_.Now() - start);
  }

  // The whole; every operator with all rows, one after the other, as in an inference; then with half of them, and so
  // on: what an operator needs has then left the caches as far as it does in an inference, and what else the machine
  // does meets all row counts.
  absl::Status RunRound(const exec::TensorPtr& input) {
    WHARF_ASSIGN_OR_RETURN(const double ms, Time([&] { return exec::RunWhole(program_, {{input}}).status(); }));
    whole_.push_back(ms);
    for (size_t which = 0; which < kRowCounts; ++which) {
      for (int op = 1; op < rows_.Output(); ++op) {
        if (which < MeasuredRows(rows_.Rows(op)).size()) WHARF_RETURN_IF_ERROR(RunOperator(op, which));
      }
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

  absl::Status RunOperator(int op, size_t which) {
    std::vector<exec::Part> given;
    for (const auto& edge : rows_.Inputs(op)) {
      for (const exec::Rows& rows : RowsOf(edge.from, {0, edge.rows})) given.push_back({rows, held_[rows.value]});
    }
    const int count = MeasuredRows(rows_.Rows(op))[which], first = (rows_.Rows(op) - count) / 2;
    const std::vector<exec::Rows> wanted = RowsOf(op, {first, first + count});
    std::vector<exec::TensorPtr> made;
    WHARF_ASSIGN_OR_RETURN(const double ms, Time([&]() -> absl::Status {
                             WHARF_ASSIGN_OR_RETURN(made, program_.Run(given, wanted));
                             return absl::OkStatus();
                           }));
    times_[op][which].push_back(ms);
    for (size_t i = 0; i < wanted.size() && which == 0; ++i) held_[wanted[i].value] = made[i];
    return absl::OkStatus();
  }

  MeasuredOperator Summary(int op) const {
    MeasuredOperator measured{operators_.operators[op].name, rows_.Rows(op), 0, {}, 0};
    if (op == 0 || op == rows_.Output()) return measured;
    std::vector<RowTime> medians;
    for (const int count : MeasuredRows(measured.rows)) {
      medians.push_back({count, Quantile(times_[op][medians.size()], quantile_)});
    }
    measured.full_ms = medians.front().ms;
    measured.slice = FitSlices(medians);
    for (const RowTime& one : medians) {
      if (one.rows == measured.rows || one.ms <= 0) continue;
      const double fitted = std::min(measured.full_ms, measured.slice.fixed_ms + measured.slice.row_ms * one.rows);
      measured.fit_error = std::max(measured.fit_error, std::abs(fitted / one.ms - 1));
    }
    return measured;
  }

  const exec::Program& program_;
  const ModelOperators& operators_;
  const Clock& clock_;
  const ProfilerOptions options_;
  const RowGraph rows_;
  double quantile_ = kMedian;                                       // of the times seen, which is taken
  std::vector<exec::TensorPtr> held_;                               // of each value that operators read, all rows
  std::vector<double> whole_;                                       // ms, by round
  std::vector<std::array<std::vector<double>, kRowCounts>> times_;  // ms, by operator, row count and round
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

absl::StatusOr<MachineProfile> FindOrMeasure(const Subject& subject, const Machine& machine, const ProfileCache& cache,
                                             const Clock& clock, const ProfilerOptions& options) {
  constexpr int64_t kDoubtfulSeconds = 60;  // or everybody who comes to a busy machine would make it busier
  auto found = cache.Find(subject.hash, machine);
  const int64_t now = absl::ToUnixSeconds(absl::Now());
  if (found && found->Doubtful() && std::abs(now - found->measured_at) > kDoubtfulSeconds) found.reset();
  if (found && !options.again && CheckFits(subject.operators, *found, "cache").ok()) {
    found->model = subject.name;  // under whatever name it was measured
    return *std::move(found);
  }
  const graph::Graph& graph = subject.program.Graph();
  const ProcessorTime processor;
  WHARF_ASSIGN_OR_RETURN(const exec::TensorPtr input, SampleInput(subject.engine, graph.Type(graph.inputs[0])));
  WHARF_ASSIGN_OR_RETURN(MachineProfile profile,
                         MeasureModel(subject.program, subject.operators, input, clock, options));
  if (profile.Doubtful() && options.cpu_clock != nullptr) {
    WHARF_ASSIGN_OR_RETURN(profile,
                           MeasureModel(subject.program, subject.operators, input, *options.cpu_clock, options));
  }
  profile.measured_at = now;
  profile.waited = processor.Waited();
  profile.model = subject.name;
  profile.model_hash = subject.hash;
  profile.machine = machine;
  if (const absl::Status kept = cache.Put(profile); !kept.ok()) {
    Log(LogLevel::kWarning, "a profile is not kept", {{"why", std::string(Message(kept))}});
  }
  return profile;
}

}  // namespace wharf::split
