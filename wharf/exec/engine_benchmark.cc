// One inference of whole networks by LibTorch as `exec` drives it, on one thread: the small one kept as test data, and
// all in the directory that WHARF_MODELS names. `tools/export_models.py --time NAME` times the same in PyTorch eager.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <random>
#include <vector>

#include "wharf/exec/torch_engine.h"
#include "wharf/graph/onnx/import.h"

namespace wharf::exec {
namespace {

namespace fs = std::filesystem;

// Floats from 0 to 1; zeros of other types.
std::vector<std::byte> SomeInput(const graph::TensorType& type) {
  std::vector<std::byte> bytes(type.Bytes());
  if (type.element != graph::ElementType::kFloat) return bytes;
  std::minstd_rand random;
  for (size_t i = 0; i < bytes.size(); i += sizeof(float)) {
    const float value = std::uniform_real_distribution<float>()(random);
    std::memcpy(bytes.data() + i, &value, sizeof(value));
  }
  return bytes;
}

void Inference(benchmark::State& state, const std::string& path) {
  const auto engine = MakeTorchEngine({.threads = 1});
  auto graph = graph::LoadOnnx(path, {});
  if (!graph.ok()) return state.SkipWithError(ToString(graph.status()).c_str());
  const graph::TensorType type = graph->Type(graph->inputs[0]);
  const auto program = engine->Prepare(*std::move(graph));
  if (!program.ok()) return state.SkipWithError(ToString(program.status()).c_str());
  const auto input = engine->MakeTensor(type, SomeInput(type));
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
