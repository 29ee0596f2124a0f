#include "wharf/split/runtime/slowed_engine.h"

#include <time.h>

#include <utility>
#include <vector>

namespace wharf::split {
namespace {

class ThreadCpuClock final : public Clock {
 public:
  TimePoint Now() const override {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return {std::chrono::seconds(now.tv_sec) + Nanoseconds(now.tv_nsec)};
  }
  void SleepUntil(TimePoint) override {}
};

class SlowedProgram final : public exec::Program {
 public:
  SlowedProgram(std::unique_ptr<exec::Program> program, double factor, Clock& clock, const Clock& work)
      : program_(std::move(program)), factor_(factor), clock_(clock), work_(work) {}

  const graph::Graph& Graph() const override { return program_->Graph(); }
  const graph::RowRules& RowRules() const override { return program_->RowRules(); }
  absl::StatusOr<std::vector<exec::TensorPtr>> Run(std::span<const exec::Part> given,
                                                   std::span<const exec::Rows> wanted) const override {
    const TimePoint start = clock_.Now(), work_start = work_.Now();
    auto made = program_->Run(given, wanted);
    clock_.SleepUntil(start + FromSeconds(Seconds(work_.Now() - work_start) * factor_));
    return made;
  }
  exec::Part Cut(const exec::Part& part, graph::RowRange range) const override { return program_->Cut(part, range); }
  absl::StatusOr<exec::Part> Join(std::span<const exec::Part> parts) const override { return program_->Join(parts); }

 private:
  const std::unique_ptr<exec::Program> program_;
  const double factor_;
  Clock& clock_;
  const Clock& work_;
};

class SlowedEngine final : public exec::Engine {
 public:
  SlowedEngine(std::unique_ptr<exec::Engine> engine, double factor, Clock& clock, const Clock& work)
      : engine_(std::move(engine)), factor_(factor), clock_(clock), work_(work) {}

  absl::StatusOr<exec::TensorPtr> MakeTensor(const graph::TensorType& type,
                                             std::span<const std::byte> bytes) const override {
    return engine_->MakeTensor(type, bytes);
  }
  absl::StatusOr<std::unique_ptr<exec::Program>> Prepare(graph::Graph graph) const override {
    WHARF_ASSIGN_OR_RETURN(auto program, engine_->Prepare(std::move(graph)));
    return std::make_unique<SlowedProgram>(std::move(program), factor_, clock_, work_);
  }
  std::string Caution() const override { return engine_->Caution(); }

 private:
  const std::unique_ptr<exec::Engine> engine_;
  const double factor_;
  Clock& clock_;
  const Clock& work_;
};

}  // namespace

Clock& ThreadCpuTime() {
  static ThreadCpuClock* const clock = new ThreadCpuClock;
  return *clock;
}

std::unique_ptr<exec::Engine> MakeSlowedEngine(std::unique_ptr<exec::Engine> engine, double factor, Clock& clock,
                                               const Clock& work) {
  return std::make_unique<SlowedEngine>(std::move(engine), factor, clock, work);
}

}  // namespace wharf::split
