// Apart from jit_helpers.cc, because this one needs the runtime at link time.
#include "wharf/device/soft/jit/helpers.h"
#include "wharf/device/soft/runtime/kernel_abi.h"

namespace wharf::device::soft {

std::vector<HelperSymbol> RuntimeSymbols() {
#define WHARF_SYMBOL(name) \
  { #name, reinterpret_cast < void*>(&name) }
  return {WHARF_SYMBOL(wharf_barrier_sync),
          WHARF_SYMBOL(wharf_barrier_arrive),
          WHARF_SYMBOL(wharf_barrier_reduce),
          WHARF_SYMBOL(wharf_warp_sync),
          WHARF_SYMBOL(wharf_shuffle),
          WHARF_SYMBOL(wharf_vote),
          WHARF_SYMBOL(wharf_match_any),
          WHARF_SYMBOL(wharf_match_all),
          WHARF_SYMBOL(wharf_redux),
          WHARF_SYMBOL(wharf_active_mask),
          WHARF_SYMBOL(wharf_yield),
          WHARF_SYMBOL(wharf_vprintf),
          WHARF_SYMBOL(wharf_assert_fail),
          WHARF_SYMBOL(wharf_trap),
          WHARF_SYMBOL(wharf_malloc),
          WHARF_SYMBOL(wharf_free),
          WHARF_SYMBOL(wharf_prepare_child),
          WHARF_SYMBOL(wharf_launch_child),
          WHARF_SYMBOL(wharf_child_error),
          WHARF_SYMBOL(wharf_error_text),
          WHARF_SYMBOL(wharf_copy_for_kernel),
          WHARF_SYMBOL(wharf_fill_for_kernel),
          WHARF_SYMBOL(wharf_clock),
          WHARF_SYMBOL(wharf_global_timer),
          WHARF_SYMBOL(wharf_texture_fetch),
          WHARF_SYMBOL(wharf_texture_gather),
          WHARF_SYMBOL(wharf_image_query),
          WHARF_SYMBOL(wharf_surface_load),
          WHARF_SYMBOL(wharf_surface_store),
          WHARF_SYMBOL(wharf_check_access),
          WHARF_SYMBOL(wharf_texture_fetch_level),
          WHARF_SYMBOL(wharf_texture_level),
          WHARF_SYMBOL(wharf_tensor),
          WHARF_SYMBOL(wharf_tensor_lanes)};
#undef WHARF_SYMBOL
}

}  // namespace wharf::device::soft
