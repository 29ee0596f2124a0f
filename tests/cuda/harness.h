// A tiny test harness for CUDA programs. Each program registers cases, runs them in order and prints
//     name: ok <hash of the device's results>
//     name: FAILED
// and at the end "N passed, M failed". The hashes let the same program's runs be compared: they do not depend on how
// the device was reached. Exit status: 0 all passed, 1 something failed, 77 no device.
//
//     CASE(doubles) { EXPECT_EQ(…); }
//     ELEMENTWISE(adds, int, int, a + b, a + b)   // out, in, on the device, on the host
//
// Usage: program [--only NAME] [--list] [--child NAME]
#pragma once

#include <cuda_runtime.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "cuda_12.h"

namespace harness {

struct Case {
  const char* name;
  void (*run)();
  bool child;
};

inline std::vector<Case>& Cases() {
  static std::vector<Case> cases;
  return cases;
}

struct State {
  bool failed = false;
  int messages = 0;
  uint64_t hash = 1469598103934665603u;
};

inline State& Current() {
  static State state;
  return state;
}

struct Registrar {
  Registrar(const char* name, void (*run)(), bool child = false) { Cases().push_back({name, run, child}); }
};

inline void Fail(const char* file, int line, const std::string& what) {
  Current().failed = true;
  if (Current().messages++ < 5)
    std::printf("  %s:%d: %s\n", std::strrchr(file, '/') ? std::strrchr(file, '/') + 1 : file, line, what.c_str());
}

// Adds results of the device to the case's hash.
inline void Hash(const void* data, size_t bytes) {
  const auto* p = static_cast<const unsigned char*>(data);
  for (size_t i = 0; i < bytes; ++i) Current().hash = (Current().hash ^ p[i]) * 1099511628211u;
}

template <class T>
std::string Show(const T& value) {
  if constexpr (std::is_floating_point_v<T>) {
    char text[64];
    std::snprintf(text, sizeof(text), "%.17g (%a)", double(value), double(value));
    return text;
  } else if constexpr (std::is_enum_v<T>) {
    return std::to_string(static_cast<long long>(value));
  } else if constexpr (std::is_pointer_v<T>) {
    return std::to_string(reinterpret_cast<uintptr_t>(value));
  } else if constexpr (std::is_integral_v<T>) {
    return std::to_string(value);
  } else {
    return value;
  }
}

inline void CheckCuda(cudaError_t status, const char* call, const char* file, int line) {
  if (status != cudaSuccess) Fail(file, line, std::string(call) + ": " + cudaGetErrorName(status));
}

template <class A, class B>
void ExpectEqual(const A& got, const B& want, const char* text, const char* file, int line) {
  if (!(got == static_cast<A>(want)))
    Fail(file, line, std::string(text) + ": got " + Show(got) + ", want " + Show(static_cast<A>(want)));
}

// Deterministic pseudo-random numbers.
class Random {
 public:
  explicit Random(uint64_t seed = 1) : state_(seed) {}
  uint64_t Next() {
    uint64_t z = (state_ += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  int Below(int n) { return int(Next() % uint64_t(n)); }
  double Uniform() { return double(Next() >> 11) * 0x1p-53; }

 private:
  uint64_t state_;
};

// Memory on the device, freed with the object.
template <class T>
class Buffer {
 public:
  explicit Buffer(size_t count) : count_(count) {
    CheckCuda(cudaMalloc(&data_, sizeof(T) * (count ? count : 1)), "cudaMalloc", __FILE__, __LINE__);
    CheckCuda(cudaMemset(data_, 0, sizeof(T) * count), "cudaMemset", __FILE__, __LINE__);
  }
  explicit Buffer(const std::vector<T>& host) : Buffer(host.size()) { Set(host); }
  ~Buffer() { cudaFree(data_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  void Set(const std::vector<T>& host) {
    CheckCuda(cudaMemcpy(data_, host.data(), sizeof(T) * host.size(), cudaMemcpyHostToDevice), "copy in", __FILE__,
              __LINE__);
  }
  // Waits for the device; adds the contents to the case's hash.
  std::vector<T> Get() const {
    std::vector<T> host(count_);
    CheckCuda(cudaMemcpy(host.data(), data_, sizeof(T) * count_, cudaMemcpyDeviceToHost), "copy out", __FILE__,
              __LINE__);
    Hash(host.data(), sizeof(T) * count_);
    return host;
  }
  T* get() const { return data_; }
  operator T*() const { return data_; }
  size_t size() const { return count_; }

 private:
  T* data_ = nullptr;
  size_t count_ = 0;
};

// How far apart two numbers are in units of the last place; 0 for two NaNs.
template <class T>
double UlpDistance(T a, T b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b) ? 0 : 1e30;
  if (a == b) return 0;
  if (std::isinf(a) || std::isinf(b)) return 1e30;
  using Bits = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
  Bits x, y;
  std::memcpy(&x, &a, sizeof(T)), std::memcpy(&y, &b, sizeof(T));
  const auto ordered = [](Bits v) { return __int128(v < 0 ? -(v & std::numeric_limits<Bits>::max()) : v); };
  const __int128 distance = ordered(x) - ordered(y);
  return double(distance < 0 ? -distance : distance);
}

template <class T>
bool Same(const T& got, const T& want, double ulps) {
  if constexpr (std::is_floating_point_v<T>) {
    if (ulps > 0) return UlpDistance(got, want) <= ulps;
    if (std::isnan(got) && std::isnan(want)) return true;
  }
  return std::memcmp(&got, &want, sizeof(T)) == 0;
}

template <class T>
void ExpectSame(const std::vector<T>& got, const std::vector<T>& want, const char* file, int line, double ulps = 0) {
  if (got.size() != want.size()) return Fail(file, line, "sizes differ");
  for (size_t i = 0; i < got.size(); ++i)
    if (!Same(got[i], want[i], ulps)) {
      if constexpr (std::is_arithmetic_v<T>)
        Fail(file, line, "element " + std::to_string(i) + ": got " + Show(got[i]) + ", want " + Show(want[i]));
      else
        Fail(file, line, "element " + std::to_string(i) + " differs");
      return;
    }
}

// Inputs that hit the corners of a type, then random ones.
template <class T>
std::vector<T> Inputs(size_t count, uint64_t seed) {
  using L = std::numeric_limits<T>;
  std::vector<T> out;
  if constexpr (std::is_floating_point_v<T>) {
    for (T v : {T(0),
                -T(0),
                T(1),
                T(-1),
                T(0.5),
                T(1.5),
                T(2.5),
                T(-2.5),
                T(1e-3),
                L::max(),
                L::lowest(),
                L::min(),
                L::denorm_min(),
                L::infinity(),
                -L::infinity(),
                L::quiet_NaN(),
                T(2147483648.0),
                T(-2147483648.0),
                T(4294967296.0),
                T(1e10),
                T(-1e20)})
      out.push_back(v);
  } else {
    for (T v : {T(0), T(1), T(-1), L::max(), L::min(), T(2), T(3), T(7), T(31), T(32), T(33), T(64), T(L::max() - 1),
                T(L::min() + 1)})
      out.push_back(v);
  }
  Random random(seed);
  // Corners meet other corners: each input vector starts with another one.
  std::rotate(out.begin(), out.begin() + long(seed % out.size()), out.end());
  const std::vector<T> corners = out;
  for (size_t i = 0; i < corners.size(); ++i) out.push_back(corners[i * seed % corners.size()]);
  while (out.size() < count) {
    const uint64_t bits = random.Next();
    if constexpr (std::is_floating_point_v<T>) {
      const double value = (random.Uniform() * 2 - 1) * std::pow(2.0, random.Below(40) - 20);
      out.push_back(bits % 4 ? T(value) : T(int64_t(bits) >> (32 + bits % 24)));
    } else {
      out.push_back(T(bits >> (bits % 3 ? 0 : random.Below(60))));
    }
  }
  out.resize(count);
  return out;
}

#ifdef __CUDACC__  // programs without kernels are compiled by the host's compiler
template <class Out, class In>
void RunElementwise(void (*kernel)(const In*, const In*, const In*, Out*, int), Out (*reference)(In, In, In),
                    double ulps, const char* file, int line, std::vector<In> (*make)(size_t, uint64_t) = Inputs<In>) {
  constexpr int kCount = 1000;
  const std::vector<In> a = make(kCount, 3), b = make(kCount, 5), c = make(kCount, 11);
  Buffer<In> da(a), db(b), dc(c);
  Buffer<Out> out(kCount);
  kernel<<<(kCount + 127) / 128, 128>>>(da, db, dc, out, kCount);
  CheckCuda(cudaGetLastError(), "launch", file, line);
  const std::vector<Out> got = out.Get();
  for (int i = 0; i < kCount; ++i) {
    const Out want = reference(a[i], b[i], c[i]);
    if (Same(got[i], want, ulps)) continue;
    Fail(file, line,
         "of " + Show(a[i]) + ", " + Show(b[i]) + ", " + Show(c[i]) + ": got " + Show(got[i]) + ", want " + Show(want));
    return;
  }
}
#endif

struct ChildResult {
  int status = -1;  // exit status, or -signal
  std::string output;
};

// Runs this program's CHILD(name) in a process of its own, for tests that end with a broken context, by the words of
// HARNESS_EMULATOR where the system cannot.
inline ChildResult RunChild(const std::string& name) {
  char self[4096];
  const ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
  self[length > 0 ? length : 0] = 0;
  ChildResult result;
  std::fflush(stdout);
  const char* emulator = getenv("HARNESS_EMULATOR");
  const std::string before = emulator != nullptr ? std::string(emulator) + " " : "";
  FILE* pipe = popen((before + "'" + self + "' --child " + name + " 2>&1").c_str(), "r");
  if (!pipe) return result;
  char text[4096];
  for (size_t n; (n = fread(text, 1, sizeof(text), pipe)) > 0;) result.output.append(text, n);
  const int status = pclose(pipe);
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  return result;
}

inline int Main(int argc, char** argv) {
  std::string only, child;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--only" && i + 1 < argc)
      only = argv[++i];
    else if (argument == "--child" && i + 1 < argc)
      child = argv[++i];
    else if (argument == "--list") {
      for (const Case& c : Cases())
        if (!c.child) std::printf("%s\n", c.name);
      return 0;
    } else {
      std::fprintf(stderr, "usage: %s [--only NAME] [--list]\n", argv[0]);
      return 2;
    }
  }
  if (child.empty()) {
    int devices = 0;
    const cudaError_t status = cudaGetDeviceCount(&devices);
    if (status == cudaErrorNoDevice || status == cudaErrorInsufficientDriver ||
        (status == cudaSuccess && devices == 0)) {
      std::printf("skipped: no CUDA device (%s)\n", cudaGetErrorName(status));
      return 77;
    }
  }
  int passed = 0, failed = 0;
  for (const Case& c : Cases()) {
    if (c.child != !child.empty() || (c.child && child != c.name) || (!only.empty() && only != c.name)) continue;
    Current() = State();
    c.run();
    if (c.child) return Current().failed ? 1 : 0;
    const cudaError_t rest = cudaDeviceSynchronize();
    if (rest != cudaSuccess) Fail(c.name, 0, std::string("the device was left with ") + cudaGetErrorName(rest));
    if (Current().failed) {
      std::printf("%s: FAILED\n", c.name);
    } else {
      std::printf("%s: ok %016llx\n", c.name, static_cast<unsigned long long>(Current().hash));
    }
    std::fflush(stdout);
    ++(Current().failed ? failed : passed);
  }
  std::printf("%d passed, %d failed\n", passed, failed);
  return failed || passed == 0 ? 1 : 0;
}

}  // namespace harness

using harness::Buffer;

#define CASE(name)                                                      \
  static void name##_case();                                            \
  static const harness::Registrar name##_registrar(#name, name##_case); \
  static void name##_case()

// The body of a process that RunChild("name") starts.
#define CHILD(name)                                                                  \
  static void name##_child();                                                        \
  static const harness::Registrar name##_child_registrar(#name, name##_child, true); \
  static void name##_child()

#define EXPECT(condition)                                            \
  do {                                                               \
    if (!(condition)) harness::Fail(__FILE__, __LINE__, #condition); \
  } while (0)
#define EXPECT_EQ(got, want) harness::ExpectEqual((got), (want), #got, __FILE__, __LINE__)
#define EXPECT_SAME(got, want) harness::ExpectSame((got), (want), __FILE__, __LINE__)
#define EXPECT_NEAR_ULP(got, want, ulps) harness::ExpectSame((got), (want), __FILE__, __LINE__, (ulps))
#define CUDA_OK(call) harness::CheckCuda((call), #call, __FILE__, __LINE__)

// A kernel out[i] = on_device(a[i], b[i], c[i]), compared bit by bit (NaNs are equal) with on_host; ELEMENTWISE_NEAR
// allows some units in the last place, ELEMENTWISE_OF takes another maker of inputs.
#define ELEMENTWISE_FULL(name, Out, In, on_device, on_host, ulps, make)                      \
  __global__ void name##_kernel(const In* pa, const In* pb, const In* pc, Out* out, int n) { \
    const int i = blockIdx.x * blockDim.x + threadIdx.x;                                     \
    if (i >= n) return;                                                                      \
    const In a = pa[i], b = pb[i], c = pc[i];                                                \
    (void)a, (void)b, (void)c;                                                               \
    out[i] = Out(on_device);                                                                 \
  }                                                                                          \
  static Out name##_reference(In a, In b, In c) {                                            \
    (void)a, (void)b, (void)c;                                                               \
    return Out(on_host);                                                                     \
  }                                                                                          \
  CASE(name) { harness::RunElementwise<Out, In>(name##_kernel, name##_reference, ulps, __FILE__, __LINE__, make); }
#define ELEMENTWISE(name, Out, In, on_device, on_host) \
  ELEMENTWISE_FULL(name, Out, In, on_device, on_host, 0, harness::Inputs<In>)
#define ELEMENTWISE_NEAR(name, Out, In, on_device, on_host, ulps) \
  ELEMENTWISE_FULL(name, Out, In, on_device, on_host, ulps, harness::Inputs<In>)
#define ELEMENTWISE_OF(name, Out, In, make, on_device, on_host, ulps) \
  ELEMENTWISE_FULL(name, Out, In, on_device, on_host, ulps, make)

int main(int argc, char** argv) { return harness::Main(argc, argv); }
