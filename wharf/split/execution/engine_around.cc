#include "wharf/split/execution/engine_around.h"

#include <utility>

namespace wharf::split {
namespace {

class ProgramInside final : public exec::Program {
 public:
  ProgramInside(std::unique_ptr<exec::Program> program, AroundRun around)
      : program_(std::move(program)), around_(std::move(around)) {}

  const graph::Graph& Graph() const override { return program_->Graph(); }
  const graph::RowRules& RowRules() const override { return program_->RowRules(); }
  RunResult Run(std::span<const exec::Part> given, std::span<const exec::Rows> wanted) const override {
    return around_([&] { return program_->Run(given, wanted); });
  }
  exec::Part Cut(const exec::Part& part, graph::RowRange range) const override { return program_->Cut(part, range); }
  absl::StatusOr<exec::Part> Join(std::span<const exec::Part> parts) const override { return program_->Join(parts); }

 private:
  const std::unique_ptr<exec::Program> program_;
  const AroundRun around_;
};

class EngineAround final : public exec::Engine {
 public:
  EngineAround(std::unique_ptr<exec::Engine> engine, AroundRun around)
      : engine_(std::move(engine)), around_(std::move(around)) {}

  absl::StatusOr<exec::TensorPtr> MakeTensor(const graph::TensorType& type,
                                             std::span<const std::byte> bytes) const override {
    return engine_->MakeTensor(type, bytes);
  }
  absl::StatusOr<std::unique_ptr<exec::Program>> Prepare(graph::Graph graph) const override {
    WHARF_ASSIGN_OR_RETURN(auto program, engine_->Prepare(std::move(graph)));
    return std::make_unique<ProgramInside>(std::move(program), around_);
  }
  std::string Name() const override { return engine_->Name(); }
  std::string Caution() const override { return engine_->Caution(); }

 private:
  const std::unique_ptr<exec::Engine> engine_;
  const AroundRun around_;
};

}  // namespace

std::unique_ptr<exec::Engine> MakeEngineAround(std::unique_ptr<exec::Engine> engine, AroundRun around) {
  return std::make_unique<EngineAround>(std::move(engine), std::move(around));
}

}  // namespace wharf::split
