// System V ABI.
#include <ucontext.h>

#include <cstdint>

#include "wharf/device/soft/processor/stack_switch.h"

// The frame a suspended context leaves: r15 r14 r13 r12 rbx rbp, return address. `ret` rather than an indirect jump:
// threads of a warp suspend and go on in the same function, so the return predictor is right about the other's frames.
asm(R"(
.text
.p2align 4
.globl wharf_switch_stack
.type wharf_switch_stack,@function
wharf_switch_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size wharf_switch_stack,.-wharf_switch_stack

.p2align 4
.globl wharf_restore_stack
.type wharf_restore_stack,@function
wharf_restore_stack:
  movq %rdi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size wharf_restore_stack,.-wharf_restore_stack

.p2align 4
.type wharf_start_stack,@function
wharf_start_stack:
  .cfi_startproc
  .cfi_undefined rip
  movq %r12, %rdi
  call *%r13
  ud2
  .cfi_endproc
.size wharf_start_stack,.-wharf_start_stack
)");
extern "C" void wharf_start_stack();

namespace wharf::device::soft {

void* FirstFrame(std::byte* top, void (*entry)(void*), void* argument) {
  auto** frame = reinterpret_cast<void**>((reinterpret_cast<uintptr_t>(top) & ~uintptr_t{15}) - 72);
  frame[0] = nullptr;                                      // r15
  frame[1] = nullptr;                                      // r14
  frame[2] = reinterpret_cast<void*>(entry);               // r13
  frame[3] = argument;                                     // r12
  frame[4] = nullptr;                                      // rbx
  frame[5] = nullptr;                                      // rbp
  frame[6] = reinterpret_cast<void*>(&wharf_start_stack);  // which starts with an aligned stack pointer
  return frame;
}

void RestoreOnReturn(void* context, void* load) {
  auto* registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  registers[REG_RDI] = reinterpret_cast<greg_t>(load);
  registers[REG_RSP] = registers[REG_RDI];
  registers[REG_RIP] = reinterpret_cast<greg_t>(&wharf_restore_stack);
}

uintptr_t InterruptedAt(const void* context) {
  return static_cast<uintptr_t>(static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP]);
}

}  // namespace wharf::device::soft
