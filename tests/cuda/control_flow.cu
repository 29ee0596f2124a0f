// Branches, jump tables, loops, calls, recursion, function pointers, virtual functions, parameters by value.
#include "tests/cuda/harness.h"

using u32 = uint32_t;
using u64 = uint64_t;

// Each of these is plain C++ that host and device compile: the host's result is the reference.
#define BOTH __host__ __device__

BOTH static u32 JumpTable(u32 op, u32 a, u32 b) {
  switch (op % 12) {
    case 0:
      return a + b;
    case 1:
      return a - b;
    case 2:
      return a * b;
    case 3:
      return a ^ b;
    case 4:
      return a & ~b;
    case 5:
      return (a << 3) | (b >> 5);
    case 6:
      return b ? a / b : 1;
    case 7:
      a += 3;  // falls through
    case 8:
      a *= 5;
      break;
    case 9:
      return a > b ? a : b;
    default:
      b ^= 0x5555;
  }
  return a + b * 7;
}
ELEMENTWISE(jump_table, u32, u32, JumpTable(a, b, c), JumpTable(a, b, c))

__device__ u32 BranchIndexed(u32 index, u32 x) {
  u32 d;
  asm volatile(
      "{\n\t.reg .u32 i;\n\tmin.u32 i, %1, 3;\n\tts: .branchtargets L0, L1, L2, L3;\n\tbrx.idx i, ts;\n\t"
      "L0: add.u32 %0, %2, 10;\n\tbra DONE;\n\tL1: mul.lo.u32 %0, %2, 3;\n\tbra DONE;\n\t"
      "L2: xor.b32 %0, %2, 255;\n\tbra DONE;\n\tL3: neg.s32 %0, %2;\n\tDONE:\n\t}"
      : "=r"(d)
      : "r"(index), "r"(x));
  return d;
}
__global__ void BranchIndexedKernel(const u32* a, const u32* b, u32* out) {
  out[threadIdx.x] = BranchIndexed(a[threadIdx.x] % 6, b[threadIdx.x]);
}
CASE(brx_idx) {
  const std::vector<u32> a = harness::Inputs<u32>(64, 3), b = harness::Inputs<u32>(64, 5);
  Buffer<u32> da(a), db(b), out(64);
  BranchIndexedKernel<<<1, 64>>>(da, db, out);
  std::vector<u32> want(64);
  for (int i = 0; i < 64; ++i) {
    const u32 x = b[i], results[4] = {x + 10, x * 3, x ^ 255, -x};
    want[i] = results[std::min(a[i] % 6, 3u)];
  }
  EXPECT_SAME(out.Get(), want);
}

BOTH static u32 Collatz(u32 n) {
  u32 steps = 0;
  n = n % 10000 + 1;
  while (n != 1 && steps < 500) {
    n = n & 1 ? 3 * n + 1 : n / 2;
    ++steps;
  }
  return steps;
}
ELEMENTWISE(divergent_while, u32, u32, Collatz(a), Collatz(a))

BOTH static u32 NestedLoops(u32 a, u32 b) {
  u32 sum = 0;
  for (u32 i = 0; i < a % 20; ++i) {
    if (i % 3 == 2) continue;
    for (u32 j = i; j < b % 30; ++j) {
      if ((i * j) % 11 == 7) break;
      u32 k = j;
      do {
        sum += k ^ i;
        if (sum > 5000) goto out;
      } while (k-- > i + 4);
    }
    if (sum % 17 == 3) sum += 100;
  }
out:
  return sum;
}
ELEMENTWISE(nested_loops, u32, u32, NestedLoops(a, b), NestedLoops(a, b))

// Two loops that jump into each other: no structured form.
BOTH static u32 Irreducible(u32 a, u32 b) {
  u32 n = a % 40, s = b;
  if (b & 1) goto middle;
top:
  s = s * 3 + 1;
  if (n-- == 0) return s;
middle:
  s ^= n;
  if (n-- == 0) return s + 1;
  if (s & 4) goto middle;
  goto top;
}
ELEMENTWISE(irreducible_loop, u32, u32, Irreducible(a, b), Irreducible(a, b))

