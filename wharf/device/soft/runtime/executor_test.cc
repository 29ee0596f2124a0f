// Kernels written in C++ against kernel_abi.h stand in for compiled code.
#include "wharf/device/soft/runtime/executor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <bit>
#include <functional>
#include <numeric>
#include <thread>

#include "wharf/device/soft/runtime/block_scheduler.h"

namespace wharf::device::soft {
namespace {

using ::testing::HasSubstr;

constexpr uint32_t kAllLanes = ~0u;

class ExecutorTest : public ::testing::Test {
 protected:
  ExecutorTest() {
    memory_ = *Memory::Create(uint64_t{64} << 20);
    services_.emplace(*memory_);
    services_->output.SetSink([this](std::string text) { output_ += text; });
    executor_ = *Executor::Create(2, *services_);
    data_ = memory_->Arena().base;
    EXPECT_TRUE(memory_->Map(data_, kBytes).ok());
  }
  ~ExecutorTest() override { executor_->Detach(); }

  // Kernels find the data's address in their parameter buffer.
  absl::Status Run(ThreadEntry entry, Dim3 grid, Dim3 block) {
    CompiledKernel kernel;
    kernel.mode = ExecutionMode::kSuspendable;
    kernel.thread_entry = entry;
    kernel.static_shared_bytes = 4096;
    return Launch(kernel, grid, block);
  }
  absl::Status Run(LoopEntry entry, Dim3 grid, Dim3 block) {
    CompiledKernel kernel;
    kernel.loop_entry = entry;
    return Launch(kernel, grid, block);
  }
  // All blocks at once.
  absl::Status RunTogether(ThreadEntry entry, Dim3 grid, Dim3 block) {
    CompiledKernel kernel;
    kernel.mode = ExecutionMode::kSuspendable;
    kernel.thread_entry = entry;
    kernel.static_shared_bytes = 4096;
    return Launch(kernel, grid, block, /*cooperative=*/true);
  }
  absl::Status Launch(CompiledKernel kernel, Dim3 grid, Dim3 block, bool cooperative = false) {
    kernel.parameter_bytes = sizeof data_;
    return executor_->Run({.kernel = &kernel,
                           .name = "k",
                           .config = {.grid = grid, .block = block, .cooperative = cooperative},
                           .parameters = reinterpret_cast<const std::byte*>(&data_)});
  }
  uint32_t* data() { return reinterpret_cast<uint32_t*>(data_); }

