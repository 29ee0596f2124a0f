// Finds the loops in which a thread may wait for another one. Such a loop must let other threads of its block run, so
// its backward branches yield and the kernel is executed on suspendable threads.
//
// A loop (the instructions between a backward branch and its target) may wait if a branch in it depends on what a
// volatile, relaxed or acquire load, an atomic operation or a test of an mbarrier in it returned. One pattern is
// excluded: a compare-and-swap whose expected value comes from an earlier read is a lock-free update; when it fails
// some other thread has gone on.
#pragma once

namespace wharf::device::soft {

struct Program;

// Fills ReachedFunction::spin_edges of every function.
void FindSpinEdges(Program* program);

}  // namespace wharf::device::soft
