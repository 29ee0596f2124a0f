// Decodes answers to prompts, token by token. See README.md.
#include <algorithm>
#include <chrono>
#include <cstdio>

#include "examples/arguments.h"
#include "examples/cuda_decode/decoder.h"
#include "examples/cuda_decode/reference.h"

namespace decode {
namespace {

struct Options {
  int inferences = 10, ready_after = -1;
  std::string json;
  bool check = false, profile = false;
};

constexpr char kUsage[] =
    "usage: cuda_decode [--inferences N] [--json FILE] [--check] [--profile] [--ready-after N]\n"
    "  --inferences  how many prompts to answer (default 10; 0: load only); each is another one\n"
    "  --json        write the latency, the steps and the calls of every inference\n"
    "  --check       judge every decision and every proposal with this program's own CPU code\n"
    "  --profile     print what each inference asked of CUDA\n"
    "  --ready-after after N inferences print \"ready\" and wait for a line on standard input, to be measured from "
    "there\n";

Options ParseOptions(int argc, char** argv) {
  Options options;
  for (Arguments words(argc, argv, kUsage); words.Next();) {
    if (words.Is("--inferences"))
      options.inferences = words.Number(0, 1000000);
    else if (words.Is("--ready-after"))
      options.ready_after = words.Number(0, 1000000);
    else if (words.Is("--json"))
      options.json = words.Value();
    else if (words.Is("--check"))
      options.check = true;
    else if (words.Is("--profile"))
      options.profile = true;
    else
      words.Refuse();
  }
  return options;
}

struct Record {
  std::vector<double> latency_ms;
  std::vector<int64_t> steps, calls, proposals;
};

void Print(int number, const Answer& answer, int64_t calls) {
  int chosen[kExperts] = {};
  for (int expert : answer.experts) ++chosen[expert];
  std::printf("inference %d: prompt %d, %d steps, experts %d/%d/%d/%d, %d proposals, %lld calls:", number,
              answer.prompt, answer.Steps(), chosen[0], chosen[1], chosen[2], chosen[3], answer.Proposals(),
              (long long)calls);
  for (size_t i = size_t(answer.prompt); i < answer.tokens.size(); ++i) std::printf(" %d", answer.tokens[i]);
  if (answer.Proposals() > 0) std::printf(" | %.4f", double(answer.proposals[0]));
  std::printf("\n");
}

void PrintProfile(const CallCounts& now, const CallCounts& before) {
  std::printf(
      "  %lld launches, %lld gemms, %lld cudaGetLastError, %lld H2D, %lld D2H, %lld synchronisations\n",
      (long long)(now.launches - before.launches), (long long)(now.gemms - before.gemms),
      (long long)(now.get_last_error - before.get_last_error), (long long)(now.host_to_device - before.host_to_device),
      (long long)(now.device_to_host - before.device_to_host), (long long)(now.synchronise - before.synchronise));
}

template <class T>
void WriteList(std::FILE* file, const char* name, const std::vector<T>& values, const char* end) {
  std::fprintf(file, "  \"%s\": [", name);
  for (size_t i = 0; i < values.size(); ++i) std::fprintf(file, "%s%.4f", i ? ", " : "", double(values[i]));
  std::fprintf(file, "]%s\n", end);
}

void WriteJson(const std::string& path, const Record& record) {
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (!file) throw std::runtime_error(path + ": cannot be written");
  std::fprintf(file, "{\n  \"program\": \"cuda_decode\",\n  \"inferences\": %zu,\n", record.latency_ms.size());
  WriteList(file, "latency_ms", record.latency_ms, ",");
  WriteList(file, "steps", record.steps, ",");
  WriteList(file, "proposals", record.proposals, ",");
  WriteList(file, "calls", record.calls, "");
  std::fprintf(file, "}\n");
  if (std::fclose(file) != 0) throw std::runtime_error(path + ": cannot be written");
}

void PrintLatencies(std::vector<double> latencies_ms) {
  if (latencies_ms.empty()) return;
  const double first = latencies_ms[0];
  std::sort(latencies_ms.begin(), latencies_ms.end());
  std::fprintf(stderr, "%zu inferences: first %.2f ms, median %.2f ms\n", latencies_ms.size(), first,
               latencies_ms[latencies_ms.size() / 2]);
}

int Run(const Options& options) {
  const Model model = BuildModel();
  Decoder decoder(model);
  Record record;
  bool ok = true;
  for (int i = 0; i < options.inferences; ++i) {
    if (i == options.ready_after) WaitToBeMeasured();
    const std::vector<int> prompt = PromptOf(i);
    const CallCounts before = decoder.counts();
    const auto start = std::chrono::steady_clock::now();
    const Answer answer = decoder.Infer(prompt);
    record.latency_ms.push_back(
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
    record.steps.push_back(answer.Steps()), record.proposals.push_back(answer.Proposals());
    record.calls.push_back(decoder.counts().Total() - before.Total());
    Print(i, answer, record.calls.back());
    if (options.profile) PrintProfile(decoder.counts(), before);
    if (!options.check) continue;
    const std::string wrong = Disagreement(model, answer);
    if (!wrong.empty()) std::printf("check: inference %d: %s\n", i, wrong.c_str());
    ok = ok && wrong.empty();
  }
  if (options.check)
    std::printf("check: %d answers %s the CPU's\n", options.inferences, ok ? "agree with" : "DIFFER from");
  PrintLatencies(record.latency_ms);
  if (!options.json.empty()) WriteJson(options.json, record);
  return ok ? 0 : 1;
}

}  // namespace
}  // namespace decode

int main(int argc, char** argv) {
  try {
    return decode::Run(decode::ParseOptions(argc, argv));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "cuda_decode: %s\n", error.what());
    return 2;
  }
}