  static constexpr uint64_t kBytes = 1 << 20;
  std::unique_ptr<Memory> memory_;
  std::optional<KernelServices> services_;
  std::unique_ptr<Executor> executor_;
  DeviceAddress data_ = 0;
  std::string output_;
};

uint32_t* DataOf(const BlockContext* block) {
  return reinterpret_cast<uint32_t*>(*reinterpret_cast<const DeviceAddress*>(block->parameters));
}
uint32_t* SharedOf(const BlockContext* block) { return reinterpret_cast<uint32_t*>(block->shared); }
uint32_t GlobalIndex(const ThreadContext* t) { return t->block->cta[0] * t->block->block[0] + t->linear; }

void FillLoop(BlockContext* block) {
  for (uint32_t i = 0; i < block->block[0]; ++i) {
    const uint32_t index = block->cta[0] * block->block[0] + i;
    DataOf(block)[index] = index * 3;
  }
}

TEST_F(ExecutorTest, LoopKernelRunsEveryBlockOnce) {
  ASSERT_TRUE(Run(&FillLoop, {1000}, {128}).ok());
  for (uint32_t i = 0; i < 128'000; ++i) ASSERT_EQ(data()[i], i * 3);
}

// Reverses each block's threads through shared memory.
void Reverse(ThreadContext* t) {
  SharedOf(t->block)[t->linear] = GlobalIndex(t);
  wharf_barrier_sync(t, 0, 0);
  DataOf(t->block)[GlobalIndex(t)] = SharedOf(t->block)[t->block->block[0] - 1 - t->linear];
}

TEST_F(ExecutorTest, BarrierMakesSharedStoresVisible) {
  for (const uint32_t size : {1u, 31u, 32u, 33u, 100u, 1024u}) {
    ASSERT_TRUE(Run(&Reverse, {16}, {size}).ok());
    for (uint32_t i = 0; i < 16 * size; ++i) ASSERT_EQ(data()[i], i / size * size + size - 1 - i % size) << size;
  }
}

void CountDown(ThreadContext* t) {
  // Thread i leaves after i barriers; those that are left must still meet.
  for (uint32_t i = 0; i < t->linear; ++i) wharf_barrier_sync(t, 0, 0);
  DataOf(t->block)[GlobalIndex(t)] = t->linear;
}

TEST_F(ExecutorTest, ExitedThreadsDoNotHoldUpBarriers) {
  ASSERT_TRUE(Run(&CountDown, {4}, {100}).ok());
  for (uint32_t i = 0; i < 400; ++i) ASSERT_EQ(data()[i], i % 100);
}

// Warp 0 produces what warp 1 consumes, through two named barriers, while the others meet elsewhere.
void ProducerConsumer(ThreadContext* t) {
  uint32_t* shared = SharedOf(t->block);
  uint32_t sum = 0;
  for (uint32_t round = 0; round < 10; ++round) {
    if (t->warp == 0) {
      shared[t->lane] = round * 100 + t->lane;
      wharf_barrier_arrive(t, 1, 64);
      wharf_barrier_sync(t, 2, 64);
    } else if (t->warp == 1) {
      wharf_barrier_sync(t, 1, 64);
      sum += shared[31 - t->lane];
      wharf_barrier_arrive(t, 2, 64);
    } else {
      wharf_barrier_sync(t, 3, 64);
    }
  }
  DataOf(t->block)[GlobalIndex(t)] = sum;
}

TEST_F(ExecutorTest, NamedBarriersTakePartsOfTheBlock) {
  ASSERT_TRUE(Run(&ProducerConsumer, {1}, {128}).ok());
  for (uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(data()[32 + lane], 4500 + 10 * (31 - lane));
}

void ArriveOnly(ThreadContext* t) {
  wharf_barrier_arrive(t, 1, 128);
  wharf_barrier_sync(t, 0, 0);
  DataOf(t->block)[GlobalIndex(t)] = 1;
}

TEST_F(ExecutorTest, BarriersStartAfreshInEveryBlock) {
  ASSERT_TRUE(Run(&ArriveOnly, {20}, {64}).ok());
  ASSERT_TRUE(Run(&ProducerConsumer, {1}, {128}).ok());
}

void Reduce(ThreadContext* t) {
  const uint32_t odd = t->linear & 1;
  const uint32_t count = wharf_barrier_reduce(t, 0, 0, static_cast<uint32_t>(ReduceOp::kPopc), odd);
  const uint32_t all = wharf_barrier_reduce(t, 0, 0, static_cast<uint32_t>(ReduceOp::kAnd), odd);
  const uint32_t any = wharf_barrier_reduce(t, 0, 0, static_cast<uint32_t>(ReduceOp::kOr), odd);
  const uint32_t every = wharf_barrier_reduce(t, 0, 0, static_cast<uint32_t>(ReduceOp::kAnd), 7);
  DataOf(t->block)[GlobalIndex(t)] = count * 1000 + all * 100 + any * 10 + every;
}

TEST_F(ExecutorTest, BarrierReductions) {
  ASSERT_TRUE(Run(&Reduce, {3}, {70}).ok());
  for (uint32_t i = 0; i < 210; ++i) ASSERT_EQ(data()[i], 35 * 1000 + 11);
}

void ShuffleSum(ThreadContext* t) {
  uint32_t sum = GlobalIndex(t);
  for (uint32_t offset = 16; offset > 0; offset /= 2) {
    sum += wharf_shuffle(t, static_cast<uint32_t>(ShuffleMode::kBfly), sum, offset, 31, kAllLanes, nullptr);
  }
  DataOf(t->block)[GlobalIndex(t)] = sum;
}

TEST_F(ExecutorTest, ButterflyReducesEachWarp) {
  ASSERT_TRUE(Run(&ShuffleSum, {8}, {256}).ok());
  for (uint32_t i = 0; i < 2048; ++i) ASSERT_EQ(data()[i], 32 * (i / 32 * 32) + 496);
}

struct ShuffleCase {
  ShuffleMode mode;
  uint32_t operand, clamp;
};
ShuffleCase g_shuffle;

void ShuffleOnce(ThreadContext* t) {
  uint32_t in_range = 9;
  const uint32_t value = wharf_shuffle(t, static_cast<uint32_t>(g_shuffle.mode), 100 + t->lane, g_shuffle.operand,
                                       g_shuffle.clamp, kAllLanes, &in_range);
  DataOf(t->block)[t->linear] = value * 10 + in_range;
}

TEST_F(ExecutorTest, ShuffleModesAndSegments) {
  const auto width = [](uint32_t w, uint32_t clamp) { return (32 - w) << 8 | clamp; };
  const auto run = [&](ShuffleMode mode, uint32_t operand, uint32_t clamp) {
    g_shuffle = {mode, operand, clamp};
    EXPECT_TRUE(Run(&ShuffleOnce, {1}, {32}).ok());
    return std::vector<uint32_t>(data(), data() + 32);
  };
  const auto up = run(ShuffleMode::kUp, 3, width(8, 0));
  const auto down = run(ShuffleMode::kDown, 3, width(8, 31));
  const auto index = run(ShuffleMode::kIdx, 5, width(16, 31));
  for (uint32_t lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(up[lane], lane % 8 >= 3 ? (100 + lane - 3) * 10 + 1 : (100 + lane) * 10);
    EXPECT_EQ(down[lane], lane % 8 < 5 ? (100 + lane + 3) * 10 + 1 : (100 + lane) * 10);
    EXPECT_EQ(index[lane], (100 + lane / 16 * 16 + 5) * 10 + 1);
  }
}

void DivergentVotes(ThreadContext* t) {
  const bool even = t->lane % 2 == 0;
  const uint32_t mask = even ? 0x55555555u : 0xaaaaaaaau;
  uint32_t ballot = 0;
  // The halves go round a different number of times.
  for (uint32_t i = 0; i < (even ? 3u : 7u); ++i) {
    ballot += wharf_vote(t, static_cast<uint32_t>(VoteMode::kBallot), t->lane % 4 < 2, mask) != 0 ? 1 : 0;
  }
  const uint32_t last = wharf_vote(t, static_cast<uint32_t>(VoteMode::kBallot), t->lane < 8, kAllLanes);
  const uint32_t any = wharf_vote(t, static_cast<uint32_t>(VoteMode::kAny), t->lane == 5, mask);
  const uint32_t all = wharf_vote(t, static_cast<uint32_t>(VoteMode::kAll), even, mask);
  const uint32_t uniform = wharf_vote(t, static_cast<uint32_t>(VoteMode::kUni), t->lane == 3, mask);
  DataOf(t->block)[t->linear] = last << 16 | ballot << 8 | any << 2 | all << 1 | uniform;
}

TEST_F(ExecutorTest, VotesInDivergentCode) {
  ASSERT_TRUE(Run(&DivergentVotes, {1}, {32}).ok());
  for (uint32_t lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(data()[lane],
              lane % 2 == 0 ? (0xffu << 16 | 3 << 8 | 0 << 2 | 1 << 1 | 1) : (0xffu << 16 | 7 << 8 | 1 << 2))
        << lane;
  }
}

void VoteAfterExit(ThreadContext* t) {
  if (t->lane >= 20) return;
  const uint32_t ballot = wharf_vote(t, static_cast<uint32_t>(VoteMode::kBallot), 1, kAllLanes);
  if (t->lane >= 10) return;
  wharf_warp_sync(t, kAllLanes);
  DataOf(t->block)[GlobalIndex(t)] = ballot;
}

TEST_F(ExecutorTest, ExitedLanesDoNotHoldUpWarpOperations) {
  ASSERT_TRUE(Run(&VoteAfterExit, {2}, {64}).ok());
  for (uint32_t i = 0; i < 128; ++i) ASSERT_EQ(data()[i], i % 32 < 10 ? 0xfffffu : 0);
}

void Match(ThreadContext* t) {
  uint32_t same = 9;
  const uint32_t any = wharf_match_any(t, uint64_t{t->lane % 3} << 40, kAllLanes);
  const uint32_t none = wharf_match_all(t, t->lane, kAllLanes, &same);
  const uint32_t all = wharf_match_all(t, 7, kAllLanes, nullptr);
  const uint32_t smallest = wharf_redux(t, static_cast<uint32_t>(ReduceOp::kMin), 1, t->lane - 5, kAllLanes);
  const uint32_t largest = wharf_redux(t, static_cast<uint32_t>(ReduceOp::kMax), 0, t->lane - 5, kAllLanes);
  const uint32_t sum = wharf_redux(t, static_cast<uint32_t>(ReduceOp::kAdd), 0, t->lane, kAllLanes);
  uint32_t* out = DataOf(t->block) + t->lane * 8;
  const uint32_t values[] = {any, none, same, all, smallest, largest, sum};
  std::copy(std::begin(values), std::end(values), out);
}

TEST_F(ExecutorTest, MatchAndRedux) {
  ASSERT_TRUE(Run(&Match, {1}, {32}).ok());
  for (uint32_t lane = 0; lane < 32; ++lane) {
    const uint32_t* out = data() + lane * 8;
    EXPECT_EQ(out[0], 0x49249249u << (lane % 3));
    EXPECT_EQ(out[1], 0u);
    EXPECT_EQ(out[2], 0u);
    EXPECT_EQ(out[3], kAllLanes);
    EXPECT_EQ(out[4], static_cast<uint32_t>(-5));
    EXPECT_EQ(out[5], static_cast<uint32_t>(-1));
    EXPECT_EQ(out[6], 496u);
  }
}

void Active(ThreadContext* t) {
  uint32_t mask = 0;
  if (t->lane % 3 == 0) {
    mask = wharf_active_mask(t, 1);
    mask = wharf_vote(t, static_cast<uint32_t>(VoteMode::kBallot), 1, mask);
  } else {
    mask = wharf_active_mask(t, 2);
  }
  DataOf(t->block)[t->linear] = mask;
}

TEST_F(ExecutorTest, ActiveMaskNamesTheLanesAtTheSameSite) {
  ASSERT_TRUE(Run(&Active, {1}, {32}).ok());
  for (uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(data()[lane], lane % 3 == 0 ? 0x49249249u : 0xb6db6db6u);
}

// Each block waits for the one before it, each warp for the one after it.
void LookBack(ThreadContext* t) {
  auto& flag = *reinterpret_cast<std::atomic<uint32_t>*>(DataOf(t->block));
  uint32_t* turn = SharedOf(t->block);
  auto& warp_turn = *reinterpret_cast<std::atomic<uint32_t>*>(turn);
  if (t->linear == 0) warp_turn.store(t->block->block[0] / 32);
  wharf_barrier_sync(t, 0, 0);
  while (flag.load() != t->block->cta[0]) wharf_yield(t);
  // A warp that only goes round in votes must not starve the one it waits for.
  while (wharf_vote(t, static_cast<uint32_t>(VoteMode::kAny), warp_turn.load() != t->warp + 1, kAllLanes) != 0) {
  }
  wharf_warp_sync(t, kAllLanes);
  if (t->lane == 0) warp_turn.fetch_sub(1);
  wharf_barrier_sync(t, 0, 0);
  if (t->linear == 0) flag.fetch_add(1);
}

TEST_F(ExecutorTest, BlocksMayWaitForEarlierBlocks) {
#ifdef WHARF_TSAN
  constexpr uint32_t kBlocks = 10;  // every switch of stacks costs microseconds there
#else
  constexpr uint32_t kBlocks = 200;
#endif
  ASSERT_TRUE(Run(&LookBack, {kBlocks}, {128}).ok());
  EXPECT_EQ(data()[0], kBlocks);
}

// Each block waits for the one after it.
void LookAhead(ThreadContext* t) {
  const auto turn = std::atomic_ref(*DataOf(t->block));
  while (turn.load() + 1 + t->block->cta[0] != t->block->grid[0]) wharf_yield(t);
  wharf_barrier_sync(t, 0, 0);
  if (t->linear == 0) turn.fetch_add(1);
}

TEST_F(ExecutorTest, BlocksThatFitMayWaitForLaterBlocks) {
  CompiledKernel kernel;
  kernel.mode = ExecutionMode::kSuspendable;
  kernel.thread_entry = &LookAhead;
  kernel.waits = true;
  for (const uint32_t blocks : {1u, 2u, 7u, 60u}) {
    data()[0] = 0;
    ASSERT_EQ(Launch(kernel, {blocks}, {64}), absl::OkStatus());
    EXPECT_EQ(data()[0], blocks);
  }
}

// CUDA's grid barrier, as its headers have it: all blocks wait for the last one.
void GridBarrier(ThreadContext* t) {
  const auto barrier = std::atomic_ref(*reinterpret_cast<uint32_t*>(t->block->grid_workspace + 4));
  const uint32_t blocks = t->block->grid[0];
  wharf_barrier_sync(t, 0, 0);
  if (t->linear == 0) {
    const uint32_t old = barrier.fetch_add(t->block->cta[0] == 0 ? 0x80000000u - (blocks - 1) : 1);
    while (((old ^ barrier.load()) & 0x80000000u) == 0) wharf_yield(t);
  }
  wharf_barrier_sync(t, 0, 0);
}

// Each block reads what its two neighbours wrote a round before; what it keeps in shared memory stays its own.
void Ring(ThreadContext* t) {
  const uint32_t blocks = t->block->grid[0], b = t->block->cta[0], threads = t->block->block[0];
  uint32_t* data = DataOf(t->block);
  SharedOf(t->block)[t->linear] = b * 1000 + t->linear;
  for (uint32_t round = 0; round < 5; ++round) {
    const uint32_t* from = data + (round % 2) * blocks * threads;
    uint32_t* to = data + (1 - round % 2) * blocks * threads;
    to[b * threads + t->linear] =
        from[(b + 1) % blocks * threads + t->linear] + from[(b + blocks - 1) % blocks * threads + t->linear] + 1;
    GridBarrier(t);
  }
  data[2 * blocks * threads + b * threads + t->linear] = SharedOf(t->block)[t->linear];
}

TEST_F(ExecutorTest, BlocksOfACooperativeLaunchMayWaitForAll) {
  // Fewer blocks than workers, as many, and as many as the workers hold.
  for (const auto& [blocks, threads] : {std::pair{1u, 33u}, {2u, 64u}, {3u, 512u}, {5u, 100u}, {32u, 64u}}) {
    std::fill_n(data(), 3 * blocks * threads, 0u);
    ASSERT_EQ(RunTogether(&Ring, {blocks}, {threads}), absl::OkStatus());
    const uint32_t* last = data() + blocks * threads;
    for (uint32_t i = 0; i < blocks * threads; ++i) {
      ASSERT_EQ(last[i], 31u) << blocks << " blocks of " << threads;
      ASSERT_EQ(last[blocks * threads + i], i / threads * 1000 + i % threads);
    }
  }
}

void FaultAmongWaiting(ThreadContext* t) {
  if (t->block->cta[0] == 7 && t->linear == 5) DataOf(t->block)[1 << 20] = 1;
  GridBarrier(t);
}
void DeadlockAmongWaiting(ThreadContext* t) {
  if (t->block->cta[0] == 7 && t->linear == 5) wharf_barrier_sync(t, 1, 64);
  GridBarrier(t);
}
void TrapAmongWaiting(ThreadContext* t) {
  if (t->block->cta[0] == 7 && t->warp == 1) wharf_trap(t->block, static_cast<uint32_t>(TrapKind::kTrap));
  GridBarrier(t);
}

TEST_F(ExecutorTest, AFaultEndsTheBlocksThatWait) {
  EXPECT_EQ(CudaErrorOf(RunTogether(&FaultAmongWaiting, {16}, {64})), CudaError::kIllegalAddress);
  const absl::Status status = RunTogether(&DeadlockAmongWaiting, {16}, {64});
  EXPECT_EQ(CudaErrorOf(status), CudaError::kLaunchTimeout);
  EXPECT_THAT(std::string(Message(status)), HasSubstr("block (7,0,0): no thread can go on"));
  EXPECT_EQ(CudaErrorOf(RunTogether(&TrapAmongWaiting, {16}, {64})), CudaError::kLaunchFailure);
  EXPECT_TRUE(RunTogether(&Ring, {32}, {32}).ok());  // nothing is left behind
  EXPECT_TRUE(Run(&Reverse, {16}, {128}).ok());
}

void ForeverTogether(ThreadContext* t) {
  std::atomic_ref(DataOf(t->block)[t->block->cta[0]]).store(1);
  while (std::atomic_ref(DataOf(t->block)[100]).load() == 0) wharf_yield(t);
}

TEST_F(ExecutorTest, StopEndsACooperativeLaunch) {
  std::thread stopper([&] {
    for (uint32_t i = 0; i < 20; ++i) {
      while (std::atomic_ref(data()[i]).load() == 0) std::this_thread::yield();
    }
    executor_->Stop();  // all blocks are there and wait
  });
  EXPECT_EQ(RunTogether(&ForeverTogether, {20}, {32}).code(), absl::StatusCode::kCancelled);
  stopper.join();
}

TEST_F(ExecutorTest, WhatCannotBeThereAtOnceIsTold) {
  const auto resident = [&](Dim3 grid, Dim3 block) {
    return executor_->IsResident({.grid = grid, .block = block, .cooperative = true});
  };
  EXPECT_TRUE(resident({64}, {64}));
  EXPECT_TRUE(resident({4, 4, 4}, {8, 8}));
  EXPECT_FALSE(resident({65}, {64}));
  EXPECT_FALSE(resident({0x7fffffff, 65535}, {1024}));
}

void Deadlock(ThreadContext* t) {
  if (t->linear == 3) wharf_barrier_sync(t, 1, 64);
  wharf_vote(t, static_cast<uint32_t>(VoteMode::kAny), 1, kAllLanes);
}

TEST_F(ExecutorTest, DeadlockIsAFaultThatSaysWhoWaits) {
  const absl::Status status = Run(&Deadlock, {1}, {64});
  EXPECT_EQ(CudaErrorOf(status), CudaError::kLaunchTimeout);
  EXPECT_THAT(std::string(Message(status)), HasSubstr("kernel k, block (0,0,0)"));
  EXPECT_THAT(std::string(Message(status)), HasSubstr("1 wait at barrier 1"));
  EXPECT_THAT(std::string(Message(status)), HasSubstr("lanes 0xfffffff7 of warp 0"));
  EXPECT_TRUE(Run(&Reverse, {16}, {128}).ok());  // nothing is left behind
}

void BadBarrier(ThreadContext* t) { wharf_barrier_sync(t, 16, 0); }
void BadCount(ThreadContext* t) { wharf_barrier_sync(t, 1, 33); }
void Disagree(ThreadContext* t) { wharf_barrier_sync(t, 1, t->warp == 0 ? 64 : 96); }

TEST_F(ExecutorTest, WrongOperandsAreFaults) {
  EXPECT_EQ(CudaErrorOf(Run(&BadBarrier, {1}, {32})), CudaError::kIllegalInstruction);
  EXPECT_EQ(CudaErrorOf(Run(&BadCount, {1}, {32})), CudaError::kIllegalInstruction);
  EXPECT_EQ(CudaErrorOf(Run(&Disagree, {1}, {96})), CudaError::kLaunchFailure);
}

void WildLoop(BlockContext* block) {
  if (block->cta[0] == 5) DataOf(block)[1 << 20] = 1;
}
void WildThread(ThreadContext* t) {
  wharf_barrier_sync(t, 0, 0);
  if (t->linear == 77 && t->block->cta[0] == 1) DataOf(t->block)[1 << 20] = 1;
  wharf_barrier_sync(t, 0, 0);
}
void WildShared(ThreadContext* t) {
  volatile std::byte* shared = t->block->shared;
  if (t->linear == 1) shared[4096] = std::byte{1};
}

TEST_F(ExecutorTest, AccessOutsideAllocationsIsAFault) {
  for (int i = 0; i < 3; ++i) {
    const absl::Status loop = Run(&WildLoop, {100}, {32});
    EXPECT_EQ(CudaErrorOf(loop), CudaError::kIllegalAddress);
    EXPECT_THAT(std::string(Message(loop)), HasSubstr("block (5,0,0)"));
    EXPECT_EQ(CudaErrorOf(Run(&WildThread, {4}, {128})), CudaError::kIllegalAddress);
    const absl::Status shared = Run(&WildShared, {1}, {32});
    EXPECT_EQ(CudaErrorOf(shared), CudaError::kIllegalAddress);
    EXPECT_THAT(std::string(Message(shared)), HasSubstr("0x1000 of 4096 bytes of shared memory"));
    EXPECT_TRUE(Run(&Reverse, {16}, {128}).ok());
    EXPECT_TRUE(Run(&FillLoop, {16}, {128}).ok());
  }
}

#ifndef WHARF_ASAN
__attribute__((noinline)) uint32_t Recurse(ThreadContext* t, uint32_t depth) {
  volatile uint32_t pad[64];
  pad[depth % 64] = depth;
  if (depth == ~0u) return pad[0];
  return Recurse(t, depth + 1) + pad[depth % 64];
}
void Overflow(ThreadContext* t) { DataOf(t->block)[0] = Recurse(t, 0); }

TEST_F(ExecutorTest, StackOverflowIsAFault) {
  const absl::Status status = Run(&Overflow, {1}, {64});
  EXPECT_EQ(CudaErrorOf(status), CudaError::kLaunchFailure);
  EXPECT_THAT(std::string(Message(status)), HasSubstr("stack overflow"));
}
#endif

void TrapLoop(BlockContext* block) {
  if (block->cta[0] == 2) wharf_trap(block, static_cast<uint32_t>(TrapKind::kTrap));
}
void AssertThread(ThreadContext* t) {
  const auto text = reinterpret_cast<uint64_t>(DataOf(t->block));
  wharf_barrier_sync(t, 0, 0);
  if (t->linear == 40) wharf_assert_fail(t->block, t->tid, text, text + 8, 12, text + 16);
  wharf_barrier_sync(t, 0, 0);
}

TEST_F(ExecutorTest, TrapAndAssert) {
  EXPECT_EQ(CudaErrorOf(Run(&TrapLoop, {8}, {32})), CudaError::kLaunchFailure);
  std::strcpy(reinterpret_cast<char*>(data_), "x > 1");
  std::strcpy(reinterpret_cast<char*>(data_ + 8), "a.cu");
  std::strcpy(reinterpret_cast<char*>(data_ + 16), "void f()");
  EXPECT_EQ(CudaErrorOf(Run(&AssertThread, {1}, {64})), CudaError::kAssert);
  EXPECT_EQ(output_, "a.cu:12: void f(): block: [0,0,0], thread: [40,0,0] Assertion `x > 1` failed.\n");
}

void HeapUser(ThreadContext* t) {
  auto* words = reinterpret_cast<uint32_t*>(wharf_malloc(t->block, 100));
  words[24] = t->linear;
  wharf_barrier_sync(t, 0, 0);
  DataOf(t->block)[GlobalIndex(t)] = words[24];
  wharf_free(t->block, reinterpret_cast<uint64_t>(words));
}
void BadFree(ThreadContext* t) { wharf_free(t->block, 12345); }

TEST_F(ExecutorTest, DeviceHeap) {
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(Run(&HeapUser, {50}, {128}).ok());
  for (uint32_t i = 0; i < 6400; ++i) ASSERT_EQ(data()[i], i % 128);
  EXPECT_EQ(CudaErrorOf(Run(&BadFree, {1}, {1})), CudaError::kIllegalAddress);
}

void SpinForEver(ThreadContext* t) {
  reinterpret_cast<std::atomic<uint32_t>*>(DataOf(t->block))->store(1);
  for (;;) wharf_yield(t);
}

TEST_F(ExecutorTest, StopEndsAKernelThatSpins) {
  std::thread stopper([this] {
    while (reinterpret_cast<std::atomic<uint32_t>*>(data_)->load() == 0) std::this_thread::yield();
    executor_->Stop();
  });
  std::thread runner([this] {
    EXPECT_EQ(Run(&SpinForEver, {1}, {33}).code(), absl::StatusCode::kCancelled);
    executor_->Detach();
  });
  runner.join();
  stopper.join();
}

}  // namespace
}  // namespace wharf::device::soft
