// The contract between compiled kernels (soft/compiler) and the runtime that executes them (soft/executor): context
// layouts, entry points and the functions compiled code calls. Standard-layout structs; compiled code reads fields by
// offsetof.
//
// Addresses. All memory that a kernel can name lies in one reservation of address space (memory.h), whose addresses are
// this process's own. A global, const, local or generic address is such an address. A shared address is an offset (32
// bits matter) into BlockContext::shared, a 4 GiB window of which only the block's shared memory is accessible, so no
// shared access can leave it. Conversions: generic = shared window base + offset; local and global are the identity.
//
// Walls. Compiled code confines every access whose address a kernel can influence (jit/confine.h): an address outside
// [memory, memory + memory_span] becomes memory + memory_span. What is added to an address after it was confined is
// less than kAddressSlack either way. That much is inaccessible inside either end of the range, and again outside it,
// so an address that was outside stays where every access faults, whatever is added. The contexts themselves, return
// addresses and saved registers lie elsewhere.
//
// Global accesses are emitted as `getelementptr i8, BlockContext::global, address` where `global` is always null at run
// time but opaque to the optimiser: an inttoptr hides the induction from the vectoriser, a base pointer does not.
#pragma once

#include <cstddef>
#include <cstdint>

namespace wharf::device::soft {

inline constexpr uint32_t kWarpSize = 32;
inline constexpr uint32_t kNamedBarriers = 16;
inline constexpr uint64_t kSharedWindow = uint64_t{1} << 32;
// More than a 32-bit index of the widest element reaches.
inline constexpr uint64_t kAddressSlack = uint64_t{1} << 36;

struct BlockContext {
  std::byte* global;                   // null; see above
  std::byte* shared;                   // base of the shared window
  const std::byte* parameters;         // the kernel's parameters, a copy in device memory
  std::byte* memory;                   // see "Walls"
  uint64_t memory_span;                //
  uintptr_t local_stack, local_limit;  // kLoop: as in ThreadContext
  uint32_t grid[3];                    // %nctaid
  uint32_t block[3];                   // %ntid
  uint32_t cta[3];                     // %ctaid
  uint32_t dynamic_shared_bytes;       // %dynamic_smem_size
  uint32_t total_shared_bytes;         // %total_smem_size
  uint32_t worker;                     // %smid
  uint32_t workers;                    // %nsmid
  uint32_t grid_id;                    // %gridid
  uintptr_t global_begin, global_end;  // device memory of the session, for isspacep
  uintptr_t local_begin, local_end;    // local memory of the block's threads, likewise
  uint64_t grid_workspace;             // %envreg1 (upper half), %envreg2: of CUDA's grid barrier, 0 if there is none
};

// Handed to a suspendable thread. Compiled code reads this prefix; the runtime's own fields follow in a derived struct.
struct ThreadContext {
  BlockContext* block;
  uint32_t tid[3];
  uint32_t linear;  // tid.x + ntid.x * (tid.y + ntid.y * tid.z)
  uint32_t lane;    // linear % 32
  uint32_t warp;    // linear / 32
  // Local memory of the functions that run: grows downwards from where the runtime starts it, not below the limit.
  // Compiled code moves it. It is the kernel's to spoil: an address taken from it is confined like any other.
  uintptr_t local_stack, local_limit;
};

// How a kernel is executed.
enum class ExecutionMode : uint8_t {
  kLoop,        // no barrier, warp operation or spin: LoopEntry runs every thread of the block in loops over tid
  kSuspendable  // ThreadEntry runs one thread on a stack of its own and is switched away from inside the calls below
};
using LoopEntry = void (*)(BlockContext*);
using ThreadEntry = void (*)(ThreadContext*);
// Blocks that are less wide leave most lanes of vectors empty.
inline constexpr uint32_t kLeastWideExtent = 4;

enum class ReduceOp : uint32_t { kAdd, kMin, kMax, kAnd, kOr, kXor, kPopc };
enum class VoteMode : uint32_t { kAll, kAny, kUni, kBallot };
enum class ShuffleMode : uint32_t { kUp, kDown, kBfly, kIdx };
enum class TrapKind : uint32_t { kTrap, kIllegalAddress, kMisaligned, kIllegalInstruction, kAssert, kStackOverflow };

// Of textures and surfaces (texture.h). What an instruction says of itself is handed over as the bits of one of these.
enum class ImageGeometry : uint8_t { k1D, k2D, k3D, kCube };
enum class SurfaceBounds : uint8_t { kTrap, kClamp, kZero };
enum class ImageQuery : uint32_t { kWidth, kHeight, kDepth, kArraySize, kNormalizedCoordinates, kLevels, kSamples };
struct TextureFetch {
  ImageGeometry geometry = ImageGeometry::k1D;
  bool integer = false;   // coordinates are, in texels
  uint8_t component = 0;  // of a gather
  uint8_t unused = 0;
};
struct SurfaceAccess {
  ImageGeometry geometry = ImageGeometry::k1D;  // not kCube
  SurfaceBounds bounds = SurfaceBounds::kTrap;
  uint8_t bytes = 0;  // 1, 2, 4, 8 or 16
  uint8_t unused = 0;
};
// Four channels of 32 bits, or up to 16 bytes of a surface; the first ones in the lowest bits.
struct TexelBits {
  uint64_t low = 0, high = 0;
};

// Of tensor-core instructions (tensor.h): what the lanes of a warp do together with registers of 32 bits. A value of 64
// bits is two registers, its low half first.
inline constexpr uint32_t kTensorRegisters = 32;  // at most, of each lane
enum class TensorFunction : uint32_t {
  kWait,       // nothing, once all lanes are there
  kProduct,    // d = a * b + c: the operation is a TensorProduct's bits
  kTranspose,  // of an 8x8 matrix of 16-bit elements: movmatrix
  kRows        // addresses of the rows that each lane has a part of: ldmatrix, stmatrix; a MatrixRows's bits
};
enum class TensorElement : uint32_t { kF16, kBF16, kTF32, kF32, kF64, kS4, kU4, kS8, kU8, kS32, kB1, kE4M3, kE5M2 };
struct TensorProduct {
  uint32_t m_tiles : 3 = 0, n_tiles : 3 = 0, k_tiles : 3 = 0;  // see tensor.h; k_tiles 0: of quads
  TensorElement a : 4 = {}, b : 4 = {}, c : 4 = {}, d : 4 = {};
  uint32_t saturates : 1 = 0;  // integers: else they wrap
  uint32_t ands : 1 = 0;       // of bits: what is counted is a & b, else a ^ b
  uint32_t sparse : 1 = 0;     // a has half of each row, and metadata say which
  uint32_t selector : 2 = 0;   // whose metadata count
  uint32_t a_columns : 1 = 0;  // of quads: a by columns, b by rows
  uint32_t b_rows : 1 = 0;
};
struct MatrixRows {
  uint8_t matrices = 0;  // 1, 2 or 4
  uint8_t words = 0;     // of an address
  bool transposed = false;
  uint8_t unused = 0;
};

// What compiled code calls. The runtime defines them (soft/executor.cc); those that take a ThreadContext may suspend
// the calling thread and only appear in kSuspendable kernels. None returns after a trap.
extern "C" {
// barrier.sync id, threads (0 = the whole block). bar.sync, barrier.sync, barrier.cta.
void wharf_barrier_sync(ThreadContext* thread, uint32_t id, uint32_t threads);
void wharf_barrier_arrive(ThreadContext* thread, uint32_t id, uint32_t threads);
// barrier.red: popc / and / or of `predicate` over the participants.
uint32_t wharf_barrier_reduce(ThreadContext* thread, uint32_t id, uint32_t threads, uint32_t op, uint32_t predicate);
// Warp collectives. `mask` names the participating lanes; lanes that have exited do not hold the others up.
void wharf_warp_sync(ThreadContext* thread, uint32_t mask);
// Returns the value; *in_range (may be null) gets shfl's predicate. `clamp` is shfl's operand c.
uint32_t wharf_shuffle(ThreadContext* thread, uint32_t mode, uint32_t value, uint32_t lane_operand, uint32_t clamp,
                       uint32_t mask, uint32_t* in_range);
uint32_t wharf_vote(ThreadContext* thread, uint32_t mode, uint32_t predicate, uint32_t mask);
uint32_t wharf_match_any(ThreadContext* thread, uint64_t value, uint32_t mask);
uint32_t wharf_match_all(ThreadContext* thread, uint64_t value, uint32_t mask, uint32_t* predicate);
// redux.sync on 32-bit values; min and max compare signed if `is_signed`.
uint32_t wharf_redux(ThreadContext* thread, uint32_t op, uint32_t is_signed, uint32_t value, uint32_t mask);
// What `function` does with the lanes' `registers`: its inputs, then, from the first on, its results. All lanes of the
// warp must come.
void wharf_tensor(ThreadContext* thread, uint32_t function, uint32_t operation, uint32_t* registers);
// The same for a warp whose lanes are all here: registers[32 * i + lane]. Suspends nobody.
void wharf_tensor_lanes(uint32_t function, uint32_t operation, uint32_t* registers);
// The lanes of the warp that arrive at this activemask (`site`) before none of them can go on otherwise.
uint32_t wharf_active_mask(ThreadContext* thread, uint32_t site);
// Lets the other threads of the block run: spin loops and nanosleep.
void wharf_yield(ThreadContext* thread);

// vprintf: `format` and `arguments` are generic addresses; arguments are packed with natural alignment, floats as
// doubles. Returns the number of arguments, negative on error.
int32_t wharf_vprintf(BlockContext* block, uint64_t format, uint64_t arguments);
[[noreturn]] void wharf_assert_fail(BlockContext* block, const uint32_t* tid, uint64_t message, uint64_t file,
                                    uint32_t line, uint64_t function);
[[noreturn]] void wharf_trap(BlockContext* block, uint32_t kind);
// Device-side malloc/free (the device heap). Null when full.
uint64_t wharf_malloc(BlockContext* block, uint64_t bytes);
void wharf_free(BlockContext* block, uint64_t address);
// Launches by kernels (child_launches.h): where the parameters go, 0 if it cannot be; then CUDA's error code of the
// launch, and of the last one that failed.
uint64_t wharf_prepare_child(BlockContext* block, uint64_t kernel, uint32_t grid_x, uint32_t grid_y, uint32_t grid_z,
                             uint32_t block_x, uint32_t block_y, uint32_t block_z, uint32_t shared_bytes);
uint32_t wharf_launch_child(BlockContext* block, uint64_t prepared, uint64_t stream);
uint32_t wharf_copy_for_kernel(BlockContext* block, uint64_t to, uint64_t from, uint64_t bytes, uint64_t stream);
uint32_t wharf_fill_for_kernel(BlockContext* block, uint64_t to, uint32_t value, uint64_t bytes, uint64_t stream);
uint32_t wharf_child_error(BlockContext* block, uint32_t take);
uint64_t wharf_error_text(BlockContext* block, uint32_t error);
// tex, tld4, txq, suq, suld, sust. Handles are looked up: kIllegalAddress if there is no such texture or surface.
// `layer` is 0 of images without. See FetchTexel, LevelByGradients, GatherTexels, QueryImage and FindInSurface.
TexelBits wharf_texture_fetch(BlockContext* block, uint64_t texture, uint32_t fetch, uint32_t layer, uint32_t x,
                              uint32_t y, uint32_t z);  // of level 0
TexelBits wharf_texture_fetch_level(BlockContext* block, uint64_t texture, uint32_t fetch, uint32_t layer, uint32_t x,
                                    uint32_t y, uint32_t z, float level);
float wharf_texture_level(BlockContext* block, uint64_t texture, uint32_t fetch, uint32_t x, uint32_t y, uint32_t z,
                          float xdx, float ydx, float zdx, float xdy, float ydy, float zdy);
TexelBits wharf_texture_gather(BlockContext* block, uint64_t texture, uint32_t fetch, uint32_t layer, uint32_t x,
                               uint32_t y, uint32_t z);
uint32_t wharf_image_query(BlockContext* block, uint64_t image, uint32_t query, uint32_t is_surface);
TexelBits wharf_surface_load(BlockContext* block, uint64_t surface, uint32_t access, uint32_t layer, uint32_t x,
                             uint32_t y, uint32_t z);
void wharf_surface_store(BlockContext* block, uint64_t surface, uint32_t access, uint32_t layer, uint32_t x, uint32_t y,
                         uint32_t z, uint64_t low, uint64_t high);
// Of checked kernels, before an access to memory that other threads may see: `access` is the bits of a check::Access,
// `site` its instruction's number, `low` and `high` the bits of what is written.
void wharf_check_access(ThreadContext* thread, uint64_t address, uint32_t access, uint32_t site, uint64_t low,
                        uint64_t high);
uint64_t wharf_clock();         // %clock64
uint64_t wharf_global_timer();  // %globaltimer, ns
}

}  // namespace wharf::device::soft
