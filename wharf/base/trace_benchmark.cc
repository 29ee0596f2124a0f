// What a span costs with tracing off (beside an empty loop) and on.
#include <benchmark/benchmark.h>

#include "wharf/base/trace.h"

namespace wharf {
namespace {

void BM_Nothing(benchmark::State& state) {
  for (auto _ : state) benchmark::ClobberMemory();
}
BENCHMARK(BM_Nothing);

void BM_SpanOff(benchmark::State& state) {
  for (auto _ : state) {
    TraceSpan span("call", "bench");
    span.Add("bytes", 1024);
    benchmark::ClobberMemory();
  }
}
BENCHMARK(BM_SpanOff);

void BM_SpanOn(benchmark::State& state) {
  Trace trace("/dev/null");
  for (auto _ : state) {
    TraceSpan span("call", "bench", &trace);
    span.Add("bytes", 1024);
    benchmark::ClobberMemory();
  }
}
BENCHMARK(BM_SpanOn)->Iterations(200'000);  // below the limit: nothing is dropped

}  // namespace
}  // namespace wharf

BENCHMARK_MAIN();
