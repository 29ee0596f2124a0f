// cuRAND's host API: numbers of every engine, ordering and distribution, on the device and on the host; where sequences
// go on; graphs; what wrong calls return. Sums that stand here are of what NVIDIA's library, 10.4.0, made on the host.
#include <curand.h>

#include "tests/cuda/harness.h"

#define RAND_OK(call) EXPECT_EQ(call, CURAND_STATUS_SUCCESS)

using Long = unsigned long long;

struct Generator {
  curandGenerator_t handle = nullptr;
  Generator(curandRngType_t type, bool host, Long seed = 0) {
    RAND_OK(host ? curandCreateGeneratorHost(&handle, type) : curandCreateGenerator(&handle, type));
    RAND_OK(curandSetPseudoRandomGeneratorSeed(handle, seed));
  }
  ~Generator() { RAND_OK(curandDestroyGenerator(handle)); }
  Generator(const Generator&) = delete;
  Generator& operator=(const Generator&) = delete;
  operator curandGenerator_t() const { return handle; }
};

static curandStatus_t Make(curandGenerator_t g, unsigned* out, size_t n) { return curandGenerate(g, out, n); }
static curandStatus_t Make(curandGenerator_t g, float* out, size_t n) { return curandGenerateUniform(g, out, n); }
static curandStatus_t Make(curandGenerator_t g, double* out, size_t n) {
  return curandGenerateUniformDouble(g, out, n);
}
static curandStatus_t Normal(curandGenerator_t g, float* out, size_t n) {
  return curandGenerateNormal(g, out, n, 1, 2);
}
static curandStatus_t Normal(curandGenerator_t g, double* out, size_t n) {
  return curandGenerateNormalDouble(g, out, n, 1, 2);
}
static curandStatus_t LogNormal(curandGenerator_t g, float* out, size_t n) {
  return curandGenerateLogNormal(g, out, n, -1, 0.5f);
}
static curandStatus_t LogNormal(curandGenerator_t g, double* out, size_t n) {
  return curandGenerateLogNormalDouble(g, out, n, -1, 0.5);
}

template <class T>
using Call = curandStatus_t (*)(curandGenerator_t, T*, size_t);