BOTH static u32 ShortCircuit(u32 a, u32 b, u32 c) {
  return (a > b && b > c) || (a < 100 && c % 3) || !(b & 4) ? (a > c ? b : a & c) : (b == c || a == 7 ? 11 : a - b);
}
ELEMENTWISE(short_circuits, u32, u32, ShortCircuit(a, b, c), ShortCircuit(a, b, c))

BOTH static u64 Gcd(u64 a, u64 b) {
  while (b) {
    const u64 t = a % b;
    a = b, b = t;
  }
  return a;
}
ELEMENTWISE(gcd, u64, u64, Gcd(a, b), Gcd(a, b))

#ifdef __CUDA_ARCH__
#define NOINLINE __noinline__
#else
#define NOINLINE
#endif
BOTH NOINLINE static u32 Fibonacci(u32 n) { return n < 2 ? n : Fibonacci(n - 1) + Fibonacci(n - 2); }
BOTH NOINLINE static u32 Ackermann(u32 m, u32 n) {
  if (m == 0) return n + 1;
  if (n == 0) return Ackermann(m - 1, 1);
  return Ackermann(m - 1, Ackermann(m, n - 1));
}
BOTH static bool IsOdd(u32 n);
BOTH NOINLINE static bool IsEven(u32 n) { return n == 0 || IsOdd(n - 1); }
BOTH NOINLINE static bool IsOdd(u32 n) { return n != 0 && IsEven(n - 1); }
ELEMENTWISE(recursion, u32, u32, Fibonacci(a % 13) + Ackermann(b % 3, c % 5),
            Fibonacci(a % 13) + Ackermann(b % 3, c % 5))
ELEMENTWISE(mutual_recursion, u32, u32, IsEven(a % 50) + 2 * IsOdd(b % 31), IsEven(a % 50) + 2 * IsOdd(b % 31))

struct Node {
  int value, left, right;
};
BOTH NOINLINE static int TreeSum(const Node* nodes, int root, int depth) {
  if (root < 0) return 0;
  int here[3] = {nodes[root].value, 0, 0};
  here[1] = TreeSum(nodes, nodes[root].left, depth + 1);
  here[2] = TreeSum(nodes, nodes[root].right, depth + 1);
  return here[0] * depth + here[1] - here[2] + here[depth % 3];
}
__global__ void TreeKernel(const Node* nodes, int* out) { out[threadIdx.x] = TreeSum(nodes, int(threadIdx.x), 1); }
CASE(recursion_over_a_tree) {
  std::vector<Node> nodes(31);
  for (int i = 0; i < 31; ++i)
    nodes[i] = {i * 3 - 40, 2 * i + 1 < 31 ? 2 * i + 1 : -1, 2 * i + 2 < 31 ? 2 * i + 2 : -1};
  Buffer<Node> device(nodes);
  Buffer<int> out(31);
  TreeKernel<<<1, 31>>>(device, out);
  std::vector<int> want;
  for (int i = 0; i < 31; ++i) want.push_back(TreeSum(nodes.data(), i, 1));
  EXPECT_SAME(out.Get(), want);
}

using Function = u32 (*)(u32, u32);
__device__ u32 AddF(u32 a, u32 b) { return a + b; }
__device__ u32 MulF(u32 a, u32 b) { return a * b; }
__device__ u32 XorF(u32 a, u32 b) { return a ^ (b << 1); }
__device__ Function function_table[3] = {AddF, MulF, XorF};
__constant__ Function constant_table[2] = {MulF, AddF};
static u32 FunctionHost(u32 which, u32 a, u32 b) { return which == 0 ? a + b : which == 1 ? a * b : a ^ (b << 1); }
ELEMENTWISE(function_pointers, u32, u32, function_table[a % 3](b, c) + constant_table[a % 2](c, b),
            FunctionHost(a % 3, b, c) + FunctionHost((a + 1) % 2, c, b))
