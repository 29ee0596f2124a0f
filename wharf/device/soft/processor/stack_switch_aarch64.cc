// Procedure call standard for the Arm 64-bit architecture: x19 to x30 and the lower halves of v8 to v15 are the
// caller's.
#include <ucontext.h>

#include <algorithm>
#include <cstdint>

#include "wharf/device/soft/processor/stack_switch.h"

// The frame a suspended context leaves: x29 x30, x19 to x28, d8 to d15; x30 is where it goes on.
asm(R"(
.text
.p2align 4
.globl wharf_switch_stack
.type wharf_switch_stack,%function
wharf_switch_stack:
  stp x29, x30, [sp, #-160]!
  stp x19, x20, [sp, #16]
  stp x21, x22, [sp, #32]
  stp x23, x24, [sp, #48]
  stp x25, x26, [sp, #64]
  stp x27, x28, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov x0, x1
  b wharf_restore_stack
.size wharf_switch_stack,.-wharf_switch_stack

.p2align 4
.globl wharf_restore_stack
.type wharf_restore_stack,%function
wharf_restore_stack:
  mov sp, x0
  ldp x19, x20, [sp, #16]
  ldp x21, x22, [sp, #32]
  ldp x23, x24, [sp, #48]
  ldp x25, x26, [sp, #64]
  ldp x27, x28, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  ldp x29, x30, [sp], #160
  ret
.size wharf_restore_stack,.-wharf_restore_stack

// Global, because the linker takes the offset of a local symbol's address from the table of addresses for 0.
.p2align 4
.globl wharf_start_stack
.hidden wharf_start_stack
.type wharf_start_stack,%function
wharf_start_stack:
  .cfi_startproc
  .cfi_undefined x30
  mov x0, x19
  blr x20
  brk #1
  .cfi_endproc
.size wharf_start_stack,.-wharf_start_stack
)");
extern "C" void wharf_start_stack();

namespace wharf::device::soft {

void* FirstFrame(std::byte* top, void (*entry)(void*), void* argument) {
  constexpr size_t kWords = 20;
  auto** frame = reinterpret_cast<void**>(reinterpret_cast<uintptr_t>(top) & ~uintptr_t{15}) - kWords;
  std::fill_n(frame, kWords, nullptr);
  frame[1] = reinterpret_cast<void*>(&wharf_start_stack);  // x30
  frame[2] = argument;                                     // x19
  frame[3] = reinterpret_cast<void*>(entry);               // x20
  return frame;
}

void RestoreOnReturn(void* context, void* load) {
  auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext;
  registers.regs[0] = reinterpret_cast<uintptr_t>(load);
  registers.sp = registers.regs[0];
  registers.pc = reinterpret_cast<uintptr_t>(&wharf_restore_stack);
}

uintptr_t InterruptedAt(const void* context) { return static_cast<const ucontext_t*>(context)->uc_mcontext.pc; }

}  // namespace wharf::device::soft
