// Kernels of the random CUDA programs (random_cuda_program.h). After a change run wharf/device/testing/make_kernels.sh.
//
// All take the same parameters: `a` is what they write, `n` a number of words. The comments say what a server that runs
// ahead has to know about them.
#include <cstdio>

__device__ unsigned variable = 3;
__device__ unsigned* target = nullptr;

#define KERNEL(name) \
  extern "C" __global__ void name(unsigned* a, const unsigned* b, const unsigned* c, unsigned n, unsigned k)
#define INDEX (blockIdx.x * blockDim.x + threadIdx.x)

// In place: running it twice is not running it once.
KERNEL(accumulate) {
  if (INDEX < n) a[INDEX] += b[INDEX];
}

KERNEL(axpy) {
  if (INDEX < n) a[INDEX] = k * b[INDEX] + c[INDEX];
}

KERNEL(copy_words) {
  if (INDEX < n) a[INDEX] = b[INDEX];
}

// Every thread on one word.
KERNEL(count) {
  if (INDEX < n) atomicAdd(a, b[INDEX] & 0xff);
}

// Where it writes depends on memory.
KERNEL(histogram) {
  if (INDEX < n) atomicAdd(&a[b[INDEX] % n], k);
}

// Where it reads depends on memory, where it writes does not.
KERNEL(gather) {
  if (INDEX < n) a[INDEX] = c[b[INDEX] % n] + k;
}

// Writes a part that a parameter places, and leaves the rest.
KERNEL(write_at) {
  if (INDEX < n && INDEX % 8 == k % 8) a[INDEX] = INDEX ^ k;
}

KERNEL(bump_variable) {
  if (INDEX == 0) variable = variable * 5 + k;
}

KERNEL(read_variable) {
  if (INDEX < n) a[INDEX] = variable + INDEX;
}

// Shared memory and a barrier; each block turns its part around.
KERNEL(reverse) {
  __shared__ unsigned shared[64];
  const unsigned size = min(blockDim.x, n - blockIdx.x * blockDim.x);
  if (INDEX < n) shared[threadIdx.x] = a[INDEX];
  __syncthreads();
  if (INDEX < n) a[INDEX] = shared[size - 1 - threadIdx.x] + k;
}

// How long it takes depends on memory.
KERNEL(iterate) {
  if (INDEX >= n) return;
  unsigned value = a[INDEX];
  for (unsigned i = b[0] % 16; i > 0; --i) value = value * 1664525 + k;
  a[INDEX] = value;
}

// Goes astray if memory says so: the program looks first (OpKind::kToss). A server that runs ahead does not.
KERNEL(toss) {
  if (INDEX == 0) a[(b[0] & 1) != 0 ? 200000 + b[0] % 64 : b[0] % n] = k;
}

// Prints, which cannot be undone.
KERNEL(say) {
  if (INDEX == 0) printf("%u %u\n", k, b[0]);
}

// Faults if memory says so, which cannot be undone either.
KERNEL(check) {
  if (INDEX < n && b[INDEX] == k) asm volatile("trap;");
  if (INDEX < n) a[INDEX] ^= k;
}

// Where the second of them writes, the first one decided.
KERNEL(aim) {
  if (INDEX == 0) target = a;
}

KERNEL(shoot) {
  if (INDEX < n && target != nullptr) target[INDEX] += k;
}

// Always faults.
KERNEL(poke) { *reinterpret_cast<volatile unsigned*>(k % 64) = n; }