__global__ void ChosenOnHost(Function f, u32* out) { out[threadIdx.x] = f(threadIdx.x, 7); }
__device__ Function exported = XorF;
CASE(function_pointer_as_argument) {
  Function f = nullptr;
  CUDA_OK(cudaMemcpyFromSymbol(&f, exported, sizeof(f)));
  Buffer<u32> out(32);
  ChosenOnHost<<<1, 32>>>(f, out);
  std::vector<u32> want;
  for (u32 t = 0; t < 32; ++t) want.push_back(t ^ 14);
  EXPECT_SAME(out.Get(), want);
}

struct Shape {
  __device__ virtual float Area() const = 0;
  __device__ virtual float Scaled(float by) const { return Area() * by; }
  __device__ virtual ~Shape() {}
};
struct Square : Shape {
  float side;
  __device__ explicit Square(float s) : side(s) {}
  __device__ float Area() const override { return side * side; }
};
struct Box : Square {
  float height;
  __device__ Box(float s, float h) : Square(s), height(h) {}
  __device__ float Scaled(float by) const override { return side * height * by; }
};
__global__ void Virtuals(const float* in, float* out, int n) {
  const int t = int(threadIdx.x);
  if (t >= n) return;
  Square square(in[t]);
  Box box(in[t], 3);
  const Shape* shape = t % 2 ? static_cast<const Shape*>(&square) : &box;
  out[t] = shape->Scaled(2) + shape->Area();
}
CASE(virtual_functions) {
  std::vector<float> in(40), want(40);
  for (int i = 0; i < 40; ++i) in[i] = float(i), want[i] = (i % 2 ? 2.0f * i * i : 6.0f * i) + float(i * i);
  Buffer<float> device(in), out(40);
  Virtuals<<<1, 40>>>(device, out, 40);
  EXPECT_SAME(out.Get(), want);
}

template <class F>
__global__ void Apply(F f, int* out) {
  out[threadIdx.x] = f(int(threadIdx.x));
}
struct Polynomial {
  int c[5];
  __device__ int operator()(int x) const {
    int y = 0;
    for (int i = 4; i >= 0; --i) y = y * x + c[i];
    return y;
  }
};
CASE(functor_argument) {
  Buffer<int> out(32);
  Apply<<<1, 32>>>(Polynomial{{1, -2, 3, -4, 5}}, out.get());
  std::vector<int> want;
  for (int x = 0; x < 32; ++x) want.push_back(1 - 2 * x + 3 * x * x - 4 * x * x * x + 5 * x * x * x * x);
  EXPECT_SAME(out.Get(), want);
}

