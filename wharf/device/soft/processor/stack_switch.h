// The switch between stacks, which every processor has of its own: stack_switch_x86_64.cc, stack_switch_aarch64.cc.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {
// Saves the caller's registers on its stack, stores the stack pointer in *save and goes on where `load` was saved.
void wharf_switch_stack(void** save, void* load);
// Goes on where `load` was saved and forgets the caller.
[[noreturn]] void wharf_restore_stack(void* load);
}

namespace wharf::device::soft {

// What to load first on the stack that ends at `top`: it calls `entry(argument)`, which must not return.
void* FirstFrame(std::byte* top, void (*entry)(void*), void* argument);

// Has a signal handler, which was given `context`, return to wharf_restore_stack(load).
void RestoreOnReturn(void* context, void* load);
// The instruction that a signal, whose handler was given `context`, has interrupted.
uintptr_t InterruptedAt(const void* context);

}  // namespace wharf::device::soft
