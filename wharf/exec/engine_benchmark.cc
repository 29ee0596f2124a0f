// One inference of whole networks by LibTorch as `exec` drives it, on one thread: the small one kept as test data, and
// all in the directory that WHARF_MODELS names. `tools/export_models.py --time NAME` times the same in PyTorch eager.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "wharf/exec/torch_engine.h"
#include "wharf/graph/onnx_import.h"

namespace wharf::exec {
namespace {

namespace fs = std::filesystem;

void Inference(benchmark::State& state, const std::string& path) {
  const auto engine = MakeTorchEngine({.threads = 1});
  auto graph = graph::LoadOnnx(path, {});
  if (!graph.ok()) return state.SkipWithError(ToString(graph.status()).c_str());
  const graph::TensorType type = graph->Type(graph->inputs[0]);
  const auto program = engine->Prepare(*std::move(graph));
  if (!program.ok()) return state.SkipWithError(ToString(program.status()).c_str());
  const auto input = engine->MakeTensor(type, std::vector<std::byte>(type.Bytes()));
  for (auto _ : state) {
    const auto results = RunWhole(**program, {{*input}});
    if (!results.ok()) return state.SkipWithError(ToString(results.status()).c_str());
    benchmark::DoNotOptimize(results);
  }
}

void Register(const fs::path& model) {
  benchmark::RegisterBenchmark(model.filename().c_str(), Inference, (model / "model.onnx").string())
      ->Unit(benchmark::kMillisecond);
}

}  // namespace
}  // namespace wharf::exec

int main(int argc, char** argv) {
  wharf::exec::Register(WHARF_TESTDATA "/tiny");
  if (const char* more = std::getenv("WHARF_MODELS")) {
    for (const auto& entry : std::filesystem::directory_iterator(more)) wharf::exec::Register(entry.path());
  }
  if (const std::string caution = wharf::exec::MakeTorchEngine({})->Caution(); !caution.empty()) {
    std::fprintf(stderr, "%s\n", caution.c_str());
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