struct Mixed {
  signed char c;
  double d;
  short s[3];
  long long l;
  float f;
};
__global__ void Parameters(signed char a, short b, int c, long long d, float e, double f, bool g, Mixed m, const int* p,
                           unsigned char h, double* out) {
  out[0] = a, out[1] = b, out[2] = c, out[3] = double(d), out[4] = e, out[5] = f, out[6] = g, out[7] = m.c,
  out[8] = m.d;
  out[9] = m.s[2], out[10] = double(m.l), out[11] = m.f, out[12] = *p, out[13] = h;
}
CASE(parameters_of_every_type) {
  Buffer<int> number(std::vector<int>{99});
  Buffer<double> out(14);
  Parameters<<<1, 1>>>(-5, -300, 1 << 30, 1ll << 40, 0.25f, 1e-3, true, Mixed{7, 2.5, {1, 2, 3}, -(1ll << 45), 8.5f},
                       number, 200, out);
  EXPECT_SAME(out.Get(), (std::vector<double>{-5, -300, double(1 << 30), double(1ll << 40), 0.25, 1e-3, 1, 7, 2.5, 3,
                                              -double(1ll << 45), 8.5, 99, 200}));
}
struct Large {
  int values[1000];
};
__global__ void LargeParameter(Large large, int index, int* out) { *out = large.values[index] + large.values[999]; }
CASE(large_parameter) {
  Large large;
  for (int i = 0; i < 1000; ++i) large.values[i] = i * i;
  Buffer<int> out(1);
  LargeParameter<<<1, 1>>>(large, 321, out);
  EXPECT_EQ(out.Get()[0], 321 * 321 + 999 * 999);
}
BOTH NOINLINE static Mixed Change(Mixed m, int by) {
  m.d += by, m.s[by % 3] = short(by), m.l *= by, m.c = char(m.c + 1);
  return m;
}
__global__ void StructsByValue(double* out) {
  Mixed m = {1, 2, {3, 4, 5}, 6, 7};
  for (int i = 0; i < 4; ++i) m = Change(m, int(threadIdx.x) + i);
  out[threadIdx.x] = m.c + m.d + m.s[0] * 10 + m.s[1] * 100 + m.s[2] * 1000 + double(m.l) + m.f;
}
CASE(structs_through_calls) {
  Buffer<double> out(20);
  StructsByValue<<<1, 20>>>(out);
  std::vector<double> want;
  for (int t = 0; t < 20; ++t) {
    Mixed m = {1, 2, {3, 4, 5}, 6, 7};
    for (int i = 0; i < 4; ++i) m = Change(m, t + i);
    want.push_back(m.c + m.d + m.s[0] * 10 + m.s[1] * 100 + m.s[2] * 1000 + double(m.l) + m.f);
  }
  EXPECT_SAME(out.Get(), want);
}
// An interpreter: data-dependent control in every thread.
BOTH static int Interpret(const unsigned char* code, int x) {
  int stack[8] = {x}, top = 0, pc = 0;
  for (int fuel = 0; fuel < 300; ++fuel) {
    switch (code[pc++]) {
      case 0:
        return stack[top];
      case 1:
        if (top < 7) ++top;
        stack[top] = code[pc++];
        break;
      case 2:
        if (top > 0) --top;
        stack[top] += stack[top + 1];
        break;
      case 3:
        if (top > 0) --top;
        stack[top] *= stack[top + 1];
        break;
      case 4:
        if (top < 7) ++top;
        stack[top] = stack[top - 1];
        break;
      case 5:
        if (stack[top] % 2)
          pc = code[pc];
        else
          ++pc;
        break;
      case 6:
        stack[top] /= 2;
        break;
      case 7:
        if (stack[top] > 1)
          pc = code[pc];
        else
          ++pc;
        break;
      default:
        return -1;
    }
  }
  return stack[top];
}
__global__ void InterpretKernel(const unsigned char* code, int* out) {
  out[threadIdx.x] = Interpret(code, int(threadIdx.x) + 1);
}
CASE(bytecode_interpreter) {
  // x is halved while even, then 3x + 1, until it is 1; the result counts nothing but must end alike.
  const std::vector<unsigned char> code = {5, 6, 6, 7, 0, 9, 1, 3, 3, 1, 1, 2, 7, 0, 0};
  Buffer<unsigned char> device(code);
  Buffer<int> out(100);
  InterpretKernel<<<1, 100>>>(device, out);
  std::vector<int> want;
  for (int t = 0; t < 100; ++t) want.push_back(Interpret(code.data(), t + 1));
  EXPECT_SAME(out.Get(), want);
}
__global__ void GridStride(const int* in, long long* out, int n) {
  long long sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += (long long)in[i] * i;
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
CASE(grid_stride_loop) {
  std::vector<int> in(10000);
  for (int i = 0; i < 10000; ++i) in[i] = i % 100 - 50;
  Buffer<int> device(in);
  Buffer<long long> out(7 * 33);
  GridStride<<<7, 33>>>(device, out, 10000);
  std::vector<long long> want(7 * 33);
  for (int i = 0; i < 10000; ++i) want[i % (7 * 33)] += (long long)in[i] * i;
  EXPECT_SAME(out.Get(), want);
}
