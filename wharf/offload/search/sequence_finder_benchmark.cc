// What the search costs a call: ours and the two published ones on the same logs, side by side.
//
//   search_sequence_finder_benchmark
//
// The argument is the length of the log; `call` the processor time to record all of it, by calls. The programs:
//   steady   loads, then repeats an inference of two exchanges; it is found and then followed
//   loops    the same with a loop in it that has copies of its own
//   varying  the same as steady, but one argument is another in each inference: nothing is ever found, all of the log
//   is searched
// The published algorithms read the whole log again at each output copy while nothing is found: on the longest logs of
// `varying` they would take minutes to hours, so these are left out.
#include <benchmark/benchmark.h>

#include <memory>
#include <string>

#include "wharf/offload/search/baselines/baselines.h"
#include "wharf/offload/search/log_generator.h"
#include "wharf/offload/search/sequence_finder.h"

namespace wharf::offload {
namespace {

enum class Program { kSteady, kLoops, kVarying };

// A log of `calls` records: the start of a generated program, then its last inference over and over.
class LongLog {
 public:
  LongLog(Program program, uint64_t calls) : calls_(calls), varies_(program == Program::kVarying) {
    LogFeatures features;
    features.several_exchanges = features.inner_outputs = true;
    features.copy_loops = program == Program::kLoops;
    features.kernels = 80;
    features.inferences = 1;
    log_ = GenerateLog(features, 7);
  }

  template <typename Use>
  void ForEach(const Use& use) const {
    const GeneratedLog::Range last = log_.inferences.back();
    const uint64_t length = last.end - last.begin;
    for (uint64_t i = 0; i < calls_; ++i) {
      const uint64_t position = i < last.end ? i : last.begin + (i - last.begin) % length;
      OperatorRecord record = log_.operators[log_.order[position]].Record();
      if (varies_ && log_.order[position] == log_.order[last.begin + 2]) record.identity += i;
      use(record);
    }
  }

 private:
  uint64_t calls_;
  bool varies_;
  GeneratedLog log_;
};

void Search(benchmark::State& state, LaneSearchFactory algorithm, Program program) {
  const auto calls = static_cast<uint64_t>(state.range(0));
  const LongLog log(program, calls);
  uint64_t ends = 0;
  for (auto unused : state) {
    static_cast<void>(unused);
    const auto finder = MakeSequenceFinder({}, algorithm);
    ends = 0;
    log.ForEach([&](const OperatorRecord& record) {
      const SearchEvent event = finder->Add(record);
      ends += event == SearchEvent::kFound || event == SearchEvent::kInferenceEnd ? 1 : 0;
    });
  }
  using benchmark::Counter;
  state.counters["call"] = Counter(static_cast<double>(calls), Counter::kIsIterationInvariantRate | Counter::kInvert);
  state.counters["ends"] = static_cast<double>(ends);
}

void Register() {
  struct Named {
    const char* name;
    LaneSearchFactory algorithm;
    int64_t longest_varying;
  };
  const Named algorithms[] = {{"incremental", MakeIncrementalSearch, 1'000'000},
                              {"published", MakePublishedSearch, 10'000},
                              {"data_dependency", MakeDataDependencySearch, 100'000}};
  const std::pair<const char*, Program> programs[] = {
      {"steady", Program::kSteady}, {"loops", Program::kLoops}, {"varying", Program::kVarying}};
  for (const auto& [program_name, program] : programs) {
    for (int64_t calls = 1000; calls <= 1'000'000; calls *= 10) {
      for (const Named& a : algorithms) {
        if (program == Program::kVarying && calls > a.longest_varying) continue;
        const std::string name = std::string(program_name) + "/" + a.name;
        benchmark::RegisterBenchmark(name.c_str(), Search, a.algorithm, program)
            ->Arg(calls)
            ->Unit(benchmark::kMillisecond);
      }
    }
  }
}

}  // namespace
}  // namespace wharf::offload

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  wharf::offload::Register();
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
