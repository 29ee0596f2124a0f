#include "wharf/exec/torch_engine.h"

#include <c10/util/Exception.h>
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>

#include "wharf/exec/testing.h"
#include "wharf/exec/torch_device.h"

namespace wharf::exec {
namespace {

TEST(TorchEngine, UsesAsManyThreadsAsItIsTold) {
  for (const int threads : {2, 1}) {
    const auto engine = MakeTorchEngine({.threads = threads});
    EXPECT_EQ(TorchThreads(), threads);
    using GetThreads = int (*)();
    const auto of_products = reinterpret_cast<GetThreads>(dlsym(RTLD_DEFAULT, "openblas_get_num_threads"));
    if (of_products == nullptr) GTEST_SKIP() << "matrix products are not OpenBLAS's";
    EXPECT_EQ(of_products(), threads);
  }
}

TEST(TorchEngine, KnowsItsVersion) { EXPECT_EQ(TorchVersion().find_first_not_of("0123456789."), std::string::npos); }

TEST(TorchDevice, IsNamedAsUsersNameIt) {
  EXPECT_EQ(FindTorchDevice("cpu").value(), "cpu");
  EXPECT_EQ(MakeTorchEngine({.threads = 1})->Name(), "LibTorch " + TorchVersion());
  for (const char* wrong :
       {"", "gpu", "CUDA", "cuda:", "cuda:-1", "cuda:one", "cuda:1x", "cuda1", "cuda:99999999999"}) {
    EXPECT_EQ(FindTorchDevice(wrong).status().code(), absl::StatusCode::kInvalidArgument) << wrong;
    EXPECT_EQ(MakeTorchEngineOn(wrong, {.threads = 1}).status().code(), absl::StatusCode::kInvalidArgument) << wrong;
  }
}

TEST(TorchDevice, ThatIsNotThereIsRefusedInALineThatSaysWhatToDo) {
  const auto first = FindTorchDevice("cuda");
  EXPECT_EQ(FindTorchDevice("auto").value(), first.ok() ? *first : "cpu");
  const absl::Status refused = MakeTorchEngineOn(first.ok() ? "cuda:64" : "cuda", {.threads = 1}).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  const std::string message(Message(refused));
  EXPECT_THAT(message, ::testing::HasSubstr(first.ok() ? "there is no GPU 64" : "say cpu, or"));
  EXPECT_EQ(message.find('\n'), std::string::npos);
}

TEST(TorchDevice, WhatLibTorchThrowsBecomesAStatusOfOneLine) {
  const c10::SourceLocation here{"", "", 0};
  const absl::Status used_up = StatusOf(c10::OutOfMemoryError(here, "tried to take 2 GiB\n#0 a"), "Conv node \"a\"");
  EXPECT_EQ(used_up.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(Message(used_up), "Conv node \"a\": the GPU has no memory left for it: tried to take 2 GiB");
  EXPECT_EQ(StatusOf(std::bad_alloc(), "rows").code(), absl::StatusCode::kResourceExhausted);
  const absl::Status refused = StatusOf(c10::Error(here, "no such kernel\n#0 a"), "Conv node \"a\"");
  EXPECT_EQ(refused.code(), absl::StatusCode::kInternal);
  EXPECT_EQ(Message(refused), "Conv node \"a\": no such kernel");
}

// The process may take no more memory than it has and `spare` bytes, while this lives.
class MemoryLimit {
 public:
  explicit MemoryLimit(uint64_t spare) {
    uint64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    getrlimit(RLIMIT_AS, &before_);
    const rlimit limit{pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)) + spare, before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_AS, &limit), 0);
  }
  ~MemoryLimit() { setrlimit(RLIMIT_AS, &before_); }

 private:
  rlimit before_{};
};