// What a generator gives in calls of these sizes, one behind the other.
template <class T>
std::vector<T> OnHost(curandGenerator_t g, Call<T> call, const std::vector<size_t>& sizes) {
  std::vector<T> all;
  for (size_t n : sizes) {
    std::vector<T> part(n);
    RAND_OK(call(g, part.data(), n));
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}
template <class T>
std::vector<T> OnDevice(curandGenerator_t g, Call<T> call, const std::vector<size_t>& sizes) {
  size_t count = 0;
  for (size_t n : sizes) count += n;
  harness::Buffer<T> out(count);
  size_t at = 0;
  for (size_t n : sizes) {
    RAND_OK(call(g, out.get() + at, n));
    at += n;
  }
  return out.Get();
}

template <class T>
Long SumOf(const std::vector<T>& values) {
  Long sum = 1469598103934665603u;
  for (const T& value : values) {
    unsigned char bytes[sizeof(T)];
    std::memcpy(bytes, &value, sizeof(T));
    for (unsigned char byte : bytes) sum = (sum ^ byte) * 1099511628211u;
  }
  return sum;
}

template <class T>
void ExpectSame(const std::vector<T>& got, const std::vector<T>& want, int line) {
  for (size_t i = 0; i < want.size(); ++i) {
    if (got[i] == want[i]) continue;
    harness::Fail(
        __FILE__, line,
        "element " + std::to_string(i) + ": got " + harness::Show(got[i]) + ", want " + harness::Show(want[i]));
    return;
  }
}
// Transcendental functions differ between devices and hosts, relative to what was scaled and shifted.
template <class T>
void ExpectNear(const std::vector<T>& got, const std::vector<T>& want, int line) {
  const double bound = sizeof(T) == 4 ? 0x1p-20 : 0x1p-46;
  for (size_t i = 0; i < want.size(); ++i) {
    if (std::abs(double(got[i]) - double(want[i])) <= bound * std::max(1.0, std::abs(double(want[i])))) continue;
    harness::Fail(
        __FILE__, line,
        "element " + std::to_string(i) + ": got " + harness::Show(got[i]) + ", want " + harness::Show(want[i]));
    return;
  }
}

struct Sums {
  curandRngType_t type;
  curandOrdering_t ordering;
  Long seed, bits, uniform, uniform_double;
};
// Calls of which most begin and end inside of a turn of the streams.
static const std::vector<size_t> kSizes = {1, 2, 3, 4090, 8192, 1, 100000, 257, 163842};
static const Sums kSums[] = {
    {CURAND_RNG_PSEUDO_DEFAULT, CURAND_ORDERING_PSEUDO_DEFAULT, 0, 0xb6c9a460766d87f1, 0x1675f3c6b3b9a218,
     0xf04b70989e3dbe01},
    {CURAND_RNG_PSEUDO_XORWOW, CURAND_ORDERING_PSEUDO_LEGACY, 0x123456789abcdef, 0x22ca309006900b6f, 0xde20d03664010a29,
     0xc5be10c300bf117d},
    {CURAND_RNG_PSEUDO_MRG32K3A, CURAND_ORDERING_PSEUDO_DEFAULT, 0, 0x78b06e336db6171b, 0x84c7aa94c1a2b1f5,
     0x91bb9ac4b13f73ce},
    {CURAND_RNG_PSEUDO_MRG32K3A, CURAND_ORDERING_PSEUDO_LEGACY, 0x123456789abcdef, 0x898f0698ee30c875,
     0x8fd70a70fb1101dc, 0x56f954c9236ca088},
    {CURAND_RNG_PSEUDO_PHILOX4_32_10, CURAND_ORDERING_PSEUDO_DEFAULT, 0, 0x966d096a7f4314c6, 0x6c72f255a16e01b,
     0x2779ab0c5607fbf5},
    {CURAND_RNG_PSEUDO_PHILOX4_32_10, CURAND_ORDERING_PSEUDO_BEST, 0x123456789abcdef, 0x75cfeee56ad09fff,
     0x532082e0309a5249, 0xf0ad6494d2d14e4f},
    {CURAND_RNG_PSEUDO_MTGP32, CURAND_ORDERING_PSEUDO_DEFAULT, 0, 0xcdd5027799493b8a, 0x1ba1d84b71e462c1,
     0x7bf03d225d70e450},
    {CURAND_RNG_PSEUDO_MTGP32, CURAND_ORDERING_PSEUDO_LEGACY, 0x123456789abcdef, 0x40e29d64d92ea447, 0xcdec62c3c595bdf6,
     0x91d654bf66d09279},
};

template <class T>
void CheckSum(const Sums& row, Long want, int line) {
  Generator here(row.type, true, row.seed), there(row.type, false, row.seed);
  RAND_OK(curandSetGeneratorOrdering(here, row.ordering));
  RAND_OK(curandSetGeneratorOrdering(there, row.ordering));
  const std::vector<T> numbers = OnHost<T>(here, Make, kSizes);
  if (SumOf(numbers) != want) {
    char text[80];
    std::snprintf(text, sizeof(text), "type %d, seed %llx: sum 0x%llx", row.type, row.seed, SumOf(numbers));
    harness::Fail(__FILE__, line, text);
  }
  ExpectSame(OnDevice<T>(there, Make, kSizes), numbers, line);
}
CASE(bits_as_nvidias) {
  for (const Sums& row : kSums) CheckSum<unsigned>(row, row.bits, __LINE__);
}
CASE(uniform_as_nvidias) {
  for (const Sums& row : kSums) CheckSum<float>(row, row.uniform, __LINE__);
}
CASE(uniform_double_as_nvidias) {
  for (const Sums& row : kSums) CheckSum<double>(row, row.uniform_double, __LINE__);
}

static const curandRngType_t kTypes[] = {CURAND_RNG_PSEUDO_XORWOW, CURAND_RNG_PSEUDO_MRG32K3A,
                                         CURAND_RNG_PSEUDO_PHILOX4_32_10, CURAND_RNG_PSEUDO_MTGP32};

// Numbers 0, 1, 5 and 100 of NVIDIA's host generators with seed 7, and the mean of the first 200000.
template <class T>
void CheckNormals(Call<T> call, double mean, double variance, int line) {
  for (curandRngType_t type : kTypes) {
    Generator here(type, true, 7), there(type, false, 7);
    const std::vector<size_t> sizes = {2, 4096, 6, 195896};
    const std::vector<T> numbers = OnHost<T>(here, call, sizes);
    ExpectNear(OnDevice<T>(there, call, sizes), numbers, line);
    double sum = 0, squares = 0;
    for (T number : numbers) sum += number, squares += double(number) * number;
    const double got = sum / double(numbers.size()), spread = squares / double(numbers.size()) - got * got;
    EXPECT(std::abs(got - mean) < 0.02 * std::max(1.0, mean));
    EXPECT(std::abs(spread - variance) < 0.03 * variance);
  }
}
CASE(normals) {
  CheckNormals<float>(Normal, 1, 4, __LINE__);
  CheckNormals<double>(Normal, 1, 4, __LINE__);
}
CASE(log_normals) {
  const double mean = std::exp(-1 + 0.125), variance = (std::exp(0.25) - 1) * mean * mean;
  CheckNormals<float>(LogNormal, mean, variance, __LINE__);
  CheckNormals<double>(LogNormal, mean, variance, __LINE__);
}

CASE(log_normals_are_exponentials) {
  for (curandRngType_t type : kTypes) {
    Generator one(type, true, 3), other(type, true, 3);
    std::vector<double> normals(1000), logarithms(1000);
    RAND_OK(curandGenerateNormalDouble(one, normals.data(), 1000, -1, 0.5));
    RAND_OK(curandGenerateLogNormalDouble(other, logarithms.data(), 1000, -1, 0.5));
    for (double& normal : normals) normal = std::exp(normal);
    ExpectNear(logarithms, normals, __LINE__);
  }
}

// An offset is a place in the sequence, wherever that is; so is where a call begins.
CASE(offsets) {
  for (curandRngType_t type : {CURAND_RNG_PSEUDO_XORWOW, CURAND_RNG_PSEUDO_MRG32K3A, CURAND_RNG_PSEUDO_PHILOX4_32_10}) {
    Generator whole(type, false, 5);
    const std::vector<unsigned> sequence = OnDevice<unsigned>(whole, Make, {400000});
    for (Long offset : {1ull, 3ull, 4095ull, 4096ull, 5000ull, 81921ull, 262147ull, 300001ull}) {
      const std::vector<unsigned> want(sequence.begin() + offset, sequence.begin() + offset + 9000);
      for (bool host : {true, false}) {
        Generator part(type, host, 5);
        RAND_OK(curandSetGeneratorOffset(part, offset));
        ExpectSame(host ? OnHost<unsigned>(part, Make, {9000}) : OnDevice<unsigned>(part, Make, {9000}), want,
                   __LINE__);
      }
    }
    // A seed that is set later leaves the place as it is.
    RAND_OK(curandSetGeneratorOffset(whole, 10));
    OnDevice<unsigned>(whole, Make, {7});
    RAND_OK(curandSetPseudoRandomGeneratorSeed(whole, 5));
    ExpectSame(OnDevice<unsigned>(whole, Make, {1000}),
               std::vector<unsigned>(sequence.begin() + 17, sequence.begin() + 1017), __LINE__);
    // However far.
    Generator far(type, false, 5), far_here(type, true, 5);
    RAND_OK(curandSetGeneratorOffset(far, 0x7123456789abcdefull));
    RAND_OK(curandSetGeneratorOffset(far_here, 0x7123456789abcdefull));
    ExpectSame(OnDevice<unsigned>(far, Make, {9000}), OnHost<unsigned>(far_here, Make, {9000}), __LINE__);
  }
}

// Calls of every kind from one generator.
CASE(mixed_calls) {
  for (curandRngType_t type : kTypes) {
    Generator here(type, true, 11), there(type, false, 11);
    for (int round = 0; round < 3; ++round) {
      for (size_t n : {2u, 6u, 1000u, 81922u}) {
        ExpectSame(OnDevice<unsigned>(there, Make, {n - 1}), OnHost<unsigned>(here, Make, {n - 1}), __LINE__);
        ExpectSame(OnDevice<double>(there, Make, {n}), OnHost<double>(here, Make, {n}), __LINE__);
        ExpectNear(OnDevice<float>(there, Normal, {n}), OnHost<float>(here, Normal, {n}), __LINE__);
        ExpectNear(OnDevice<double>(there, LogNormal, {n}), OnHost<double>(here, LogNormal, {n}), __LINE__);
        ExpectSame(OnDevice<float>(there, Make, {n + 1}), OnHost<float>(here, Make, {n + 1}), __LINE__);
      }
    }
  }
}

// The first numbers of the device API are those of the streams, which take turns.
CASE(streams_and_graphs) {
  const size_t kN = 5000;
  for (curandRngType_t type : kTypes) {
    for (bool begun : {true, false}) {
      cudaStream_t stream;
      CUDA_OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
      Generator here(type, true, 21), there(type, false, 21);
      RAND_OK(curandSetStream(there, stream));
      if (begun) RAND_OK(curandGenerateSeeds(there));
      harness::Buffer<float> out(kN);
      CUDA_OK(cudaDeviceSynchronize());
      cudaGraph_t graph;
      cudaGraphExec_t exec;
      CUDA_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
      RAND_OK(curandGenerateUniform(there, out, kN));
      CUDA_OK(cudaStreamEndCapture(stream, &graph));
      CUDA_OK(cudaGraphInstantiate(&exec, graph, 0));
      for (int i = 0; i < 4; ++i) {
        CUDA_OK(cudaGraphLaunch(exec, stream));
        CUDA_OK(cudaStreamSynchronize(stream));
        ExpectSame(out.Get(), OnHost<float>(here, Make, {kN}), __LINE__);
      }
      CUDA_OK(cudaGraphExecDestroy(exec));
      CUDA_OK(cudaGraphDestroy(graph));
      CUDA_OK(cudaStreamDestroy(stream));
    }
  }
}

CASE(versions_and_properties) {
  int version = 0, parts[3] = {};
  RAND_OK(curandGetVersion(&version));
  for (int i = 0; i < 3; ++i) RAND_OK(curandGetProperty(libraryPropertyType(i), &parts[i]));
  EXPECT_EQ(version, parts[0] * 1000 + parts[1] * 100 + parts[2]);
  EXPECT_EQ(curandGetProperty(libraryPropertyType(7), &version), CURAND_STATUS_OUT_OF_RANGE);
}

CASE(wrong_calls) {
  curandGenerator_t none = nullptr;
  unsigned bits[4];
  float numbers[4];
  EXPECT_EQ(curandCreateGeneratorHost(&none, curandRngType_t(5)), CURAND_STATUS_TYPE_ERROR);
  EXPECT_EQ(curandCreateGenerator(&none, curandRngType_t(5)), CURAND_STATUS_TYPE_ERROR);
  none = nullptr;
  EXPECT_EQ(curandDestroyGenerator(none), CURAND_STATUS_NOT_INITIALIZED);
  EXPECT_EQ(curandGenerate(none, bits, 4), CURAND_STATUS_NOT_INITIALIZED);
  EXPECT_EQ(curandGenerateSeeds(none), CURAND_STATUS_NOT_INITIALIZED);
  EXPECT_EQ(curandSetStream(none, nullptr), CURAND_STATUS_NOT_INITIALIZED);
  EXPECT_EQ(curandSetPseudoRandomGeneratorSeed(none, 1), CURAND_STATUS_NOT_INITIALIZED);
  EXPECT_EQ(curandSetGeneratorOffset(none, 1), CURAND_STATUS_NOT_INITIALIZED);
  EXPECT_EQ(curandSetGeneratorOrdering(none, CURAND_ORDERING_PSEUDO_BEST), CURAND_STATUS_NOT_INITIALIZED);
  EXPECT_EQ(curandSetQuasiRandomGeneratorDimensions(none, 1), CURAND_STATUS_NOT_INITIALIZED);
  for (curandRngType_t type : kTypes) {
    Generator g(type, true);
    const bool by_pairs = type == CURAND_RNG_PSEUDO_XORWOW || type == CURAND_RNG_PSEUDO_MRG32K3A;
    EXPECT_EQ(curandGenerateNormal(g, numbers, 3, 0, 1),
              by_pairs ? CURAND_STATUS_LENGTH_NOT_MULTIPLE : CURAND_STATUS_SUCCESS);
    Long wide = 0;
    EXPECT_EQ(curandGenerateLongLong(g, &wide, 1), CURAND_STATUS_TYPE_ERROR);
    EXPECT_EQ(curandSetQuasiRandomGeneratorDimensions(g, 2), CURAND_STATUS_TYPE_ERROR);
    EXPECT_EQ(curandSetGeneratorOrdering(g, CURAND_ORDERING_QUASI_DEFAULT), CURAND_STATUS_OUT_OF_RANGE);
    EXPECT_EQ(curandSetGeneratorOffset(g, 2),
              type == CURAND_RNG_PSEUDO_MTGP32 ? CURAND_STATUS_TYPE_ERROR : CURAND_STATUS_SUCCESS);
    RAND_OK(curandGenerate(g, bits, 0));
    RAND_OK(curandSetStream(g, nullptr));
    RAND_OK(curandGenerateSeeds(g));
  }
}