TEST(TorchEngine, AnOperatorWithoutMemorySaysThatResourcesAreExhausted) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer's allocator ends the process instead";
#endif
  constexpr int64_t kSide = 1 << 14;  // a gigabyte of products
  graph::Graph graph;
  graph.values = {{"a", {graph::ElementType::kFloat, {kSide, 1}}, {}},
                  {"b", {graph::ElementType::kFloat, {1, kSide}}, {}},
                  {"c", {graph::ElementType::kFloat, {kSide, kSide}}, {}}};
  graph.nodes = {{"MatMul", "product", {0, 1}, {2}, {}}};
  graph.inputs = {0, 1};
  graph.outputs = {2};
  const auto engine = MakeTorchEngine({.threads = 1});
  const auto program = engine->Prepare(graph);
  ASSERT_TRUE(program.ok()) << ToString(program.status());
  std::vector<TensorPtr> inputs;
  for (const int input : graph.inputs) {
    const graph::TensorType& type = graph.values[input].type;
    inputs.push_back(*engine->MakeTensor(type, std::vector<std::byte>(type.Bytes())));
  }
  const MemoryLimit limit(256 << 20);
  const absl::Status status = RunWhole(**program, inputs).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << ToString(status);
  EXPECT_THAT(std::string(Message(status)), ::testing::StartsWith("MatMul node \"product\": there is no memory left"));
}

graph::Graph SumWith(const graph::Constant& weights) {
  graph::Graph graph;
  graph.values = {{"in", weights.type, {}}, {"weights", weights.type, weights}, {"out", weights.type, {}}};
  graph.nodes = {{"Add", "sum", {0, 1}, {2}, {}}};
  graph.inputs = {0};
  graph.outputs = {2};
  return graph;
}

TEST(TorchEngine, ProgramsShareTheWeightsThatTheirGraphsShare) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer's allocator ends the process instead";
#endif
  const auto engine = MakeTorchEngine({.threads = 1});
  const graph::TensorType large{graph::ElementType::kFloat, {64 << 20}};
  const graph::Constant weights{large, std::make_shared<const std::vector<std::byte>>(large.Bytes())},
      same = weights, others{large, std::make_shared<const std::vector<std::byte>>(*weights.bytes)};
  const auto program = engine->Prepare(SumWith(weights));
  ASSERT_TRUE(program.ok()) << ToString(program.status());
  const MemoryLimit limit(128 << 20);
  EXPECT_EQ(engine->Prepare(SumWith(same)).status(), absl::OkStatus());
  EXPECT_EQ(engine->Prepare(SumWith(others)).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST(TorchEngine, SharedWeightsOutliveTheProgramThatTookThemAndKeepTheirTypes) {
  const Engine& engine = testing::TestEngine();
  const graph::Constant row = testing::RandomFloats({1, 6}, 1), column{{graph::ElementType::kFloat, {6, 1}}, row.bytes};
  auto first = engine.Prepare(SumWith(row));
  const auto second = engine.Prepare(SumWith(row)), turned = engine.Prepare(SumWith(column));
  ASSERT_TRUE(first.ok() && second.ok() && turned.ok());
  first->reset();
  for (const auto& [program, type] : {std::pair(&*second, row.type), std::pair(&*turned, column.type)}) {
    const std::vector<float> zeros(6);
    const auto sums =
        RunWhole(**program, {{testing::ToTensor(graph::Constant::Of<float>(type.element, type.shape, zeros))}});
    ASSERT_TRUE(sums.ok()) << ToString(sums.status());
    const graph::Constant sum = testing::ToConstant(*sums->front());
    EXPECT_EQ(sum.type, type);
    EXPECT_EQ(*sum.bytes, *row.bytes);
  }
}

TEST(TorchDevice, OfAGpuHasItsNameAndNoMoreMemoryThanItIsTold) {
  const std::string library = "LibTorch " + TorchVersion(), name = testing::TestEngine().Name();
  if (name == library) GTEST_SKIP() << "WHARF_EXEC_DEVICE=cuda runs it on a GPU";
  EXPECT_THAT(name, ::testing::StartsWith(library + " on "));
  const auto small = MakeTorchEngineOn("cuda", {.threads = 1, .gpu_memory = 64 << 20});
  ASSERT_TRUE(small.ok()) << ToString(small.status());
  const graph::TensorType large{graph::ElementType::kUint8, {256 << 20}};
  const auto tensor = (*small)->MakeTensor(large, std::vector<std::byte>(large.Bytes()));
  EXPECT_EQ(tensor.status().code(), absl::StatusCode::kResourceExhausted) << ToString(tensor.status());
}

}  // namespace
}  // namespace wharf::exec
